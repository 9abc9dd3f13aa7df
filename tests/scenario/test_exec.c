/* SPDX-License-Identifier: MIT */
/* exec from its request to its answer: how it ended, when it answers, what
 * the command sees. Compatibility points 1 and 2. */
#include "lib_scn.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

TestSuite(exec);

SCENARIO(exec, answers_with_the_output)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "echo hello; echo there >&2"));
	expect_ok(a);
	expect_str(a, "status", "completed");
	expect_int(a, "exitCode", 0);
	expect_str(a, "exitReason", "exit");
	expect_text(a, "hello\n");
	expect_text(a, "there\n");
	expect_flag(a, "truncated", false);
	expect_flag(a, "timedOut", false);
	expect_int(a, "totalOutputChars", 12);
	expect(number_of(a, "durationMs") >= 0);
}

SCENARIO(exec, says_so_where_there_is_no_output)
{
	psupd();
	expect_text(ask("exec", STR("command", "true")), "(no output)");
}

SCENARIO(exec, completes_with_an_exit_code_that_is_not_zero)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "echo out; exit 3"));
	expect_ok(a);
	expect_str(a, "status", "completed");
	expect_int(a, "exitCode", 3);
	expect_text(a, "out");
	expect_text(a, "(Command exited with code 3)");
	expect_absent(a, "failureKind");
}

SCENARIO(exec, fails_with_the_kind_of_failure)
{
	static const struct {
		const char *command, *kind, *reason;
		int code; /* -1: none */
	} rows[] = {
	    {"no-such-command-here", "shell-command-not-found", "exit", 127},
	    {"./plain-file", "shell-not-executable", "exit", 126},
	    {"kill -9 $$", "signal", "signal", -1},
	    {"kill -SEGV $$", "signal", "signal", -1},
	};

	psupd();
	fclose(fopen(file_in_scenario("plain-file"), "we"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer *a = ask("exec", STR("command", rows[i].command),
		    STR("workdir", file_in_scenario("")));

		expect_str(a, "status", "failed");
		expect_str(a, "failureKind", rows[i].kind);
		expect_str(a, "exitReason", rows[i].reason);
		if (rows[i].code >= 0)
			expect_int(a, "exitCode", rows[i].code);
		else
			expect_absent(a, "exitCode");
	}
	expect_str(ask("exec", STR("command", "kill -9 $$")), "exitSignal",
	    "SIGKILL");
}

SCENARIO(exec, runs_a_program_without_a_shell)
{
	struct answer *a;

	psupd();
	a = ask("exec", LIST("argv", "printf", "%s|", "a b", "$HOME", ""));
	expect_str(a, "status", "completed");
	expect_text(a, "a b|$HOME||");
}

SCENARIO(exec, a_program_that_cannot_be_started_is_a_failed_session)
{
	struct answer *a;

	psupd();
	a = ask("exec", LIST("argv", "/no/such/program"), YES("background"));
	if (a->status == PSUP_OK && psup_get_is(details(a), "status",
	        "running"))
		a = poll_to_the_end(id_of(a), "r").last;
	expect_str(a, "status", "failed");
	expect_str(a, "exitReason", "spawn-error");
	expect_text(a, "No such file");
	expect_ok(ask("exec", STR("command", "true")));
}

SCENARIO(exec, yields_to_the_background)
{
	char script[300];
	struct answer *a;
	struct output o;

	psupd();
	snprintf(script, sizeof(script), "print before; await %s; print after",
	    file_in_scenario("gate"));
	a = ask("exec", PUPPET(script), INT("yieldMs", 3000));
	expect_ok(a);
	expect_str(a, "status", "running");
	expect_str(a, "tail", "before\n");
	expect(number_of(a, "pid") > 1);
	expect(number_of(a, "startedAt") > 0);
	open_gate("gate");
	o = poll_to_the_end(id_of(a), "r");
	expect_str(o.last, "status", "completed");
	expect(o.len == 13 && memcmp(o.bytes, "before\nafter\n", 13) == 0,
	    "%.*s", (int)o.len, o.bytes);
}

SCENARIO(exec, clamps_the_yield)
{
	int64_t start;
	struct answer *a;

	psupd();
	start = now_ms();
	a = ask("exec", PUPPET("hang"), INT("yieldMs", 1));
	expect_str(a, "status", "running");
	expect(now_ms() - start >= 9, "it came too early");
	/* 999 999 would be refused if it were not clamped to 120 000. */
	expect_str(ask("exec", STR("command", "true"),
	               INT("yieldMs", 999999)),
	    "status", "completed");
}

SCENARIO(exec, answers_at_once_in_the_background)
{
	const char *gate;
	struct answer *a;
	char script[300];

	psupd();
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "await %s; print late", gate);
	a = ask("exec", PUPPET(script), YES("background"));
	expect_str(a, "status", "running");
	expect_str(a, "tail", "");
	fclose(fopen(gate, "we"));
	expect_str(poll_to_the_end(id_of(a), "r").last, "status",
	    "completed");
}

SCENARIO(exec, stays_in_the_foreground_without_a_yield)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "sleep 0.3; echo done"),
	    NIL("yieldMs"));
	expect_str(a, "status", "completed");
	expect_text(a, "done");
}

SCENARIO(exec, ends_at_its_timeout)
{
	struct answer *a;
	int64_t start;

	psupd();
	start = now_ms();
	a = ask("exec", PUPPET("print started; hang"), NUM("timeout", 3));
	expect_str(a, "status", "failed");
	expect_str(a, "failureKind", "overall-timeout");
	expect_str(a, "exitReason", "overall-timeout");
	expect_flag(a, "timedOut", true);
	expect_text(a, "started");
	expect(now_ms() - start < 5000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
}

SCENARIO(exec, takes_timeout_under_either_name)
{
	psupd();
	expect_str(ask("exec", PUPPET("hang"), NUM("timeoutSeconds", 0.1)),
	    "exitReason", "overall-timeout");
	expect_ok(ask("exec", STR("command", "true"), NUM("timeout", 9),
	    INT("timeoutSeconds", 9)));
	expect_refused_for(ask("exec", STR("command", "true"),
	                       NUM("timeout", 9), NUM("timeoutSeconds", 8)),
	    "invalid-params", "timeoutSeconds");
}

SCENARIO(exec, ends_a_silent_command)
{
	struct answer *a;

	psupd();
	a = ask("exec", PUPPET("print once; hang"),
	    NUM("noOutputTimeout", 0.3));
	expect_str(a, "status", "failed");
	expect_str(a, "failureKind", "no-output-timeout");
	expect_str(a, "exitReason", "no-output-timeout");
	expect_text(a, "silent for 0.3 seconds");
	expect_text(a, "not automatically safe");
	expect_flag(a, "noOutputTimedOut", true);
}

SCENARIO(exec, kills_a_command_that_ignores_term)
{
	struct answer *a;
	int64_t start;

	psupd(.conf = "[exec]\ngrace_ms = 200\n");
	start = now_ms();
	a = ask("exec", PUPPET("ignore 15; print deaf; hang"),
	    NUM("timeout", 1)); /* a start may take its while */
	expect_str(a, "exitReason", "overall-timeout");
	expect(now_ms() - start < 2200 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - start));
}

SCENARIO(exec, runs_in_its_directory_with_its_environment)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "pwd; echo $COLOUR-$OPENCLAW_SHELL; "
	                               "test -n \"$PSUP_SESSION_ID\""),
	    STR("workdir", "/usr"), MAP("env", "COLOUR", "blue green"));
	expect_ok(a);
	expect_int(a, "exitCode", 0);
	expect_text(a, "/usr\nblue green-exec\n");
	expect_str(a, "cwd", "/usr");
}

SCENARIO(exec, refuses_what_would_load_code)
{
	static const char *const names[] = {"LD_PRELOAD", "PATH", "BASH_ENV",
	    "NODE_OPTIONS", "PYTHONPATH", "IFS", "1X", "A-B"};

	psupd();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct answer *a = ask("exec", STR("command", "true"),
		    MAP("env", names[i], "x"));

		expect(a->status == PSUP_ERR_REFUSED, "%s", names[i]);
		expect(strstr(a->message, names[i]) != NULL, "%s", a->message);
	}
}

SCENARIO(exec, feeds_a_text_and_closes)
{
	psupd();
	expect_text(ask("exec", STR("command", "cat; echo .end"),
	                STDIN_TEXT("one\ntwo\n")),
	    "one\ntwo\n.end");
	expect_text(ask("exec", STR("command", "cat; echo .end"),
	                STR("stdin", "closed")),
	    ".end");
}

SCENARIO(exec, the_same_key_starts_nothing_twice)
{
	const char *file;
	char command[300];
	struct answer *a, *b;

	psupd();
	file = file_in_scenario("count");
	snprintf(command, sizeof(command), "echo x >> %s; cat %s", file,
	    file);
	a = ask("exec", STR("command", command), STR("requestKey", "k1"));
	b = ask("exec", STR("command", command), STR("requestKey", "k1"));
	expect_ok(a);
	expect_ok(b);
	expect_int(b, "exitCode", 0);
	expect(strcmp(words_of(a),
	           words_of(b)) == 0,
	    "%s", words_of(b));
	expect_text(ask("exec", STR("command", command)), "x\nx\n");
}

SCENARIO(exec, what_is_not_built_is_refused)
{
	psupd();
	expect_refused_for(
	    ask("exec", STR("command", "true"), STR("host", "sandbox")),
	    "unsupported", "host");
	expect_refused_for(
	    ask("exec", STR("command", "true"), STR("host", "node")),
	    "unsupported", "host");
	expect_refused_for(
	    ask("exec", STR("command", "true"), STR("host", "moon")),
	    "invalid-params", "host");
}

SCENARIO(exec, elevated_without_a_sandbox_changes_nothing_and_says_so)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "echo up"), YES("elevated"),
	    STR("ask", "always"));
	expect_str(a, "status", "completed");
	expect_text(a, "elevated changes nothing: a call without scope has no "
	    "sandbox");
}

SCENARIO(exec, a_request_that_is_given_up_ends_its_command)
{
	struct question *q;
	struct answer *a;

	psupd();
	q = ask_later(NULL, "exec", PUPPET("print here; hang"),
	    NIL("yieldMs"), STR("label", "given-up"));
	give_up(q);
	a = answer_of(q);
	if (a->status == PSUP_OK) {
		expect_str(a, "status", "failed");
		expect_str(a, "failureKind", "aborted");
	} else {
		expect_refused(a, "cancelled");
	}
}

SCENARIO(exec, the_command_of_a_client_that_is_gone_ends)
{
	struct peer *gateway;
	const char *file;
	char script[300], text[32] = "";
	FILE *f;

	psupd();
	gateway = peer(NULL);
	file = file_in_scenario("pid");
	snprintf(script, sizeof(script), "echo $$ > %s.new; mv %s.new %s; "
	    "exec sleep 1000", file, file, file);
	ask_later(gateway, "exec", STR("command", script), NIL("yieldMs"));
	await_file(file);
	f = fopen(file, "re");
	expect(f != NULL && fgets(text, sizeof(text), f) != NULL);
	fclose(f);
	hang_up(gateway);
	await_gone(atoi(text));
}

SCENARIO(exec, a_background_session_outlives_its_client)
{
	struct peer *gateway;
	const char *id;

	psupd();
	gateway = peer(NULL);
	id = id_of(ask_as(gateway, "exec", PUPPET("print on; hang"),
	    YES("background")));
	hang_up(gateway);
	await_output(id, "on\n");
	expect(is_alive(pid_of(id)));
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}

/* Does it wait for something? What was sent to it before was taken then. */
static bool
is_asleep(pid_t pid)
{
	char path[64], line[512] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	end = fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
	fclose(f);
	return end != NULL && end[2] == 'S';
}

/* Until the master knows all of them, and each has got its channel. */
static void
await_idle_workers(size_t n)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const psup_value *w;

	for (;;) {
		size_t asleep = 0;

		w = psup_value_get(details(ask("status")), "workers");
		for (size_t i = 0; i < psup_value_count(w); i++)
			asleep += is_asleep((pid_t)psup_get_int(
			    psup_value_at(w, i), "pid", 0));
		if (asleep == n)
			return;
		expect(now_ms() < until, "%zu of %zu wait", asleep, n);
		poll(NULL, 0, 1);
	}
}

/* Takes a worker the descriptors that a spawn needs, or gives them back. */
static void
limit_worker(int slot, rlim_t files)
{
	struct psup_view_process p;
	struct rlimit old, rl;
	psup_view *v;
	char why[200];
	size_t at = 0;

	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0, "%s",
	    why);
	while (psup_view_next_process(v, &at, &p) == 1)
		if (p.slot == slot)
			break;
	psup_view_close(&v);
	expect(p.slot == slot && prlimit(p.pid, RLIMIT_NOFILE, NULL, &old) == 0);
	rl = (struct rlimit){files == 0 ? old.rlim_max : files, old.rlim_max};
	expect(prlimit(p.pid, RLIMIT_NOFILE, &rl, NULL) == 0);
}

SCENARIO(exec, a_worker_without_descriptors_is_not_asked_again)
{
	struct answer *a;

	psupd();
	await_idle_workers(3);
	limit_worker(0, 3);
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
	for (int slot = 1; slot < 3; slot++) /* the standby too */
		limit_worker(slot, 3);
	a = ask("exec", STR("command", "true"));
	expect_str(a, "status", "failed");
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "failureKind", "runtime-error");
	expect_str(a, "errno", "EMFILE");
	for (int slot = 0; slot < 3; slot++)
		limit_worker(slot, 0);
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
}

/* Fewer workers than attempts: one of them is asked twice. */
SCENARIO(exec, a_worker_may_fail_the_same_spawn_twice)
{
	psupd(.workers = 1);
	await_idle_workers(2);
	for (int slot = 0; slot < 2; slot++)
		limit_worker(slot, 3);
	expect_str(ask("exec", STR("command", "true")), "errno", "EMFILE");
}

/* Every field of a session's record, while it runs and after. */
SCENARIO(exec, keeps_a_whole_record)
{
	static const char *const both[] = {"sessionId", "instanceId", "status",
	    "state", "startedAt", "runtimeMs", "cwd", "command", "name", "tail",
	    "truncated", "totalOutputChars", "exited", "closed",
	    "backgrounded", "notifyOnExit", "exitNotified", "scopeKey",
	    "sessionKey", "lane", "label", "tags"};
	static const char *const running[] = {"pid", "stdinWritable",
	    "waitingForInput", "idleMs", "lastOutputAt", "deadlineAt",
	    "worker"};
	static const char *const ended[] = {"exitCode", "exitReason",
	    "timedOut", "endedAt", "holders", "usage"};
	const psup_value *row;
	const char *id;
	char name[64];

	psupd();
	id = background(STR("command", "echo up; read x; exit 5"),
	    STR("scope", "s"), STR("sessionKey", "k"), STR("lane", "l"),
	    STR("label", "b"), MAP("tags", "t", "v"));
	await_output(id, "up\n");
	row = psup_value_at(psup_value_get(details(ask("list")), "sessions"),
	    0);
#define HAS(list)                                                         \
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)       \
		expect(psup_value_get(row, list[i]) != NULL, "%s", list[i])
	HAS(both);
	HAS(running);
	expect(!psup_get_bool(row, "exited", true) &&
	    !psup_get_bool(row, "closed", true) &&
	    !psup_get_bool(row, "exitNotified", true) &&
	    psup_get_bool(row, "notifyOnExit", false));
	ask("write", STR("sessionId", id), STR("data", "\n"));
	row = await_end(id);
	HAS(both);
	HAS(ended);
#undef HAS
	expect(psup_get_bool(row, "exited", false) &&
	    psup_get_bool(row, "closed", false) &&
	    psup_get_bool(row, "exitNotified", false));
	psup_get_copy(row, "name", name, sizeof(name));
	expect(strcmp(name, "echo up") == 0, "%s", name);
	expect(psup_get_int(row, "exitCode", -1) == 5);
}

/* However short the foreground: an answer names the pid. */
SCENARIO(exec, a_yield_waits_for_the_pid)
{
	struct question *q[60];

	psupd();
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		q[i] = ask_later(peer(NULL), "exec", STR("command", "sleep 9"),
		    INT("yieldMs", 10));
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		expect(psup_get_int(details(answer_of(q[i])), "pid", 0) > 0);
}
