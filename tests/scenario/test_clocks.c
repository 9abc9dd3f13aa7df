/* SPDX-License-Identifier: MIT */
/*
 * The wall clock jumps, the machine sleeps, the whole server is stopped: time
 * is CLOCK_BOOTTIME, which goes on in a sleep, nobody is killed for a pause
 * that all have made, and whoever alone is silent is.
 */
#include "lib_fail.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include "lib_inner.h"

TestSuite(clocks);

#define SECOND INT64_C(1000000000)

/* Everybody of the server. */
struct crew {
	pid_t pid[8];
	size_t n;
};

static struct crew
crew(void)
{
	struct crew c = {.n = 0};
	struct psup_view_process p;
	char why[200];
	psup_view *v;
	size_t at = 0;

	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0);
	while (c.n < 8 && psup_view_next_process(v, &at, &p) == 1)
		if (p.pid != 0)
			c.pid[c.n++] = p.pid;
	psup_view_close(&v);
	expect(c.n >= 3);
	return c;
}

/* Nobody was replaced, while the keeper's watch has looked twice. */
static void
expect_unharmed(const struct crew *before)
{
	struct crew now;

	for (int i = 0; i < 25; i++) {
		poll(NULL, 0, 100);
		expect_ok(ask("list"));
	}
	now = crew();
	expect(now.n == before->n &&
	    memcmp(now.pid, before->pid, now.n * sizeof(pid_t)) == 0,
	    "somebody was replaced");
}

/* A session that prints when it is told to. */
static const char *
talker(void)
{
	const char *id = background(PUPPET("print up; cat; exit 4"));

	await_output(id, "up\n");
	return id;
}

static void
expect_talks(const char *id)
{
	expect_ok(ask("write", STR("sessionId", id), STR("data", "on\n"),
	    YES("eof")));
	await_output(id, "on\n");
	await_end(id);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
}

SCENARIO(clocks, a_wall_clock_that_jumps_ends_nothing)
{
	const char *id, *limited, *ended, *killed;
	struct crew before;
	int64_t began;

	failing_psupd(.workers = 1);
	id = talker();
	ended = background(STR("command", "echo kept"));
	await_end(ended);
	before = crew();
	began = now_ms();
	limited = background(PUPPET("hang"), NUM("timeout", 5));
	atomic_store(&fail_page()->wall_ns, 100000 * SECOND);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	expect_str(ask("poll", STR("sessionId", limited)), "status",
	    "running");
	atomic_store(&fail_page()->wall_ns, -100000 * SECOND);
	killed = background(PUPPET("ignore 15; print up; hang"));
	await_output(killed, "up");
	expect_ok(ask("kill", STR("sessionId", killed), INT("graceMs", 200)));
	expect_unharmed(&before);
	await_end(limited);
	expect_flag(ask("poll", STR("sessionId", limited)), "timedOut", true);
	expect(now_ms() - began >= 5000 && now_ms() - began < 7500 + busy_ms(),
	    "%lld ms", (long long)(now_ms() - began));
	expect_talks(id);
	expect_text(ask("log", STR("sessionId", ended)), "kept");
}

SCENARIO(clocks, a_sleep_of_the_machine_counts_and_kills_nobody)
{
	const char *id, *limited;
	struct crew before;

	failing_psupd(.workers = 1);
	id = talker();
	limited = background(PUPPET("hang"), NUM("timeout", 1000));
	before = crew();
	atomic_store(&fail_page()->boot_ns, 500 * SECOND);
	expect_unharmed(&before);
	expect_str(ask("poll", STR("sessionId", limited)), "status",
	    "running");
	atomic_store(&fail_page()->boot_ns, 1100 * SECOND);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	await_end(limited);
	expect_flag(ask("poll", STR("sessionId", limited)), "timedOut", true);
	expect_talks(id);
}

/* Stops, lets the heartbeats grow old, continues: the keeper first, which then
 * sees old heartbeats before anybody can beat. */
SCENARIO(clocks, a_stop_of_the_whole_server_kills_nobody)
{
	struct crew before;
	const char *id;

	failing_psupd(.workers = 1);
	id = talker();
	before = crew();
	for (size_t i = 0; i < before.n; i++)
		kill_now(before.pid[i], SIGSTOP);
	atomic_store(&fail_page()->boot_ns, 60 * SECOND);
	for (size_t i = 0; i < before.n; i++) {
		kill_now(before.pid[i], SIGCONT);
		poll(NULL, 0, 50);
	}
	expect_unharmed(&before);
	expect_talks(id);
}

SCENARIO(clocks, a_worker_that_hangs_is_replaced)
{
	const char *id;
	pid_t hung;

	failing_psupd(.workers = 1);
	id = talker();
	hung = worker_of(id);
	/* stopped for a moment: nobody minds */
	kill_now(hung, SIGSTOP);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "one\n")));
	kill_now(hung, SIGCONT);
	await_output(id, "one\n");
	expect(worker_of(id) == hung);
	/* for longer than a heartbeat may be old */
	kill_now(hung, SIGSTOP);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "two\n")));
	atomic_store(&fail_page()->boot_ns, 6 * SECOND);
	await_gone(hung);
	await_log("event=worker-silent");
	await_output(id, "two\n");
	expect(worker_of(id) != hung && is_alive(pid_of(id)));
	expect_talks(id);
	expect_int(ask("poll", STR("sessionId", id)), "totalOutputChars",
	    3 + 4 + 4 + 3);
}

/* What is kept for half an hour after its end is kept so long over masters,
 * too. */
SCENARIO(clocks, a_new_master_goes_on_counting_how_long_is_kept)
{
	const char *ended;
	int64_t until;

	failing_psupd(.workers = 1);
	ended = background(STR("command", "echo kept"));
	await_end(ended);
	atomic_store(&fail_page()->boot_ns, 1700 * SECOND);
	atomic_store(&fail_page()->wall_ns, 1700 * SECOND);
	kill_master();
	expect_text(ask("log", STR("sessionId", ended)), "kept");
	atomic_store(&fail_page()->boot_ns, 1900 * SECOND);
	atomic_store(&fail_page()->wall_ns, 1900 * SECOND);
	kill_master();
	until = now_ms() + SCN_DEADLINE_MS;
	while (is_listed(NULL, ended)) {
		expect(now_ms() < until, "it stays");
		poll(NULL, 0, 5);
	}
}
