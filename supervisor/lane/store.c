/* SPDX-License-Identifier: MIT */
/*
 * The containers of the lane scheduler. Called by lane.c, which decides; here
 * is only where an entry stands and how it is found.
 */
#include "supervisor/lane/store.h"

#include <stdlib.h>
#include <string.h>

/* Orders lanes by name. */
RANK_BY_TEXT(lane_cmp_name, struct lane, by_name, name)

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

int
lane_cmp_age(const void *key, const struct rank_node *n)
{
	const struct entry *a = key;
	const struct entry *b = RANK_OWNER_C(n, struct entry, by_age);

	if (a->since_ms != b->since_ms)
		return a->since_ms < b->since_ms ? -1 : 1;
	return lane_cmp_arrival(a, &b->place);
}

RANK_BY_U64(lane_cmp_sid, struct entry, by_sid, sid.v)

/* ------------------------------------------------------------ the sessions */

/* The entry of an id, or NULL. */
struct entry *
lane_entry_find(const struct lanes *ls, struct sid sid)
{
	struct rank_node *n = rank_find(&ls->entries, &sid);

	return n == NULL ? NULL : RANK_OWNER(n, struct entry, by_sid);
}

/* A new entry of this lane, in the table but neither queued nor active. */
struct entry *
lane_entry_new(struct lanes *ls, struct lane *l, struct sid sid)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->lane = l;
	e->sid = sid;
	rank_insert(&ls->entries, &e->by_sid, &sid);
	return e;
}

/* Out of the table, and gone. */
void
lane_entry_free(struct lanes *ls, struct entry *e)
{
	rank_erase(&ls->entries, &e->by_sid);
	free(e);
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
	TAILQ_INIT(&l->holders);
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
		rank_insert(&ls->ageing, &e->by_age, e);
}

/* Into the list of those to warn about, by time: almost always its end. */
void
lane_wait_in(struct lanes *ls, struct entry *e)
{
	struct entry *before;

	TAILQ_FOREACH_REVERSE(before, &ls->waits, waits, waiting)
		if (before->since_ms <= e->since_ms)
			break;
	if (before != NULL)
		TAILQ_INSERT_AFTER(&ls->waits, before, e, waiting);
	else
		TAILQ_INSERT_HEAD(&ls->waits, e, waiting);
	e->waits = true;
}

/* Out of it, if it is in. */
void
lane_wait_out(struct lanes *ls, struct entry *e)
{
	if (e->waits)
		TAILQ_REMOVE(&ls->waits, e, waiting);
	e->waits = false;
}

/* Out of its tier. */
void
lane_queue_out(struct lanes *ls, struct entry *e)
{
	rank_erase(&e->lane->tiers[e->tier], &e->place);
	e->lane->queued--;
	ls->queued--;
	if (e->tier == TIER_LOW)
		rank_erase(&ls->ageing, &e->by_age);
}

/* Moves up everybody who has waited long enough. */
void
lane_age(struct lanes *ls, uint64_t now_ms)
{
	while (lanes_due(ls) <= now_ms) {
		struct entry *e = RANK_OWNER(rank_first(&ls->ageing),
		    struct entry, by_age);

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
