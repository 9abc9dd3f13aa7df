/* SPDX-License-Identifier: MIT */
/* See box.h. Called by start_prepare.c and pty.c. */
#include "worker/box.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/box_pts.h"
#include "common/procfs.h"

static bool
has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

int
box_open(const struct ctl_start *order, int *ret_pidfd)
{
	struct procfs_stat st;
	int fd = (int)syscall(SYS_pidfd_open, order->box_pid, 0);

	if (fd < 0)
		return -errno;
	/* from here on the number is not another's, if it was not before */
	if (procfs_stat(order->box_pid, &st) < 0 ||
	    st.start != order->box_start || has_ended(fd)) {
		close(fd);
		return -ESRCH;
	}
	*ret_pidfd = fd;
	return 0;
}

int
box_namespaces(const struct ctl_start *order)
{
	const int all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
	    CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	struct stat own, its;
	char name[40];

	(void)snprintf(name, sizeof(name), "/proc/%d/ns/user", order->box_pid);
	if (stat("/proc/self/ns/user", &own) == 0 && stat(name, &its) == 0 &&
	    own.st_dev == its.st_dev && own.st_ino == its.st_ino)
		return all & ~CLONE_NEWUSER;
	return all;
}

int
box_ptmx(const struct ctl_start *order, int pidfd)
{
	int fd = box_pts_open(order->box_pid, "/dev/pts/ptmx", O_RDWR);

	if (fd >= 0 && has_ended(pidfd)) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}
