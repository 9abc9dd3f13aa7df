/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler under virtual time: a million random steps against a
 * model that is too simple to be wrong. PSUP_SIM_SEED repeats a run.
 */
#include "supervisor/lane.h"

#include "common/check.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS       1000000u
#define SESSIONS    160u /* alive at once */
#define CHECK_EVERY 499u

TestSuite(lane_sim, .timeout = 60);

/* ------------------------------------------------------------------- model */

struct model_session {
	uint64_t sid, seq, since_ms; /* sid 0: free place */
	size_t lane;
	int priority;
	bool low, active; /* low: still in the lowest tier */
	bool stale;       /* active, of an older generation */
	bool warned;
};

static const char *const lane_names[] = { "main", "subagent", "cron:backup",
	"cron:mail", "session:a", "session:b", "build", "x" };

static const char *const group_names[] = { "batch", "night" };
static const char *const patterns[] = { "cron:*", "session:*" };

#define NO_GROUP NELEMS(group_names)
#define WARN_MS  2000u

struct model_lane {
	uint32_t width, queue_max; /* as configured */
	bool configured;
	size_t group;
	uint32_t reserve;
	bool paused, draining, width_set;
	uint32_t set_width;
};

struct model {
	struct lanes *ls;
	struct model_session s[SESSIONS];
	struct model_lane lanes[NELEMS(lane_names)];
	struct model_lane patterns[NELEMS(patterns)];
	uint32_t group_width[NELEMS(group_names)];
	uint64_t now_ms, last_seq, last_sid, step, seed, rng;
	uint64_t admitted, queued, refused, aged, restarts;
	uint64_t setups, refused_setups, drained, cleared, resets, warned;
	uint64_t held_back[LANE_BLOCK_RESERVED + 1];
};

static uint64_t
roll(struct model *m, uint64_t n)
{
	m->rng ^= m->rng >> 12;
	m->rng ^= m->rng << 25;
	m->rng ^= m->rng >> 27;
	return ((m->rng * 2685821657736338717ull) >> 11) % n;
}

static void
fail(const struct model *m, const char *what, uint64_t got, uint64_t want)
{
	cr_assert_fail("step %" PRIu64 ", PSUP_SIM_SEED=%" PRIu64 ": %s: %" PRIu64
	         ", the model says %" PRIu64,
	    m->step, m->seed, what, got, want);
}

static void
expect(const struct model *m, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail(m, what, got, want);
}

/* 0 first. */
static int
tier_of(const struct model_session *s)
{
	return s->priority > 0 ? 0 : s->priority == 0 || !s->low ? 1 : 2;
}

static bool
comes_before(const struct model_session *a, const struct model_session *b)
{
	if (tier_of(a) != tier_of(b))
		return tier_of(a) < tier_of(b);
	return a->seq < b->seq;
}

static void
model_age(struct model *m)
{
	for (size_t i = 0; i < SESSIONS; i++) {
		struct model_session *s = &m->s[i];

		if (s->sid != 0 && !s->active && s->priority < 0 && s->low &&
		    s->since_ms + LANE_AGE_MS <= m->now_ms) {
			s->low = false;
			m->aged++;
		}
	}
}

static uint32_t
count(const struct model *m, size_t lane, bool active)
{
	uint32_t n = 0;

	for (size_t i = 0; i < SESSIONS; i++)
		n += m->s[i].sid != 0 && m->s[i].lane == lane &&
		    m->s[i].active == active && !m->s[i].stale;
	return n;
}

static uint32_t
width_of(const struct model_lane *l)
{
	return l->width_set ? l->set_width : l->width;
}

/* Why the lane could not start one more. */
static enum lane_block
block_of(const struct model *m, size_t lane, bool see_pause)
{
	const struct model_lane *l = &m->lanes[lane];
	uint32_t active = count(m, lane, true), all = 0, taken = 0;

	if (see_pause && l->paused)
		return LANE_BLOCK_PAUSED;
	if (active >= width_of(l))
		return LANE_BLOCK_WIDTH;
	if (l->group == NO_GROUP)
		return LANE_OPEN;
	for (size_t i = 0; i < NELEMS(lane_names); i++) {
		uint32_t a;

		if (m->lanes[i].group != l->group)
			continue;
		a = count(m, i, true);
		all += a;
		taken += a > m->lanes[i].reserve ? a : m->lanes[i].reserve;
	}
	if (all >= m->group_width[l->group])
		return LANE_BLOCK_GROUP;
	return active < l->reserve || taken < m->group_width[l->group]
	    ? LANE_OPEN
	    : LANE_BLOCK_RESERVED;
}

static uint32_t
place(const struct model *m, const struct model_session *s)
{
	uint32_t n = 1;

	if (s->active)
		return 0;
	for (size_t i = 0; i < SESSIONS; i++)
		n += m->s[i].sid != 0 && !m->s[i].active &&
		    m->s[i].lane == s->lane && comes_before(&m->s[i], s);
	return n;
}

static struct model_session *
by_sid(struct model *m, uint64_t sid)
{
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid == sid)
			return &m->s[i];
	return NULL;
}

/* The same, of one the scheduler has named. */
static struct model_session *
named(struct model *m, struct sid sid)
{
	struct model_session *s = by_sid(m, sid.v);

	if (s == NULL || sid.v == 0) {
		fail(m, "it names nobody", sid.v, 0);
		abort();
	}
	return s;
}

/* ------------------------------------------------------------------- steps */

static void
step_enter(struct model *m)
{
	struct model_session *s = by_sid(m, 0);
	uint64_t seq = 0;
	uint32_t pos = 0, queued;
	enum lane_verdict v, want;
	struct model_session fresh;

	if (s == NULL)
		return;
	fresh = (struct model_session){ .sid = ++m->last_sid,
		.lane = roll(m, NELEMS(lane_names)),
		.priority = (int)roll(m, 3) - 1, .since_ms = m->now_ms,
		.low = true };
	model_age(m);
	queued = count(m, fresh.lane, false);
	want = m->lanes[fresh.lane].draining ? LANE_DRAINING
	    : queued == 0 && block_of(m, fresh.lane, true) == LANE_OPEN
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
	expect(m, "place of enter", pos, place(m, s));
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
		for (size_t i = 0; i < NELEMS(lane_names); i++)
			if (count(m, i, false) > 0 &&
			    block_of(m, i, true) == LANE_OPEN)
				fail(m, "nobody is next", 0, i);
		return false;
	}
	s = by_sid(m, sid.v);
	if (s == NULL || s->active)
		fail(m, "next is nobody who waits", sid.v, 0);
	expect(m, "place of next", place(m, s), 1);
	if (block_of(m, s->lane, true) != LANE_OPEN)
		fail(m, "next has no slot", sid.v, s->lane);
	s->active = true;
	m->admitted++;
	return true;
}

static void
step_configure(struct model *m)
{
	size_t i = roll(m, NELEMS(lane_names));

	m->lanes[i].width = (uint32_t)roll(m, 12);
	m->lanes[i].queue_max = (uint32_t)roll(m, 40);
	m->lanes[i].configured = true;
	expect(m, "configure",
	    (uint64_t)-lanes_configure(m->ls, lane_names[i],
	        m->lanes[i].width, m->lanes[i].queue_max),
	    0);
}

/* Tells the scheduler all of the model's configuration. */
static int
setup(struct model *m)
{
	struct lane_group_conf groups[NELEMS(group_names)];
	struct lane_conf lanes[NELEMS(lane_names) + NELEMS(patterns)];
	size_t n = 0;

	memset(groups, 0, sizeof(groups));
	memset(lanes, 0, sizeof(lanes));
	for (size_t i = 0; i < NELEMS(group_names); i++) {
		strcpy(groups[i].name, group_names[i]);
		groups[i].width = m->group_width[i];
	}
	for (size_t i = 0; i < NELEMS(lane_names) + NELEMS(patterns); i++) {
		bool exact = i < NELEMS(lane_names);
		const struct model_lane *l = exact
		    ? &m->lanes[i]
		    : &m->patterns[i - NELEMS(lane_names)];

		if (!l->configured)
			continue;
		strcpy(lanes[n].name,
		    exact ? lane_names[i] : patterns[i - NELEMS(lane_names)]);
		lanes[n].width = l->width;
		lanes[n].queue_max = l->queue_max;
		lanes[n].reserve = l->reserve;
		if (l->group != NO_GROUP)
			strcpy(lanes[n].group, group_names[l->group]);
		n++;
	}
	return lanes_setup(m->ls, groups, NELEMS(groups), lanes, n);
}

/* What a lane has that no row of its own names. */
static void
inherit(struct model *m, size_t lane)
{
	struct model_lane *l = &m->lanes[lane];

	l->width = 1;
	l->queue_max = 100000;
	l->group = NO_GROUP;
	l->reserve = 0;
	for (size_t i = 0; i < NELEMS(patterns); i++)
		if (m->patterns[i].configured &&
		    strncmp(lane_names[lane], patterns[i],
		        strlen(patterns[i]) - 1) == 0) {
			l->width = m->patterns[i].width;
			l->queue_max = m->patterns[i].queue_max;
			l->group = m->patterns[i].group;
		}
}

/* A whole new configuration, sound or not. */
static void
step_setup(struct model *m)
{
	struct model before = *m;
	uint64_t reserved[NELEMS(group_names)] = { 0 };
	bool sound = true;

	for (size_t i = 0; i < NELEMS(group_names); i++)
		m->group_width[i] = (uint32_t)roll(m, 20);
	for (size_t i = 0; i < NELEMS(patterns); i++) {
		struct model_lane *l = &m->patterns[i];

		l->configured = roll(m, 2);
		l->width = (uint32_t)roll(m, 4);
		l->queue_max = 10 + (uint32_t)roll(m, 40);
		l->group = roll(m, NO_GROUP + 1);
		l->reserve = roll(m, 20) == 0; /* a pattern reserves nothing */
		sound &= !l->configured || l->reserve == 0;
	}
	for (size_t i = 0; i < NELEMS(lane_names); i++) {
		struct model_lane *l = &m->lanes[i];

		l->configured = roll(m, 3) > 0;
		l->width = (uint32_t)roll(m, 8);
		l->queue_max = (uint32_t)roll(m, 40);
		l->group = roll(m, NO_GROUP + 1);
		l->reserve = l->group != NO_GROUP ? (uint32_t)roll(m, 3) : 0;
		if (!l->configured)
			inherit(m, i);
		else if (l->group != NO_GROUP)
			reserved[l->group] += l->reserve;
	}
	for (size_t i = 0; i < NELEMS(group_names); i++)
		sound &= reserved[i] <= m->group_width[i];
	expect(m, "setup", (uint64_t)-setup(m), sound ? 0 : 22 /* EINVAL */);
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
	size_t i = roll(m, NELEMS(lane_names));
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

struct walk {
	struct model *m;
	struct sid sids[SESSIONS];
	size_t n;
};

static bool
on_walk(void *arg, struct sid sid)
{
	struct walk *w = arg;

	if (w->n == SESSIONS)
		fail(w->m, "more than there are", w->n, 0);
	w->sids[w->n++] = sid;
	return true;
}

/* The queued leave, in the order in which they would have started. */
static void
step_clear(struct model *m)
{
	size_t lane = roll(m, NELEMS(lane_names));
	struct walk w = { .m = m };

	lanes_each(m->ls, lane_names[lane], LANE_THE_QUEUED, on_walk, &w);
	expect(m, "cleared", w.n, count(m, lane, false));
	for (size_t i = 0; i < w.n; i++) {
		struct model_session *s = named(m, w.sids[i]);

		expect(m, "order of the queue", place(m, s), 1);
		lanes_leave(m->ls, w.sids[i]);
		*s = (struct model_session){ 0 };
		m->cleared++;
	}
}

static void
step_reset(struct model *m)
{
	size_t lane = roll(m, NELEMS(lane_names));
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

/* When the next of those who wait is to be warned about. */
static uint64_t
warn_due(const struct model *m)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid != 0 && !m->s[i].active && !m->s[i].warned &&
		    m->s[i].since_ms + WARN_MS < due)
			due = m->s[i].since_ms + WARN_MS;
	return due;
}

static void
step_warn(struct model *m)
{
	uint64_t due = warn_due(m);
	struct sid sid;
	struct model_session *s;

	expect(m, "when to warn", lanes_warn_due(m->ls), due);
	sid = lanes_warn(m->ls, m->now_ms);
	expect(m, "a warning", sid.v != 0, due <= m->now_ms);
	if (sid.v == 0)
		return;
	s = named(m, sid);
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
	expect(m, "setup of a restart", (uint64_t)-setup(m), 0);
	for (size_t i = 0; i < NELEMS(lane_names); i++) {
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

static bool
is_used(const struct model *m, size_t lane)
{
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid != 0 && m->s[i].lane == lane)
			return true;
	return false;
}

/* Who keeps the lane from starting one more, pause or not. */
static void
compare_blockers(struct model *m, size_t lane)
{
	size_t group = m->lanes[lane].group;
	enum lane_block why = block_of(m, lane, false);
	struct walk w = { .m = m };
	uint32_t want = 0, over = 0;
	bool any = false;

	m->held_back[why]++;
	lanes_each(m->ls, lane_names[lane], LANE_THE_BLOCKERS, on_walk, &w);
	for (size_t i = 0; i < NELEMS(lane_names); i++) {
		uint32_t a = count(m, i, true);

		if (group == NO_GROUP || m->lanes[i].group != group)
			continue;
		want += a;
		if (a > m->lanes[i].reserve) {
			any = true;
			over += a;
		}
	}
	if (why == LANE_OPEN)
		want = 0;
	else if (why == LANE_BLOCK_WIDTH)
		want = count(m, lane, true);
	else if (any)
		want = over;
	/* an idle lane that nobody configured is not there to be asked */
	if (!m->lanes[lane].configured && !m->lanes[lane].paused &&
	    count(m, lane, true) + count(m, lane, false) == 0)
		return;
	expect(m, "blockers", w.n, want);
	for (size_t i = 0; i < w.n; i++)
		if (!named(m, w.sids[i])->active ||
		    named(m, w.sids[i])->stale)
			fail(m, "somebody blocks who holds nothing",
			    w.sids[i].v, 0);
}

/* Places, views and due time as the model has them. */
static void
compare(struct model *m)
{
	const struct model_session *s = &m->s[roll(m, SESSIONS)];
	uint64_t due = UINT64_MAX;
	size_t known = 0;

	if (s->sid != 0)
		expect(m, "place",
		    lanes_position(m->ls, (struct sid){ s->sid }),
		    place(m, s));
	for (size_t i = 0; i < lanes_count(m->ls); i++) {
		struct lane_view v;
		size_t k = 0;

		lanes_view(m->ls, i, &v);
		while (strcmp(lane_names[k], v.name) != 0)
			k++;
		known++;
		expect(m, "width", v.width, width_of(&m->lanes[k]));
		expect(m, "block", v.block, block_of(m, k, true));
		for (size_t j = 0; j < SESSIONS; j++)
			v.stale -= m->s[j].sid != 0 && m->s[j].lane == k &&
			    m->s[j].stale;
		expect(m, "stale", v.stale, 0);
		expect(m, "active", v.active, count(m, k, true));
		expect(m, "queued", v.queued, count(m, k, false));
	}
	for (size_t i = 0; i < NELEMS(lane_names); i++)
		known -= m->lanes[i].configured || m->lanes[i].paused ||
		    m->lanes[i].draining || m->lanes[i].width_set ||
		    is_used(m, i);
	for (size_t i = 0; i < NELEMS(lane_names); i++)
		compare_blockers(m, i);
	expect(m, "lanes nobody knows", known, 0);
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid != 0 && !m->s[i].active &&
		    m->s[i].priority < 0 && m->s[i].low &&
		    m->s[i].since_ms + LANE_AGE_MS < due)
			due = m->s[i].since_ms + LANE_AGE_MS;
	expect(m, "due", lanes_due(m->ls), due);
	if (lanes_check(m->ls) != NULL)
		cr_assert_fail("step %" PRIu64 ", PSUP_SIM_SEED=%" PRIu64 ": %s",
		    m->step, m->seed, lanes_check(m->ls));
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
	for (size_t i = 0; i < NELEMS(lane_names); i++) {
		m.lanes[i].width = i == 1 ? 8 : 1;
		m.lanes[i].queue_max = 100000;
		m.lanes[i].configured = i < 2;
		m.lanes[i].group = NO_GROUP;
	}
	lanes_set_warn(m.ls, WARN_MS);
	cr_assert_eq(setup(&m), 0);
	for (m.step = 0; m.step < STEPS; m.step++) {
		step(&m);
		if (m.step % CHECK_EVERY == 0)
			compare(&m);
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
