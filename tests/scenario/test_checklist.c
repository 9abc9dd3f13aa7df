/* SPDX-License-Identifier: MIT */
/*
 * The compatibility checklist for what replaces a gateway's own exec and
 * process tools, 1 to 11: what is answered. One scenario a point, numbered as
 * there; 12 to 17, what must be survived, are test_checklist_faults.c.
 */
#include "lib_scn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ESC "\033"

/* The session's fields in a list. */
static const psup_value *
row_of(const char *id)
{
	const psup_value *rows =
	    psup_value_get(details(ask("list")), "sessions");

	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			return psup_value_at(rows, i);
	return NULL;
}

SCENARIO(checklist, c01_exit_codes)
{
	const char *plain = file_in_scenario("plain");
	struct answer *a;
	char command[300];
	int fd;

	psupd();
	a = ask("exec", STR("command", "exit 3"));
	expect_str(a, "status", "completed");
	expect_int(a, "exitCode", 3);
	expect_text(a, "(Command exited with code 3)");
	expect_absent(a, "failureKind");
	a = ask("exec", STR("command", "no_such_command_here"));
	expect_str(a, "status", "failed");
	expect_int(a, "exitCode", 127);
	expect_str(a, "failureKind", "shell-command-not-found");
	fd = open(plain, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	snprintf(command, sizeof(command), "%s; exit", plain);
	a = ask("exec", STR("command", command));
	expect_str(a, "status", "failed");
	expect_int(a, "exitCode", 126);
	expect_str(a, "failureKind", "shell-not-executable");
}

SCENARIO(checklist, c02_yield_is_clamped_and_background_does_not_wait)
{
	const char *gate = file_in_scenario("gate");
	char script[300];
	struct answer *a;
	int64_t start;

	psupd();
	start = now_ms();
	a = ask("exec", PUPPET("hang"), INT("yieldMs", 5));
	expect_str(a, "status", "running");
	expect(now_ms() - start >= 9, "%lld ms", (long long)(now_ms() - start));
	a = ask("exec", STR("command", "sleep 0.3; echo ok"),
	    INT("yieldMs", 999999));
	expect_str(a, "status", "completed");
	snprintf(script, sizeof(script), "await %s; print first", gate);
	a = ask("exec", PUPPET(script), YES("background"));
	expect_str(a, "status", "running");
	expect_str(a, "tail", "");
	close(open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	await_output(id_of(a), "first\n");
}

SCENARIO(checklist, c03_pending_is_capped_for_each_stream)
{
	const char *id, *output;
	struct answer *a;

	psupd(.env = {"OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS=30000"});
	id = background(PUPPET("stderr <first>; bytes 31000; stderr <last>"));
	await_end(id);
	a = ask("poll", STR("sessionId", id));
	output = text_of(a, "output");
	expect(strlen(output) == 30000 + strlen("<first>\n<last>\n"), "%zu bytes",
	    strlen(output));
	expect(strstr(output, "<first>\n") != NULL);
	expect(strstr(output, "<last>\n") != NULL);
	/* said exactly, and not gone */
	expect_int(a, "omitted", 1000);
	expect_int(a, "dropped", 0);
	expect_text(a, "[1000 bytes of earlier output are left out here");
	expect_int(a, "totalOutputChars", 31015);
	expect(read_retained(id).len == 31015);
}

SCENARIO(checklist, c04_log_pages)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("lines 250"));
	await_end(id);
	a = ask("log", STR("sessionId", id));
	expect_int(a, "lines", 200);
	expect_int(a, "firstLine", 50);
	expect_int(a, "totalLines", 250);
	expect_text(a, "line 50\n");
	expect_text(a, "[showing last 200 of 250 lines; pass offset/limit to "
	               "page]");
	a = ask("log", STR("sessionId", id), INT("limit", 3));
	expect(strcmp(words_of(a), "line 247\nline 248\nline 249") == 0, "%s",
	    words_of(a));
	a = ask("log", STR("sessionId", id), INT("offset", 248));
	expect(strcmp(words_of(a), "line 248\nline 249") == 0, "%s",
	    words_of(a));
	a = ask("log", STR("sessionId", id), INT("offset", 10),
	    INT("limit", 1));
	expect(strcmp(words_of(a), "line 10") == 0, "%s", words_of(a));
	a = ask("log", STR("sessionId", id), INT("offset", 250));
	expect_ok(a);
	expect_int(a, "lines", 0);
}

SCENARIO(checklist, c05_caps_evict_the_oldest_and_never_the_newest)
{
	const char *ids[51];
	int64_t bytes = 0;
	int kept = 0;

	psupd(.conf = "[retain]\nfinished = 50\nfinished_bytes = 2000000\n");
	for (int i = 0; i < 51; i++) {
		ids[i] = background(STR("command", "echo x"));
		await_end(ids[i]);
	}
	expect(!is_listed(NULL, ids[0]) && is_listed(NULL, ids[1]) &&
	    is_listed(NULL, ids[50]));
	for (int i = 0; i < 11; i++) {
		ids[i] = background(PUPPET("bytes 200000"));
		await_end(ids[i]);
	}
	for (int i = 0; i < 11; i++) {
		const psup_value *row = row_of(ids[i]);

		kept += row != NULL;
		bytes += row == NULL
		    ? 0
		    : psup_get_int(row, "totalOutputChars", 0);
	}
	expect(kept == 10 && bytes <= 2000000, "%d sessions, %lld bytes", kept,
	    (long long)bytes);
	expect(!is_listed(NULL, ids[0]) && is_listed(NULL, ids[10]));
	/* more than the cap by itself, and still there */
	ids[0] = background(PUPPET("bytes 3000000"));
	await_end(ids[0]);
	expect(is_listed(NULL, ids[0]) && !is_listed(NULL, ids[10]));
}

SCENARIO(checklist, c06_an_unknown_id_answers_at_once)
{
	int64_t start;

	psupd();
	start = now_ms();
	expect_refused(ask("poll", STR("sessionId", "no-such-session"),
	    INT("timeout", 30000)), "not-found");
	expect(now_ms() - start < busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
}

/* Says its pid and cannot be found by group or session, nor by TERM. */
#define HIDDEN \
	"(setsid sh -c 'trap \"\" TERM; echo $$; " \
	"while :; do sleep 1000; done' &); sleep 1000"

/* The number that a session printed. */
static pid_t
hidden_of(const char *id)
{
	await_output(id, "\n");
	return atoi(read_retained(id).bytes);
}

/* Gone within the grace and a second, after a kill and after a time-out. */
static void
hidden_is_gone_in_time(void)
{
	int64_t start;
	struct answer *a;
	const char *id;
	pid_t pid;

	id = background(STR("command", HIDDEN));
	pid = hidden_of(id);
	start = now_ms();
	a = ask("kill", STR("sessionId", id), INT("graceMs", 300));
	expect_ok(a);
	expect_int(a, "remaining", 0);
	expect(!is_alive(pid), "%d lives", pid);
	expect(now_ms() - start < 300 + 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
	start = now_ms();
	id = background(STR("command", HIDDEN), NUM("timeout", 5));
	pid = hidden_of(id);
	await_end(id);
	expect(!is_alive(pid), "%d lives", pid);
	expect(now_ms() - start < 5000 + 300 + 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
	expect_flag(ask("poll", STR("sessionId", id)), "timedOut", true);
}

SCENARIO(checklist, c07_what_hid_is_ended_with_its_session)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n");
	hidden_is_gone_in_time();
}

SCENARIO(checklist, c07_and_without_a_control_group)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n[server]\ncgroup = off\n");
	hidden_is_gone_in_time();
}

SCENARIO(checklist, c08_what_holds_the_pipe_does_not_hold_the_end)
{
	struct answer *a;
	int64_t start;
	const char *id;
	pid_t pid;

	psupd();
	start = now_ms();
	a = ask("exec", STR("command", "nohup sleep 600 2>&1 | cat & echo hi"));
	expect_str(a, "status", "completed");
	expect_text(a, "hi");
	expect(now_ms() - start < 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
	expect(number_of(a, "holders") >= 1, "%lld holders",
	    (long long)number_of(a, "holders"));
	/* They live on, and are still in reach. */
	id = background(STR("command",
	    "sh -c 'echo $$; exec sleep 600' & sleep 0.1"));
	await_end(id);
	pid = hidden_of(id);
	expect(is_alive(pid), "%d was ended with its shell", pid);
	kill_now(pid, SIGTERM);
	await_gone(pid);
}

SCENARIO(checklist, c09_a_reader_that_is_stopped_blocks_nobody)
{
	static char megabyte[1000000];
	const char *id, *other;
	struct answer *a;
	struct output o;

	psupd(.workers = 1);
	id = background(PUPPET("print up; cat"));
	await_output(id, "up\n");
	other = background(PUPPET("print up; cat"));
	await_output(other, "up\n");
	kill_now(pid_of(id), SIGSTOP);
	memset(megabyte, 'm', sizeof(megabyte));
	a = ask("write", STR("sessionId", id),
	    BYTES("data", megabyte, sizeof(megabyte)));
	expect_ok(a);
	expect_int(a, "accepted", sizeof(megabyte));
	a = ask("write", STR("sessionId", id),
	    BYTES("data", megabyte, 200000));
	expect_refused(a, "stdin-full");
	/* the same worker serves others meanwhile */
	expect_ok(ask("write", STR("sessionId", other), STR("data", "on\n")));
	await_output(other, "on\n");
	kill_now(pid_of(id), SIGCONT);
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	o = poll_to_the_end(id, "r");
	expect(number_of(o.last, "totalOutputChars") ==
	        number_of(a, "accepted") + (int64_t)sizeof(megabyte) + 3,
	    "%lld bytes, %lld taken of the second",
	    (long long)number_of(o.last, "totalOutputChars"),
	    (long long)number_of(a, "accepted"));
}

/* All that cat was fed, once its input is closed. */
static void
expect_fed(const char *id, const char *want, size_t len)
{
	struct output o;

	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	await_end(id);
	o = read_retained(id);
	expect(o.len == len && memcmp(o.bytes, want, len) == 0,
	    "%zu bytes: '%s'", o.len, o.bytes);
}

SCENARIO(checklist, c10_hex_and_keys)
{
	static const char keys[] = "\3" "\3" ESC "x" ESC "[Z" ESC "[1;7D" ESC
	                           "OM" ESC "[24~";
	const char *id;

	psupd();
	id = background(PUPPET("cat"));
	expect_ok(ask("send-keys", STR("sessionId", id),
	    LIST("hex", "c3", "a9", "00", "ff")));
	expect_fed(id, "\xc3\xa9\0\xff", 4);
	id = background(PUPPET("cat"));
	expect_ok(ask("send-keys", STR("sessionId", id),
	    LIST("keys", "C-c", "^C", "M-x", "S-Tab", "C-M-Left", "kpenter",
	        "F12")));
	expect_fed(id, keys, sizeof(keys) - 1);
}

SCENARIO(checklist, c11_arrows_follow_the_terminals_mode)
{
	const char *gate = file_in_scenario("gate"), *id;
	char script[300];
	struct answer *a;

	psupd();
	snprintf(script, sizeof(script), "await %s; print " ESC "[?1h; cat",
	    gate);
	id = background(PUPPET(script), YES("pty"));
	a = ask("send-keys", STR("sessionId", id), LIST("keys", "up"));
	expect_refused(a, "cursor-mode-unknown");
	expect(strstr(words_of(a), "Poll") != NULL, "%s", words_of(a));
	close(open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	await_output(id, "[?1h");
	expect_ok(ask("send-keys", STR("sessionId", id), LIST("keys", "up")));
	await_output(id, "^[OA"); /* the terminal's echo */
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}
