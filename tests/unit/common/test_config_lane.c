/* SPDX-License-Identifier: MIT */
/* Lanes, groups and reservations in psup.conf. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/check.h"
#include "lib_conf.h"

TestSuite(config_lane, .init = conf_init, .fini = conf_fini, .timeout = 20);

Test(config_lane, groups_and_reservations)
{
	cr_assert_eq(read_text("[group \"batch\"]\nwidth = 8\n"
	                       "[lane \"cron:*\"]\ngroup = batch\n"
	                       "[lane \"night\"]\nwidth = 3\nreserve = 2\n"
	                       "group = batch\nlimits.memoryBytes = 2097152\n"
	                       "limits.nice = -3\npriority = -1\n"),
	    0, "%s", why);
	cr_assert_eq(config.group_count, 1);
	cr_assert_str_eq(config.groups[0].name, "batch");
	cr_assert_eq(config.groups[0].width, 8);
	cr_assert_eq(config.lane_count, 4);
	cr_assert_str_eq(config.lanes[2].name, "cron:*");
	cr_assert_str_eq(config.lanes[2].group, "batch");
	cr_assert_eq(config.lanes[3].reserve, 2);
	cr_assert_eq(config.lanes[3].priority, -1);
	cr_assert_eq(config.lanes[3].limits.mask,
	    1u << CTL_LIMIT_MEMORY | 1u << CTL_LIMIT_NICE);
	cr_assert_eq(config.lanes[3].limits.value[CTL_LIMIT_NICE],
	    -3);
}

Test(config_lane, limits_of_all_sessions)
{
	cr_assert_eq(read_text("[limits]\nopenFiles = 64\nnice = 1\n"), 0,
	    "%s", why);
	cr_assert_eq(config.limits.mask,
	    1u << CTL_LIMIT_NOFILE | 1u << CTL_LIMIT_NICE);
	cr_assert_eq(config.limits.value[CTL_LIMIT_NOFILE], 64);
	cr_assert_eq(read_text("[limits]\nopenFiles = 3\n"), -EINVAL);
	cr_assert_not_null(strstr(why, ":2: limits.openFiles: \"3\" is no "
	                               "number from 8"), "%s", why);
	cr_assert_eq(config.start_ms, 10000);
	cr_assert_eq(read_text("[limits]\nnice = 1\nstart_ms = 100\n"), 0);
	cr_assert_eq(config.start_ms, 100);
	cr_assert_eq(read_text("[limits]\nstart_ms = 99\n"), -EINVAL);
	cr_assert_not_null(strstr(why, ":2: limits.start_ms: 99 is out of "
	                               "range; expected 100 to 600000"));
	cr_assert_eq(read_text("[lane \"a\"]\nlimits.start_ms = 100\n"),
	    -EINVAL);
	cr_assert_eq(read_text("[limits]\nmemory = 3\n"), -EINVAL);
	cr_assert_not_null(strstr(why, "no such limit; expected memoryBytes"));
}

Test(config_lane, the_longest_pattern_stands_for_a_name)
{
	cr_assert_eq(read_text("[lane \"a*\"]\nwidth = 2\n"
	                       "[lane \"ab*\"]\nwidth = 3\n"
	                       "[lane \"abc\"]\nwidth = 4\n"),
	    0, "%s", why);
	cr_assert_eq(config_lane_for(&config, "ax")->width, 2);
	cr_assert_eq(config_lane_for(&config, "abcd")->width, 3);
	cr_assert_eq(config_lane_for(&config, "ab")->width, 3);
	cr_assert_eq(config_lane_for(&config, "abc")->width, 4);
	cr_assert_null(config_lane_for(&config, "b"));
	cr_assert_eq(config_lane_for(&config, "subagent")->width, 8);
}

/* File, line and reason of what does not fit together. */
Test(config_lane, what_does_not_fit_is_refused_with_its_line)
{
	static const struct {
		const char *text, *where, *reason;
	} bad[] = {
		{ "[lane \"a\"]\ngroup = g\n", ":2: lane \"a\".group:",
		    "there is no group \"g\"" },
		{ "[lane \"a\"]\nreserve = 1\n", ":2: lane \"a\".reserve:",
		    "in no group" },
		{ "[group \"g\"]\nwidth = 9\n[lane \"a\"]\ngroup = g\n"
		  "width = 2\nreserve = 3\n",
		    ":6: lane \"a\".reserve:", "more than the lane's width, 2" },
		{ "[group \"g\"]\nwidth = 3\n"
		  "[lane \"a\"]\nwidth = 2\ngroup = g\nreserve = 2\n"
		  "[lane \"b\"]\nwidth = 2\ngroup = g\nreserve = 2\n",
		    ":10: lane \"b\".reserve:", "4 are reserved" },
		{ "[group \"g\"]\nwidth = 2\n"
		  "[lane \"a\"]\nwidth = 2\ngroup = g\nreserve = 2\n"
		  "[lane \"b\"]\ngroup = g\n",
		    ":8: lane \"b\".group:", "nothing is left for it" },
		{ "[group \"g\"]\nwidth = 2\n[lane \"a*\"]\ngroup = g\n"
		  "reserve = 1\n",
		    ":5: lane \"a*\".reserve:", "a pattern" },
		{ "[group \"g\"]\nheight = 2\n", ":2: group \"g\".height:",
		    "expected width" },
		{ "[group \"g\"]\nwidth = 0\n", ":2: group \"g\".width:",
		    "no number from 1" },
		{ "[group \"\"]\nwidth = 1\n", ":2:", "no such section" },
		{ "[lane \"a\"]\ngroup = a b\n", ":2:", "no group's name" },
		{ "[lane \"a\"]\nlimits.heat = 1\n", ":2:", "no such limit" },
		{ "[lane \"a\"]\nlimits.nice = 20\n", ":2:",
		    "no number from -20 to 19" },
		{ "[lane \"a\"]\npriority = 2\n", ":2:",
		    "no number from -1 to 1" },
	};

	for (size_t i = 0; i < NELEMS(bad); i++) {
		cr_expect_eq(read_text(bad[i].text), -EINVAL, "%s",
		    bad[i].text);
		cr_expect_not_null(strstr(why, bad[i].where), "%s", why);
		cr_expect_not_null(strstr(why, bad[i].reason), "%s", why);
		cr_expect_eq(config.group_count, 0, "it was taken in part");
	}
}
