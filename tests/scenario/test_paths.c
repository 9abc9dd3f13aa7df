/* SPDX-License-Identifier: MIT */
/* Paths that a client names: what its child finds there is the answer. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "lib_inner.h"
#include "lib_scn.h"
#include "shm/layout.h"

/* How many sessions there are, shown or not. */
static size_t
sessions(void)
{
	return psup_value_count(psup_value_get(details(ask("list", YES("all"))),
	    "sessions"));
}

/* The directory is looked at by the child; all the same the call is refused as
 * if nothing had begun, whichever way it asks, and starts nothing. */
SCENARIO(paths, a_bad_workdir_leaves_nothing)
{
	const char *const none = "/no/such/dir", *file = "/etc/passwd";
	const char *locked, *made = file_in_scenario("made");
	struct question *twice[2];
	struct peer *listener;
	struct answer *a;

	psupd();
	listener = peer(NULL);
	listen_to_kinds(listener, "listener", "started", "exited");
	a = ask("exec", STR("command", "true"), STR("workdir", none));
	expect_refused(a, "bad-workdir");
	expect(strcmp(words_of(a), "workdir /no/such/dir: No such file or "
	    "directory; nothing was run") == 0, "%s", words_of(a));
	a = ask("exec", STR("command", "true"), STR("workdir", file));
	expect_refused(a, "bad-workdir");
	expect(strcmp(words_of(a), "workdir /etc/passwd is not a directory; "
	    "nothing was run") == 0, "%s", words_of(a));
	expect_refused(ask("exec", LIST("argv", "true"), STR("workdir", none),
	    YES("background")), "bad-workdir");
	expect_refused(ask("exec", STR("command", "true"),
	    STR("workdir", none), YES("stream"), NIL("yieldMs")),
	    "bad-workdir");
	expect_refused(ask("exec", STR("command", "true"),
	    STR("workdir", none), YES("pty"), STR("lane", "one")),
	    "bad-workdir");
	for (int i = 0; i < 2; i++)
		twice[i] = ask_later(peer(NULL), "exec", STR("command", "true"),
		    STR("workdir", made), STR("requestKey", "key"));
	for (int i = 0; i < 2; i++)
		expect_refused(answer_of(twice[i]), "bad-workdir");
	expect(sessions() == 0, "%zu are left", sessions());
	/* so the same key is as good as new */
	expect(mkdir(made, 0700) == 0);
	(void)background(STR("command", "echo x"), STR("workdir", made),
	    STR("requestKey", "key"));
	if (geteuid() != 0) {
		locked = file_in_scenario("locked");
		expect(mkdir(locked, 0) == 0);
		expect_refused(ask("exec", STR("command", "true"),
		    STR("workdir", locked)), "bad-workdir");
	}
	expect(await_events(listener, 2) == 2, "an event of what never was");
}

/* Who was told that it waits is told later how it ended. */
SCENARIO(paths, a_bad_workdir_of_one_that_waited_is_its_end)
{
	const char *id;
	struct answer *a;

	psupd();
	(void)holder("main", "gate");
	a = ask("exec", STR("command", "true"), STR("lane", "main"),
	    STR("workdir", "/no/such/dir"), INT("yieldMs", 10));
	expect_str(a, "status", "running");
	id = id_of(a);
	open_gate("gate");
	a = poll_to_the_end(id, "r").last;
	expect_str(a, "status", "failed");
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "stage", "chdir");
	expect_str(a, "errno", "ENOENT");
	expect_text(a, "/no/such/dir");
}

/* What hangs in a start hangs for longer than a busy machine looks at others. */
#define PATIENT "[limits]\nstart_ms = 600000\n"

/* A server whose processes see a mount that never answers; its path, or NULL
 * where there can be none. */
static const char *
server_with_dead_mount(const char *conf)
{
	const char *dir = file_in_scenario("dead");
	const char *helper = "../tests/helpers/deadmount"; /* of bin */
	static char why[200]; /* read after the scenario is forgotten */
	struct run *r;

	expect(mkdir(dir, 0700) == 0);
	r = scn_run(NULL, 0, (const char *const[]){helper, dir, "true", NULL});
	if (r->code == 77) {
		snprintf(why, sizeof(why), "%s", r->err);
		skip_scenario("%s", why);
		return NULL;
	}
	expect_exit(r, 0);
	psupd(.workers = 1, .conf = conf, .wrap = {scn_program(helper), dir});
	return dir;
}

/* Somebody's command hangs; another client is answered as ever, and its
 * commands run, by the same worker. */
static void
others_go_on(const struct arg *exec)
{
	struct peer *hung = peer("hung"), *other = peer("other");
	pid_t master = master_pid();
	struct answer *a;

	a = scn_ask(hung, "exec", exec);
	expect_str(a, "status", "running");
	for (int i = 0; i < 5; i++) {
		expect_ok(ask_as(other, "status"));
		expect_text(ask_as(other, "exec", STR("command", "echo on")),
		    "on");
		expect_text(ask_as(other, "exec", STR("command", "expr 1 + 2")),
		    "3");
		expect_ok(ask_as(other, "list"));
	}
	expect_str(ask_as(hung, "poll", STR("sessionId", id_of(a))), "status",
	    "running");
	expect(master_pid() == master, "the master was lost");
}

SCENARIO(paths, a_workdir_that_never_answers_is_its_callers)
{
	const char *dead = server_with_dead_mount(PATIENT);

	if (dead != NULL)
		others_go_on((struct arg[]){STR("command", "true"),
		    STR("workdir", dead), INT("yieldMs", 10), {0}});
}

SCENARIO(paths, a_spill_that_never_answers_is_its_callers)
{
	const char *dead = server_with_dead_mount(PATIENT);

	if (dead != NULL)
		others_go_on((struct arg[]){STR("command", "true"),
		    MAP("spill", "path", scn_format("%s/out", dead)),
		    INT("yieldMs", 10), {0}});
}

SCENARIO(paths, a_search_path_that_never_answers_is_its_callers)
{
	const char *dead = server_with_dead_mount(PATIENT);

	if (dead != NULL)
		others_go_on((struct arg[]){STR("command", "expr 1 + 1"),
		    MAP("baseEnv", "PATH", scn_format("%s/bin:/bin", dead)),
		    INT("yieldMs", 10), {0}});
}

SCENARIO(paths, a_search_path_of_argv_that_never_answers_is_its_callers)
{
	const char *dead = server_with_dead_mount(PATIENT);

	if (dead != NULL)
		others_go_on((struct arg[]){LIST("argv", "expr", "1"),
		    MAP("baseEnv", "PATH", scn_format("%s/bin:/bin", dead)),
		    INT("yieldMs", 10), {0}});
}

SCENARIO(paths, a_shell_that_never_answers_is_its_callers)
{
	const char *dead = server_with_dead_mount(PATIENT);

	if (dead != NULL)
		others_go_on((struct arg[]){STR("command", "echo $X"),
		    MAP("baseEnv", "SHELL", scn_format("%s/bash", dead)),
		    INT("yieldMs", 10), {0}});
}

SCENARIO(paths, an_oldpwd_that_never_answers_is_its_callers)
{
	const char *dead = server_with_dead_mount(PATIENT);

	if (dead != NULL)
		others_go_on((struct arg[]){STR("command", "expr 1 + 1"),
		    MAP("baseEnv", "PATH", "/usr/bin:/bin", "SHELL",
		        "/bin/bash", "OLDPWD", dead),
		    INT("yieldMs", 10), {0}});
}

/* New programs that never answer hold up their upgrade, not the keeper. */
SCENARIO(paths, programs_that_never_answer_hold_up_their_upgrade_alone)
{
	const char *dead = server_with_dead_mount(PATIENT);
	struct question *q;
	pid_t keeper;

	if (dead == NULL)
		return;
	keeper = keeper_pid();
	await_log("event=ready "); /* before that an upgrade is refused */
	q = ask_later(peer(NULL), "upgrade", STR("binaryDir", dead));
	await_log("event=upgrade-asked ");
	/* A keeper that hangs starts no other. */
	kill_master();
	expect_text(ask("exec", STR("command", "echo on")), "on");
	await_log("it did not answer within 30 s");
	expect_refused(ask("upgrade", STR("binaryDir", "/no/such/dir")),
	    "upgrade-refused");
	expect(keeper_pid() == keeper, "the keeper was lost");
	(void)q;
}

/* A start has its time, and who is told of its end learns what it hung at. */
SCENARIO(paths, a_start_that_takes_too_long_ends_with_stage_and_path)
{
	const char *dead = server_with_dead_mount("[limits]\nstart_ms = 300\n");
	const char *program, *id;
	struct answer *a;

	if (dead == NULL)
		return;
	a = ask("exec", STR("command", "true"), STR("workdir", dead));
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "errno", "ETIMEDOUT");
	expect_str(a, "stage", "chdir");
	expect_str(a, "hungAt", dead);
	expect_text(a, scn_format("start timed out at chdir %s", dead));
	a = ask("exec", STR("command", "true"), MAP("spill",
	    "path", scn_format("%s/out", dead)));
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "stage", "spill");
	expect_text(a, scn_format("start timed out at spill %s/out", dead));
	program = scn_format("%s/bin/x", dead);
	id = id_of(ask("exec", LIST("argv", program), INT("yieldMs", 10)));
	/* the next master says the same */
	a = poll_to_the_end(id, "r").last;
	kill_master();
	a = ask("poll", STR("sessionId", id), STR("reader", "other"));
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "stage", "exec");
	expect_str(a, "hungAt", program);
	expect_text(a, scn_format("start timed out at exec %s", program));
}

/* Who asks for the background waits for the pid, but not for one that hangs. */
SCENARIO(paths, a_hung_start_in_the_background_is_answered_without_a_pid)
{
	const char *dead = server_with_dead_mount(
	    "[exec]\nbackground_ms = 120000\n[limits]\nstart_ms = 600000\n");
	struct answer *a;
	int64_t began;

	if (dead == NULL)
		return;
	/* the table that a master begins with has pids; this is after it */
	expect_str(ask("exec", STR("command", "true")), "status", "completed");
	began = now_ms();
	a = ask("exec", STR("command", "true"), STR("workdir", dead),
	    YES("background"));
	expect_str(a, "status", "running");
	expect(now_ms() - began < 60000, "it waited for background_ms");
	expect_absent(a, "pid");
	expect_ok(ask("kill", STR("sessionId", id_of(a)), INT("graceMs", 0)));
}

/* A crowd of them takes its own scope's places to start, and no other's. */
SCENARIO(paths, many_hung_starts_of_a_scope_keep_no_other_waiting)
{
	const char *dead = server_with_dead_mount(
	    "[limits]\nstart_ms = 600000\n");
	struct question *hung[200];
	struct peer *hog, *other;

	if (dead == NULL)
		return;
	hog = peer("hog");
	other = peer("other");
	for (size_t i = 0; i < NELEMS(hung); i++)
		hung[i] = ask_later(hog, "exec", STR("command", "true"),
		    STR("workdir", dead), INT("yieldMs", 10));
	for (size_t i = 0; i < NELEMS(hung); i++)
		expect_str(answer_of(hung[i]), "status", "running");
	for (int i = 0; i < 20; i++)
		expect_str(ask_as(other, "exec", STR("command", "true")),
		    "status", "completed");
	expect_ok(ask_as(hog, "killScope", INT("graceMs", 0)));
}

/* The one ring in which there is a pid; that, and the ring's path. */
static pid_t
pid_in_a_ring(const char **ret_path)
{
	const char *rings = scn_format("%s/rings", runtime_dir());
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const struct dirent *e;
	int32_t pid = 0;
	DIR *d;
	int fd;

	while (pid <= 1) {
		expect(now_ms() < until, "no ring has a pid");
		d = opendir(rings);
		expect(d != NULL);
		while (pid <= 1 && (e = readdir(d)) != NULL) {
			*ret_path = scn_format("%s/%s", rings, e->d_name);
			fd = open(*ret_path, O_RDONLY | O_CLOEXEC);
			if (fd >= 0 && pread(fd, &pid, sizeof(pid),
			        offsetof(struct ring_header, pid)) < 0)
				pid = 0;
			close(fd);
		}
		closedir(d);
		poll(NULL, 0, 1);
	}
	return pid;
}

/* The child touches its ring for the last time when it says that it goes to its
 * directory: whoever cuts the ring before that kills the child by it. */
static void
await_chdir(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	uint32_t stage = 0;

	expect(fd >= 0);
	while (stage != STAGE_CHDIR) {
		expect(now_ms() < until, "the child is at stage %u", stage);
		expect(pread(fd, &stage, sizeof(stage), offsetof(
		    struct ring_header, exec_stage)) == sizeof(stage));
		poll(NULL, 0, 1);
	}
	close(fd);
}

/* A child hangs before its exec, nobody knows its pid yet but the header of its
 * ring, and that is cut; its worker dies. It must not run once it can: another
 * has been started in its place. */
SCENARIO(paths, a_hung_child_that_nobody_can_name_does_not_live_on)
{
	const char *dead = server_with_dead_mount(""), *path = NULL, *id;
	struct answer *a;
	pid_t pid, worker;

	if (dead == NULL)
		return;
	/* which looks at the header for a new master, and once a second */
	await_log("event=reconciled ");
	kill_now(keeper_pid(), SIGSTOP);
	a = ask("exec", STR("command", "true"), STR("workdir", dead),
	    INT("yieldMs", 10));
	expect_str(a, "status", "running");
	id = id_of(a);
	pid = pid_in_a_ring(&path);
	await_chdir(path);
	worker = worker_of(id);
	kill_now(worker, SIGSTOP);
	expect(truncate(path, 0) == 0);
	kill_now(worker, SIGKILL);
	kill_now(keeper_pid(), SIGCONT);
	await_gone(pid);
	await_log("event=unclaimed-child-killed ");
	expect(pid_in_a_ring(&path) != pid);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	await_end(id);
	expect_text(ask("exec", STR("command", "echo on")), "on");
}

/* Whatever stands in PATH, only a child walks through it; where it is longer
 * than anybody's the shell does, and argv's program must be in the first. */
SCENARIO(paths, a_search_path_without_end_is_the_shells)
{
	size_t at = 0, n = 21000;
	char *path = scn_alloc(n * 6 + 8);
	struct arg base = MAP("baseEnv", "PATH", path);
	struct answer *a;

	for (; at < n * 6; at += 6)
		memcpy(path + at, "/none:", 6);
	memcpy(path + at, "/bin", sizeof("/bin"));
	psupd();
	a = ask("exec", STR("command", "expr 1 + 2"), base);
	expect_text(a, "3");
	a = ask("exec", LIST("argv", "expr", "1"), base);
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "errno", "ENOENT");
}
