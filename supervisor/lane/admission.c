/* SPDX-License-Identifier: MIT */
/*
 * The bounds on what runs, as lanes of a group, and the rate of starts, a bucket
 * of thousandths of a start. Called by gate/.
 */
#include "supervisor/lane/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/config.h"
#include "supervisor/lane/store.h"

#define START_MILLI 1000u /* what one start takes out of the bucket */
#define GROUP       "all"

struct admission {
	struct lanes *places;
	struct admission_limits limits;
	uint64_t last_seq;
	uint64_t level_milli, level_at_ms;
	bool started; /* the bucket has been filled once */
	bool pressure;
};

struct admission *
admission_new(void)
{
	struct admission *a = calloc(1, sizeof(*a));

	if (a != NULL)
		a->places = lanes_new();
	if (a != NULL && (a->places == NULL ||
	    admission_configure(a, &a->limits, NULL, 0) < 0))
		admission_free(&a);
	return a;
}

void
admission_free(struct admission **a)
{
	if (*a != NULL)
		lanes_free(&(*a)->places);
	free(*a);
	*a = NULL;
}

struct lanes *
admission_lanes(struct admission *a)
{
	return a->places;
}

/* A scope's name has none but printing characters: what follows it keeps one
 * that ends with '*' from being a pattern, and lanes in order of scopes. */
void
admission_lane(const char *scope, char ret[LANE_NAME_MAX])
{
	size_t len = strnlen(scope, LANE_NAME_MAX - 2);

	memcpy(ret, scope, len);
	memcpy(ret + len, "\1", 2);
}

/* As the scheduler has a bound, and back. */
static uint32_t
width_of(uint64_t max)
{
	return max != 0 && max < UINT32_MAX ? (uint32_t)max : UINT32_MAX;
}

static uint64_t
max_of(uint32_t width)
{
	return width != UINT32_MAX ? width : 0;
}

/* A lane of the group. */
static struct lane_conf
conf_of(const char *name, uint64_t max)
{
	struct lane_conf c = {.group = GROUP, .width = width_of(max),
	    .queue_max = UINT32_MAX};

	memcpy(c.name, name, strnlen(name, sizeof(c.name) - 1));
	return c;
}

int
admission_configure(struct admission *a, const struct admission_limits *l,
    const struct config_scope *scopes, size_t n)
{
	struct lane_conf *c = calloc(n + 2, sizeof(*c));
	struct lane_group_conf all = {.name = GROUP,
	    .width = width_of(l->max_running)};
	char name[LANE_NAME_MAX];
	int r;

	if (c == NULL)
		return -ENOMEM;
	admission_lane("", name); /* sessions without a scope have no bound */
	c[n] = conf_of(name, 0);
	c[n + 1] = conf_of("*", l->scope_max_running);
	for (size_t i = 0; i < n; i++) {
		admission_lane(scopes[i].name, name);
		c[i] = conf_of(name, scopes[i].bounded ?
		    scopes[i].max_running : l->scope_max_running);
	}
	r = lanes_setup(a->places, &all, 1, c, n + 2);
	free(c);
	if (r < 0)
		return r;
	a->limits = *l;
	if (a->limits.burst == 0)
		a->limits.burst = 1;
	if (a->level_milli > a->limits.burst * START_MILLI)
		a->level_milli = a->limits.burst * START_MILLI;
	return 0;
}

void
admission_set_pressure(struct admission *a, bool high)
{
	a->pressure = high;
}

/* -------------------------------------------------------------- the rate */

/* Lets time flow into the bucket. */
static void
refill(struct admission *a, uint64_t now_ms)
{
	uint64_t full = a->limits.burst * START_MILLI, dt;

	if (!a->started) {
		a->started = true;
		a->level_milli = full;
		a->level_at_ms = now_ms;
	}
	dt = now_ms > a->level_at_ms ? now_ms - a->level_at_ms : 0;
	a->level_at_ms = now_ms;
	/* a start a second is a thousandth of one a millisecond */
	if (a->limits.rate != 0 && dt > (full - a->level_milli) /
		a->limits.rate)
		a->level_milli = full;
	else
		a->level_milli += dt * a->limits.rate;
}

/* One start more, of those the rate is about. */
static void
spend(struct admission *a)
{
	if (a->limits.rate != 0)
		a->level_milli -= a->level_milli < START_MILLI
		    ? a->level_milli
		    : START_MILLI;
}

/* What holds for everybody. */
static enum admission_why
judge_all(struct admission *a, uint64_t now_ms)
{
	const struct group *all = a->places->groups;

	refill(a, now_ms);
	if (all->active >= all->width)
		return ADMISSION_GLOBAL;
	if (a->pressure)
		return ADMISSION_PRESSURE;
	if (a->limits.rate != 0 && a->level_milli < START_MILLI)
		return ADMISSION_RATE;
	return ADMISSION_FREE;
}

uint64_t
admission_due(struct admission *a, uint64_t now_ms)
{
	if (lane_turn(a->places) == NULL ||
	    judge_all(a, now_ms) != ADMISSION_RATE)
		return UINT64_MAX;
	return now_ms +
	    (START_MILLI - a->level_milli + a->limits.rate - 1) /
	    a->limits.rate;
}

/* -------------------------------------------------------------- sessions */

enum admission_why
admission_judge(struct admission *a, const char *scope, uint64_t now_ms)
{
	struct admission_view v;
	enum admission_why why;

	admission_view(a, scope, &v);
	if (v.max != 0 && v.running >= v.max)
		return ADMISSION_SCOPE;
	why = judge_all(a, now_ms);
	if (why == ADMISSION_FREE && lane_turn(a->places) != NULL)
		return ADMISSION_GLOBAL; /* somebody's turn comes first */
	return why;
}

int
admission_start(struct admission *a, struct sid sid, const char *scope,
    bool counted, uint64_t now_ms)
{
	char name[LANE_NAME_MAX];
	int r;

	admission_lane(scope, name);
	r = lanes_restore_active(a->places, name, sid);
	if (r < 0)
		return r;
	refill(a, now_ms);
	if (counted)
		spend(a);
	return 0;
}

int
admission_wait(struct admission *a, struct sid sid, const char *scope,
    uint64_t since_ms)
{
	char name[LANE_NAME_MAX];

	admission_lane(scope, name);
	/* with a number of its own it waits, whatever there is room for */
	return lanes_enter(a->places, name, 0, sid, ++a->last_seq, since_ms,
		   NULL, NULL) == LANE_QUEUED ? 0 : -ENOMEM;
}

struct sid
admission_next(struct admission *a, uint64_t now_ms)
{
	struct sid sid = {0};

	if (lane_turn(a->places) != NULL &&
	    judge_all(a, now_ms) == ADMISSION_FREE) {
		sid = lanes_next(a->places, now_ms);
		spend(a);
	}
	return sid;
}

enum admission_why
admission_waits_for(struct admission *a, struct sid sid, uint64_t now_ms)
{
	const struct entry *e = lane_entry_find(a->places, sid);
	enum admission_why why;

	if (e == NULL || e->active)
		return ADMISSION_FREE;
	if (e->lane->active >= e->lane->width)
		return ADMISSION_SCOPE;
	why = judge_all(a, now_ms);
	return why == ADMISSION_FREE ? ADMISSION_GLOBAL : why;
}

/* -------------------------------------------------------------- the views */

void
admission_view(const struct admission *a, const char *scope,
    struct admission_view *ret)
{
	char name[LANE_NAME_MAX];
	struct lane_view v = {.width = width_of(a->limits.scope_max_running)};

	admission_lane(scope, name);
	lanes_find(a->places, name, &v);
	*ret = (struct admission_view){.max = max_of(v.width),
	    .running = v.active, .waiting = v.queued};
}

uint64_t
admission_running(const struct admission *a)
{
	return a->places->groups->active;
}

uint64_t
admission_waiting(const struct admission *a)
{
	return a->places->queued;
}
