/* SPDX-License-Identifier: MIT */
/*
 * The methods that end sessions: kill (kill.c), and killScope and drainScope
 * (kill_scope.c, drain.c), which end all of a scope.
 */
#ifndef PSUP_SUPERVISOR_API_KILL_H
#define PSUP_SUPERVISOR_API_KILL_H

#include "supervisor/api/method.h"

#define KILL_LATE_MS 10000u /* a worker that died meanwhile needs longer */

/* The call's signal; 0: the refusal was sent. */
int kill_signal(struct api_call *c);

/* What killScope and drainScope keep between two turns. */
struct scope_end {
	char scope[48]; /* drainScope */
	bool kill;      /* drainScope: at the end of the wait */
	bool own;       /* a connection of the scope asked for it */
	bool answers_early; /* it does not wait for all that it ends */
	int signal;
	uint32_t grace_ms;
	uint64_t asked; /* sessions */
	uint64_t told;  /* of them, to end, so far */
	struct ending *ending; /* who is not told yet (ending.h) */
	void (*done)(struct req *r);
};
/* Has the live sessions of a scope, with `left` also those that have left
 * processes behind, end by the state's signal and grace_ms, some a turn; calls
 * done(), perhaps before it returns, once all were told and those that still
 * live wake r. answers_early: one does not. False: no memory. */
bool scope_end_all(struct req *r, const char *scope, bool left,
    void (*done)(struct req *r));
/* Nobody is to hear of it any more. */
void scope_end_drop(struct req *r);

#endif
