/* SPDX-License-Identifier: MIT */
/*
 * Every invariant of the lane scheduler, for its tests: walks all there is.
 */
#include "supervisor/lane_store.h"

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
		else if ((tier == TIER_LOW) != (e->heap != 0))
			broken = "only the low tier ages";
		else if (before != NULL && lane_cmp_arrival(before, n) >= 0)
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
		if (i > 0 && lane_ages_before(e, ls->ageing[(i - 1) / 2]))
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
