/* SPDX-License-Identifier: MIT */
/* Where a keeper makes its control group: any controller of version 2 that ours has
 * to give stands for those that bound. Skipped where there is none. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/kfile.h"
#include "supervisor/keeper/state.h"

static char top[400];                 /* a group of ours, that has it */
static const char *bounds[2];
static char name[32], taken[40];      /* it, and how to have it back; "": it is given */
static int lock;                      /* one test at a time gives it */

static void
put(const char *dir, const char *file, const char *text, int want)
{
	char path[480];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	cr_assert_eq(kfile_write(AT_FDCWD, path, text), want, "%s: %s", path,
	    text);
}

static bool
has(const char *dir, const char *file, const char *word)
{
	char path[480], text[256] = "";

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	(void)kfile_read(AT_FDCWD, path, text, sizeof(text));
	return strstr(text, word) != NULL;
}

static void
setup(void)
{
	const char *given = getenv("PSUP_TEST_CGROUP");
	char own[300], path[400], text[256] = "", word[40], *save = NULL;

	/* whoever runs us is in our own, so that of most machines gives nothing */
	if (given != NULL)
		(void)snprintf(own, sizeof(own), "%s", given);
	else if (cgroup_own_path(CGROUP_UNIFIED, own, sizeof(own)) < 0)
		cr_skip_test("no version 2");
	(void)snprintf(path, sizeof(path), "%s/cgroup.type", own);
	if (given == NULL && access(path, F_OK) == 0)
		cr_skip_test("no group here is ours: PSUP_TEST_CGROUP");
	if ((lock = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		cr_skip_test("no version 2");
	cr_assert_eq(flock(lock, LOCK_EX), 0);
	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", own);
	(void)kfile_read(AT_FDCWD, path, text, sizeof(text));
	(void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", own);
	for (char *at = strtok_r(text, " \n", &save); at != NULL;
	     at = strtok_r(NULL, " \n", &save)) {
		(void)snprintf(word, sizeof(word), "+%s", at);
		(void)snprintf(name, sizeof(name), "%s", at);
		bounds[0] = name;
		taken[0] = '\0';
		if (!has(own, "cgroup.subtree_control", at))
			(void)snprintf(taken, sizeof(taken), "-%s", at);
		if (strcmp(at, "cpuset") != 0 &&
		    kfile_write(AT_FDCWD, path, word) == 0)
			break;
		bounds[0] = NULL;
	}
	(void)snprintf(top, sizeof(top), "%s/test-%d", own, (int)getpid());
	if (bounds[0] == NULL || mkdir(top, 0755) != 0)
		cr_skip_test("no controller here is ours to give");
}

static void
teardown(void)
{
	char own[400], *end;

	if (top[0] == '\0')
		return;
	(void)snprintf(own, sizeof(own), "%s", top);
	end = strrchr(own, '/');
	*end = '\0';
	(void)cgroup_remove(AT_FDCWD, top);
	if (taken[0] != '\0')
		put(own, "cgroup.subtree_control", taken, 0);
	(void)close(lock);
}

TestSuite(groups_place, .init = setup, .fini = teardown, .timeout = 60);

/* In a child that is moved to `begins`: what it makes of its path, and where it is
 * then; joined by a line's end. */
static const char *
placed(const char *begins)
{
	static char said[1024];
	char path[500];
	int out[2], status;
	bool given;
	ssize_t n;
	pid_t pid;

	cr_assert_eq(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		put(begins, "cgroup.procs", "0", 0);
		(void)cgroup_own_path(CGROUP_UNIFIED, path, sizeof(path));
		given = group_place(path, bounds, bounds);
		(void)dprintf(out[1], "%d %s\n", given, path);
		(void)strlcat(path, "/psup-0", sizeof(path));
		if (group_come_first(path) && !given)
			_exit(1); /* beside which nobody's is */
		(void)cgroup_own_path(CGROUP_UNIFIED, path, sizeof(path));
		(void)dprintf(out[1], "%s", path);
		_exit(0);
	}
	(void)close(out[1]);
	for (size_t len = 0; (n = read(out[0], said + len,
	         sizeof(said) - 1 - len)) > 0; said[len] = '\0')
		len += (size_t)n;
	(void)close(out[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return said;
}

static const char *
expected(int given, const char *place, const char *at)
{
	static char text[1024];

	(void)snprintf(text, sizeof(text), "%d %s\n%s%s", given, place, place,
	    at);
	return text;
}

Test(groups_place, is_the_own_one_where_the_keeper_is_alone)
{
	cr_expect_str_eq(placed(top), expected(1, top, "/psupd"));
	cr_expect(has(top, "cgroup.subtree_control", name));
	if (strcmp(name, "cpu") == 0)
		cr_expect(has(top, "psupd/cpu.weight", "932"));
}

/* As of a keeper that was killed, or by systemd's DelegateSubgroup=psupd. */
Test(groups_place, is_the_one_above_where_a_keeper_was_before)
{
	char below[480];

	(void)snprintf(below, sizeof(below), "%s/psupd", top);
	cr_assert_eq(mkdir(below, 0755), 0);
	cr_expect_str_eq(placed(below), expected(1, top, "/psupd"));
	cr_expect_str_eq(placed(below), expected(1, top, "/psupd"));
	cr_expect(has(top, "cgroup.subtree_control", name));
}

/* A client that started it, or a login. */
Test(groups_place, gives_nothing_where_others_are)
{
	pid_t other = fork();

	if (other == 0) {
		put(top, "cgroup.procs", "0", 0);
		(void)pause();
		_exit(0);
	}
	while (!has(top, "cgroup.events", "populated 1"))
		;
	cr_expect_str_eq(placed(top), expected(0, top, ""));
	cr_expect_not(has(top, "cgroup.subtree_control", name));
	cr_expect_not(has(top, "cgroup.type", "threaded"));
	cr_assert_eq(kill(other, SIGKILL), 0);
	cr_assert_eq(waitpid(other, NULL, 0), other);
}

/* The name alone says nothing: the one above is somebody else's. */
Test(groups_place, stays_where_there_is_nothing_to_give)
{
	char below[480];

	(void)snprintf(below, sizeof(below), "%s/psupd", top);
	cr_assert_eq(mkdir(below, 0755), 0);
	bounds[0] = "nothing";
	cr_expect_str_eq(placed(below), expected(0, below, ""));
}
