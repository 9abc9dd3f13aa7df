/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler's configuration, what operators do to lanes, and when
 * somebody is to be warned. Called by gate/lanes.c and session.c.
 */
#include "supervisor/lane/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------ configuration */

/* A narrower lane ends nobody: it waits until enough have left. */
int
lanes_configure(struct lanes *ls, const char *name, uint32_t width,
    uint32_t queue_max)
{
	struct lane *l;

	if (!lane_name_ok(name))
		return -EINVAL;
	l = lane_get(ls, name);
	if (l == NULL)
		return -ENOMEM;
	l->width_conf = width;
	if (!l->width_set)
		l->width = width;
	l->queue_max = queue_max;
	l->configured = true;
	lane_update_ready(ls, l);
	return 0;
}

/* The width of a group, or UINT64_MAX: there is none of that name. */
static uint64_t
group_width(const struct lane_group_conf *g, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(g[i].name, name) == 0)
			return g[i].width;
	return UINT64_MAX;
}

/* Could this configuration be? */
static bool
is_sound(const struct lane_group_conf *g, size_t gn, const struct lane_conf *l,
    size_t ln)
{
	for (size_t i = 0; i < gn; i++) {
		uint64_t reserved = 0;

		if (!lane_name_ok(g[i].name))
			return false;
		for (size_t k = 0; k < ln; k++)
			if (strcmp(l[k].group, g[i].name) == 0)
				reserved += l[k].reserve;
		if (reserved > g[i].width)
			return false;
	}
	for (size_t i = 0; i < ln; i++) {
		if (!lane_name_ok(l[i].name) ||
		    (l[i].reserve > 0 && (lane_is_pattern(l[i].name) ||
		        l[i].group[0] == '\0')) ||
		    (l[i].group[0] != '\0' &&
		        group_width(g, gn, l[i].group) == UINT64_MAX))
			return false;
	}
	return true;
}

/* Fresh groups without members; NULL: no memory. */
static struct group *
groups_new(const struct lane_group_conf *conf, size_t n)
{
	struct group *g = calloc(n > 0 ? n : 1, sizeof(*g));

	for (size_t i = 0; g != NULL && i < n; i++) {
		lane_turns_init(&g[i].reserved);
		lane_turns_init(&g[i].shared);
		g[i].turn.group = &g[i];
		g[i].width = conf[i].width;
		memcpy(g[i].name, conf[i].name, sizeof(g[i].name));
	}
	return g;
}

/* Every lane takes what the new configuration says of it. */
static void
take_all(struct lanes *ls)
{
	struct rank_node *n = rank_first(&ls->by_name), *next;

	for (; n != NULL; n = next) {
		struct lane *l = RANK_OWNER(n, struct lane, by_name);
		const struct lane_conf *conf = lane_take_conf(ls, l);

		next = rank_next(n);
		if (conf != NULL && conf->group[0] != '\0')
			lane_join(l, lane_group_find(ls, conf->group),
			    conf->reserve);
		lane_update_ready(ls, l);
		lane_drop_idle(ls, l);
	}
}

/* All or nothing: what can fail comes first. */
int
lanes_setup(struct lanes *ls, const struct lane_group_conf *groups,
    size_t group_count, const struct lane_conf *lanes, size_t lane_count)
{
	struct lane_conf *confs;
	struct group *g;
	size_t made = 0;

	if (!is_sound(groups, group_count, lanes, lane_count))
		return -EINVAL;
	g = groups_new(groups, group_count);
	confs = calloc(lane_count > 0 ? lane_count : 1, sizeof(*confs));
	while (g != NULL && confs != NULL && made < lane_count &&
	    (lane_is_pattern(lanes[made].name) ||
	        lane_get(ls, lanes[made].name) != NULL))
		made++;
	if (g == NULL || confs == NULL || made < lane_count) {
		free(g);
		free(confs);
		return -ENOMEM; /* idle lanes go with the next setup */
	}
	memcpy(confs, lanes, lane_count * sizeof(*confs));
	for (struct rank_node *n = rank_first(&ls->by_name); n != NULL;
	     n = rank_next(n))
		lane_part(RANK_OWNER(n, struct lane, by_name));
	lane_turns_init(&ls->ready);
	free(ls->groups);
	free(ls->confs);
	ls->groups = g;
	ls->group_count = group_count;
	ls->confs = confs;
	ls->conf_count = lane_count;
	take_all(ls);
	return 0;
}

/* ---------------------------------------------------------------- operators */

/* What an operator wants of a lane. */
int
lanes_put_state(struct lanes *ls, const char *name,
    const struct lane_state *state)
{
	struct lane *l;

	if (!lane_name_ok(name))
		return -EINVAL;
	l = lane_get(ls, name);
	if (l == NULL)
		return -ENOMEM;
	l->paused = state->paused;
	l->draining = state->draining;
	l->width_set = state->width_set;
	l->width = state->width_set ? state->width : l->width_conf;
	if (state->generation > l->generation)
		l->generation = state->generation;
	lane_update_ready(ls, l);
	lane_drop_idle(ls, l);
	return 0;
}

/* Whoever runs goes on, and counts no more. */
bool
lanes_reset(struct lanes *ls, const char *name)
{
	struct rank_node *n = rank_find(&ls->by_name, name);
	struct entry *e;
	struct lane *l;

	if (n == NULL)
		return false;
	l = RANK_OWNER(n, struct lane, by_name);
	TAILQ_FOREACH(e, &l->holders, holding)
		lane_make_stale(e);
	l->generation++;
	lane_update_ready(ls, l);
	return true;
}

/* The same for one of them. */
void
lanes_disown(struct lanes *ls, struct sid sid)
{
	struct entry *e = lane_entry_find(ls, sid);

	if (e == NULL)
		return;
	lane_make_stale(e);
	lane_update_ready(ls, e->lane);
}

/* ----------------------------------------------------------------- warnings */

/* How long is too long. */
void
lanes_set_warn(struct lanes *ls, uint64_t after_ms)
{
	ls->warn_ms = after_ms;
}

/* When the one that came first has waited that long. */
uint64_t
lanes_warn_due(const struct lanes *ls)
{
	const struct entry *e = TAILQ_FIRST(&ls->waits);

	if (ls->warn_ms == 0 || e == NULL ||
	    e->since_ms >= UINT64_MAX - ls->warn_ms)
		return UINT64_MAX;
	return e->since_ms + ls->warn_ms;
}

/* Once for each. */
struct sid
lanes_warn(struct lanes *ls, uint64_t now_ms)
{
	struct entry *e = TAILQ_FIRST(&ls->waits);

	if (lanes_warn_due(ls) > now_ms)
		return (struct sid){ 0 };
	lane_wait_out(ls, e);
	return e->sid;
}

/* Somebody has been warned before. */
void
lanes_mute(struct lanes *ls, struct sid sid)
{
	struct entry *e = lane_entry_find(ls, sid);

	if (e != NULL)
		lane_wait_out(ls, e);
}
