/* SPDX-License-Identifier: MIT */
/* What the process tool does to one session: write, kill, clear, remove; and
 * the ends it comes to. Compatibility points 8 and 9. */
#include "lib_scn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(process_acts);

/* ------------------------------------------------------------------ write */

SCENARIO(process_acts, write_feeds_stdin)
{
	const char *id;
	struct answer *a;
	struct output o;

	psupd();
	id = background(PUPPET("cat"));
	a = ask("write", STR("sessionId", id), STR("data", "y\n"));
	expect_ok(a);
	expect_int(a, "accepted", 2);
	await_output(id, "y\n");
	a = ask("write", STR("sessionId", id), BYTES("data", "\0\377\n", 3),
	    YES("eof"));
	expect_int(a, "accepted", 3);
	o = poll_to_the_end(id, "r");
	expect_str(o.last, "status", "completed");
	expect(o.len == 5 && memcmp(o.bytes, "y\n\0\377\n", 5) == 0);
	expect_refused(ask("write", STR("sessionId", id), STR("data", "x")),
	    "not-running");
}

SCENARIO(process_acts, a_write_repeated_at_its_position_gives_nothing_twice)
{
	const char *id;
	struct answer *a;
	struct output o;

	psupd();
	id = background(PUPPET("cat"));
	a = ask("write", STR("sessionId", id), STR("data", "abc"),
	    INT("position", 0));
	expect_int(a, "position", 3);
	a = ask("write", STR("sessionId", id), STR("data", "bcde"),
	    INT("position", 1));
	expect_int(a, "accepted", 4);
	expect_int(a, "position", 5);
	expect_refused_for(ask("write", STR("sessionId", id), STR("data", "x"),
	        INT("position", 6)), "invalid-params", "position");
	for (int i = 0; i < 2; i++) {
		a = ask("write", STR("sessionId", id), STR("data", "f"),
		    INT("position", 5), YES("eof"));
		if (i == 0)
			expect_int(a, "position", 6);
	}
	o = poll_to_the_end(id, "r");
	expect(o.len == 6 && memcmp(o.bytes, "abcdef", 6) == 0);
}

SCENARIO(process_acts, stdin_is_closed_once)
{
	const char *id;

	psupd();
	id = background(STR("command", "cat; sleep 1000"));
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	expect_refused(ask("write", STR("sessionId", id), STR("data", "x")),
	    "stdin-closed");
}

SCENARIO(process_acts, a_child_that_does_not_read_blocks_nobody)
{
	const char *id;
	static char block[1 << 20];
	int64_t accepted = 0;
	bool full = false;

	psupd();
	memset(block, 'w', sizeof(block));
	id = background(STR("command", "read x; cat | wc -c"));
	/* Give nothing to `read` yet: no line end in what is written. */
	for (int i = 0; i < 4 && !full; i++) {
		struct answer *a = ask("write", STR("sessionId", id),
		    BYTES("data", block, sizeof(block)));

		if (a->status == PSUP_OK)
			accepted += number_of(a, "accepted");
		full = a->status != PSUP_OK ||
		    number_of(a, "accepted") < (int64_t)sizeof(block);
	}
	expect(accepted >= (1 << 20), "%lld", (long long)accepted);
	expect(full, "four megabytes were taken");
	expect_str(ask("exec", STR("command", "echo alive")), "status",
	    "completed");
}

SCENARIO(process_acts, every_byte_of_a_megabyte_arrives)
{
	const char *id;
	static char block[1 << 20];
	struct output o;

	psupd();
	memset(block, 'w', sizeof(block));
	id = background(STR("command", "wc -c"));
	for (int i = 0; i < 5; i++) {
		size_t sent = 0;

		while (sent < sizeof(block)) {
			struct answer *a = ask("write", STR("sessionId", id),
			    BYTES("data", block + sent, sizeof(block) - sent),
			    INT("timeout", 30000));

			expect_ok(a);
			sent += (size_t)number_of(a, "accepted");
		}
	}
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	o = poll_to_the_end(id, "r");
	expect(strtol(o.bytes, NULL, 10) == 5 << 20, "%s", o.bytes);
}

/* ------------------------------------------------------------------- kill */

SCENARIO(process_acts, kill_says_term_first)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(STR("command",
	    "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; "
	    "done"));
	await_output(id, "up\n");
	a = ask("kill", STR("sessionId", id));
	expect_ok(a);
	expect_int(a, "remaining", 0);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "status", "failed");
	expect_str(a, "exitReason", "manual-cancel");
	expect_text(a, "bye");
	a = ask("list");
	expect(psup_get_is(psup_value_at(psup_value_get(details(a),
	                       "sessions"), 0),
	    "status", "killed"));
}

SCENARIO(process_acts, kill_ends_what_ignores_term)
{
	const char *id;
	int64_t start;

	psupd();
	id = background(PUPPET("ignore 15; print deaf; hang"));
	await_output(id, "deaf\n");
	start = now_ms();
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 200)));
	expect(now_ms() - start >= 200, "no grace");
	expect(now_ms() - start < 200 + 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
	expect_str(ask("poll", STR("sessionId", id)), "exitSignal", "SIGKILL");
}

SCENARIO(process_acts, kill_takes_the_whole_group)
{
	const char *id;
	pid_t child;

	not_in_a_box("a number that it prints is the box's");
	psupd();
	id = background(STR("command", "sleep 1000 & echo $!; wait"));
	await_output(id, "\n");
	child = atoi(text_of(ask("poll", STR("sessionId", id)), "output"));
	expect(is_alive(child));
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	await_gone(child);
}

SCENARIO(process_acts, kill_sends_another_signal)
{
	const char *id;

	psupd();
	id = background(STR("command",
	    "trap 'echo usr' USR1; echo up; while :; do sleep 0.05; done"));
	await_output(id, "up\n");
	expect_ok(ask("kill", STR("sessionId", id), STR("signal", "USR1"),
	    NO("escalate"), NO("wait")));
	await_output(id, "usr\n");
	expect_ok(ask("kill", STR("sessionId", id), INT("signal", SIGUSR1),
	    NO("escalate"), NO("wait")));
	await_output(id, "usr\n");
	expect(is_alive(pid_of(id)));
	expect_refused_for(ask("kill", STR("sessionId", id),
	                       STR("signal", "NOSUCH")),
	    "invalid-params", "signal");
	expect_refused_for(ask("kill", STR("sessionId", id), INT("signal", 65)),
	    "invalid-params", "signal");
	expect_refused_for(ask("kill", STR("sessionId", id), INT("signal", 0)),
	    "invalid-params", "signal");
}

/* ----------------------------------------------------------- clear, remove */

/* ------------------------------------------------------------- background */

/* A program under a write lease is not executed until that is given back. */
SCENARIO(process_acts, background_waits_for_no_start_that_hangs)
{
	const psup_value *rows;
	const char *path;
	char id[64] = "";
	struct question *q;
	struct answer *a;
	int leased;

	psupd(.conf = "[limits]\nstart_ms = 600000\n");
	path = file_in_scenario("leased");
	leased = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	expect(leased >= 0 && write(leased, "#!/bin/sh\n", 10) == 10);
	expect(fchmod(leased, 0755) == 0); /* the user of boxes runs it, too */
	close(leased);
	leased = open(path, O_RDONLY | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	expect(fcntl(leased, F_SETLEASE, F_WRLCK) == 0, "%s",
	    strerror(errno));
	q = ask_later(peer("s"), "exec", LIST("argv", path), NIL("yieldMs"));
	do {
		a = ask("list", YES("all"));
		rows = psup_value_get(details(a), "sessions");
	} while (psup_value_count(rows) == 0);
	(void)psup_get_copy(psup_value_at(rows, 0), "sessionId", id,
	    sizeof(id));
	expect_ok(ask("background", STR("sessionId", id)));
	a = answer_of(q);
	expect_str(a, "status", "running");
	expect_str(a, "sessionId", id);
	expect_absent(a, "pid");
	close(leased);
	(void)await_end(id);
}

SCENARIO(process_acts, clear_forgets_what_is_finished)
{
	const char *done, *running;

	psupd();
	done = background(STR("command", "true"));
	running = background(PUPPET("hang"));
	await_end(done);
	expect_ok(ask("clear", STR("sessionId", done)));
	expect(!is_listed(NULL, done));
	expect_refused(ask("log", STR("sessionId", done)), "not-found");
	expect_refused(ask("clear", STR("sessionId", running)),
	    "not-finished");
	expect(is_listed(NULL, running));
}

SCENARIO(process_acts, remove_ends_what_runs)
{
	const char *id;
	pid_t pid;

	psupd();
	id = background(PUPPET("print up; hang"));
	await_output(id, "up\n");
	pid = pid_of(id);
	expect_ok(ask("remove", STR("sessionId", id)));
	expect(!is_listed(NULL, id));
	await_gone(pid);
	expect_refused(ask("poll", STR("sessionId", id)), "not-found");
}

/* ------------------------------------------------------------------- ends */

/* A grandchild that keeps stdout open must not keep the answer: point 8. */
SCENARIO(process_acts, a_grandchild_with_the_pipe_does_not_hold_the_end)
{
	struct answer *a;
	int64_t start;

	psupd();
	start = now_ms();
	a = ask("exec", STR("command", "sleep 600 & echo hi"));
	expect_str(a, "status", "completed");
	expect_text(a, "hi");
	expect(now_ms() - start < 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
}

SCENARIO(process_acts, a_child_that_closes_its_output_goes_on)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("print up; close-out; hang"));
	await_output(id, "up\n");
	a = ask("poll", STR("sessionId", id), INT("timeout", 100));
	expect_str(a, "status", "running");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}
