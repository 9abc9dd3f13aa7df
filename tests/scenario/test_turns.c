/* SPDX-License-Identifier: MIT */
/* Requests that take long to answer: they are answered in slices, others in
 * between, all by the same master. */
#include "lib_fail.h"
#include "lib_inner.h"
#include "lib_scn.h"
#include "lib_wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef PSUP_FAULTS
#define needs_faults() (void)0
#else
#define needs_faults() skip_scenario("a build without fault points")
#endif

TestSuite(turns);

#define LINES "16777216"

/* A session that has written 16 MiB of line ends, all of them kept. */
static const char *
many_lines(void)
{
	const char *id = background(
	    LIST("argv", "/bin/sh", "-c",
		"head -c " LINES " /dev/zero | tr '\\0' '\\n'"),
	    STR("scope", "lines"), ONE("retain", "tailBytes", 16777216));

	await_end(id);
	return id;
}

/* The worst there is, from one connection, 16 times: every page is whole, and
 * between them another is answered. */
SCENARIO(turns, lines_without_end_keep_nobody_from_others)
{
	struct peer *hog;
	struct question *q[16];
	struct answer *a;
	const char *id;
	pid_t master;

	psupd(.workers = 1,
	    .conf = "[server]\noutput_budget = 67108864\n");
	id = many_lines();
	master = master_pid();
	hog = peer(NULL);
	for (int i = 0; i < 16; i++)
		q[i] = ask_later(hog, "log", STR("sessionId", id),
		    YES("timestamps"), INT("offset", 1000 * i));
	for (int i = 0; i < 20; i++)
		expect_ok(ask("list"));
	for (int i = 0; i < 16; i++) {
		a = answer_of(q[i]);
		expect_ok(a);
		expect_int(a, "totalLines", 16777216);
		expect_int(a, "firstLine", 1000 * i);
		expect(number_of(a, "nextOffset") ==
			1000 * i + number_of(a, "lines"),
		    "page %d", i);
	}
	expect(master_pid() == master);
}

/* A search that takes seconds is heard of no more once it is cancelled. */
SCENARIO(turns, a_long_search_can_be_given_up)
{
	struct question *q;
	struct peer *hog;
	const char *id;

	psupd(.workers = 1,
	    .conf = "[server]\noutput_budget = 67108864\n");
	id = many_lines();
	hog = peer(NULL);
	q = ask_later(hog, "log", STR("sessionId", id),
	    STR("regex", "(a|b|c)*x$"));
	give_up(q);
	expect(strcmp(code_of(answer_of(q)), "cancelled") == 0);
	expect_ok(ask("list"));
}

/* [2, "cancel", [{msgid}]] */
static void
add_cancel(struct enc *to, uint32_t id)
{
	enc_array(to);
	enc_uint(to, 2);
	enc_str(to, "cancel");
	enc_array(to);
	enc_map(to);
	enc_kv_uint(to, "msgid", id);
	enc_end(to);
	enc_end(to);
	enc_end(to);
}

/* A poll's answer of 8 MiB takes many slices: it is cancelled by what stands
 * behind it, and its reader gets all of the output by the next poll. */
SCENARIO(turns, a_poll_that_was_given_up_is_told_again)
{
	struct enc all = ENC_INIT, params = ENC_INIT;
	char answer[2000];
	struct wire *w;
	const char *id;
	size_t n;

	psupd(.workers = 1);
	id = background(STR("command", "head -c 1048576 /dev/zero | "
				       "tr '\\0' '\\033'"),
	    ONE("retain", "tailBytes", 2097152));
	await_end(id);
	enc_map(&params);
	enc_kv_str(&params, "sessionId", id);
	enc_kv_str(&params, "reader", "r");
	enc_kv_uint(&params, "maxBytes", 1048576);
	enc_end(&params);
	w = wire_open();
	wire_request(&all, 1, "poll", &params);
	add_cancel(&all, 1);
	wire_put(w, &all);
	n = wire_answer(w, answer, sizeof(answer));
	expect(memmem(answer, n, "cancelled", 9) != NULL);
	expect_int(ask("poll", STR("sessionId", id), STR("reader", "r"),
		       INT("maxBytes", 1000)),
	    "omitted", 1047576);
	wire_close(w);
	enc_fini(&all);
	enc_fini(&params);
}

/* Appends a request of at most one parameter. */
static void
add_request(struct enc *to, uint32_t id, const char *method, const char *key,
    const char *value)
{
	struct enc params = ENC_INIT;

	enc_map(&params);
	if (key != NULL)
		enc_kv_str(&params, key, value);
	enc_end(&params);
	wire_request(to, id, method, &params);
	enc_fini(&params);
}

/* The next answer is to this request; what it says, in the caller's arena. */
static const struct val *
next_answer(struct wire *w, uint32_t id, struct codec_arena **arena)
{
	char buf[sizeof(w->buf)], why[100];
	size_t used, n = wire_answer(w, buf, sizeof(buf));
	const struct val *f = NULL;

	expect(codec_decode(buf, n, &codec_limits_trusted, &used, arena, &f,
		   why, sizeof(why)) == CODEC_OK);
	expect(f->a.items[1].u == id, "answer %u, not %u",
	    (unsigned)f->a.items[1].u, (unsigned)id);
	return &f->a.items[3];
}

/* A row a unit, and between them a session goes and another one comes: who was
 * there all the while is told once, where it belongs. */
SCENARIO(turns, rows_of_a_list_come_in_slices)
{
	struct codec_arena *a[3] = {NULL};
	struct enc all = ENC_INIT;
	const char *ids[12];
	const struct val *rows;
	struct wire *w;

	needs_faults();
	psupd(.workers = 1, .env = {"PSUP_FAULTS=list.row-by-row=fail"});
	for (int i = 0; i < 12; i++)
		await_end(ids[i] = background(STR("command", "true")));
	w = wire_open();
	add_request(&all, 1, "list", NULL, NULL);
	add_request(&all, 2, "clear", "sessionId", ids[0]);
	add_request(&all, 3, "exec", "command", "true");
	wire_put(w, &all);
	next_answer(w, 2, &a[0]);
	rows = val_get(val_get(next_answer(w, 1, &a[1]), "details"),
	    "sessions");
	expect(rows->a.count == 11, "%zu rows", rows->a.count);
	for (int i = 0; i < 11; i++)
		expect(val_is_str(val_get(&rows->a.items[i], "sessionId"),
			   ids[11 - i]), "row %d", i);
	next_answer(w, 3, &a[2]);
	for (int i = 0; i < 3; i++)
		codec_arena_free(&a[i]);
	enc_fini(&all);
	wire_close(w);
}

/* A wait for 130 sessions: the next request is answered before. */
SCENARIO(turns, a_wait_for_many_looks_in_slices)
{
	struct codec_arena *a[2] = {NULL};
	struct enc all = ENC_INIT, params = ENC_INIT;
	const struct val *rows;
	const char *ids[130];
	struct wire *w;

	psupd();
	for (int i = 0; i < 130; i++)
		ids[i] = background(STR("command", "true"));
	enc_map(&params);
	enc_key(&params, "sessionIds");
	enc_array(&params);
	for (int i = 0; i < 130; i++) {
		await_end(ids[i]);
		enc_str(&params, ids[i]);
	}
	enc_end(&params);
	enc_end(&params);
	w = wire_open();
	wire_request(&all, 1, "wait", &params);
	add_request(&all, 2, "status", NULL, NULL);
	wire_put(w, &all);
	next_answer(w, 2, &a[0]);
	rows = val_get(val_get(next_answer(w, 1, &a[1]), "details"),
	    "sessions");
	expect(rows->a.count == 130, "%zu rows", rows->a.count);
	for (int i = 0; i < 130; i++) {
		expect(val_is_str(val_get(&rows->a.items[i], "sessionId"),
			   ids[i]), "row %d", i);
		expect(val_is_str(val_get(&rows->a.items[i], "met"), "exit"));
	}
	for (int i = 0; i < 2; i++)
		codec_arena_free(&a[i]);
	enc_fini(&all);
	enc_fini(&params);
	wire_close(w);
}

/* A worker that stood still has the ends of 150 commands to tell, more than it
 * takes in one turn: each is told, and what is behind them is heard. */
SCENARIO(turns, a_worker_hears_everybody_after_a_standstill)
{
	const char *ids[150];
	struct answer *a;
	pid_t worker;

	psupd(.workers = 1);
	for (size_t i = 0; i < 150; i++)
		ids[i] = background(STR("command", "exec cat"));
	worker = worker_of(ids[0]);
	kill_now(worker, SIGSTOP);
	await_stopped(worker);
	for (size_t i = 0; i < 150; i++)
		kill_now(pid_of(ids[i]), SIGTERM);
	kill_now(worker, SIGCONT);
	a = ask("exec", STR("command", "echo behind"));
	expect_text(a, "behind");
	for (size_t i = 0; i < 150; i++)
		await_end(ids[i]);
	expect(worker_in(0) == worker);
}

/* A master that stood still: what its worker said is read before the end that came
 * by way of the keeper, but not all of it in one turn. A worker itself tells the
 * end of a command with limits. */
SCENARIO(turns, a_master_hears_few_at_a_time_after_a_standstill)
{
	enum { N = 240, A_TURN = 43 /* 24 records, and what begins before */ };
	const char *ids[N + 1] = {NULL};
	pid_t master, pids[N];
	uint64_t turns;

	psupd(.workers = 1);
	for (size_t i = 0; i + 1 < N; i++)
		ids[i] = background(STR("command", "exec cat"),
		    ONE("limits", "openFiles", 256));
	ids[N - 1] = background(STR("command", "exec cat"));
	for (size_t i = 0; i < N; i++)
		pids[i] = pid_of(ids[i]);
	master = master_pid();
	kill_now(master, SIGSTOP);
	await_stopped(master);
	turns = turns_of(master);
	for (size_t i = 0; i < N; i++)
		kill_now(pids[i], SIGTERM);
	for (size_t i = 0; i < N; i++)
		await_gone(pids[i]);
	kill_now(master, SIGCONT);
	expect_ok(ask("wait", {.key = "sessionIds", .type = 'l', .list = ids}));
	turns = turns_of(master) - turns;
	expect(turns > N / A_TURN, "%d turns", (int)turns);
	expect(master_pid() == master);
}

/* A scope looks for a hard expression 40 times. Another one's wait has as much
 * to do as each of them, and half of the time. */
SCENARIO(turns, waits_of_a_scope_take_its_turns_alone)
{
	struct question *q[40], *other;
	struct peer *hog;
	const char *id;

	psupd(.workers = 1,
	    .conf = "[server]\noutput_budget = 67108864\n");
	id = background(
	    STR("command", "head -c 2097152 /dev/zero | tr '\\0' a"),
	    STR("scope", "hog"), ONE("retain", "tailBytes", 2097152));
	await_end(id);
	hog = peer("hog");
	for (size_t i = 0; i < 40; i++)
		q[i] = ask_later(hog, "wait", STR("sessionId", id),
		    STR("regex", "(a+)+$b"), INT("timeout", 600000));
	other = ask_later(NULL, "wait", STR("sessionId", id),
	    STR("regex", "(a+)+$b"), INT("timeout", 600000));
	expect_str(answer_of(other), "met", "exit");
	for (size_t i = 0; i < 40; i++)
		expect(!is_answered(q[i]), "wait %zu came before another's", i);
}

/* Who asks for a screen waits for the one that is drawn, not for all that another
 * scope has asked for before. */
SCENARIO(turns, screens_of_scopes_are_drawn_in_turn)
{
	struct question *q[40], *other;
	struct peer *hog;
	const char *id;

	psupd(.workers = 1,
	    .conf = "[server]\noutput_budget = 67108864\n");
	id = background(STR("command", "seq 300000; echo over; read x"),
	    YES("pty"), STR("scope", "hog"),
	    ONE("retain", "tailBytes", 4194304));
	await_screen(id, "over");
	hog = peer("hog");
	for (size_t i = 0; i < 40; i++)
		q[i] = ask_later(hog, "screen", STR("sessionId", id));
	expect_ok(ask_as(hog, "list")); /* all of them are queued */
	other = ask_later(NULL, "screen", STR("sessionId", id));
	expect_text(answer_of(other), "over");
	for (size_t i = 0; i < 40; i++)
		(void)is_answered(q[i]); /* reads one answer at most */
	expect(!is_answered(q[39]), "all of the other scope's came before");
}

/* 16 looks into /proc at a time: the 20th of 20 has its turn, too. */
SCENARIO(turns, a_wait_for_input_looks_at_everybody)
{
	const char *ids[21] = {NULL};
	struct answer *a;

	psupd();
	for (int i = 0; i < 19; i++)
		ids[i] = background(PUPPET("hang"));
	ids[19] = background(STR("command", "cat"));
	a = ask("wait", {.key = "sessionIds", .type = 'l', .list = ids},
	    YES("input"), STR("mode", "any"), INT("timeout", 100000));
	expect_str(a, "met", "input");
	for (int i = 0; i < 20; i++)
		expect_ok(ask("kill", STR("sessionId", ids[i]),
		    INT("graceMs", 0)));
}

#define CROWD 200

/* Sessions of a scope that wait in a lane. */
static struct peer *
crowd(const char *scope, const char *ids[CROWD + 1])
{
	struct peer *p = peer(scope);
	struct answer *a;

	for (int i = 0; i < CROWD; i++) {
		a = ask_as(p, "exec", STR("command", "true"),
		    STR("lane", "full"), YES("background"));
		expect_ok(a);
		ids[i] = id_of(a);
	}
	ids[CROWD] = NULL;
	return p;
}

/* The end of 200: the next request is answered before; and nobody is left out
 * because who asked has gone. */
SCENARIO(turns, a_scope_ends_in_slices)
{
	struct codec_arena *a[2] = {NULL};
	struct enc all = ENC_INIT;
	const char *ids[CROWD + 1];
	const struct val *told;
	struct answer *ended;
	struct peer *p;
	struct wire *w;

	psupd();
	(void)holder("full", "gate");
	(void)crowd("first", ids);
	w = wire_open();
	add_request(&all, 1, "killScope", "scope", "first");
	add_request(&all, 2, "status", NULL, NULL);
	wire_put(w, &all);
	next_answer(w, 2, &a[0]);
	told = val_get(next_answer(w, 1, &a[1]), "details");
	expect(val_uint(told, "sessions", 0) == CROWD);
	expect(val_uint(told, "ended", 0) == CROWD);
	p = crowd("second", ids);
	enc_reset(&all);
	add_request(&all, 3, "killScope", "scope", "second");
	wire_put(w, &all);
	wire_close(w);
	ended = ask_as(p, "wait", {.key = "sessionIds", .type = 'l',
	    .list = ids}, INT("timeout", 60000));
	expect_str(ended, "met", "exit");
	open_gate("gate");
	for (int i = 0; i < 2; i++)
		codec_arena_free(&a[i]);
	enc_fini(&all);
}

/* Who reads none of 40 pages of 1 MiB has one of them in the server's memory,
 * however many others are answered meanwhile. */
SCENARIO(turns, answers_that_are_not_read_are_not_made)
{
	struct enc all = ENC_INIT, page = ENC_INIT;
	struct wire *w;
	const char *id;

	psupd(.workers = 1,
	    .conf = "[server]\noutput_budget = 67108864\n");
	id = many_lines();
	enc_map(&page);
	enc_kv_str(&page, "sessionId", id);
	enc_kv_uint(&page, "offset", 0);
	enc_end(&page);
	w = wire_open();
	for (uint32_t i = 0; i < 40; i++)
		wire_request(&all, i, "log", &page);
	wire_put(w, &all);
	for (int i = 0; i < 40; i++)
		expect_ok(ask("log", STR("sessionId", id), INT("offset", 0)));
	expect(share_in_status("memory", "used") < 16 << 20, "%lld bytes",
	    (long long)share_in_status("memory", "used"));
	enc_fini(&all);
	enc_fini(&page);
	wire_close(w);
}

/* Busy is not hung: a piece of work of 3 s, and the master goes on. */
SCENARIO(turns, a_piece_of_3_seconds_is_no_death)
{
	pid_t master;

	needs_faults();
	psupd(.workers = 1,
	    .env = {"PSUP_FAULTS=turn.of-3-seconds=once@30"});
	master = master_pid();
	for (int i = 0; i < 40; i++)
		expect_ok(ask("list"));
	await_log("event=unit-slow");
	expect(master_pid() == master);
}

/* One of 30 s is: it is killed once, and the log names what it was about. */
SCENARIO(turns, a_piece_of_30_seconds_is_one_death_that_is_named)
{
	struct peer *p;
	pid_t master;

	needs_faults();
	psupd(.workers = 1,
	    .env = {"PSUP_FAULTS=turn.of-30-seconds=once@30"});
	master = master_pid();
	p = peer(NULL);
	for (int i = 0; i < 40; i++)
		(void)ask_later(p, "list");
	await_log("event=worker-silent");
	await_log("method=list");
	scn_ask_again();
	await_new_master(master);
	expect_ok(ask("status"));
	expect(count_log("event=worker-silent") == 1);
}

/* What is being made for answers counts, too: 40 connections that ask for a page of
 * 1 MiB each get no more than there is room for. */
SCENARIO(turns, answers_in_the_making_are_counted)
{
	static struct wire *hog[40];
	struct enc page = ENC_INIT;
	const char *id;

	psupd(.workers = 1,
	    .conf = "[server]\noutput_budget = 67108864\n"
		    "client_memory = 16777216\n");
	id = many_lines();
	enc_map(&page);
	enc_kv_str(&page, "sessionId", id);
	enc_kv_uint(&page, "offset", 0);
	enc_end(&page);
	for (int i = 0; i < 40; i++) {
		hog[i] = wire_open();
		expect(wire_hello(hog[i], "lines", NULL));
	}
	for (int i = 0; i < 40; i++)
		wire_send(hog[i], "log", &page);
	for (int i = 0; i < 100; i++)
		expect(share_in_status("memory", "used") < 17 << 20,
		    "%lld bytes", (long long)share_in_status("memory", "used"));
	for (int i = 0; i < 40; i++)
		wire_close(hog[i]);
	enc_fini(&page);
}

/* The answer of a foreground command takes many slices: what stands behind it is
 * answered before. Asked for by its key again, all of it is there already. */
SCENARIO(turns, a_foreground_answer_comes_in_slices)
{
	struct codec_arena *a[5] = {NULL};
	struct enc all = ENC_INIT, params = ENC_INIT;
	struct wire *w;

	psupd(.workers = 1, .conf = "[exec]\nmax_output_chars = 4194304\n");
	enc_map(&params);
	/* colours that are left out: nothing is shown */
	enc_kv_str(&params, "command", "yes $'\\033[m' | tr -d '\\n' | "
				       "head -c 4194304");
	enc_kv_str(&params, "requestKey", "once");
	enc_key(&params, "yieldMs");
	enc_nil(&params);
	enc_end(&params);
	w = wire_open();
	wire_request(&all, 1, "exec", &params);
	wire_put(w, &all);
	next_answer(w, 1, &a[0]);
	enc_reset(&all);
	wire_request(&all, 2, "exec", &params);
	for (uint32_t id = 3; id < 6; id++)
		add_request(&all, id, "lanes", NULL, NULL);
	wire_put(w, &all);
	for (uint32_t id = 3; id < 6; id++)
		next_answer(w, id, &a[id - 2]);
	next_answer(w, 2, &a[4]);
	for (int i = 0; i < 5; i++)
		codec_arena_free(&a[i]);
	enc_fini(&all);
	enc_fini(&params);
	wire_close(w);
}

/* ... and it counts with its scope: one that holds more than there is to lend is
 * refused, and its output can be read by pages. */
SCENARIO(turns, a_foreground_answer_is_counted)
{
	struct answer *a;
	const char *id;
	size_t len;

	psupd(.workers = 1, .conf = "[server]\nclient_memory = 16777216\n"
				    "[exec]\nmax_output_chars = 10485760\n");
	a = ask("exec", STR("command", "head -c 10485760 /dev/zero | "
				       "tr '\\0' a"), NIL("yieldMs"));
	expect_refused(a, "share-used-up");
	id = psup_get_str(psup_value_at(psup_value_get(details(ask("list")),
	    "sessions"), 0), "sessionId", &len);
	expect(id != NULL, "it is not kept");
	id = scn_format("%.*s", (int)len, id);
	expect_ok(ask("log", STR("sessionId", id)));
	expect_text(ask("exec", STR("command", "echo small")), "small");
}

/* Asked of the kernel by a process in a POSIX session of its own: 0 permitted, 1 it
 * is not, 2 there are no autogroups. */
static int
autogroups(void)
{
	int fd, status = 2 << 8;
	pid_t pid = fork();

	if (pid == 0) {
		(void)setsid();
		fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
		_exit(fd < 0 ? 2 : write(fd, "-10", 3) != 3);
	}
	(void)waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

/* Where that is permitted psup has processors before its commands have, and says
 * which it is. */
SCENARIO(turns, commands_come_after_the_server)
{
	int own = getpriority(PRIO_PROCESS, 0), nice;
	int64_t weight, group;
	const psup_value *v;
	bool first;

	psupd(.workers = 1);
	expect_str(ask("exec", STR("command", "nice")), "aggregated",
	    scn_format("%d\n", own));
	nice = getpriority(PRIO_PROCESS, (id_t)master_pid());
	expect(nice == own || nice == own - 10, "%d", nice);
	v = psup_value_get(psup_reply_value(ask("status")->reply), "scheduling");
	expect(psup_get_int(v, "nice", 99) == nice);
	weight = psup_get_int(v, "cpuWeight", 0);
	group = psup_get_int(v, "autogroupNice", 99);
	first = psup_get_bool(v, "beforeCommands", false);
	if (weight != 0) {
		expect(weight == 932 && first, "%lld", (long long)weight);
		return;
	}
	if (autogroups() == 2) {
		expect(first == (nice < own));
		return;
	}
	expect(group == 0 || group == -10, "nice %lld", (long long)group);
	expect(first == (group < 0));
	expect_text(ask("exec", STR("command", "cat /proc/self/autogroup")),
	    "nice 0");
	if (autogroups() == 0 && geteuid() == 0)
		expect(group == -10 && nice == own - 10);
}

/* Whom somebody has made less of starts commands all the same, which are worth no
 * less than before. */
SCENARIO(turns, a_worker_that_was_made_less_of_starts_commands)
{
	psupd(.workers = 1);
	expect_ok(ask("exec", STR("command", "true")));
	expect(setpriority(PRIO_PROCESS, (id_t)worker_in(0), 15) == 0);
	expect_ok(ask("exec", STR("command", "true")));
}

/* One at which two masters have died in the middle of the work: the third one does
 * not take it, and all others it does. */
SCENARIO(turns, a_request_that_two_masters_died_of_is_refused)
{
	struct enc usage = ENC_INIT;
	char answer[4096];
	struct wire *w;
	pid_t master;
	size_t n;

	needs_faults();
	psupd(.workers = 1, .env = {"PSUP_FAULTS=list.with-usage=abort"});
	await_end(background(STR("command", "true")));
	enc_map(&usage);
	enc_kv_bool(&usage, "usage", true);
	enc_end(&usage);
	for (int i = 0; i < 2; i++) {
		master = master_pid();
		w = wire_open();
		wire_send(w, "list", &usage);
		expect(wire_answer(w, answer, sizeof(answer)) == 0);
		wire_close(w);
		await_new_master(master);
	}
	await_log("event=request-refused-from-now-on");
	master = master_pid();
	w = wire_open();
	wire_send(w, "list", &usage);
	n = wire_answer(w, answer, sizeof(answer));
	expect(memmem(answer, n, "refused-after-deaths", 20) != NULL);
	wire_close(w);
	scn_ask_again();
	expect_ok(ask("list"));
	expect_ok(ask("status"));
	expect_refused(ask("list", YES("usage")), "refused-after-deaths");
	expect(master_pid() == master);
	enc_fini(&usage);
}
