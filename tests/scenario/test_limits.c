/* SPDX-License-Identifier: MIT */
/*
 * Limits of a session: in force, told by what, and named where they ended the
 * command. Where this machine and user have no control group, memory falls
 * back on an rlimit and pids are refused.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib_inner.h"

/* exec with one limit, to its end: a second of cpu time may take long. */
static struct answer *
limited(const char *command, const char *name, int64_t value)
{
	return ask("exec", STR("command", command),
	    ONE("limits", name, value), NIL("yieldMs"));
}

/* What holds a limit of an answer. */
static void
expect_by(const struct answer *a, const char *name, const char *by)
{
	const psup_value *v = psup_value_get(psup_value_get(
	    psup_value_get(details(a), "limits"), name), "by");
	size_t len = 0;
	const char *s = psup_value_str(v, &len);

	expect(s != NULL && len >= strlen(by) &&
	    strncmp(s, by, strlen(by)) == 0, "%s by %.*s", name, (int)len, s);
}

SCENARIO(limits, cpu_time_ends_a_command)
{
	struct answer *a;

	psupd();
	a = limited("while :; do :; done", "cpuSeconds", 1);
	expect_str(a, "exitReason", "limit");
	expect_str(a, "failureKind", "limit");
	expect_str(a, "exitSignal", "SIGXCPU");
	expect_str(a, "status", "failed");
	expect_by(a, "cpuSeconds", "rlimit");
}

SCENARIO(limits, file_size_ends_a_command)
{
	struct answer *a;
	char text[600];

	psupd();
	snprintf(text, sizeof(text), "exec head -c 5000 /dev/zero > %s",
	    file_in_scenario("big"));
	a = limited(text, "fileSizeBytes", 1000);
	expect_str(a, "failureKind", "limit");
	unlink(file_in_scenario("big"));
}

SCENARIO(limits, open_files_and_niceness_are_set)
{
	struct answer *a;
	int nice;

	psupd();
	a = limited("ulimit -n", "openFiles", 77);
	expect_text(a, "77");
	/* (a run that is nice already may only get nicer) */
	nice = getpriority(PRIO_PROCESS, 0) < 7 ? 7 : 19;
	a = limited("nice", "nice", nice);
	expect_text(a, nice == 7 ? "7" : "19");
	expect_by(a, "nice", "nice");
}

SCENARIO(limits, memory_without_a_cgroup_is_each_process_own)
{
	struct answer *a;

	psupd(.conf = NO_CGROUP);
	a = limited("ulimit -v", "memoryBytes", 1 << 30);
	expect_text(a, "1048576");
	expect_by(a, "memoryBytes", "rlimit");
	expect_refused_for(limited("true", "pids", 10), "unsupported",
	    "limits.pids");
}

SCENARIO(limits, memory_of_the_session_is_held)
{
	struct answer *a;
	const char *by;

	psupd();
	a = limited("x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo no",
	    "memoryBytes", 50000000);
	by = psup_value_str(psup_value_get(psup_value_get(psup_value_get(
	    details(a), "limits"), "memoryBytes"), "by"), NULL);
	if (strncmp(by, "cgroup", 6) == 0) {
		expect_str(a, "failureKind", "oom");
		expect_str(a, "exitReason", "oom");
	} else {
		expect(strstr(text_of(a, "aggregated"), "no\n") == NULL);
	}
}

SCENARIO(limits, processes_of_the_session_are_counted)
{
	struct answer *a;

	psupd();
	a = limited("n=0; for i in 1 2 3 4 5 6; do sh -c 'sleep 2; echo ran' "
		    "& done; wait", "pids", 3);
	if (a->status != PSUP_OK) {
		expect_refused_for(a, "unsupported", "limits.pids");
		return;
	}
	expect_by(a, "pids", "cgroup");
	expect(strstr(text_of(a, "aggregated"), "fork") != NULL, "%s",
	    text_of(a, "aggregated"));
}

/* dash gives up at once where it cannot fork; who gets over it completes. */
SCENARIO(limits, too_many_processes_end_a_command)
{
	struct answer *a;

	psupd();
	a = ask("exec", LIST("argv", "dash", "-c",
	            "for i in 1 2 3 4 5 6; do sleep 5 & done; wait"),
	    ONE("limits", "pids", 3));
	if (a->status != PSUP_OK) {
		expect_refused_for(a, "unsupported", "limits.pids");
		return;
	}
	expect_str(a, "exitReason", "limit");
	expect_str(a, "failureKind", "limit");
	expect_str(a, "status", "failed");
	expect_int(a, "exitCode", 2);
	a = ask("exec", LIST("argv", "dash", "-c",
	            "dash -c 'sleep 5 & sleep 5 & sleep 5'; exit 0"),
	    ONE("limits", "pids", 3));
	expect_str(a, "exitReason", "exit");
	a = ask("exec", LIST("argv", "dash", "-c", "exit 2"),
	    ONE("limits", "pids", 3));
	expect_str(a, "exitReason", "exit");
}

SCENARIO(limits, what_is_wrong_or_out_of_reach_is_refused)
{
	struct rlimit files;

	psupd();
	expect_refused(limited("true", "frobs", 1), "invalid-params");
	expect_refused_for(limited("true", "pids", 0), "invalid-params",
	    "limits.pids");
	expect_refused_for(limited("true", "nice", 20), "invalid-params",
	    "limits.nice");
	expect(getrlimit(RLIMIT_NOFILE, &files) == 0);
	if (files.rlim_max < 1048576) /* which is the most there is to ask for */
		expect_refused_for(limited("true", "openFiles",
		    (int64_t)files.rlim_max + 1), "unsupported",
		    "limits.openFiles");
}

SCENARIO(limits, the_command_line_sets_them)
{
	struct run *r;

	psupd();
	r = cli("exec", "--limit", "openFiles=55", "--", "sh", "-c",
	    "ulimit -n");
	expect_exit(r, 0);
	expect_out(r, "55\n");
	expect_exit(cli("exec", "--limit", "frobs=1", "--", "true"), 2);
}

/* A number of details' usage. */
static int64_t
used(const struct answer *a, const char *key)
{
	return psup_value_int(psup_value_get(
	    psup_value_get(details(a), "usage"), key), -1);
}

SCENARIO(limits, usage_is_sampled_for_who_asks)
{
	struct answer *a;
	const char *id;
	int64_t end = now_ms() + SCN_DEADLINE_MS;

	psupd();
	id = background(STR("command",
	    "sleep 1000 & echo up; while :; do :; done"));
	await_output(id, "up\n");
	expect_absent(ask("poll", STR("sessionId", id)), "usage");
	do {
		a = ask("poll", STR("sessionId", id), YES("usage"));
	} while (used(a, "cpuMs") < 20 && now_ms() < end);
	expect(used(a, "cpuMs") >= 20);
	expect(used(a, "pids") == 2, "%lld", (long long)used(a, "pids"));
	expect(used(a, "rssBytes") > 100000);
	expect(used(a, "maxRssBytes") > 100000);
	expect(used(a, "ioBytes") >= 0);
	a = ask("list", YES("usage"));
	expect(psup_value_int(psup_value_get(psup_value_get(psup_value_at(
	    psup_value_get(details(a), "sessions"), 0), "usage"), "pids"),
	    0) == 2);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	a = ask("poll", STR("sessionId", id));
	expect(used(a, "cpuMs") >= 20);
	expect(used(a, "maxRssBytes") > 100000);
	expect(used(a, "rssBytes") == 0 && used(a, "pids") == 0);
}

SCENARIO(limits, usage_at_the_end_counts_who_is_left)
{
	struct answer *a;
	const char *id;

	psupd();
	id = background(STR("command", "sleep 1000 & exit 0"));
	await_end(id);
	a = ask("poll", STR("sessionId", id), YES("usage"));
	expect_int(a, "holders", 1);
	expect(used(a, "pids") == 1, "%lld", (long long)used(a, "pids"));
	expect(used(a, "rssBytes") != 0); /* told where it is known */
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	a = ask("poll", STR("sessionId", id), YES("usage"));
	expect(used(a, "pids") == 0 && used(a, "rssBytes") == 0);
}

SCENARIO(limits, usage_is_sampled_without_a_cgroup)
{
	struct answer *a;
	const char *id;

	psupd(.conf = NO_CGROUP);
	id = background(STR("command", "sleep 1000 & sh -c 'sleep 1000; :' & "
				       "echo up; wait"));
	await_output(id, "up\n");
	a = ask("poll", STR("sessionId", id), YES("usage"));
	expect(used(a, "pids") >= 3, "%lld", (long long)used(a, "pids"));
	expect(used(a, "rssBytes") > 100000);
}

#ifdef PSUP_FAULTS
/* What kills and limits here: a line. */
static const char *
groups_of_server(void)
{
	const psup_value *group = psup_value_get(
	    psup_reply_value(ask("status")->reply), "cgroup");
	const psup_value *by = psup_value_get(group, "limits");
	const psup_value *words[] = {psup_value_get(group, "kill"),
	    psup_value_get(by, "memoryBytes"), psup_value_get(by, "pids")};
	const char *line = "", *word;
	size_t len;

	for (unsigned i = 0; i < 3; i++) {
		word = psup_value_str(words[i], &len);
		expect(word != NULL);
		line = scn_format("%s %.*s", line, (int)len, word);
	}
	return line;
}

/* Each is removed, before it is locked, by a keeper that takes it for a dead
 * one's. */
SCENARIO(limits, groups_are_made_beside_a_keeper_that_sweeps)
{
	const char *alone;

	psupd(.first = true);
	alone = groups_of_server();
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);
	psupd(.env = {"PSUP_FAULTS=keeper.group-swept=once@1,"
		      "keeper.group-swept=once@3,keeper.group-swept=once@5"});
	expect(strcmp(groups_of_server(), alone) == 0, "%s, alone %s",
	    groups_of_server(), alone);
}
#endif
