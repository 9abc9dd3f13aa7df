/* SPDX-License-Identifier: MIT */
/* Who waits for a place under max_running is told who holds it up, and never
 * waits for those it was started from. */
#include "lib_scn.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

TestSuite(gate_wait);

/* The shell's words for `psup exec OPTIONS` with this server. */
static const char *
inner(const char *options)
{
	char *text = scn_alloc(2000);

	snprintf(text, 2000, "%s/psup --runtime-dir %s --no-start exec %s "
	                     "-- echo inner ran",
	    scn_bin_dir(), runtime_dir(), options);
	return text;
}

static void
expect_deadlock(const struct answer *a, const char *bound)
{
	const char *out = text_of(a, "aggregated");

	expect_str(a, "status", "completed");
	expect_int(a, "exitCode", 125);
	expect(strstr(out, "would wait for ever") != NULL, "%s", out);
	expect(strstr(out, bound) != NULL, "%s", out);
	expect(strstr(out, text_of(a, "sessionId")) != NULL, "%s", out);
	expect(strstr(out, "inner ran") == NULL);
}

SCENARIO(gate_wait, behind_its_own_parent)
{
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 1\n");
	a = ask("exec", STR("command", inner("")), NIL("yieldMs"));
	expect_deadlock(a, "server.max_running");
	a = ask("exec", STR("command", inner("--lane other")), NIL("yieldMs"));
	expect_deadlock(a, "server.max_running");
	/* in a scope that has nobody yet; it is told of no stranger */
	a = ask("exec", STR("command", inner("--scope t")), NIL("yieldMs"));
	expect_int(a, "exitCode", 125);
	expect(strstr(text_of(a, "aggregated"), "behind a session of another "
	                                        "scope") != NULL);
	/* and the place is free again */
	a = ask("exec", STR("command", "echo ran"), NIL("yieldMs"));
	expect_str(a, "aggregated", "ran\n");
}

SCENARIO(gate_wait, behind_its_own_parent_in_its_scope)
{
	char script[2100];
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 9\n[scope \"s\"]\n"
	              "max_running = 1\n");
	a = ask("exec", STR("command", inner("--scope s")), STR("scope", "s"),
	    NIL("yieldMs"));
	expect_deadlock(a, "scope.max_running");
	/* another scope has places of its own */
	snprintf(script, sizeof(script), "unset PSUP_SCOPE; %s",
	    inner("--scope t"));
	a = ask("exec", STR("command", script), STR("scope", "s"),
	    NIL("yieldMs"));
	expect_str(a, "aggregated", "inner ran\n");
}

/* A stranger's end lets it run: it waits, and whoever listens is told. */
SCENARIO(gate_wait, a_warning_names_who_has_the_place)
{
	const psup_value *wait, *who;
	const char *held, *id;
	struct answer *a;
	struct peer *p;

	psupd(.conf = "[server]\nmax_running = 1\nlane_warn_ms = 30\n");
	p = peer(NULL);
	listen_to_kinds(p, "waits", "lane-wait");
	held = background(PUPPET("hang"), STR("sessionKey", "chat 7"));
	a = ask("exec", STR("command", "echo ran"), YES("background"));
	id = id_of(a);
	await_events(p, 1);
	expect(strcmp(event_at(p, 0)->id, id) == 0 &&
	    strcmp(event_at(p, 0)->kind, "lane-wait") == 0);
	expect(strstr(event_at(p, 0)->text, "server.max_running") != NULL &&
	        strstr(event_at(p, 0)->text, held) != NULL &&
	        strstr(event_at(p, 0)->text, "session key chat 7") != NULL,
	    "%s", event_at(p, 0)->text);
	wait = psup_value_get(newest_wait(p), "wait");
	expect(psup_get_is(wait, "blockedBy", "max-running") &&
	    psup_get_int(wait, "waitedMs", 0) >= 30 &&
	    psup_get_int(wait, "queuePosition", 0) == 1 &&
	    psup_get_int(wait, "queued", 0) == 1 &&
	    psup_get_int(wait, "active", 0) == 1 &&
	    psup_get_int(wait, "width", 0) == 1);
	who = psup_value_at(psup_value_get(wait, "blockers"), 0);
	expect(psup_get_is(who, "sessionId", held) &&
	    psup_get_is(who, "sessionKey", "chat 7"));
	ask("kill", STR("sessionId", held), INT("graceMs", 0));
	await_end(id);
	expect(strstr(words_of(ask("log", STR("sessionId", id))), "ran") !=
	    NULL);
}

/* It waited behind a stranger; then the bound fell to what its own parent
 * holds. */
SCENARIO(gate_wait, where_the_bound_becomes_too_narrow)
{
	const char *id, *stranger;
	struct peer *p;

	psupd(.conf = "[server]\nmax_running = 2\nlane_warn_ms = 1\n");
	p = peer(NULL);
	listen_to_kinds(p, "waits", "lane-wait");
	stranger = background(PUPPET("hang"));
	id = background(STR("command", inner("")));
	await_events(p, 1); /* the inner one waits */
	write_conf("[server]\nmax_running = 1\nlane_warn_ms = 1\n");
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	ask("kill", STR("sessionId", stranger), INT("graceMs", 0));
	await_end(id);
	expect(strstr(words_of(ask("log", STR("sessionId", id))),
	           "held by what waits for it") != NULL, "%s",
	    words_of(ask("log", STR("sessionId", id))));
}
