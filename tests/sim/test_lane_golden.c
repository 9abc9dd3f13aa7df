/* SPDX-License-Identifier: MIT */
/*
 * Traces of the lane scheduler in files, tests/sim/golden/: what is done stands
 * before the colon of a line, what follows from it behind. A file is played
 * and must come out as it is; where a change is meant, PSUP_TEST_RENEW=1
 * writes it anew.
 *
 *     SECONDS enter ID LANE PRIORITY: starts | place N | full | draining
 *     SECONDS leave ID: who starts then
 *     SECONDS group NAME WIDTH:          for the next setup
 *     SECONDS lane NAME WIDTH GROUP|- RESERVE:
 *     SECONDS setup: ok | refused, and who starts
 *     SECONDS width LANE N / pause / resume / drain / reset LANE: who starts
 *     SECONDS warn: who has waited two seconds
 *     SECONDS block LANE: why nobody starts, and who would have to end
 */
#include "supervisor/lane/lane.h"

#include "lib_check.h"

#include "common/check.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lane_golden, .timeout = 60);

struct game {
	struct lanes *ls;
	struct lane_group_conf groups[8];
	struct lane_conf lanes[16];
	size_t group_count, lane_count;
	uint64_t now_ms;
	char *out;
	size_t len, size;
};

#define SAY(g, ...)                                                            \
	((g)->len += (size_t)snprintf((g)->out + (g)->len,                     \
	     (g)->size - (g)->len, __VA_ARGS__))

static bool
on_sid(void *arg, struct sid sid)
{
	struct game *g = arg;

	SAY(g, " %" PRIu64, sid.v);
	return true;
}

/* Whoever may start now. */
static void
say_next(struct game *g)
{
	struct sid sid;

	while ((sid = lanes_next(g->ls, g->now_ms)).v != 0)
		on_sid(g, sid);
}

static void
do_enter(struct game *g, const char *const *w)
{
	struct sid sid = { strtoull(w[0], NULL, 10) };
	uint32_t pos = 0;

	switch (lanes_enter(g->ls, w[1], atoi(w[2]), sid, 0, g->now_ms, NULL,
	    &pos)) {
	case LANE_ADMIT:
		SAY(g, " starts");
		break;
	case LANE_QUEUED:
		SAY(g, " place %" PRIu32, pos);
		break;
	case LANE_DRAINING:
		SAY(g, " draining");
		break;
	default:
		SAY(g, " full");
	}
}

static void
do_setup(struct game *g)
{
	SAY(g, lanes_setup(g->ls, g->groups, g->group_count, g->lanes,
	           g->lane_count) == 0 ? " ok" : " refused");
	g->group_count = g->lane_count = 0;
	say_next(g);
}

static void
do_lane(struct game *g, const char *const *w)
{
	struct lane_conf *l = &g->lanes[g->lane_count++];

	memset(l, 0, sizeof(*l));
	strcpy(l->name, w[0]);
	l->width = (uint32_t)atoi(w[1]);
	l->queue_max = 4;
	if (strcmp(w[2], "-") != 0)
		strcpy(l->group, w[2]);
	l->reserve = (uint32_t)atoi(w[3]);
}

static void
do_group(struct game *g, const char *const *w)
{
	struct lane_group_conf *c = &g->groups[g->group_count++];

	memset(c, 0, sizeof(*c));
	strcpy(c->name, w[0]);
	c->width = (uint32_t)atoi(w[1]);
}

/* What an operator does. */
static void
do_state(struct game *g, const char *what, const char *const *w)
{
	struct lane_view v = { .generation = 1 };
	struct lane_state st;

	(void)lanes_find(g->ls, w[0], &v);
	st = (struct lane_state){ .paused = v.paused,
		.draining = v.draining, .width_set = v.width_set,
		.width = v.width };
	if (strcmp(what, "pause") == 0)
		st.paused = true;
	else if (strcmp(what, "drain") == 0)
		st.draining = true;
	else if (strcmp(what, "resume") == 0)
		st.paused = st.draining = false;
	else
		st.width_set = true, st.width = (uint32_t)atoi(w[1]);
	cr_assert_eq(lanes_put_state(g->ls, w[0], &st), 0);
	say_next(g);
}

static void
do_block(struct game *g, const char *lane)
{
	static const char *const words[] = { "open", "paused", "width",
		"group", "reserved" };
	struct lane_view v = { .block = LANE_OPEN };

	(void)lanes_find(g->ls, lane, &v);
	SAY(g, " %s", words[v.block]);
	lanes_each(g->ls, lane, LANE_THE_BLOCKERS, on_sid, g);
}

/* One line, up to its colon. */
static void
play_line(struct game *g, char *line)
{
	const char *w[8] = { "", "", "", "", "", "", "", "" };
	char *save = NULL, *word;
	size_t n = 0;
	struct sid sid;

	for (word = strtok_r(line, " ", &save); word != NULL && n < 8;
	     word = strtok_r(NULL, " ", &save))
		w[n++] = word;
	g->now_ms = (uint64_t)(atof(w[0]) * 1000);
	if (strcmp(w[1], "enter") == 0)
		do_enter(g, w + 2);
	else if (strcmp(w[1], "leave") == 0)
		lanes_leave(g->ls,
		    (struct sid){ strtoull(w[2], NULL, 10) }),
		    say_next(g);
	else if (strcmp(w[1], "group") == 0)
		do_group(g, w + 2);
	else if (strcmp(w[1], "lane") == 0)
		do_lane(g, w + 2);
	else if (strcmp(w[1], "setup") == 0)
		do_setup(g);
	else if (strcmp(w[1], "reset") == 0)
		lanes_reset(g->ls, w[2]), say_next(g);
	else if (strcmp(w[1], "block") == 0)
		do_block(g, w[2]);
	else if (strcmp(w[1], "warn") == 0)
		while ((sid = lanes_warn(g->ls, g->now_ms)).v != 0)
			on_sid(g, sid);
	else
		do_state(g, w[1], w + 2);
}

/* Plays a text; what comes out. */
static char *
play(const char *text)
{
	struct game g = { .ls = lanes_new(), .size = strlen(text) * 4 + 4096 };

	g.out = calloc(1, g.size);
	cr_assert_not_null(g.out);
	lanes_set_warn(g.ls, 2000);
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		size_t colon = strcspn(text, ":\n");
		char line[200];

		if (*text == '#' || n == 0) {
			SAY(&g, "%.*s\n", (int)n, text);
		} else {
			cr_assert_lt(colon, sizeof(line));
			snprintf(line, sizeof(line), "%.*s", (int)colon, text);
			SAY(&g, "%s:", line);
			play_line(&g, line);
			SAY(&g, "\n");
			cr_assert_null(lanes_check(g.ls), "%.*s: %s", (int)n,
			    text, lanes_check(g.ls));
		}
		text += n + (text[n] == '\n');
	}
	lanes_free(&g.ls);
	return g.out;
}

static void
compare(const char *name)
{
	const char *src = getenv("PSUP_TEST_SRC");
	char path[4096], *text = calloc(1, 65536), *got;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/sim/golden/%s",
	    src != NULL ? src : ".", name);
	f = fopen(path, "re");
	cr_assert_not_null(f, "%s", path);
	cr_assert_lt(fread(text, 1, 65535, f), 65535);
	fclose(f);
	got = play(text);
	if (getenv("PSUP_TEST_RENEW") != NULL) {
		f = fopen(path, "we");
		fputs(got, f);
		fclose(f);
	} else {
		cr_assert_str_eq(got, text, "%s is now:\n%s", name, got);
	}
	free(got);
	free(text);
}

Test(lane_golden, groups_and_reservations)
{
	compare("groups");
}

Test(lane_golden, what_operators_do)
{
	compare("operators");
}

Test(lane_golden, warnings_once_for_each_wait)
{
	compare("warnings");
}
