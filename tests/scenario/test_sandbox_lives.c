/* SPDX-License-Identifier: MIT */
/* What becomes of boxes and of commands in them when a box, a porter, a worker or
 * the master dies, and when psup.conf says something else; how they are set up,
 * listed and pruned. */
#include "lib_boxes.h"
#include "lib_inner.h"
#include "lib_upgrade.h"

#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(sandbox_lives);

SCENARIO(sandbox_lives, dies_with_its_box_and_says_so)
{
	struct peer *listener;
	const psup_value *row;
	struct answer *a;
	const char *id;
	pid_t box;

	boxes("");
	listener = peer(NULL);
	listen_to_events(listener, "test");
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up");
	box = box_pid();
	kill_now(box, SIGKILL);
	row = await_end(id);
	expect(psup_get_is(row, "exitReason", "lost"));
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "failureKind", "sandbox");
	expect_text(a, "its box ended while it ran");
	(void)await_events(listener, 1);
	expect(strcmp(event_at(listener, 0)->kind, "lost") == 0);
	/* and there is another one for the next */
	expect_says("echo again", "again\n");
	expect(box_pid() != box);
	box = box_pid();
	kill_now(bwrap_pid(), SIGKILL);
	await_gone(box);
	/* until the server has heard of it, it has commands go there */
	do
		row = psup_value_at(psup_value_get(details(ask("sandboxes")),
		    "boxes"), 0);
	while (psup_get_int(row, "pid", 0) == box);
	expect_says("echo again", "again\n");
}

SCENARIO(sandbox_lives, outlives_worker_and_master)
{
	const char *id;
	pid_t box;

	boxes("");
	id = waits_in_box(&box);
	kill_master();
	expect_says("echo after a master", "after a master\n");
	kill_worker_of(id);
	expect_says("echo after a worker", "after a worker\n");
	expect(box_pid() == box, "it is another box");
	ends_as_told(id);
	expect(strcmp(read_retained(id).bytes, "up\ndone\n") == 0);
}

/* Whom SIGKILL finds gone has died of the one before. */
static void
signal_workers(int sig)
{
	const psup_value *all =
	    psup_value_get(details(ask("status")), "workers");
	pid_t pid;

	for (size_t i = 0; i < psup_value_count(all); i++) {
		pid = (pid_t)psup_get_int(psup_value_at(all, i), "pid", 0);
		expect(pid > 1 && (kill(pid, sig) == 0 ||
		    (sig == SIGKILL && errno == ESRCH)), "kill %d", pid);
	}
}

/* ... also where no master lived who saw it die; and nobody is refused for a box
 * that was up, and of whose end nobody has told the next master yet. */
SCENARIO(sandbox_lives, dies_with_its_box_while_there_is_no_master)
{
	const psup_value *row;
	struct question *q;
	struct answer *a;
	struct peer *p;
	const char *id;
	pid_t box;

	boxes("");
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up");
	box = box_pid();
	signal_workers(SIGSTOP);
	kill_now(master_pid(), SIGSTOP);
	kill_now(box, SIGKILL);
	await_gone(box);
	kill_master();
	p = peer(NULL);
	q = ask_later(p, "exec", STR("command", "echo again"));
	expect_ok(ask_as(p, "sandboxes"));
	signal_workers(SIGCONT);
	a = answer_of(q);
	expect(strcmp(text_of(a, "aggregated"), "again\n") == 0, "%s",
	    words_of(a));
	row = await_end(id);
	expect(psup_get_is(row, "exitReason", "lost"), "%s",
	    psup_get_str(row, "exitReason", NULL));
	expect_str(ask("poll", STR("sessionId", id)), "failureKind", "sandbox");
	expect(box_pid() != box);
}

SCENARIO(sandbox_lives, what_hides_in_it_is_killed)
{
	struct answer *a;
	const char *id;

	boxes("");
	id = background(STR("command",
	    "trap '' TERM; for i in 1 2 3 4 5 6 7 8; do "
	    "(setsid sh -c 'trap \"\" TERM; env -i sleep 1000' "
	    ">/dev/null 2>&1 &); done; echo up; exec sleep 1000"));
	await_output(id, "up");
	a = ask("kill", STR("sessionId", id), INT("graceMs", 100));
	expect_ok(a);
	expect_says("cat /proc/[0-9]*/comm | grep -c '^sleep$'; true", "0\n");
}

SCENARIO(sandbox_lives, is_set_up_once)
{
	boxes("setup = echo once >>/workspace/setup\n");
	expect_says("cat setup", "once\n");
	kill_master();
	expect_says("cat setup", "once\n");
}

SCENARIO(sandbox_lives, a_setup_that_fails_is_the_reason)
{
	struct answer *a;

	psupd(.conf = conf("setup = echo no such luck && exit 4\n"));
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	skip_without_boxes(a);
	expect(strstr(words_of(a), "its setup command failed (exit 4): no such "
	    "luck") != NULL, "%s", words_of(a));
}

/* What it was made of, and that it is to end, a master's death does not undo. */
SCENARIO(sandbox_lives, of_older_settings_is_closed_over_a_new_master)
{
	const char *id;
	pid_t box;

	boxes("env = WHICH=old\n");
	id = waits_in_box(&box);
	write_conf(conf("env = WHICH=new\npids = 77\n"));
	kill_master(); /* which takes the new settings up */
	expect_says("echo $WHICH", "new\n");
	expect(strcmp(says("readlink /proc/self/ns/pid"), "") != 0);
	kill_master();
	ends_as_told(id);
	await_gone(box);
	expect_says("echo still $WHICH", "still new\n");
}

/* Nobody enters one that was pruned, whoever asks. */
SCENARIO(sandbox_lives, that_is_pruned_stays_so_over_a_new_master)
{
	const char *id, *old;
	pid_t box;

	boxes("");
	id = background(STR("command", "readlink /proc/self/ns/pid; echo up; "
	    "read -r line"));
	await_output(id, "up");
	old = says("readlink /proc/self/ns/pid");
	box = box_pid();
	expect_int(ask("pruneSandboxes"), "pruned", 1);
	kill_master();
	expect(strcmp(says("readlink /proc/self/ns/pid"), old) != 0,
	    "it entered the old one");
	expect_ok(ask("kill", STR("sessionId", id)));
	await_gone(box);
}

/* A box of one session ends though nobody lived who saw that one's end. */
SCENARIO(sandbox_lives, of_a_session_ends_with_it_over_a_new_master)
{
	const char *id;
	pid_t box;

	boxes("scope = session\n");
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up");
	box = box_pid();
	kill_now(master_pid(), SIGSTOP);
	kill_now(pid_of(id), SIGKILL);
	kill_master();
	await_end(id);
	await_gone(box);
}

SCENARIO(sandbox_lives, of_a_session_ends_with_it)
{
	pid_t box;
	const char *id;

	boxes("scope = session\n");
	id = background(STR("command", "echo up; read -r line"));
	await_output(id, "up");
	box = box_pid();
	expect_ok(ask("kill", STR("sessionId", id)));
	await_gone(box);
}

/* ... and is killed before it: its directory goes all the same. */
SCENARIO(sandbox_lives, of_a_session_that_is_killed_leaves_no_directory)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	pid_t box;
	const char *id;
	glob_t left;

	boxes("scope = session\n");
	id = background(STR("command", "echo up; read -r line"));
	await_output(id, "up");
	box = box_pid();
	kill_now(box, SIGKILL);
	await_end(id);
	await_gone(box);
	while (glob(file_in_scenario("boxes/session*"), 0, NULL, &left) == 0) {
		globfree(&left);
		expect(now_ms() < until, "its directory stays");
		poll(NULL, 0, 1); /* a directory that goes tells nobody */
	}
}

/* ... and its directory with that, unless it has left something there. */
SCENARIO(sandbox_lives, of_a_session_leaves_no_empty_directory)
{
	glob_t left;

	boxes("scope = session\n");
	(void)says("echo kept >kept");
	(void)says("mkdir made; rmdir made");
	while (psup_value_count(psup_value_get(details(ask("sandboxes")),
	    "boxes")) > 0)
		;
	expect(glob(file_in_scenario("boxes/session*"), 0, NULL, &left) == 0);
	expect(left.gl_pathc == 1, "%zu", left.gl_pathc);
	globfree(&left);
}

/* ... and where that one was ended before it could enter it: nobody else will. */
SCENARIO(sandbox_lives, of_a_session_ends_with_it_before_it_is_set_up)
{
	const psup_value *row;
	struct question *q;
	struct answer *a;
	pid_t box;

	psupd(.conf = conf("scope = session\nsetup = exec sleep 1000\n"));
	q = ask_later(peer("s"), "exec", STR("command", "true"));
	do
		row = psup_value_at(psup_value_get(details(ask("sandboxes")),
		    "boxes"), 0);
	while (!is_answered(q) && !psup_get_is(row, "state", "setup"));
	if (is_answered(q))
		skip_without_boxes(answer_of(q));
	box = (pid_t)psup_get_int(row, "pid", 0);
	expect_ok(ask("killScope", STR("scope", "s"), INT("graceMs", 0)));
	a = answer_of(q);
	expect_str(a, "exitReason", "manual-cancel");
	await_gone(box);
}

/* ... nor does a master that leaves while somebody waits for one fall over it. */
SCENARIO(sandbox_lives, that_is_not_set_up_yet_lets_its_master_leave)
{
	const psup_value *row;
	struct question *q;

	psupd(.conf = conf("setup = exec sleep 1000\n"));
	q = ask_later(peer("s"), "exec", STR("command", "true"));
	do
		row = psup_value_at(psup_value_get(details(ask("sandboxes")),
		    "boxes"), 0);
	while (!is_answered(q) && !psup_get_is(row, "state", "setup"));
	if (is_answered(q))
		skip_without_boxes(answer_of(q));
	upgrade_to(build_dir(NULL));
	expect(count_log("Sanitizer") == 0, "its last words");
	expect_ok(ask("killScope", STR("scope", "s"), INT("graceMs", 0)));
}

/* Other settings are another box's; who is inside goes on. */
SCENARIO(sandbox_lives, is_made_anew_for_other_settings)
{
	const char *id;
	pid_t box;

	boxes("");
	id = waits_in_box(&box);
	write_conf(conf("env = MORE=yes\nnetwork = none\npids = 77\n"));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	expect_says("echo $MORE", "yes\n");
	ends_as_told(id);
	await_gone(box);
}

/* What it was made of, as psup sandbox inspect has it. */
static void
expect_made_of(const psup_value *row, const char *bound)
{
	const psup_value *bind = psup_value_at(psup_value_get(row, "binds"), 0);

	expect(psup_get_int(row, "uid", 0) ==
	    (geteuid() == 0 ? 65534 : geteuid()));
	expect(psup_get_is(row, "setup", "echo x"));
	expect(psup_get_is(bind, "host", bound));
	expect(psup_get_is(bind, "inside", "/in"));
	expect(psup_get_int(row, "idleMin", 0) == 7);
	expect(psup_get_int(row, "maxAgeMin", 0) == 8);
	expect(psup_get_int(row, "cpusPercent", 0) == 150);
	expect(psup_get_str(row, "cpusBy", NULL) != NULL);
}

SCENARIO(sandbox_lives, is_listed_and_pruned)
{
	const char *bound = file_in_scenario("bound"), *id;
	const psup_value *list;
	struct answer *a;

	expect(mkdir(bound, 0755) == 0);
	boxes(scn_format("setup = echo x\nidle_min = 7\nmax_age_min = 8\n"
	    "cpus = 1.5\nbind = %s:/in:ro\n", bound));
	id = background(STR("command", "read x"));
	a = ask("sandboxes");
	list = psup_value_get(details(a), "boxes");
	expect(psup_value_count(list) == 1, "%zu", psup_value_count(list));
	expect(psup_get_is(psup_value_at(list, 0), "box", "agent "));
	expect(psup_get_is(psup_value_at(list, 0), "state", "ready"));
	expect_made_of(psup_value_at(list, 0), bound);
	expect(psup_get_int(psup_value_at(list, 0), "inside", 0) == 1);
	list = psup_value_get(details(ask("status")), "boxes");
	expect(psup_get_int(list, "total", 0) == 1 &&
	    psup_get_int(list, "inside", 0) == 1 &&
	    psup_get_int(list, "ready", 0) == 1);
	/* it is no session of anybody's */
	expect(psup_get_int(psup_value_get(details(ask("status")), "sessions"),
	    "running", 0) == 1);
	expect_refused(ask("sandboxes", STR("box", "agent nobody")),
	    "not-found");
	expect_int(ask("pruneSandboxes", STR("box", "agent")), "pruned", 1);
	a = ask("sandboxes", STR("box", "agent "));
	list = psup_value_get(details(a), "boxes");
	expect(psup_get_is(psup_value_at(list, 0), "state", "draining"));
	ask("write", STR("sessionId", id), STR("data", "go\n"));
	await_end(id);
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
}

static size_t
count_of(const char *method, const char *rows)
{
	return psup_value_count(psup_value_get(details(ask(method)), rows));
}

/* Between two masters. */
static void
spoil_the_index(void)
{
	kill_now(master_pid(), SIGSTOP);
	expect(truncate(scn_format("%s/index/data.mdb", runtime_dir()), 5000) ==
	    0);
	kill_master();
	await_log("event=index-set-aside ");
	while (count_of("sandboxes", "boxes") == 0) /* the keeper has told it */
		;
}

/* Whose it was nobody knows then. It is a box all the same, of which nobody is
 * told as of a session; who is inside stays, whoever comes gets another one. */
SCENARIO(sandbox_lives, that_a_damaged_index_has_lost_is_a_box_still)
{
	const psup_value *row;
	const char *id;
	pid_t box;

	boxes("");
	id = waits_in_box(&box);
	spoil_the_index();
	row = psup_value_at(psup_value_get(details(ask("sandboxes")), "boxes"),
	    0);
	expect(psup_get_is(row, "state", "draining") &&
	    psup_get_int(row, "inside", 0) == 1 &&
	    psup_get_int(row, "pid", 0) == box);
	expect(count_of("list", "sessions") == 2); /* and that of boxes() */
	expect(psup_get_int(psup_value_get(details(ask("status")), "sessions"),
	    "running", 0) == 1);
	expect_says("readlink /proc/self/ns/pid >ns; echo new", "new\n");
	expect(count_of("sandboxes", "boxes") == 2);
	kill_master(); /* to whom it says the same */
	expect(count_of("sandboxes", "boxes") == 2);
	ends_as_told(id);
	expect(strcmp(read_retained(id).bytes, "up\ndone\n") == 0);
	await_gone(box);
	expect_says("echo still new", "still new\n");
}

/* ... and its death is told as any box's. */
SCENARIO(sandbox_lives, that_a_damaged_index_has_lost_dies_with_all_in_it)
{
	const psup_value *row;
	const char *id;
	pid_t box;

	boxes("");
	id = waits_in_box(&box);
	spoil_the_index();
	kill_now(box, SIGKILL);
	row = await_end(id);
	expect(psup_get_is(row, "exitReason", "lost"));
	expect_str(ask("poll", STR("sessionId", id)), "failureKind", "sandbox");
	while (count_of("sandboxes", "boxes") != 0)
		;
}

#ifdef PSUP_FAULTS
/* A porter that dies before its clone has started nothing, and the next one dies
 * as well; one that dies behind it has started it once. */
SCENARIO(sandbox_lives, a_porter_that_dies_starts_nothing_or_once)
{
	struct answer *a;

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
SCENARIO(sandbox_lives, a_lodge_that_dies_before_its_clone_has_started_it_once)
{
	starts_once_though_one_dies("PSUP_FAULTS=lodge.before-clone=kill");
}

SCENARIO(sandbox_lives, a_lodge_that_dies_behind_its_clone_has_started_it_once)
{
	starts_once_though_one_dies("PSUP_FAULTS=lodge.after-clone=kill");
}

SCENARIO(sandbox_lives, a_porter_that_dies_behind_its_clone_has_started_it_once)
{
	starts_once_though_one_dies("PSUP_FAULTS=porter.after-clone=kill");
}

/* Its worker looks whether it has let go, and again; between the two it does. */
SCENARIO(sandbox_lives, a_porter_that_lets_go_between_two_looks_has_started_it_once)
{
	const char *ran = file_in_scenario("boxes/agent%20/once");
	struct question *q;
	struct answer *a;

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

	psupd(.first = true, .conf = conf(""), .workers = 1, .env = {faults});
	q = ask_later(peer(NULL), "exec",
	    STR("command", "echo once >>once; cat once; exit 3"));
	if (stopped_porter(q) == 0)
		skip_without_boxes(answer_of(q));
	signal_workers(SIGKILL);
	return q;
}

SCENARIO(sandbox_lives, a_porter_that_the_keeper_ends_has_started_nothing)
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
SCENARIO(sandbox_lives, a_lodge_whose_worker_dies_has_started_nothing)
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
SCENARIO(sandbox_lives, a_porter_whose_box_dies_has_started_nothing)
{
	struct question *q;
	struct answer *a;
	char group[256];
	pid_t porter, box;

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

SCENARIO(sandbox_lives, a_keeper_that_dies_of_a_porter_has_started_nothing)
{
	(void)porter_is_ended(
	    "PSUP_FAULTS=porter.before-clone=stop,keeper.porter-killed=kill");
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);
	psupd(.conf = conf(""));
	expect_says("cat once 2>/dev/null || echo none", "none\n");
}
#endif
