/* SPDX-License-Identifier: MIT */
/*
 * How many sessions run at once, of all and of one scope, and how fast they
 * start: pure. Events and a clock value in, decisions out; no I/O, no clock.
 * gate.c carries the decisions out.
 *
 * The places are lanes of the one scheduler (lane.h): a scope is a lane, as wide
 * as it may be, and all of them are one group, as wide as all may be together.
 * So those that wait are in order of arrival within their scope, and scopes take
 * turns: a thousand of one do not keep another waiting. A session enters when it
 * could start, after its own lane let it through, and leaves when it ends.
 */
#ifndef PSUP_SUPERVISOR_LANE_ADMISSION_H
#define PSUP_SUPERVISOR_LANE_ADMISSION_H

#include "supervisor/lane/lane.h"

struct admission;
struct config_scope;

/* 0: no bound */
struct admission_limits {
	uint64_t max_running;
	uint64_t scope_max_running; /* of a named scope without one of its own */
	uint64_t rate;        /* starts a second ... */
	uint64_t burst;       /* ... after so many at once; at least 1 */
};

/* What keeps a session from starting. */
enum admission_why {
	ADMISSION_FREE,
	ADMISSION_SCOPE,    /* scope_max_running */
	ADMISSION_GLOBAL,   /* max_running */
	ADMISSION_RATE,
	ADMISSION_PRESSURE,
	ADMISSION_WHYS
};

struct admission *admission_new(void);
void admission_free(struct admission **a);

/* A bound below what runs ends nobody. -ENOMEM: the bounds of before hold. */
int admission_configure(struct admission *a, const struct admission_limits *l,
    const struct config_scope *scopes, size_t n);
/* Under pressure nobody starts. */
void admission_set_pressure(struct admission *a, bool high);

/* The places, for whoever shows them, warns, or takes one back (lanes_leave());
 * and the lane of a scope there. */
struct lanes *admission_lanes(struct admission *a);
void admission_lane(const char *scope, char ret[LANE_NAME_MAX]);

/* Could one more of this scope start now? Others that wait come first. */
enum admission_why admission_judge(struct admission *a, const char *scope,
    uint64_t now_ms);
/* It starts, whatever the bounds; `counted`: as one of the rate's. -ENOMEM */
int admission_start(struct admission *a, struct sid sid, const char *scope,
    bool counted, uint64_t now_ms);
/* It waits, since then. -ENOMEM */
int admission_wait(struct admission *a, struct sid sid, const char *scope,
    uint64_t since_ms);
/* The next that starts now, and holds a place from here on; {0}: none. */
struct sid admission_next(struct admission *a, uint64_t now_ms);
/* When the rate lets another one start; UINT64_MAX: time alone lets nobody. */
uint64_t admission_due(struct admission *a, uint64_t now_ms);
/* What it waits for; ADMISSION_FREE: it does not wait here. */
enum admission_why admission_waits_for(struct admission *a, struct sid sid,
    uint64_t now_ms);

/* Of one scope, known or not. */
struct admission_view {
	uint64_t max, running, waiting; /* max 0: no bound */
};
void admission_view(const struct admission *a, const char *scope,
    struct admission_view *ret);
/* Of all of them. */
uint64_t admission_running(const struct admission *a);
uint64_t admission_waiting(const struct admission *a);

#endif
