/* SPDX-License-Identifier: MIT */
/*
 * The n-th allocation of a request fails, n counting up until the request
 * needs no more, for every method of the protocol: it is answered, the process
 * lives, nothing leaks, the next one works. Then the same of the worker, and
 * what the keeper allocates once it runs: nothing. Needs the C library's own
 * allocator, so not with a sanitizer's.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib_inner.h"
#include "lib_sweep.h"

#ifdef __SANITIZE_ADDRESS__
#define needs_malloc() skip_scenario("the sanitizer has an allocator of its own")
#else
#define needs_malloc() (void)0
#endif

TestSuite(memory);

SCENARIO(memory, every_request_survives_every_failure)
{
	needs_malloc();
	sweep_begin();
	sweep_requests(master_pid(), FAIL_MALLOC, ENOMEM);
}

SCENARIO(memory, every_exec_survives_every_failure)
{
	needs_malloc();
	sweep_begin();
	sweep_execs(master_pid(), FAIL_MALLOC, ENOMEM);
}

/* A connection's beginning: accept, hello, subscribe. False: nothing of it
 * failed. */
static bool
newcomer(pid_t pid, int n)
{
	uint64_t before = failed(pid, FAIL_MALLOC);
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_args *args = psup_args_new();
	psup_reply *reply = NULL;
	psup *p;

	o.runtime_dir = runtime_dir();
	o.scope = "newcomers";
	expect(args != NULL && psup_new(&p) == PSUP_OK);
	fail(pid, FAIL_MALLOC, n, 1, ENOMEM);
	if (psup_connect(p, &o) == PSUP_OK)
		(void)psup_call(p, "subscribe", args, SCN_DEADLINE_MS,
		    &reply);
	fail_none(pid, FAIL_MALLOC);
	psup_reply_free(&reply);
	psup_args_free(&args);
	psup_free(&p);
	expect(is_alive(pid), "failure %d ended it", n);
	return failed(pid, FAIL_MALLOC) != before;
}

SCENARIO(memory, every_newcomer_survives_every_failure)
{
	int64_t live;
	pid_t pid;
	int n, rounds = 0;

	needs_malloc();
	failing_psupd(.workers = 1);
	pid = master_pid();
	do { /* what one round made room for, the next one finds */
		expect(rounds++ < 5, "newcomers leak");
		live = live_when_idle(pid);
		for (n = 0; newcomer(pid, n); n++)
			expect(n < SWEEP_MOST);
		expect(n > 5, "%d allocations", n);
	} while (rounds == 1 || grows(pid, live));
	/* the last method: it is refused until it has its memory */
	for (n = 0; is_alive(pid); n++) {
		struct answer *a;

		fail(pid, FAIL_MALLOC, n, 1, ENOMEM);
		a = ask("shutdown", INT("graceMs", 0));
		fail_none(pid, FAIL_MALLOC);
		if (a->status == PSUP_OK)
			break;
		expect(a->code[0] != '\0' && n < SWEEP_MOST);
	}
	await_gone(keeper_pid());
	server_is_gone();
}

/* An event finds its subscriber, once, whatever fails while it is made and
 * told. */
SCENARIO(memory, every_event_survives_every_failure)
{
	struct peer *gateway;
	int n, missed = 0;
	pid_t pid;

	needs_malloc();
	failing_psupd(.workers = 1);
	pid = master_pid();
	gateway = peer(NULL);
	listen_to_events(gateway, "gateway");
	for (n = 0; missed < 3; n++) {
		uint64_t before = failed(pid, FAIL_MALLOC);
		const char *id = background(LIST("argv", "/bin/cat"),
		    YES("notifyOnExit"));

		expect(n < SWEEP_MOST);
		fail(pid, FAIL_MALLOC, n, 1, ENOMEM);
		kill_now(pid_of(id), SIGHUP);
		expect(await_events(gateway, (size_t)n + 1) == (size_t)n + 1);
		fail_none(pid, FAIL_MALLOC);
		missed += failed(pid, FAIL_MALLOC) == before;
		expect(strcmp(event_at(gateway, (size_t)n)->id, id) == 0);
		expect(is_alive(pid), "failure %d ended it", n);
	}
	expect(n > 8, "%d allocations", n);
}

/* It was accepted, and there was no memory to start it each time. */
static bool
tried_in_vain(const struct answer *a)
{
	const char *reason = text_of(a, "exitReason");

	return reason != NULL && strcmp(reason, "spawn-error") == 0;
}

/* Memory that is gone for a while, not just once: whoever cannot be answered
 * is cut off, and everything is there afterwards. */
SCENARIO(memory, none_at_all_for_a_while)
{
	struct peer *others[8];

	needs_malloc();
	sweep_begin();
	for (int i = 0; i < 8; i++)
		others[i] = peer(NULL);
	for (int n = 0; n < 100; n += 7) {
		pid_t pid = master_pid();
		struct question *q[8];
		struct answer *a;

		fail(pid, FAIL_MALLOC, n, -1, ENOMEM);
		for (int i = 0; i < 8; i++)
			q[i] = ask_later(others[i], "exec",
			    LIST("argv", "/bin/echo", "on"));
		poll(NULL, 0, 3);
		fail_none(pid, FAIL_MALLOC);
		for (int i = 0; i < 8; i++) {
			a = answer_of(q[i]);
			if (a->status != PSUP_OK)
				expect(a->code[0] != '\0', "%d", a->status);
			else if (!tried_in_vain(a))
				expect_str(a, "aggregated", "on\n");
			/* it may be cut off with its answer, too */
			if (a->status == PSUP_OK && is_connected(others[i]))
				continue;
			hang_up(others[i]);
			others[i] = peer(NULL);
		}
		scn_ask_again();
		expect_str(ask("exec", STR("command", "echo on")),
		    "aggregated", "on\n");
	}
	expect_ok(ask("write", STR("sessionId", sweep_cat), STR("data", "on\n")));
	await_output(sweep_cat, "on\n");
}

/* ----------------------------------------------------------------- worker */

/* The same order for every worker, whoever is given the next session; how many
 * have failed in all until now. */
static uint64_t
fail_both(int skip, int times)
{
	struct fail_page *page = fail_page();
	uint64_t n = 0;

	for (uint32_t i = 0; i < atomic_load(&page->used); i++) {
		struct fail_process *p = &page->process[i];

		if (p->role != FAIL_WORKER || p->pid == 0)
			continue;
		n += atomic_load(&p->failed[FAIL_MALLOC]);
		fail(p->pid, FAIL_MALLOC, skip, times, ENOMEM);
	}
	return n;
}

/* Each n-th allocation of whoever works fails. That worker may end by it: then
 * the next one goes on. Each command runs once, or it is said that it could
 * not be started. */
static void
worker_survives(bool pty)
{
	const char *log = file_in_scenario("ran");
	const char *script = scn_format("echo x >> %s; read x; exit 3", log);
	int n, runs = 0, missed = 0;

	sweep_begin();
	for (n = 0; missed < 3; n++) {
		uint64_t before = fail_both(n, 1);
		const struct arg on = {.key = "pty", .type = 'b', .i = pty};
		struct answer *a;

		expect(n < SWEEP_MOST);
		a = ask("exec", STR("command", script), STDIN_TEXT("some\n"),
		    on);
		missed += fail_both(0, 0) == before;
		expect(a->status == PSUP_OK, "failure %d: %s", n, a->message);
		if (psup_reply_is_error(a->reply)) {
			expect_str(a, "exitReason", "spawn-error");
			expect_str(a, "errno", "ENOMEM");
			continue;
		}
		runs++;
		expect_int(a, "exitCode", 3);
		expect_ok(ask("write", STR("sessionId", sweep_cat),
		    STR("data", ".")));
	}
	expect(n > 5, "%d allocations", n);
	expect_str(ask("exec", STR("command",
	               scn_format("wc -l < %s", log))),
	    "aggregated", scn_format("%d\n", runs));
}

SCENARIO(memory, a_worker_survives_every_failure)
{
	needs_malloc();
	worker_survives(false);
}

SCENARIO(memory, a_worker_with_terminals_survives_every_failure)
{
	needs_malloc();
	worker_survives(true);
}

/* The standby, once there is one. */
static pid_t
standby(void)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct psup_view_process p;
	char why[200];
	psup_view *v;
	size_t at;

	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0);
	do {
		expect(now_ms() < until, "no standby");
		at = 0;
		while (psup_view_next_process(v, &at, &p) == 1 &&
		    strcmp(p.role, "standby") != 0)
			;
	} while (strcmp(p.role, "standby") != 0 || p.pid == 0 ||
	    p.heartbeat_age_ms == UINT64_MAX);
	psup_view_close(&v);
	return p.pid;
}

/* Waits until there are so many bytes of output. */
static void
await_bytes(const char *id, int64_t want)
{
	struct answer *a = ask("wait", STR("sessionId", id),
	    INT("bytes", want), INT("timeout", 30000));

	expect_ok(a);
	expect_str(a, "met", "bytes");
}

/* An allocation of a dead worker's heir fails, from the first one on: it, or
 * its own heir, has what the dead one had, to the byte. */
SCENARIO(memory, an_heir_survives_every_failure)
{
	int n, missed = 0;

	needs_malloc();
	sweep_begin();
	for (n = 0; missed < 3; n++) {
		pid_t heir, worker;

		/* the heir before this one may still be shown as a standby */
		do {
			heir = standby();
			worker = worker_of(sweep_cat);
		} while (heir == worker);
		expect(n < SWEEP_MOST);
		fail(heir, FAIL_MALLOC, n, 1, ENOMEM);
		kill_now(worker, SIGKILL);
		expect_ok(ask("write", STR("sessionId", sweep_cat),
		    STR("data", ".\n"), INT("position", 2 * n)));
		await_bytes(sweep_cat, 2 * n + 2);
		missed += failed(heir, FAIL_MALLOC) == 0;
		fail_none(heir, FAIL_MALLOC);
	}
	expect(n > 5, "%d allocations", n);
	expect(is_alive(pid_of(sweep_cat)) && is_alive(pid_of(sweep_terminal)));
	expect_ok(ask("write", STR("sessionId", sweep_cat), YES("eof")));
	await_end(sweep_cat);
	expect_int(ask("poll", STR("sessionId", sweep_cat)), "totalOutputChars",
	    2 * n);
}

/* ----------------------------------------------------------------- keeper */

SCENARIO(memory, the_keeper_allocates_nothing_once_it_runs)
{
	struct fail_process *keeper;
	uint64_t before;
	pid_t pid;

	needs_malloc();
	sweep_begin();
	pid = keeper_pid();
	keeper = fail_of(pid);
	before = atomic_load(&keeper->calls[FAIL_MALLOC]);
	expect(before > 0, "are its allocations counted?");
	fail(pid, FAIL_MALLOC, 0, -1, ENOMEM);
	for (int i = 0; i < 20; i++)
		expect_str(ask("exec", STR("command", "echo on")),
		    "aggregated", "on\n");
	kill_worker_of(sweep_cat);
	kill_master();
	expect_str(ask("exec", STR("command", "tty >&2; exit 3"), YES("pty")),
	    "status", "completed");
	expect_ok(ask("kill", STR("sessionId", sweep_cat), INT("graceMs", 0)));
	expect(atomic_load(&keeper->calls[FAIL_MALLOC]) == before, "%llu",
	    (unsigned long long)(atomic_load(&keeper->calls[FAIL_MALLOC]) -
	        before));
}
