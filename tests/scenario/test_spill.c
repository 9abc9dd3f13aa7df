/* SPDX-License-Identifier: MIT */
/* How much of the output stays in memory, and the file that gets all of it:
 * to the byte, whatever dies, and never more than was asked for. */
#include "lib_scn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(spill);

/* {path, maxBytes}; max 0: none. The strings live as long as the scenario. */
static struct arg
spill_to(const char *path)
{
	const char **list = scn_alloc(3 * sizeof(*list));

	list[0] = "path";
	list[1] = path;
	list[2] = NULL;
	return (struct arg){.key = "spill", .type = 'm', .list = list};
}

/* The spill of a session's row, waited for until it ended. */
static const psup_value *
spill_of(const char *id)
{
	return psup_value_get(await_end(id), "spill");
}

static void
expect_spill(const char *id, const char *state, int64_t bytes)
{
	const psup_value *sp = spill_of(id);
	char got[48] = "";

	psup_get_copy(sp, "state", got, sizeof(got));
	expect(strcmp(got, state) == 0, "%s", got);
	expect(psup_get_int(sp, "bytes", -1) == bytes, "%lld",
	    (long long)psup_get_int(sp, "bytes", -1));
}

/* Until so much of a running one's output is in its file. */
static void
await_spilled(const char *id, int64_t bytes)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (psup_get_int(psup_value_get(details(ask("poll",
	           STR("sessionId", id), STR("reader", "spilled"))), "spill"),
	           "bytes", 0) < bytes) {
		expect(now_ms() < until, "it is not written");
		usleep(1000);
	}
}

/* Until it has put out so much, written or not. */
static void
await_total(const char *id, int64_t bytes)
{
	while (number_of(ask("poll", STR("sessionId", id), STR("reader", "r")),
	    "totalOutputChars") < bytes)
		usleep(1000);
}

/* Does the file hold the first n bytes of the puppet's pattern, no more? */
static void
expect_pattern(const char *path, int64_t n)
{
	static char buf[65536];
	FILE *f = fopen(path, "re");
	int64_t at = 0;
	size_t got;

	expect(f != NULL, "%s", path);
	while ((got = fread(buf, 1, sizeof(buf), f)) > 0)
		for (size_t i = 0; i < got; i++, at++)
			expect(buf[i] == (char)('a' + at % 26), "at %lld",
			    (long long)at);
	fclose(f);
	expect(at == n, "%lld bytes", (long long)at);
}

SCENARIO(spill, gets_every_byte_that_memory_cannot_keep)
{
	const char *id, *file;
	struct answer *a;
	struct stat st;

	psupd();
	file = file_in_scenario("out");
	id = background(PUPPET("bytes 30000000"), spill_to(file));
	expect_spill(id, "complete", 30000000);
	expect_pattern(file, 30000000);
	expect(stat(file, &st) == 0 && (st.st_mode & 07777) == 0600);
	a = ask("poll", STR("sessionId", id));
	expect(number_of(a, "dropped") > 0);
	/* The answer of exec says it, too; a relative path is the command's. */
	a = ask("exec", STR("command", "echo out; echo err >&2"),
	    STR("workdir", file_in_scenario(".")), spill_to("rel"));
	expect(psup_get_is(psup_value_get(details(a), "spill"), "state",
	    "complete"));
	expect(psup_get_int(psup_value_get(details(a), "spill"), "bytes", 0) ==
	    8);
	expect(stat(file_in_scenario("rel"), &st) == 0 && st.st_size == 8);
}

SCENARIO(spill, stops_at_its_cap)
{
	const char *id, *file;

	psupd(.conf = "[spill]\nmax_bytes = 100000\n");
	file = file_in_scenario("out");
	id = background(PUPPET("bytes 3000000"), spill_to(file));
	expect_spill(id, "full", 100000);
	expect_pattern(file, 100000);
	/* Exactly as much as the cap is not too much. */
	file = file_in_scenario("exact");
	id = background(PUPPET("bytes 100000"), spill_to(file));
	expect_spill(id, "complete", 100000);
}

SCENARIO(spill, has_a_place_of_the_servers)
{
	char conf[400], path[500] = "";
	const psup_value *sp;
	const char *id, *dir;

	dir = file_in_scenario("spills");
	expect(mkdir(dir, 0700) == 0);
	snprintf(conf, sizeof(conf), "[spill]\ndir = %s\n", dir);
	psupd(.conf = conf);
	id = background(PUPPET("bytes 1000"), ONE("spill", "maxBytes", 10));
	expect_spill(id, "full", 10);
	sp = spill_of(id);
	psup_get_copy(sp, "path", path, sizeof(path));
	expect(strncmp(path, dir, strlen(dir)) == 0 &&
	    strstr(path, id) != NULL, "%s", path);
	expect_pattern(path, 10);
}

SCENARIO(spill, touches_nothing_that_is_there)
{
	const char *file, *link, *ran;
	struct answer *a;
	struct stat st;
	FILE *f;

	psupd();
	file = file_in_scenario("out");
	link = file_in_scenario("link");
	ran = file_in_scenario("ran");
	f = fopen(file, "we");
	expect(f != NULL && fputs("mine", f) >= 0 && fclose(f) == 0);
	expect(symlink(file_in_scenario("elsewhere"), link) == 0);
	for (int i = 0; i < 3; i++) {
		char command[600];

		snprintf(command, sizeof(command), "touch %s; echo x", ran);
		a = ask("exec", STR("command", command),
		    spill_to(i == 0 ? file : i == 1 ? link
		        : file_in_scenario("no/such/dir")));
		expect_str(a, "status", "failed");
		expect_str(a, "exitReason", "spawn-error");
		expect_str(a, "stage", "spill");
		expect_str(a, "errno", i < 2 ? "EEXIST" : "ENOENT");
		expect_text(a, "spill");
	}
	expect(access(ran, F_OK) < 0 && errno == ENOENT);
	expect(stat(file, &st) == 0 && st.st_size == 4);
	expect(access(file_in_scenario("elsewhere"), F_OK) < 0);
	/* One that could not be started leaves no file behind. */
	a = ask("exec", LIST("argv", "/no/such/program"),
	    spill_to(file_in_scenario("unused")));
	expect_str(a, "status", "failed");
	expect(access(file_in_scenario("unused"), F_OK) < 0);
}

SCENARIO(spill, what_is_wrong_is_refused)
{
	static const char *const wrong[][2] = {{"path", ""}, {"file", "x"},
	    {"maxBytes", "7"}};

	psupd();
	for (size_t i = 0; i < 3; i++)
		expect_refused(ask("exec", STR("command", "true"),
		    MAP("spill", wrong[i][0], wrong[i][1])), "invalid-params");
	expect_refused_for(ask("exec", STR("command", "true"),
	    ONE("spill", "maxBytes", 0)), "invalid-params", "spill.maxBytes");
	expect_refused_for(ask("exec", STR("command", "true"),
	    ONE("spill", "maxBytes", 10)), "invalid-params", "spill");
	expect_refused_for(ask("exec", STR("command", "true"),
	    ONE("retain", "tailBytes", 4095)), "invalid-params",
	    "retain.tailBytes");
	expect_refused_for(ask("exec", STR("command", "true"),
	    ONE("retain", "headBytes", -1)), "invalid-params",
	    "retain.headBytes");
	expect_refused_for(ask("exec", STR("command", "true"),
	    ONE("retain", "headBytes", (16 << 20) + 1)), "invalid-params",
	    "retain.headBytes");
	expect_refused_for(ask("exec", STR("command", "true"),
	    ONE("retain", "middleBytes", 1)), "invalid-params", "retain");
	/* An empty map asks for the server's place; `true` does not. */
	expect_refused_for(ask("exec", STR("command", "true"), YES("spill")),
	    "invalid-params", "spill");
}

SCENARIO(spill, no_more_is_retained_than_there_is_room_for)
{
	struct answer *a;

	psupd(.conf = "[server]\noutput_budget = 16777216\n");
	a = ask("exec", STR("command", "true"),
	    ONE("retain", "tailBytes", 16777216));
	expect_refused_for(a, "no-space", "retain");
	expect(strstr(a->message, "16797216") != NULL &&
	    strstr(a->message, "at most 14675968") != NULL, "%s", a->message);
}

SCENARIO(spill, survives_the_worker)
{
	const char *id, *file, *gate;
	char script[400];

	psupd();
	file = file_in_scenario("out");
	gate = file_in_scenario("gate");
	/* The pattern begins anew with each verb: 26 divides the first. */
	snprintf(script, sizeof(script),
	    "bytes 2999984; await %s; bytes 2600000", gate);
	id = background(PUPPET(script), spill_to(file));
	for (int i = 0; i < 5; i++)
		kill_worker_of(id);
	fclose(fopen(gate, "we"));
	kill_worker_of(id);
	expect_spill(id, "complete", 5599984);
	expect_pattern(file, 5599984);
}

/* Who follows a dead worker has the rest written, though nothing more comes. */
SCENARIO(spill, what_a_dead_worker_left_is_written)
{
	const char *id, *gate, *file = file_in_scenario("out");
	char script[400];
	pid_t writer;

	psupd(.workers = 1);
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "print up; await %s; bytes 100000; cat",
	    gate);
	id = background(PUPPET(script), spill_to(file));
	await_spilled(id, 3);
	writer = child_of(worker_of(id));
	expect(writer > 0);
	kill_now(writer, SIGSTOP);
	fclose(fopen(gate, "we"));
	await_total(id, 100003);
	kill_worker_of(id);
	await_spilled(id, 100003);
	expect_ok(ask("write", STR("sessionId", id), STR("data", ""),
	    YES("eof")));
	expect_spill(id, "complete", 100003);
}

#ifdef PSUP_FAULTS /* only test builds have fault points */
/* Each writer dies at this point, or each worker, until all is done. */
static void
written_once(const char *point)
{
	const char *id, *file = file_in_scenario("out");
	char fault[80];

	snprintf(fault, sizeof(fault), "PSUP_FAULTS=%s", point);
	psupd(.workers = 1, .env = {fault});
	id = background(PUPPET("bytes 400000"), spill_to(file));
	expect_spill(id, "complete", 400000);
	expect_pattern(file, 400000);
}

SCENARIO(spill, a_worker_killed_before_a_write)
{
	written_once("spill.before-write=kill@3");
}

SCENARIO(spill, a_worker_killed_after_a_write)
{
	written_once("spill.after-write=kill@3");
}

SCENARIO(spill, a_worker_killed_after_a_splice)
{
	written_once("pump.after-splice=kill@5");
}

SCENARIO(spill, a_write_that_fails_ends_the_file)
{
	const char *id, *file = file_in_scenario("out");

	psupd(.workers = 1, .env = {"PSUP_FAULTS=spill.disk-full=fail@2"});
	id = background(PUPPET("bytes 400000"), spill_to(file));
	await_end(id);
	expect(psup_get_is(spill_of(id), "state", "disk-full"));
	expect_pattern(file, psup_get_int(spill_of(id), "bytes", 0));
	expect(psup_get_int(await_end(id), "totalOutputChars", 0) == 400000);
}

/* What was written too slowly is in the file, but not vouched for. */
SCENARIO(spill, a_disk_that_holds_everybody_up_is_given_up)
{
	const char *id, *file = file_in_scenario("out");
	struct stat before, after;
	int64_t bytes;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=spill.hang=once@2"});
	id = background(PUPPET("bytes 200000; print up; cat"), spill_to(file));
	await_output(id, "up");
	expect(stat(file, &before) == 0);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "more\n"),
	    YES("eof")));
	await_end(id);
	expect(psup_get_is(spill_of(id), "state", "error: ETIMEDOUT"));
	bytes = psup_get_int(spill_of(id), "bytes", 0);
	expect(bytes > 0 && bytes < before.st_size, "%lld of %lld",
	    (long long)bytes, (long long)before.st_size);
	expect(stat(file, &after) == 0 && after.st_size == before.st_size);
	expect_pattern(file, after.st_size);
	expect(psup_get_int(await_end(id), "totalOutputChars", 0) == 200008);
}

/* The writer hangs: its worker serves the others meanwhile, gives the file up
 * and says so wherever one asks. */
SCENARIO(spill, a_file_that_hangs_holds_up_its_own_output_alone)
{
	const char *id, *file = file_in_scenario("out");
	struct answer *a;
	pid_t worker;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=spill.hang=once@2"});
	id = background(PUPPET("bytes 3000000; print up; cat"),
	    spill_to(file));
	worker = worker_of(id);
	for (int i = 0; i < 20; i++)
		expect_text(ask("exec", STR("command", "echo on")), "on");
	await_output(id, "up");
	a = ask("poll", STR("sessionId", id), STR("reader", "r"));
	expect(psup_get_is(psup_value_get(details(a), "spill"), "state",
	    "error: ETIMEDOUT"));
	expect(worker_of(id) == worker, "it cost its worker");
	expect_ok(ask("write", STR("sessionId", id), STR("data", ""),
	    YES("eof")));
	await_end(id);
	expect(psup_get_is(spill_of(id), "state", "error: ETIMEDOUT"));
}

/* The writer of the worker's only spill file, but not this one. */
static pid_t
writer_of(pid_t worker, pid_t former)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	pid_t writer;

	while ((writer = child_of(worker)) == 0 || writer == former) {
		expect(now_ms() < until, "there is no writer");
		usleep(1000);
	}
	return writer;
}

/* Killed when it has made the file, before it could note that: the next one
 * finds the file, and takes it for ours. */
SCENARIO(spill, a_writer_killed_with_the_file_made)
{
	const char *id, *file = file_in_scenario("out");
	struct question *q;
	pid_t worker, first, next;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=spill.in-create=stop"});
	worker = worker_of(background(PUPPET("print up; cat")));
	q = ask_later(NULL, "exec", PUPPET("bytes 3000"), spill_to(file));
	first = writer_of(worker, 0);
	await_stopped(first);
	kill_now(first, SIGKILL);
	next = writer_of(worker, first);
	await_stopped(next);
	kill_now(next, SIGCONT);
	id = text_of(answer_of(q), "sessionId");
	expect_spill(id, "complete", 3000);
	expect_pattern(file, 3000);
}

/* There is no other process to write: the file is given up, and nobody but its
 * session hears of it. */
SCENARIO(spill, a_writer_killed_where_none_can_follow)
{
	const char *id, *other, *file = file_in_scenario("out");
	pid_t worker;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=spill.fork=once@2"});
	other = background(PUPPET("print up; cat"));
	worker = worker_of(other);
	id = background(PUPPET("print up; cat"), spill_to(file));
	await_spilled(id, 3);
	kill_now(writer_of(worker, 0), SIGKILL);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "more\n"),
	    YES("eof")));
	expect_spill(id, "error: EAGAIN", 3);
	expect(worker_of(other) == worker);
	expect_text(ask("exec", STR("command", "echo on")), "on");
}
#endif

/* Time in which the worker itself stood still is not the disk's. */
SCENARIO(spill, a_worker_that_was_stopped_gives_nothing_up)
{
	const char *id, *gate, *file = file_in_scenario("out");
	char script[400];
	pid_t worker, writer;

	psupd(.workers = 1);
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "print up; await %s; bytes 2000000",
	    gate);
	id = background(PUPPET(script), spill_to(file));
	await_output(id, "up");
	worker = worker_of(id);
	writer = child_of(worker);
	expect(writer > 0);
	kill_now(writer, SIGSTOP);
	fclose(fopen(gate, "we"));
	/* head and tail are full of what is not written */
	await_total(id, 220000);
	kill_now(worker, SIGSTOP);
	usleep(1500000); /* longer than it would wait, shorter than it may */
	kill_now(worker, SIGCONT);
	usleep(20000); /* it looks, and nothing has come further */
	kill_now(writer, SIGCONT);
	expect_spill(id, "complete", 2000003);
}

SCENARIO(spill, another_file_in_its_place_is_left_alone)
{
	const char *id, *file, *gate;
	char command[400];
	struct stat st;
	FILE *f;

	psupd();
	file = file_in_scenario("out");
	gate = file_in_scenario("gate");
	snprintf(command, sizeof(command), "echo one; until [ -e %s ]; do "
	    "sleep 0.01; done; echo two", gate);
	id = background(STR("command", command), spill_to(file));
	await_spilled(id, 4);
	expect(unlink(file) == 0);
	f = fopen(file, "we");
	expect(f != NULL && fputs("not yours", f) >= 0 && fclose(f) == 0);
	kill_worker_of(id);
	fclose(fopen(gate, "we"));
	expect_spill(id, "error: ESTALE", 4);
	expect(stat(file, &st) == 0 && st.st_size == 9);
	/* Its output is what it would have been. */
	expect_text(ask("log", STR("sessionId", id)), "one\ntwo");
}

SCENARIO(spill, a_full_disk_ends_the_file_not_the_command)
{
	const char *id, *file;
	int64_t bytes;
	char path[600];

	if (geteuid() != 0)
		skip_scenario("a tmpfs of its own needs root");
	/* The runtime directory's own tmpfs, in a namespace of its own: the
	 * file fills it, and the ring has its pages by then. */
	psupd(.tmpfs_bytes = 24 << 20);
	snprintf(path, sizeof(path), "%s/spilled", runtime_dir());
	file = path;
	id = background(PUPPET("bytes 60000000; print end"), spill_to(file),
	    ONE("retain", "tailBytes", 4096));
	await_end(id);
	bytes = psup_get_int(spill_of(id), "bytes", 0);
	expect(psup_get_is(spill_of(id), "state", "disk-full"));
	expect(bytes > 1000000 && bytes < 24 << 20, "%lld", (long long)bytes);
	expect(psup_get_int(await_end(id), "totalOutputChars", 0) ==
	    60000004);
	expect(psup_get_int(await_end(id), "exitCode", -1) == 0);
}

/* How many NUL bytes and how many others there are in it. */
static void
count_bytes(const char *path, int64_t *ret_nul, int64_t *ret_other)
{
	FILE *f = fopen(path, "re");
	int c;

	expect(f != NULL, "%s", path);
	*ret_nul = *ret_other = 0;
	while ((c = getc(f)) != EOF)
		*(c == 0 ? ret_nul : ret_other) += 1;
	fclose(f);
}

SCENARIO(spill, what_a_full_tmpfs_took_is_said)
{
	const char *id, *file = file_in_scenario("out");
	int64_t nul, other, missing;
	const psup_value *sp;
	char command[900];

	if (geteuid() != 0)
		skip_scenario("a tmpfs of its own needs root");
	psupd(.tmpfs_bytes = 24 << 20);
	snprintf(command, sizeof(command), "f=%s/filler; cat /dev/zero >$f; "
	    "head -c 3000000 /dev/zero | tr '\\0' a; rm $f; "
	    "head -c 100000 /dev/zero | tr '\\0' b", runtime_dir());
	id = background(STR("command", command), spill_to(file),
	    ONE("retain", "tailBytes", 1000000));
	await_end(id);
	sp = spill_of(id);
	missing = psup_get_int(sp, "missing", 0);
	expect(psup_get_is(sp, "state", "complete"));
	expect(missing > 100000, "%lld", (long long)missing);
	count_bytes(file, &nul, &other);
	/* what fitted between two holes is in the file, and counted */
	expect(nul <= missing && nul > missing - 8192, "%lld of %lld",
	    (long long)nul, (long long)missing);
	expect(nul + other == psup_get_int(await_end(id), "totalOutputChars",
	    0));
}

SCENARIO(spill, retain_says_how_much_stays)
{
	const psup_value *retain;
	const char *id;
	struct answer *a;
	int64_t dropped;

	psupd();
	id = background(PUPPET("lines 300000"), ONE("retain", "tailBytes",
	    4000000));
	retain = psup_value_get(await_end(id), "retain");
	expect(psup_get_int(retain, "tailBytes", 0) == 4000000 &&
	    psup_get_int(retain, "headBytes", 0) == 20000);
	a = ask("log", STR("sessionId", id), INT("limit", 1));
	expect_flag(a, "truncated", false);
	expect_int(a, "totalLines", 300000);
	id = background(PUPPET("bytes 1000000"), ONE("retain", "headBytes", 0));
	await_end(id);
	a = ask("log", STR("sessionId", id), INT("limit", 1));
	dropped = number_of(a, "droppedBytes");
	expect(dropped >= 1000000 - 200000 - 65536 && dropped <= 800000,
	    "%lld", (long long)dropped);
	kill_master(); /* the record keeps it */
	retain = psup_value_get(await_end(id), "retain");
	expect(psup_get_int(retain, "headBytes", -1) == 0);
}

SCENARIO(spill, by_the_command_line)
{
	const char *file;
	struct run *r;
	char *id;

	psupd();
	file = file_in_scenario("out");
	r = cli("exec", "--spill", file, "--spill-max", "5", "--retain",
	    "0,4096", "--background", "echo 123456789");
	expect_exit(r, 0);
	id = strtok(r->out, "\n");
	expect_spill(id, "full", 5);
	r = cli("list", "--json");
	expect(strstr(r->out, "\"tailBytes\":4096") != NULL, "%s", r->out);
	expect(cli("exec", "--retain", "1", "true")->code == 2);
	expect(cli("exec", "--retain", "1,1", "true")->code == 2);
	expect(cli("exec", "--spill", "", "true")->code == 2);
	r = cli("exec", "--spill", "-", "true");
	expect(strstr(r->err, "[spill] dir") != NULL, "%s", r->err);
}
