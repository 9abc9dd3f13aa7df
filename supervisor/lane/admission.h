/* SPDX-License-Identifier: MIT */
/*
 * How many sessions run at once, of all and of one scope, and how fast they
 * start: pure. Events and a clock value in, decisions out; no I/O, no clock.
 * gate.c carries the decisions out.
 *
 * A session comes here when it could start, after its lane let it through, and
 * holds its place until it ends. Those that wait are in order of arrival within
 * their scope; scopes take turns, so that a thousand of one do not keep another
 * waiting.
 */
#ifndef PSUP_SUPERVISOR_LANE_ADMISSION_H
#define PSUP_SUPERVISOR_LANE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/share/rank.h"

#define ADMISSION_SCOPE_MAX 48

struct admission;
struct admission_scope;

/* One session, inside its owner's struct; all zero before its first use. */
struct admission_entry {
	struct rank_node place; /* among those of its scope that wait */
	struct admission_scope *scope; /* NULL: not here */
	uint64_t seq;
	bool running;
};

struct admission_limits {
	uint64_t max_running; /* 0: no bound; so the others */
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
/* Entries that are still in it must not be used afterwards. */
void admission_free(struct admission **a);

/* A bound below what runs ends nobody. Bounds of single scopes: forgotten by
 * configure, then set one by one. -ENOMEM */
void admission_configure(struct admission *a,
    const struct admission_limits *l);
int admission_set_scope(struct admission *a, const char *scope, uint64_t max);
/* Under pressure nobody starts. */
void admission_set_pressure(struct admission *a, bool high);

/* Could one more of this scope start now? Others that wait come first. */
enum admission_why admission_judge(struct admission *a, const char *scope,
    uint64_t now_ms);
/* It starts, whatever the bounds; `counted`: as one of the rate's. -ENOMEM */
int admission_start(struct admission *a, struct admission_entry *e,
    const char *scope, bool counted, uint64_t now_ms);
/* It waits. -ENOMEM */
int admission_wait(struct admission *a, struct admission_entry *e,
    const char *scope);
/* It ended, whatever ended it. Not here: nothing. */
void admission_leave(struct admission *a, struct admission_entry *e);
/* The next that starts now, and holds a place from here on; NULL: none. */
struct admission_entry *admission_next(struct admission *a, uint64_t now_ms);
/* When the rate lets another one start; UINT64_MAX: time alone lets nobody. */
uint64_t admission_due(struct admission *a, uint64_t now_ms);

/* Of one that waits: what for, and its place among its scope's, 1 first. */
enum admission_why admission_waits_for(struct admission *a,
    const struct admission_entry *e, uint64_t now_ms);
uint32_t admission_position(const struct admission_entry *e);
static inline bool
admission_is_waiting(const struct admission_entry *e)
{
	return e->scope != NULL && !e->running;
}

uint64_t admission_running(const struct admission *a);
uint64_t admission_waiting(const struct admission *a);
struct admission_view {
	char name[ADMISSION_SCOPE_MAX];
	uint64_t max, running, waiting; /* max 0: no bound */
};
/* Scopes that have sessions, or a bound of their own, in order of name. */
size_t admission_scopes(const struct admission *a);
void admission_view(const struct admission *a, size_t i,
    struct admission_view *ret);
/* Of one scope, known or not. */
void admission_view_of(const struct admission *a, const char *scope,
    struct admission_view *ret);

/* Every invariant, for tests: NULL, or a sentence about the first broken one. */
const char *admission_check(const struct admission *a);

#endif
