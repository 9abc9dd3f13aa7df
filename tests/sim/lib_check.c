/* SPDX-License-Identifier: MIT */
#include "lib_check.h"

#include "supervisor/lane/store.h"

#define SIZE_OF(n) ((n) == NULL ? 0 : (n)->size)

/* Links, sizes and weights of every node. */
const char *
rank_check(const struct rank_tree *t)
{
	uint32_t seen = 0;

	if (t->root != NULL && t->root->parent != NULL)
		return "the root has a parent";
	for (const struct rank_node *n = rank_first(t); n != NULL;
	     n = rank_next(n)) {
		if (n->size != 1 + SIZE_OF(n->child[0]) + SIZE_OF(n->child[1]))
			return "a subtree's size is wrong";
		if ((n->child[0] != NULL && n->child[0]->parent != n) ||
		    (n->child[1] != NULL && n->child[1]->parent != n))
			return "a child does not know its parent";
		if (n->parent != NULL && n->weight > n->parent->weight)
			return "a child is heavier than its parent";
		seen++;
	}
	return seen == rank_size(t) ? NULL : "the walk missed nodes";
}

const char *
share_check(const struct shares *sh)
{
	for (unsigned r = 0; r < SHARE_RESOURCES; r++) {
		const struct share_row *row = &sh->row[r];
		struct rank_node *n = rank_first(&row->users);
		const char *why = rank_check(&row->users);
		uint64_t sum = 0, before = 0;

		for (; n != NULL && why == NULL; n = rank_next(n)) {
			uint64_t used = RANK_OWNER(n - r, struct share_scope,
			    by_use)->used[r];

			if (used == 0 || used < before)
				why = "a scope stands where it does not belong";
			before = used;
			sum += used;
		}
		if (why != NULL)
			return why;
		if (sum != row->used)
			return "the sum is not the sum of the scopes";
	}
	return NULL;
}

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
		else if (lane_entry_find(ls, e->sid) != e)
			broken = "a queued entry is not in the table";
		else if ((tier == TIER_LOW) !=
		    (rank_find(&ls->ageing, e) == &e->by_age))
			broken = "only the low tier ages";
		else if (before != NULL && lane_cmp_arrival(before, n) >= 0)
			broken = "a tier is not in order of arrival";
		else if (e->seq > ls->last_seq)
			broken = "a number beyond the newest";
		else if (e->stale)
			broken = "somebody who waits is of an old generation";
		before = e;
	}
	return broken;
}

/* Is it in this ring, and is the ring whole? */
static bool
in_ring(const struct turn *head, const struct turn *t, const char **broken)
{
	bool found = false;

	for (const struct turn *r = head->next; r != head; r = r->next) {
		if (r->next->prev != r || (r->lane == NULL) ==
		        (r->group == NULL))
			*broken = "a ring of turns is broken";
		found |= r == t;
	}
	return found;
}

/* The ring a lane must be in. */
static const char *
check_turn(const struct lanes *ls, const struct lane *l)
{
	const struct group *g = l->group;
	const struct turn *want = NULL;
	const char *broken = NULL;

	if (l->queued > 0 && !l->paused && l->active < l->width)
		want = g == NULL	       ? &ls->ready
		    : l->active < l->reserve ? &g->reserved
						 : &g->shared;
	if (l->ring != want || (l->turn.next != NULL) != (want != NULL))
		return "a lane is in the wrong ring";
	if (want != NULL && !in_ring(want, &l->turn, &broken))
		return "a lane is not in its ring";
	return broken;
}

/* Who holds its places, and who only runs on. */
static const char *
check_active(const struct lane *l)
{
	const struct entry *e;
	uint32_t active = 0, stale = 0;

	TAILQ_FOREACH(e, &l->holders, holding) {
		if (e->lane != l || !e->active)
			return "a lane's list of holders is broken";
		active += !e->stale;
		stale += e->stale;
	}
	return active != l->active || stale != l->stale
	    ? "a lane's count of places is wrong"
	    : NULL;
}

/* One lane: its tiers, its counts, its place in the rings. */
static const char *
check_lane(const struct lanes *ls, const struct lane *l)
{
	const char *broken = check_active(l);
	uint32_t queued = 0;

	for (uint8_t t = 0; t < TIER_COUNT && broken == NULL; t++) {
		broken = check_tier(ls, l, t);
		queued += rank_size(&l->tiers[t]);
	}
	if (broken != NULL)
		return broken;
	if (queued != l->queued)
		return "a lane's count of queued sessions is wrong";
	if (!l->configured && !l->paused && !l->draining && !l->width_set &&
	    l->queued + l->active + l->stale == 0)
		return "an idle lane was not forgotten";
	if (!l->width_set && l->width != l->width_conf)
		return "a lane's width is not the configured one";
	return check_turn(ls, l);
}

/* One group: its sums, its place in the ring of all. */
static const char *
check_group(const struct lanes *ls, const struct group *g)
{
	uint64_t active = 0, committed = 0;
	uint32_t lanes = 0;
	const char *broken = NULL;
	const struct lane *l;
	bool ready;

	LIST_FOREACH(l, &g->members, member) {
		if (l->group != g)
			return "a group's list of lanes is broken";
		active += l->active;
		committed += l->active > l->reserve ? l->active : l->reserve;
		lanes++;
	}
	if (g->active != active || g->committed != committed ||
	    g->lanes != lanes)
		return "a group's sums are wrong";
	ready = (g->active < g->width && g->reserved.next != &g->reserved) ||
	    (committed < g->width && g->shared.next != &g->shared);
	if (in_ring(&ls->ready, &g->turn, &broken) != ready)
		return "a group is ready and not in the ring, or the reverse";
	return broken;
}

/* Those who move up one day, in order. */
static const char *
check_ageing(const struct lanes *ls)
{
	const struct entry *before = NULL;

	for (const struct rank_node *n = rank_first(&ls->ageing); n != NULL;
	     n = rank_next(n)) {
		const struct entry *e = RANK_OWNER_C(n, struct entry, by_age);

		if (before != NULL && lane_cmp_age(before, n) >= 0)
			return "those who age are not in order";
		if (e->active || e->tier != TIER_LOW)
			return "somebody ages who should not";
		before = e;
	}
	return rank_check(&ls->ageing);
}

/* The list of those to warn about. */
static const char *
check_waits(const struct lanes *ls, size_t *ret_count)
{
	const struct entry *before = NULL, *e;
	size_t n = 0;

	TAILQ_FOREACH(e, &ls->waits, waiting) {
		if (!e->waits || e->active)
			return "the list of those who wait is broken";
		if (before != NULL && before->since_ms > e->since_ms)
			return "the list of those who wait is not in order";
		before = e;
		n++;
	}
	*ret_count = n;
	return NULL;
}

/* Walks everything. */
const char *
lanes_check(const struct lanes *ls)
{
	size_t entries = 0, active = 0, queued = 0, of_lanes = 0, waits = 0;
	size_t waiting = 0;
	const char *broken = rank_check(&ls->by_name);

	if (broken == NULL)
		broken = rank_check(&ls->entries);
	for (const struct rank_node *n = rank_first(&ls->entries); n != NULL;
	     n = rank_next(n)) {
		const struct entry *e = RANK_OWNER_C(n, struct entry, by_sid);

		active += e->active;
		waits += e->waits;
		entries++;
	}
	for (const struct rank_node *n = rank_first(&ls->by_name);
	     n != NULL && broken == NULL; n = rank_next(n)) {
		const struct lane *l = RANK_OWNER_C(n, struct lane, by_name);

		broken = check_lane(ls, l);
		of_lanes += l->active + l->stale;
		queued += l->queued;
	}
	for (size_t i = 0; i < ls->group_count && broken == NULL; i++)
		broken = check_group(ls, &ls->groups[i]);
	if (broken == NULL)
		broken = check_ageing(ls);
	if (broken == NULL)
		broken = check_waits(ls, &waiting);
	if (broken == NULL && waiting != waits)
		broken = "somebody waits whom nobody will be warned about";
	if (broken == NULL && of_lanes != active)
		broken = "slots are held by nobody, or by strangers";
	if (broken == NULL &&
	    (entries != rank_size(&ls->entries) || active + queued != entries ||
		queued != ls->queued))
		broken = "an entry is neither queued nor active";
	return broken;
}
