/* SPDX-License-Identifier: MIT */
/*
 * Much output, no output, nobody who reads the log, little memory: what a
 * server takes stays what it was, and it goes on.
 */
#include "lib_fail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_inner.h"

TestSuite(endurance);

static int64_t
memory_of(pid_t pid)
{
	long long pages = 0;
	FILE *f = fopen(scn_format("/proc/%d/statm", (int)pid), "re");

	expect(f != NULL && fscanf(f, "%*s %lld", &pages) == 1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* What all files below a directory take. */
static int64_t
space_of(const char *dir)
{
	struct run *r = scn_run(NULL, 0, (const char *const[]){"psup", "exec",
	    "--no-start", "--", "du", "-sk", dir, NULL});

	expect(r->code == 0, "%s", r->err);
	return strtoll(r->out, NULL, 10) * 1024;
}

#define MUCH     (1 << 30) /* bytes */
#define FLAT     (8 << 20)
#ifdef __SANITIZE_ADDRESS__
#define KEPT     (400 << 20) /* of what was freed, by the sanitizer */
#else
#define KEPT     0
#endif

/* A gibibyte through one session: nothing grows, nobody waits, every byte is
 * counted. $PSUP_TEST_BYTES: another amount. */
SCENARIO(endurance, much_output_takes_flat_memory)
{
	const char *env = getenv("PSUP_TEST_BYTES"), *id;
	long long bytes = env != NULL ? atoll(env) : MUCH;
	int64_t worker, master, space, longest = 0, until, end;
	struct answer *a;

	psupd(.workers = 1);
	id = background(STR("command", scn_format("head -c 3000000 /dev/zero; "
	    "read x; head -c %lld /dev/zero; echo end", bytes)),
	    NUM("timeout", 0));
	expect_ok(ask("wait", STR("sessionId", id), INT("bytes", 3000000)));
	worker = memory_of(worker_of(id));
	master = memory_of(master_pid());
	space = space_of(runtime_dir());
	expect_ok(ask("write", STR("sessionId", id), STR("data", "\n")));
	until = now_ms() + 4 * SCN_DEADLINE_MS + bytes / 20000;
	do {
		int64_t t = now_ms();

		expect(t < until, "it takes too long");
		expect_str(ask("exec", LIST("argv", "/bin/echo", "on")),
		    "aggregated", "on\n");
		t = now_ms() - t;
		longest = t > longest ? t : longest;
		a = ask("poll", STR("sessionId", id), INT("since", 0),
		    INT("maxBytes", 1));
		if (psup_get_is(details(a), "status", "running")) {
			end = memory_of(worker_of(id)) - worker;
			expect(end < FLAT + KEPT, "the worker has %lld more",
			    (long long)end);
		}
	} while (psup_get_is(details(a), "status", "running"));
	expect_int(ask("poll", STR("sessionId", id)), "totalOutputChars",
	    bytes + 3000000 + 4);
	expect(longest < 500 + busy_ms(), "%lld ms", (long long)longest);
	end = memory_of(master_pid()) - master;
	expect(end < FLAT + KEPT, "the master has %lld more", (long long)end);
	end = space_of(runtime_dir()) - space;
	expect(end < FLAT, "the tmpfs has %lld more", (long long)end);
}

/* Wakeups are counted, not time: a machine may be busy with other things. */
SCENARIO(endurance, who_closed_its_output_wakes_nobody)
{
	uint64_t turns;
	const char *id;
	pid_t worker;

	psupd(.workers = 1);
	id = background(STR("command", "echo up; exec >&- 2>&- sleep 1000"));
	await_output(id, "up\n");
	worker = worker_of(id);
	poll(NULL, 0, 300); /* what its start takes */
	turns = turns_of(worker);
	poll(NULL, 0, 1000);
	turns = turns_of(worker) - turns;
	expect(turns < 20, "%llu turns in a second",
	    (unsigned long long)turns);
	expect_str(ask("poll", STR("sessionId", id)), "status", "running");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}

/* ---------------------------------------------------------------- the log */

/* What is in the pipe. */
static size_t
drain(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size - 1 &&
	    (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	return len;
}

/* Does a line of this process say that some before it were dropped? */
static bool
says_dropped(const char *text, const char *process)
{
	for (const char *line = text; *line != '\0';
	     line = strchrnul(line, '\n'), line += *line == '\n') {
		const char *end = strchrnul(line, '\n');
		const char *who = strstr(line, process);
		const char *dropped = strstr(line, " dropped=");

		if (who != NULL && who < end && dropped != NULL &&
		    dropped < end)
			return true;
	}
	return false;
}

/* Worker and master have something to log. */
static void
all_say_something(void)
{
	const char *id = background(PUPPET("hang"));

	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	expect_ok(ask("mintToken", STR("scope", "s")));
	for (int i = 0; i < 2; i++)
		expect_str(ask("exec", LIST("argv", "/no/such/program")),
		    "status", "failed");
}

/* Nobody reads what the server says: it says it to nobody, and counts. As soon
 * as there is room each process tells how much it was. */
SCENARIO(endurance, a_log_that_nobody_reads_blocks_nobody)
{
	static char buf[1 << 20];
	static const char *const said[] = {"process=keeper", "process=master",
	    "process=worker"};
	const char *id;
	int64_t until;
	int ends[2];
	size_t len = 0;

	expect(pipe2(ends, O_CLOEXEC) == 0);
	expect(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	expect(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
	memset(buf, '\n', 4096); /* full before anybody says a word */
	expect(write(ends[1], buf, 4096) == 4096);
	psupd(.workers = 1, .err = ends[1]);
	close(ends[1]);
	id = background(PUPPET("print up; cat; exit 4"));
	await_output(id, "up\n");
	for (int i = 0; i < 3; i++) {
		kill_worker_of(id);
		kill_master();
		all_say_something();
	}
	expect_ok(ask("write", STR("sessionId", id), STR("data", "on\n")));
	await_output(id, "on\n");
	/* room again */
	drain(ends[0], buf, sizeof(buf));
	expect(fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) > 0);
	all_say_something();
	kill_worker_of(id); /* by which the keeper says something */
	until = now_ms() + SCN_DEADLINE_MS;
	for (int i = 0; i < 3;) {
		expect(now_ms() < until, "%s did not count: %s", said[i], buf);
		len += drain(ends[0], buf + len, sizeof(buf) - len);
		if (says_dropped(buf, said[i]))
			i++;
	}
	close(ends[0]);
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	await_end(id);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
}

/* ----------------------------------------------------------------- memory */

/* A control group for the server alone, with so much memory; NULL: none is to
 * be had. */
static const char *
small_group(const char *limit)
{
	static const char base[] = "/sys/fs/cgroup/memory";
	char *dir = scn_format("%s/psup-test-%d", base, (int)getpid());
	FILE *f;

	if (mkdir(dir, 0755) != 0)
		return NULL;
	f = fopen(scn_format("%s/memory.limit_in_bytes", dir), "we");
	if (f == NULL || fputs(limit, f) < 0 || fclose(f) != 0) {
		rmdir(dir);
		return NULL;
	}
	return dir;
}

SCENARIO(endurance, a_memory_limit_of_the_server)
{
	const char *group = small_group("100000000");
	struct answer *a;
	int64_t budget, until;
	pid_t keeper, master;

	if (group == NULL)
		skip_scenario("no memory cgroup to be made here");
	psupd(.workers = 1, .wrap = {"sh", "-c", scn_format(
	    "echo $$ >%s/cgroup.procs && exec \"$0\"", group)});
	budget = psup_get_int(psup_value_get(psup_reply_value(
	    ask("status")->reply), "output"), "budgetBytes", -1);
	expect(budget > 10000000 && budget <= 25000000, "%lld",
	    (long long)budget);
	/* who takes more than there is is ended, and nobody of psup */
	keeper = keeper_pid();
	master = master_pid();
	a = ask("exec", STR("command", "head -c 400000000 /dev/zero | tail"),
	    NUM("timeout", 60));
	expect(a->status == PSUP_OK && number_of(a, "exitCode") != 0, "%s",
	    words_of(a));
	expect(is_alive(keeper) && is_alive(master));
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	expect_ok(ask("shutdown", INT("graceMs", 0)));
	await_gone(keeper);
	server_is_gone();
	until = now_ms() + SCN_DEADLINE_MS;
	while (rmdir(group) != 0)
		expect(now_ms() < until, "%s: %s", group, strerror(errno));
}
