/* SPDX-License-Identifier: MIT */
/*
 * The containers of the lane scheduler. Called by lane.c, which decides; here
 * is only where an entry stands and how it is found.
 */
#include "supervisor/lane/store.h"
#include "common/grow.h"

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
	return a->since_ms != b->since_ms ? a->since_ms < b->since_ms
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
	return GROW(ls->ageing, ls->ageing_cap, ls->ageing_count + 1, 64);
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

/* 1 to 51 bytes. */
bool
lane_name_ok(const char *name)
{
	return name[0] != '\0' && strnlen(name, LANE_NAME_MAX) < LANE_NAME_MAX;
}

/* Does it stand for all names that begin so? */
bool
lane_is_pattern(const char *name)
{
	return name[strlen(name) - 1] == '*';
}

/* How well a configured name fits: LANE_NAME_MAX where it is the name, its
 * length where it is a pattern of it, 0: not. */
static size_t
conf_fits(const char *conf, const char *name)
{
	size_t n = strlen(conf);

	if (!lane_is_pattern(conf))
		return strcmp(conf, name) == 0 ? LANE_NAME_MAX : 0;
	return strncmp(conf, name, n - 1) == 0 ? n : 0;
}

/* The row that fits best, or the defaults. */
const struct lane_conf *
lane_take_conf(struct lanes *ls, struct lane *l)
{
	const struct lane_conf *best = NULL;
	size_t best_fit = 0;

	for (size_t i = 0; i < ls->conf_count; i++) {
		size_t fit = conf_fits(ls->confs[i].name, l->name);

		if (fit > best_fit) {
			best_fit = fit;
			best = &ls->confs[i];
		}
	}
	l->width_conf = best != NULL ? best->width : 1;
	l->queue_max = best != NULL ? best->queue_max : LANE_QUEUE_MAX;
	l->configured = best_fit == LANE_NAME_MAX;
	if (!l->width_set)
		l->width = l->width_conf;
	return best;
}

/* The lane of this name, made where needed. */
struct lane *
lane_get(struct lanes *ls, const char *name)
{
	struct rank_node *n = rank_find(&ls->by_name, name);
	const struct lane_conf *conf;
	struct lane *l;

	if (n != NULL)
		return RANK_OWNER(n, struct lane, by_name);
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	memcpy(l->name, name, strlen(name));
	l->generation = 1;
	l->turn.lane = l;
	for (int i = 0; i < TIER_COUNT; i++)
		rank_init(&l->tiers[i], lane_cmp_arrival);
	rank_insert(&ls->by_name, &l->by_name, l->name);
	conf = lane_take_conf(ls, l);
	if (conf != NULL && conf->group[0] != '\0')
		lane_join(l, lane_group_find(ls, conf->group), conf->reserve);
	return l;
}

/* Forgets a lane that nobody uses and nobody configured. */
void
lane_drop_idle(struct lanes *ls, struct lane *l)
{
	if (l->configured || l->active > 0 || l->queued > 0 || l->stale > 0 ||
	    l->paused || l->draining || l->width_set)
		return;
	lane_part(l);
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
	ls->queued++;
	if (tier == TIER_LOW)
		heap_settle(ls, ls->ageing_count++, e);
}

/* Into the list of those to warn about, by time: almost always its end. */
void
lane_wait_in(struct lanes *ls, struct entry *e)
{
	struct entry *before = ls->wait_last;

	while (before != NULL && before->since_ms > e->since_ms)
		before = before->wait_prev;
	e->wait_prev = before;
	e->wait_next = before != NULL ? before->wait_next : ls->wait_first;
	if (e->wait_next != NULL)
		e->wait_next->wait_prev = e;
	else
		ls->wait_last = e;
	if (before != NULL)
		before->wait_next = e;
	else
		ls->wait_first = e;
	e->waits = true;
}

/* Out of it, if it is in. */
void
lane_wait_out(struct lanes *ls, struct entry *e)
{
	if (!e->waits)
		return;
	if (e->wait_next != NULL)
		e->wait_next->wait_prev = e->wait_prev;
	else
		ls->wait_last = e->wait_prev;
	if (e->wait_prev != NULL)
		e->wait_prev->wait_next = e->wait_next;
	else
		ls->wait_first = e->wait_next;
	e->waits = false;
}

/* Out of its tier. */
void
lane_queue_out(struct lanes *ls, struct entry *e)
{
	rank_erase(&e->lane->tiers[e->tier], &e->place);
	e->lane->queued--;
	ls->queued--;
	heap_remove(ls, e);
}

/* Moves up everybody who has waited long enough. */
void
lane_age(struct lanes *ls, uint64_t now_ms)
{
	while (ls->ageing_count > 0 &&
	    ls->ageing[0]->since_ms + LANE_AGE_MS <= now_ms) {
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
