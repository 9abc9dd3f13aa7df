/* SPDX-License-Identifier: MIT */
/* Many sessions at once: all listed, all polled to their last byte, every
 * exit event exactly once; and 50 of them while worker and master die. */
#include "lib_scn.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CROWD 200
#define FEW   50

TestSuite(crowd);

/* Starts n at once: all requests are under way before one is waited for. Each
 * says who it is, then does the rest. */
static void
start_all(int n, const char *rest, const char **ret_ids)
{
	static struct question *q[CROWD];

	for (int i = 0; i < n; i++) {
		char text[300];

		snprintf(text, sizeof(text), "print I am %d; %s", i, rest);
		q[i] = ask_later(NULL, "exec", PUPPET(text),
		    YES("background"));
	}
	for (int i = 0; i < n; i++)
		ret_ids[i] = id_of(answer_of(q[i]));
}

SCENARIO(crowd, two_hundred_at_once)
{
	static const char *ids[CROWD];
	static int seen[CROWD];
	const psup_value *rows;
	struct answer *a;
	struct peer *gateway;
	int64_t last = 0;

	psupd();
	gateway = peer(NULL);
	listen_to_events(gateway, "gateway");
	start_all(CROWD, "bytes 5000; print end", ids);
	a = ask("list");
	rows = psup_value_get(details(a), "sessions");
	expect(psup_value_count(rows) == CROWD, "%zu listed",
	    psup_value_count(rows));
	for (int i = 0; i < CROWD; i++) {
		struct output o = poll_to_the_end(ids[i], "r");
		char want[32];
		int len = snprintf(want, sizeof(want), "I am %d\n", i);

		expect_str(o.last, "status", "completed");
		expect(o.len == (size_t)len + 5004 &&
		        memcmp(o.bytes, want, (size_t)len) == 0 &&
		        memcmp(o.bytes + o.len - 4, "end\n", 4) == 0,
		    "session %d: %zu bytes", i, o.len);
	}
	expect(await_events(gateway, CROWD) == CROWD, "too many events");
	for (size_t k = 0; k < CROWD; k++) {
		const struct event *e = event_at(gateway, k);

		expect(e->seq > last, "out of order");
		last = e->seq;
		for (int i = 0; i < CROWD; i++)
			seen[i] += strcmp(e->id, ids[i]) == 0;
	}
	for (int i = 0; i < CROWD; i++)
		expect(seen[i] == 1, "%s: %d events", ids[i], seen[i]);
}

/* Every session answers list, and log with its first line. */
static void
expect_all_readable(const char **ids, int n)
{
	for (int i = 0; i < n; i++) {
		char want[32];
		struct answer *a = ask("log", STR("sessionId", ids[i]));

		snprintf(want, sizeof(want), "I am %d", i);
		expect_ok(a);
		expect_text(a, want);
	}
}

SCENARIO(crowd, a_killed_worker_takes_nobody_elses_sessions)
{
	static const char *ids[FEW];
	pid_t victim;
	int others = 0;

	psupd(.workers = 2);
	start_all(FEW, "hang", ids);
	for (int i = 0; i < FEW; i++)
		await_output(ids[i], "\n");
	victim = worker_of(ids[0]);
	kill_now(victim, SIGKILL);
	await_gone(victim);
	expect_all_readable(ids, FEW);
	for (int i = 0; i < FEW; i++) {
		expect(is_listed(NULL, ids[i]));
		if (worker_of(ids[i]) == victim)
			continue;
		others++;
		expect(is_alive(pid_of(ids[i])), "%s", ids[i]);
	}
	expect(others > 0, "one worker had them all");
	expect_str(ask("exec", STR("command", "echo new")), "status",
	    "completed");
}

SCENARIO(crowd, a_killed_master_comes_back_with_everything)
{
	static const char *ids[FEW];

	psupd(.workers = 2);
	start_all(FEW, "hang", ids);
	for (int i = 0; i < FEW; i++)
		await_output(ids[i], "\n");
	kill_master();
	expect_all_readable(ids, FEW);
	for (int i = 0; i < FEW; i++) {
		expect(is_listed(NULL, ids[i]));
		expect(is_alive(pid_of(ids[i])), "%s", ids[i]);
	}
	expect_str(ask("exec", STR("command", "echo new")), "status",
	    "completed");
	expect_ok(ask("kill", STR("sessionId", ids[7]), INT("graceMs", 0)));
	expect_str(ask("poll", STR("sessionId", ids[7])), "exitReason",
	    "manual-cancel");
}

SCENARIO(crowd, what_a_command_left_behind_outlives_master_and_worker)
{
	const char *id, *again;
	pid_t left;

	psupd(.workers = 1);
	id = background(STR("command", "sleep 1000 & echo $!"));
	await_end(id);
	left = atoi(text_of(ask("poll", STR("sessionId", id)), "output"));
	kill_master();
	/* A turn of everybody after the dump. */
	expect_str(ask("exec", STR("command", "echo new")), "status",
	    "completed");
	expect(is_alive(left), "killed by a new master");
	again = background(PUPPET("print up; hang"));
	await_output(again, "up\n");
	kill_worker_of(again);
	expect_str(ask("exec", STR("command", "echo new")), "status",
	    "completed");
	expect(is_alive(left), "killed by a new worker");
	expect_str(ask("poll", STR("sessionId", id)), "status", "completed");
	expect(psup_value_count(psup_value_get(details(ask("list", YES("all"))),
	           "sessions")) == 4);
	kill_now(left, SIGKILL);
	await_gone(left);
}

/* A file of the runtime directory that belongs to no session. */
static const char *
stray(const char *dir)
{
	char *path = scn_alloc(400);

	snprintf(path, 400, "%s/%s/00000000000fffff", runtime_dir(), dir);
	fclose(fopen(path, "we"));
	return path;
}

SCENARIO(crowd, a_new_master_clears_away_what_belongs_to_nobody)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const char *ring, *spool, *id;

	psupd();
	id = background(PUPPET("cat"));
	expect_ok(ask("write", STR("sessionId", id), STR("data", "x\n")));
	await_output(id, "x\n");
	ring = stray("rings");
	spool = stray("spool");
	kill_master();
	while (access(ring, F_OK) == 0 || access(spool, F_OK) == 0) {
		expect(now_ms() < until, "still there");
		poll(NULL, 0, 1);
	}
	/* What belongs to a session is still there. */
	expect_ok(ask("write", STR("sessionId", id), STR("data", "y\n"),
	    YES("eof")));
	expect_str(await_end(id) != NULL ? ask("log", STR("sessionId", id))
	                                 : NULL,
	    "status", "completed");
	expect_text(ask("log", STR("sessionId", id)), "x\ny");
}

SCENARIO(crowd, the_view_answers_while_the_master_is_down)
{
	struct psup_view_session s;
	struct psup_view_chunk chunk;
	psup_view *v;
	const char *id;
	char why[200], buf[64];
	size_t cursor = 0;
	pid_t master;
	ssize_t n;

	psupd();
	id = background(PUPPET("print seen; hang"));
	await_output(id, "seen\n");
	master = master_pid();
	kill_now(master, SIGSTOP);
	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0, "%s",
	    why);
	expect(psup_view_next_session(v, &cursor, &s) == 1);
	expect(strcmp(s.id, id) == 0 && strcmp(s.state, "running") == 0);
	n = psup_view_read_output(v, s.instance, 0, buf, sizeof(buf), &chunk);
	expect(n == 5 && memcmp(buf, "seen\n", 5) == 0);
	psup_view_close(&v);
	kill_now(master, SIGCONT);
	expect_ok(ask("list"));
}

/* Once its worker has it: what the budget counts. */
static int64_t
used_bytes(void)
{
	int64_t now = 0, until = now_ms() + SCN_DEADLINE_MS;

	while (now < 150000 && now_ms() < until)
		now = psup_get_int(psup_value_get(psup_reply_value(
		    ask("status")->reply), "output"), "usedBytes", -1);
	return now;
}

/* What the dead had counted is not counted again by who took it over. */
SCENARIO(crowd, killed_workers_leave_no_bytes_in_the_budget)
{
	const char *id;
	int64_t used, now;

	psupd();
	id = background(PUPPET("bytes 150000; print end; hang"));
	await_output(id, "end");
	used = used_bytes();
	for (int i = 0; i < 5; i++) {
		kill_worker_of(id);
		now = used_bytes();
		expect(now >= 150000 && now <= used + 65536, "%lld, not %lld",
		    (long long)now, (long long)used);
	}
}

/* Nobody runs, so nobody's end is waited for; who is stopped then, worker or
 * master, is found out all the same. */
SCENARIO(crowd, who_is_stopped_while_nothing_runs_is_replaced)
{
	const char *id;
	pid_t master, worker;
	struct answer *a;

	psupd(.workers = 1);
	id = background(STR("command", "sleep 1000"));
	worker = worker_of(id);
	master = master_pid();
	expect_ok(ask("remove", STR("sessionId", id)));
	kill_now(worker, SIGSTOP);
	a = ask("exec", STR("command", "echo on"));
	expect_str(a, "aggregated", "on\n");
	await_gone(worker);
	kill_now(master, SIGSTOP);
	await_gone(master);
	a = ask_as(peer(NULL), "exec", STR("command", "echo on"));
	expect_str(a, "aggregated", "on\n");
	kill_master(); /* the first connection broke with the first master */
}

#ifdef PSUP_FAULTS

/* It ended, was told, was forgotten; its worker stopped before it had the
 * keeper close it. Neither the next master nor the next worker brings it
 * back. */
SCENARIO(crowd, a_forgotten_session_does_not_come_back)
{
	const char *id;
	struct answer *a;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=end.after-send=stop"});
	id = background(PUPPET("print hi"));
	await_end(id);
	expect_ok(ask("clear", STR("sessionId", id)));
	kill_master();
	a = ask("list", YES("all"));
	expect(psup_value_count(psup_value_get(
	           psup_reply_details(a->reply), "sessions")) == 0);
	id = background(STR("command", "sleep 1000"));
	expect_ok(ask("remove", STR("sessionId", id)));
}

/* A session whose every byte crashes its worker: after three of them it is
 * ended and said, and the others go on. */
SCENARIO(crowd, who_crashes_three_workers_is_ended)
{
	const char *id, *quiet;
	struct answer *a;
	const psup_value *row;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=pump.after-splice=abort"});
	quiet = background(STR("command", "sleep 1000"));
	id = background(STR("command",
	    "while echo hi; do sleep 0.05; done"));
	row = await_end(id);
	expect(psup_get_is(row, "exitReason", "lost"));
	a = ask("poll", STR("sessionId", id));
	expect_flag(a, "quarantined", true);
	expect_str(a, "status", "failed");
	row = await_end(id);
	a = ask("poll", STR("sessionId", quiet));
	expect_str(a, "status", "running");
	expect_ok(ask("kill", STR("sessionId", quiet), INT("graceMs", 0)));
}

/* It runs, but its worker has not said so when the master dies. A kill that comes
 * before it does is a kill of what runs, and how that ended is known. */
SCENARIO(crowd, a_kill_before_the_worker_has_spoken_kills_what_runs)
{
	const char *first, *ran = file_in_scenario("ran");
	char script[300], id[64];
	const psup_value *row;
	struct question *q;
	pid_t worker;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=spawn.after-pid=stop@2"});
	first = background(STR("command", "sleep 1000"));
	worker = worker_of(first);
	expect_ok(ask("remove", STR("sessionId", first)));
	snprintf(script, sizeof(script), "echo ran >%s; sleep 1000", ran);
	(void)ask_later(peer(NULL), "exec", STR("command", script),
	    YES("background"));
	await_file(ran);
	kill_master();
	psup_get_copy(psup_value_at(psup_value_get(details(ask("list",
	    YES("all"))), "sessions"), 0), "sessionId", id, sizeof(id));
	q = ask_later(peer(NULL), "kill", STR("sessionId", id),
	    INT("graceMs", 0));
	expect_ok(ask("status"));
	kill_now(worker, SIGCONT);
	expect_ok(answer_of(q));
	row = await_end(id);
	expect(psup_get_is(row, "exitSignal", "SIGKILL"));
	expect(psup_get_is(row, "exitReason", "manual-cancel"));
}

#endif
