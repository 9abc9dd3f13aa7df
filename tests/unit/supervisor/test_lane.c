/* SPDX-License-Identifier: MIT */
/* The lane scheduler by example; tests/sim/test_lane_sim.c does the rest. */
#include "supervisor/lane/lane.h"
#include "tests/sim/lib_check.h"

#include "common/clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

TestSuite(lane, .timeout = 20);

static struct sid
sid(uint64_t v)
{
	return (struct sid){ v };
}

/* Enters a new session with the next number. */
static enum lane_verdict
enter(struct lanes *ls, const char *lane, int priority, uint64_t id,
    uint64_t now_ms)
{
	return lanes_enter(ls, lane, priority, sid(id), 0, now_ms, NULL, NULL);
}

static void
expect_next(struct lanes *ls, uint64_t now_ms, uint64_t id)
{
	cr_assert_eq(lanes_next(ls, now_ms).v, id);
	cr_assert_null(lanes_check(ls), "%s", lanes_check(ls));
}

static struct lane_view
view_of(const struct lanes *ls, const char *name)
{
	struct lane_view v = { 0 };

	for (size_t i = 0; i < lanes_count(ls); i++) {
		lanes_view(ls, i, &v);
		if (strcmp(v.name, name) == 0)
			return v;
	}
	memset(&v, 0, sizeof(v));
	return v;
}

Test(lane, main_runs_one_and_subagent_eight)
{
	struct lanes *ls = lanes_new();

	cr_assert_eq(enter(ls, "main", 0, 1, 0), LANE_ADMIT);
	cr_assert_eq(enter(ls, "main", 0, 2, 0), LANE_QUEUED);
	for (uint64_t i = 0; i < 8; i++)
		cr_assert_eq(enter(ls, "subagent", 0, 10 + i, 0), LANE_ADMIT);
	cr_assert_eq(enter(ls, "subagent", 0, 20, 0), LANE_QUEUED);
	expect_next(ls, 0, 0);
	lanes_leave(ls, sid(1));
	expect_next(ls, 0, 2);
	expect_next(ls, 0, 0);
	lanes_leave(ls, sid(13));
	expect_next(ls, 0, 20);
	lanes_free(&ls);
	cr_assert_null(ls);
}

Test(lane, each_cron_job_is_a_lane_and_is_forgotten_when_idle)
{
	struct lanes *ls = lanes_new();

	cr_assert_eq(enter(ls, "cron:a", 0, 1, 0), LANE_ADMIT);
	cr_assert_eq(enter(ls, "cron:b", 0, 2, 0), LANE_ADMIT);
	cr_assert_eq(enter(ls, "cron:a", 0, 3, 0), LANE_QUEUED);
	cr_assert_eq(lanes_count(ls), 4);
	lanes_leave(ls, sid(2));
	cr_assert_eq(lanes_count(ls), 3);
	lanes_leave(ls, sid(3));
	lanes_leave(ls, sid(1));
	cr_assert_eq(lanes_count(ls), 2);
	lanes_configure(ls, "cron:a", 2, 10);
	enter(ls, "cron:a", 0, 4, 0);
	lanes_leave(ls, sid(4));
	cr_assert_eq(view_of(ls, "cron:a").width, 2, "configured: stays");
	cr_assert_null(lanes_check(ls));
	lanes_free(&ls);
}

Test(lane, views_are_in_order_of_name)
{
	struct lanes *ls = lanes_new();
	struct lane_view v;
	const char *want[] = { "a", "main", "subagent", "z" };

	enter(ls, "z", 0, 1, 0);
	enter(ls, "a", 0, 2, 0);
	cr_assert_eq(lanes_count(ls), 4);
	for (size_t i = 0; i < 4; i++) {
		lanes_view(ls, i, &v);
		cr_assert_str_eq(v.name, want[i]);
		cr_assert_eq(v.generation, 1);
	}
	lanes_free(&ls);
}

Test(lane, tiers_first_then_arrival)
{
	struct lanes *ls = lanes_new();

	enter(ls, "main", 0, 1, 0);
	enter(ls, "main", -1, 2, 0);
	enter(ls, "main", 0, 3, 0);
	enter(ls, "main", 1, 4, 0);
	enter(ls, "main", 1, 5, 0);
	enter(ls, "main", 0, 6, 0);
	cr_assert_eq(lanes_position(ls, sid(1)), 0);
	cr_assert_eq(lanes_position(ls, sid(4)), 1);
	cr_assert_eq(lanes_position(ls, sid(5)), 2);
	cr_assert_eq(lanes_position(ls, sid(3)), 3);
	cr_assert_eq(lanes_position(ls, sid(6)), 4);
	cr_assert_eq(lanes_position(ls, sid(2)), 5);
	for (uint64_t want[] = { 4, 5, 3, 6, 2 }, i = 0, last = 1; i < 5; i++) {
		lanes_leave(ls, sid(last));
		expect_next(ls, 0, want[i]);
		last = want[i];
	}
	lanes_free(&ls);
}

Test(lane, thirty_seconds_move_up_one_tier_and_never_into_the_first)
{
	struct lanes *ls = lanes_new();

	enter(ls, "main", 0, 1, 0);
	enter(ls, "main", -1, 2, 1000);
	enter(ls, "main", 0, 3, 2000);
	cr_assert_eq(lanes_due(ls), 1000 + LANE_AGE_MS);
	cr_assert_eq(lanes_position(ls, sid(2)), 2);
	expect_next(ls, 1000 + LANE_AGE_MS - 1, 0);
	cr_assert_eq(lanes_position(ls, sid(2)), 2);
	expect_next(ls, 1000 + LANE_AGE_MS, 0);
	cr_assert_eq(lanes_position(ls, sid(2)), 1, "it arrived before 3");
	cr_assert_eq(lanes_due(ls), UINT64_MAX);
	enter(ls, "main", 1, 4, 40000);
	expect_next(ls, 10 * LANE_AGE_MS, 0);
	cr_assert_eq(lanes_position(ls, sid(4)), 1, "nobody ages into 1");
	cr_assert_eq(lanes_position(ls, sid(2)), 2);
	lanes_free(&ls);
}

Test(lane, a_full_queue_refuses_and_remembers_nothing)
{
	struct lanes *ls = lanes_new();

	lanes_configure(ls, "main", 1, 2);
	enter(ls, "main", 0, 1, 0);
	enter(ls, "main", 0, 2, 0);
	enter(ls, "main", 0, 3, 0);
	cr_assert_eq(enter(ls, "main", 1, 4, 0), LANE_FULL);
	cr_assert_eq(lanes_position(ls, sid(4)), 0);
	lanes_leave(ls, sid(4));
	cr_assert_eq(view_of(ls, "main").queued, 2);
	cr_assert_null(lanes_check(ls));
	lanes_free(&ls);
}

Test(lane, width_changes_live)
{
	struct lanes *ls = lanes_new();

	for (uint64_t i = 1; i <= 6; i++)
		enter(ls, "main", 0, i, 0);
	lanes_configure(ls, "main", 3, 100);
	expect_next(ls, 0, 2);
	expect_next(ls, 0, 3);
	expect_next(ls, 0, 0);
	lanes_configure(ls, "main", 1, 100);
	lanes_leave(ls, sid(1));
	lanes_leave(ls, sid(2));
	expect_next(ls, 0, 0);
	lanes_leave(ls, sid(3));
	expect_next(ls, 0, 4);
	lanes_configure(ls, "main", 0, 100);
	lanes_leave(ls, sid(4));
	expect_next(ls, 0, 0);
	lanes_free(&ls);
}

Test(lane, a_newcomer_does_not_pass_the_queue)
{
	struct lanes *ls = lanes_new();

	enter(ls, "main", 0, 1, 0);
	enter(ls, "main", 0, 2, 0);
	lanes_leave(ls, sid(1));
	cr_assert_eq(enter(ls, "main", 0, 3, 0), LANE_QUEUED);
	expect_next(ls, 0, 2);
	expect_next(ls, 0, 0);
	lanes_free(&ls);
}

Test(lane, a_restart_brings_the_same_order_back)
{
	struct lanes *ls = lanes_new();
	uint64_t seq;
	uint32_t pos;

	/* the index holds them by id, not by number */
	cr_assert_eq(lanes_restore_active(ls, "main", sid(9)), 0);
	cr_assert_eq(lanes_enter(ls, "main", -1, sid(2), 70, 0, &seq, &pos),
	    LANE_QUEUED);
	cr_assert_eq(seq, 70);
	lanes_enter(ls, "main", 0, sid(3), 90, 0, NULL, NULL);
	lanes_enter(ls, "main", 0, sid(4), 80, 0, NULL, &pos);
	cr_assert_eq(pos, 1);
	cr_assert_eq(lanes_enter(ls, "main", 0, sid(5), 0, 0, &seq, &pos),
	    LANE_QUEUED);
	cr_assert_eq(seq, 91, "new ones come after all");
	cr_assert_eq(pos, 3);
	lanes_leave(ls, sid(9));
	expect_next(ls, 0, 4);
	lanes_leave(ls, sid(4));
	expect_next(ls, 0, 3);
	lanes_free(&ls);
}

Test(lane, restored_ones_are_never_refused_nor_started_out_of_turn)
{
	struct lanes *ls = lanes_new();

	lanes_configure(ls, "main", 1, 1);
	for (uint64_t i = 1; i <= 3; i++)
		cr_assert_eq(lanes_enter(ls, "main", i == 3, sid(i), i, 0,
		                 NULL, NULL),
		    LANE_QUEUED);
	cr_assert_eq(lanes_restore_active(ls, "main", sid(10)), 0);
	cr_assert_eq(lanes_restore_active(ls, "main", sid(11)), 0);
	cr_assert_eq(view_of(ls, "main").active, 2, "above the width");
	lanes_leave(ls, sid(10));
	expect_next(ls, 0, 0);
	lanes_leave(ls, sid(11));
	expect_next(ls, 0, 3);
	lanes_free(&ls);
}

Test(lane, entering_twice_says_where_it_stands)
{
	struct lanes *ls = lanes_new();
	uint64_t seq = 0;
	uint32_t pos = 9;

	enter(ls, "main", 0, 1, 0);
	enter(ls, "main", 0, 2, 0);
	cr_assert_eq(lanes_enter(ls, "main", 0, sid(2), 0, 0, &seq, &pos),
	    LANE_QUEUED);
	cr_assert_eq(seq, 2);
	cr_assert_eq(pos, 1);
	cr_assert_eq(lanes_enter(ls, "main", 0, sid(1), 0, 0, &seq, &pos),
	    LANE_ADMIT);
	cr_assert_eq(pos, 0);
	cr_assert_eq(lanes_restore_active(ls, "main", sid(2)), 0);
	cr_assert_eq(lanes_restore_active(ls, "main", sid(2)), 0);
	cr_assert_eq(view_of(ls, "main").active, 2);
	lanes_leave(ls, sid(2));
	lanes_leave(ls, sid(2));
	lanes_leave(ls, sid(77));
	cr_assert_eq(view_of(ls, "main").active, 1);
	cr_assert_null(lanes_check(ls));
	lanes_free(&ls);
}

Test(lane, bad_names_are_refused)
{
	struct lanes *ls = lanes_new();
	const char *longest = "012345678901234567890123456789012345678901234567"
			      "890";

	cr_assert_eq(lanes_configure(ls, "", 1, 1), -EINVAL);
	cr_assert_eq(lanes_configure(ls, "0123456789012345678901234567890123456"
			 "789012345678901", 1, 1), -EINVAL);
	cr_assert_eq(lanes_restore_active(ls, "", sid(1)), -EINVAL);
	cr_assert_eq(enter(ls, longest, 0, 1, 0), LANE_ADMIT);
	cr_assert_eq(view_of(ls, longest).active, 1);
	lanes_free(&ls);
}

/* Nanoseconds an entry for entries [from, to), of the quickest tenth. */
static double
time_enter(struct lanes *ls, uint64_t from, uint64_t to)
{
	uint64_t tenth = (to - from) / 10, best = UINT64_MAX;

	while (from < to) {
		uint64_t t = clock_cpu_ns(), end = from + tenth;

		for (; from < end; from++)
			enter(ls, "main", (int)(from % 3) - 1, from,
			    from / 10);
		t = clock_cpu_ns() - t;
		best = t < best ? t : best;
	}
	return (double)best / (double)tenth;
}

Test(lane, a_hundred_thousand_wait_at_a_flat_price)
{
	struct lanes *ls = lanes_new();
	double first, last;

	lanes_configure(ls, "main", 1, 200000);
	first = time_enter(ls, 1, 10001);
	time_enter(ls, 10001, 90001);
	last = time_enter(ls, 90001, 100001);
	cr_log_info("enter: %.0f ns the first, %.0f ns the last", first, last);
	/* a walk over them would be nineteen times as long */
	cr_expect_lt(last, 8 * first, "%.0f ns, then %.0f", first, last);
	cr_assert_null(lanes_check(ls), "%s", lanes_check(ls));
	for (uint64_t id = 1; id != 0;) {
		lanes_leave(ls, sid(id));
		id = lanes_next(ls, 0).v;
	}
	cr_assert_eq(view_of(ls, "main").queued, 0);
	cr_assert_null(lanes_check(ls));
	lanes_free(&ls);
}
