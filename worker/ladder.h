/* SPDX-License-Identifier: MIT */
/*
 * Time-outs and the stop ladder: TERM to the group, grace, KILL to the group,
 * and at most CHILD_FINAL_MS later the session is ended, whatever still lives.
 * The first forced reason wins and stands in the header.
 */
#ifndef PSUP_WORKER_LADDER_H
#define PSUP_WORKER_LADDER_H

#include "shm/layout.h"
#include "worker/child.h"

/* Begins the ladder, or tightens one that is under way. */
void ladder_begin(struct child *c, int sig, uint32_t grace_ms,
    enum end_reason reason);
/* Sends one signal to the group; notes the reason unless END_NONE. */
void ladder_signal(struct child *c, int sig, enum end_reason reason);
/* Sets the timer to whatever is next. */
void ladder_arm(struct child *c);
/* The timer fired. */
void ladder_due(struct child *c);

#endif
