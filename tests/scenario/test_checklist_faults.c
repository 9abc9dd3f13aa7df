/* SPDX-License-Identifier: MIT */
/*
 * The compatibility checklist, 12 to 17: what must be survived, and at which
 * cost. See test_checklist.c.
 */
#include "lib_scn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Lets everybody go who waits for this file. */
static void
open_file_gate(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* How many end events a peer was sent for a session. */
static int
ends_of(struct peer *p, size_t count, const char *id)
{
	int n = 0;

	for (size_t i = 0; i < count; i++)
		n += strcmp(event_at(p, i)->id, id) == 0 &&
		    (strcmp(event_at(p, i)->kind, "exited") == 0 ||
		        strcmp(event_at(p, i)->kind, "lost") == 0);
	return n;
}

/* Waits until an event of that session came, and those before it. */
static size_t
await_end_of(struct peer *p, const char *id)
{
	size_t n = await_events(p, 1);

	while (ends_of(p, n, id) == 0)
		n = await_events(p, n + 1);
	return n;
}

#define RACERS 20

SCENARIO(checklist, c12_one_notification_each)
{
	const char *racers[RACERS], *killed, *removed, *empty, *gate, *last;
	struct question *polls[RACERS];
	struct peer *gateway, *poller;
	char script[300];
	size_t n;

	psupd();
	gate = file_in_scenario("gate");
	gateway = peer(NULL);
	poller = peer(NULL);
	listen_to_events(gateway, "gateway");
	/* polls that wait for the end while it comes */
	snprintf(script, sizeof(script), "await %s; print x; exit 1", gate);
	for (int i = 0; i < RACERS; i++) {
		racers[i] = background(PUPPET(script));
		polls[i] = ask_later(poller, "poll",
		    STR("sessionId", racers[i]), INT("timeout", 30000));
	}
	killed = background(PUPPET("print x; hang"));
	removed = background(PUPPET("print x; hang"));
	empty = background(PUPPET("exit 0"));
	await_end(empty);
	expect_ok(ask("kill", STR("sessionId", killed), INT("graceMs", 0)));
	expect_ok(ask("remove", STR("sessionId", removed)));
	open_file_gate(gate);
	for (int i = 0; i < RACERS; i++)
		answer_of(polls[i]);
	for (int i = 0; i < RACERS; i++)
		await_end(racers[i]);
	last = background(PUPPET("print x; exit 2"));
	await_end_of(gateway, last); /* in order: all others are there, ... */
	n = await_end_of(gateway, removed); /* ... but what ends by itself */
	for (int i = 0; i < RACERS; i++)
		expect(ends_of(gateway, n, racers[i]) == 1, "%s: %d",
		    racers[i], ends_of(gateway, n, racers[i]));
	expect(ends_of(gateway, n, killed) == 1);
	expect(ends_of(gateway, n, removed) == 1);
	expect(ends_of(gateway, n, empty) == 1);
}

SCENARIO(checklist, c12_a_gateway_that_comes_back)
{
	const char *before, *away, *after;
	struct peer *p;
	size_t n;

	psupd();
	p = peer(NULL);
	listen_to_events(p, "gateway");
	before = background(PUPPET("print x; exit 1"));
	n = await_end_of(p, before);
	expect_ok(ask_as(p, "ack", STR("subscriber", "gateway"),
	    INT("seq", event_at(p, n - 1)->seq)));
	hang_up(p);
	away = background(PUPPET("print x; exit 1"));
	await_end(away);
	kill_master();
	p = peer(NULL);
	listen_to_events(p, "gateway");
	after = background(PUPPET("print x; exit 1"));
	n = await_end_of(p, after);
	expect(ends_of(p, n, before) == 0, "acknowledged, and told again");
	expect(ends_of(p, n, away) == 1, "%d", ends_of(p, n, away));
	expect(ends_of(p, n, after) == 1);
}

/* A session that prints a line, waits for the gate, and prints another. */
static const char *
two_lines(const char *gate)
{
	char script[300];
	const char *id;

	snprintf(script, sizeof(script), "print one; await %s; print two; "
	    "exit 5", gate);
	id = background(PUPPET(script));
	await_output(id, "one\n");
	return id;
}

/* It ended as it would have without any of this. */
static void
expect_two_lines(const char *id)
{
	struct output o = poll_to_the_end(id, "r");

	expect(o.len == 8 && memcmp(o.bytes, "one\ntwo\n", 8) == 0,
	    "%zu bytes: %s", o.len, o.bytes);
	expect_int(o.last, "exitCode", 5);
}

SCENARIO(checklist, c13_killed_gateway_worker_and_supervisor)
{
	const char *gate = file_in_scenario("gate"), *ids[6];
	struct running *gateway;
	pid_t first, other;

	psupd();
	for (int i = 0; i < 6; i++)
		ids[i] = two_lines(gate);
	/* the gateway: what it watched in the foreground ends, no other */
	gateway = cli_start("exec", "--", "sh", "-c", "echo $$; sleep 1000");
	await_run_output(gateway, "\n");
	kill_now(pid_of_run(gateway), SIGKILL);
	expect(await_run(gateway)->code == 128 + SIGKILL);
	first = pid_of(ids[0]);
	other = worker_of(ids[0]);
	for (int i = 1; i < 6 && other == worker_of(ids[0]); i++)
		other = worker_of(ids[i]);
	expect(other != worker_of(ids[0]));
	kill_worker_of(ids[0]);
	kill_master();
	kill_now(other, SIGKILL);
	expect_ok(ask("list"));
	expect(pid_of(ids[0]) == first && is_alive(first));
	open_file_gate(gate);
	for (int i = 0; i < 6; i++)
		expect_two_lines(ids[i]);
}

/* The pids of all workers, by status. */
static size_t
workers(pid_t *ret, size_t max)
{
	const psup_value *list =
	    psup_value_get(psup_reply_value(ask("status")->reply), "workers");
	size_t n = psup_value_count(list);

	expect(n > 0 && n <= max);
	for (size_t i = 0; i < n; i++)
		ret[i] = (pid_t)psup_get_int(psup_value_at(list, i), "pid", 0);
	return n;
}

/* Sets a soft limit of a process; returns what it was. */
static rlim_t
limit_of(pid_t pid, __rlimit_resource_t what, rlim_t soft)
{
	struct rlimit rl;
	rlim_t old;

	expect(prlimit(pid, what, NULL, &rl) == 0, "%s", strerror(errno));
	old = rl.rlim_cur;
	rl.rlim_cur = soft;
	expect(prlimit(pid, what, &rl, NULL) == 0, "%s", strerror(errno));
	return old;
}

SCENARIO(checklist, c14_no_processes_left)
{
	pid_t pids[16];
	rlim_t old[16];
	size_t n;
	struct answer *a;

	if (geteuid() == 0)
		skip_scenario("RLIMIT_NPROC does not hold root");
	psupd();
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
	n = workers(pids, 16);
	for (size_t i = 0; i < n; i++)
		old[i] = limit_of(pids[i], RLIMIT_NPROC, 0);
	a = ask("exec", STR("command", "true"));
	expect_str(a, "status", "failed");
	expect_str(a, "failureKind", "runtime-error");
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "errno", "EAGAIN");
	for (size_t i = 0; i < n; i++)
		limit_of(pids[i], RLIMIT_NPROC, old[i]);
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
}

SCENARIO(checklist, c14_no_descriptors_in_one_worker)
{
	const char *gate = file_in_scenario("gate"), *id;
	pid_t poor;

	psupd();
	id = two_lines(gate);
	poor = worker_of(id);
	limit_of(poor, RLIMIT_NOFILE, 3);
	for (int i = 0; i < 12; i++)
		expect_str(ask("exec", STR("command", "echo on")),
		    "aggregated", "on\n");
	open_file_gate(gate);
	expect_two_lines(id);
	expect(is_alive(poor), "it died of it");
}

/* The lowest number that is free in a process, and how many below it are
 * directories or files of a leaf. */
static rlim_t
lowest_free(pid_t pid, unsigned *ret_leaves)
{
	char path[64], link[400];
	ssize_t n;

	*ret_leaves = 0;
	for (rlim_t fd = 0;; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, (int)fd);
		n = readlink(path, link, sizeof(link) - 1);
		if (n < 0)
			return fd;
		link[n] = '\0';
		*ret_leaves += strstr(link, "/psup-") != NULL &&
		    strstr(link, "/w") != NULL;
	}
}

/* What the worker keeps open only to be faster it gives up for a start. */
SCENARIO(checklist, c14_no_descriptors_but_those_of_leaves)
{
	struct answer *a;
	unsigned leaves;
	pid_t worker;
	rlim_t old, free;

	psupd(.workers = 1);
	for (int i = 0; i < 40; i++)
		worker = worker_of(background(STR("command", "read x")));
	free = lowest_free(worker, &leaves);
	if (leaves < 20)
		skip_scenario("%u leaves are open", leaves);
	old = limit_of(worker, RLIMIT_NOFILE, free);
	for (int i = 0; i < 3; i++)
		expect_str(ask("exec", STR("command", "echo on")),
		    "aggregated", "on\n");
	a = ask("exec", STR("command", "tty"), YES("pty"));
	expect(strstr(text_of(a, "aggregated"), "/dev/pts/") != NULL);
	limit_of(worker, RLIMIT_NOFILE, old);
	expect(count_log("event=session-not-spawned ") == 0);
	expect(is_alive(worker));
}

/* The score of a process, once it is `want`. */
static void
await_score(pid_t pid, int want)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	char path[64];
	int score = -1;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	for (;;) {
		FILE *f = fopen(path, "re");

		expect(f != NULL && fscanf(f, "%d", &score) == 1, "%s", path);
		fclose(f);
		if (score == want)
			return;
		expect(now_ms() < until, "it is %d", score);
		usleep(1000);
	}
}

SCENARIO(checklist, c14_commands_go_first_when_memory_does)
{
	const char *id;

	psupd();
	id = background(PUPPET("print up; hang"));
	await_output(id, "up");
	await_score(pid_of(id), 1000);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}

/* May this user protect a process? Asked of this one, which stays as it is. */
static bool
may_protect(int *ret_own)
{
	static const char path[] = "/proc/self/oom_score_adj";
	FILE *f = fopen(path, "re");
	char text[16];
	bool may;
	int fd;

	expect(f != NULL && fscanf(f, "%d", ret_own) == 1);
	fclose(f);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	expect(fd >= 0);
	may = write(fd, "-900", 4) == 4;
	snprintf(text, sizeof(text), "%d", *ret_own);
	expect(!may || write(fd, text, strlen(text)) > 0);
	close(fd);
	return may;
}

SCENARIO(checklist, c14_psup_goes_last_when_memory_does)
{
	struct psup_view_process p;
	int own, want, seen = 0;
	char why[200];
	psup_view *v;
	size_t at = 0;
	const char *id;

	want = may_protect(&own) ? -900 : own;
	psupd();
	id = background(PUPPET("print up; hang"));
	await_output(id, "up");
	await_score(pid_of(id), 1000);
	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0, "%s",
	    why);
	while (psup_view_next_process(v, &at, &p) == 1) {
		if (p.pid == 0)
			continue;
		await_score(p.pid, want);
		seen++;
	}
	psup_view_close(&v);
	expect(seen >= 4, "%d", seen); /* keeper, master, two workers */
	await_score(worker_of(id), want);
	kill_worker_of(id); /* nor is its successor the first to go */
	await_score(worker_of(id), want);
	await_score(pid_of(id), 1000);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}

SCENARIO(checklist, c14_unless_the_gateway_says_otherwise)
{
	const char *id;

	psupd(.env = {"OPENCLAW_CHILD_OOM_SCORE_ADJ=0"});
	id = background(PUPPET("print up; hang"));
	await_output(id, "up");
	kill_worker_of(id); /* nor does a successor or the keeper do it */
	expect_ok(ask("write", STR("sessionId", id), STR("data", "x")));
	await_score(pid_of(id), 0);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}

/* A session of a lane of width 1 that runs until it is ended. */
static const char *
in_lane(void)
{
	return background(PUPPET("print up; hang"), STR("lane", "one"));
}

SCENARIO(checklist, c15_a_place_is_free_within_a_second)
{
	const char *holder, *next;
	int64_t start;

	psupd();
	holder = in_lane();
	await_output(holder, "up");
	next = in_lane();
	start = now_ms();
	kill_now(pid_of(holder), SIGKILL);
	await_output(next, "up");
	expect(now_ms() - start < 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
	/* the same when its worker died with it */
	holder = next;
	next = in_lane();
	start = now_ms();
	kill_now(worker_of(holder), SIGKILL);
	kill_now(pid_of(holder), SIGKILL);
	await_output(next, "up");
	expect(now_ms() - start < 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
	expect_ok(ask("kill", STR("sessionId", next), INT("graceMs", 0)));
}

SCENARIO(checklist, c15_tiers_come_in_order)
{
	const char *gate = file_in_scenario("gate"), *order[4], *log;
	static const int tiers[] = {-1, 0, 1, 0};
	struct run *said;
	char script[400];

	psupd();
	log = file_in_scenario("order");
	snprintf(script, sizeof(script), "print up; await %s", gate);
	await_output(background(PUPPET(script), STR("lane", "one")), "up");
	for (int i = 0; i < 4; i++) {
		snprintf(script, sizeof(script), "echo -n %d >> %s", i, log);
		order[i] = background(STR("command", script),
		    STR("lane", "one"), INT("priority", tiers[i]));
	}
	open_file_gate(gate);
	await_end(order[0]);
	snprintf(script, sizeof(script), "cat %s", log);
	said = cli("exec", "--", "cat", log);
	expect_out(said, "2130");
}

SCENARIO(checklist, c15_a_reset_ignores_old_ends)
{
	const char *old, *fresh, *waits;

	psupd();
	old = in_lane();
	await_output(old, "up");
	expect_ok(ask("lanes", STR("op", "reset"), STR("lane", "one")));
	fresh = in_lane();
	await_output(fresh, "up");
	waits = in_lane();
	expect_ok(ask("kill", STR("sessionId", old), INT("graceMs", 0)));
	await_end(old);
	/* its end is of a generation that holds no place */
	expect_ok(ask("exec", STR("command", "true"), STR("lane", "other")));
	expect_str(ask("poll", STR("sessionId", waits)), "status", "running");
	expect(pid_of(waits) == 0, "it runs beside the other");
	expect_ok(ask("kill", STR("sessionId", fresh), INT("graceMs", 0)));
	await_output(waits, "up");
	expect_ok(ask("kill", STR("sessionId", waits), INT("graceMs", 0)));
}

SCENARIO(checklist, c15_nobody_waits_for_his_own_ancestor)
{
	char command[700];
	struct answer *a;
	int64_t start;

	psupd();
	snprintf(command, sizeof(command), "PSUP_RUNTIME_DIR=%s %s/psup exec "
	    "--no-start --lane one -- true", runtime_dir(), scn_bin_dir());
	start = now_ms();
	a = ask("exec", STR("command", command), STR("lane", "one"),
	    NUM("timeout", 300));
	expect_str(a, "status", "completed");
	expect(number_of(a, "exitCode") > 0, "%lld",
	    (long long)number_of(a, "exitCode"));
	expect(strstr(words_of(a), "wait for ever") != NULL, "%s", words_of(a));
	expect(now_ms() - start < 10000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
	/* beside it there is no such thing */
	snprintf(command, sizeof(command), "PSUP_RUNTIME_DIR=%s %s/psup exec "
	    "--no-start --lane two -- echo ran", runtime_dir(), scn_bin_dir());
	expect_str(ask("exec", STR("command", command), STR("lane", "one")),
	    "aggregated", "ran\n");
}

#define CHATTY 40
#define CHATTY_BYTES 1000000

SCENARIO(checklist, c16_nothing_is_lost_uncounted)
{
	const char *ids[CHATTY];

	psupd();
	for (int i = 0; i < CHATTY; i++)
		ids[i] = background(PUPPET("bytes 1000000"));
	for (int i = 0; i < CHATTY; i++) {
		struct output o;
		struct answer *a;

		await_end(ids[i]);
		o = read_retained(ids[i]);
		a = ask("poll", STR("sessionId", ids[i]));
		expect_int(a, "totalOutputChars", CHATTY_BYTES);
		expect((int64_t)o.len + o.dropped == CHATTY_BYTES,
		    "%zu + %lld", o.len, (long long)o.dropped);
		expect(o.len >= 220000, "%zu", o.len);
		expect(number_of(a, "droppedBytes") == o.dropped);
	}
}

/* What 31 starts take of a processor in this process, in us: a busy machine adds
 * nothing to it, a copy of this process's memory does. */
static int64_t
starts_cpu_us(void)
{
	struct timespec t0, t1;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	for (int i = 0; i < 31; i++)
		expect_str(ask("exec", LIST("argv", "/bin/true")), "status",
		    "completed");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	return (t1.tv_sec - t0.tv_sec) * 1000000 +
	    (t1.tv_nsec - t0.tv_nsec) / 1000;
}

SCENARIO(checklist, c17_the_size_of_the_gateway_does_not_matter)
{
	size_t size = 512u << 20;
	int64_t small, large;
	char *heap;

	psupd();
	starts_cpu_us();
	small = starts_cpu_us();
	heap = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (heap == MAP_FAILED)
		skip_scenario("no 512 MB here");
	large = starts_cpu_us();
	munmap(heap, size);
	/* one fork of that heap would take 20 ms */
	expect(large < 3 * small + 20 * 1000 * 31 / 2, "%lld us, and %lld us with 512 MB",
	    (long long)small, (long long)large);
}

/* Whom a command forks at once is taken first, too: each comes to 1000 though
 * nobody forks any more. One that was being forked while its parent's score was
 * written would stay at 0 for good, some in a hundred runs. */
SCENARIO(checklist, all_forked_at_once_come_to_the_score)
{
	/* the last one has more than a look takes */
	enum { RUNS = 10 };
	static const char script[] =
	    "i=0; while [ $i -lt $n ]; do i=$((i+1)); sleep 1000 & "
	    "pids=\"$pids $!\"; done; for p in $pids; do "
	    "until read s </proc/$p/oom_score_adj && [ $s = 1000 ]; do "
	    "sleep 0.05; done; done; echo all; kill $pids";

	psupd();
	for (int i = 0; i < RUNS; i++)
		expect_str(ask("exec", STR("command", script),
		    MAP("env", "n", i < RUNS - 1 ? "100" : "1000"),
		    NIL("yieldMs")), "aggregated", "all\n");
}
