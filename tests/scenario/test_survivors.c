/* SPDX-License-Identifier: MIT */
/* Who is left when a session has ended: named, still in reach of a kill, or
 * nobody, and that is said. */
#include "lib_tree.h"

#include <stdlib.h>
#include <string.h>

SCENARIO(survivors, what_outlives_its_command_is_left_alone)
{
	struct answer *a;
	pid_t daemon;
	const char *id;

	psupd(.workers = 1);
	a = ask("exec", STR("command",
	    "setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!"));
	expect_str(a, "status", "completed");
	daemon = (pid_t)atoi(text_of(a, "aggregated"));
	expect(is_alive(daemon));
	/* nor does the end of another session reach it */
	id = background(STR("command", "echo up; sleep 1000"));
	await_output(id, "up\n");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	expect(is_alive(daemon));
	expect_ok(ask("shutdown", INT("graceMs", 100)));
	server_ends();
	await_gone(daemon);
}

/* The numbers of a list, as text; those processes end. */
static void
await_gone_listed(const char *list)
{
	char *end;
	long pid;

	for (;; list = end + (*end == ',')) {
		pid = strtol(list, &end, 10);
		if (end == list)
			return;
		await_gone((pid_t)pid);
	}
}

/* The text after a word of it, which must be there. */
static const char *
after(const char *text, const char *word)
{
	const char *p = strstr(text, word);

	expect(p != NULL, "no %s in %s", word, text);
	return p + strlen(word);
}

/* What people type: deaf to TERM in a session of its own, double-forked, behind
 * nohup. psup says that nothing of it remains; or, where the second was not
 * enough to die in, who. */
static void
exec_says_that_nothing_remains(void)
{
	static const char *const line =
	    "setsid sh -c 'trap \"\" TERM; sleep 1000' & (sleep 1000 &) ; "
	    "nohup sleep 1000 & wait";
	static const char nothing[] =
	    "timed out; its processes were ended, 0 remain";
	struct run *r;
	bool some;
	long ms;

	r = cli("exec", "--timeout", "5", "--", "sh", "-c", line);
	expect_exit(r, 124);
	if (strstr(r->err, nothing) == NULL)
		await_gone_listed(after(r->err, "of its processes remain:"));
	r = cli("exec", "--json", "--timeout", "5", "--", "sh", "-c", line);
	expect_exit(r, 124);
	ms = atol(after(r->out, "\"ladder\":{\"ms\":"));
	expect(ms >= 300 && ms <= 300 + 1000 + busy_ms(), "%ld ms", ms);
	some = atol(after(r->out, "\"remaining\":")) > 0;
	expect(!some || ms >= 300 + 1000, "%s", r->out);
	await_gone_listed(after(r->out, "\"remainingPids\":["));
}

SCENARIO(survivors, exec_leaves_nothing_and_says_so)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n");
	exec_says_that_nothing_remains();
}

SCENARIO(survivors, exec_leaves_nothing_and_says_so_with_version_1)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n" V1_CGROUP);
	exec_says_that_nothing_remains();
}

SCENARIO(survivors, exec_leaves_nothing_and_says_so_without_a_cgroup)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n" NO_CGROUP);
	exec_says_that_nothing_remains();
}

/* The holder with this pid, as a poll names it. */
static const psup_value *
holder_of(const struct answer *a, pid_t pid)
{
	const psup_value *list = psup_value_get(details(a), "holderList");
	size_t i;

	for (i = 0; i < psup_value_count(list); i++)
		if (psup_value_int(psup_value_get(psup_value_at(list, i),
		        "pid"), 0) == pid)
			return psup_value_at(list, i);
	return NULL;
}

/* How many hold the output of the one session that is listed: asked twice, since
 * the second time its row is told again. */
static int64_t
holders_listed(void)
{
	int64_t n[2];

	for (int i = 0; i < 2; i++)
		n[i] = psup_get_int(psup_value_at(psup_value_get(
		    details(ask("list", YES("all"))), "sessions"), 0),
		    "holders", -1);
	expect(n[0] == n[1], "%lld holders, then %lld", (long long)n[0],
	    (long long)n[1]);
	return n[0];
}

/* The shell is gone, two hold its output: the answer comes, names them, and
 * they can still be killed. */
static void
survivors_are_named_and_killable(void)
{
	const psup_value *h;
	struct answer *a;
	const char *id;
	size_t len;
	pid_t pids[2];

	id = leave_behind(
	    "sh -c 'echo $$; exec nohup sleep 600 2>/dev/null' & "
	    "setsid sh -c 'echo $$; exec sleep 601' & read x", 2, pids);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "status", "completed");
	expect_str(a, "exitReason", "exit");
	expect_flag(a, "exited", true);
	expect_int(a, "holders", 2);
	h = holder_of(a, pids[0]);
	expect(h != NULL && psup_value_str(psup_value_get(h, "name"), &len) !=
	        NULL && len > 0);
	expect(holder_of(a, pids[1]) != NULL);
	expect_absent(a, "ladder");
	expect(holders_listed() == 2);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 300));
	expect_ok(a);
	expect_int(a, "holders", 0);
	expect(holders_listed() == 0);
	expect_int(a, "remaining", 0);
	expect_str(a, "exitReason", "exit");
	expect_dead(pids, 2);
	expect_refused(ask("kill", STR("sessionId", id)), "not-running");
}

SCENARIO(survivors, survivors_are_named_and_killable)
{
	psupd();
	survivors_are_named_and_killable();
}

SCENARIO(survivors, survivors_are_named_and_killable_without_a_cgroup)
{
	psupd(.conf = NO_CGROUP);
	survivors_are_named_and_killable();
}

SCENARIO(survivors, survivors_of_a_scope_are_killable)
{
	struct answer *a;
	pid_t pid;

	psupd();
	a = ask("exec", STR("command", "sleep 600 & echo $!"),
	    STR("scope", "s"));
	expect_int(a, "holders", 1);
	pid = (pid_t)atoi(text_of(a, "aggregated"));
	expect(is_alive(pid));
	a = ask("killScope", STR("scope", "s"), INT("graceMs", 300));
	expect_int(a, "sessions", 0);
	expect_int(a, "remaining", 0);
	expect(!is_alive(pid));
}

SCENARIO(survivors, what_holds_the_output_does_not_hold_the_answer)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "nohup sleep 600 2>/dev/null | cat &"));
	expect_str(a, "status", "completed");
	expect(number_of(a, "endedAt") - number_of(a, "startedAt") <=
	    1000 + busy_ms());
	expect(number_of(a, "durationMs") <= 1000 + busy_ms());
	expect_int(a, "holders", 1); /* cat; sleep writes to cat */
}
