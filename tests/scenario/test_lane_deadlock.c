/* SPDX-License-Identifier: MIT */
/* A command that queues behind those it was started from is refused, however
 * it hides where it comes from. */
#include "lib_scn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(lane_deadlock);

/* The shell's words for `psup exec OPTIONS` with this server. */
static const char *
inner(const char *options, const char *command)
{
	char *text = scn_alloc(2000);

	snprintf(text, 2000, "%s/psup --runtime-dir %s --no-start exec %s "
	                     "-- sh -c '%s'",
	    scn_bin_dir(), runtime_dir(), options, command);
	return text;
}

/* The same inside single quotes of another one. */
static const char *
quoted(const char *text)
{
	char *out = scn_alloc(4000), *o = out;

	for (; *text != '\0'; text++) {
		if (*text == '\'')
			o += sprintf(o, "'\\''");
		else
			*o++ = *text;
	}
	*o = '\0';
	return out;
}

/* What the inner command was told. */
static void
expect_deadlock(const struct answer *a)
{
	expect_str(a, "status", "completed");
	expect(strstr(text_of(a, "aggregated"), "would wait for ever") != NULL,
	    "%s", text_of(a, "aggregated"));
	expect(strstr(text_of(a, "aggregated"), "inner ran") == NULL);
}

SCENARIO(lane_deadlock, behind_its_own_parent)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", inner("--lane main",
	                        "echo inner ran")),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_deadlock(a);
	expect_int(a, "exitCode", 125);
	expect(strstr(text_of(a, "aggregated"), text_of(a, "sessionId")) !=
	    NULL, "its name is not told");
	/* one that nobody waits for is refused just so */
	a = ask("exec", STR("command", inner("--background --lane main",
	                        "echo inner ran")),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_deadlock(a);
	/* and in another lane, or none, it runs */
	a = ask("exec", STR("command", inner("--lane other",
	                        "echo inner ran")),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_str(a, "aggregated", "inner ran\n");
	a = ask("exec", STR("command", inner("", "echo inner ran")),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_str(a, "aggregated", "inner ran\n");
}

SCENARIO(lane_deadlock, behind_a_grandparent)
{
	psupd();
	expect_deadlock(ask("exec",
	    STR("command", inner("", quoted(inner("--lane main",
	                                     "echo inner ran")))),
	    STR("lane", "main"), NIL("yieldMs")));
}

SCENARIO(lane_deadlock, behind_two_of_its_ancestors)
{
	psupd(.conf = "[lane \"wide\"]\nwidth = 2\n");
	expect_deadlock(ask("exec",
	    STR("command", inner("--lane wide",
	                       quoted(inner("--lane wide",
	                           "echo inner ran")))),
	    STR("lane", "wide"), NIL("yieldMs")));
}

SCENARIO(lane_deadlock, in_the_group_of_its_parent)
{
	psupd(.conf = "[group \"g\"]\nwidth = 1\n[lane \"a\"]\ngroup = g\n"
	              "[lane \"b\"]\ngroup = g\n");
	expect_deadlock(ask("exec",
	    STR("command", inner("--lane b", "echo inner ran")),
	    STR("lane", "a"), NIL("yieldMs")));
}

/* No mark, no ancestor, no group or session of the parent's. */
SCENARIO(lane_deadlock, of_one_that_hides)
{
	struct answer *a;
	char script[3000];
	const psup_value *group;

	psupd();
	snprintf(script, sizeof(script),
	    "(setsid -w setsid -w env -i %s > %s.tmp 2>&1; mv %s.tmp %s) & "
	    "wait; true",
	    inner("--lane main", "echo inner ran"),
	    file_in_scenario("said"), file_in_scenario("said"),
	    file_in_scenario("said"));
	group = psup_value_get(details(ask("status")), "cgroup");
	a = ask("exec", STR("command", script), STR("lane", "main"),
	    NIL("yieldMs"));
	expect_str(a, "status", "completed");
	a = ask("exec", LIST("argv", "cat", file_in_scenario("said")));
	expect_deadlock(a);
	/* an orphan, too, where its control group tells */
	if (psup_get_is(group, "kill", "none"))
		return;
	snprintf(script, sizeof(script),
	    "setsid sh -c '(sh -c \"sleep 0.2; %s\" > %s.tmp 2>&1; "
	    "mv %s.tmp %s) &' ; while ! [ -e %s ]; do sleep 0.02; done",
	    quoted(inner("--lane main", "echo inner ran")),
	    file_in_scenario("orphan"), file_in_scenario("orphan"),
	    file_in_scenario("orphan"), file_in_scenario("orphan"));
	a = ask("exec", LIST("argv", "env", "-i", "PATH=/usr/bin:/bin", "sh",
	                    "-c", script),
	    STR("lane", "main"), NIL("yieldMs"));
	expect_str(a, "status", "completed");
	a = ask("exec", LIST("argv", "cat", file_in_scenario("orphan")));
	expect_deadlock(a);
}

#ifdef PSUP_FAULTS
/* No mark, and its worker has not said yet that it runs. */
SCENARIO(lane_deadlock, of_one_that_is_quicker_than_its_worker)
{
	const char *said = file_in_scenario("said");
	char script[3000];
	struct question *q;
	pid_t worker;
	ssize_t n;
	int fd;

	psupd(.workers = 1, .env = {"PSUP_FAULTS=spawn.after-pid=stop@2"});
	worker = worker_of(background(STR("command", "sleep 1000")));
	snprintf(script, sizeof(script), "env -i %s >%s.tmp 2>&1; mv %s.tmp %s",
	    inner("--lane main", "echo inner ran"), said, said, said);
	q = ask_later(peer(NULL), "exec", STR("command", script),
	    STR("lane", "main"), NIL("yieldMs"));
	await_file(said);
	kill_now(worker, SIGCONT);
	expect_str(answer_of(q), "status", "completed");
	fd = open(said, O_RDONLY | O_CLOEXEC);
	n = read(fd, script, sizeof(script) - 1);
	close(fd);
	script[n > 0 ? n : 0] = '\0';
	expect(strstr(script, "would wait for ever") != NULL, "%s", script);
}
#endif

SCENARIO(lane_deadlock, is_known_to_a_new_master)
{
	char script[3000];
	const char *id;

	psupd();
	snprintf(script, sizeof(script), "echo up; while ! [ -e %s ]; do "
	                                 "sleep 0.02; done; %s",
	    file_in_scenario("gate"),
	    inner("--lane main", "echo inner ran"));
	id = background(STR("command", inner("", quoted(script))),
	    STR("lane", "main"));
	await_output(id, "up\n");
	kill_master();
	open_gate("gate");
	await_end(id);
	expect(strstr(words_of(ask("log", STR("sessionId", id))),
	           "would wait for ever") != NULL, "%s",
	    words_of(ask("log", STR("sessionId", id))));
}

/* A stranger holds a place, too: it waits. Made too narrow for its ancestor,
 * the lane rejects it. */
SCENARIO(lane_deadlock, where_a_lane_becomes_too_narrow)
{
	char script[3000];
	const char *id, *stranger;
	struct peer *p;

	psupd(.conf = "[lane \"wide\"]\nwidth = 2\n"
	              "[server]\nlane_warn_ms = 1\n");
	p = peer(NULL);
	listen_to_kinds(p, "waits", "lane-wait");
	snprintf(script, sizeof(script), "print up; await %s",
	    file_in_scenario("gate"));
	stranger = background(PUPPET(script), STR("lane", "wide"));
	await_output(stranger, "up\n");
	id = background(STR("command", inner("--lane wide",
	                        "echo inner ran")),
	    STR("lane", "wide"));
	await_events(p, 1); /* the inner one waits */
	expect_ok(ask("lanes", STR("op", "set-width"), STR("lane", "wide"),
	    INT("width", 1)));
	open_gate("gate");
	await_end(id);
	expect(strstr(words_of(ask("log", STR("sessionId", id))),
	           "held only by what waits for it") != NULL, "%s",
	    words_of(ask("log", STR("sessionId", id))));
}
