/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler under virtual time: traces that must not change, and
 * bounds on waiting.
 */
#include "supervisor/lane/lane.h"

#include "lib_check.h"

#include "common/check.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lane_trace, .timeout = 60);

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

Test(lane_trace, golden_tiers)
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

Test(lane_trace, golden_ageing)
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

Test(lane_trace, golden_lanes_take_turns)
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
Test(lane_trace, the_lowest_tier_does_not_starve)
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
Test(lane_trace, no_ready_lane_waits_for_another_twice)
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
