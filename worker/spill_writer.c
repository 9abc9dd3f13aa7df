/* SPDX-License-Identifier: MIT */
/*
 * The process that writes a session's spill file: forked by spill.c, so that a
 * file system that never answers holds up nobody but it. It reads what was
 * published out of the ring's file, and waits for more. The file is the
 * output's first bytes without a gap, as long as it is being written. Nothing
 * is synced: this guards against the ring's limits, not against a power cut.
 *
 * It ends with its worker. What hangs when it is killed never comes back here:
 * a successor's writer is alone with the header.
 */
#include "worker/spill_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fault.h"
#include "shm/ring_math.h"

#define GET(field)    atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, v) atomic_store_explicit(&(field), (v), memory_order_release)

/* Is this the file that an attempt of ours made, and nobody else's? */
static bool
is_left_over(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size == 0 && st->st_nlink == 1 &&
	    st->st_uid == geteuid() && (st->st_mode & 077) == 0;
}

/* Opens the file for the first time. */
static int
open_new(const char *path, bool again, struct stat *ret)
{
	int fd, error;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC |
	    O_NOCTTY, 0600);
	if (fd < 0 && errno == EEXIST && again) {
		fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY |
		    O_NONBLOCK);
		if (fd >= 0 && (fstat(fd, ret) != 0 || !is_left_over(ret))) {
			close(fd);
			return -EEXIST;
		}
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* The file of a session that runs: the one that was made, and no other. */
static int
open_again(const struct ring_header *hdr, const char *path)
{
	struct stat st;
	int fd, error;

	fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY |
	    O_NONBLOCK);
	if (fd < 0)
		return -errno;
	error = fstat(fd, &st) != 0 ? errno : 0;
	if (error == 0 && S_ISREG(st.st_mode) &&
	    st.st_dev == GET(hdr->spill_dev) &&
	    st.st_ino == GET(hdr->spill_ino))
		return fd;
	close(fd);
	return error != 0 ? -error : -ESTALE; /* another file now */
}

/* How much can be copied in one piece from `pos`, `end` at most; 0: it is a
 * hole that a full tmpfs left, up to *ret_skip. */
static size_t
piece(const struct ring_writer *r, uint64_t pos, uint64_t end, uint64_t *ret_skip)
{
	const struct ring_header *hdr = r->hdr;
	uint64_t hole_from = GET(hdr->hole_from), hole_to = GET(hdr->hole_to);
	uint64_t limit = end, wrap;

	if (pos >= hole_from && pos < hole_to) {
		*ret_skip = hole_to < end ? hole_to : end;
		return 0;
	}
	if (pos < hole_from && hole_from < hole_to && hole_from < limit)
		limit = hole_from;
	wrap = pos < hdr->head_bytes
	    ? hdr->head_bytes
	    : pos + r->tail_cap -
		(pos - hdr->head_bytes) % r->tail_cap;
	if (wrap < limit)
		limit = wrap;
	return limit - pos < RING_MAX_SPLICE ? (size_t)(limit - pos)
					     : RING_MAX_SPLICE;
}

/* Copies n bytes at `pos`; what was written, or -errno. */
static ssize_t
copy_piece(const struct spill_job *job, int fd, uint64_t pos, size_t n)
{
	static char buf[RING_MAX_SPLICE];
	const struct ring_writer *r = job->ring;
	ssize_t got, put;

	do
		got = pread(r->fd, buf, n, (off_t)ring_offset_of(pos,
		    r->hdr->head_bytes, r->tail_cap));
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 ? -errno : -EIO;
	FAULT("spill.before-write");
	do
		put = FAULT_FAILS("spill.disk-full")
		    ? (errno = ENOSPC, -1)
		    : pwrite(fd, buf, (size_t)got, (off_t)pos);
	while (put < 0 && errno == EINTR);
	if (put <= 0)
		return put < 0 ? -errno : -EIO;
	FAULT("spill.after-write");
	while (FAULT_FAILS("spill.hang"))
		pause();
	return put;
}

/* Writes what was published. 0, or how the file ended. */
static enum ring_spill
write_on(const struct spill_job *job, int fd, int *ret_error)
{
	struct ring_header *hdr = job->ring->hdr;
	uint64_t pos = GET(hdr->spill_pos), skip = 0;
	uint64_t head = atomic_load(&hdr->head), max = GET(hdr->spill_max);
	uint64_t end = head < max ? head : max;
	ssize_t n;

	while (pos < end) {
		size_t len = piece(job->ring, pos, end, &skip);

		n = len > 0 ? copy_piece(job, fd, pos, len)
			    : (ssize_t)(skip - pos);
		if (n < 0) {
			*ret_error = (int)-n;
			return n == -ENOSPC || n == -EDQUOT ? SPILL_DISK_FULL
							    : SPILL_ERROR;
		}
		pos += (uint64_t)n;
		/* whoever dies before this store has it written once more */
		SET(hdr->spill_pos, pos);
	}
	return head > end ? SPILL_FULL : SPILL_NONE;
}

/* The file is made, or found again, and noted. 0 or -errno. */
static int
begin(const struct spill_job *job)
{
	struct ring_header *hdr = job->ring->hdr;
	struct stat st;
	int fd;

	if (GET(hdr->spill_state) == SPILL_WRITING)
		return open_again(hdr, job->path);
	fd = open_new(job->path, job->again, &st);
	if (fd < 0)
		return fd;
	FAULT("spill.in-create");
	SET(hdr->spill_dev, st.st_dev);
	SET(hdr->spill_ino, st.st_ino);
	SET(hdr->spill_max, job->max);
	SET(hdr->spill_state, SPILL_WRITING);
	return fd;
}

/* Nothing ran: the empty file goes. */
static void
undo(const struct spill_job *job)
{
	struct stat st;

	if (lstat(job->path, &st) == 0 && st.st_size == 0 &&
	    st.st_dev == GET(job->ring->hdr->spill_dev) &&
	    st.st_ino == GET(job->ring->hdr->spill_ino))
		(void)unlink(job->path);
}

/* Nothing of the worker's is held: a command would wait for the end of its
 * input as long as we hang. */
static void
let_go(const struct spill_job *job)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != job->worker)
		_exit(0);
	(void)prctl(PR_SET_NAME, "psup-spill");
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(job->null_fd, fd);
	job->ring->fd = dup3(job->ring->fd, 3, O_CLOEXEC) < 0 ? -1 : 3;
	closefrom(4);
}

_Noreturn void
spill_writer(const struct spill_job *job)
{
	struct spill_page *page = job->page;
	enum ring_spill how = SPILL_NONE;
	uint32_t order;
	int fd, error = 0;

	let_go(job);
	fd = begin(job);
	if (fd < 0) {
		atomic_store(&page->error, -fd);
		how = SPILL_ERROR;
		error = -fd;
	}
	atomic_store(&page->state, fd < 0 ? SPILLER_FAILED : SPILLER_WRITES);
	while (how == SPILL_NONE) {
		order = atomic_load(&page->order);
		how = write_on(job, fd, &error);
		if (how != SPILL_NONE || (order & SPILL_END) != 0)
			break;
		if ((order & SPILL_UNDO) != 0) {
			undo(job);
			break;
		}
		(void)syscall(SYS_futex, &page->order, FUTEX_WAIT, order, NULL,
		    NULL, 0);
	}
	if (how != SPILL_NONE &&
	    GET(job->ring->hdr->spill_state) == SPILL_WRITING)
		SET(job->ring->hdr->spill_state,
		    (uint64_t)(uint32_t)error << 32 | (uint32_t)how);
	atomic_store(&page->state,
	    fd < 0 ? SPILLER_FAILED : SPILLER_OVER);
	_exit(0);
}
