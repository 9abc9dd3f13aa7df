/* SPDX-License-Identifier: MIT */
/*
 * Does a session wait for input? Evidence is what /proc shows: a process of the
 * session that sleeps in a read of the session's stdin or terminal, or, on a
 * terminal that it has taken out of line mode, in poll or select in the
 * foreground, as shells, REPLs and editors do. Looked at when somebody asks,
 * and remembered for a while.
 *
 * Not seen: a read in another thread than a process's first, and poll, select
 * or epoll on a pipe or on a terminal in line mode, where the kernel does not
 * say on what; there the rule of silence counts.
 */
#ifndef PSUP_SUPERVISOR_SESSION_INPUT_WAIT_H
#define PSUP_SUPERVISOR_SESSION_INPUT_WAIT_H

#include "supervisor/master.h"

/* After that much silence somebody may be reading. */
#define INPUT_WAIT_QUIET_MS 20u

/* Looks, unless what was found is younger than max_age_ms, or `may_look` is
 * false; then what was found counts as long as nothing was written or read
 * since. */
enum input_wait input_wait_look(struct master *m, struct session *s,
    uint64_t max_age_ms, bool may_look);
/* RUNNING says which file its stdin is. */
void input_wait_running(struct session *s, uint64_t node);
/* Has its worker look whether it goes on by input alone (worker/input_look.h),
 * unless that was asked just now; it says so, and who waits hears WAKE_INPUT. */
void input_wait_ask(struct master *m, struct session *s);
/* What the last look found, where that is not long ago. */
enum input_wait input_wait_known(const struct session *s);
/* It has. False: that is no such word. */
bool input_wait_told(struct session *s, const struct ctl_input *msg);
/* Lists and marks show what was found; returned. */
enum input_wait input_wait_show(struct session *s, enum input_wait found);
/* "stdin-read", "tty-read", "idle"; NULL for none. */
const char *input_wait_name(enum input_wait w);

#endif
