/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler. Called by session.c with what happened and the time;
 * answers who may start. It does no I/O, reads no clock, and keeps nothing
 * that the index does not also hold.
 *
 * Every session it knows is one entry, found by a hash of its id. A queued
 * entry stands in one of its lane's three tiers, ordered by arrival and
 * knowing its rank (rank.h); entries of the lowest tier also stand in a heap by
 * the time at which they move up. Lanes are ordered by name; those with room
 * and a queue hang in a ring of their own, so that lanes_next() never
 * searches. Every operation is O(log n).
 */
#include "supervisor/lane.h"

#include "common/check.h"
#include "supervisor/rank.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX_DEFAULT 100000u
#define BUCKETS_MIN       256u

enum { TIER_HIGH, TIER_NORMAL, TIER_LOW, TIER_COUNT };

struct lane {
	struct rank_node by_name;
	struct lane *ready_next, *ready_prev; /* NULL: not ready */
	struct rank_tree tiers[TIER_COUNT];
	uint32_t width, active, queued, queue_max, generation;
	bool configured; /* stays when idle */
	char name[LANE_NAME_MAX];
};

struct entry {
	struct rank_node place; /* in lane->tiers[tier], while queued */
	struct entry *chain;    /* same bucket */
	struct lane *lane;
	struct sid sid;
	uint64_t seq;
	uint64_t age_at_ms;     /* moves up then */
	uint32_t heap;          /* place in the heap + 1; 0: not in it */
	uint8_t tier;
	bool active;
};
static_assert(sizeof(struct entry) + 2 * sizeof(void *) <= 256,
    "memory of a queued session");

struct lanes {
	struct rank_tree by_name;
	struct lane ready;       /* head of the ring; only its links are used */
	struct entry **buckets;
	size_t bucket_count;     /* a power of two */
	size_t entry_count;
	struct entry **ageing;   /* binary heap by age_at_ms, then seq */
	size_t ageing_count, ageing_cap;
	uint64_t last_seq;
};

static const struct {
	const char *name;
	uint32_t width;
} lane_defaults[] = {
	{ "main", 1 },
	{ "subagent", 8 },
};

/* Orders lanes by name. */
static int
cmp_name(const void *key, const struct rank_node *n)
{
	return strcmp(key, RANK_OWNER_C(n, struct lane, by_name)->name);
}

/* Orders entries by arrival; the id decides between equal numbers, which only
 * a damaged index can bring. */
static int
cmp_arrival(const void *key, const struct rank_node *n)
{
	const struct entry *a = key;
	const struct entry *b = RANK_OWNER_C(n, struct entry, place);

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->sid.v != b->sid.v)
		return a->sid.v < b->sid.v ? -1 : 1;
	return 0;
}

/* ------------------------------------------------------------ the sessions */

/* The bucket of an id. */
static struct entry **
bucket_of(const struct lanes *ls, struct sid sid)
{
	uint64_t h = sid.v * 0x9e3779b97f4a7c15ull;

	return &ls->buckets[(h >> 32) & (ls->bucket_count - 1)];
}

/* The entry of an id, or NULL. */
static struct entry *
find_entry(const struct lanes *ls, struct sid sid)
{
	struct entry *e = *bucket_of(ls, sid);

	while (e != NULL && !sid_eq(e->sid, sid))
		e = e->chain;
	return e;
}

/* Doubles the table; where memory is short the chains just grow. */
static void
grow_buckets(struct lanes *ls)
{
	struct entry **old = ls->buckets;
	size_t count = ls->bucket_count;
	struct entry **fresh = calloc(count * 2, sizeof(*fresh));

	if (fresh == NULL)
		return;
	ls->buckets = fresh;
	ls->bucket_count = count * 2;
	for (size_t i = 0; i < count; i++) {
		for (struct entry *e = old[i], *next; e != NULL; e = next) {
			struct entry **b = bucket_of(ls, e->sid);

			next = e->chain;
			e->chain = *b;
			*b = e;
		}
	}
	free(old);
}

/* A new entry of this lane, in the table but neither queued nor active. */
static struct entry *
entry_new(struct lanes *ls, struct lane *l, struct sid sid)
{
	struct entry *e = calloc(1, sizeof(*e));
	struct entry **b;

	if (e == NULL)
		return NULL;
	if (ls->entry_count >= ls->bucket_count)
		grow_buckets(ls);
	e->lane = l;
	e->sid = sid;
	b = bucket_of(ls, sid);
	e->chain = *b;
	*b = e;
	ls->entry_count++;
	return e;
}

/* Out of the table, and gone. */
static void
entry_free(struct lanes *ls, struct entry *e)
{
	struct entry **link = bucket_of(ls, e->sid);

	while (*link != e)
		link = &(*link)->chain;
	*link = e->chain;
	ls->entry_count--;
	free(e);
}

/* ------------------------------------------------------------- the age heap */

/* a moves up before b. */
static bool
ages_before(const struct entry *a, const struct entry *b)
{
	return a->age_at_ms != b->age_at_ms ? a->age_at_ms < b->age_at_ms
	                                    : a->seq < b->seq;
}

/* Puts e at place i. */
static void
heap_set(struct lanes *ls, size_t i, struct entry *e)
{
	ls->ageing[i] = e;
	e->heap = (uint32_t)(i + 1);
}

/* Moves e from place i towards the top or the bottom. */
static void
heap_settle(struct lanes *ls, size_t i, struct entry *e)
{
	while (i > 0 && ages_before(e, ls->ageing[(i - 1) / 2])) {
		heap_set(ls, i, ls->ageing[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (;;) {
		size_t c = 2 * i + 1;

		if (c >= ls->ageing_count)
			break;
		if (c + 1 < ls->ageing_count &&
		    ages_before(ls->ageing[c + 1], ls->ageing[c]))
			c++;
		if (!ages_before(ls->ageing[c], e))
			break;
		heap_set(ls, i, ls->ageing[c]);
		i = c;
	}
	heap_set(ls, i, e);
}

/* Room for one more. */
static bool
heap_reserve(struct lanes *ls)
{
	size_t cap = ls->ageing_cap == 0 ? 64 : ls->ageing_cap * 2;
	struct entry **grown;

	if (ls->ageing_count < ls->ageing_cap)
		return true;
	grown = reallocarray(ls->ageing, cap, sizeof(struct entry *));
	if (grown == NULL)
		return false;
	ls->ageing = grown;
	ls->ageing_cap = cap;
	return true;
}

/* Takes e out, if it is in. */
static void
heap_remove(struct lanes *ls, struct entry *e)
{
	size_t i = e->heap;
	struct entry *last;

	if (i == 0)
		return;
	e->heap = 0;
	last = ls->ageing[--ls->ageing_count];
	if (last != e)
		heap_settle(ls, i - 1, last);
}

/* --------------------------------------------------------------- the lanes */

/* Keeps the ring of lanes that could start somebody up to date. */
static void
update_ready(struct lanes *ls, struct lane *l)
{
	bool ready = l->queued > 0 && l->active < l->width;

	if (ready == (l->ready_next != NULL))
		return;
	if (ready) {
		l->ready_next = &ls->ready;
		l->ready_prev = ls->ready.ready_prev;
	} else {
		l->ready_next->ready_prev = l->ready_prev;
		l->ready_prev->ready_next = l->ready_next;
		l->ready_next = l->ready_prev = NULL;
		return;
	}
	l->ready_prev->ready_next = l;
	ls->ready.ready_prev = l;
}

/* The lane of this name, made where needed. */
static struct lane *
get_lane(struct lanes *ls, const char *name)
{
	struct rank_node *n = rank_find(&ls->by_name, name);
	struct lane *l;

	if (n != NULL)
		return RANK_OWNER(n, struct lane, by_name);
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	memcpy(l->name, name, strlen(name));
	l->width = 1;
	l->queue_max = QUEUE_MAX_DEFAULT;
	l->generation = 1;
	for (int i = 0; i < TIER_COUNT; i++)
		rank_init(&l->tiers[i], cmp_arrival);
	rank_insert(&ls->by_name, &l->by_name, l->name);
	return l;
}

/* Forgets a lane that nobody uses and nobody configured. */
static void
drop_idle(struct lanes *ls, struct lane *l)
{
	if (l->configured || l->active > 0 || l->queued > 0)
		return;
	rank_erase(&ls->by_name, &l->by_name);
	free(l);
}

/* Into a tier, by arrival. */
static void
queue_in(struct lanes *ls, struct entry *e, uint8_t tier)
{
	e->tier = tier;
	rank_insert(&e->lane->tiers[tier], &e->place, e);
	e->lane->queued++;
	if (tier == TIER_LOW)
		heap_settle(ls, ls->ageing_count++, e);
}

/* Out of its tier. */
static void
queue_out(struct lanes *ls, struct entry *e)
{
	rank_erase(&e->lane->tiers[e->tier], &e->place);
	e->lane->queued--;
	heap_remove(ls, e);
}

/* Moves up everybody who has waited long enough. */
static void
age(struct lanes *ls, uint64_t now_ms)
{
	while (ls->ageing_count > 0 && ls->ageing[0]->age_at_ms <= now_ms) {
		struct entry *e = ls->ageing[0];

		queue_out(ls, e);
		queue_in(ls, e, TIER_NORMAL);
	}
}

/* Its place in its lane, 1 first. */
static uint32_t
place_of(const struct entry *e)
{
	uint32_t before = rank_of(&e->place);

	for (uint8_t t = 0; t < e->tier; t++)
		before += rank_size(&e->lane->tiers[t]);
	return before + 1;
}

/* ------------------------------------------------------------------ public */

/* With the lanes that are always there. */
struct lanes *
lanes_new(void)
{
	struct lanes *ls = calloc(1, sizeof(*ls));

	if (ls == NULL)
		return NULL;
	rank_init(&ls->by_name, cmp_name);
	ls->ready.ready_next = ls->ready.ready_prev = &ls->ready;
	ls->bucket_count = BUCKETS_MIN;
	ls->buckets = calloc(ls->bucket_count, sizeof(struct entry *));
	if (ls->buckets == NULL) {
		free(ls);
		return NULL;
	}
	for (size_t i = 0; i < NELEMS(lane_defaults); i++)
		if (lanes_configure(ls, lane_defaults[i].name,
		        lane_defaults[i].width, QUEUE_MAX_DEFAULT) != 0)
			lanes_free(&ls);
	return ls;
}

/* Everything; NULL is fine. */
void
lanes_free(struct lanes **ls)
{
	struct rank_node *n;

	if (*ls == NULL)
		return;
	for (size_t i = 0; i < (*ls)->bucket_count; i++) {
		for (struct entry *e = (*ls)->buckets[i], *next; e != NULL;
		     e = next) {
			next = e->chain;
			free(e);
		}
	}
	while ((n = rank_first(&(*ls)->by_name)) != NULL) {
		rank_erase(&(*ls)->by_name, n);
		free(RANK_OWNER(n, struct lane, by_name));
	}
	free((*ls)->buckets);
	free((*ls)->ageing);
	free(*ls);
	*ls = NULL;
}

/* A narrower lane ends nobody: it waits until enough have left. */
int
lanes_configure(struct lanes *ls, const char *name, uint32_t width,
    uint32_t queue_max)
{
	struct lane *l;

	if (name[0] == '\0' || strlen(name) >= LANE_NAME_MAX)
		return -EINVAL;
	l = get_lane(ls, name);
	if (l == NULL)
		return -ENOMEM;
	l->width = width;
	l->queue_max = queue_max;
	l->configured = true;
	update_ready(ls, l);
	return 0;
}

/* Whether the lane takes this one now, later, or not at all. A restored one
 * waits for lanes_next(), which knows all of them. */
static enum lane_verdict
judge(const struct lane *l, bool restored)
{
	if (restored)
		return LANE_QUEUED;
	if (l->queued == 0 && l->active < l->width)
		return LANE_ADMIT;
	return l->queued < l->queue_max ? LANE_QUEUED : LANE_FULL;
}

/* Says where an entry stands. */
static enum lane_verdict
tell(const struct entry *e, uint64_t *ret_seq, uint32_t *ret_pos)
{
	if (ret_seq != NULL)
		*ret_seq = e->seq;
	if (ret_pos != NULL)
		*ret_pos = e->active ? 0 : place_of(e);
	return e->active ? LANE_ADMIT : LANE_QUEUED;
}

/* Admits, queues or refuses; who is known already only hears where it
 * stands. */
enum lane_verdict
lanes_enter(struct lanes *ls, const char *lane, int priority, struct sid sid,
    uint64_t seq, uint64_t now_ms, uint64_t *ret_seq, uint32_t *ret_pos)
{
	struct entry *e;
	struct lane *l;
	enum lane_verdict v;

	CHECK(sid.v != 0);
	CHECK(lane[0] != '\0' && strlen(lane) < LANE_NAME_MAX);
	if (seq == 0) /* a restored one brings its own time, not now */
		age(ls, now_ms);
	e = find_entry(ls, sid);
	if (e != NULL)
		return tell(e, ret_seq, ret_pos);
	l = get_lane(ls, lane);
	if (l == NULL)
		return LANE_NOMEM;
	v = judge(l, seq != 0);
	e = v == LANE_FULL || !heap_reserve(ls) ? NULL : entry_new(ls, l, sid);
	if (e == NULL) {
		drop_idle(ls, l);
		return v == LANE_FULL ? LANE_FULL : LANE_NOMEM;
	}
	e->seq = seq != 0 ? seq : ls->last_seq + 1;
	if (e->seq > ls->last_seq)
		ls->last_seq = e->seq;
	if (v == LANE_ADMIT) {
		e->active = true;
		l->active++;
	} else {
		e->age_at_ms = now_ms + LANE_AGE_MS;
		queue_in(ls, e, priority > 0 ? TIER_HIGH
		        : priority < 0       ? TIER_LOW
		                             : TIER_NORMAL);
	}
	update_ready(ls, l);
	return tell(e, ret_seq, ret_pos);
}

/* A slot for one that runs already. */
int
lanes_restore_active(struct lanes *ls, const char *lane, struct sid sid)
{
	struct entry *e = find_entry(ls, sid);
	struct lane *l;

	CHECK(sid.v != 0);
	if (lane[0] == '\0' || strlen(lane) >= LANE_NAME_MAX)
		return -EINVAL;
	if (e != NULL && e->active)
		return 0;
	if (e != NULL) {
		queue_out(ls, e);
	} else {
		l = get_lane(ls, lane);
		e = l == NULL ? NULL : entry_new(ls, l, sid);
		if (e == NULL) {
			if (l != NULL)
				drop_idle(ls, l);
			return -ENOMEM;
		}
	}
	e->active = true;
	e->lane->active++;
	update_ready(ls, e->lane);
	return 0;
}

/* Frees the slot or the place. */
void
lanes_leave(struct lanes *ls, struct sid sid)
{
	struct entry *e = find_entry(ls, sid);
	struct lane *l;

	if (e == NULL)
		return;
	l = e->lane;
	if (e->active)
		l->active--;
	else
		queue_out(ls, e);
	entry_free(ls, e);
	update_ready(ls, l);
	drop_idle(ls, l);
}

/* The first of the lane that has waited longest for its turn; lanes with more
 * room come again after the others. */
struct sid
lanes_next(struct lanes *ls, uint64_t now_ms)
{
	struct lane *l = ls->ready.ready_next;
	struct rank_node *n = NULL;
	struct entry *e;

	age(ls, now_ms);
	if (l == &ls->ready)
		return (struct sid){ 0 };
	for (int t = 0; n == NULL && t < TIER_COUNT; t++)
		n = rank_first(&l->tiers[t]);
	CHECK(n != NULL);
	e = RANK_OWNER(n, struct entry, place);
	queue_out(ls, e);
	e->active = true;
	l->active++;
	/* out of the ring and, where there is more, in again at its end */
	l->ready_next->ready_prev = l->ready_prev;
	l->ready_prev->ready_next = l->ready_next;
	l->ready_next = l->ready_prev = NULL;
	update_ready(ls, l);
	return e->sid;
}

/* The first ageing step. */
uint64_t
lanes_due(const struct lanes *ls)
{
	return ls->ageing_count == 0 ? UINT64_MAX : ls->ageing[0]->age_at_ms;
}

/* As of the last call that brought a time. */
uint32_t
lanes_position(const struct lanes *ls, struct sid sid)
{
	const struct entry *e = find_entry(ls, sid);

	return e == NULL || e->active ? 0 : place_of(e);
}

/* How many lanes there are now. */
size_t
lanes_count(const struct lanes *ls)
{
	return rank_size(&ls->by_name);
}

/* Lane number i by name. */
void
lanes_view(const struct lanes *ls, size_t i, struct lane_view *ret)
{
	const struct lane *l;

	CHECK(i < lanes_count(ls));
	l = RANK_OWNER(rank_at(&ls->by_name, (uint32_t)i), struct lane,
	    by_name);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, l->name, sizeof(ret->name));
	ret->width = l->width;
	ret->active = l->active;
	ret->queued = l->queued;
	ret->queue_max = l->queue_max;
	ret->generation = l->generation;
}

/* ------------------------------------------------------------------ checks */

/* Order, counts and the heap places of one tier. */
static const char *
check_tier(const struct lanes *ls, const struct lane *l, uint8_t tier)
{
	const char *broken = rank_check(&l->tiers[tier]);
	const struct entry *before = NULL;

	for (const struct rank_node *n = rank_first(&l->tiers[tier]);
	     n != NULL && broken == NULL; n = rank_next(n)) {
		const struct entry *e = RANK_OWNER_C(n, struct entry, place);

		if (e->lane != l || e->tier != tier || e->active)
			broken = "an entry stands in a tier that is not its";
		else if (find_entry(ls, e->sid) != e)
			broken = "a queued entry is not in the table";
		else if ((tier == TIER_LOW) != (e->heap != 0))
			broken = "only the low tier ages";
		else if (before != NULL && cmp_arrival(before, n) >= 0)
			broken = "a tier is not in order of arrival";
		else if (e->seq > ls->last_seq)
			broken = "a number beyond the newest";
		before = e;
	}
	return broken;
}

/* One lane: its tiers, its counts, its place in the ring. */
static const char *
check_lane(const struct lanes *ls, const struct lane *l)
{
	uint32_t queued = 0;
	bool ready = false;

	for (uint8_t t = 0; t < TIER_COUNT; t++) {
		const char *broken = check_tier(ls, l, t);

		if (broken != NULL)
			return broken;
		queued += rank_size(&l->tiers[t]);
	}
	if (queued != l->queued)
		return "a lane's count of queued sessions is wrong";
	if (!l->configured && l->queued + l->active == 0)
		return "an idle lane was not forgotten";
	for (const struct lane *r = ls->ready.ready_next; r != &ls->ready;
	     r = r->ready_next) {
		if (r->ready_next->ready_prev != r)
			return "the ring of ready lanes is broken";
		ready |= r == l;
	}
	if (ready != (l->queued > 0 && l->active < l->width))
		return "a lane is ready and not in the ring, or the reverse";
	return NULL;
}

/* The heap's order and back references. */
static const char *
check_heap(const struct lanes *ls)
{
	for (size_t i = 0; i < ls->ageing_count; i++) {
		const struct entry *e = ls->ageing[i];

		if (e->heap != i + 1)
			return "an entry does not know its place in the heap";
		if (i > 0 && ages_before(e, ls->ageing[(i - 1) / 2]))
			return "the heap is not in order";
		if (e->active || e->tier != TIER_LOW)
			return "somebody ages who should not";
	}
	return NULL;
}

/* Walks everything. */
const char *
lanes_check(const struct lanes *ls)
{
	size_t entries = 0, active = 0, queued = 0, of_lanes = 0;
	const char *broken = rank_check(&ls->by_name);

	for (size_t i = 0; i < ls->bucket_count; i++) {
		for (const struct entry *e = ls->buckets[i]; e != NULL;
		     e = e->chain) {
			entries++;
			active += e->active;
		}
	}
	for (const struct rank_node *n = rank_first(&ls->by_name);
	     n != NULL && broken == NULL; n = rank_next(n)) {
		const struct lane *l = RANK_OWNER_C(n, struct lane, by_name);

		broken = check_lane(ls, l);
		of_lanes += l->active;
		queued += l->queued;
	}
	if (broken == NULL)
		broken = check_heap(ls);
	if (broken == NULL && of_lanes != active)
		broken = "slots are held by nobody, or by strangers";
	if (broken == NULL &&
	    (entries != ls->entry_count || active + queued != entries))
		broken = "an entry is neither queued nor active";
	return broken;
}
