/* SPDX-License-Identifier: MIT */
/* A foreground call whose command goes on by input alone is answered before its
 * time, and input carries it on; what works, or is not to be answered by
 * anybody, is waited for. */
#include "lib_scn.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(input_yield);

/* Longer than any machine needs to see that somebody waits. */
#define LONG_MS 120000

static bool
have(const char *path)
{
	if (access(path, X_OK) == 0)
		return true;
	fprintf(stderr, "%s is not here: left out\n", path);
	return false;
}

/* Its answer says that it waits, for that. */
static const char *
expect_waits(struct answer *a, const char *reason)
{
	expect_str(a, "status", "running");
	expect_flag(a, "waitingForInput", true);
	expect_str(a, "waitReason", reason);
	expect_text(a, "It seems to wait for input: process write, submit or "
		       "send-keys to answer, write with eof to end its input, "
		       "kill to stop.");
	return id_of(a);
}

SCENARIO(input_yield, who_reads_a_pipe_is_answered_and_carried_on)
{
	static const struct {
		const char *program, *command, *data, *output;
	} rows[] = {
	    {"/bin/cat", "cat", "tea\n", "tea\n"},
	    {"/bin/cat", "read x; echo got $x", "tea\n", "got tea\n"},
	    {"/usr/bin/python3", "/usr/bin/python3 -", "print(6 * 7)\n",
		"42\n"},
	};

	psupd();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *id;

		if (!have(rows[i].program))
			continue;
		id = expect_waits(ask("exec", STR("command", rows[i].command),
				      INT("yieldMs", LONG_MS)),
		    "stdin-read");
		expect_ok(ask("write", STR("sessionId", id),
		    STR("data", rows[i].data), YES("eof")));
		expect(psup_get_is(await_end(id), "status", "completed"));
		expect(strcmp(read_retained(id).bytes, rows[i].output) == 0);
	}
}

SCENARIO(input_yield, who_prompts_on_a_terminal_is_answered)
{
	static const struct {
		const char *program, *command, *keys;
	} rows[] = {
	    {"/bin/bash", "exec /bin/bash --norc", "exit 3"},
	    {"/usr/bin/python3", "exec /usr/bin/python3 -q", "exit(3)"},
	    {"/usr/bin/sqlite3", "exec /usr/bin/sqlite3", ".exit 3"},
	};

	psupd();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *id;

		if (!have(rows[i].program))
			continue;
		id = expect_waits(ask("exec", STR("command", rows[i].command),
				      YES("pty"), INT("yieldMs", LONG_MS)),
		    "tty-read");
		expect_ok(ask(
		    "submit", STR("sessionId", id), STR("data", rows[i].keys)));
		expect(psup_get_int(await_end(id), "exitCode", -1) == 3);
	}
}

/* Whose answer was lost asks again; meanwhile it may have gone on to work. */
SCENARIO(input_yield, a_repeat_says_what_it_waits_for_now)
{
	struct answer *a;
	struct peer *p;
	const char *id;

	psupd();
	id = expect_waits(ask("exec", STR("command", "read x; exec sleep 1000"),
	    STR("requestKey", "k"), INT("yieldMs", LONG_MS)), "stdin-read");
	for (int i = 0; i < 2; i++)
		expect_waits(ask("exec", STR("command", "read x"),
		    STR("requestKey", "k"), INT("yieldMs", LONG_MS)),
		    "stdin-read");
	kill_master();
	p = peer(NULL);
	expect_waits(ask_as(p, "exec", STR("command", "read x"),
	    STR("requestKey", "k"), INT("yieldMs", LONG_MS)), "stdin-read");
	expect_ok(ask_as(p, "write", STR("sessionId", id),
	    STR("data", "tea\n")));
	do
		a = ask_as(p, "exec", STR("command", "read x"),
		    STR("requestKey", "k"), INT("yieldMs", LONG_MS));
	while (psup_get_bool(details(a), "waitingForInput", false));
	expect_str(a, "sessionId", id);
}

SCENARIO(input_yield, who_works_is_waited_for)
{
	static const char *const commands[] = {"sleep 3", "sleep 3 | cat",
	    "cat & sleep 3; kill %1", "x=$(sleep 3)", "sleep 3 & wait",
	    "for i in 1 2 3 4 5 6; do read -t 0.5 x; done; true",
	    "cat <&- ; sleep 3"};
	struct question *q[sizeof(commands) / sizeof(commands[0])];

	psupd();
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		q[i] = ask_later(peer(NULL), "exec",
		    STR("command", commands[i]), INT("yieldMs", LONG_MS));
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		expect(psup_get_is(
			   details(answer_of(q[i])), "status", "completed"),
		    "%s", commands[i]);
}

SCENARIO(input_yield, where_nobody_could_answer_stdin_is_closed)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "cat; echo $?"), NIL("yieldMs"));
	expect_str(a, "aggregated", "0\n");
}

SCENARIO(input_yield, who_stays_with_an_open_one_stays)
{
	struct question *q;
	const char *id;

	psupd();
	q = ask_later(peer(NULL), "exec", STR("command", "cat; echo end"),
	    NIL("yieldMs"), STR("stdin", "open"), STR("label", "mine"));
	id = background(STR("command", "sleep 4"));
	(void)await_end(id);
	expect(!is_answered(q));
	give_up(q);
}

SCENARIO(input_yield, settings_turn_it_off)
{
	struct answer *a;

	psupd(.conf = "[exec]\ninput_yield_ms = 0\n");
	a = ask("exec", STR("command", "cat"), INT("yieldMs", 4000));
	expect_str(a, "status", "running");
	expect_absent(a, "waitingForInput");
}

SCENARIO(input_yield, settings_close_stdin)
{
	psupd(.conf = "[exec]\nstdin = closed\n");
	expect_str(
	    ask("exec", STR("command", "cat; echo $?")), "aggregated", "0\n");
	expect_waits(ask("exec", STR("command", "cat"), STR("stdin", "open"),
			 INT("yieldMs", LONG_MS)),
	    "stdin-read");
}

SCENARIO(input_yield, the_next_master_looks_on)
{
	struct question *q;
	const char *began;
	char command[400];

	psupd();
	began = file_in_scenario("began");
	snprintf(command, sizeof(command), "touch %s; cat", began);
	q = ask_later(peer(NULL), "exec", STR("command", command),
	    INT("yieldMs", LONG_MS), STR("requestKey", "k"));
	await_file(began);
	kill_master();
	expect(strcmp(code_of(answer_of(q)), "connection-lost") == 0);
	expect_waits(ask("exec", STR("command", command),
			 INT("yieldMs", LONG_MS), STR("requestKey", "k")),
	    "stdin-read");
}

SCENARIO(input_yield, without_a_control_group)
{
	psupd(.conf = NO_CGROUP);
	expect_waits(ask("exec", STR("command", "(sh -c cat); true"),
			 INT("yieldMs", LONG_MS)),
	    "stdin-read");
}
