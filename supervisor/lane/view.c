/* SPDX-License-Identifier: MIT */
/*
 * What the lane scheduler tells about itself: views of lanes and groups, who
 * waits, who holds, who blocks. Changes nothing.
 */
#include "supervisor/lane/store.h"

#include "common/check.h"

#include <stdlib.h>
#include <string.h>

/* As of the last call that brought a time. */
uint32_t
lanes_position(const struct lanes *ls, struct sid sid)
{
	const struct entry *e = lane_entry_find(ls, sid);

	return e == NULL || e->active ? 0 : lane_place(e);
}

/* Since when it waits. */
uint64_t
lanes_since(const struct lanes *ls, struct sid sid)
{
	const struct entry *e = lane_entry_find(ls, sid);

	return e == NULL || e->active ? 0 : e->since_ms;
}

/* How often something has changed. */
uint64_t
lanes_changes(const struct lanes *ls)
{
	return ls->changes;
}

/* How many lanes there are now. */
size_t
lanes_count(const struct lanes *ls)
{
	return rank_size(&ls->by_name);
}

/* Copies what is told about a lane. */
static void
view_fill(const struct lane *l, struct lane_view *ret)
{
	*ret = (struct lane_view){.width = l->width, .active = l->active,
	    .queued = l->queued, .queue_max = l->queue_max,
	    .generation = l->generation, .width_conf = l->width_conf,
	    .reserve = l->reserve, .stale = l->stale, .paused = l->paused,
	    .draining = l->draining, .width_set = l->width_set,
	    .configured = l->configured,
	    .block = lane_block_of(l, true)};
	memcpy(ret->name, l->name, sizeof(ret->name));
	if (l->group == NULL)
		return;
	memcpy(ret->group, l->group->name, sizeof(ret->group));
	ret->group_width = l->group->width;
	ret->group_active = l->group->active;
}

/* Lane number i by name. */
void
lanes_view(const struct lanes *ls, size_t i, struct lane_view *ret)
{
	CHECK(i < lanes_count(ls));
	view_fill(RANK_OWNER(rank_at(&ls->by_name, (uint32_t)i), struct lane,
	              by_name),
	    ret);
}

/* The lane of a name, or NULL. */
static const struct lane *
lane_of(const struct lanes *ls, const char *name)
{
	const struct rank_node *n = rank_find(&ls->by_name, name);

	return n != NULL ? RANK_OWNER_C(n, struct lane, by_name) : NULL;
}

/* The lane of this name. */
bool
lanes_find(const struct lanes *ls, const char *name, struct lane_view *ret)
{
	const struct lane *l = lane_of(ls, name);

	if (l != NULL)
		view_fill(l, ret);
	return l != NULL;
}

/* How many groups there are. */
size_t
lanes_group_count(const struct lanes *ls)
{
	return ls->group_count;
}

/* Group number i. */
void
lanes_group_view(const struct lanes *ls, size_t i, struct lane_group_view *ret)
{
	const struct group *g = &ls->groups[i];
	const struct lane *l;

	CHECK(i < ls->group_count);
	*ret = (struct lane_group_view){.width = g->width,
	    .active = g->active, .lanes = g->lanes};
	memcpy(ret->name, g->name, sizeof(ret->name));
	LIST_FOREACH(l, &g->members, member)
		ret->reserved += l->reserve;
}

/* Those that run, of this generation or of older ones. */
static bool
each_active(const struct lane *l, bool stale, lane_fn *fn, void *arg)
{
	const struct entry *e;

	TAILQ_FOREACH(e, &l->holders, holding)
		if (e->stale == stale && !fn(arg, e->sid))
			return false;
	return true;
}

/* Those that wait, in the order in which they will start. */
static void
each_queued(const struct lane *l, lane_fn *fn, void *arg)
{
	for (int t = 0; t < TIER_COUNT; t++)
		for (const struct rank_node *n = rank_first(&l->tiers[t]);
		     n != NULL; n = rank_next(n))
			if (!fn(arg,
			        RANK_OWNER_C(n, struct entry, place)->sid))
				return;
}

/* Those whose end would let somebody start, pause or not. Of a group these are
 * the lanes that use more than they reserve; none does where it is over its
 * width: then all. */
static void
each_blocker(const struct lane *l, lane_fn *fn, void *arg)
{
	enum lane_block why = lane_block_of(l, false);
	const struct lane *o;
	bool any = false;

	if (why == LANE_OPEN)
		return;
	if (why == LANE_BLOCK_WIDTH) {
		each_active(l, false, fn, arg);
		return;
	}
	LIST_FOREACH(o, &l->group->members, member)
		any |= o->active > o->reserve;
	LIST_FOREACH(o, &l->group->members, member)
		if ((!any || o->active > o->reserve) &&
		    !each_active(o, false, fn, arg))
			return;
}

/* Walks the sessions of a lane, or those that block it. */
void
lanes_each(const struct lanes *ls, const char *name, enum lane_which which,
    lane_fn *fn, void *arg)
{
	const struct lane *l = lane_of(ls, name);

	if (l == NULL)
		return;
	switch (which) {
	case LANE_THE_QUEUED:
		each_queued(l, fn, arg);
		break;
	case LANE_THE_ACTIVE:
	case LANE_THE_STALE:
		each_active(l, which == LANE_THE_STALE, fn, arg);
		break;
	case LANE_THE_BLOCKERS:
		each_blocker(l, fn, arg);
		break;
	}
}

/* A list that is being made. */
struct list {
	struct sid *sids;
	size_t n, cap;
};

/* One more; there is room. */
static bool
on_listed(void *arg, struct sid sid)
{
	struct list *l = arg;

	if (l->n < l->cap)
		l->sids[l->n++] = sid;
	return l->n < l->cap;
}

struct sid *
lanes_list(const struct lanes *ls, const char *name, enum lane_which which,
    size_t *ret_n)
{
	const struct lane *l = lane_of(ls, name);
	struct list list = {.cap = l == NULL ? 0
		: which == LANE_THE_QUEUED ? l->queued : l->active};

	list.sids = list.cap > 0 ? calloc(list.cap, sizeof(*list.sids)) : NULL;
	if (list.sids != NULL)
		lanes_each(ls, name, which, on_listed, &list);
	*ret_n = list.n;
	return list.sids;
}
