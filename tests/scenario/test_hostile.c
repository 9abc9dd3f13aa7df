/* SPDX-License-Identifier: MIT */
/*
 * Shared files are overwritten while they are in use: whose pages they are is
 * said to be damaged, or found again; nobody dies of it and nobody else
 * notices. $PSUP_SEED repeats a run.
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
#include "shm/layout.h"

TestSuite(hostile_pages);

static void
seed(void)
{
	const char *env = getenv("PSUP_SEED");
	unsigned s = env != NULL ? (unsigned)strtoul(env, NULL, 10)
				 : (unsigned)getpid();

	fprintf(stderr, "seed %u\n", s);
	srandom(s);
}

/* A session that prints what it is fed. */
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

/* Random bytes over `n` places of a file between two offsets. */
static void
scribble(const char *path, off_t from, off_t to, int n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	expect(fd >= 0, "%s: %s", path, strerror(errno));
	while (n-- > 0) {
		uint64_t v = (uint64_t)random() << 33 ^ (uint64_t)random();
		off_t at = from + random() % (to - from - 8);

		if (random() % 4 == 0)
			v = random() % 2 ? 0 : UINT64_MAX;
		expect(pwrite(fd, &v, sizeof(v), at / 8 * 8) == sizeof(v));
	}
	close(fd);
}

/* The file that keeps a session's output. */
static const char *
ring_of(const char *id)
{
	struct psup_view_session s;
	char why[200];
	psup_view *v;

	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0);
	expect(psup_view_find(v, id, &s) == 0);
	psup_view_close(&v);
	return scn_format("%s/rings/%016llx", runtime_dir(),
	    (unsigned long long)s.instance);
}

/* The one session that runs, whatever it is called now. */
static const char *
the_one_that_runs(void)
{
	const psup_value *rows = psup_value_get(
	    details(ask("list", YES("all"))), "sessions");
	char *id = scn_alloc(64);
	int n = 0;

	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "status", "running")) {
			psup_get_copy(psup_value_at(rows, i), "sessionId", id,
			    64);
			n++;
		}
	expect(n == 1, "%d run", n);
	return id;
}

/* Pages of the index are overwritten between two masters: the next one has
 * what decodes, makes the rest from rings and keeper, and runs. */
SCENARIO(hostile_pages, of_the_index)
{
	const char *index = scn_format("%s/index/data.mdb", runtime_dir());
	const char *id, *ended, *fresh;

	seed();
	psupd(.workers = 1);
	scn.patient = true; /* a look at a damaged one may take seconds */
	id = talker();
	ended = background(STR("command", "echo kept"));
	await_end(ended);
	for (int round = 0; round < 8; round++) {
		pid_t keeper = keeper_pid(), old = master_pid();
		struct stat st;

		kill_now(keeper, SIGSTOP);
		kill_now(old, SIGKILL);
		await_gone(old);
		expect(stat(index, &st) == 0);
		if (round == 7) /* nothing of it is left */
			expect(truncate(index, 5000) == 0);
		else
			scribble(index, 0, round % 2 ? 65536 : 200000,
			    1 << round);
		kill_now(keeper, SIGCONT);
		scn_ask_again();
		fresh = id_of(ask("exec", STR("command", "echo on"),
		    YES("background")));
		await_end(fresh);
		expect_text(ask("log", STR("sessionId", fresh)), "on");
		expect(strcmp(fresh, id) != 0 && strcmp(fresh, ended) != 0);
	}
	/* by whatever name: it runs, has its output, takes its input, ends */
	id = the_one_that_runs();
	expect_talks(id);
}

/* The header of one session's ring is overwritten again and again, as by a
 * writer gone mad, while the worker that owns it works. */
SCENARIO(hostile_pages, of_a_ring)
{
	const char *mad, *other, *path;
	pid_t command;

	seed();
	psupd(.workers = 1);
	mad = background(STR("command",
	    "while :; do echo tick; sleep 0.005; done"));
	await_output(mad, "tick");
	other = talker();
	path = ring_of(mad);
	command = pid_of(mad);
	for (int round = 0; round < 60; round++) {
		struct answer *a;

		scribble(path, 0, (off_t)sizeof(struct ring_header), 3);
		a = ask("poll", STR("sessionId", mad), STR("reader", "r"));
		expect(a->status == PSUP_OK || a->code[0] != '\0');
		a = ask("log", STR("sessionId", mad));
		expect(a->status == PSUP_OK || a->code[0] != '\0');
		expect_ok(ask("write", STR("sessionId", other),
		    STR("data", "x\n")));
	}
	/* its worker may have ended by it, and the next one refused it: then
	 * it is lost, and its command has ended */
	ask("kill", STR("sessionId", mad), INT("graceMs", 0));
	await_gone(command);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	expect_talks(other);
	expect_int(ask("poll", STR("sessionId", other)), "totalOutputChars",
	    3 + 60 * 2 + 3);
}

/* Slots of the board: what a tool is shown is wrong or left out, for the slots
 * that were hit; the server does not read them. */
SCENARIO(hostile_pages, of_the_board)
{
	const char *board = scn_format("%s/board", runtime_dir());
	const char *id;
	struct psup_view_session s;
	char why[200];
	psup_view *v;

	seed();
	psupd(.workers = 1);
	for (int i = 0; i < 5; i++)
		await_end(background(LIST("argv", "/bin/true")));
	id = talker();
	for (int round = 0; round < 200; round++) {
		size_t at = 0;
		int n = 0;

		/* the first five slots: the header stays */
		scribble(board, 2 * 4096, 2 * 4096 + 5 * 512, 4);
		expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) ==
		    0, "%s", why);
		while (psup_view_next_session(v, &at, &s) == 1)
			expect(n++ < 100000);
		expect(psup_view_find(v, id, &s) == 0, "round %d", round);
		expect(strcmp(s.state, "running") == 0);
		psup_view_close(&v);
	}
	expect_ok(ask("list"));
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
	expect_talks(id);
}

/* The directory goes away under load: what runs finishes, nothing new starts,
 * and it is said. */
SCENARIO(hostile_pages, of_a_directory_that_is_deleted_under_load)
{
	const char *go = file_in_scenario("go");
	const char *ids[20];
	struct answer *a;

	psupd(.workers = 2);
	for (int i = 0; i < 20; i++) {
		ids[i] = background(PUPPET(scn_format("bytes %d; await %s; "
		    "bytes 10; exit 5", 1000 + i, go)));
	}
	for (int i = 0; i < 20; i++)
		await_output(ids[i], "a");
	scn_remove_tree(runtime_dir());
	expect_refused(ask("exec", STR("command", "true")), "runtime-gone");
	close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (int i = 0; i < 20; i++) {
		await_end(ids[i]);
		a = ask("poll", STR("sessionId", ids[i]));
		expect_int(a, "exitCode", 5);
		expect_int(a, "totalOutputChars", 1010 + i);
	}
	await_log("event=runtime-dir-deleted ");
}
