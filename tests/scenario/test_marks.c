/* SPDX-License-Identifier: MIT */
/*
 * A server of root's: a mark that another user's process carries and that is
 * nobody's word but its own costs it nothing; what a session really started
 * ends with it, whatever user that has become.
 */
#include "lib_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUEST 65534
#define AS_GUEST "setpriv --reuid=65534 --clear-groups "

/* Another user's child of a POSIX session of its own; one that is double-forked
 * as well. */
#define HIDING_COUNT 2
#define HIDING \
	"setsid sh -c '" AS_GUEST \
	"sh -c \"echo \\$\\$; exec sleep 1000\" & wait' & " \
	"(setsid sh -c 'echo $$; exec sleep 1000' &) ; "
/* An orphan of another user, which nothing but its mark and the keeper's
 * adoption tells of. */
#define ORPHAN "(setsid " AS_GUEST "sh -c 'echo $$; exec sleep 1000 " \
	"<&- >/dev/null 2>&1' &) ; "

/* A process of nobody's, no descendant of the server, with the mark of that
 * session. */
static pid_t
forge(const char *id)
{
	char mark[80], byte;
	char *env[] = {mark, NULL};
	pid_t pid;
	int up[2];

	mark_of(id, mark, sizeof(mark));
	expect(pipe2(up, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		if (setresgid(GUEST, GUEST, GUEST) == 0 &&
		    setresuid(GUEST, GUEST, GUEST) == 0 &&
		    prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			execle("/bin/sleep", "sleep", "1000", NULL, env);
		_exit(127);
	}
	close(up[1]);
	expect(pid > 0 && read(up[0], &byte, 1) == 0); /* it was exec'd */
	close(up[0]);
	expect(is_alive(pid));
	return pid;
}

/* It has outlived what was done. */
static void
expect_spared(pid_t pid)
{
	expect(waitpid(pid, NULL, WNOHANG) == 0, "%d was killed", (int)pid);
	kill_now(pid, SIGKILL);
	expect(waitpid(pid, NULL, 0) == pid);
}

static void
needs_root(void)
{
	if (geteuid() != 0 || access("/usr/bin/setpriv", X_OK) != 0)
		skip_scenario("needs root, to be somebody else");
}

static void
await_all_gone(const pid_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		await_gone(pids[i]);
}

/* What a session of `scope` started ends by that, a forged mark does not. */
static void
an_end_spares_what_is_forged(const char *by)
{
	enum { COUNT = HIDING_COUNT + 1 };
	pid_t pids[COUNT], forged;
	struct answer *a;
	const char *id;

	id = background(STR("command", HIDING ORPHAN "wait"),
	    STR("scope", "s"));
	pids_of(id, COUNT, pids);
	forged = forge(id);
	a = by[4] == '\0' ? ask(by, STR("sessionId", id), INT("graceMs", 100))
			  : ask(by, STR("scope", "s"), INT("graceMs", 100));
	expect_ok(a);
	await_all_gone(pids, COUNT);
	expect_spared(forged);
}

static void
ends_spare_what_is_forged(void)
{
	pid_t forged;

	an_end_spares_what_is_forged("kill");
	an_end_spares_what_is_forged("killScope");
	forged = forge(background(STR("command", "sleep 1000")));
	expect_ok(ask("shutdown", INT("graceMs", 100)));
	server_ends();
	expect_spared(forged);
}

SCENARIO(marks, that_are_forged_end_nobody)
{
	needs_root();
	psupd();
	ends_spare_what_is_forged();
}

SCENARIO(marks, that_are_forged_end_nobody_without_a_cgroup)
{
	needs_root();
	psupd(.conf = NO_CGROUP);
	ends_spare_what_is_forged();
}

/* Nobody is left of the dead keeper's but the forged one, which the next server
 * leaves alone too. */
static void
a_keepers_death_spares_what_is_forged(const char *conf)
{
	pid_t pids[HIDING_COUNT], forged;
	const char *id;

	needs_root();
	psupd(.conf = conf, .first = true);
	id = background(STR("command", HIDING "wait"));
	pids_of(id, HIDING_COUNT, pids);
	forged = forge(id);
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	await_all_gone(pids, HIDING_COUNT);
	expect(await_former_server() == 128 + SIGKILL);
	expect(is_alive(forged));
	psupd(.conf = conf);
	expect_str(ask("poll", STR("sessionId", id)), "exitReason", "lost");
	expect_spared(forged);
}

SCENARIO(marks, that_are_forged_outlive_the_keeper)
{
	a_keepers_death_spares_what_is_forged(NULL);
}

SCENARIO(marks, that_are_forged_outlive_the_keeper_without_a_cgroup)
{
	a_keepers_death_spares_what_is_forged(NO_CGROUP);
}
