/* SPDX-License-Identifier: MIT */
/*
 * The containers of the lane scheduler. Called by lane.c, which decides; here
 * is only where an entry stands and how it is found.
 */
#include "supervisor/lane_store.h"

#include <stdlib.h>
#include <string.h>

/* Orders lanes by name. */
int
lane_cmp_name(const void *key, const struct rank_node *n)
{
	return strcmp(key, RANK_OWNER_C(n, struct lane, by_name)->name);
}

/* Orders entries by arrival; the id decides between equal numbers, which only
 * a damaged index can bring. */
int
lane_cmp_arrival(const void *key, const struct rank_node *n)
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
struct entry *
lane_entry_find(const struct lanes *ls, struct sid sid)
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
struct entry *
lane_entry_new(struct lanes *ls, struct lane *l, struct sid sid)
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
void
lane_entry_free(struct lanes *ls, struct entry *e)
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
bool
lane_ages_before(const struct entry *a, const struct entry *b)
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
	while (i > 0 && lane_ages_before(e, ls->ageing[(i - 1) / 2])) {
		heap_set(ls, i, ls->ageing[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (;;) {
		size_t c = 2 * i + 1;

		if (c >= ls->ageing_count)
			break;
		if (c + 1 < ls->ageing_count &&
		    lane_ages_before(ls->ageing[c + 1], ls->ageing[c]))
			c++;
		if (!lane_ages_before(ls->ageing[c], e))
			break;
		heap_set(ls, i, ls->ageing[c]);
		i = c;
	}
	heap_set(ls, i, e);
}

/* Room for one more. */
bool
lane_heap_reserve(struct lanes *ls)
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
void
lane_update_ready(struct lanes *ls, struct lane *l)
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
struct lane *
lane_get(struct lanes *ls, const char *name)
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
	l->queue_max = LANE_QUEUE_MAX;
	l->generation = 1;
	for (int i = 0; i < TIER_COUNT; i++)
		rank_init(&l->tiers[i], lane_cmp_arrival);
	rank_insert(&ls->by_name, &l->by_name, l->name);
	return l;
}

/* Forgets a lane that nobody uses and nobody configured. */
void
lane_drop_idle(struct lanes *ls, struct lane *l)
{
	if (l->configured || l->active > 0 || l->queued > 0)
		return;
	rank_erase(&ls->by_name, &l->by_name);
	free(l);
}

/* Into a tier, by arrival. */
void
lane_queue_in(struct lanes *ls, struct entry *e, uint8_t tier)
{
	e->tier = tier;
	rank_insert(&e->lane->tiers[tier], &e->place, e);
	e->lane->queued++;
	if (tier == TIER_LOW)
		heap_settle(ls, ls->ageing_count++, e);
}

/* Out of its tier. */
void
lane_queue_out(struct lanes *ls, struct entry *e)
{
	rank_erase(&e->lane->tiers[e->tier], &e->place);
	e->lane->queued--;
	heap_remove(ls, e);
}

/* Moves up everybody who has waited long enough. */
void
lane_age(struct lanes *ls, uint64_t now_ms)
{
	while (ls->ageing_count > 0 && ls->ageing[0]->age_at_ms <= now_ms) {
		struct entry *e = ls->ageing[0];

		lane_queue_out(ls, e);
		lane_queue_in(ls, e, TIER_NORMAL);
	}
}

/* Its place in its lane, 1 first. */
uint32_t
lane_place(const struct entry *e)
{
	uint32_t before = rank_of(&e->place);

	for (uint8_t t = 0; t < e->tier; t++)
		before += rank_size(&e->lane->tiers[t]);
	return before + 1;
}
