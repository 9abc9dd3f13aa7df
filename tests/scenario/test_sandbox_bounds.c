/* SPDX-License-Identifier: MIT */
/* What a box and its commands may take, and what is said where that is not
 * enough. */
#include "lib_boxes.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(sandbox_bounds);

/* Neither its time, nor what it says or takes, is without end. */
SCENARIO(sandbox_bounds, a_setup_has_the_bounds_of_its_box)
{
	struct answer *a;

	psupd(.conf = conf("setup = echo slow && exec sleep 1000\n"
			   "setup_sec = 1\n"));
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	skip_without_boxes(a);
	expect(strcmp(words_of(a), "no sandbox: its setup command did not end "
	    "within 1 s (sandbox.setup_sec)") == 0, "%s", words_of(a));
	write_conf(conf("pids = 20\nsetup = i=0; while [ $i -lt 60 ]; do "
	    "sleep 100 & i=$((i+1)); done\n"));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), "fork") != NULL, "%s", words_of(a));
}

SCENARIO(sandbox_bounds, a_setup_may_say_much)
{
	boxes("setup = head -c 50000000 /dev/zero\n");
	expect_says("echo well", "well\n");
}

/* Its places are those of its scope: a box and a command in it are two. */
SCENARIO(sandbox_bounds, takes_a_place_among_the_sessions_of_its_scope)
{
	struct answer *a = NULL;
	int64_t most, before;
	int n;

	psupd(.conf = conf("scope = session\n"),
	    .wrap = {"prlimit", "--nofile=400:400"});
	a = ask("exec", STR("command", "true"));
	skip_without_boxes(a);
	most = share_in_status("sessions", "limit");
	before = share_in_status("sessions", "used");
	for (n = 0; n < most; n++) {
		a = ask("exec", STR("command", "echo up; "
		    "exec sleep 1000"), YES("background"), STR("scope", "hog"));
		if (a->status != PSUP_OK || !psup_get_is(details(a), "status",
		    "running"))
			break;
		await_output(id_of(a), "up");
	}
	expect(n < most / 2, "%d of %lld", n, (long long)most);
	expect(share_in_status("sessions", "used") - before >= 2 * n - 4);
	a = ask("exec", STR("command", "echo on"), STR("scope", "quiet"));
	expect_str(a, "aggregated", "on\n");
}

/* A box is no session of anybody's: one that is kept keeps no scope from being
 * drained. */
SCENARIO(sandbox_bounds, keeps_no_scope_from_being_drained)
{
	struct answer *a;

	boxes("scope = agent\n");
	(void)says_as(peer("one"), "true");
	a = ask("drainScope", STR("scope", "one"), INT("timeout", 0));
	expect_ok(a);
	expect_flag(a, "drained", true);
	expect_int(a, "left", 0);
	expect(bwrap_pid() != 0, "the box is to live meanwhile");
}

/* What would take a call out of its box by a parameter. */
SCENARIO(sandbox_bounds, a_call_gets_less_than_its_box_has_and_never_more)
{
	struct arg spill = MAP("spill", "path", file_in_scenario("spilled"));
	struct answer *a;

	boxes("memory = 128m\n");
	a = ask("exec", STR("command", "echo out"), spill);
	expect_refused_for(a, "unsupported", "spill");
	expect(access(file_in_scenario("spilled"), F_OK) != 0, "it was made");
	a = ask("exec", STR("command", "true"),
	    ONE("limits", "memoryBytes", 1 << 28));
	expect_refused_for(a, "invalid-params", "limits.memoryBytes");
	expect(strstr(words_of(a), "268435456; expected at most 134217728") !=
	    NULL, "%s", words_of(a));
	a = ask("exec", STR("command", "true"), ONE("limits", "memoryBytes", 1 << 26));
	expect_str(a, "status", "completed");
	write_conf(conf("memory = 128m\n[limits]\nmemoryBytes = 1073741824\n"));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	a = ask("exec", STR("command", "true"));
	expect(psup_get_int(psup_value_get(psup_value_get(details(a),
	    "limits"), "memoryBytes"), "limit", 0) == 128 << 20, "%s",
	    words_of(a));
}

SCENARIO(sandbox_bounds, without_a_bound_has_commands_with_one)
{
	struct answer *a;

	boxes("memory = 0\n");
	a = ask("exec", STR("command", "echo in"),
	    ONE("limits", "memoryBytes", 1 << 26));
	expect_str(a, "status", "completed");
	expect_str(a, "aggregated", "in\n");
}

/* What a box writes into memory is bounded, wherever it writes. */
SCENARIO(sandbox_bounds, bounds_its_own_file_systems)
{
	boxes("memory = 64m\n");
	expect_says("for d in /tmp /dev/shm /run /var; do "
	    "df -k $d | tail -1 | while read -r x size y; do "
	    "echo $size; done; done",
	    "32768\n16384\n8192\n8192\n");
	expect_says("for d in /tmp /dev/shm /run /var; do "
	    "head -c 100000000 /dev/zero 2>/dev/null >$d/x && echo all; "
	    "rm $d/x; done; (echo x >/dev/x) 2>/dev/null || echo refused",
	    "refused\n");
}

SCENARIO(sandbox_bounds, bounds_processes_and_memory)
{
	struct answer *a;

	boxes("pids = 40\nmemory = 64m\n");
	a = ask("exec", STR("command",
	    "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}"));
	expect(strstr(words_of(a), "200000000") == NULL, "%s", words_of(a));
	expect_says("echo well", "well\n");
	a = ask("exec", STR("command",
	    "i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; wait"),
	    INT("timeout", 20), NIL("yieldMs")); /* they fill the box */
	expect(strcmp(text_of(a, "status"), "running") != 0);
	expect(strstr(words_of(a), "fork") != NULL ||
	    strstr(words_of(a), "Resource temporarily") != NULL, "%s",
	    words_of(a));
}

#define EATS_50M "head -c 50000000 /dev/zero | tail -c 50000000 >/dev/null"
#define FORKS_25 "i=0; while [ $i -lt 25 ]; do sleep 600 >/dev/null 2>&1 & " \
		 "i=$((i+1)); done"

/* All that run in it, and what they leave in its /tmp, count as one. */
SCENARIO(sandbox_bounds, is_bounded_as_a_whole)
{
	const psup_value *row;
	struct answer *a;

	boxes("memory = 64m\npids = 40\n");
	row = psup_value_at(psup_value_get(details(ask("sandboxes")), "boxes"),
	    0);
	if (psup_get_is(row, "memoryBy", "rlimit") ||
	    psup_get_is(row, "pidsBy", "rlimit"))
		skip_scenario("no control group here bounds a box");
	(void)says("head -c 24000000 /dev/zero >/tmp/a");
	a = ask("exec", STR("command", EATS_50M));
	expect_str(a, "exitReason", "oom");
	expect_text(a, "out of memory (limit memoryBytes of its sandbox)");
	/* who was killed by somebody else was not out of memory */
	a = ask("exec", STR("command", "rm /tmp/a; kill -KILL $$"));
	expect_str(a, "exitReason", "signal");
	/* a session with less than its box has */
	a = ask("exec", STR("command", EATS_50M),
	    ONE("limits", "memoryBytes", 20 << 20));
	expect_str(a, "exitReason", "oom");
	expect_text(a, "out of memory (limit memoryBytes)");
	expect_str(ask("exec", STR("command", EATS_50M)), "status", "completed");
	/* two that would each be few enough */
	(void)says(FORKS_25);
	a = ask("exec", LIST("argv", "sh", "-c", FORKS_25));
	expect_str(a, "exitReason", "limit");
	expect_text(a, "limit pids of its sandbox");
}

/* It is said whose processes are used up: the machine has more. */
SCENARIO(sandbox_bounds, one_without_a_process_left_is_named)
{
	const psup_value *row;
	struct answer *a;
	const char *id;
	int n = 0;

	boxes("pids = 8\n");
	row = psup_value_at(psup_value_get(details(ask("sandboxes")), "boxes"),
	    0);
	if (psup_get_is(row, "pidsBy", "rlimit")) /* of who forks in there */
		skip_scenario("no control group here bounds a box");
	do { /* what cannot start may be told of later */
		a = ask("exec", LIST("argv", "sh", "-c",
		    "echo up; exec sleep 600"), YES("background"));
		id = text_of(a, "sessionId");
		if (strcmp(text_of(a, "status"), "running") != 0 ||
		    strcmp(text_of(ask("wait", STR("sessionId", id),
			STR("text", "up")), "met"), "text") == 0)
			continue;
		a = ask("poll", STR("sessionId", id));
	} while (strcmp(text_of(a, "status"), "running") == 0 && ++n < 9);
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "errno", "EAGAIN");
	expect_absent(a, "hungAt");
	expect_text(a, "sh echo up; exec sleep 600 in the box \"agent \", which may have 8 "
	    "processes (sandbox.pids): ");
}

/* What is ours of a start does not count for long: as many at once as are let
 * begin find room in a box of the default bounds. */
SCENARIO(sandbox_bounds, has_room_for_all_that_start_at_once)
{
	static struct question *qs[200];
	size_t i;

	boxes("");
	for (i = 0; i < sizeof(qs) / sizeof(*qs); i++)
		qs[i] = ask_later(NULL, "exec", LIST("argv", "true"));
	for (i = 0; i < sizeof(qs) / sizeof(*qs); i++)
		expect_int(answer_of(qs[i]), "exitCode", 0);
}

/* A file system of 2 MiB, for this scenario alone. */
static void
mount_small(const char *dir)
{
	if (geteuid() != 0)
		skip_scenario("only root mounts");
	expect(mkdir(dir, 0755) == 0);
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("small", dir, "tmpfs", 0, "size=2m,mode=0755") != 0)
		skip_scenario("nothing can be mounted here: %s",
		    strerror(errno));
}

/* A workspace has no quota: who fills it finds it full, as does whoever else
 * writes on that disk, and nothing else is harmed. */
SCENARIO(sandbox_bounds, a_full_workspace_harms_nobody_beyond_its_disk)
{
	struct peer *filler, *other;
	struct answer *a;

	mount_small(file_in_scenario("boxes"));
	boxes("");
	filler = peer("filler");
	other = peer("other");
	expect(strcmp(says_as(other, "echo mine >kept; cat kept"), "mine\n") ==
	    0);
	a = ask_as(filler, "exec", STR("command", "cat /dev/zero >fill"));
	expect(number_of(a, "exitCode") != 0 && strstr(text_of(a, "aggregated"),
	    "No space left on device") != NULL, "%s", words_of(a));
	a = ask_as(other, "exec", STR("command",
	    "head -c 8192 /dev/zero >more"));
	expect(number_of(a, "exitCode") != 0, "it shares the disk");
	expect(strcmp(says_as(other, "cat kept; echo x >/tmp/x; cat /tmp/x"),
	    "mine\nx\n") == 0);
	expect(strcmp(says_as(peer("third"), "echo a box more"),
	    "a box more\n") == 0);
	expect_str(ask_as(filler, "exec", STR("command", "rm fill")), "status",
	    "completed");
	expect(strcmp(says_as(other, "echo more >>kept; cat kept"),
	    "mine\nmore\n") == 0);
}
