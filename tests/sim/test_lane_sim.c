/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler under virtual time: a million random steps against a
 * model that is too simple to be wrong, traces that must not change, and
 * bounds on waiting. PSUP_SIM_SEED repeats a run.
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
};

static const char *const lane_names[] = { "main", "subagent", "cron:backup",
	"cron:mail", "session:a", "session:b", "build", "x" };

struct model {
	struct lanes *ls;
	struct model_session s[SESSIONS];
	struct {
		uint32_t width, queue_max;
		bool configured;
	} lanes[NELEMS(lane_names)];
	uint64_t now_ms, last_seq, last_sid, step, seed, rng;
	uint64_t admitted, queued, refused, aged, restarts;
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
		    m->s[i].active == active;
	return n;
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
	want = queued == 0 &&
	        count(m, fresh.lane, true) < m->lanes[fresh.lane].width
	    ? LANE_ADMIT
	    : queued < m->lanes[fresh.lane].queue_max ? LANE_QUEUED
	                                              : LANE_FULL;
	v = lanes_enter(m->ls, lane_names[fresh.lane], fresh.priority,
	    (struct sid){ fresh.sid }, 0, m->now_ms, &seq, &pos);
	expect(m, "verdict of enter", v, want);
	if (v == LANE_FULL) {
		m->refused++;
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
	s->sid = 0;
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
			    count(m, i, true) < m->lanes[i].width)
				fail(m, "nobody is next", 0, i);
		return false;
	}
	s = by_sid(m, sid.v);
	if (s == NULL || s->active)
		fail(m, "next is nobody who waits", sid.v, 0);
	expect(m, "place of next", place(m, s), 1);
	if (count(m, s->lane, true) >= m->lanes[s->lane].width)
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

/* A new master: holders first, then the queue, in no order. */
static void
step_restart(struct model *m)
{
	size_t first = roll(m, SESSIONS);

	lanes_free(&m->ls);
	m->ls = lanes_new();
	for (size_t i = 0; i < NELEMS(lane_names); i++)
		if (m->lanes[i].configured)
			lanes_configure(m->ls, lane_names[i],
			    m->lanes[i].width, m->lanes[i].queue_max);
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid != 0 && m->s[i].active)
			lanes_restore_active(m->ls, lane_names[m->s[i].lane],
			    (struct sid){ m->s[i].sid });
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
		expect(m, "width", v.width, m->lanes[k].width);
		expect(m, "active", v.active, count(m, k, true));
		expect(m, "queued", v.queued, count(m, k, false));
	}
	for (size_t i = 0; i < NELEMS(lane_names); i++)
		known -= m->lanes[i].configured ||
		    count(m, i, true) + count(m, i, false) > 0;
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
	else if (r < 990)
		step_time(m);
	else if (r < 998)
		step_configure(m);
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
	}
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
	lanes_free(&m.ls);
}

/* ----------------------------------------------------------- golden traces */

/* One line of a trace; a time moves on by itself. */
struct act {
	uint64_t at_ms;
	char what; /* e: enter, l: leave, n: next until nobody, w: width */
	uint64_t sid;
	const char *lane;
	int n; /* priority, width */
};

static void
play(const struct act *a, size_t n, char *out, size_t size)
{
	struct lanes *ls = lanes_new();
	size_t len = 0;

#define SAY(...)                                                               \
	(len += (size_t)snprintf(out + len, size - len, __VA_ARGS__))
	for (; n > 0; n--, a++) {
		struct sid sid = { a->sid };
		uint32_t pos = 0;

		SAY("%" PRIu64 " ", a->at_ms / 1000);
		switch (a->what) {
		case 'e':
			SAY("enter %" PRIu64 ": ", a->sid);
			if (lanes_enter(ls, a->lane, a->n, sid, 0, a->at_ms,
			        NULL, &pos) == LANE_ADMIT)
				SAY("starts\n");
			else
				SAY("place %" PRIu32 "\n", pos);
			continue;
		case 'l':
			SAY("leave %" PRIu64 ":", a->sid);
			lanes_leave(ls, sid);
			break;
		case 'w':
			SAY("width %s %d:", a->lane, a->n);
			lanes_configure(ls, a->lane, (uint32_t)a->n, 100);
			break;
		default:
			SAY("next:");
		}
		while ((sid = lanes_next(ls, a->at_ms)).v != 0)
			SAY(" %" PRIu64, sid.v);
		SAY("\n");
		cr_assert_null(lanes_check(ls), "%s", lanes_check(ls));
	}
#undef SAY
	lanes_free(&ls);
}

Test(lane_sim, golden_tiers)
{
	static const struct act acts[] = {
		{ 0, 'e', 1, "main", 0 }, { 0, 'e', 2, "main", -1 },
		{ 1000, 'e', 3, "main", 0 }, { 1000, 'e', 4, "main", 1 },
		{ 2000, 'e', 5, "main", 1 }, { 2000, 'e', 6, "main", 0 },
		{ 3000, 'l', 1, NULL, 0 }, { 4000, 'l', 4, NULL, 0 },
		{ 4000, 'e', 7, "main", 1 }, { 5000, 'l', 5, NULL, 0 },
		{ 6000, 'l', 7, NULL, 0 }, { 6000, 'l', 6, NULL, 0 },
		{ 7000, 'l', 3, NULL, 0 }, { 8000, 'l', 2, NULL, 0 },
	};
	char got[2000];

	play(acts, NELEMS(acts), got, sizeof(got));
	cr_assert_str_eq(got,
	    "0 enter 1: starts\n"
	    "0 enter 2: place 1\n"
	    "1 enter 3: place 1\n"
	    "1 enter 4: place 1\n"
	    "2 enter 5: place 2\n"
	    "2 enter 6: place 4\n"
	    "3 leave 1: 4\n"
	    "4 leave 4: 5\n"
	    "4 enter 7: place 1\n"
	    "5 leave 5: 7\n"
	    "6 leave 7: 3\n"
	    "6 leave 6:\n"
	    "7 leave 3: 2\n"
	    "8 leave 2:\n");
}

Test(lane_sim, golden_ageing)
{
	static const struct act acts[] = {
		{ 0, 'e', 1, "main", 0 }, { 1000, 'e', 2, "main", -1 },
		{ 5000, 'e', 3, "main", -1 }, { 6000, 'e', 4, "main", 0 },
		{ 30000, 'n', 0, NULL, 0 }, { 30000, 'e', 5, "main", 0 },
		{ 31000, 'e', 6, "main", 1 }, { 32000, 'e', 7, "main", -1 },
		{ 33000, 'l', 1, NULL, 0 }, { 34000, 'l', 6, NULL, 0 },
		{ 34900, 'l', 2, NULL, 0 }, { 35000, 'l', 4, NULL, 0 },
		{ 36000, 'l', 3, NULL, 0 }, { 36000, 'e', 8, "main", 0 },
		{ 62000, 'e', 9, "main", 0 }, { 62000, 'l', 5, NULL, 0 },
		{ 63000, 'l', 7, NULL, 0 },
	};
	char got[2000];

	play(acts, NELEMS(acts), got, sizeof(got));
	cr_assert_str_eq(got,
	    "0 enter 1: starts\n"
	    "1 enter 2: place 1\n"
	    "5 enter 3: place 2\n"
	    "6 enter 4: place 1\n"
	    "30 next:\n"
	    "30 enter 5: place 2\n"
	    "31 enter 6: place 1\n"
	    "32 enter 7: place 6\n"
	    "33 leave 1: 6\n"
	    "34 leave 6: 2\n"
	    "34 leave 2: 4\n"
	    "35 leave 4: 3\n"
	    "36 leave 3: 5\n"
	    "36 enter 8: place 1\n"
	    "62 enter 9: place 3\n"
	    "62 leave 5: 7\n"
	    "63 leave 7: 8\n");
}

Test(lane_sim, golden_lanes_take_turns)
{
	static const struct act acts[] = {
		{ 0, 'w', 0, "a", 0 }, { 0, 'w', 0, "b", 0 },
		{ 0, 'w', 0, "c", 0 }, { 0, 'e', 1, "a", 0 },
		{ 0, 'e', 2, "a", 0 }, { 0, 'e', 3, "a", 0 },
		{ 0, 'e', 4, "b", 0 }, { 0, 'e', 5, "b", 1 },
		{ 0, 'e', 6, "c", 0 }, { 1000, 'w', 0, "a", 2 },
		{ 1000, 'w', 0, "b", 1 }, { 1000, 'w', 0, "c", 5 },
		{ 2000, 'l', 2, NULL, 0 }, { 2000, 'l', 5, NULL, 0 },
	};
	char got[2000];

	play(acts, NELEMS(acts), got, sizeof(got));
	cr_assert_str_eq(got,
	    "0 width a 0:\n"
	    "0 width b 0:\n"
	    "0 width c 0:\n"
	    "0 enter 1: place 1\n"
	    "0 enter 2: place 2\n"
	    "0 enter 3: place 3\n"
	    "0 enter 4: place 1\n"
	    "0 enter 5: place 1\n"
	    "0 enter 6: place 1\n"
	    "1 width a 2: 1 2\n"
	    "1 width b 1: 5\n"
	    "1 width c 5: 6\n"
	    "2 leave 2: 3\n"
	    "2 leave 5: 4\n");
}

/* ------------------------------------------------------------------ bounds */

/* A lane of width 1 is overrun by normal sessions, one a second, each running
 * a second and a half. The one of low priority waits its 30 s, then only for
 * those that came before it. */
Test(lane_sim, the_lowest_tier_does_not_starve)
{
	struct lanes *ls = lanes_new();
	uint64_t now_ms = 0, running = 1, ends_ms = 1500, id = 10;
	uint64_t started_ms = 0;

	lanes_enter(ls, "main", 0, (struct sid){ 1 }, 0, 0, NULL, NULL);
	lanes_enter(ls, "main", -1, (struct sid){ 2 }, 0, 0, NULL, NULL);
	for (; started_ms == 0 && now_ms < 600000; now_ms += 500) {
		if (now_ms % 1000 == 0)
			lanes_enter(ls, "main", 0, (struct sid){ id++ }, 0,
			    now_ms, NULL, NULL);
		if (now_ms >= ends_ms) {
			lanes_leave(ls, (struct sid){ running });
			running = lanes_next(ls, now_ms).v;
			ends_ms = now_ms + 1500;
		}
		if (running == 2)
			started_ms = now_ms;
	}
	cr_assert_geq(started_ms, LANE_AGE_MS);
	cr_assert_leq(started_ms, LANE_AGE_MS + 1500);
	lanes_free(&ls);
}

/* Lanes that are ready are served in turn, however long their queues are. */
Test(lane_sim, no_ready_lane_waits_for_another_twice)
{
	struct lanes *ls = lanes_new();
	char name[LANE_NAME_MAX];
	unsigned served[20] = { 0 };

	for (uint64_t l = 0; l < 20; l++) {
		snprintf(name, sizeof(name), "lane%" PRIu64, l);
		lanes_configure(ls, name, 0, 1000);
		for (uint64_t i = 0; i < 10 + l * 40; i++)
			lanes_enter(ls, name, 0,
			    (struct sid){ 1000 * (l + 1) + i }, 0, 0, NULL,
			    NULL);
	}
	for (uint64_t l = 0; l < 20; l++) {
		snprintf(name, sizeof(name), "lane%" PRIu64, l);
		lanes_configure(ls, name, 10, 1000);
	}
	for (unsigned turn = 1; turn <= 10; turn++) {
		for (unsigned i = 0; i < 20; i++)
			served[lanes_next(ls, 0).v / 1000 - 1]++;
		for (unsigned l = 0; l < 20; l++)
			cr_assert_eq(served[l], turn);
	}
	cr_assert_eq(lanes_next(ls, 0).v, 0);
	lanes_free(&ls);
}
