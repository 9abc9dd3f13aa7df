/* SPDX-License-Identifier: MIT */
/* See mark.h. */
#include "common/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

#define NAME       "PSUP_INSTANCE="
#define CHUNK      65536u /* of an environment, at a time */
#define STEPS_MAX  4096u  /* of ancestors */
#define LOOKS      3      /* at one that may be locked: most are not for long */
#define PAUSE_NS   300000 /* between them */

bool
mark_may_wait(const struct procfs_stat *f)
{
	static int says = -1;
	struct procfs_stat own;

	if (says < 0)
		says = procfs_stat(getpid(), &own) == 0 && own.env_end != 0;
	return f->state == 'D' ||
	    (says > 0 && f->size != 0 && f->env_end == 0);
}

/* 0, -ENOENT: gone; -EAGAIN: it may be locked, and stays so. */
static int
await_unlocked(int32_t pid)
{
	struct procfs_stat f;
	int i;

	for (i = 0; i < LOOKS; i++) {
		if (i > 0)
			clock_nap(PAUSE_NS);
		if (procfs_stat(pid, &f) < 0)
			return -ENOENT;
		if (!mark_may_wait(&f))
			return 0;
	}
	return -EAGAIN;
}

/* The numbers of a mark; false: it is another string. */
static bool
take(const char *s, struct proc_mark *ret)
{
	char *dot, *stop;

	*ret = (struct proc_mark){0};
	if (strncmp(s, NAME, sizeof(NAME) - 1) != 0)
		return false;
	ret->incarnation = strtoull(s + sizeof(NAME) - 1, &dot, 16);
	if (*dot == '.')
		ret->session = strtoull(dot + 1, &stop, 16);
	if (*dot != '.' || *stop != '\0')
		*ret = (struct proc_mark){0}; /* none that counts */
	return true;
}

/* Strings may be cut by a read; only their beginnings matter, so the cut one is
 * read again, but for one that is longer than any mark. */
static bool
scan(int fd, struct proc_mark *ret)
{
	static char buf[CHUNK + 1];
	bool found = false, skip = false;
	size_t have = 0;
	ssize_t n;

	while (!found && (n = read(fd, buf + have, CHUNK - have)) > 0) {
		char *p = buf, *end;

		have += (size_t)n;
		while (!found && (end = memchr(p, '\0',
		    (size_t)(buf + have - p))) != NULL) {
			found = !skip && take(p, ret);
			skip = false;
			p = end + 1;
		}
		have = (size_t)(buf + have - p);
		memmove(buf, p, have);
		if (have == CHUNK) {
			skip = true;
			have = 0;
		}
	}
	return found;
}

int
mark_read(int32_t pid, struct proc_mark *ret)
{
	int r = await_unlocked(pid), fd;
	char path[48];

	*ret = (struct proc_mark){0};
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	r = scan(fd, ret) && ret->incarnation != 0 ? 0 : -ENOENT;
	close(fd);
	return r;
}

/* Is `keeper` among its ancestors? One that dies meanwhile leaves its children
 * to another: from the start then. */
static bool
descends(int32_t pid, int32_t keeper)
{
	int32_t at = pid;
	struct procfs_stat f;
	unsigned i;

	for (i = 0; i < STEPS_MAX; i++) {
		if (procfs_stat(at, &f) < 0) {
			if (at == pid)
				return false;
			at = pid;
		} else if (f.ppid == keeper) {
			return true;
		} else if (f.ppid <= 1) {
			return false;
		} else {
			at = f.ppid;
		}
	}
	return false;
}

/* Who started it: a program that changes its user at exec is its caller's. */
static bool
is_started_by(int32_t pid, uid_t uid)
{
	uint64_t real;

	return procfs_number(pid, "status", "Uid:", &real) && real == uid;
}

/* The directory's owner is who it runs as, and costs next to nothing. */
int
mark_read_own(int32_t pid, int32_t keeper, struct proc_mark *ret)
{
	bool own, kin = false;
	char path[32];
	struct stat st;
	int r;

	*ret = (struct proc_mark){0};
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) != 0)
		return -ENOENT;
	own = st.st_uid == geteuid();
	if (!own)
		kin = descends(pid, keeper);
	r = own || kin ? mark_read(pid, ret) : -ENOENT;
	if (r == 0 && !kin && !is_started_by(pid, geteuid()) &&
	    !descends(pid, keeper)) {
		*ret = (struct proc_mark){0};
		r = -ENOENT;
	}
	return r;
}
