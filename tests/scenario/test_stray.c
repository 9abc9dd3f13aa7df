/* SPDX-License-Identifier: MIT */
/* A command writes to the files of the server that it runs under: same uid, no
 * sandbox. Each file is cut to nothing, cut in half, overwritten and deleted
 * while others run: the keeper stays, their output is exact, and soon
 * everything works again. */
#include "lib_scn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib_inner.h"
#include "shm/layout.h"

enum stroke { CUT, HALVE, SCRIBBLE, DELETE, STROKES };
static const char *const strokes[STROKES] = {
	[CUT] = ": > %s",
	[HALVE] = "truncate -s $(($(stat -c %%s %1$s) / 2)) %1$s",
	[SCRIBBLE] = ("head -c $(stat -c %%s %1$s) /dev/zero | tr '\\0' 'Z' | "
	    "dd of=%1$s conv=notrunc status=none"),
	[DELETE] = "rm -f %s",
};

/* A session that goes on through it all, and says its lines on demand. */
struct witness {
	const char *id, *go;
};

static struct witness
witness(void)
{
	char script[400];
	struct witness w = {.go = file_in_scenario("go")};

	snprintf(script, sizeof(script),
	    "print before; await %s; print after; exit 7", w.go);
	w.id = background(PUPPET(script));
	await_output(w.id, "before\n");
	return w;
}

/* Its output is whole and its exit is its own. */
static void
expect_untouched(const struct witness *w)
{
	struct output out;

	close(open(w->go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	out = poll_to_the_end(w->id, "r");
	expect(out.len == 13 && memcmp(out.bytes, "before\nafter\n", 13) == 0,
	    "'%.*s'", (int)out.len, out.bytes);
	expect(out.dropped == 0);
	expect_int(out.last, "exitCode", 7);
	expect(unlink(w->go) == 0);
}

/* Waits until the log says it once more than `before`. */
static void
await_said_again(const char *text, int before)
{
	int64_t until = now_ms() + 60000;

	while (count_log(text) <= before) {
		expect(now_ms() < until, "psupd did not say '%s'", text);
		poll(NULL, 0, 5);
	}
}

/* One command does it, as any command may. */
static void
strike(const char *file, enum stroke how)
{
	const char *path = scn_format("%s/%s", runtime_dir(), file);
	char line[1200];
	struct answer *a;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(line, sizeof(line), strokes[how], path);
#pragma GCC diagnostic pop
	a = ask("exec", STR("command", line));
	/* the answer may be lost with the master that had it in hand */
	expect(a->status == PSUP_OK || a->code[0] != '\0' ||
	    a->message[0] != '\0');
	scn_ask_again();
}

/* Waits until a program of ours says what it should. */
static void
await_said(const char *const *argv, const char *want)
{
	int64_t until = now_ms() + 30000;
	struct run *r;

	do {
		r = scn_run(NULL, 0, argv);
		if (r->code == 0 && strstr(r->out, want) != NULL)
			return;
		poll(NULL, 0, 50);
	} while (now_ms() < until);
	expect(false, "%s %s: exit %d, '%.300s' '%.300s'", argv[0], argv[1],
	    r->code, r->out, r->err);
}

/* New commands, the board and the metrics, and that the memory tells of the
 * session. */
static void
expect_all_works(const char *id)
{
	struct answer *a = ask("exec", STR("command", "echo new"));

	expect_ok(a);
	expect_str(a, "aggregated", "new\n");
	expect_ok(ask("list"));
	await_said((const char *const[]){"psup-top", "--batch", "-n", "1",
	    NULL}, id);
	await_said((const char *const[]){"psup", "metrics", NULL},
	    "psup_up 1\n");
	await_said((const char *const[]){"psup", "metrics", NULL},
	    "psup_process_up{process=\"master\"} 1");
}

/* Each stroke on one file, by which no process is lost. */
static void
strike_all(const char *file)
{
	const char *said = scn_format("event=file-made-again file=%s ", file);
	pid_t keeper, master, worker;
	struct witness w;
	int before;

	psupd();
	for (int how = 0; how < STROKES; how++) {
		w = witness();
		keeper = keeper_pid();
		master = master_pid();
		worker = worker_of(w.id);
		before = count_log(said);
		strike(file, (enum stroke)how);
		expect_all_works(w.id);
		await_said_again(said, before);
		expect_all_works(w.id);
		expect_untouched(&w);
		expect(is_alive(keeper) && is_alive(master) &&
		    is_alive(worker), "%s, stroke %d", file, how);
	}
}

SCENARIO(stray, writes_to_the_stats_pages)
{
	strike_all("stats");
}

SCENARIO(stray, writes_to_the_board)
{
	strike_all("board");
}

SCENARIO(stray, writes_to_the_lock)
{
	struct run *r;

	strike_all("lock");
	/* who comes before it is made again gets the lock, and finds that
	 * somebody listens */
	expect(unlink(scn_format("%s/lock", runtime_dir())) == 0);
	r = scn_run(NULL, 0, (const char *const[]){"psupd", "--runtime-dir",
	    runtime_dir(), NULL});
	expect(r->code != 0 && strstr(r->err, "already running") != NULL,
	    "%d '%s'", r->code, r->err);
	expect_ok(ask("list"));
}

SCENARIO(stray, writes_to_the_index)
{
	struct witness w;
	const char *said;
	pid_t keeper;
	int before;

	psupd();
	for (int how = 0; how < STROKES; how++) {
		/* half of a file that is hardly used holds all there was */
		said = how == DELETE  ? "event=file-made-again file=index"
		    : how == HALVE ? "event=master-fails"
				   : "event=index-set-aside";
		before = count_log(said);
		w = witness();
		keeper = keeper_pid();
		strike("index/data.mdb", (enum stroke)how);
		await_said_again(said, before);
		scn_ask_again();
		expect_all_works(w.id);
		expect_untouched(&w);
		expect(keeper_pid() == keeper);
	}
}

/* Its ring says who asked for it. */
SCENARIO(stray, a_command_runs_once_though_the_index_is_lost)
{
	const char *count = file_in_scenario("count");
	const char *go = file_in_scenario("go");
	const struct arg exec[] = {STR("requestKey", "mine"), STR("command",
	    scn_format("echo x >>%s; until [ -e %s ]; do sleep 0.02; done; "
		       "wc -l <%s", count, go, count)), {0}};
	struct question *q;
	int before, fd;

	psupd();
	(void)scn_ask_later(peer("web"), "exec", exec);
	await_file(count);
	before = count_log("event=index-set-aside");
	strike("index/data.mdb", SCRIBBLE);
	await_said_again("event=index-set-aside", before);
	scn_ask_again();
	kill_master(); /* the next one has it from the new index */
	q = scn_ask_later(peer("web"), "exec", exec);
	expect_ok(ask("status"));
	fd = open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	expect(fd >= 0 && close(fd) == 0);
	expect_str(answer_of(q), "aggregated", "1\n");
}

/* What was committed before is in the new file. */
SCENARIO(stray, a_deleted_index_is_written_anew)
{
	const char *ended, *waits;
	pid_t master;

	psupd();
	master = master_pid();
	ended = background(STR("command", "echo kept; exit 9"));
	await_end(ended);
	(void)holder("narrow", "gate");
	waits = background(STR("command", "echo ran"), STR("lane", "narrow"));
	expect(unlink(scn_format("%s/index/data.mdb", runtime_dir())) == 0);
	await_log("event=file-made-again file=index/data.mdb ");
	expect(master_pid() == master);
	kill_master();
	expect_int(ask("poll", STR("sessionId", ended)), "exitCode", 9);
	open_gate("gate");
	await_end(waits);
	expect_text(ask("log", STR("sessionId", waits)), "ran");
}

/* The file that keeps a session's output. */
static const char *
ring_of(const char *id)
{
	struct answer *a = ask("list");
	const psup_value *rows = psup_value_get(details(a), "sessions");
	char instance[64] = "";

	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			psup_get_copy(psup_value_at(rows, i), "instanceId",
			    instance, sizeof(instance));
	expect(strlen(instance) == 33, "instance id '%s'", instance);
	return scn_format("rings/%s", instance + 17);
}

/* That session ends, is told, and takes nobody along. Half of its file is half
 * of its page, which may do. */
SCENARIO(stray, writes_to_a_ring)
{
	struct witness w;
	const char *victim;
	pid_t keeper, master, worker, pid;

	psupd(.workers = 1);
	keeper = keeper_pid();
	master = master_pid();
	for (int how = 0; how < DELETE; how++) {
		w = witness();
		worker = worker_of(w.id);
		victim = background(PUPPET("print one; cat"));
		await_output(victim, "one\n");
		pid = pid_of(victim);
		strike(ring_of(victim), (enum stroke)how);
		(void)ask("write", STR("sessionId", victim),
		    STR("data", "more\n"), YES("eof"));
		await_gone(pid);
		await_end(victim);
		if (how != HALVE)
			expect_refused(ask("log", STR("sessionId", victim)),
			    "output-lost");
		expect(count_log("event=ring-damaged ") >= (how + 2) / 2);
		expect(is_alive(keeper) && is_alive(master) &&
		    is_alive(worker), "stroke %d", how);
		expect_untouched(&w);
	}
}

/* What is done to the page of a ring while nobody looks. */
enum spoil { SPOIL_CUT, SPOIL_SCRIBBLE, SPOIL_DELETE, SPOIL_PID, SPOILS };

static void
spoil(const char *ring, enum spoil how, pid_t pid)
{
	const char *path = scn_format("%s/%s", runtime_dir(), ring);
	char page[4096];
	int32_t value = pid;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	expect(fd >= 0, "%s", path);
	memset(page, 'Z', sizeof(page));
	if (how == SPOIL_CUT)
		expect(ftruncate(fd, 0) == 0);
	else if (how == SPOIL_SCRIBBLE)
		expect(pwrite(fd, page, sizeof(page), 0) == sizeof(page));
	else if (how == SPOIL_DELETE)
		expect(unlink(path) == 0);
	else
		expect(pwrite(fd, &value, sizeof(value),
		    offsetof(struct ring_header, pid)) == sizeof(value));
	close(fd);
}

/* How often a command noted that it began. */
static int
starts_noted(const char *file)
{
	char text[200] = "";
	int fd = open(file, O_RDONLY | O_CLOEXEC), n = 0;

	expect(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		n++;
	return n;
}

/* A command that has just begun, and whose ring is spoiled before the keeper has
 * read the pid in it; its worker dies. It ends, and does not begin again. With a
 * header that only names somebody else it goes on. */
SCENARIO(stray, spoils_the_ring_of_a_young_command)
{
	const char *victim, *other, *file;
	pid_t worker, pid, stranger;
	struct answer *a;
	const char *ring;

	psupd(.workers = 1);
	for (int how = 0; how < SPOILS + 2; how++) {
		file = file_in_scenario("began");
		(void)unlink(file);
		victim = background(STR("command", scn_format(
		    "echo $$ >>%s; echo one; cat", file)));
		await_output(victim, "one\n");
		other = background(STR("command", "echo two; cat; exit 7"));
		await_output(other, "two\n");
		worker = worker_of(victim);
		pid = pid_of(victim);
		stranger = how == SPOIL_PID ? pid_of(other)
		    : how == SPOILS     ? getpid()
		                        : worker;
		ring = ring_of(victim);
		kill_now(worker, SIGSTOP);
		spoil(ring, how < SPOILS ? (enum spoil)how : SPOIL_PID,
		    stranger);
		kill_now(worker, SIGKILL);
		if (how < SPOIL_PID) {
			await_gone(pid);
			await_end(victim);
			expect_refused(ask("log", STR("sessionId", victim)),
			    "output-lost");
		} else {
			expect_ok(ask("write", STR("sessionId", victim),
			    STR("data", "more\n"), YES("eof")));
			await_end(victim);
			a = ask("poll", STR("sessionId", victim));
			expect_text(a, "one\nmore\n");
			expect_int(a, "exitCode", 0);
		}
		expect(starts_noted(file) == 1, "spoil %d: %d starts", how,
		    starts_noted(file));
		expect_ok(ask("write", STR("sessionId", other),
		    STR("data", "on\n"), YES("eof")));
		await_end(other);
		a = ask("poll", STR("sessionId", other));
		expect_text(a, "two\non\n");
		expect_int(a, "exitCode", 7);
	}
}

/* Nobody finds the server any more until it has made another socket. */
SCENARIO(stray, a_deleted_socket_is_made_again)
{
	struct witness w;
	pid_t keeper;

	psupd();
	w = witness();
	keeper = keeper_pid();
	expect(unlink(scn_format("%s/sock", runtime_dir())) == 0);
	await_log("event=file-made-again file=sock ");
	await_file(scn_format("%s/sock", runtime_dir()));
	scn_ask_again();
	expect_all_works(w.id);
	expect_untouched(&w);
	expect(keeper_pid() == keeper);
}
