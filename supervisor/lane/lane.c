/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler. Called by session*.c with what happened and the time;
 * answers who may start. It does no I/O, reads no clock, and keeps nothing
 * that the index does not also hold. Its containers: store.c.
 */
#include "supervisor/lane/lane.h"

#include "common/check.h"
#include "supervisor/lane/store.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *name;
	uint32_t width;
} lane_defaults[] = {
	{ "main", 1 },
	{ "subagent", 8 },
};

/* With the lanes that are always there. */
struct lanes *
lanes_new(void)
{
	struct lanes *ls = calloc(1, sizeof(*ls));

	if (ls == NULL)
		return NULL;
	rank_init(&ls->by_name, lane_cmp_name);
	rank_init(&ls->entries, lane_cmp_sid);
	rank_init(&ls->ageing, lane_cmp_age);
	TAILQ_INIT(&ls->waits);
	lane_turns_init(&ls->ready);
	for (size_t i = 0; i < NELEMS(lane_defaults); i++)
		if (lanes_configure(ls, lane_defaults[i].name,
		        lane_defaults[i].width, LANE_QUEUE_MAX) != 0)
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
	while ((n = rank_first(&(*ls)->entries)) != NULL)
		lane_entry_free(*ls, RANK_OWNER(n, struct entry, by_sid));
	while ((n = rank_first(&(*ls)->by_name)) != NULL) {
		rank_erase(&(*ls)->by_name, n);
		free(RANK_OWNER(n, struct lane, by_name));
	}
	free((*ls)->groups);
	free((*ls)->confs);
	free(*ls);
	*ls = NULL;
}

/* Whether the lane takes this one now, later, or not at all. A restored one
 * waits for lanes_next(), which knows all of them. */
static enum lane_verdict
judge(const struct lane *l, bool restored)
{
	if (restored)
		return LANE_QUEUED;
	if (l->draining)
		return LANE_DRAINING;
	if (l->queued == 0 && lane_block_of(l, true) == LANE_OPEN)
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
		*ret_pos = e->active ? 0 : lane_place(e);
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
	bool refused;

	CHECK(sid.v != 0);
	CHECK(lane_name_ok(lane));
	if (seq == 0) /* a restored one brings its own time, not now */
		lane_age(ls, now_ms);
	e = lane_entry_find(ls, sid);
	if (e != NULL)
		return tell(e, ret_seq, ret_pos);
	l = lane_get(ls, lane);
	if (l == NULL)
		return LANE_NOMEM;
	v = judge(l, seq != 0);
	refused = v == LANE_FULL || v == LANE_DRAINING;
	e = refused ? NULL : lane_entry_new(ls, l, sid);
	if (e == NULL) {
		lane_drop_idle(ls, l);
		return refused ? v : LANE_NOMEM;
	}
	e->seq = seq != 0 ? seq : ls->last_seq + 1;
	if (e->seq > ls->last_seq)
		ls->last_seq = e->seq;
	e->since_ms = now_ms;
	if (v == LANE_ADMIT) {
		lane_activate(e);
	} else {
		lane_queue_in(ls, e, priority > 0 ? TIER_HIGH
		        : priority < 0       ? TIER_LOW
		                             : TIER_NORMAL);
		lane_wait_in(ls, e);
	}
	lane_update_ready(ls, l);
	return tell(e, ret_seq, ret_pos);
}

/* A slot for one that runs already. */
int
lanes_restore_active(struct lanes *ls, const char *lane, struct sid sid)
{
	struct entry *e = lane_entry_find(ls, sid);
	struct lane *l;

	CHECK(sid.v != 0);
	if (!lane_name_ok(lane))
		return -EINVAL;
	if (e != NULL && e->active)
		return 0;
	if (e != NULL) {
		lane_queue_out(ls, e);
		lane_wait_out(ls, e);
	} else {
		l = lane_get(ls, lane);
		e = l == NULL ? NULL : lane_entry_new(ls, l, sid);
		if (e == NULL) {
			if (l != NULL)
				lane_drop_idle(ls, l);
			return -ENOMEM;
		}
	}
	lane_activate(e);
	lane_update_ready(ls, e->lane);
	return 0;
}

/* Frees the slot or the place. */
bool
lanes_leave(struct lanes *ls, struct sid sid)
{
	struct entry *e = lane_entry_find(ls, sid);
	struct lane *l;
	bool active;

	if (e == NULL)
		return false;
	l = e->lane;
	active = e->active;
	if (active)
		lane_deactivate(e);
	else
		lane_queue_out(ls, e);
	lane_wait_out(ls, e);
	lane_entry_free(ls, e);
	lane_update_ready(ls, l);
	lane_drop_idle(ls, l);
	return active;
}

/* The first of the lane that has waited longest for its turn; lanes with more
 * room come again after the others. */
struct sid
lanes_next(struct lanes *ls, uint64_t now_ms)
{
	struct lane *l = lane_turn(ls);
	struct rank_node *n = NULL;
	struct entry *e;

	lane_age(ls, now_ms);
	if (l == NULL)
		return (struct sid){ 0 };
	for (int t = 0; n == NULL && t < TIER_COUNT; t++)
		n = rank_first(&l->tiers[t]);
	CHECK(n != NULL);
	e = RANK_OWNER(n, struct entry, place);
	lane_queue_out(ls, e);
	lane_wait_out(ls, e);
	lane_activate(e);
	lane_turn_over(l);
	lane_update_ready(ls, l);
	return e->sid;
}

/* The first ageing step. */
uint64_t
lanes_due(const struct lanes *ls)
{
	const struct rank_node *n = rank_first(&ls->ageing);

	return n == NULL ? UINT64_MAX
	    : RANK_OWNER_C(n, struct entry, by_age)->since_ms + LANE_AGE_MS;
}
