/* SPDX-License-Identifier: MIT */
/* Lanes as far as exec shows them: who runs, who waits and at which place,
 * and what makes room. Fairness proper is tests/sim/'s. */
#include "lib_scn.h"

#include <signal.h>

TestSuite(lanes);

/* Its row as list has it. */
static const psup_value *
row_of(const char *id)
{
	const psup_value *rows =
	    psup_value_get(details(ask("list")), "sessions");

	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			return psup_value_at(rows, i);
	expect(false, "%s is not listed", id);
	return NULL;
}

#define expect_place(id, place)                                          \
	expect(psup_get_is(row_of(id), "state", "queued") &&             \
	        psup_get_is(row_of(id), "status", "running") &&          \
	        psup_get_int(row_of(id), "queuePosition", -1) == (place), \
	    "%s", id)

SCENARIO(lanes, main_runs_one_after_the_other)
{
	const char *first, *second, *third, *urgent;
	struct answer *a;

	psupd();
	first = holder("main", "one");
	await_output(first, "up\n");
	a = ask("exec", STR("command", "true"), STR("lane", "main"),
	    YES("background"));
	expect_str(a, "status", "running");
	expect_str(a, "state", "queued");
	expect_int(a, "queuePosition", 1);
	expect_absent(a, "pid");
	second = id_of(a);
	third = holder("main", "three");
	expect_place(third, 2);
	urgent = id_of(ask("exec", STR("command", "true"),
	    STR("lane", "main"), INT("priority", 1), YES("background")));
	expect_place(urgent, 1);
	expect_place(second, 2);
	expect_place(third, 3);
	open_gate("one");
	await_output(third, "up\n");
	expect(psup_get_int(await_end(urgent), "startedAt", 0) <=
	    psup_get_int(await_end(second), "startedAt", -1));
	open_gate("three");
	expect(psup_get_is(await_end(third), "status", "completed"));
}

/* Whatever ends a session frees its place. */
SCENARIO(lanes, every_end_makes_room)
{
	static const char *const methods[] = {"kill", "remove"};
	const char *id, *next;
	struct question *q;
	struct peer *gone;

	psupd(.conf = "[exec]\ngrace_ms = 100\n");
#define LANE STR("lane", "main")
	ask("exec", STR("command", "exit 3"), LANE);
	ask("exec", STR("command", "kill -9 $$"), LANE);
	ask("exec", PUPPET("hang"), LANE, NUM("timeout", 0.1));
	ask("exec", PUPPET("hang"), LANE, NUM("noOutputTimeout", 0.1));
	ask("exec", LIST("argv", "/no/such/program"), LANE);
	for (size_t i = 0; i < 2; i++) {
		id = background(PUPPET("hang"), LANE);
		next = background(PUPPET("hang"), LANE);
		expect_ok(ask(methods[i], STR("sessionId", next)));
		expect_ok(ask(methods[i], STR("sessionId", id)));
	}
	q = ask_later(NULL, "exec", PUPPET("hang"), LANE, NIL("yieldMs"));
	give_up(q);
	answer_of(q);
	gone = peer(NULL);
	ask_later(gone, "exec", PUPPET("hang"), LANE, NIL("yieldMs"));
	ask_as(gone, "list"); /* it has arrived */
	hang_up(gone);
	expect_str(ask("exec", STR("command", "true"), LANE), "status",
	    "completed");
#undef LANE
}

SCENARIO(lanes, have_the_width_of_the_configuration)
{
	const char *a, *b, *c;

	psupd(.conf = "[lane \"wide\"]\nwidth = 2\n");
	a = holder("wide", "gate");
	b = holder("wide", "gate");
	c = holder("wide", "gate");
	await_output(a, "up\n");
	await_output(b, "up\n");
	expect_place(c, 1);
	write_conf("[lane \"wide\"]\nwidth = 3\n");
	kill_now(keeper_pid(), SIGHUP);
	await_output(c, "up\n");
	open_gate("gate");
	await_end(a);
	await_end(b);
	await_end(c);
}

SCENARIO(lanes, keep_their_queue_over_a_new_master)
{
	const char *a, *b, *c;

	psupd();
	a = holder("main", "gate");
	await_output(a, "up\n");
	b = holder("main", "gate");
	c = holder("main", "gate");
	kill_master();
	expect_place(b, 1);
	expect_place(c, 2);
	open_gate("gate");
	expect(psup_get_is(await_end(c), "status", "completed"));
}
