/* SPDX-License-Identifier: MIT */
/*
 * The spool of stdin: a sparse file that the master appends to and the worker
 * splices into the command's pipe. Who has consumed how much stands in the
 * ring's header (spool_off), moved by the kernel. Bytes that were accepted are
 * never written again: the pipe may still hold the page they lie in.
 */
#include "shm/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/rundir.h"

/* Opens the spool, which must be a regular file. */
static int
spool_open(int dirfd, struct sid sid, int flags)
{
	char name[RUNDIR_NAME_MAX];
	struct stat st;
	int fd;

	rundir_spool_name(sid, name);
	fd = openat(dirfd, name,
	    flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EBADMSG;
}

/* Opens (creating) for the master's appends. */
int
spool_open_append(int dirfd, struct sid sid)
{
	return spool_open(dirfd, sid, O_RDWR | O_CREAT);
}

/* Opens for the worker, who also punches. */
int
spool_open_read(int dirfd, struct sid sid)
{
	return spool_open(dirfd, sid, O_RDWR);
}

/* Appends at `end`, whole or not at all. */
int
spool_append(int fd, uint64_t end, const void *data, size_t size)
{
	const char *at = data;
	size_t done = 0;
	ssize_t n;
	int err;

	while (done < size) {
		n = pwrite(fd, at + done, size - done, (off_t)(end + done));
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		err = n == 0 || errno == EDQUOT ? -ENOSPC : -errno;
		/* Nobody was told of these bytes; give the pages back. */
		if (ftruncate(fd, (off_t)end) != 0)
			return -errno;
		return err;
	}
	return 0;
}

/* Moves bytes from the spool into the pipe. */
ssize_t
spool_splice(int fd, struct ring_header *hdr, int pipe_fd, uint64_t end)
{
	int64_t off;
	uint64_t left;
	ssize_t n;

	off = RELAXED(hdr->spool_off);
	if (off < 0)
		return -EBADMSG;
	if ((uint64_t)off >= end)
		return 0;
	left = end - (uint64_t)off;
	if (left > RING_MAX_SPLICE)
		left = RING_MAX_SPLICE;
	if (FAULT_FAILS("lie.input-lost") && left > 1)
		left -= atomic_fetch_add(&hdr->spool_off, 1) >= 0;
	n = splice(fd, (loff_t *)(uintptr_t)&hdr->spool_off, pipe_fd, NULL,
	    (size_t)left, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n < 0)
		return -errno;
	if (n > 0 && FAULT_FAILS("lie.input-twice"))
		atomic_fetch_sub(&hdr->spool_off, 1);
	/* Accepted bytes that the file does not have: somebody cut it. */
	return n == 0 ? -EBADMSG : n;
}

/* Gives consumed pages back. */
void
spool_punch(int fd, uint64_t consumed, uint64_t *punched)
{
	uint64_t to = consumed & ~(uint64_t)(SHM_PAGE - 1);

	if (to <= *punched)
		return;
	FAULT("stdin.before-punch");
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		(off_t)*punched, (off_t)(to - *punched)) == 0)
		*punched = to;
}
