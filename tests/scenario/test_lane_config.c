/* SPDX-License-Identifier: MIT */
/* Lanes as psup.conf has them: groups and reservations, patterns, and what a
 * lane gives its sessions where a call does not say. */
#include "lib_scn.h"

#include <signal.h>
#include <string.h>

TestSuite(lane_config);

/* Still, after all that the server had to do. */
static bool
is_queued(const char *id)
{
	const psup_value *rows;

	ask("exec", STR("command", "true"));
	rows = psup_value_get(details(ask("list")), "sessions");
	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			return psup_get_is(psup_value_at(rows, i), "state",
			    "queued");
	return false;
}

SCENARIO(lane_config, nobody_borrows_what_another_reserves)
{
	const char *a, *b, *c, *d;

	psupd(.conf = "[group \"g\"]\nwidth = 3\n"
	              "[lane \"a\"]\nwidth = 3\ngroup = g\n"
	              "[lane \"b\"]\nwidth = 3\ngroup = g\nreserve = 1\n");
	a = holder("a", "one");
	b = holder("a", "one");
	c = holder("a", "one");
	await_output(a, "up\n");
	await_output(b, "up\n");
	expect(is_queued(c), "it borrowed the reserved place");
	d = holder("b", "two");
	await_output(d, "up\n");
	expect(is_queued(c), "the group's width");
	/* less reserved, live */
	write_conf("[group \"g\"]\nwidth = 4\n"
	           "[lane \"a\"]\nwidth = 3\ngroup = g\n"
	           "[lane \"b\"]\nwidth = 3\ngroup = g\nreserve = 1\n");
	kill_now(keeper_pid(), SIGHUP);
	await_output(c, "up\n");
	open_gate("one");
	open_gate("two");
	await_end(d);
}

SCENARIO(lane_config, a_pattern_stands_for_many_lanes)
{
	const char *a, *b, *c;

	psupd(.conf = "[lane \"cron:*\"]\nwidth = 2\nqueue = 1\n"
	              "[lane \"*\"]\nlimits.openFiles = 99\n");
	/* none is no lane */
	expect(strcmp(text_of(ask("exec", STR("command", "ulimit -n")),
	                  "aggregated"), "99\n") != 0);
	expect_str(ask("exec", STR("command", "ulimit -n"), STR("lane", "x")),
	    "aggregated", "99\n");
	a = holder("cron:a", "gate");
	b = holder("cron:a", "gate");
	await_output(a, "up\n");
	await_output(b, "up\n");
	c = holder("cron:a", "gate");
	expect_refused_for(ask("exec", STR("command", "true"),
	                       STR("lane", "cron:a")),
	    "queue-full", "lane");
	await_output(holder("cron:b", "gate"), "up\n");
	open_gate("gate");
	expect(psup_get_is(await_end(c), "status", "completed"));
}

SCENARIO(lane_config, a_lane_has_limits_and_a_priority)
{
	const char *low, *normal;
	struct answer *a;

	psupd(.conf = "[lane \"small\"]\nlimits.openFiles = 64\n"
	              "limits.cpuSeconds = 1000\npriority = -1\n");
	a = ask("exec", STR("command", "ulimit -n; ulimit -t"),
	    STR("lane", "small"));
	expect_str(a, "aggregated", "64\n1000\n");
	a = ask("exec", STR("command", "ulimit -n; ulimit -t"),
	    STR("lane", "small"), ONE("limits", "openFiles", 128));
	expect_str(a, "aggregated", "128\n1000\n");
	a = ask("exec", STR("command", "ulimit -t"));
	expect_str(a, "aggregated", "unlimited\n");
	await_output(holder("small", "gate"), "up\n");
	low = holder("small", "gate");
	normal = id_of(ask("exec", STR("command", "true"),
	    STR("lane", "small"), INT("priority", 0), YES("background")));
	open_gate("gate");
	expect(psup_get_int(await_end(normal), "startedAt", 0) <=
	    psup_get_int(await_end(low), "startedAt", -1));
}

SCENARIO(lane_config, all_have_limits)
{
	static const char show[] = "ulimit -n; ulimit -t";

	psupd(.conf = "[limits]\nopenFiles = 80\ncpuSeconds = 900\n"
	              "[lane \"small\"]\nlimits.openFiles = 64\n");
	expect_str(ask("exec", STR("command", show)), "aggregated",
	    "80\n900\n");
	expect_str(ask("exec", STR("command", show), STR("lane", "small")),
	    "aggregated", "64\n900\n");
	expect_str(ask("exec", STR("command", show),
	               ONE("limits", "cpuSeconds", 1000)),
	    "aggregated", "80\n1000\n");
}

SCENARIO(lane_config, a_wrong_group_is_refused_with_its_line)
{
	const char *a;

	psupd(.conf = "[lane \"wide\"]\nwidth = 2\n");
	a = holder("wide", "gate");
	await_output(a, "up\n");
	write_conf("[group \"g\"]\nwidth = 1\n[lane \"wide\"]\nwidth = 2\n"
	           "group = g\nreserve = 2\n");
	kill_now(keeper_pid(), SIGHUP);
	await_output(holder("wide", "gate"), "up\n"); /* as before */
	open_gate("gate");
}

SCENARIO(lane_config, control_characters_in_a_name_are_refused)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "true"), STR("lane", "a\033[2Jb"));
	expect_refused_for(a, "invalid-params", "lane");
	expect(strstr(a->message, "byte 2 is 0x1b") != NULL, "%s",
	    a->message);
	expect_refused_for(ask("exec", STR("command", "true"),
	                       STR("lane", "a\177")),
	    "invalid-params", "lane");
	expect_refused_for(ask("exec", STR("command", "true"),
	                       STR("lane", "\302\233")),
	    "invalid-params", "lane");
	expect_str(ask("exec", STR("command", "true"),
	               STR("lane", "session:\303\251t\303\251")),
	    "status", "completed");
}
