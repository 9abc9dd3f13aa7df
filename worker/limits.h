/* SPDX-License-Identifier: MIT */
/*
 * The limits of a session: by control groups where there are any that can,
 * else by rlimits, which hold for each process. What was ordered and cannot be
 * set fails the start.
 */
#ifndef PSUP_WORKER_LIMITS_H
#define PSUP_WORKER_LIMITS_H

#include "worker/child.h"
#include "worker/spawn.h"

/* Has a session of these limits a bound that its leaf holds, or the group of its box
 * above? */
bool limits_need_leaf(const struct child *c, uint32_t mask);
/* Makes the groups of a session and fills what the child has to do: `leaf` is
 * its tree leaf, open, or -1. Errors: -errno; nothing is left behind. */
int limits_prepare(struct child *c, const struct ctl_start *order, int leaf,
    struct spawn_limits *ret);
/* Closes what limits_prepare opened. */
void limits_close(struct spawn_limits *l);
/* END_OOM or END_LIMIT where a limit ended the command, else END_NONE. */
enum end_reason limits_verdict(struct child *c);
/* The session is over: its groups go. */
void limits_leave(struct child *c);

#endif
