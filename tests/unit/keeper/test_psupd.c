/* SPDX-License-Identifier: MIT */
/* psupd as a whole: how it starts, is alone, hears signals and ends. */
#include "lib_psupd.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

TestSuite(psupd, .init = setup, .fini = teardown, .timeout = 40);

Test(psupd, starts_is_alone_and_ends)
{
	char expected[64];
	pid_t keeper = up(), second, first = guard;
	int keep_pipe = guard_pipe, keep_errors = errors;

	expect(peer_of(HERITAGE_MASTER, 0, 1), CTL_TABLE_END);
	guard_pipe = errors = -1;
	unsetenv("GUARD_REMOVE"); /* the first one's guard does that */
	second = start_psupd(NULL);
	cr_expect_eq(exit_of(second), 75);
	snprintf(expected, sizeof(expected), "pid %d", (int)keeper);
	cr_expect_not_null(strstr(said(), expected));
	close(guard_pipe);
	close(errors);
	guard_pipe = keep_pipe;
	errors = keep_errors;
	kill(keeper, SIGTERM);
	guard = 0;
	cr_expect_eq(exit_of(first), 0, "nobody is left behind");
}

Test(psupd, of_many_starts_one_wins)
{
	static const char *const extra[] = { "--detach", NULL };
	static const char *const help[] = { "--help", NULL };
	int i, pipes[20], texts[20], lost, fd, status;
	char path[96], text[16] = "";
	pid_t pid;

	unsetenv("GUARD_REMOVE");
	for (i = 0; i < 20; i++) {
		guard_pipe = errors = -1;
		(void)start_psupd(extra);
		pipes[i] = guard_pipe;
		texts[i] = errors;
	}
	for (lost = 0; lost < 19; lost++) {
		pid = waitpid(-1, &status, 0);
		cr_assert(pid > 0 && WIFEXITED(status));
		cr_expect_eq(WEXITSTATUS(status), 75, "exit %d",
		    WEXITSTATUS(status));
	}
	snprintf(path, sizeof(path), "%s/lock", run);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	/* ready or not, TERM ends it */
	kill(atoi(text), SIGTERM);
	pid = waitpid(-1, &status, 0);
	cr_expect(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 125 &&
		WEXITSTATUS(status) != 124, "status %x", (unsigned)status);
	for (i = 0; i < 20; i++) {
		close(pipes[i]);
		close(texts[i]);
	}
	guard_pipe = errors = -1;
	/* a guard of nothing, for the directory */
	setenv("GUARD_REMOVE", dir, 1);
	cr_expect_eq(exit_of(start_psupd(help)), 0);
}

Test(psupd, detaches_once_ready_and_leaves_nothing)
{
	static const char *const extra[] = { "--detach", NULL };
	struct peer *m;
	uint32_t i;

	guard = start_psupd(extra);
	m = peer_of(HERITAGE_MASTER, 0, 1);
	expect(m, CTL_TABLE_END);
	for (i = 0; i <= WORKERS; i++) {
		expect(peer_of(HERITAGE_WORKER, i, 1), CTL_PEER);
		close(msg.fds[0]);
	}
	kill(m->h.keeper_pid, SIGTERM);
	/* the starter's own exit code, and nobody left behind */
	cr_expect_eq(exit_of(guard), 0);
	guard = 0;
}

Test(psupd, says_why_it_does_not_start)
{
	static const char *const extra[] = { "--detach", NULL };

	setenv("PSUP_TEST_DIE", "3", 1);
	guard = start_psupd(extra);
	cr_expect_eq(exit_of(guard), 70);
	guard = 0;
	cr_expect_not_null(strstr(said(), "died again and again"));
}

/* Without a standby it does not begin to serve. */
Test(psupd, says_that_its_standby_does_not_start)
{
	static const char *const extra[] = { "--detach", NULL };

	setenv("PSUP_TEST_STANDBY", "exit 1 100", 1);
	guard = start_psupd(extra);
	cr_expect_eq(exit_of(guard), 70);
	guard = 0;
	cr_expect_not_null(strstr(said(), "the standby ("), "%s", said());
}

Test(psupd, refuses_an_unsafe_directory)
{
	cr_assert_eq(mkdir(run, 0700), 0);
	cr_assert_eq(chmod(run, 0777), 0);
	unsetenv("GUARD_REMOVE");
	cr_expect_eq(exit_of(start_psupd(NULL)), 73);
	cr_expect_not_null(strstr(said(), run));
	cr_assert_eq(rmdir(run), 0);
	cr_assert_eq(symlink("/dev/shm", run), 0);
	setenv("GUARD_REMOVE", dir, 1);
	cr_expect_eq(exit_of(start_psupd(NULL)), 73);
	cr_expect_not_null(strstr(said(), run));
}

/* Until a process has become the program of that name: before its exec it has
 * not the environment by which it is known. */
static void
await_program(pid_t pid, const char *want)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	for (int i = 0; i < DEADLINE_MS && strcmp(name, want) != 0; i++) {
		poll(NULL, 0, 1);
		f = fopen(path, "re");
		cr_assert(f != NULL && fgets(name, sizeof(name), f) != NULL);
		fclose(f);
		name[strcspn(name, "\n")] = '\0';
	}
	cr_assert_str_eq(name, want);
}

Test(psupd, ends_what_a_dead_keeper_left)
{
	struct peer *w;
	struct ctl_exit e;
	pid_t keeper, first;
	int fds[2], old_pipe, old_errors;

	unsetenv("GUARD_REMOVE"); /* the second one's guard does that */
	keeper = up();
	first = guard;
	old_pipe = guard_pipe;
	old_errors = errors;
	w = peer_of(HERITAGE_WORKER, 0, 1);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 4, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(w, 4, "exec sleep 1000");
	do {
		tell_head(w, CTL_ASK_EXIT, 4);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	} while (e.pid == 0);
	await_program(e.pid, "sleep");
	kill(keeper, SIGKILL);
	await_gone(keeper);
	cr_expect_neq(state_of(e.pid), 0, "nothing told it to die");
	for (size_t i = 0; i < peer_count; i++)
		close(peers[i].fd);
	peer_count = 0;
	guard_pipe = errors = -1;
	setenv("GUARD_REMOVE", dir, 1);
	cr_expect_neq(up(), keeper);
	await_gone(e.pid);
	close(old_pipe);
	close(old_errors);
	waitpid(first, NULL, 0);
}

Test(psupd, second_signal_does_not_wait)
{
	struct peer *w;
	struct ctl_shutdown m;
	struct ctl_exit e;
	uint64_t begun;
	pid_t keeper;
	char conf[80];
	int fds[2];
	FILE *f;

	/* a grace that nobody waits for */
	snprintf(conf, sizeof(conf), "%s/conf", dir);
	f = fopen(conf, "we");
	cr_assert(f != NULL && fputs("[exec]\ngrace_ms = 60000\n", f) >= 0 &&
	    fclose(f) == 0);
	setenv("PSUP_CONFIG", conf, 1);
	keeper = up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 4, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(w, 4, "trap '' TERM; while :; do sleep 1; done");
	do {
		tell_head(w, CTL_ASK_EXIT, 4);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	} while (e.pid == 0);
	begun = clock_boot_ns();
	kill(keeper, SIGTERM);
	memcpy(&m, expect(w, CTL_STOP)->bytes, sizeof(m));
	cr_expect_eq(m.grace_ms, 60000);
	cr_expect_eq(m.signal, SIGTERM);
	kill(keeper, SIGINT);
	memcpy(&m, expect(w, CTL_STOP)->bytes, sizeof(m));
	cr_expect_eq(m.grace_ms, 0);
	/* no worker does anything: the keeper itself ends it */
	cr_expect_eq(exit_of(guard), 0);
	guard = 0;
	cr_expect_lt(clock_boot_ns() - begun, 60 * NSEC_PER_SEC);
}

Test(psupd, hup_reloads_a_service)
{
	pid_t keeper = up();

	kill(keeper, SIGHUP);
	expect(peer_of(HERITAGE_MASTER, 0, 1), CTL_RELOAD);
	expect(peer_of(HERITAGE_WORKER, 0, 1), CTL_RELOAD);
	expect(peer_of(HERITAGE_WORKER, WORKERS, 1), CTL_RELOAD);
}
