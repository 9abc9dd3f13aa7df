/* SPDX-License-Identifier: MIT */
/* Foreground commands of scoped connections, and clients whose master dies
 * under them. */
#include "lib_inner.h"
#include "lib_wire.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(resume);

/* ------------------------------------------------- a scope's own foreground */

/* The first session that there is, whoever's; its id. */
static const char *
any_session(void)
{
	const psup_value *rows = NULL;
	char *id = scn_alloc(64);
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (psup_value_count(rows) == 0 ||
	    !psup_get_is(psup_value_at(rows, 0), "state", "running")) {
		expect(now_ms() < until, "nothing runs");
		rows = psup_value_get(details(ask("list", YES("all"))),
		    "sessions");
	}
	psup_get_copy(psup_value_at(rows, 0), "sessionId", id, 64);
	return id;
}

/* What feeds, signals, resizes or ends a session. */
static struct answer *
act(struct peer *p, size_t i, const char *id)
{
	switch (i) {
	case 0:
		return ask_as(p, "write", STR("sessionId", id),
		    STR("data", "a\n"));
	case 1:
		return ask_as(p, "send-keys", STR("sessionId", id),
		    LIST("keys", "b", "enter"));
	case 2:
		return ask_as(p, "submit", STR("sessionId", id),
		    STR("data", "c"));
	case 3:
		return ask_as(p, "paste", STR("sessionId", id),
		    STR("text", "d\n"));
	case 4:
		return ask_as(p, "resize", STR("sessionId", id),
		    INT("cols", 90), INT("rows", 20));
	default:
		return ask_as(p, "kill", STR("sessionId", id),
		    STR("signal", "TERM"));
	}
}
#define ACTS 6

/* Who waits for it may act on it; another connection of the scope must ask for
 * it by its request key first; another scope cannot tell that it is there. */
SCENARIO(resume, a_foreground_command_is_its_connections_own)
{
	struct peer *mine, *ours, *theirs;
	struct question *q, *again;
	struct answer *a;
	const char *id;
	char theirs_said[200];

	psupd();
	mine = peer("alice");
	ours = peer("alice");
	theirs = peer("bob");
	q = ask_later(mine, "exec", STR("command", "cat"), YES("pty"),
	    NIL("yieldMs"), STR("stdin", "open"), STR("requestKey", "k"));
	id = any_session();
	for (size_t i = 0; i < ACTS; i++) {
		expect_refused(act(ours, i, id), "not-backgrounded");
		a = act(theirs, i, id);
		expect_refused(a, "not-found");
		snprintf(theirs_said, sizeof(theirs_said),
		    "No session found for %s", id);
		expect_text(a, theirs_said);
	}
	expect_refused(ask_as(mine, "poll", STR("sessionId", id)),
	    "not-backgrounded");
	for (size_t i = 0; i + 1 < ACTS; i++)
		expect_ok(act(mine, i, id));
	await_output(id, "a\r\n");
	again = ask_later(ours, "exec", STR("command", "never run"),
	    NIL("yieldMs"), STR("requestKey", "k"));
	for (size_t i = 0; i < ACTS; i++)
		expect_ok(act(ours, i, id));
	expect_str(answer_of(q), "exitSignal", "SIGTERM");
	expect_str(answer_of(again), "exitSignal", "SIGTERM");
	expect_refused(act(mine, 0, id), "not-found");
}

/* The command line with a token: stdin, its end, and signals get through. */
SCENARIO(resume, exec_with_a_token_is_a_foreground_like_any)
{
	const char *path = file_in_scenario("token");
	struct running *r;
	struct run *done;

	psupd();
	expect_exit(cli("token", "mint", "gw", "--out", path), 0);
	done = cli_fed("one\ntwo\n", 8, "--token-file", path, "exec", "--",
	    "cat");
	expect_exit(done, 0);
	expect_out(done, "one\ntwo\n");
	r = cli_start("--token-file", path, "exec", "--stdin", "closed",
	    "trap 'echo got; exit 9' TERM; echo up; while :; do sleep 0.1; "
	    "done");
	await_run_output(r, "up\n");
	kill_now(pid_of_run(r), SIGTERM);
	done = await_run(r);
	expect_exit(done, 9);
	expect_out(done, "up\ngot\n");
}

/* ------------------------------------------------------- repeated requests */

/* A signal whose answer got lost is asked for again, of another master. */
SCENARIO(resume, a_kill_of_the_same_id_is_done_once)
{
	const char *script = "trap 'echo hup' HUP; trap 'echo end; exit' INT; "
	                     "echo up; while :; do sleep 0.05; done";
	const char *id;

	psupd();
	id = background(STR("command", script));
	await_output(id, "up\n");
	for (int i = 0; i < 3; i++) {
		expect_ok(ask("kill", STR("sessionId", id),
		    STR("signal", "HUP"), NO("escalate"), INT("killId", 77)));
		await_output(id, "hup\n");
		if (i == 1)
			kill_master();
	}
	expect_ok(ask("kill", STR("sessionId", id), STR("signal", "INT"),
	    NO("escalate"), INT("killId", 78)));
	(void)await_end(id);
	expect_text(ask("poll", STR("sessionId", id)), "up\nhup\nend\n");
}

/* The end of a terminal's input, told again at its position, is one ^D. */
SCENARIO(resume, a_terminals_end_of_input_is_given_once)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(STR("command", "cat; echo next; cat"), YES("pty"));
	for (int i = 0; i < 3; i++) {
		a = ask("write", STR("sessionId", id), STR("data", "x\n"),
		    YES("eof"), INT("position", 0));
		expect_ok(a);
		expect_int(a, "position", 3);
		await_output(id, "next\r\n");
	}
	/* the second cat still reads */
	expect_ok(ask("write", STR("sessionId", id), STR("data", "y\n")));
	await_output(id, "y\r\ny\r\n");
}

/* ----------------------------------------------------- psup exec, resuming */

/* The master dies before, amid and after what the command prints. */
SCENARIO(resume, exec_goes_on_after_each_of_three_masters)
{
	const char *gate[3];
	struct running *r;
	struct run *done;
	char command[900];

	psupd();
	for (int i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "gate%d", i);
		gate[i] = file_in_scenario(name);
	}
	snprintf(command, sizeof(command),
	    "echo up; until test -e %s; do sleep 0.05; done; echo one; "
	    "until test -e %s; do sleep 0.05; done; echo two; "
	    "until test -e %s; do sleep 0.05; done; exit 5",
	    gate[0], gate[1], gate[2]);
	r = cli_start("exec", command);
	await_run_output(r, "up\n");
	for (int i = 0; i < 3; i++) {
		kill_master();
		fclose(fopen(gate[i], "we"));
		if (i < 2)
			await_run_output(r, i == 0 ? "one\n" : "two\n");
	}
	done = await_run(r);
	expect_exit(done, 5);
	expect_out(done, "up\none\ntwo\n");
	expect(done->err_len == 0, "%s", done->err);
}

/* Who is told to end need not wait for a master that does not come. */
SCENARIO(resume, exec_ends_by_signals_while_no_master_answers)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct running *r;
	pid_t keeper, me;

	psupd();
	keeper = keeper_pid();
	r = cli_start("exec", "--stdin", "closed", "echo up; exec sleep 1000");
	await_run_output(r, "up\n");
	me = pid_of_run(r);
	kill_now(keeper, SIGSTOP);
	await_stopped(keeper);
	kill_now(master_pid(), SIGKILL);
	while (is_alive(me)) {
		expect(now_ms() < until, "it does not end");
		(void)kill(me, SIGTERM);
		poll(NULL, 0, 20);
	}
	kill_now(keeper, SIGCONT);
	expect_exit(await_run(r), 128 + SIGTERM);
}

/* ... and one signal is enough for who has a while, also where it was on its way
 * when the master died. */
SCENARIO(resume, one_signal_ends_who_waits_for_a_master)
{
	struct running *r;
	struct run *done;
	pid_t keeper, old;

	psupd();
	keeper = keeper_pid();
	old = master_pid();
	r = cli_start("exec", "--stdin", "closed", "echo up; sleep 600");
	await_run_output(r, "up\n");
	kill_now(keeper, SIGSTOP);
	await_stopped(keeper);
	kill_now(old, SIGSTOP);
	await_stopped(old);
	kill_now(pid_of_run(r), SIGTERM);
	kill_now(old, SIGKILL);
	done = await_run(r);
	expect_exit(done, 128 + SIGTERM);
	expect(strstr(done->err, "no master answers") != NULL, "%s",
	    done->err);
	kill_now(keeper, SIGCONT);
	await_new_master(old);
}

/* Signals reach the command once each, though the master dies around them, and
 * so does its time-out. */
SCENARIO(resume, signals_arrive_once_whoever_dies)
{
	struct running *r;
	struct run *done;

	psupd();
	r = cli_start("exec", "--stdin", "closed",
	    "trap 'echo hup' HUP; trap 'echo term; exit 9' TERM; echo up; "
	    "while :; do sleep 0.05; done");
	await_run_output(r, "up\n");
	for (int i = 1; i <= 3; i++) {
		pid_t old = master_pid();

		kill_now(old, SIGSTOP); /* it will not take the request */
		kill_now(pid_of_run(r), i < 3 ? SIGHUP : SIGTERM);
		kill_now(old, SIGKILL);
		await_new_master(old);
		await_run_output(r, i == 1 ? "up\nhup\n"
		        : i == 2           ? "up\nhup\nhup\n"
		                           : "up\nhup\nhup\nterm\n");
	}
	done = await_run(r);
	expect_exit(done, 9);
	expect_out(done, "up\nhup\nhup\nterm\n");
	r = cli_start("exec", "--timeout", "2", "--stdin", "closed",
	    "echo up; sleep 600");
	await_run_output(r, "up\n");
	kill_master();
	expect_exit(await_run(r), 124);
}
