/* SPDX-License-Identifier: MIT */
/* See procfs.h. Called by tree_proc.c and tree_late.c, which know what a
 * session is; nothing of that is known here. */
#include "worker/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mark.h"

#define FORKED_NO_EXEC 0x40u /* the kernel's PF_FORKNOEXEC */

int
procfs_open(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

/* One file of a process; the number of bytes, or -errno. */
static ssize_t
read_file(int proc, int32_t pid, const char *file, char *ret, size_t size)
{
	char name[48];
	ssize_t n, have = 0;
	int fd;

	snprintf(name, sizeof(name), "%d/%s", (int)pid, file);
	fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((size_t)have < size - 1 &&
	    (n = read(fd, ret + have, size - 1 - (size_t)have)) > 0)
		have += n;
	close(fd);
	ret[have] = '\0';
	return have;
}

/* The numbers of /proc/PID/stat, and the name. */
bool
procfs_read(int proc, int32_t pid, struct procfs *ret)
{
	char text[1024], *p, *name, state;
	unsigned long long start;
	int ppid, pgrp, sid;

	if (read_file(proc, pid, "stat", text, sizeof(text)) <= 0)
		return false;
	name = strchr(text, '(');
	p = strrchr(text, ')'); /* the name may hold anything */
	if (name == NULL || p == NULL || p <= name ||
	    sscanf(p + 1,
	        " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
	        "%*d %*d %*d %llu",
	        &state, &ppid, &pgrp, &sid, &start) != 5 ||
	    state == 'Z' || state == 'X')
		return false;
	*ret = (struct procfs){.pid = pid, .ppid = ppid, .pgrp = pgrp,
	    .sid = sid, .start = start};
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(p - name - 1),
	    name + 1);
	return true;
}

void
procfs_read_mark(struct procfs *p, int32_t keeper_pid)
{
	struct proc_mark m;

	(void)mark_read_own(p->pid, keeper_pid, &m);
	p->read = true;
	p->mark_incarnation = m.incarnation;
	p->mark_sid = m.session;
}

bool
procfs_has_open(int proc, int32_t pid, const struct procfs_links *want)
{
	char dir[32], link[64];
	struct dirent *e;
	bool found = false;
	ssize_t len;
	size_t i;
	DIR *d;
	int fd;

	snprintf(dir, sizeof(dir), "%d/fd", (int)pid);
	fd = openat(proc, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (e = readdir(d)) != NULL) {
		len = readlinkat(fd, e->d_name, link, sizeof(link) - 1);
		if (len <= 0)
			continue;
		link[len] = '\0';
		for (i = 0; i < want->count && !found; i++)
			found = strcmp(link, want->name[i]) == 0;
	}
	closedir(d);
	return found;
}

bool
procfs_name(int32_t pid, char *ret, size_t size)
{
	int proc = procfs_open();
	struct procfs p;
	bool alive;

	if (proc < 0)
		return false;
	alive = procfs_read(proc, pid, &p);
	if (alive)
		snprintf(ret, size, "%s", p.name);
	close(proc);
	return alive;
}

bool
procfs_before_exec(int32_t pid)
{
	char text[1024], *p;
	int proc = procfs_open();
	unsigned flags = 0;
	ssize_t n;

	if (proc < 0)
		return false;
	n = read_file(proc, pid, "stat", text, sizeof(text));
	close(proc);
	p = n > 0 ? strrchr(text, ')') : NULL;
	return p != NULL &&
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	    (flags & FORKED_NO_EXEC) != 0;
}

size_t
procfs_children(int32_t pid, int32_t *ret, size_t max)
{
	char file[48], text[4096], *p = text, *end;
	int proc = procfs_open();
	size_t n = 0;

	if (proc < 0)
		return 0;
	snprintf(file, sizeof(file), "task/%d/children", (int)pid);
	if (read_file(proc, pid, file, text, sizeof(text)) <= 0)
		text[0] = '\0';
	close(proc);
	while (n < max && (end = strchr(p, ' ')) != NULL) {
		ret[n++] = (int32_t)strtol(p, NULL, 10);
		p = end + 1;
	}
	return n;
}

/* The pidfd holds the number while what stands behind it is compared. */
void
procfs_signal(int proc, const struct procfs *p, int sig)
{
	int pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	struct procfs now;

	if (pidfd < 0)
		return;
	if (procfs_read(proc, p->pid, &now) && now.start == p->start)
		(void)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	close(pidfd);
}
