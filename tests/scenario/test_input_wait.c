/* SPDX-License-Identifier: MIT */
/* waitingForInput by evidence: who reads is seen at once, who does not is not
 * taken for it. */
#include "lib_scn.h"

#include <string.h>
#include <unistd.h>

TestSuite(input_wait);

/* Waits for input, and says by which evidence. */
static void
expect_waits(const char *id, const char *reason)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const psup_value *row;
	char got[24] = "nil";
	struct answer *a, *list;

	/* what it wrote before it read may come late: then once more */
	do {
		a = ask("wait", STR("sessionId", id), YES("input"),
		    INT("timeout", 30000));
		expect_str(a, "met", "input");
		a = ask("poll", STR("sessionId", id), INT("since", 0));
		list = ask("list");
		row = psup_value_at(psup_value_get(details(list), "sessions"),
		    0);
	} while ((!psup_get_is(details(a), "waitReason", reason) ||
	             !psup_get_is(row, "waitReason", reason)) &&
	    now_ms() < until);
	expect_flag(a, "waitingForInput", true);
	expect_str(a, "waitReason", reason);
	expect_text(a, "process write, send-keys, submit, or paste");
	psup_get_copy(row, "waitReason", got, sizeof(got));
	expect(psup_get_is(row, "waitReason", reason), "list says %s", got);
	expect_text(list, "[input-wait]");
}

/* Silent for a while, and yet it does not wait. */
static void
expect_busy(const char *id)
{
	struct answer *a = ask("wait", STR("sessionId", id), YES("input"),
	    INT("timeout", 300));

	expect_str(a, "met", "timeout");
	a = ask("poll", STR("sessionId", id), INT("since", 0));
	expect_flag(a, "waitingForInput", false);
	expect(psup_value_type(psup_value_get(details(a), "waitReason")) ==
	    PSUP_NIL, "a reason for nothing");
	expect(strstr(words_of(ask("list")), "[input-wait]") == NULL);
}

/* Is there such a program here? */
static bool
have(const char *path)
{
	return access(path, X_OK) == 0;
}

SCENARIO(input_wait, who_reads_a_pipe_is_seen)
{
	static const char *const commands[] = {"exec cat",
	    "read x; echo got $x", "(sh -c cat); true", "cat | cat >&2"};

	psupd();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const char *id = background(STR("command", commands[i]));

		expect_waits(id, "stdin-read");
		expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	}
}

SCENARIO(input_wait, it_goes_on_when_it_is_fed)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(STR("command", "read x; echo got $x; exec sleep 1000"));
	expect_waits(id, "stdin-read");
	expect_ok(ask("write", STR("sessionId", id), STR("data", "tea\n")));
	await_output(id, "got tea");
	a = ask("poll", STR("sessionId", id));
	expect_flag(a, "waitingForInput", false);
	expect_busy(id);
}

SCENARIO(input_wait, who_does_not_read_is_not_taken_for_it)
{
	static const char *const commands[] = {"exec sleep 1000",
	    "x=$(sleep 1000)", "sleep 1000 | cat", ("exec cat </dev/zero "
	    ">/dev/null")};

	psupd();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const char *id = background(STR("command", commands[i]));

		expect_busy(id);
		expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	}
	expect_busy(background(STR("command", "cat; exec sleep 1000"),
	    STR("stdin", "closed")));
}

SCENARIO(input_wait, silence_counts_where_there_is_no_evidence)
{
	const char *id;
	struct answer *a;

	psupd(.conf = "[exec]\ninput_wait_idle_ms = 1000\n");
	id = background(STR("command", "exec sleep 1000"));
	a = ask("wait", STR("sessionId", id), YES("input"));
	expect_str(a, "met", "input");
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "waitReason", "idle");
	expect_text(a, "No new output for");
	expect_text(a, "may be waiting for input");
}

SCENARIO(input_wait, who_reads_a_terminal_is_seen)
{
	static const char *const commands[] = {"exec cat", "read x",
	    "cat /etc/passwd | less"};
	const char *id;

	psupd();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (i == 2 && !have("/usr/bin/less"))
			continue;
		id = background(STR("command", commands[i]), YES("pty"));
		expect_waits(id, "tty-read");
		expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	}
	id = background(STR("command", "exec sleep 1000"), YES("pty"));
	expect_busy(id);
}

/* They take the terminal out of line mode and sleep in poll. */
SCENARIO(input_wait, who_drives_a_terminal_is_seen)
{
	static const struct {
		const char *program, *command;
	} rows[] = {{"/bin/bash", "exec bash --norc"},
	    {"/usr/bin/python3", "exec python3 -q"},
	    {"/usr/bin/node", "exec node"},
	    {"/usr/bin/vim", "exec vim -u NONE"}};

	psupd();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *id;

		if (!have(rows[i].program))
			continue;
		id = background(STR("command", rows[i].command), YES("pty"));
		expect_waits(id, "tty-read");
		expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	}
}

SCENARIO(input_wait, survives_master_and_worker)
{
	const char *id;

	psupd();
	id = background(STR("command", "exec cat"));
	expect_waits(id, "stdin-read");
	kill_master();
	expect_waits(id, "stdin-read");
	kill_worker_of(id);
	expect_waits(id, "stdin-read");
}

SCENARIO(input_wait, without_a_control_group)
{
	const char *id;

	psupd(.conf = NO_CGROUP);
	id = background(STR("command", "(sh -c cat); true"));
	expect_waits(id, "stdin-read");
}
