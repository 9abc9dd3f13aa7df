/* SPDX-License-Identifier: MIT */
/* See lib_lane_model.h. */
#include "lib_lane_model.h"

#include "lib_check.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const lane_names[LANES] = { "main", "subagent", "cron:backup",
	"cron:mail", "session:a", "session:b", "build", "x" };
const char *const group_names[GROUPS] = { "batch", "night" };
const char *const lane_patterns[PATTERNS] = { "cron:*", "session:*" };

uint64_t
roll(struct model *m, uint64_t n)
{
	m->rng ^= m->rng >> 12;
	m->rng ^= m->rng << 25;
	m->rng ^= m->rng >> 27;
	return ((m->rng * 2685821657736338717ull) >> 11) % n;
}

void
fail(const struct model *m, const char *what, uint64_t got, uint64_t want)
{
	cr_assert_fail("step %" PRIu64 ", PSUP_SIM_SEED=%" PRIu64
	               ": %s: %" PRIu64 ", the model says %" PRIu64,
	    m->step, m->seed, what, got, want);
}

void
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

void
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

uint32_t
model_count(const struct model *m, size_t lane, bool active)
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

enum lane_block
model_block(const struct model *m, size_t lane, bool see_pause)
{
	const struct model_lane *l = &m->lanes[lane];
	uint32_t active = model_count(m, lane, true), all = 0, taken = 0;

	if (see_pause && l->paused)
		return LANE_BLOCK_PAUSED;
	if (active >= width_of(l))
		return LANE_BLOCK_WIDTH;
	if (l->group == NO_GROUP)
		return LANE_OPEN;
	for (size_t i = 0; i < LANES; i++) {
		uint32_t a;

		if (m->lanes[i].group != l->group)
			continue;
		a = model_count(m, i, true);
		all += a;
		taken += a > m->lanes[i].reserve ? a : m->lanes[i].reserve;
	}
	if (all >= m->group_width[l->group])
		return LANE_BLOCK_GROUP;
	return active < l->reserve || taken < m->group_width[l->group]
	    ? LANE_OPEN
	    : LANE_BLOCK_RESERVED;
}

uint32_t
model_place(const struct model *m, const struct model_session *s)
{
	uint32_t n = 1;

	if (s->active)
		return 0;
	for (size_t i = 0; i < SESSIONS; i++)
		n += m->s[i].sid != 0 && !m->s[i].active &&
		    m->s[i].lane == s->lane && comes_before(&m->s[i], s);
	return n;
}

struct model_session *
model_find(struct model *m, uint64_t sid)
{
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid == sid)
			return &m->s[i];
	return NULL;
}

struct model_session *
model_named(struct model *m, struct sid sid)
{
	struct model_session *s = model_find(m, sid.v);

	if (s == NULL || sid.v == 0) {
		fail(m, "it names nobody", sid.v, 0);
		abort();
	}
	return s;
}

uint64_t
model_warn_due(const struct model *m)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid != 0 && !m->s[i].active && !m->s[i].warned &&
		    m->s[i].since_ms + WARN_MS < due)
			due = m->s[i].since_ms + WARN_MS;
	return due;
}

/* ----------------------------------------------------------- configuration */

int
model_setup(struct model *m)
{
	struct lane_group_conf groups[GROUPS];
	struct lane_conf lanes[LANES + PATTERNS];
	size_t n = 0;

	memset(groups, 0, sizeof(groups));
	memset(lanes, 0, sizeof(lanes));
	for (size_t i = 0; i < GROUPS; i++) {
		strcpy(groups[i].name, group_names[i]);
		groups[i].width = m->group_width[i];
	}
	for (size_t i = 0; i < NELEMS(lanes); i++) {
		bool exact = i < LANES;
		const struct model_lane *l =
		    exact ? &m->lanes[i] : &m->patterns[i - LANES];

		if (!l->configured)
			continue;
		strcpy(lanes[n].name,
		    exact ? lane_names[i] : lane_patterns[i - LANES]);
		lanes[n].width = l->width;
		lanes[n].queue_max = l->queue_max;
		lanes[n].reserve = l->reserve;
		if (l->group != NO_GROUP)
			strcpy(lanes[n].group, group_names[l->group]);
		n++;
	}
	return lanes_setup(m->ls, groups, NELEMS(groups), lanes, n);
}

void
model_inherit(struct model *m, size_t lane)
{
	struct model_lane *l = &m->lanes[lane];

	l->width = 1;
	l->queue_max = 100000;
	l->group = NO_GROUP;
	l->reserve = 0;
	for (size_t i = 0; i < PATTERNS; i++)
		if (m->patterns[i].configured &&
		    strncmp(lane_names[lane], lane_patterns[i],
		        strlen(lane_patterns[i]) - 1) == 0) {
			l->width = m->patterns[i].width;
			l->queue_max = m->patterns[i].queue_max;
			l->group = m->patterns[i].group;
		}
}

/* -------------------------------------------------------------- comparison */

static bool
on_walk(void *arg, struct sid sid)
{
	struct walk *w = arg;

	if (w->n == SESSIONS)
		fail(w->m, "more than there are", w->n, 0);
	w->sids[w->n++] = sid;
	return true;
}

void
model_walk(struct model *m, size_t lane, enum lane_which which,
    struct walk *ret)
{
	ret->m = m;
	ret->n = 0;
	lanes_each(m->ls, lane_names[lane], which, on_walk, ret);
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
	enum lane_block why = model_block(m, lane, false);
	struct walk w;
	uint32_t want = 0, over = 0;
	bool any = false;

	m->held_back[why]++;
	model_walk(m, lane, LANE_THE_BLOCKERS, &w);
	for (size_t i = 0; i < LANES; i++) {
		uint32_t a = model_count(m, i, true);

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
		want = model_count(m, lane, true);
	else if (any)
		want = over;
	/* an idle lane that nobody configured is not there to be asked */
	if (!m->lanes[lane].configured && !m->lanes[lane].paused &&
	    model_count(m, lane, true) + model_count(m, lane, false) == 0)
		return;
	expect(m, "blockers", w.n, want);
	for (size_t i = 0; i < w.n; i++)
		if (!model_named(m, w.sids[i])->active ||
		    model_named(m, w.sids[i])->stale)
			fail(m, "somebody blocks who holds nothing",
			    w.sids[i].v, 0);
}

void
model_compare(struct model *m)
{
	const struct model_session *s = &m->s[roll(m, SESSIONS)];
	uint64_t due = UINT64_MAX;
	size_t known = 0;

	if (s->sid != 0)
		expect(m, "place",
		    lanes_position(m->ls, (struct sid){ s->sid }),
		    model_place(m, s));
	for (size_t i = 0; i < lanes_count(m->ls); i++) {
		struct lane_view v;
		size_t k = 0;

		lanes_view(m->ls, i, &v);
		while (strcmp(lane_names[k], v.name) != 0)
			k++;
		known++;
		expect(m, "width", v.width, width_of(&m->lanes[k]));
		expect(m, "block", v.block, model_block(m, k, true));
		for (size_t j = 0; j < SESSIONS; j++)
			v.stale -= m->s[j].sid != 0 && m->s[j].lane == k &&
			    m->s[j].stale;
		expect(m, "stale", v.stale, 0);
		expect(m, "active", v.active, model_count(m, k, true));
		expect(m, "queued", v.queued, model_count(m, k, false));
	}
	for (size_t i = 0; i < LANES; i++)
		known -= m->lanes[i].configured || m->lanes[i].paused ||
		    m->lanes[i].draining || m->lanes[i].width_set ||
		    is_used(m, i);
	for (size_t i = 0; i < LANES; i++)
		compare_blockers(m, i);
	expect(m, "lanes nobody knows", known, 0);
	for (size_t i = 0; i < SESSIONS; i++)
		if (m->s[i].sid != 0 && !m->s[i].active &&
		    m->s[i].priority < 0 && m->s[i].low &&
		    m->s[i].since_ms + LANE_AGE_MS < due)
			due = m->s[i].since_ms + LANE_AGE_MS;
	expect(m, "due", lanes_due(m->ls), due);
	if (lanes_check(m->ls) != NULL)
		cr_assert_fail("step %" PRIu64 ", PSUP_SIM_SEED=%" PRIu64
		               ": %s",
		    m->step, m->seed, lanes_check(m->ls));
}
