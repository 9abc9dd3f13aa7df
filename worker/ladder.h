/* SPDX-License-Identifier: MIT */
/*
 * Time-outs and the stop ladder: TERM to the tree (tree.h), grace, KILL to the
 * tree until nobody is left, and at most CHILD_FINAL_MS later the session is
 * ended, whatever still lives. The first forced reason wins and stands in the
 * header.
 */
#ifndef PSUP_WORKER_LADDER_H
#define PSUP_WORKER_LADDER_H

#include "shm/layout.h"
#include "worker/child.h"

/* Begins the ladder, or tightens one that is under way. */
void ladder_begin(struct child *c, int sig, uint32_t grace_ms,
    enum end_reason reason);
/* Goes on where a dead worker stopped. */
void ladder_take_over(struct child *c);
/* Sends one signal to the group; notes the reason unless END_NONE. */
void ladder_signal(struct child *c, int sig, enum end_reason reason);
/* A ladder is under way, and what it is for is not over: somebody lives, or has
 * not been looked for, and there is time left. */
bool ladder_waits(struct child *c);
/* Sets the timer to whatever is next. */
void ladder_arm(struct child *c);
/* The timer fired. */
void ladder_due(struct child *c);

#endif
