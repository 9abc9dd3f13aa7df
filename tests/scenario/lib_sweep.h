/* SPDX-License-Identifier: MIT */
/*
 * Every request of the protocol, again and again, with a later and later call
 * of a process failing: the n-th allocation, the n-th open.
 */
#ifndef PSUP_LIB_SWEEP_H
#define PSUP_LIB_SWEEP_H

#include "lib_fail.h"

#define SWEEP_MOST 3000 /* calls of one request */

/* Sessions that the requests are about: cat reads its stdin, terminal has one,
 * ended has written two lines. */
extern const char *sweep_cat, *sweep_terminal, *sweep_ended;

/* The server and these three. */
void sweep_begin(void);
/* All requests but exec, hello, subscribe, shutdown; or exec in its forms:
 * each is answered whatever fails, the process lives, nothing leaks. */
void sweep_requests(pid_t pid, enum fail_call call, int error);
void sweep_execs(pid_t pid, enum fail_call call, int error);
/* The blocks that a process has in use once it has nothing to do. */
int64_t live_when_idle(pid_t pid);
/* Has it more in use than before, also when it has ended what it was told to
 * end? */
bool grows(pid_t pid, int64_t before);

#endif
