/* SPDX-License-Identifier: MIT */
/* See procfs.h. Called by tree_proc.c and tree_late.c, which know what a
 * session is; nothing of that is known here. */
#include "worker/procfs.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mark.h"

#define FORKED_NO_EXEC 0x40u /* the kernel's PF_FORKNOEXEC */

bool
procfs_read(int32_t pid, struct procfs *ret)
{
	struct procfs_stat st;

	if (!procfs_alive(pid, &st))
		return false;
	*ret = (struct procfs){.pid = pid, .ppid = st.ppid, .pgrp = st.pgrp,
	    .sid = st.sid, .start = st.start};
	memcpy(ret->name, st.name, sizeof(ret->name));
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
procfs_has_open(int32_t pid, const struct procfs_links *want)
{
	char dir[32], link[64];
	struct dirent *e;
	bool found = false;
	ssize_t len;
	size_t i;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
	d = opendir(dir);
	if (d == NULL)
		return false;
	while (!found && (e = readdir(d)) != NULL) {
		len = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
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
	struct procfs_stat st;

	if (!procfs_alive(pid, &st))
		return false;
	snprintf(ret, size, "%s", st.name);
	return true;
}

bool
procfs_before_exec(int32_t pid)
{
	struct procfs_stat st;

	return procfs_stat(pid, &st) == 0 && (st.flags & FORKED_NO_EXEC) != 0;
}

/* The pidfd holds the number while what stands behind it is compared. */
void
procfs_signal(const struct procfs *p, int sig)
{
	int pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	struct procfs now;

	if (pidfd < 0)
		return;
	if (procfs_read(p->pid, &now) && now.start == p->start)
		(void)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	close(pidfd);
}
