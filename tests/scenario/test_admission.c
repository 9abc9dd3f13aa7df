/* SPDX-License-Identifier: MIT */
/* How many sessions may run at once, how fast they start, and what memory
 * pressure does: refused or queued, never leaked. */
#include "lib_scn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(admission);

/* A number of status's "admission". */
static int64_t
admission(const char *key)
{
	return psup_get_int(psup_value_get(details(ask("status")),
				"admission"), key, -1);
}

/* What a session's row says. */
static const char *
row_text(const char *id, const char *key)
{
	const psup_value *rows = psup_value_get(details(ask("list",
						    YES("all"))), "sessions");
	char *ret = scn_alloc(80);

	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			psup_get_copy(psup_value_at(rows, i), key, ret, 80);
	return ret;
}

static void
await_state(const char *id, const char *state)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (strcmp(row_text(id, "state"), state) != 0) {
		expect(now_ms() < until, "%s is %s, not %s", id,
		    row_text(id, "state"), state);
		poll(NULL, 0, 2);
	}
}

static void
await_running(int64_t n)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (admission("running") != n) {
		expect(now_ms() < until, "%lld places taken",
		    (long long)admission("running"));
		poll(NULL, 0, 2);
	}
}

SCENARIO(admission, sessions_over_the_bound_wait_in_order)
{
	const char *id[4];
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 2\n");
	for (int i = 0; i < 2; i++)
		id[i] = background(PUPPET("hang"));
	a = ask("exec", PUPPET("hang"), YES("background"));
	id[2] = id_of(a);
	expect_str(a, "status", "running");
	expect_str(a, "state", "queued");
	expect_str(a, "queuedFor", "max-running");
	expect_int(a, "queuePosition", 1);
	expect_text(a, "for max-running");
	a = ask("exec", PUPPET("hang"), YES("background"));
	id[3] = id_of(a);
	expect_int(a, "queuePosition", 2);
	expect(admission("running") == 2 && admission("waiting") == 2);
	kill_master();
	expect(admission("running") == 2 && admission("waiting") == 2);
	expect(strcmp(row_text(id[2], "queuedFor"), "max-running") == 0);
	ask("kill", STR("sessionId", id[0]), INT("graceMs", 0));
	await_state(id[2], "running");
	await_state(id[3], "queued");
	/* one that waits is ended without ever having had a place */
	expect_ok(ask("kill", STR("sessionId", id[3])));
	ask("kill", STR("sessionId", id[1]), INT("graceMs", 0));
	ask("kill", STR("sessionId", id[2]), INT("graceMs", 0));
	await_running(0);
	expect(admission("waiting") == 0);
}

/* Its lane has let it through, and there is no place: so it is again after a
 * new master has put both together from the index. */
SCENARIO(admission, a_lane_and_a_bound_agree_after_a_restart)
{
	const char *id[4];
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 2\n");
	id[0] = background(PUPPET("hang"), STR("lane", "a"));
	id[1] = background(PUPPET("hang"), STR("lane", "b"));
	a = ask("exec", PUPPET("hang"), YES("background"), STR("lane", "c"));
	id[2] = id_of(a);
	expect_str(a, "queuedFor", "max-running");
	a = ask("exec", PUPPET("hang"), YES("background"), STR("lane", "c"));
	id[3] = id_of(a);
	expect_str(a, "queuedFor", "lane");
	kill_master();
	expect(admission("running") == 2 && admission("waiting") == 1);
	expect(strcmp(row_text(id[2], "queuedFor"), "max-running") == 0);
	expect(strcmp(row_text(id[3], "queuedFor"), "lane") == 0);
	ask("kill", STR("sessionId", id[0]), INT("graceMs", 0));
	await_state(id[2], "running");
	ask("kill", STR("sessionId", id[2]), INT("graceMs", 0));
	await_state(id[3], "running");
	expect(admission("running") == 2 && admission("waiting") == 0);
}

SCENARIO(admission, a_reload_lets_those_start_who_wait)
{
	const char *id;

	psupd(.conf = "[server]\nmax_running = 1\n");
	background(PUPPET("hang"));
	id = background(PUPPET("hang"));
	await_state(id, "queued");
	write_conf("[server]\nmax_running = 2\n");
	kill_now(keeper_pid(), SIGHUP);
	await_state(id, "running");
}

SCENARIO(admission, a_foreground_command_waits_for_its_place)
{
	struct question *q;
	const char *id;
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 1\n");
	id = background(PUPPET("hang"));
	q = ask_later(peer(NULL), "exec", STR("command", "echo through"),
	    NIL("yieldMs"));
	await_running(1);
	expect(!is_answered(q));
	a = ask("exec", PUPPET("hang"), INT("yieldMs", 10));
	expect_str(a, "queuedFor", "max-running");
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
	a = answer_of(q);
	expect_text(a, "through\n");
}

SCENARIO(admission, over_the_bound_may_be_refused)
{
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 1\nadmission = refuse\n");
	background(PUPPET("hang"));
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "overloaded", "server.max_running");
	expect(strstr(a->message, "1 sessions run, and 1 may") != NULL, "%s",
	    a->message);
	/* also through a lane, which is left as it was */
	a = ask("exec", STR("command", "true"), STR("lane", "x"));
	expect_refused(a, "overloaded");
	expect(admission("running") == 1 && admission("waiting") == 0);
	write_conf("[server]\nmax_running = 2\nadmission = refuse\n");
	kill_now(keeper_pid(), SIGHUP);
	for (int64_t until = now_ms() + SCN_DEADLINE_MS;
	     (a = ask("exec", STR("command", "echo in"), STR("lane", "x")))
		 ->status != PSUP_OK;)
		expect(now_ms() < until, "%s", a->message);
	expect_text(a, "in\n");
}

SCENARIO(admission, a_scope_has_a_bound_of_its_own)
{
	const char *first;
	struct peer *small, *big;
	struct answer *a;
	struct run *r;

	psupd(.conf = "[scope]\nmax_running = 1\n"
		      "[scope \"big\"]\nmax_running = 2\n");
	small = peer("small");
	big = peer("big");
	first = id_of(ask_as(small, "exec", PUPPET("hang"),
	    YES("background")));
	a = ask_as(small, "exec", PUPPET("hang"), YES("background"));
	expect_str(a, "queuedFor", "scope-max-running");
	expect_int(a, "queuePosition", 1);
	for (int i = 0; i < 2; i++)
		expect_absent(ask_as(big, "exec", PUPPET("hang"),
		    YES("background")), "queuedFor");
	expect_str(ask_as(big, "exec", PUPPET("hang"), YES("background")),
	    "queuedFor", "scope-max-running");
	/* who has no scope has no such bound */
	for (int i = 0; i < 3; i++)
		background(PUPPET("hang"));
	r = cli("status", "--verbose");
	expect(strstr(r->out, "\nadmission: maxRunning 0 running 6 waiting 2 "
			      "scopeMaxRunning 1 ") != NULL &&
	        strstr(r->out, "\nadmission.scopes: scope big maxRunning 2 "
			       "running 2 waiting 1\n") != NULL,
	    "%s", r->out);
	a = ask_as(small, "status");
	expect(psup_get_int(psup_value_get(details(a), "admission"),
	    "maxRunning", -1) == 1);
	expect(psup_get_int(psup_value_get(details(a), "admission"),
	    "waiting", -1) == 1);
	expect(admission("running") == 6);
	ask_as(small, "kill", STR("sessionId", first), INT("graceMs", 0));
	for (int64_t until = now_ms() + SCN_DEADLINE_MS;
	     admission("waiting") != 1;)
		expect(now_ms() < until);
	expect(admission("running") == 6);
}

SCENARIO(admission, starts_are_held_to_a_rate)
{
	int64_t begun;
	bool held = false;
	struct answer *a = NULL;

	psupd(.conf = "[server]\nspawn_rate = 10\nspawn_burst = 2\n");
	begun = now_ms();
	for (int i = 0; i < 7; i++) {
		a = ask("exec", STR("command", "true"), YES("background"));
		expect_ok(a);
		held = held || strcmp(text_of(a, "queuedFor"),
				   "spawn-rate") == 0;
	}
	expect(held, "nobody waited");
	await_end(id_of(a));
	/* two at once, five more at a tenth of a second each */
	expect(now_ms() - begun >= 490, "%lld ms",
	    (long long)(now_ms() - begun));
	expect(now_ms() - begun < 700 + busy_ms());
}

SCENARIO(admission, a_rate_may_refuse)
{
	struct answer *a;

	psupd(.conf = "[server]\nspawn_rate = 1\nadmission = refuse\n");
	expect_ok(ask("exec", STR("command", "true")));
	do { /* a slow machine earns another start on the way */
		a = ask("exec", STR("command", "true"));
	} while (a->status == PSUP_OK);
	expect_refused_for(a, "overloaded", "server.spawn_rate");
}

/* Writes what a kernel would say of memory. */
static void
write_pressure(const char *path, const char *avg10)
{
	char tmp[200], text[200];
	int fd, n;

	snprintf(tmp, sizeof(tmp), "%s.new", path);
	n = snprintf(text, sizeof(text),
	    "some avg10=%s avg60=0.00 avg300=0.00 total=1\n"
	    "full avg10=99.00 avg60=0.00 avg300=0.00 total=1\n", avg10);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect(fd >= 0 && write(fd, text, (size_t)n) == n);
	close(fd);
	expect(rename(tmp, path) == 0);
}

SCENARIO(admission, memory_pressure_holds_starts_back)
{
	const char *path = file_in_scenario("pressure");
	const char *running;
	struct answer *a;
	char env[300];

	snprintf(env, sizeof(env), "PSUP_PSI_PATH=%s", path);
	write_pressure(path, "9.99");
	psupd(.env = {env}, .conf = "[pressure]\nmemory_some_avg10 = 10\n");
	running = background(PUPPET("print up; hang"));
	await_output(running, "up\n");
	write_pressure(path, "10.00");
	for (int64_t until = now_ms() + SCN_DEADLINE_MS;;) {
		a = ask("exec", PUPPET("hang"), YES("background"));
		if (strcmp(text_of(a, "queuedFor"), "pressure") == 0)
			break;
		expect(now_ms() < until, "not held back");
	}
	expect(is_alive(pid_of(running)), "who runs goes on");
	kill_master();
	expect(strcmp(row_text(id_of(a), "queuedFor"), "pressure") == 0, "%s",
	    row_text(id_of(a), "queuedFor"));
	write_pressure(path, "0.50");
	await_state(id_of(a), "running");
	expect(admission("waiting") == 0);
}

SCENARIO(admission, memory_pressure_may_refuse)
{
	const char *path = file_in_scenario("pressure");
	struct answer *a;
	char env[300];

	snprintf(env, sizeof(env), "PSUP_PSI_PATH=%s", path);
	write_pressure(path, "80.25");
	psupd(.env = {env}, .conf = "[pressure]\nmemory_some_avg10 = 12.5\n"
				    "action = refuse\n");
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "overloaded", "pressure.memory_some_avg10");
	expect(strstr(a->message, "80.25 %") != NULL &&
	        strstr(a->message, "12.50 %") != NULL, "%s", a->message);
}

/* What cannot be had is said, not skipped. */
SCENARIO(admission, no_pressure_to_read_is_said)
{
	const psup_value *list;
	struct answer *a;
	bool said = false;

	psupd(.env = {"PSUP_PSI_PATH=/nowhere/pressure"},
	    .conf = "[pressure]\nmemory_some_avg10 = 1\naction = refuse\n");
	expect_ok(ask("exec", STR("command", "true")));
	a = ask("status");
	list = psup_value_get(details(a), "unavailable");
	for (size_t i = 0; i < psup_value_count(list); i++) {
		char reason[300];

		psup_get_copy(psup_value_at(list, i), "reason", reason,
		    sizeof(reason));
		said = said || (psup_get_is(psup_value_at(list, i), "feature",
				    "memory-pressure") &&
				   strstr(reason, "/nowhere/pressure: No such")
				       != NULL);
	}
	expect(said);
}

/* Every way for a session to end gives its place back. */
SCENARIO(admission, no_place_leaks_whatever_ends_a_session)
{
	const char *id, *lost;
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 3\n");
	ask("exec", STR("command", "exit 3"));
	ask("exec", LIST("argv", "/nonexistent/program"));
	ask("exec", STR("command", "kill -9 $$"));
	ask("exec", PUPPET("hang"), NUM("timeout", 0.05));
	ask("exec", PUPPET("hang"), NUM("noOutputTimeout", 0.05));
	ask("exec", STR("command", "true"), STR("lane", "l"));
	id = background(PUPPET("hang"));
	ask("remove", STR("sessionId", id));
	id = background(PUPPET("hang"), STR("scope", "s"), STR("lane", "l"));
	ask("killScope", STR("scope", "s"), INT("graceMs", 0));
	lost = background(PUPPET("print up; hang"));
	await_output(lost, "up\n");
	kill_worker_of(lost);
	id = background(PUPPET("hang"));
	kill_master();
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
	await_running(is_alive(pid_of(lost)) ? 1 : 0);
	ask("kill", STR("sessionId", lost), INT("graceMs", 0));
	await_running(0);
	expect(admission("waiting") == 0);
	/* and all three places are there */
	for (int i = 0; i < 3; i++)
		expect_absent(ask("exec", PUPPET("hang"), YES("background")),
		    "queuedFor");
	a = ask("exec", PUPPET("hang"), YES("background"));
	expect_str(a, "queuedFor", "max-running");
}

/* A thousand of one scope do not keep another waiting. */
SCENARIO(admission, scopes_take_turns)
{
	struct peer *crowd, *one;
	const char *id;
	struct answer *a;

	psupd(.conf = "[server]\nmax_running = 1\n");
	crowd = peer("crowd");
	one = peer("one");
	id = id_of(ask_as(crowd, "exec", PUPPET("hang"), YES("background")));
	for (int i = 0; i < 200; i++)
		ask_as(crowd, "exec", STR("command", "sleep 1"),
		    YES("background"));
	a = ask_as(one, "exec", STR("command", "echo mine"),
	    YES("background"));
	expect_int(a, "queuePosition", 1);
	ask_as(crowd, "kill", STR("sessionId", id), INT("graceMs", 0));
	await_end(id_of(a));
	expect(admission("waiting") > 100);
}

SCENARIO(admission, wrong_bounds_are_refused_with_their_place)
{
	static const struct {
		const char *conf, *said;
	} wrong[] = {
	    {"[server]\nadmission = perhaps\n", "expected queue or refuse"},
	    {"[server]\nmax_running = -1\n", "out of range"},
	    {"[server]\ngroup = no-such-group\n", "no group"},
	    {"[server]\ngroup = root\n", "no group"},
	    {"[pressure]\nmemory_some_avg10 = 101\n", "no percentage"},
	    {"[pressure]\nmemory_some_avg10 = 1.234\n", "no percentage"},
	    {"[pressure]\npath = psi\n", "no absolute path"},
	    {"[scope \"x\"]\nwidth = 1\n", "expected max_running"},
	    {"[scope \"x\"]\nmax_running = many\n", "no number"},
	    {"[scope \"\"]\nmax_running = 1\n", "no such section"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct run *r;

		write_conf(wrong[i].conf);
		r = scn_run(NULL, 0, (const char *const[]){"psupd", "--check",
					 NULL});
		expect(r->code != 0 && strstr(r->err, ":2: ") != NULL &&
		        strstr(r->err, wrong[i].said) != NULL,
		    "%s: %s", wrong[i].conf, r->err);
	}
}
