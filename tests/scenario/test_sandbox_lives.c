/* SPDX-License-Identifier: MIT */
/* What becomes of boxes and of commands in them when a box, a worker or the master
 * dies, and when psup.conf says something else; how they are set up, listed and
 * pruned. See test_sandbox_porters.c. */
#include "lib_boxes.h"
#include "lib_inner.h"
#include "lib_upgrade.h"

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
	await_sleepers(0);
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
