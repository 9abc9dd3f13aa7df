/* SPDX-License-Identifier: MIT */
/*
 * Places for running sessions. A scope with somebody waiting and room of its
 * own stands in a ring; the next start is the first of the scope whose turn it
 * is. The rate is a bucket of thousandths of a start. Every operation is
 * O(log n).
 */
#include "supervisor/lane/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define START_MILLI 1000u /* what one start takes out of the bucket */

struct admission_scope {
	struct rank_node by_name;
	struct admission_scope *ready_next, *ready_prev; /* NULL: not ready */
	struct rank_tree waiting;
	uint64_t running;
	uint64_t own_max; /* where configured */
	bool configured;
	char name[ADMISSION_SCOPE_MAX];
};

struct admission {
	struct admission_limits limits;
	struct rank_tree by_name;
	struct admission_scope ready; /* head of the ring */
	uint64_t running, waiting, last_seq;
	uint64_t level_milli, level_at_ms;
	bool started; /* the bucket has been filled once */
	bool pressure;
};

static int
cmp_name(const void *key, const struct rank_node *n)
{
	return strcmp(key,
	    RANK_OWNER_C(n, struct admission_scope, by_name)->name);
}

static int
cmp_seq(const void *key, const struct rank_node *n)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = RANK_OWNER_C(n, struct admission_entry, place)->seq;

	return a < b ? -1 : a > b;
}

struct admission *
admission_new(void)
{
	struct admission *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	rank_init(&a->by_name, cmp_name);
	a->ready.ready_next = a->ready.ready_prev = &a->ready;
	return a;
}

void
admission_free(struct admission **a)
{
	struct rank_node *n;

	if (*a == NULL)
		return;
	while ((n = rank_first(&(*a)->by_name)) != NULL) {
		rank_erase(&(*a)->by_name, n);
		free(RANK_OWNER(n, struct admission_scope, by_name));
	}
	free(*a);
	*a = NULL;
}

/* ---------------------------------------------------------------- scopes */

/* The bound in force; 0: none. Sessions without a scope have none. */
static uint64_t
scope_max(const struct admission *a, const struct admission_scope *s)
{
	if (s->configured)
		return s->own_max;
	return s->name[0] != '\0' ? a->limits.scope_max_running : 0;
}

/* Has the scope used all its places? */
static bool
scope_is_full(const struct admission *a, const struct admission_scope *s)
{
	uint64_t max = scope_max(a, s);

	return max != 0 && s->running >= max;
}

/* Into or out of the ring, as its numbers now say. */
static void
update_ready(struct admission *a, struct admission_scope *s)
{
	bool ready = rank_size(&s->waiting) > 0 && !scope_is_full(a, s);

	if (ready == (s->ready_next != NULL))
		return;
	if (ready) {
		s->ready_next = &a->ready;
		s->ready_prev = a->ready.ready_prev;
		s->ready_prev->ready_next = s;
		a->ready.ready_prev = s;
	} else {
		s->ready_next->ready_prev = s->ready_prev;
		s->ready_prev->ready_next = s->ready_next;
		s->ready_next = s->ready_prev = NULL;
	}
}

/* The scope of this name, or NULL. */
static struct admission_scope *
scope_find(const struct admission *a, const char *name)
{
	struct rank_node *n = rank_find(&a->by_name, name);

	return n != NULL ? RANK_OWNER(n, struct admission_scope, by_name)
			 : NULL;
}

/* The scope of this name, made where needed; NULL: no memory. */
static struct admission_scope *
scope_get(struct admission *a, const char *name)
{
	struct admission_scope *s = scope_find(a, name);
	size_t len = strnlen(name, ADMISSION_SCOPE_MAX - 1);

	if (s != NULL)
		return s;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	memcpy(s->name, name, len);
	rank_init(&s->waiting, cmp_seq);
	rank_insert(&a->by_name, &s->by_name, s->name);
	return s;
}

/* Forgets a scope that nobody uses and nobody configured. */
static void
scope_drop_idle(struct admission *a, struct admission_scope *s)
{
	if (s->configured || s->running > 0 || rank_size(&s->waiting) > 0)
		return;
	rank_erase(&a->by_name, &s->by_name);
	free(s);
}

void
admission_configure(struct admission *a, const struct admission_limits *l)
{
	struct rank_node *n, *next;

	a->limits = *l;
	if (a->limits.burst == 0)
		a->limits.burst = 1;
	if (a->level_milli > a->limits.burst * START_MILLI)
		a->level_milli = a->limits.burst * START_MILLI;
	for (n = rank_first(&a->by_name); n != NULL; n = next) {
		struct admission_scope *s =
		    RANK_OWNER(n, struct admission_scope, by_name);

		next = rank_next(n);
		s->configured = false;
		update_ready(a, s);
		scope_drop_idle(a, s);
	}
}

int
admission_set_scope(struct admission *a, const char *scope, uint64_t max)
{
	struct admission_scope *s = scope_get(a, scope);

	if (s == NULL)
		return -ENOMEM;
	s->configured = true;
	s->own_max = max;
	update_ready(a, s);
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

/* What holds for everybody. */
static enum admission_why
judge_all(struct admission *a, uint64_t now_ms)
{
	refill(a, now_ms);
	if (a->limits.max_running != 0 && a->running >= a->limits.max_running)
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
	if (a->ready.ready_next == &a->ready ||
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
	const struct admission_scope *s = scope_find(a, scope);
	enum admission_why why;

	if (s != NULL && scope_is_full(a, s))
		return ADMISSION_SCOPE;
	why = judge_all(a, now_ms);
	if (why == ADMISSION_FREE && a->ready.ready_next != &a->ready)
		return ADMISSION_GLOBAL; /* somebody's turn comes first */
	return why;
}

/* Counts one more that runs. */
static void
count_start(struct admission *a, struct admission_entry *e, bool counted)
{
	e->running = true;
	e->scope->running++;
	a->running++;
	if (counted && a->limits.rate != 0)
		a->level_milli -= a->level_milli < START_MILLI
		    ? a->level_milli
		    : START_MILLI;
}

int
admission_start(struct admission *a, struct admission_entry *e,
    const char *scope, bool counted, uint64_t now_ms)
{
	admission_leave(a, e);
	e->scope = scope_get(a, scope);
	if (e->scope == NULL)
		return -ENOMEM;
	refill(a, now_ms);
	count_start(a, e, counted);
	update_ready(a, e->scope);
	return 0;
}

int
admission_wait(struct admission *a, struct admission_entry *e,
    const char *scope)
{
	admission_leave(a, e);
	e->scope = scope_get(a, scope);
	if (e->scope == NULL)
		return -ENOMEM;
	e->running = false;
	e->seq = ++a->last_seq;
	rank_insert(&e->scope->waiting, &e->place, &e->seq);
	a->waiting++;
	update_ready(a, e->scope);
	return 0;
}

void
admission_leave(struct admission *a, struct admission_entry *e)
{
	struct admission_scope *s = e->scope;

	if (s == NULL)
		return;
	if (e->running) {
		s->running--;
		a->running--;
	} else {
		rank_erase(&s->waiting, &e->place);
		a->waiting--;
	}
	e->scope = NULL;
	e->running = false;
	update_ready(a, s);
	scope_drop_idle(a, s);
}

struct admission_entry *
admission_next(struct admission *a, uint64_t now_ms)
{
	struct admission_scope *s = a->ready.ready_next;
	struct admission_entry *e;
	struct rank_node *n;

	if (s == &a->ready || judge_all(a, now_ms) != ADMISSION_FREE)
		return NULL;
	n = rank_first(&s->waiting);
	e = RANK_OWNER(n, struct admission_entry, place);
	rank_erase(&s->waiting, n);
	a->waiting--;
	count_start(a, e, true);
	/* to the end of the ring: the next scope's turn */
	s->ready_next->ready_prev = s->ready_prev;
	s->ready_prev->ready_next = s->ready_next;
	s->ready_next = s->ready_prev = NULL;
	update_ready(a, s);
	return e;
}

enum admission_why
admission_waits_for(struct admission *a, const struct admission_entry *e,
    uint64_t now_ms)
{
	enum admission_why why;

	if (!admission_is_waiting(e))
		return ADMISSION_FREE;
	if (scope_is_full(a, e->scope))
		return ADMISSION_SCOPE;
	why = judge_all(a, now_ms);
	return why == ADMISSION_FREE ? ADMISSION_GLOBAL : why;
}

uint32_t
admission_position(const struct admission_entry *e)
{
	return admission_is_waiting(e) ? rank_of(&e->place) + 1 : 0;
}

/* -------------------------------------------------------------- the views */

uint64_t
admission_running(const struct admission *a)
{
	return a->running;
}

uint64_t
admission_waiting(const struct admission *a)
{
	return a->waiting;
}

size_t
admission_scopes(const struct admission *a)
{
	return rank_size(&a->by_name);
}

/* The numbers of one scope. */
static void
view(const struct admission *a, const struct admission_scope *s,
    struct admission_view *ret)
{
	memcpy(ret->name, s->name, sizeof(ret->name));
	ret->max = scope_max(a, s);
	ret->running = s->running;
	ret->waiting = rank_size(&s->waiting);
}

void
admission_view(const struct admission *a, size_t i, struct admission_view *ret)
{
	const struct rank_node *n = rank_at(&a->by_name, (uint32_t)i);

	view(a, RANK_OWNER_C(n, struct admission_scope, by_name), ret);
}

void
admission_view_of(const struct admission *a, const char *scope,
    struct admission_view *ret)
{
	const struct admission_scope *s = scope_find(a, scope);

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, scope, strnlen(scope, sizeof(ret->name) - 1));
	if (s != NULL)
		view(a, s, ret);
	else if (scope[0] != '\0')
		ret->max = a->limits.scope_max_running;
}

/* One scope's invariants. */
static const char *
check_scope(const struct admission *a, const struct admission_scope *s)
{
	const char *why = rank_check(&s->waiting);
	bool ready = rank_size(&s->waiting) > 0 && !scope_is_full(a, s);

	if (why != NULL)
		return why;
	if (ready != (s->ready_next != NULL))
		return "a scope is in the ring without a reason, or not in it";
	if (!s->configured && s->running == 0 && rank_size(&s->waiting) == 0)
		return "an idle scope is kept";
	return NULL;
}

const char *
admission_check(const struct admission *a)
{
	uint64_t running = 0, waiting = 0;
	const struct rank_node *n;
	const char *why = rank_check(&a->by_name);

	for (n = rank_first(&a->by_name); n != NULL && why == NULL;
	     n = rank_next(n)) {
		const struct admission_scope *s =
		    RANK_OWNER_C(n, struct admission_scope, by_name);

		running += s->running;
		waiting += rank_size(&s->waiting);
		why = check_scope(a, s);
	}
	if (why != NULL)
		return why;
	if (running != a->running || waiting != a->waiting)
		return "the sums are not the sums of the scopes";
	if (a->level_milli > a->limits.burst * START_MILLI)
		return "the bucket is over its rim";
	return NULL;
}
