/* SPDX-License-Identifier: MIT */
/* What is read of processes in /proc: names, zombies, children, numbers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/kfile.h"
#include "common/procfs.h"

/* A child that waits to be killed; it says when it is there. */
static pid_t
child(const char *name)
{
	int said[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(said), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		(void)!write(said[1], "x", 1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(said[0], &byte, 1), 1);
	close(said[0]);
	close(said[1]);
	return pid;
}

/* Dead, and nobody has asked how. */
static void
make_zombie(pid_t pid)
{
	siginfo_t si;

	kill(pid, SIGKILL);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
}

Test(procfs, takes_a_hostile_name_apart)
{
	struct procfs_stat st;

	cr_assert(procfs_parse("12 (a) R 1 (b)) S 7 3 4 5 9 64 0 0 0 0 "
	                       "10 20 1 2 20 0 1 0 555 100 42 9", &st));
	cr_expect_eq(st.pid, 12);
	cr_expect_str_eq(st.name, "a) R 1 (b)");
	cr_expect_eq(st.state, 'S');
	cr_expect_eq(st.ppid, 7);
	cr_expect_eq(st.pgrp, 3);
	cr_expect_eq(st.sid, 4);
	cr_expect_eq(st.tty_pgrp, 9);
	cr_expect_eq(st.flags, 64);
	cr_expect_eq(st.ticks, 33);
	cr_expect_eq(st.start, 555);
	cr_expect_eq(st.size, 100);
	cr_expect_eq(st.rss_pages, 42);
	cr_expect_eq(st.env_end, 0, "it was not said");
	cr_assert(procfs_parse("1 (a) S 0 1 1 0 -1 0 0 0 0 0 0 0 -1 0 0 0 0 0 "
	                       "5 6 -7 8", &st));
	cr_expect_eq(st.tty_pgrp, -1);
	cr_expect_eq(st.rss_pages, 0, "what is not there is no number below");
}

Test(procfs, takes_no_half_of_a_stat)
{
	static const char *const texts[] = {"", ")(", "12 (a)", "12 (a) ",
	    "12 (a) S 7", "12 a S 7 3 3 9 3 0 0 0 0 0 10 20 1 2 20 0 1 0 5 6 7",
	    "12 (a) S 7 3 4 5 9 64 0 0 0 0 10 x 1 2 20 0 1 0 555 100 42 9"};
	struct procfs_stat st;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_not(procfs_parse(texts[i], &st), "%s", texts[i]);
}

/* Killed, but in no sleep that outlasts it. */
Test(procfs, tells_who_is_dying)
{
	const struct procfs_stat no[] = {{.state = 'R'},
	    {.state = 'R', .pending = 1u << (SIGTERM - 1)},
	    {.state = 'D', .pending = 1u << (SIGKILL - 1)},
	    {.state = 'D', .flags = 4},
	    {.state = 'S', .pending = 1u << (SIGKILL - 1)}};
	const struct procfs_stat yes[] = {
	    {.state = 'R', .pending = 1u << (SIGKILL - 1)},
	    {.state = 'R', .flags = 4}};
	struct procfs_stat st;
	sigset_t set;

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		cr_expect_not(procfs_is_dying(&no[i]), "%zu", i);
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		cr_expect(procfs_is_dying(&yes[i]), "%zu", i);
	/* and where the kernel tells what is pending */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	cr_assert_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	cr_assert_eq(raise(SIGUSR2), 0);
	cr_assert_eq(procfs_stat(getpid(), &st), 0);
	cr_expect_eq(st.pending, 1u << (SIGUSR2 - 1));
	cr_assert_eq(sigwaitinfo(&set, NULL), SIGUSR2);
}

Test(procfs, tells_the_living_from_zombies_and_the_gone)
{
	pid_t pid = child("a) Z\n1 (");
	struct procfs_stat st;
	int32_t pids[4];
	char text[64];

	cr_assert_eq(procfs_stat(pid, &st), 0);
	cr_expect_eq(st.pid, pid);
	cr_expect_eq(st.ppid, getpid());
	cr_expect_str_eq(st.name, "a) Z\n1 (");
	cr_expect(procfs_alive(pid, &st));
	cr_expect_gt(procfs_count_fds(pid), 2);
	cr_assert_eq(procfs_children(getpid(), pids, 4), 1);
	cr_expect_eq(pids[0], pid);
	cr_expect_eq(procfs_children(getpid(), pids, 0), 0);

	make_zombie(pid);
	cr_assert_eq(procfs_stat(pid, &st), 0);
	cr_expect_eq(st.state, 'Z');
	cr_expect_not(procfs_alive(pid, &st));
	cr_expect_eq(procfs_children(getpid(), pids, 4), 1, "not reaped yet");

	waitpid(pid, NULL, 0);
	cr_expect_eq(procfs_stat(pid, &st), -ENOENT);
	cr_expect_not(procfs_alive(pid, &st));
	cr_expect_eq(procfs_file(pid, "stat", text, sizeof(text)), -ENOENT);
	cr_expect_eq(procfs_count_fds(pid), -1);
	cr_expect_eq(procfs_children(getpid(), pids, 4), 0);
}

Test(procfs, says_that_one_has_ended_while_it_was_read)
{
	pid_t pid = child("gone");
	char path[64], text[64];
	int dir;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(dir, 0);
	make_zombie(pid);
	waitpid(pid, NULL, 0);
	cr_expect_eq(kfile_read(dir, "stat", text, sizeof(text)), -ESRCH);
	close(dir);
}

static bool
count(void *arg, int32_t pid)
{
	*(int *)arg += pid > 1;
	return true;
}

/* More of them than one read of the list has. */
Test(procfs, lists_all_children)
{
	static pid_t pids[1500];
	static int32_t found[1500];
	int n = 0;

	for (size_t i = 0; i < 1500; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (pids[i] == 0)
			_exit(0);
	}
	cr_assert_eq(procfs_each_child(getpid(), count, &n), 0);
	cr_expect_eq(n, 1500);
	cr_expect_eq(procfs_children(getpid(), found, 1500), 1500);
	cr_expect_eq(procfs_children(getpid(), found, 700), 700);
	for (size_t i = 0; i < 1500; i++)
		waitpid(pids[i], NULL, 0);
	n = 0;
	cr_assert_eq(procfs_each_child(getpid(), count, &n), 0);
	cr_expect_eq(n, 0);
}

Test(procfs, finds_a_number_by_the_beginning_of_its_line)
{
	uint64_t v = 7;

	cr_assert(procfs_number(getpid(), "status", "Pid:", &v));
	cr_expect_eq(v, (uint64_t)getpid(), "not that of a TracerPid");
	cr_assert(procfs_number(getpid(), "status", "Uid:", &v));
	cr_expect_eq(v, getuid());
	cr_assert(procfs_number(getpid(), "stat", "", &v));
	cr_expect_eq(v, (uint64_t)getpid());
	v = 7;
	cr_expect_not(procfs_number(getpid(), "status", "Nothing:", &v));
	cr_expect_not(procfs_number(getpid(), "status", "Name:", &v));
	cr_expect_not(procfs_number(getpid(), "nothing", "", &v));
	cr_expect_eq(v, 7, "untouched");
}

Test(procfs, reads_and_writes_as_far_as_there_is_room)
{
	char text[8];

	cr_expect_eq(procfs_file(getpid(), "status", text, sizeof(text)), 7);
	cr_expect_eq(strlen(text), 7);
	cr_expect_eq(procfs_write(getpid(), "oom_score_adj", "900"), 0);
	cr_expect_eq(procfs_file(getpid(), "oom_score_adj", text,
	    sizeof(text)), 4);
	cr_expect_str_eq(text, "900\n");
	cr_expect_eq(procfs_write(getpid(), "oom_score_adj", "x"), -EINVAL);
	cr_expect_eq(procfs_write(getpid(), "nothing", "x"), -ENOENT);
}

Test(procfs, walks_over_processes_alone)
{
	DIR *d = opendir("/proc");
	bool self = false;
	int32_t pid;

	while ((pid = procfs_next(d)) != 0) {
		cr_assert_gt(pid, 0);
		self = self || pid == getpid();
	}
	cr_expect(self);
	closedir(d);
	cr_expect_eq(procfs_next(NULL), 0);
}
