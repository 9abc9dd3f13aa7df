/* SPDX-License-Identifier: MIT */
/*
 * A command and everything it starts, to the last descendant.
 *
 * Where the keeper has a control group (heritage.h), each session runs in a
 * leaf of it: nothing leaves a leaf by setsid, double fork or an empty
 * environment. Leaves are reused; one in which something outlived its session
 * is not, until that is gone. The ring's header names the leaf for whoever
 * takes the session over.
 *
 * Where there is none, the members are looked for in /proc (tree_proc.c): by
 * group and POSIX session of the command, by ancestry, by the session's mark
 * in the environment, if it counts (common/mark.h). What has hidden from all of
 * these is not found.
 */
#ifndef PSUP_WORKER_TREE_H
#define PSUP_WORKER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/child.h"

struct tree; /* of a worker: its leaves and its last look at /proc */

/* Removes what former incarnations of this slot left. -ENOMEM */
int tree_init(struct worker *w);

/* Takes a leaf for a session, where there are leaves: c->leaf, and the
 * descriptor of its directory; -1: none. The tree closes it. */
int tree_enter(struct child *c);
/* Once in a while: what nobody has used since then is not kept open. */
void tree_rest(struct worker *w);
/* Descriptors are short: nothing is kept open. True: that made some free. Not
 * between tree_enter() and the clone. */
bool tree_shed(struct worker *w);
/* The session is over: its leaf may serve another, unless it is spent. */
void tree_leave(struct child *c, bool spent);

/* The session was a box: its group goes, now or once it is empty. */
void tree_box_leave(struct child *c);

/* Signals every member but those of the command's own group, which one call
 * reaches after this. `ret`: NULL, or when those began who are not among
 * them. */
void tree_signal(struct child *c, int sig, struct tree_span *ret);
/* The ladder's first signal, once to each, to orphans that were forked when it
 * was on its way: too late to be seen, too early for anybody to have heard it.
 * Not to what a member started in answer to it, to clean up. With each look,
 * for a parent that is slow to die makes its orphans late. */
void tree_signal_late(struct child *c);
/* The last rung, step by step: false where it is to be called again. Without
 * a leaf everybody is stopped first (tree_proc.c); from `hurry_ns` on what is
 * known is killed, stopped or not. */
bool tree_kill(struct child *c, uint64_t hurry_ns);
/* How many members live, the command among them; the first `max` of them. */
size_t tree_left(struct child *c, int32_t *ret_pids, size_t max);
/* The same of those that are not dying: who was killed on a busy machine may have
 * no processor for a while. */
size_t tree_staying(struct child *c, int32_t *ret_pids, size_t max);
/* Those of it that live, or without a leaf the command's own children: how
 * many, the first `max` of them. Cheap. */
size_t tree_forked(struct child *c, int32_t *ret_pids, size_t max);
/* Members that hold its output open: how many, the first `max` by name. */
size_t tree_holders(struct child *c, struct ctl_holder *ret, size_t max);
/* The path of its leaf. -ENOENT */
int tree_path(const struct child *c, char *ret, size_t size);
/* When a look is worth its price again, from now. */
uint64_t tree_pause_ns(const struct child *c, unsigned looks);
/* The keeper is gone: SIGKILL to everything of every session of every worker,
 * for at most a second. */
void tree_kill_all(struct worker *w);

/* --- tree_proc.c: the same without a leaf */
struct tree_procs;
struct tree_procs *tree_procs_new(int32_t keeper_pid);
size_t tree_procs_left(struct tree_procs *t, struct child *c,
    int32_t *ret_pids, size_t max);
void tree_procs_signal(struct tree_procs *t, struct child *c, int sig,
    struct tree_span *ret);
bool tree_procs_freeze(struct tree_procs *t, struct child *c);
void tree_procs_kill(struct tree_procs *t, struct child *c);
uint64_t tree_procs_cost_ns(const struct tree_procs *t);
/* SIGKILL to all that carries a mark of this incarnation, and to the children of
 * such: how many. */
size_t tree_procs_kill_marked(struct tree_procs *t, uint64_t incarnation);

/* --- tree_output.c */
/* Which of these hold its output: moved to the front, how many. */
size_t tree_output_holders(const struct child *c, int32_t *pids, size_t n);

/* --- tree_late.c: who began too late for the ladder's first signal */
/* The two ends of a span are now. */
void tree_span_from(struct tree_span *ret);
void tree_span_to(struct tree_span *ret);
/* Nobody was given a number in it: it is worth no look. */
bool tree_span_is_empty(const struct tree_span *span);
/* tree_signal_late() for these members. */
void tree_late_signal(struct child *c, const int32_t *pids, size_t n);

#endif
