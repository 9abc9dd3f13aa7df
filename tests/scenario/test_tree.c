/* SPDX-License-Identifier: MIT */
/*
 * The end of a session reaches everything that it started, however hidden;
 * with a control group (where this machine and user have one) and without.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_scn.h"

#define NO_CGROUP "[server]\ncgroup = off\n"
#define V1_CGROUP "[server]\ncgroup = v1\n"

/* Each says its pid: in the group; in a POSIX session of its own and deaf to
 * TERM; double-forked; behind nohup; with an empty environment. */
#define DECOYS_COUNT 5
#define DECOYS                                                              \
	"sh -c 'echo $$; exec sleep 1000' & "                               \
	"setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & "        \
	"(setsid sh -c 'echo $$; exec sleep 1000' &) ; "                    \
	"nohup sh -c 'echo $$; exec sleep 1000' 2>/dev/null & "             \
	"setsid env -i sh -c 'echo $$; exec sleep 1000' & "

/* The first n numbers that a session has printed, one a line. */
static void
pids_of(const char *id, size_t n, pid_t *ret)
{
	int64_t end = now_ms() + SCN_DEADLINE_MS;
	const char *text = "", *p;
	size_t lines = 0, i;

	while (lines < n && now_ms() < end) {
		text = text_of(ask("poll", STR("sessionId", id),
		    INT("since", 0)), "output");
		for (lines = 0, p = text; (p = strchr(p, '\n')) != NULL; p++)
			lines++;
		if (lines < n)
			ask("poll", STR("sessionId", id),
			    INT("timeout", 100));
	}
	expect(lines >= n, "%zu lines", lines);
	for (i = 0, p = text; i < n; i++, p = strchr(p, '\n') + 1) {
		ret[i] = (pid_t)atoi(p);
		expect(ret[i] > 1 && is_alive(ret[i]), "decoy %zu", i);
	}
}

/* Does the server have a control group to kill by? */
static bool
has_group(void)
{
	const psup_value *group = psup_value_get(
	    psup_reply_value(ask("status")->reply), "cgroup");

	return strncmp(psup_value_str(psup_value_get(group, "kill"), NULL),
	           "none", 4) != 0;
}

static void
expect_dead(const pid_t *pids, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		expect(!is_alive(pids[i]), "decoy %zu lives", i);
}

/* The answer says that nobody is left, and that is so at once. */
static void
kill_takes_decoys(void)
{
	pid_t pids[DECOYS_COUNT];
	struct answer *a;
	const char *id;
	int64_t start;

	id = background(STR("command", DECOYS "wait"));
	pids_of(id, DECOYS_COUNT, pids);
	start = now_ms();
	a = ask("kill", STR("sessionId", id), INT("graceMs", 300));
	expect_ok(a);
	expect(now_ms() - start < 300 + 1000 + BUSY_MS, "%lld ms",
	    (long long)(now_ms() - start));
	expect_int(a, "remaining", 0);
	expect_int(a, "unattributed", 0);
	expect_dead(pids, DECOYS_COUNT);
}

SCENARIO(tree, kill_takes_every_descendant)
{
	psupd();
	kill_takes_decoys();
	kill_takes_decoys(); /* in a leaf that is not the first one's */
}

SCENARIO(tree, kill_takes_every_descendant_without_a_cgroup)
{
	psupd(.conf = NO_CGROUP);
	expect(!has_group());
	kill_takes_decoys();
}

SCENARIO(tree, kill_takes_every_descendant_with_version_1)
{
	psupd(.conf = V1_CGROUP);
	kill_takes_decoys();
	kill_takes_decoys();
}

/* The ladder of a time-out. */
static void
timeout_takes_decoys(void)
{
	struct answer *a;
	int64_t start = now_ms();

	a = ask("exec", STR("command", DECOYS "wait"), NUM("timeout", 0.5));
	expect(now_ms() - start < 500 + 300 + 1000 + BUSY_MS, "%lld ms",
	    (long long)(now_ms() - start));
	expect_str(a, "exitReason", "overall-timeout");
	expect_int(a, "remaining", 0);
}

SCENARIO(tree, a_timeout_takes_every_descendant)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n");
	timeout_takes_decoys();
}

SCENARIO(tree, a_timeout_takes_every_descendant_without_a_cgroup)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n" NO_CGROUP);
	timeout_takes_decoys();
}

SCENARIO(tree, what_outlives_its_command_is_left_alone)
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
	await_gone(daemon);
}

SCENARIO(tree, a_successor_kills_to_the_last_descendant)
{
	pid_t pids[DECOYS_COUNT];
	struct answer *a;
	const char *id;

	psupd();
	id = background(STR("command", DECOYS "wait"));
	pids_of(id, DECOYS_COUNT, pids);
	kill_worker_of(id);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 200));
	expect_int(a, "remaining", 0);
	expect_dead(pids, DECOYS_COUNT);
}

SCENARIO(tree, what_forks_without_end_is_ended)
{
	const char *hop = file_in_scenario("hop");
	struct answer *a;
	const char *id;
	FILE *f;

	/* two of itself, each in a session of its own, up to a generation */
	f = fopen(hop, "w");
	expect(f != NULL);
	fputs("#!/bin/sh\n"
	      "[ $1 -lt 7 ] || { while :; do setsid sleep 0.05 & wait; done; }\n"
	      "setsid $0 $(($1 + 1)) &\nsetsid $0 $(($1 + 1)) &\nwait\n", f);
	fclose(f);
	expect(chmod(hop, 0755) == 0);
	psupd();
	id = background(LIST("argv", hop, "0"));
	ask("poll", STR("sessionId", id), INT("timeout", 300));
	a = ask("kill", STR("sessionId", id), INT("graceMs", 0));
	/* looking through /proc may lose the race with what forks without end;
	 * the answer then says how many are left */
	if (has_group())
		expect_int(a, "remaining", 0);
}

SCENARIO(tree, what_hid_from_everything_is_counted)
{
	struct answer *a;
	const char *id;
	pid_t pid;

	psupd(.conf = NO_CGROUP);
	id = background(STR("command",
	    "setsid env -i sh -c 'setsid sleep 1000 & echo $!'; echo up; "
	    "sleep 1000"));
	await_output(id, "up\n");
	pids_of(id, 1, &pid);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 100));
	expect_int(a, "unattributed", 1);
	expect_ok(ask("shutdown", INT("graceMs", 100)));
	await_gone(pid);
}

SCENARIO(tree, kill_scope_ends_one_scope)
{
	struct peer *b;
	struct answer *a;
	const char *mine, *other;

	psupd(.conf = "[lane \"one\"]\nwidth = 1\n");
	b = peer("b");
	mine = background(STR("command", "sleep 1000"), STR("scope", "a"),
	    STR("lane", "one"));
	background(STR("command", "sleep 1000"), STR("scope", "a"),
	    STR("lane", "one"));
	other = background(STR("command", "echo up; sleep 1000"),
	    STR("scope", "b"));
	await_output(other, "up\n");
	expect_int(ask_as(b, "killScope", STR("scope", "a")), "sessions", 0);
	expect_int(ask_as(b, "killScope", STR("scope", "c")), "sessions", 0);
	expect_str(ask("poll", STR("sessionId", mine)), "status", "running");
	expect_refused_for(ask("killScope"), "invalid-params", "scope");
	a = ask("killScope", STR("scope", "a"), INT("graceMs", 100));
	expect_int(a, "sessions", 2);
	expect_int(a, "ended", 2);
	expect_int(a, "remaining", 0);
	expect_str(ask("poll", STR("sessionId", mine)), "exitReason",
	    "manual-cancel");
	expect_str(ask("poll", STR("sessionId", other)), "status", "running");
	expect_int(ask_as(b, "killScope", INT("graceMs", 0)), "ended", 1);
}
