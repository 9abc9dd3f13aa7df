/* SPDX-License-Identifier: MIT */
/*
 * Shared files are overwritten while they are in use: whose pages they are is
 * said to be damaged, or found again; nobody dies of it and nobody else
 * notices. $PSUP_SEED repeats a run.
 */
#include "lib_fail.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* A session that is over, and has output. */
static const char *
ended_with_3(void)
{
	const char *id = background(STR("command", "echo kept; exit 3"));

	await_end(id);
	return id;
}

static void
expect_ended_with_3(const char *id)
{
	scn_ask_again();
	expect_text(ask("log", STR("sessionId", id)), "kept");
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 3);
}

/* Kills the master; what is done before it is over is done between two. */
static pid_t
master_is_out(void)
{
	pid_t keeper = keeper_pid(), old = master_pid();

	kill_now(keeper, SIGSTOP);
	kill_now(old, SIGKILL);
	await_gone(old);
	return keeper;
}

static void
await_glob(const char *pattern)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	glob_t g;

	while (glob(pattern, 0, NULL, &g) != 0)
		expect(now_ms() < until, "%s", pattern);
	globfree(&g);
}

static void
master_comes_back(pid_t keeper)
{
	kill_now(keeper, SIGCONT);
	scn_ask_again();
}

static const char *
index_file(void)
{
	return scn_format("%s/index/data.mdb", runtime_dir());
}

/* Changes a byte behind each place where that text stands in the index. */
static void
spoil_behind(const char *text)
{
	int fd = open(index_file(), O_RDWR | O_CLOEXEC), n = 0;
	size_t len = strlen(text);
	char *map, *at;
	struct stat st;

	expect(fd >= 0 && fstat(fd, &st) == 0);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	expect(map != MAP_FAILED);
	at = map;
	while ((at = memmem(at, (size_t)(map + st.st_size - at), text,
	            len)) != NULL) {
		at += len;
		at[2] ^= 1;
		n++;
	}
	expect(n > 0, "%s", text);
	munmap(map, (size_t)st.st_size);
	close(fd);
}

/* Pages of the index are overwritten between two masters: the next one has
 * what decodes, makes the rest from rings and keeper, and runs. */
SCENARIO(hostile_pages, of_the_index)
{
	const char *id, *ended, *fresh;

	seed();
	psupd(.workers = 1);
	id = talker();
	ended = background(STR("command", "echo kept"));
	await_end(ended);
	for (int round = 0; round < 8; round++) {
		pid_t keeper = master_is_out();

		if (round == 7) /* nothing of it is left */
			expect(truncate(index_file(), 5000) == 0);
		else
			scribble(index_file(), 0, round % 2 ? 65536 : 200000,
			    1 << round);
		master_comes_back(keeper);
		fresh = id_of(ask("exec", STR("command", "echo on"),
		    YES("background")));
		await_end(fresh);
		expect_text(ask("log", STR("sessionId", fresh)), "on");
		expect(strcmp(fresh, id) != 0 && strcmp(fresh, ended) != 0);
	}
	/* under the old names: what runs takes its input, what ended has its
	 * output */
	expect_talks(id);
	expect_text(ask("log", STR("sessionId", ended)), "kept");
}

/* Nothing is left of the index: what sessions are called, whose they are and
 * where they queue the board still says. What waited in a queue cannot be
 * started without its record: it is lost, and said to be. */
SCENARIO(hostile_pages, a_lost_index_costs_no_name)
{
	const char *runs, *waits, *next, *ended, *gate = "gate";
	struct peer *mine;
	struct answer *a;
	pid_t keeper;

	psupd(.workers = 1, .conf = "[lane \"one\"]\nwidth = 1\n");
	ended = id_of(ask_as(peer("mine"), "exec",
	    STR("command", "echo kept; exit 3"), YES("background")));
	await_end(ended);
	runs = holder("one", gate);
	await_output(runs, "up\n");
	waits = background(STR("command", "echo never"), STR("lane", "one"));
	keeper = master_is_out();
	expect(truncate(index_file(), 5000) == 0);
	master_comes_back(keeper);
	mine = peer("mine");
	expect_refused(ask_as(peer("theirs"), "log", STR("sessionId", ended)),
	    "not-found");
	expect_text(ask_as(mine, "log", STR("sessionId", ended)), "kept");
	expect_int(ask_as(mine, "poll", STR("sessionId", ended)), "exitCode",
	    3);
	await_end(waits);
	expect_str(ask("poll", STR("sessionId", waits)), "exitReason", "lost");
	/* its lane is held as before */
	a = ask("exec", STR("command", "echo after"), STR("lane", "one"),
	    YES("background"));
	expect_str(a, "state", "queued");
	next = id_of(a);
	open_gate(gate);
	await_end(runs);
	await_end(next);
	expect_text(ask("log", STR("sessionId", next)), "after");
}

/* The index is damaged between two masters. */
static void
lose_index(void)
{
	pid_t keeper = master_is_out();

	expect(truncate(index_file(), 5000) == 0);
	kill_now(keeper, SIGCONT);
}

/* The master that has set the index aside is killed, too, whatever it is at. */
SCENARIO(hostile_pages, of_the_index_and_its_heir_is_killed)
{
	const char *ended, *runs;

	psupd(.workers = 1);
	ended = ended_with_3();
	runs = talker();
	lose_index();
	await_glob(scn_format("%s/index.bad.*", runtime_dir()));
	kill_master();
	expect_ended_with_3(ended);
	expect_talks(runs);
}

#ifdef PSUP_FAULTS

/* One heir after the other, at the same place. */
static void
heirs_are_killed(const char *point)
{
	const char *ended, *runs;
	pid_t old;

	psupd(.workers = 1, .env = {scn_format("PSUP_FAULTS=%s=stop", point)});
	ended = ended_with_3();
	runs = talker();
	old = master_pid();
	lose_index();
	kill_heirs(old);
	expect_ended_with_3(ended);
	expect_talks(runs);
}

SCENARIO(hostile_pages, of_the_index_and_heirs_are_killed_early)
{
	heirs_are_killed("adopt.shown");
}

SCENARIO(hostile_pages, of_the_index_and_heirs_are_killed_late)
{
	heirs_are_killed("adopt.before-whole");
}

/* Nothing but the rings is left when the next keeper's first master dies, too:
 * no board that knows a name. */
SCENARIO(hostile_pages, of_the_index_and_keeper_and_heir_are_killed)
{
	const psup_value *rows;
	int64_t until;

	psupd(.first = true, .workers = 1);
	(void)ended_with_3();
	(void)talker();
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);
	expect(truncate(index_file(), 5000) == 0);
	psupd(.workers = 1, .env = {"PSUP_FAULTS=adopt.after-aside=kill"});
	until = now_ms() + SCN_DEADLINE_MS;
	/* by their rings, once it is known that nobody runs */
	do {
		expect(now_ms() < until, "they are not found again");
		poll(NULL, 0, 5);
		rows = psup_value_get(details(ask("list")), "sessions");
	} while (psup_value_count(rows) < 2);
	for (size_t i = 0; i < 2; i++) {
		const psup_value *row = psup_value_at(rows, i);
		char id[64];

		psup_get_copy(row, "sessionId", id, sizeof(id));
		expect_text(ask("log", STR("sessionId", id)),
		    psup_get_is(row, "exitReason", "lost") ? "up" : "kept");
	}
}

/* Its end is on record, and its worker has not let go of it: the next master,
 * who has lost index and board, hears of it by the keeper's row; then the worker
 * lets go, before it has heard of that master. Nobody speaks of it any more. */
SCENARIO(hostile_pages, of_the_index_while_a_worker_lets_go)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const psup_value *row;
	const char *id;
	pid_t worker, keeper;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=end.before-closed=stop"});
	id = background(PUPPET(scn_format("print kept; await %s; exit 3",
	    file_in_scenario("open"))));
	await_output(id, "kept\n");
	worker = worker_of(id);
	open_gate("open");
	await_end(id);
	await_stopped(worker);
	keeper = master_is_out();
	expect(truncate(index_file(), 5000) == 0);
	expect(unlink(scn_format("%s/board", runtime_dir())) == 0);
	master_comes_back(keeper);
	await_log("event=session-without-record");
	kill_now(worker, SIGCONT);
	do {
		expect(now_ms() < until, "it is shown as one that lives");
		poll(NULL, 0, 5);
		row = psup_value_at(psup_value_get(details(ask("list")),
		    "sessions"), 0);
	} while (!psup_get_is(row, "state", "ended"));
	expect(psup_get_int(row, "exitCode", -1) == 3);
	expect(is_alive(worker), "its end is its worker's");
}

#endif

/* One that waits is not started by what is left of it, beside its lane. */
SCENARIO(hostile_pages, of_a_record_of_one_that_waits)
{
	const char *runs, *waits, *file = file_in_scenario("ran");
	pid_t keeper;

	psupd(.workers = 1, .conf = "[lane \"one\"]\nwidth = 1\n");
	runs = holder("one", "gate");
	await_output(runs, "up\n");
	waits = background(STR("command", scn_format("echo >%s", file)),
	    STR("lane", "one"), STR("label", "waits-there"));
	keeper = master_is_out();
	spoil_behind("waits-there");
	master_comes_back(keeper);
	await_end(waits);
	expect_str(ask("poll", STR("sessionId", waits)), "exitReason", "lost");
	open_gate("gate");
	await_end(runs);
	expect(access(file, F_OK) != 0, "it ran");
}

/* Who was told that it will be told is told. */
SCENARIO(hostile_pages, of_the_index_and_ends_are_told)
{
	struct peer *p;
	const char *runs;
	pid_t keeper;

	psupd(.workers = 1);
	runs = talker();
	keeper = master_is_out();
	expect(truncate(index_file(), 5000) == 0);
	master_comes_back(keeper);
	p = peer(NULL);
	listen_to_events(p, "all");
	expect_talks(runs);
	(void)await_events(p, 1);
	expect(strcmp(event_at(p, 0)->id, runs) == 0, "%s",
	    event_at(p, 0)->id);
}

/* Values of it are damaged, the file is whole: the record of one that runs, of
 * one that ended, and whose keeper's it all is. */
SCENARIO(hostile_pages, a_damaged_record_costs_nothing)
{
	const char *ended, *runs, *other;
	pid_t keeper;

	psupd(.workers = 1);
	ended = ended_with_3();
	runs = talker();
	other = talker();
	keeper = master_is_out();
	spoil_behind(ended);
	spoil_behind(runs);
	spoil_behind("incarnation");
	master_comes_back(keeper);
	expect_text(ask("log", STR("sessionId", ended)), "kept");
	expect_int(ask("poll", STR("sessionId", ended)), "exitCode", 3);
	expect_talks(runs);
	expect_talks(other);
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

/* The worker finds a header overwritten after the first rung of a kill: the
 * kill goes on. */
SCENARIO(hostile_pages, of_a_header_amid_a_kill)
{
	const char *id;
	pid_t command;
	int fd;

	psupd(.workers = 1, .conf = NO_CGROUP);
	id = background(PUPPET("print up; hang"));
	await_output(id, "up");
	command = pid_of(id);
	fd = open(ring_of(id), O_WRONLY | O_CLOEXEC);
	expect(pwrite(fd, "\0\0", 2, offsetof(struct ring_header, magic)) == 2);
	close(fd);
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
	await_gone(command);
	await_end(id);
}

/* The header of a session's ring names no process, and its command dies while
 * its worker cannot say whose it was: how it ended is not lost with it. */
SCENARIO(hostile_pages, of_the_pid_in_a_header)
{
	const int32_t nobody = 0;
	const char *left, *id;
	pid_t orphan, command, worker;
	struct answer *a;
	int fd;

	psupd(.workers = 1);
	left = background(STR("command",
	    "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"));
	orphan = (pid_t)atoi(poll_to_the_end(left, "r").bytes);
	expect(orphan > 1);
	usleep(20000); /* two of the ticks in which /proc counts */
	id = background(PUPPET("print up; hang"));
	command = pid_of(id);
	fd = open(ring_of(id), O_WRONLY | O_CLOEXEC);
	expect(pwrite(fd, &nobody, sizeof(nobody), offsetof(struct ring_header,
	    pid)) == sizeof(nobody));
	close(fd);
	worker = worker_of(id);
	kill_now(worker, SIGSTOP);
	kill_now(command, SIGKILL);
	await_gone(command);
	/* reaped after the command could have been */
	kill_now(orphan, SIGKILL);
	while (kill(orphan, 0) == 0)
		usleep(1000);
	kill_now(worker, SIGCONT);
	await_end(id);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "exitSignal", "SIGKILL");
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
	while (access(runtime_dir(), F_OK) == 0) /* it mends meanwhile */
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
