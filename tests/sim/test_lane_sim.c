/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler under virtual time: a million random steps, each against
 * what the model says of it. PSUP_SIM_SEED repeats a run.
 */
#include "lib_lane_model.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS       1000000u
#define CHECK_EVERY 499u

TestSuite(lane_sim, .timeout = 60);

static void
step_enter(struct model *m)
{
	struct model_session *s = model_find(m, 0);
	uint64_t seq = 0;
	uint32_t pos = 0, queued;
	enum lane_verdict v, want;
	struct model_session fresh;

	if (s == NULL)
		return;
	fresh = (struct model_session){ .sid = ++m->last_sid,
		.lane = roll(m, LANES),
		.priority = (int)roll(m, 3) - 1, .since_ms = m->now_ms,
		.low = true };
	model_age(m);
	queued = model_count(m, fresh.lane, false);
	want = m->lanes[fresh.lane].draining ? LANE_DRAINING
	    : queued == 0 && model_block(m, fresh.lane, true) == LANE_OPEN
	    ? LANE_ADMIT
	    : queued < m->lanes[fresh.lane].queue_max ? LANE_QUEUED
	                                              : LANE_FULL;
	v = lanes_enter(m->ls, lane_names[fresh.lane], fresh.priority,
	    (struct sid){ fresh.sid }, 0, m->now_ms, &seq, &pos);
	expect(m, "verdict of enter", v, want);
	if (v == LANE_FULL || v == LANE_DRAINING) {
		m->refused += v == LANE_FULL;
		m->drained += v == LANE_DRAINING;
		return;
	}
	fresh.seq = ++m->last_seq;
	fresh.active = v == LANE_ADMIT;
	*s = fresh;
	m->admitted += fresh.active;
	m->queued += !fresh.active;
	expect(m, "number of enter", seq, fresh.seq);
	expect(m, "place of enter", pos, model_place(m, s));
}

static void
step_leave(struct model *m)
{
	struct model_session *s = &m->s[roll(m, SESSIONS)];

	lanes_leave(m->ls, (struct sid){ s->sid != 0 ? s->sid : UINT64_MAX });
	*s = (struct model_session){ 0 };
}

/* One admission: any lane's turn, but that lane's first. */
static bool
step_next(struct model *m)
{
	struct sid sid;
	struct model_session *s;

	model_age(m);
	sid = lanes_next(m->ls, m->now_ms);
	if (sid.v == 0) {
		for (size_t i = 0; i < LANES; i++)
			if (model_count(m, i, false) > 0 &&
			    model_block(m, i, true) == LANE_OPEN)
				fail(m, "nobody is next", 0, i);
		return false;
	}
	s = model_find(m, sid.v);
	if (s == NULL || s->active)
		fail(m, "next is nobody who waits", sid.v, 0);
	expect(m, "place of next", model_place(m, s), 1);
	if (model_block(m, s->lane, true) != LANE_OPEN)
		fail(m, "next has no slot", sid.v, s->lane);
	s->active = true;
	m->admitted++;
	return true;
}

static void
step_configure(struct model *m)
{
	size_t i = roll(m, LANES);

	m->lanes[i].width = (uint32_t)roll(m, 12);
	m->lanes[i].queue_max = (uint32_t)roll(m, 40);
	m->lanes[i].configured = true;
	expect(m, "configure",
	    (uint64_t)-lanes_configure(m->ls, lane_names[i],
	        m->lanes[i].width, m->lanes[i].queue_max),
	    0);
}

/* A whole new configuration, sound or not. */
static void
step_setup(struct model *m)
{
	struct model before = *m;
	uint64_t reserved[GROUPS] = { 0 };
	bool sound = true;

	for (size_t i = 0; i < GROUPS; i++)
		m->group_width[i] = (uint32_t)roll(m, 20);
	for (size_t i = 0; i < PATTERNS; i++) {
		struct model_lane *l = &m->patterns[i];

		l->configured = roll(m, 2);
		l->width = (uint32_t)roll(m, 4);
		l->queue_max = 10 + (uint32_t)roll(m, 40);
		l->group = roll(m, NO_GROUP + 1);
		l->reserve = roll(m, 20) == 0; /* a pattern reserves nothing */
		sound &= !l->configured || l->reserve == 0;
	}
	for (size_t i = 0; i < LANES; i++) {
		struct model_lane *l = &m->lanes[i];

		l->configured = roll(m, 3) > 0;
		l->width = (uint32_t)roll(m, 8);
		l->queue_max = (uint32_t)roll(m, 40);
		l->group = roll(m, NO_GROUP + 1);
		l->reserve = l->group != NO_GROUP ? (uint32_t)roll(m, 3) : 0;
		if (!l->configured)
			model_inherit(m, i);
		else if (l->group != NO_GROUP)
			reserved[l->group] += l->reserve;
	}
	for (size_t i = 0; i < GROUPS; i++)
		sound &= reserved[i] <= m->group_width[i];
	expect(m, "setup", (uint64_t)-model_setup(m),
	    sound ? 0 : 22 /* EINVAL */);
	if (!sound) {
		before.rng = m->rng;
		*m = before;
		m->refused_setups++;
	}
	m->setups += sound;
}

/* What an operator does. */
static void
step_state(struct model *m)
{
	size_t i = roll(m, LANES);
	struct model_lane *l = &m->lanes[i];
	uint64_t what = roll(m, 30);
	struct lane_state st;

	l->paused = what == 0;
	l->draining = what == 1;
	l->width_set = what == 2;
	l->set_width = (uint32_t)roll(m, 12);
	st = (struct lane_state){ .paused = l->paused,
		.draining = l->draining, .width_set = l->width_set,
		.width = l->set_width };
	expect(m, "state",
	    (uint64_t)-lanes_put_state(m->ls, lane_names[i], &st), 0);
}

/* The queued leave, in the order in which they would have started. */
static void
step_clear(struct model *m)
{
	size_t lane = roll(m, LANES);
	struct walk w;

	model_walk(m, lane, LANE_THE_QUEUED, &w);
	expect(m, "cleared", w.n, model_count(m, lane, false));
	for (size_t i = 0; i < w.n; i++) {
		struct model_session *s = model_named(m, w.sids[i]);

		expect(m, "order of the queue", model_place(m, s), 1);
		lanes_leave(m->ls, w.sids[i]);
		*s = (struct model_session){ 0 };
		m->cleared++;
	}
}

static void
step_reset(struct model *m)
{
	size_t lane = roll(m, LANES);
	struct lane_view v;
	bool known = lanes_find(m->ls, lane_names[lane], &v);
	uint32_t generation = known ? v.generation : 0;

	expect(m, "reset", lanes_reset(m->ls, lane_names[lane]), known);
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].lane == lane && m->s[i].active)
			m->s[i].stale = true;
	if (known && lanes_find(m->ls, lane_names[lane], &v))
		expect(m, "generation", v.generation, generation + 1);
	m->resets++;
}

static void
step_warn(struct model *m)
{
	uint64_t due = model_warn_due(m);
	struct sid sid;
	struct model_session *s;

	expect(m, "when to warn", lanes_warn_due(m->ls), due);
	sid = lanes_warn(m->ls, m->now_ms);
	expect(m, "a warning", sid.v != 0, due <= m->now_ms);
	if (sid.v == 0)
		return;
	s = model_named(m, sid);
	if (s->active || s->warned)
		fail(m, "a warning about nobody who waits", sid.v, 0);
	expect(m, "since when it waits", s->since_ms + WARN_MS, due);
	s->warned = true;
	m->warned++;
}

/* A new master: holders first, then the queue, in no order. */
static void
step_restart(struct model *m)
{
	size_t first = roll(m, SESSIONS);

	lanes_free(&m->ls);
	m->ls = lanes_new();
	lanes_set_warn(m->ls, WARN_MS);
	expect(m, "setup of a restart", (uint64_t)-model_setup(m), 0);
	for (size_t i = 0; i < LANES; i++) {
		const struct model_lane *l = &m->lanes[i];
		struct lane_state st = { .paused = l->paused,
			.draining = l->draining, .width_set = l->width_set,
			.width = l->set_width };

		lanes_put_state(m->ls, lane_names[i], &st);
	}
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid != 0 && m->s[i].active) {
			lanes_restore_active(m->ls, lane_names[m->s[i].lane],
			    (struct sid){ m->s[i].sid });
			if (m->s[i].stale)
				lanes_disown(m->ls,
				    (struct sid){ m->s[i].sid });
		}
	m->last_seq = 0;
	for (size_t k = 0; k < SESSIONS; k++) {
		struct model_session *s = &m->s[(first + k) % SESSIONS];

		if (s->sid == 0 || s->active)
			continue;
		s->low = true; /* ages again, from the time it came */
		if (s->seq > m->last_seq)
			m->last_seq = s->seq;
		expect(m, "restored",
		    lanes_enter(m->ls, lane_names[s->lane], s->priority,
		        (struct sid){ s->sid }, s->seq, s->since_ms, NULL,
		        NULL),
		    LANE_QUEUED);
		if (s->warned)
			lanes_mute(m->ls, (struct sid){ s->sid });
	}
	m->restarts++;
	while (step_next(m))
		;
}

static void
step_time(struct model *m)
{
	uint64_t r = roll(m, 100);

	if (r == 0 && m->now_ms > 2000)
		m->now_ms -= roll(m, 2000); /* somebody set the clock */
	else
		m->now_ms += r < 3 ? 20000 + roll(m, 20000) : roll(m, 400);
}

static void
step(struct model *m)
{
	uint64_t r = roll(m, 1000);

	if (r < 430)
		step_enter(m);
	else if (r < 640)
		step_leave(m);
	else if (r < 840)
		step_next(m);
	else if (r < 940)
		step_time(m);
	else if (r < 970)
		step_warn(m);
	else if (r < 978)
		step_configure(m);
	else if (r < 981)
		step_setup(m);
	else if (r < 991)
		step_state(m);
	else if (r < 994)
		step_clear(m);
	else if (r < 997)
		step_reset(m);
	else
		step_restart(m);
}

Test(lane_sim, a_million_steps_agree_with_the_model)
{
	static struct model m;
	const char *seed = getenv("PSUP_SIM_SEED");

	m.seed = seed != NULL ? strtoull(seed, NULL, 0)
	                      : ((uint64_t)arc4random() << 32 | arc4random());
	m.rng = (m.seed * 2 + 1) * 0x9e3779b97f4a7c15ull;
	fprintf(stderr, "PSUP_SIM_SEED=%" PRIu64 "\n", m.seed);
	m.ls = lanes_new();
	m.now_ms = 1000000;
	for (size_t i = 0; i < LANES; i++) {
		m.lanes[i].width = i == 1 ? 8 : 1;
		m.lanes[i].queue_max = 100000;
		m.lanes[i].configured = i < 2;
		m.lanes[i].group = NO_GROUP;
	}
	lanes_set_warn(m.ls, WARN_MS);
	cr_assert_eq(model_setup(&m), 0);
	for (m.step = 0; m.step < STEPS; m.step++) {
		step(&m);
		if (m.step % CHECK_EVERY == 0)
			model_compare(&m);
	}
	/* the run has met everything it is about */
	cr_expect_gt(m.admitted, STEPS / 20);
	cr_expect_gt(m.queued, STEPS / 20);
	cr_expect_gt(m.refused, 100);
	cr_expect_gt(m.aged, 100);
	cr_expect_gt(m.restarts, 100);
	cr_expect_gt(m.setups, 100);
	cr_expect_gt(m.refused_setups, 100);
	cr_expect_gt(m.drained, 100);
	cr_expect_gt(m.cleared, 100);
	cr_expect_gt(m.resets, 100);
	cr_expect_gt(m.warned, 1000);
	for (size_t i = 0; i < NELEMS(m.held_back); i++)
		cr_expect(i == LANE_BLOCK_PAUSED || m.held_back[i] > 10,
		    "block %zu", i);
	lanes_free(&m.ls);
}
