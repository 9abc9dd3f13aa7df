/* SPDX-License-Identifier: MIT */
/* Masters, keepers and boxes that die while a box is made and set up, and boxes
 * whose inmates stop and starve all that they can: nobody else notices. See
 * test_sandbox_lives.c for boxes that are up. */
#include "lib_boxes.h"
#include "lib_inner.h"
#include "lib_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(sandbox_faults);

#define FEW 200 /* starts, beside a box that harms whom it can */
#define MANY 1000

static void
touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	expect(fd >= 0 && close(fd) == 0, "%s", path);
}

static const psup_value *
rows(void)
{
	return psup_value_get(details(ask("sandboxes")), "boxes");
}

/* A server whose bwrap does something first. */
static void
begin_with(const char *first)
{
	const char *path = file_in_scenario("bin/bwrap");
	FILE *f;

	expect(mkdir(file_in_scenario("bin"), 0755) == 0);
	f = fopen(path, "we");
	expect(f != NULL);
	(void)fprintf(
	    f, "#!/bin/sh\n%s\nexec /usr/bin/bwrap \"$@\"\n", first);
	expect(fclose(f) == 0 && chmod(path, 0755) == 0);
	psupd(.conf = conf(""), .env = {scn_format("PATH=%s:/usr/bin:/bin",
	    file_in_scenario("bin"))});
}

/* ... which makes boxes while a file is there. */
static void
begin_slow(const char *gate)
{
	begin_with(scn_format(
	    "while ! [ -e %s ]; do sleep 0.01; done", gate));
	touch(gate);
	skip_without_boxes(ask("exec", STR("command", "true")));
	expect_ok(ask("pruneSandboxes"));
	while (psup_value_count(rows()) > 0)
		;
	expect(unlink(gate) == 0);
}

/* A server whose boxes are set up once a file is there. */
static void
begin_slow_setup(void)
{
	boxes("");
	write_conf(conf("setup = echo once >>set; while ! [ -e go ]; do "
			"sleep 0.01; done\n"));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
}

/* Until a box has come so far; its pid 1. */
static pid_t
await_state(const char *state)
{
	for (;;) {
		const psup_value *all = rows();

		for (size_t i = 0; i < psup_value_count(all); i++)
			if (psup_get_is(psup_value_at(all, i), "state", state))
				return (pid_t)psup_get_int(
				    psup_value_at(all, i), "pid", 0);
	}
}

SCENARIO(sandbox_faults, a_master_that_dies_while_one_is_made_has_it_made_once)
{
	const char *gate = file_in_scenario("gate"), *id;

	begin_slow(gate);
	id = background(STR("command", "echo once >>once; cat once"));
	(void)await_state("making");
	kill_master();
	(void)await_state("making");
	touch(gate);
	expect(psup_get_int(await_end(id), "exitCode", -1) == 0);
	expect(strcmp(read_retained(id).bytes, "once\n") == 0);
	expect(psup_value_count(rows()) == 1);
}

SCENARIO(sandbox_faults, a_master_that_dies_while_one_is_set_up_has_it_set_up_once)
{
	const char *id;

	begin_slow_setup();
	id = background(STR("command", "cat set"));
	(void)await_state("setup");
	kill_master();
	(void)await_state("setup");
	touch(file_in_scenario("boxes/agent%20/go"));
	expect(psup_get_int(await_end(id), "exitCode", -1) == 0);
	expect(strcmp(read_retained(id).bytes, "once\n") == 0);
}

/* Why the server makes no boxes, as it says itself; none: it does. */
static const psup_value *
sandbox_in_status(void)
{
	const psup_value *all =
	    psup_value_get(details(ask("status")), "unavailable");

	for (size_t i = 0; i < psup_value_count(all); i++)
		if (psup_get_is(psup_value_at(all, i), "feature", "sandbox"))
			return psup_value_at(all, i);
	return NULL;
}

/* What only bwrap knows, status and doctor know then, too: until it makes one. */
SCENARIO(sandbox_faults, what_bwrap_refuses_is_in_the_status)
{
	const char *gate = file_in_scenario("gate");
	const char *expected =
	    "no sandbox: user.max_user_namespaces is reached";
	struct answer *a;

	touch(gate);
	begin_with(scn_format("! [ -e %s ] || { echo \"bwrap: unshare user ns: "
	    "No space left on device\" >&2; exit 1; }", gate));
	expect(sandbox_in_status() == NULL);
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), expected) == 0, "%s", words_of(a));
	expect(psup_get_is(sandbox_in_status(), "reason", expected));
	expect(unlink(gate) == 0);
	skip_without_boxes(ask("exec", STR("command", "true")));
	expect(sandbox_in_status() == NULL);
}

SCENARIO(sandbox_faults, a_setup_that_hangs_is_ended)
{
	struct answer *a;

	psupd(.conf = conf("setup = sleep 1000\nsetup_sec = 1\n"));
	a = ask("exec", STR("command", "true"));
	skip_without_boxes(a);
	expect_refused_for(a, "unsupported", "host");
	expect(strcmp(words_of(a), "no sandbox: its setup command did not end "
	    "within 1 s (sandbox.setup_sec)") == 0, "%s", words_of(a));
	while (psup_value_count(rows()) > 0)
		;
}

SCENARIO(sandbox_faults, one_that_is_killed_before_it_is_ready_is_told)
{
	struct question *q;
	struct answer *a;

	begin_slow_setup();
	q = ask_later(peer(NULL), "exec", STR("command", "true"));
	kill_now(await_state("setup"), SIGKILL);
	a = answer_of(q);
	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), "no sandbox: its first process ended while") ||
	    strstr(words_of(a), "its setup command failed (signal 9)"), "%s",
	    words_of(a));
	while (psup_value_count(rows()) > 0)
		;
	touch(file_in_scenario("boxes/agent%20/go"));
	expect_says("echo well", "well\n");
}

/* 47 processes that want to stay. */
#define EVIL                                                                   \
	"trap '' TERM; i=0; while [ $i -lt 46 ]; do (setsid sh -c "            \
	"'trap \"\" TERM; exec env -i sleep 1000' >/dev/null 2>&1 &); "        \
	"i=$((i+1)); done; echo up; exec sleep 1000"

/* Its tree, once all of it is there, beside one who stays. */
static const char *
evil_in_box(const char **ret_stays, pid_t *ret_box)
{
	const char *id;

	boxes("pids = 100\n");
	*ret_stays = waits_in_box(ret_box);
	id = background(STR("command", EVIL));
	await_output(id, "up");
	await_sleepers(47);
	return id;
}

static bool
has_groups(void)
{
	return !psup_get_is(psup_value_at(rows(), 0), "pidsBy", "rlimit");
}

/* By a group; where there is none, it is told how many are left. */
SCENARIO(sandbox_faults, who_hides_in_it_is_killed_or_counted)
{
	const char *id, *stays;
	struct answer *a;
	pid_t box;

	id = evil_in_box(&stays, &box);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 100));
	await_nobody_left(a, 100);
	await_sleepers(has_groups() ? 0 : 46);
	expect_int(a, "unattributed", has_groups() ? 0 : 46);
	if (!has_groups())
		expect_text(a, "46 processes that its box adopted belong to no "
		    "session that is known");
	ends_as_told(stays);
}

/* Without its mark, and without a parent of the session, but for its output. */
SCENARIO(sandbox_faults, who_hides_in_it_and_holds_its_output_is_killed)
{
	struct answer *a;
	const char *id;

	boxes("");
	id = background(STR("command", "(setsid env -i sleep 1000 &); "
	    "echo up; exec sleep 1000"));
	await_output(id, "up");
	await_sleepers(2);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 100));
	expect_ok(a);
	/* who has no processor for it in the second after KILL goes on */
	if (busy_ms() < 500)
		expect_int(a, "unattributed", 0);
	await_sleepers(0);
}

SCENARIO(sandbox_faults, with_its_first_process_all_in_it_ends)
{
	const char *id, *stays;
	pid_t box;

	id = evil_in_box(&stays, &box);
	kill_now(box, SIGKILL);
	await_gone(box); /* the last one to go */
	(void)await_end(stays);
	expect(psup_get_is(await_end(id), "exitReason", "lost"));
	expect_str(ask("poll", STR("sessionId", id)), "failureKind", "sandbox");
}

SCENARIO(sandbox_faults, with_the_keeper_all_in_it_ends)
{
	pid_t box, bwrap, leader;
	const char *id;

	psupd(.conf = conf("pids = 100\n"), .first = true);
	skip_without_boxes(ask("exec", STR("command", "true")));
	id = background(STR("command", EVIL));
	await_output(id, "up");
	box = box_pid();
	bwrap = bwrap_pid();
	leader = pid_of(id);
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	/* pid 1 is the last one to go */
	await_gone(box);
	await_gone(bwrap);
	await_gone(leader);
	expect(await_former_server() == 128 + SIGKILL);
	psupd(.conf = conf("pids = 100\n"));
	expect_says("echo on", "on\n");
	expect(psup_get_is(await_end(id), "exitReason", "lost"));
}

/* Starts in a box named good, and now and then in one named bad; the first all go
 * well, and all of the others end once their scope is to. No turn of the worker is
 * long, and it is the first one still. */
static void
start_beside(int starts)
{
	enum { BAD = 20 };
	struct peer *good = peer("good"), *bad = peer("bad");
	struct question *asked[BAD];
	struct answer *a;

	for (int i = 0; i < starts; i++) {
		if (i % (starts / BAD) == 0)
			asked[i / (starts / BAD)] = ask_later(bad, "exec",
			    STR("command", "true"), YES("background"));
		a = ask_as(good, "exec", STR("command", "true"));
		expect_str(a, "status", "completed");
	}
	for (size_t i = 0; i < BAD; i++)
		(void)answer_of(asked[i]);
	expect(longest_turn_ms("worker") < 10, "%g ms",
	    longest_turn_ms("worker"));
	expect_ok(ask("killScope", STR("scope", "bad"), INT("graceMs", 0)));
	expect_ok(ask("drainScope", STR("scope", "bad"), INT("timeout", 60000)));
	expect(psup_get_int(psup_value_get(details(ask("status")), "sessions"),
	    "running", -1) == 0);
	expect(count_log("event=worker-up") == 2, "a worker ended");
}

/* The numbers of a box's processes are those after the last one. */
#define STOPS_ALL                                                              \
	"echo up; while :; do read -r a b c d last </proc/loadavg; "           \
	"kill -STOP $((last+1)) $((last+2)) $((last+3)); done 2>/dev/null"

SCENARIO(sandbox_faults, who_stops_whom_he_guesses_holds_nobody_outside)
{
	const char *id;
	pid_t worker;

	psupd(.conf = conf(""), .workers = 1);
	skip_without_boxes(ask("exec", STR("command", "true")));
	id = background(STR("command", STOPS_ALL), STR("scope", "bad"));
	await_output(id, "up");
	worker = worker_of(id);
	start_beside(FEW);
	expect(is_alive(worker), "it ended");
}

/* All of its file systems are full, and they are all the memory it has. */
#define FILLS_ALL                                                              \
	"for d in /tmp /dev/shm /run /var; do cat /dev/zero >$d/fill; done "   \
	"2>/dev/null; echo up; exec sleep 1000"

SCENARIO(sandbox_faults, who_fills_his_memory_starves_nobody_outside)
{
	const char *id;
	struct answer *a;

	psupd(.conf = conf("memory = 64m\n"), .workers = 1);
	a = ask("exec", STR("command", "true"));
	skip_without_boxes(a);
	if (!has_groups())
		skip_scenario("no control group here bounds a box");
	id = background(STR("command", FILLS_ALL), STR("scope", "bad"));
	/* he may be out of memory himself */
	(void)ask("wait", STR("sessionId", id), STR("text", "up"),
	    INT("timeout", 60000));
	start_beside(MANY);
}

/* A program under a write lease is not executed until that is given back. */
static int
lease(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	signal(SIGIO, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
		skip_scenario("%s cannot be leased: %s", path,
		    strerror(errno));
	return fd;
}

SCENARIO(sandbox_faults, whose_program_is_leased_holds_nobody_else)
{
	const char *path = file_in_scenario("boxes/agent%20held/leased");
	struct peer *p;
	struct question *held;
	int leased;

	psupd(.conf = conf("[limits]\nstart_ms = 600000\n"), .workers = 1);
	p = peer("held");
	skip_without_boxes(ask_as(p, "exec", STR("command",
	    "echo '#!/bin/sh' >leased; chmod 755 leased")));
	leased = lease(path);
	held = ask_later(p, "exec", LIST("argv", "/workspace/leased"),
	    NIL("yieldMs"));
	/* sooner than the kernel breaks it, after 45 s */
	start_beside(FEW);
	expect(!is_answered(held), "it was not held");
	close(leased);
	expect_int(answer_of(held), "exitCode", 0);
}

/* Whom boxes run as may not come to it: that is said, and by which name. */
SCENARIO(sandbox_faults, a_workspace_that_its_user_cannot_reach_is_named)
{
	const char *closed = file_in_scenario("closed");
	struct answer *a;

	if (geteuid() != 0)
		skip_scenario("the server's user is that of its boxes");
	boxes("");
	expect(mkdir(closed, 0700) == 0);
	write_conf(scn_format("[sandbox]\nmode = all\nuser = nobody\n"
	    "workspace = %s/boxes\n", closed));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	a = ask("exec", STR("command", "true"));
	expect_refused_for(a, "unsupported", "host");
	expect(strstr(words_of(a), scn_format("%s/boxes/agent%%20: Permission "
	    "denied; whom boxes run as may not come to it", closed)) != NULL,
	    "%s", words_of(a));
}
