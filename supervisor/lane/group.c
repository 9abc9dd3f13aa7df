/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is, and what a lane may take: places, groups, reservations.
 * Called by the other lane*.c; pure like them.
 */
#include "supervisor/lane/store.h"

#include "common/check.h"

#include <string.h>

/* ---------------------------------------------------------------- the rings */

/* An empty ring. */
void
lane_turns_init(struct turn *head)
{
	head->next = head->prev = head;
}

/* In at the end. */
static void
turn_in(struct turn *head, struct turn *t)
{
	t->next = head;
	t->prev = head->prev;
	head->prev->next = t;
	head->prev = t;
}

/* Out, if it is in one. */
static void
turn_out(struct turn *t)
{
	if (t->next == NULL)
		return;
	t->next->prev = t->prev;
	t->prev->next = t->next;
	t->next = t->prev = NULL;
}

/* The group stands in the ring of all where one of its lanes could start
 * somebody. */
static void
group_update(struct lanes *ls, struct group *g)
{
	bool ready = (g->reserved.next != &g->reserved &&
	                 g->active < g->width) ||
	    (g->shared.next != &g->shared && g->committed < g->width);

	if (ready == (g->turn.next != NULL))
		return;
	if (ready)
		turn_in(&ls->ready, &g->turn);
	else
		turn_out(&g->turn);
}

/* Puts the lane into the ring it belongs to now, or into none. */
void
lane_update_ready(struct lanes *ls, struct lane *l)
{
	struct group *g = l->group;
	struct turn *ring = NULL;

	ls->changes++;
	if (l->queued > 0 && !l->paused && l->active < l->width)
		ring = g == NULL	       ? &ls->ready
		    : l->active < l->reserve ? &g->reserved
						 : &g->shared;
	if (ring != l->ring) {
		turn_out(&l->turn);
		l->ring = ring;
		if (ring != NULL)
			turn_in(ring, &l->turn);
	}
	if (g != NULL)
		group_update(ls, g);
}

/* It has had its turn; lane_update_ready() brings it back. */
void
lane_turn_over(struct lane *l)
{
	turn_out(&l->turn);
	l->ring = NULL;
	if (l->group != NULL)
		turn_out(&l->group->turn);
}

/* The lane that has waited longest; within a group those with a reserved place
 * first, since they take nothing from the others. */
struct lane *
lane_turn(const struct lanes *ls)
{
	const struct turn *t = ls->ready.next;
	const struct group *g = t->group;

	if (t == &ls->ready)
		return NULL;
	if (g == NULL)
		return t->lane;
	if (g->reserved.next != &g->reserved)
		return g->reserved.next->lane;
	return g->shared.next->lane;
}

/* --------------------------------------------------------------- the groups */

/* What a lane takes of its group's width, used or reserved. */
static uint32_t
committed(const struct lane *l)
{
	return l->active > l->reserve ? l->active : l->reserve;
}

/* The group of that name, or NULL. */
struct group *
lane_group_find(const struct lanes *ls, const char *name)
{
	for (size_t i = 0; i < ls->group_count; i++)
		if (strcmp(ls->groups[i].name, name) == 0)
			return &ls->groups[i];
	return NULL;
}

/* Into a group, with whoever runs. The caller updates. */
void
lane_join(struct lane *l, struct group *g, uint32_t reserve)
{
	CHECK(l->group == NULL && l->ring == NULL && g != NULL);
	l->group = g;
	l->reserve = reserve;
	LIST_INSERT_HEAD(&g->members, l, member);
	g->lanes++;
	g->active += l->active;
	g->committed += committed(l);
}

/* Out of its group and its ring. */
void
lane_part(struct lane *l)
{
	struct group *g = l->group;

	turn_out(&l->turn);
	l->ring = NULL;
	if (g == NULL)
		return;
	LIST_REMOVE(l, member);
	g->lanes--;
	g->active -= l->active;
	g->committed -= committed(l);
	l->group = NULL;
	l->reserve = 0;
}

/* Why nobody of it could start now. */
enum lane_block
lane_block_of(const struct lane *l, bool see_pause)
{
	const struct group *g = l->group;

	if (see_pause && l->paused)
		return LANE_BLOCK_PAUSED;
	if (l->active >= l->width)
		return LANE_BLOCK_WIDTH;
	if (g == NULL)
		return LANE_OPEN;
	if (g->active >= g->width)
		return LANE_BLOCK_GROUP;
	if (l->active >= l->reserve && g->committed >= g->width)
		return LANE_BLOCK_RESERVED;
	return LANE_OPEN;
}

/* --------------------------------------------------------------- the places */

/* More or fewer places of the lane are taken. */
static void
places(struct lane *l, int by)
{
	struct group *g = l->group;

	if (g != NULL)
		g->committed -= committed(l);
	l->active += (uint32_t)by;
	if (g != NULL) {
		g->active += (uint32_t)by;
		g->committed += committed(l);
	}
}

/* Takes a place. */
void
lane_activate(struct entry *e)
{
	e->active = true;
	TAILQ_INSERT_TAIL(&e->lane->holders, e, holding);
	places(e->lane, 1);
}

/* Gives it back, if it still holds one. */
void
lane_deactivate(struct entry *e)
{
	struct lane *l = e->lane;

	TAILQ_REMOVE(&l->holders, e, holding);
	e->active = false;
	if (e->stale)
		l->stale--;
	else
		places(l, -1);
	e->stale = false;
}

/* It goes on, but holds no place. */
void
lane_make_stale(struct entry *e)
{
	if (!e->active || e->stale)
		return;
	e->stale = true;
	e->lane->stale++;
	places(e->lane, -1);
}
