/* SPDX-License-Identifier: MIT */
/*
 * Who clones the porters of a box. A process of its own for each box, made with
 * the first start in it and gone when none came for a while: it has the worker's
 * descriptors, and a copy of its memory that it shares with the porters. A copy
 * for each of them was the dearest part of a start in a box; and what befalls a
 * porter's memory in its box befalls this one, not the worker, nor another box.
 * It enters no box itself.
 */
#ifndef PSUP_WORKER_LODGE_H
#define PSUP_WORKER_LODGE_H

#include <linux/sched.h>

struct spawn;

/* Clones s's porter by `args`, its pidfd included. Its pid; -ENOSYS: there is no
 * lodge, or it died before: clone it yourself; or -errno of the clone. */
long lodge_clone(struct spawn *s, struct clone_args *args);

/* Once, by the worker, which has the same descriptors from then on. 0 or -errno. */
int lodge_begin(void);
/* Gives back what is kept of those that are gone, now and then. */
void lodge_rest(void);

/* In a porter: is the worker that ordered it dead, whose sessions others may have
 * looked at before it was there? */
int lodge_is_orphan(void);

#endif
