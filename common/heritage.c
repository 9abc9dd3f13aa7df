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

#include "abi.h"
#include "check.h"

#define HERITAGE_BYTES_MAX 65536

/* In a test of upgrades the next build's struct is so much longer. */
#if defined(PSUP_LAYOUT_BUMP) && PSUP_LAYOUT_BUMP == 1
#define TAIL 64u
#else
#define TAIL 0u
#endif

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
	return abi_reads(ABI_HERITAGE, h->stamp) &&
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

	memset(&h, 0, sizeof(h)); /* an older build's struct is shorter */
	if (fstat(HERITAGE_FD_INFO, &st) < 0)
		return -errno;
	do {
		n = pread(HERITAGE_FD_INFO, &h, sizeof(h), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		error = -errno;
	else if (st.st_size != (off_t)h.size ||
	    h.size > HERITAGE_BYTES_MAX || !is_sane(&h) ||
	    (abi_stamp_version(h.stamp) >= abi_table[ABI_HERITAGE].version &&
		h.size < sizeof(h)))
		error = -EPROTO;
	close(HERITAGE_FD_INFO);
	if (error == 0)
		*ret = h;
	return error;
}

int
heritage_seal(const struct heritage *from)
{
	struct {
		struct heritage h;
		unsigned char tail[TAIL + 1];
	} out = { .h = *from };
	const struct heritage *h = &out.h;
	const size_t bytes = sizeof(out.h) + TAIL;
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_WRITE;
	int fd, error;
	ssize_t n;

	out.h.size = (uint32_t)bytes;
	out.h.stamp = abi_stamp(ABI_HERITAGE);
	CHECK(is_sane(h));
	fd = memfd_create("psup-heritage", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	do {
		n = pwrite(fd, &out, bytes, 0);
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)bytes && fcntl(fd, F_ADD_SEALS, seals) == 0)
		return fd;
	error = n < 0 || n == (ssize_t)bytes ? -errno : -ENOSPC;
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
