/* SPDX-License-Identifier: MIT */
/*
 * A number that has come to mean another process is never signalled: newcomers
 * take the pids of what a session was, and live on. Only who may choose a
 * child's pid (root, mostly) can play this.
 */
#include "lib_tree.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(pid_reuse);

/* A child with that number, the leader of a group and a POSIX session of that
 * number, which does nothing. -1: errno says why. */
static pid_t
child_named(pid_t pid)
{
	pid_t want[1] = {pid};
	struct clone_args how = {.exit_signal = SIGCHLD,
	    .set_tid = (uintptr_t)want, .set_tid_size = 1};
	pid_t got = (pid_t)syscall(SYS_clone3, &how, sizeof(how));

	if (got != 0)
		return got;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* The number's next owner, as soon as its last one is reaped. */
static pid_t
newcomer(pid_t pid)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	pid_t got;

	while ((got = child_named(pid)) < 0) {
		expect(errno == EEXIST, "%s", strerror(errno));
		expect(now_ms() < until, "%d is not given back", (int)pid);
		usleep(1000);
	}
	expect(got == pid);
	return got;
}

/* It was neither ended nor stopped. */
static void
expect_unharmed(pid_t pid)
{
	siginfo_t si = {0};

	expect(waitid(P_PID, (id_t)pid, &si, WEXITED | WSTOPPED | WNOHANG |
	               WNOWAIT) == 0 && si.si_pid == 0,
	    "%d has been signalled: %d", (int)pid, si.si_status);
}

/* It was for the test alone. */
static void
send_away(pid_t pid)
{
	expect_unharmed(pid);
	kill_now(pid, SIGKILL);
	expect(waitpid(pid, NULL, 0) == pid);
}

/* Is the choice of a pid for this user? */
static bool
may_choose(void)
{
	pid_t first = fork(), again;

	if (first == 0)
		_exit(0);
	if (first < 0 || waitpid(first, NULL, 0) != first)
		return false;
	again = child_named(first);
	if (again < 0)
		return errno == EEXIST;
	kill(again, SIGKILL);
	return waitpid(again, NULL, 0) == again;
}

SCENARIO(pid_reuse, of_an_ended_session)
{
	const char *id;
	pid_t pid;

	if (!may_choose())
		skip_scenario("nobody here may choose a pid");
	psupd();
	id = background(STR("command", "echo up; sleep 1000"));
	await_output(id, "up\n");
	pid = pid_of(id);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	pid = newcomer(pid);
	expect_refused(ask("kill", STR("sessionId", id), INT("graceMs", 0)),
	    "not-running");
	expect_ok(ask("killScope", STR("scope", "default"),
	    INT("graceMs", 0)));
	expect_ok(ask("remove", STR("sessionId", id)));
	expect_unharmed(pid);
	expect_ok(ask("shutdown", INT("graceMs", 0)));
	server_is_gone();
	send_away(pid);
}

/* Its members were looked at, one of them died, its number is another's. */
static void
reuse_of_a_member(void)
{
	const char *id;
	pid_t pids[2];

	id = background(STR("command",
	    "setsid sleep 1000 & echo $!; setsid sleep 1001 & echo $!; "
	    "wait; sleep 1000"));
	pids_of(id, 2, pids);
	expect_ok(ask("kill", STR("sessionId", id), STR("signal", "CONT"),
	    NO("escalate")));
	kill_now(pids[0], SIGKILL);
	newcomer(pids[0]);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 200)));
	await_gone(pids[1]);
	send_away(pids[0]);
}

/* The same of those that outlived the command and hold its output. */
static void
reuse_of_a_survivor(void)
{
	const char *id;
	pid_t pids[2];

	id = leave_behind("setsid sleep 1000 & echo $!; "
	                  "setsid sleep 1001 & echo $!; read x", 2, pids);
	kill_now(pids[0], SIGKILL);
	newcomer(pids[0]);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 200)));
	await_gone(pids[1]);
	send_away(pids[0]);
}

SCENARIO(pid_reuse, of_a_member)
{
	if (!may_choose())
		skip_scenario("nobody here may choose a pid");
	psupd();
	reuse_of_a_member();
	reuse_of_a_survivor();
}

SCENARIO(pid_reuse, of_a_member_without_a_cgroup)
{
	if (!may_choose())
		skip_scenario("nobody here may choose a pid");
	psupd(.conf = NO_CGROUP);
	reuse_of_a_member();
	reuse_of_a_survivor();
}

/* A worker that was stopped hears late that its keeper is dead. */
SCENARIO(pid_reuse, of_a_command_whose_keeper_died)
{
	pid_t pid, worker, keeper;
	const char *id;

	if (!may_choose())
		skip_scenario("nobody here may choose a pid");
	psupd(.first = true);
	id = background(STR("command", "echo up; exec sleep 1000"));
	await_output(id, "up\n");
	pid = pid_of(id);
	worker = worker_of(id);
	keeper = psupd_pid();
	kill_now(worker, SIGSTOP);
	kill_now(keeper, SIGKILL);
	server_was_killed();
	pid = newcomer(pid);
	usleep(2500000); /* that long ago is late, by its heartbeat */
	kill_now(worker, SIGCONT);
	await_gone(worker);
	send_away(pid);
	expect(await_former_server() == 128 + SIGKILL);
	psupd(); /* what it leaves is cleared away */
	expect_ok(ask("list"));
}
