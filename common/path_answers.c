/* SPDX-License-Identifier: MIT */
/*
 * See path_answers.h. What lies where the root does or in memory, on a way that
 * the kernel knows by heart, answers. Else stat(1) looks, in a process of its own,
 * which is left to itself where it sleeps. A thread would not do: one that sleeps
 * in a mount keeps the process that it is of from ending, so that no other master
 * would follow.
 */
#include "common/path_answers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/procfs.h"

#define WAIT_MS 1000 /* for who looks and sleeps */
#define MORE_MS 100  /* for who has no processor yet, again and again */
#define TRIES   8    /* anybody's rename may spoil one */
#define MORES   10   /* the master waits, for several paths one by one */

static struct question {
	pid_t pid; /* who looks; 0: there is an answer */
	char path[PATH_MAX];
} questions[16]; /* that may hang at once */

/* Has nothing of ours: no signal mask, no descriptor. False: there can be none. */
static bool
begin(struct question *q)
{
	/* of coreutils */
	char looker[] = "/usr/bin/stat", where[] = "-L", end[] = "--";
	char *argv[] = {looker, where, end, q->path, NULL}, *envp[] = {NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawnattr_init(&attr) != 0)
		return false;
	err = posix_spawn_file_actions_init(&files);
	if (err == 0) {
		for (int fd = 0; fd <= STDERR_FILENO && err == 0; fd++)
			err = posix_spawn_file_actions_addopen(
			    &files, fd, "/dev/null", O_RDWR, 0);
		if (err == 0)
			err = posix_spawn_file_actions_addclosefrom_np(
			    &files, STDERR_FILENO + 1);
		(void)posix_spawnattr_setsigmask(&attr, &none);
		(void)posix_spawnattr_setsigdefault(&attr, &all);
		(void)posix_spawnattr_setflags(
		    &attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		if (err == 0)
			err = posix_spawn(
			    &q->pid, argv[0], &files, &attr, argv, envp);
		(void)posix_spawn_file_actions_destroy(&files);
	}
	(void)posix_spawnattr_destroy(&attr);
	if (err != 0)
		q->pid = 0;
	return err == 0;
}

/* Is there an answer within so long? */
static bool
is_answered(struct question *q, int wait_ms)
{
	struct pollfd p = {.events = POLLIN};
	siginfo_t si;

	if (q->pid == 0)
		return true;
	p.fd = (int)syscall(SYS_pidfd_open, q->pid, 0);
	if (p.fd >= 0) {
		(void)poll(&p, 1, wait_ms);
		(void)close(p.fd);
	}
	si.si_pid = 0;
	/* whom the keeper has reaped as an orphan is no child any more */
	if (waitid(P_PID, (id_t)q->pid, &si, WEXITED | WNOHANG) < 0 ||
	    si.si_pid != 0)
		q->pid = 0;
	return q->pid == 0;
}

/* It waits for a processor, not for what it looks at. */
static bool
is_running(pid_t pid)
{
	struct procfs_stat s;

	return procfs_stat(pid, &s) == 0 && s.state == 'R';
}

/* The mount on which it lies, where the kernel need ask nobody for the way. */
static bool
mount_of(const char *path, uint64_t *ret_id)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_CACHED};
	char file[32];
	bool known;
	int fd = -1;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how,
		    sizeof(how));
		if (fd < 0 && errno != EAGAIN)
			break;
	}
	if (fd < 0)
		return false;
	(void)snprintf(file, sizeof(file), "fdinfo/%d", fd);
	known = procfs_number(getpid(), file, "mnt_id:", ret_id);
	close(fd);
	return known;
}

/* Is it one of memory alone? */
static bool
is_memory(uint64_t mount)
{
	char *line = NULL, kind[8];
	size_t size = 0;
	bool found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f != NULL && !found && getline(&line, &size, f) > 0) {
		const char *at = strstr(line, " - ");

		found = strtoull(line, NULL, 10) == mount && at != NULL &&
		    sscanf(at, " - %7s", kind) == 1 &&
		    (strcmp(kind, "tmpfs") == 0 || strcmp(kind, "ramfs") == 0);
	}
	free(line);
	if (f != NULL)
		(void)fclose(f);
	return found;
}

/* On that of the root, without which nobody here would live, or in memory? */
static bool
is_near(const char *path)
{
	uint64_t its, ours;

	return mount_of(path, &its) &&
	    ((mount_of("/", &ours) && its == ours) || is_memory(its));
}

bool
path_answers(const char *path)
{
	struct question *q = NULL;

	if (is_near(path))
		return true;
	for (size_t i = 0; i < NELEMS(questions); i++) {
		if (is_answered(&questions[i], 0))
			q = &questions[i];
		else if (strcmp(questions[i].path, path) == 0)
			return false;
	}
	if (q == NULL ||
	    strlcpy(q->path, path, sizeof(q->path)) >= sizeof(q->path))
		return q != NULL; /* too long for anybody to look at */
	if (!begin(q))
		return true; /* nobody knows */
	if (is_answered(q, WAIT_MS))
		return true;
	for (int i = 0; i < MORES && is_running(q->pid); i++)
		if (is_answered(q, MORE_MS))
			return true;
	(void)kill(q->pid, SIGKILL); /* it may sleep on all the same */
	return is_near(path); /* it slept over /usr/bin/stat itself */
}
