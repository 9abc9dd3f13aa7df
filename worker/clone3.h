/* SPDX-License-Identifier: MIT */
/* clone3, as clone(2) of the C library would be. Called by spawn_clone.c. */
#ifndef PSUP_WORKER_CLONE3_H
#define PSUP_WORKER_CLONE3_H

struct clone_args;

/* The child begins in `fn`, which does not return, on the stack of `args`. The
 * child's pid, or -errno; -ENOSYS on processors that it is not written for. */
long clone3_start(struct clone_args *args, int (*fn)(void *), void *arg);

#endif
