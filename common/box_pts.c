/* SPDX-License-Identifier: MIT */
/* See box_pts.h. */
#include "common/box_pts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/kfile.h"

#define TRIES	   1000 /* who mounts or renames anywhere disturbs one */
#define MOUNTS_MAX 65536

/* The place, not opened. All of a devpts, and what it is mounted on, is known
 * to the kernel without asking anybody. */
static int
find(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_CACHED};
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0 && errno == EINVAL) { /* before Linux 5.12 */
		how.resolve &= ~(uint64_t)RESOLVE_CACHED;
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	}
	return fd < 0 ? -errno : fd;
}

/* Does it lie in a devpts? statfs() would ask the file system. */
static bool
is_devpts(int32_t pid, int fd)
{
	static char mounts[MOUNTS_MAX];
	char name[40], device[32], *line, *save = NULL;
	struct statx st;

	(void)snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)pid);
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) != 0 ||
	    kfile_read(AT_FDCWD, name, mounts, sizeof(mounts)) < 0)
		return false;
	(void)snprintf(device, sizeof(device), " %u:%u /",
	    (unsigned)st.stx_dev_major, (unsigned)st.stx_dev_minor);
	for (line = strtok_r(mounts, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (strstr(line, device) != NULL &&
		    strstr(line, " - devpts ") != NULL)
			return true;
	return false;
}

int
box_pts_open(int32_t pid, const char *path, int flags)
{
	char name[40];
	int root, fd, rc;

	(void)snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = find(root, path + 1);
	close(root);
	if (fd < 0)
		return fd;
	rc = -ESRCH;
	if (is_devpts(pid, fd)) {
		(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		rc = open(name, flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
		rc = rc < 0 ? -errno : rc;
	}
	close(fd);
	return rc;
}
