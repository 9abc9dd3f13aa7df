/* SPDX-License-Identifier: MIT */
/* What an operator sees of lanes and does to them; all of it survives the
 * master. */
#include "lib_scn.h"

#include <string.h>

TestSuite(lane_admin);

/* A lane's row, as an administrator sees it; NULL: not listed. */
static const psup_value *
lane_row(struct peer *p, const char *lane)
{
	const psup_value *rows = psup_value_get(details(ask_as(p, "lanes",
	                                            STR("lane", lane))),
	    "lanes");

	return psup_value_count(rows) == 1 ? psup_value_at(rows, 0) : NULL;
}

#define expect_lane(lane, key, want)                                       \
	expect(psup_get_int(lane_row(NULL, lane), key, -1) == (want),      \
	    "%s: %lld", key,                                               \
	    (long long)psup_get_int(lane_row(NULL, lane), key, -1))

static struct answer *
lane_op(const char *op, const char *lane)
{
	struct answer *a = ask("lanes", STR("op", op), STR("lane", lane));

	expect_ok(a);
	return a;
}

SCENARIO(lane_admin, pause_holds_everybody_back)
{
	const char *a, *b;

	psupd();
	lane_op("pause", "build");
	a = holder("build", "gate");
	b = holder("build", "gate");
	expect_lane("build", "active", 0);
	expect_lane("build", "queued", 2);
	expect(psup_get_is(lane_row(NULL, "build"), "blockedBy", "paused"));
	kill_master();
	expect(psup_get_bool(lane_row(NULL, "build"), "paused", false),
	    "the new master forgot");
	expect_lane("build", "queued", 2);
	lane_op("resume", "build");
	await_output(a, "up\n");
	expect_lane("build", "queued", 1);
	open_gate("gate");
	await_end(b);
	expect(lane_row(NULL, "build") == NULL, "idle, and not forgotten");
}

SCENARIO(lane_admin, a_width_is_set_live_and_stays)
{
	const char *a, *b, *c;

	psupd();
	a = holder("main", "gate");
	b = holder("main", "gate");
	c = holder("main", "gate");
	await_output(a, "up\n");
	expect_ok(ask("lanes", STR("op", "set-width"), STR("lane", "main"),
	    INT("width", 2)));
	await_output(b, "up\n");
	expect_lane("main", "width", 2);
	expect_lane("main", "configuredWidth", 1);
	kill_master();
	expect_lane("main", "width", 2);
	expect_lane("main", "active", 2);
	expect_ok(ask("lanes", STR("op", "set-width"), STR("lane", "main"),
	    NIL("width")));
	expect_lane("main", "width", 1);
	open_gate("gate");
	await_end(c);
}

SCENARIO(lane_admin, clear_rejects_who_waits)
{
	const char *a, *b;
	struct question *q;
	struct answer *ended;

	psupd();
	a = holder("main", "gate");
	await_output(a, "up\n");
	b = holder("main", "gate");
	q = ask_later(NULL, "exec", STR("command", "echo ran"),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_lane("main", "queued", 2);
	expect_int(lane_op("clear", "main"), "cleared", 2);
	ended = answer_of(q);
	expect_str(ended, "status", "failed");
	expect_str(ended, "exitReason", "lane-cleared");
	expect_str(ended, "failureKind", "lane-cleared");
	expect_text(ended, "lane \"main\" was cleared");
	expect(psup_get_is(await_end(b), "exitReason", "lane-cleared"));
	expect(psup_value_count(psup_value_get(details(ask("events")),
	           "events")) == 1, "the background one has its event");
	expect_lane("main", "active", 1);
	expect_lane("main", "queued", 0);
	open_gate("gate");
	expect(psup_get_is(await_end(a), "status", "completed"));
}

/* More than one turn ends: all are, and once, though who asked hears no end of it
 * or has gone away. */
SCENARIO(lane_admin, clear_rejects_a_crowd)
{
	const char *a, *last = NULL;
	struct peer *hasty;

	psupd();
	a = holder("main", "gate");
	await_output(a, "up\n");
	for (int i = 0; i < 100; i++)
		last = background(STR("command", "echo ran"),
		    STR("lane", "main"));
	expect_int(lane_op("clear", "main"), "cleared", 100);
	expect(psup_get_is(await_end(last), "exitReason", "lane-cleared"));
	for (int i = 0; i < 100; i++)
		last = background(STR("command", "echo ran"),
		    STR("lane", "main"));
	hasty = peer(NULL);
	(void)ask_later(hasty, "lanes", STR("op", "reset"),
	    STR("lane", "main"));
	hang_up(hasty);
	expect(psup_get_is(await_end(last), "exitReason", "lane-cleared"));
	expect_lane("main", "queued", 0);
	expect_lane("main", "generation", 2);
	open_gate("gate");
	expect(psup_get_is(await_end(a), "status", "completed"));
}

/* One that has its place in the lane and waits for another bound. */
SCENARIO(lane_admin, clear_reaches_who_waits_behind_the_lane)
{
	const char *a, *b;

	psupd(.conf = "[server]\nmax_running = 1\n[lane \"wide\"]\nwidth = 4\n");
	a = holder("wide", "gate");
	await_output(a, "up\n");
	b = holder("wide", "gate");
	expect_int(lane_op("clear", "wide"), "cleared", 1);
	expect(psup_get_is(await_end(b), "exitReason", "lane-cleared"));
	expect_lane("wide", "active", 1);
	open_gate("gate");
	expect(psup_get_is(await_end(a), "status", "completed"));
}

SCENARIO(lane_admin, reset_makes_a_wedged_lane_usable)
{
	const char *stuck, *next, *after;

	psupd(.conf = "[exec]\ngrace_ms = 100\n");
	stuck = background(PUPPET("print up; hang"), STR("lane", "main"));
	await_output(stuck, "up\n");
	holder("main", "gate");
	expect_int(lane_op("reset", "main"), "cleared", 1);
	expect_lane("main", "generation", 2);
	/* drained of all who hold a place; that one still runs is said */
	expect_text(ask("lanes", STR("op", "drain"), STR("lane", "main")),
	    "1 of older generations still run");
	expect_ok(lane_op("resume", "main"));
	next = holder("main", "gate");
	await_output(next, "up\n");
	after = holder("main", "gate");
	expect_lane("main", "active", 1);
	expect_lane("main", "older", 1);
	kill_master();
	expect_lane("main", "generation", 2);
	expect_lane("main", "active", 1);
	expect_lane("main", "older", 1);
	/* the old one's end frees nothing: it held nothing */
	expect_ok(ask("kill", STR("sessionId", stuck)));
	expect_lane("main", "active", 1);
	expect_lane("main", "older", 0);
	expect_lane("main", "queued", 1);
	open_gate("gate");
	expect(psup_get_is(await_end(after), "status", "completed"));
}

SCENARIO(lane_admin, drain_refuses_and_waits_for_the_last)
{
	struct question *q;
	const char *a, *b;
	struct answer *late;

	psupd();
	a = holder("main", "gate");
	b = holder("main", "gate");
	await_output(a, "up\n");
	late = ask("lanes", STR("op", "drain"), STR("lane", "main"),
	    INT("timeout", 1));
	expect_flag(late, "drained", false);
	expect_text(late, "1 run, 1 wait");
	expect_refused_for(ask("exec", STR("command", "true"),
	                       STR("lane", "main")),
	    "lane-draining", "lane");
	kill_master();
	expect_refused_for(ask("exec", STR("command", "true"),
	                       STR("lane", "main")),
	    "lane-draining", "lane");
	q = ask_later(NULL, "lanes", STR("op", "drain"), STR("lane", "main"));
	expect_lane("main", "queued", 1);
	expect(!is_answered(q));
	open_gate("gate");
	expect_flag(answer_of(q), "drained", true);
	expect(psup_get_is(await_end(b), "status", "completed"));
	expect_flag(lane_op("drain", "main"), "drained", true);
	lane_op("resume", "main");
	expect_str(ask("exec", STR("command", "true"), STR("lane", "main")),
	    "status", "completed");
}

/* A drain whose client is gone is nobody's any more. */
SCENARIO(lane_admin, a_drain_dies_with_its_client)
{
	struct question *q;
	struct peer *gone;
	const char *a;

	psupd();
	a = holder("main", "gate");
	gone = peer(NULL);
	ask_later(gone, "lanes", STR("op", "drain"), STR("lane", "main"));
	ask_as(gone, "list");
	hang_up(gone);
	q = ask_later(NULL, "lanes", STR("op", "drain"), STR("lane", "main"));
	give_up(q);
	answer_of(q);
	open_gate("gate");
	await_end(a);
	expect_flag(lane_op("drain", "main"), "drained", true);
}

SCENARIO(lane_admin, the_list_names_who_blocks)
{
	const psup_value *row, *who;
	struct answer *a;
	const char *id;

	psupd();
	id = background(PUPPET("print up; hang"), STR("lane", "main"),
	    STR("scope", "alpha"), STR("sessionKey", "chat 7"));
	await_output(id, "up\n");
	holder("main", "gate");
	row = lane_row(NULL, "main");
	expect(psup_get_is(row, "blockedBy", "width"));
	expect(psup_value_count(psup_value_get(row, "blockers")) == 1);
	who = psup_value_at(psup_value_get(row, "blockers"), 0);
	expect(psup_get_is(who, "sessionId", id) &&
	    psup_get_is(who, "scopeKey", "alpha") &&
	    psup_get_is(who, "sessionKey", "chat 7") &&
	    psup_get_is(who, "state", "running") &&
	    psup_get_int(who, "ageMs", -1) >= 0);
	a = ask("lanes");
	expect_text(a, "main 1/1, 1 waiting: full, ");
	expect_text(a, id);
	expect_text(a, "scope alpha, session key chat 7");
	expect_text(a, "subagent 0/8, 0 waiting");
}

SCENARIO(lane_admin, a_scope_sees_its_own_lanes_and_operates_none)
{
	const psup_value *rows, *who;
	struct peer *beta;
	const char *id;

	psupd();
	beta = peer("beta");
	id = background(PUPPET("print up; hang"), STR("lane", "main"),
	    STR("scope", "alpha"));
	await_output(id, "up\n");
	background(PUPPET("hang"), STR("lane", "session:alpha"),
	    STR("scope", "alpha"));
	expect(psup_value_count(psup_value_get(details(ask_as(beta, "lanes")),
	           "lanes")) == 0, "it uses none");
	expect(lane_row(beta, "main") == NULL);
	ask_as(beta, "exec", PUPPET("hang"), STR("lane", "main"),
	    YES("background"));
	rows = psup_value_get(details(ask_as(beta, "lanes")), "lanes");
	expect(psup_value_count(rows) == 1);
	who = psup_value_at(
	    psup_value_get(psup_value_at(rows, 0), "blockers"), 0);
	expect(psup_value_get(who, "sessionId") == NULL &&
	    psup_value_get(who, "scopeKey") == NULL &&
	    psup_get_int(who, "ageMs", -1) >= 0);
	expect(strstr(words_of(ask_as(beta, "lanes")),
	           "a session of another scope") != NULL);
	for (size_t i = 0; i < 6; i++) {
		static const char *const ops[] = {"set-width", "pause",
		    "resume", "clear", "reset", "drain"};

		expect_refused_for(ask_as(beta, "lanes", STR("op", ops[i]),
		                       STR("lane", "session:beta")),
		    "forbidden", "op");
	}
	expect_lane("main", "queued", 1);
}

SCENARIO(lane_admin, wrong_requests_are_refused_by_field)
{
	psupd();
	expect_refused_for(ask("lanes", STR("op", "explode")),
	    "invalid-params", "op");
	expect_refused_for(ask("lanes", STR("op", "pause")), "invalid-params",
	    "lane");
	expect_refused_for(ask("lanes", STR("op", "set-width"),
	                       STR("lane", "main")),
	    "invalid-params", "width");
	expect_refused_for(ask("lanes", STR("op", "set-width"),
	                       STR("lane", "main"), INT("width", 100001)),
	    "invalid-params", "width");
	expect_refused_for(ask("lanes", STR("op", "pause"),
	                       STR("lane", "a\nb")),
	    "invalid-params", "lane");
	expect_int(lane_op("clear", "nobody:here"), "cleared", 0);
	expect_int(lane_op("reset", "nobody:here"), "cleared", 0);
	expect(lane_row(NULL, "nobody:here") == NULL);
}

SCENARIO(lane_admin, the_command_line_does_it)
{
	const char *a;
	psup_view *v;
	struct psup_view_lane lane;
	const char *line;
	char why[200];
	size_t at = 0;
	bool seen = false;

	psupd();
	a = holder("main", "gate");
	await_output(a, "up\n");
	expect(strstr(cli("lanes")->out, "main 1/1, 0 waiting\n") != NULL);
	expect_exit(cli("lanes", "pause", "main"), 0);
	expect(strstr(cli("lanes", "list", "main")->out, "[paused]") != NULL);
	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0);
	while (psup_view_next_lane(v, &at, &lane))
		if (strcmp(lane.name, "main") == 0)
			seen = lane.paused && !lane.draining &&
			    lane.active == 1 && lane.width == 1;
	psup_view_close(&v);
	expect(seen, "the board");
	expect_exit(cli("lanes", "set-width", "main", "5"), 0);
	expect_exit(cli("lanes", "set-width", "main", "default"), 0);
	expect_exit(cli("lanes", "drain", "main", "--timeout", "1"), 124);
	expect_exit(cli("lanes", "clear", "main"), 0);
	expect_exit(cli("lanes", "reset", "main"), 0);
	expect(strstr(cli("lanes", "--json")->out, "\"generation\":2") !=
	    NULL);
	expect(strstr(cli("status", "--verbose")->out, "generation 2") != NULL);
	expect_exit(cli("lanes", "resume", "main"), 0);
	expect_exit(cli("lanes", "drain"), 2);
	expect_exit(cli("lanes", "set-width", "main", "many"), 2);
	expect_exit(cli("lanes", "frobnicate"), 2);
	/* and so does a line of psup tool */
	line = "{\"tool\":\"process\",\"action\":\"lanes\","
	       "\"op\":\"pause\",\"lane\":\"main\"}\n";
	expect(strstr(cli_fed(line, strlen(line), "tool")->out,
	           "\"paused\":true") != NULL);
	open_gate("gate");
}
