/* SPDX-License-Identifier: MIT */
/* What becomes of a command that is being started in a box when a porter, who clones
 * porters, the box, the worker or the keeper dies at that moment: it has begun once,
 * or not at all. Needs a build with fault points. */
#include "lib_boxes.h"
#include "lib_inner.h"

#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(sandbox_porters);

/* A porter that dies before its clone has started nothing, and the next one dies
 * as well; one that dies behind it has started it once. */
SCENARIO(sandbox_porters, a_porter_that_dies_starts_nothing_or_once)
{
	struct answer *a;

	needs_faults();
	psupd(.conf = conf(""),
	    .env = {"PSUP_FAULTS=porter.before-clone=kill@1+"});
	a = ask("exec", STR("command", "echo ran >>/workspace/ran"));
	skip_without_boxes(a);
	expect_str(a, "exitReason", "spawn-error");
	expect(access(file_in_scenario("boxes/agent%20/ran"), F_OK) != 0);
}

/* Whoever dies at that point: the command has run, once. */
static void
starts_once_though_one_dies(const char *fault)
{
	struct answer *a;
	char script[80];

	needs_faults();
	psupd(.conf = conf(""), .env = {fault});
	for (int i = 0; i < 3; i++) {
		snprintf(script, sizeof(script),
		    "echo once >>once%d; cat once%d; exit 3", i, i);
		a = ask("exec", STR("command", script));
		skip_without_boxes(a);
		expect_int(a, "exitCode", 3);
		expect_str(a, "aggregated", "once\n");
	}
}

/* Its worker clones the porter itself. */
SCENARIO(sandbox_porters, a_lodge_that_dies_before_its_clone_has_started_it_once)
{
	starts_once_though_one_dies("PSUP_FAULTS=lodge.before-clone=kill");
}

SCENARIO(sandbox_porters, a_lodge_that_dies_behind_its_clone_has_started_it_once)
{
	starts_once_though_one_dies("PSUP_FAULTS=lodge.after-clone=kill");
}

SCENARIO(sandbox_porters, a_porter_that_dies_behind_its_clone_has_started_it_once)
{
	starts_once_though_one_dies("PSUP_FAULTS=porter.after-clone=kill");
}

/* Its worker looks whether it has let go, and again; between the two it does. */
SCENARIO(sandbox_porters, a_porter_that_lets_go_between_two_looks_has_started_it_once)
{
	const char *ran = file_in_scenario("boxes/agent%20/once");
	struct question *q;
	struct answer *a;

	needs_faults();
	psupd(.conf = conf(""), .workers = 1,
	    .env = {"PSUP_FAULTS=porter.between-looks=stop"});
	q = ask_later(peer(NULL), "exec",
	    STR("command", "echo once >>once; cat once; exit 3"));
	while (access(ran, F_OK) != 0 && !is_answered(q))
		poll(NULL, 0, 1);
	signal_workers(SIGCONT);
	a = answer_of(q);
	skip_without_boxes(a);
	expect_int(a, "exitCode", 3);
	expect_str(a, "aggregated", "once\n");
}
/* The porter that has stopped itself before its clone; 0: it is answered. */
static pid_t
stopped_porter(struct question *q)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	glob_t all;
	pid_t found = 0;

	while (found == 0 && !is_answered(q)) {
		expect(now_ms() < until, "no porter stops");
		expect(glob("/proc/[0-9]*/stat", 0, NULL, &all) == 0);
		for (size_t i = 0; i < all.gl_pathc; i++) {
			FILE *f = fopen(all.gl_pathv[i], "re");
			int pid, ppid;
			char state;

			if (f != NULL &&
			    fscanf(f, "%d (%*[^)]) %c %d", &pid, &state,
				&ppid) == 3 &&
			    state == 'T' && ppid == keeper_pid())
				found = pid;
			if (f != NULL)
				fclose(f);
		}
		globfree(&all);
	}
	return found;
}

/* A worker dies while its porter is about to clone, and the keeper ends that
 * before it believes the header. */
static struct question *
porter_is_ended(const char *faults)
{
	struct question *q;

	needs_faults();
	psupd(.first = true, .conf = conf(""), .workers = 1, .env = {faults});
	q = ask_later(peer(NULL), "exec",
	    STR("command", "echo once >>once; cat once; exit 3"));
	if (stopped_porter(q) == 0)
		skip_without_boxes(answer_of(q));
	signal_workers(SIGKILL);
	return q;
}

SCENARIO(sandbox_porters, a_porter_that_the_keeper_ends_has_started_nothing)
{
	struct question *q = porter_is_ended(
	    "PSUP_FAULTS=porter.before-clone=stop,keeper.porter-killed=stop");
	struct answer *a;

	await_stopped(psupd_pid());
	kill_now(psupd_pid(), SIGCONT);
	kill_now(stopped_porter(q), SIGCONT); /* the heir's */
	a = answer_of(q);
	expect_int(a, "exitCode", 3);
	expect_str(a, "aggregated", "once\n");
}

/* What it clones for a worker that is dead starts nothing: its heir does. */
SCENARIO(sandbox_porters, a_lodge_whose_worker_dies_has_started_nothing)
{
	struct question *q =
	    porter_is_ended("PSUP_FAULTS=lodge.before-clone=stop");
	struct answer *a;
	pid_t pid;

	while ((pid = stopped_porter(q)) != 0)
		kill_now(pid, SIGCONT);
	a = answer_of(q);
	expect_int(a, "exitCode", 3);
	expect_str(a, "aggregated", "once\n");
}

/* The group of version 1 that bounds this one's processes; "": it is in none. */
static void
pids_group(pid_t pid, char *ret, size_t size)
{
	FILE *f = fopen(scn_format("/proc/%d/cgroup", (int)pid), "re");
	char line[256], path[200];

	*ret = '\0';
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%*d:pids:%199s", path) == 1)
			snprintf(ret, size, "/sys/fs/cgroup/pids%s", path);
	if (f != NULL)
		fclose(f);
}

/* Its box dies, and the groups of that are removed, while it is about to join them:
 * it starts in the next one. */
SCENARIO(sandbox_porters, a_porter_whose_box_dies_has_started_nothing)
{
	struct question *q;
	struct answer *a;
	char group[256];
	pid_t porter, box;

	needs_faults();
	psupd(.conf = conf("pids = 500\n"),
	    .env = {"PSUP_FAULTS=porter.before-groups=stop"});
	q = ask_later(peer(NULL), "exec",
	    STR("command", "echo once >>once; cat once; exit 3"));
	porter = stopped_porter(q);
	if (porter == 0)
		skip_without_boxes(answer_of(q));
	box = box_pid();
	pids_group(box, group, sizeof(group));
	kill_now(box, SIGKILL);
	await_gone(box);
	await_log("from=ready to=gone");
	while (*group != '\0' && access(group, F_OK) == 0)
		poll(NULL, 0, 1);
	do
		kill_now(porter, SIGCONT);
	while ((porter = stopped_porter(q)) != 0);
	a = answer_of(q);
	expect_int(a, "exitCode", 3);
	expect_str(a, "aggregated", "once\n");
}

SCENARIO(sandbox_porters, a_keeper_that_dies_of_a_porter_has_started_nothing)
{
	(void)porter_is_ended(
	    "PSUP_FAULTS=porter.before-clone=stop,keeper.porter-killed=kill");
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);
	psupd(.conf = conf(""));
	expect_says("cat once 2>/dev/null || echo none", "none\n");
}
