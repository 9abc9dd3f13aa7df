/* SPDX-License-Identifier: MIT */
/* Whose mark is read, whose counts, and that nobody is waited for. */
#include "common/mark.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUEST      65534
#define LONG       100000 /* of a string: more than is read at a time */
#define DEADLINE_S 60

static char marked[] = "PSUP_INSTANCE=00000000000000a1.00000000000000b2";

/* A child that has become `program` under that user. */
static pid_t
run(const char *program, uid_t uid, char *const env[])
{
	char byte;
	pid_t pid;
	int up[2];

	cr_assert(pipe2(up, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		if (uid != geteuid() && setresuid(uid, uid, uid) != 0)
			_exit(127);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execle(program, "sleep", "1000", NULL, env);
		_exit(127);
	}
	close(up[1]);
	cr_assert(pid > 0 && read(up[0], &byte, 1) == 0);
	close(up[0]);
	return pid;
}

static void
end(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	cr_assert(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

Test(mark, is_found_behind_a_long_string)
{
	static char text[LONG + 1];
	char *env[] = {text, marked, NULL};
	struct proc_mark m;
	pid_t pid;

	memset(text, 'x', LONG);
	text[1] = '=';
	pid = run("/bin/sleep", geteuid(), env);
	cr_expect(mark_read_own(pid, 0, &m) == 0);
	cr_expect(m.incarnation == 0xa1 && m.session == 0xb2);
	end(pid);
	cr_expect(mark_read_own(pid, 0, &m) == -ENOENT && m.session == 0);
}

Test(mark, that_is_none_does_not_count)
{
	static char texts[][24] = {"PSUP_INSTANCE=a1", "PSUP_INSTANCE=",
	    "PSUP_INSTANCE=a1.b2x", "XPSUP_INSTANCE=a1.b2"};
	struct proc_mark m;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *env[] = {texts[i], NULL};
		pid_t pid = run("/bin/sleep", geteuid(), env);

		cr_expect(mark_read(pid, &m) == -ENOENT, "%s", texts[i]);
		end(pid);
	}
}

Test(mark, of_another_user_counts_if_it_descends)
{
	char *env[] = {marked, NULL};
	struct proc_mark m;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("needs root, to be somebody else");
	pid = run("/bin/sleep", GUEST, env);
	cr_expect(mark_read(pid, &m) == 0);
	cr_expect(mark_read_own(pid, 0, &m) == -ENOENT);
	cr_expect(m.incarnation == 0);
	cr_expect(mark_read_own(pid, pid, &m) == -ENOENT);
	cr_expect(mark_read_own(pid, getpid(), &m) == 0);
	cr_expect(mark_read_own(pid, getppid(), &m) == 0);
	end(pid);
}

/* A program of root's that anybody may start, with what he likes in its
 * environment. */
Test(mark, of_a_set_user_program_is_its_callers)
{
	char dir[] = "/tmp/test-mark-XXXXXX", path[64], line[160];
	char *env[] = {marked, NULL};
	struct proc_mark m;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("needs root, to be somebody else");
	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	snprintf(path, sizeof(path), "%s/sleep", dir);
	snprintf(line, sizeof(line), "cp -L /bin/sleep %s && chmod 4755 %s",
	    path, path);
	cr_assert(system(line) == 0);
	pid = run(path, GUEST, env);
	cr_expect(mark_read(pid, &m) == 0);
	cr_expect(mark_read_own(pid, 0, &m) == -ENOENT);
	cr_expect(mark_read_own(pid, getpid(), &m) == 0);
	end(pid);
	unlink(path);
	rmdir(dir);
}

/* Who waits for its vfork'd child sleeps as one that waits for a disk does. The
 * child ends with us at the latest: only we have the other end. */
static pid_t
sleep_hard(const int until[2])
{
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(until[1]);
		if (vfork() == 0)
			_exit((int)read(until[0], &byte, 1));
		pause();
	}
	cr_assert(pid > 0);
	return pid;
}

/* Until a look says that. */
static void
await_look(pid_t pid, int want)
{
	struct proc_mark m;

	for (int i = 0; mark_read(pid, &m) != want; i++) {
		cr_assert(i < DEADLINE_S * 1000, "never %d", want);
		usleep(1000);
	}
}

Test(mark, of_who_may_hold_its_lock_is_not_read)
{
	pid_t pid;
	int fd[2];

	cr_assert(pipe(fd) == 0);
	pid = sleep_hard(fd);
	await_look(pid, -EAGAIN);
	cr_assert(write(fd[1], "x", 1) == 1);
	await_look(pid, -ENOENT);
	end(pid);
}

/* Ours, but for the state and where the environment ends. */
static bool
may_wait_as(char state, bool in_exec)
{
	struct procfs_stat st;

	cr_assert_eq(procfs_stat(getpid(), &st), 0);
	st.state = state;
	if (in_exec)
		st.env_end = 0;
	return mark_may_wait(&st);
}

Test(mark, tells_for_whom_one_might_wait)
{
	cr_expect_not(may_wait_as('S', false));
	cr_expect(may_wait_as('D', false));
	cr_expect(may_wait_as('S', true));
	cr_expect_not(mark_may_wait(&(struct procfs_stat){.state = 'S'}),
	    "the kernel's threads have no memory");
}
