/* SPDX-License-Identifier: MIT */
/*
 * The places of sessions in their lanes; what operators do to lanes, kept in the
 * index over a master's death; the lanes' entries of the board. Called by
 * api/lanes.c, session.c, recover.c and the turn's end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/master.h"
#include "supervisor/store/kept.h"

#define STATE_PREFIX "lane:" /* of the keys in INDEX_META */
#define PREFIX_LEN   (sizeof(STATE_PREFIX) - 1)

enum lane_verdict
lane_enter(struct master *m, struct session *s, int priority,
    uint64_t since_ms)
{
	return lanes_enter(m->lanes, s->wish.lane, priority, s->id.sid,
	    s->place.lane_seq, since_ms, &s->place.lane_seq, NULL);
}

/* ---------------------------------------------------------------- the state */

/* The key of a lane's state; returns its length. */
static size_t
state_key(const char *name, char key[PREFIX_LEN + LANE_NAME_MAX])
{
	size_t n = strlen(name);

	memcpy(key, STATE_PREFIX, PREFIX_LEN);
	memcpy(key + PREFIX_LEN, name, n);
	return PREFIX_LEN + n;
}

/* To be written at the end of this turn. */
static int
note(struct master *m, const char *name)
{
	struct lane_note *n;

	STAILQ_FOREACH(n, &m->lane_notes, link)
		if (strcmp(n->name, name) == 0)
			return 0;
	n = calloc(1, sizeof(*n));
	if (n == NULL)
		return -ENOMEM;
	memcpy(n->name, name, strlen(name));
	STAILQ_INSERT_TAIL(&m->lane_notes, n, link);
	return 0;
}

/* As the lane is now. */
bool
lane_admin_state(struct master *m, const char *name, struct lane_state *ret)
{
	struct lane_view v = {.generation = 1};
	bool known = lanes_find(m->lanes, name, &v);

	*ret = (struct lane_state){.paused = v.paused,
	    .draining = v.draining, .width_set = v.width_set,
	    .width = v.width, .generation = v.generation};
	return known;
}

/* In force at once. */
int
lane_admin_put(struct master *m, const char *name,
    const struct lane_state *state)
{
	int r = note(m, name);

	if (r == 0)
		r = lanes_put_state(m->lanes, name, state);
	if (r == 0) {
		deadlock_look(m, m->lanes, name);
		session_pump_lanes(m);
	}
	return r;
}

/* Writes one lane's state, or takes it out where there is nothing to keep. */
static int
write_one(struct master *m, const char *name)
{
	char key[PREFIX_LEN + LANE_NAME_MAX];
	struct index_bytes k = {key, state_key(name, key)};
	struct lane_state st;
	struct enc e = ENC_INIT;

	if (!lane_admin_state(m, name, &st) ||
	    (!st.paused && !st.draining && !st.width_set &&
		st.generation <= 1))
		return index_del(m->ix, INDEX_META, k);
	kept_map(&e);
	enc_kv_bool(&e, "paused", st.paused);
	enc_kv_bool(&e, "drain", st.draining);
	if (st.width_set)
		enc_kv_uint(&e, "width", st.width);
	enc_kv_uint(&e, "gen", st.generation);
	enc_end(&e);
	return kept_put(m->ix, INDEX_META, k, &e, false);
}

/* Into the open transaction. */
int
lane_admin_write(struct master *m)
{
	struct lane_note *n;

	STAILQ_FOREACH(n, &m->lane_notes, link) {
		int r = write_one(m, n->name);

		if (r < 0)
			return r;
	}
	return 0;
}

/* It was committed. */
void
lane_admin_written(struct master *m)
{
	struct lane_note *n;

	while ((n = STAILQ_FIRST(&m->lane_notes)) != NULL) {
		STAILQ_REMOVE_HEAD(&m->lane_notes, link);
		free(n);
	}
}

/* One record of META: a lane's state, or the first that is none. */
static int
on_state(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct master *m = arg;
	struct codec_arena *arena;
	struct lane_state st = {0};
	char name[LANE_NAME_MAX] = "";
	const struct val *map;
	struct lane_view v;
	int r;

	if (key.size <= PREFIX_LEN ||
	    memcmp(key.data, STATE_PREFIX, PREFIX_LEN) != 0)
		return 1;
	if (key.size - PREFIX_LEN >= sizeof(name))
		return 0;
	memcpy(name, (const char *)key.data + PREFIX_LEN,
	    key.size - PREFIX_LEN);
	r = kept_read(val, &arena, &map);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	st.paused = val_bool(map, "paused", false);
	st.draining = val_bool(map, "drain", false);
	st.width_set = val_get(map, "width") != NULL;
	st.width = (uint32_t)val_uint(map, "width", 0);
	st.generation = (uint32_t)val_uint(map, "gen", 1);
	codec_arena_free(&arena);
	if (lanes_put_state(m->lanes, name, &st) == -ENOMEM)
		return -ENOMEM;
	if (!lanes_find(m->lanes, name, &v))
		(void)index_del(m->ix, INDEX_META, key);
	return 0;
}

/* After sessions have got their places back, and before anybody starts. */
int
lane_admin_load(struct master *m)
{
	int r = index_scan(m->ix, INDEX_META,
	    (struct index_bytes){STATE_PREFIX, PREFIX_LEN}, on_state, m);

	return r < 0 ? r : 0;
}

/* -------------------------------------------------------------------- reset */

void
lane_admin_reset(struct master *m, const char *name)
{
	size_t n;
	struct sid *sids = lanes_list(m->lanes, name, LANE_THE_ACTIVE, &n);

	for (size_t i = 0; i < n; i++) {
		struct session *s = session_by_sid(m, sids[i]);

		if (s == NULL)
			continue;
		s->place.lane_stale = true;
		session_touch(m, s);
	}
	free(sids);
	if (lanes_reset(m->lanes, name))
		(void)note(m, name);
	session_pump_lanes(m);
}

/* ---------------------------------------------------------------- the board */

/* Writes a lane into entry `n`, unless it is there already. */
static void
show_one(struct master *m, uint32_t n, const struct lane_view *v)
{
	const struct board_lane *at = &m->board.hdr->lanes[n];
	struct board_lane l = {.width = v->width, .active = v->active,
	    .queued = v->queued, .generation = v->generation,
	    .flags = (v->paused ? BOARD_LANE_PAUSED : 0u) |
		(v->draining ? BOARD_LANE_DRAINING : 0u) |
		(v->configured ? BOARD_LANE_CONFIGURED : 0u) |
		BOARD_LANE_BLOCKED(v->block)};

	memcpy(l.name, v->name, sizeof(l.name));
	if (at->width != l.width || at->active != l.active ||
	    at->queued != l.queued || at->generation != l.generation ||
	    at->flags != l.flags ||
	    memcmp(at->name, l.name, sizeof(l.name)) != 0)
		board_put_lane(&m->board, n, &l);
}

/* Configured lanes first: there is room for 64. */
void
lane_admin_show(struct master *m)
{
	uint64_t changes = lanes_changes(m->lanes);
	const struct config *cfg = &m->cfg;
	struct lane_view v;
	uint32_t n = 0;

	if (changes == m->lanes_shown)
		return;
	m->lanes_shown = changes;
	for (uint32_t i = 0; i < cfg->lane_count && n < BOARD_LANES; i++)
		if (lanes_find(m->lanes, cfg->lanes[i].name, &v))
			show_one(m, n++, &v);
	for (size_t i = 0; i < lanes_count(m->lanes) && n < BOARD_LANES; i++) {
		const struct config_lane *c;

		lanes_view(m->lanes, i, &v);
		c = config_lane_for(cfg, v.name);
		if (c == NULL || strcmp(c->name, v.name) != 0)
			show_one(m, n++, &v);
	}
	v = (struct lane_view){0};
	for (; n < BOARD_LANES; n++)
		show_one(m, n, &v);
}
