/* SPDX-License-Identifier: MIT */
/* Warnings about a wait: once, and about who really holds it up. */
#include "lib_scn.h"

#include <signal.h>
#include <string.h>

TestSuite(lane_wait);

#define SOON "[server]\nlane_warn_ms = 30\n"

/* A connection that hears of every wait from now on. */
static struct peer *
listener(const char *scope)
{
	struct peer *p = peer(scope);

	listen_to_kinds(p, "waits", "lane-wait");
	return p;
}

SCENARIO(lane_wait, a_warning_names_who_blocks)
{
	const psup_value *wait, *who;
	const char *held, *id;
	struct peer *p;

	psupd(.conf = SOON);
	p = listener(NULL);
	held = background(PUPPET("print up; hang"), STR("lane", "main"),
	    STR("sessionKey", "chat 7"));
	await_output(held, "up\n");
	id = holder("main", "gate");
	await_events(p, 1);
	expect(strcmp(event_at(p, 0)->id, id) == 0 &&
	    strcmp(event_at(p, 0)->kind, "lane-wait") == 0);
	expect(strstr(event_at(p, 0)->text, "in lane main, place 1") != NULL &&
	        strstr(event_at(p, 0)->text, held) != NULL &&
	        strstr(event_at(p, 0)->text, "session key chat 7") != NULL,
	    "%s", event_at(p, 0)->text);
	wait = psup_value_get(newest_wait(p), "wait");
	expect(psup_get_is(wait, "lane", "main") &&
	    psup_get_is(wait, "blockedBy", "width") &&
	    psup_get_int(wait, "waitedMs", 0) >= 30 &&
	    psup_get_int(wait, "queuePosition", 0) == 1 &&
	    psup_get_int(wait, "width", 0) == 1);
	who = psup_value_at(psup_value_get(wait, "blockers"), 0);
	expect(psup_get_is(who, "sessionId", held) &&
	    psup_get_is(who, "sessionKey", "chat 7") &&
	    psup_get_int(who, "ageMs", -1) >= 0);
}

SCENARIO(lane_wait, one_warning_for_each_wait)
{
	const char *first, *second;
	struct peer *p;

	psupd(.conf = SOON);
	p = listener(NULL);
	holder("main", "gate");
	first = holder("main", "gate");
	await_events(p, 1);
	kill_master();
	p = listener(NULL);
	second = holder("main", "gate");
	await_events(p, 2); /* the log's first, and the new one's */
	expect(strcmp(event_at(p, 0)->id, first) == 0);
	expect(strcmp(event_at(p, 1)->id, second) == 0, "told twice: %s",
	    event_at(p, 1)->id);
	open_gate("gate");
	await_end(second);
}

SCENARIO(lane_wait, another_scope_is_not_named)
{
	struct peer *beta;
	const char *held;

	psupd(.conf = SOON);
	beta = listener("beta");
	held = background(PUPPET("print up; hang"), STR("lane", "main"),
	    STR("scope", "alpha"), STR("sessionKey", "secret"));
	await_output(held, "up\n");
	ask_as(beta, "exec", STR("command", "true"), STR("lane", "main"),
	    YES("background"));
	await_events(beta, 1);
	expect(strstr(event_at(beta, 0)->text, held) == NULL &&
	        strstr(event_at(beta, 0)->text, "secret") == NULL &&
	        strstr(event_at(beta, 0)->text,
	            "a session of another scope (running") != NULL,
	    "%s", event_at(beta, 0)->text);
	expect(psup_value_get(psup_value_at(psup_value_get(psup_value_get(
	                          newest_wait(beta), "wait"), "blockers"), 0),
	           "sessionId") == NULL);
}

SCENARIO(lane_wait, pause_and_group_are_named)
{
	const char *held;
	struct peer *p;

	psupd(.conf = SOON "[group \"g\"]\nwidth = 1\n"
	                   "[lane \"a\"]\ngroup = g\n"
	                   "[lane \"b\"]\ngroup = g\n");
	p = listener(NULL);
	expect_ok(ask("lanes", STR("op", "pause"), STR("lane", "main")));
	holder("main", "gate");
	await_events(p, 1);
	expect(strstr(event_at(p, 0)->text, "paused by an operator") != NULL,
	    "%s", event_at(p, 0)->text);
	held = holder("a", "gate");
	await_output(held, "up\n");
	holder("b", "gate");
	await_events(p, 2);
	expect(strstr(event_at(p, 1)->text, "group g is full (1 of 1)") !=
	            NULL &&
	        strstr(event_at(p, 1)->text, held) != NULL,
	    "%s", event_at(p, 1)->text);
	expect(psup_get_is(psup_value_get(newest_wait(p), "wait"), "blockedBy",
	    "group"));
}

SCENARIO(lane_wait, the_length_is_configured_live)
{
	struct peer *p;
	const char *id;

	psupd(.conf = "[server]\nlane_warn_ms = 0\n");
	p = listener(NULL);
	holder("main", "gate");
	id = holder("main", "gate");
	write_conf("[server]\nlane_warn_ms = 1\n");
	kill_now(keeper_pid(), SIGHUP);
	await_events(p, 1);
	expect(strcmp(event_at(p, 0)->id, id) == 0);
}
