/* SPDX-License-Identifier: MIT */
/*
 * The one struct that a master or a worker inherits: the keeper seals it, the
 * new process reads it once, at its start.
 */
#include "heritage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* Absolute paths, or none. */
static bool
groups_are_sane(const struct heritage *h)
{
	size_t i;

	for (i = 0; i < HERITAGE_GROUPS; i++)
		if (memchr(h->group[i], 0, sizeof(h->group[i])) == NULL ||
		    (h->group[i][0] != '\0' && h->group[i][0] != '/'))
			return false;
	return true;
}

/* Is what was read something this build can use? */
static bool
is_sane(const struct heritage *h)
{
	return h->size == sizeof(*h) && h->version == HERITAGE_VERSION &&
	    h->role >= HERITAGE_MASTER && h->role <= HERITAGE_STANDBY &&
	    h->keeper_pid > 0 && h->incarnation != 0 &&
	    memchr(h->runtime_dir, 0, sizeof(h->runtime_dir)) != NULL &&
	    h->runtime_dir[0] == '/' &&
	    memchr(h->config_path, 0, sizeof(h->config_path)) != NULL &&
	    groups_are_sane(h);
}

int
heritage_receive(struct heritage *ret)
{
	struct heritage h;
	struct stat st;
	ssize_t n;
	int error = 0;

	if (fstat(HERITAGE_FD_INFO, &st) < 0)
		return -errno;
	do {
		n = pread(HERITAGE_FD_INFO, &h, sizeof(h), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		error = -errno;
	else if ((size_t)n != sizeof(h) || st.st_size != (off_t)sizeof(h) ||
	    !is_sane(&h))
		error = -EPROTO;
	close(HERITAGE_FD_INFO);
	if (error == 0)
		*ret = h;
	return error;
}

int
heritage_seal(const struct heritage *h)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_WRITE;
	int fd, error;
	ssize_t n;

	CHECK(is_sane(h));
	fd = memfd_create("psup-heritage", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	do {
		n = pwrite(fd, h, sizeof(*h), 0);
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(*h) && fcntl(fd, F_ADD_SEALS, seals) == 0)
		return fd;
	error = n < 0 || n == (ssize_t)sizeof(*h) ? -errno : -ENOSPC;
	close(fd);
	return error;
}

/* Memory has an rlimit to fall back on; pids have none that is a session's. */
enum heritage_by
heritage_limit_by(const struct heritage *h, enum ctl_limit which)
{
	uint32_t flag;
	enum heritage_group group;

	if (which != CTL_LIMIT_MEMORY && which != CTL_LIMIT_PIDS)
		return HERITAGE_BY_RLIMIT;
	flag = which == CTL_LIMIT_MEMORY ? HERITAGE_TREE_LIMIT_MEMORY :
					   HERITAGE_TREE_LIMIT_PIDS;
	group = which == CTL_LIMIT_MEMORY ? HERITAGE_GROUP_MEMORY :
					    HERITAGE_GROUP_PIDS;
	if ((h->flags & flag) != 0)
		return HERITAGE_BY_TREE;
	if (h->group[group][0] != '\0')
		return HERITAGE_BY_V1;
	return which == CTL_LIMIT_MEMORY ? HERITAGE_BY_RLIMIT :
					   HERITAGE_BY_NOTHING;
}
