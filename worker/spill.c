/* SPDX-License-Identifier: MIT */
/*
 * The spill file of a session. Called by pump.c after every splice, before the
 * next one could overwrite what is not written yet: so the file is the output's
 * first bytes without a gap, as long as it is being written. The page cache
 * takes what comes; a disk that does not is given up after SLOW_NS, since the
 * whole worker stands still meanwhile. Nothing is synced: this guards against
 * the ring's limits, not against a power cut.
 *
 * Path and cap are noted in the ring's file, behind the data, for a successor.
 */
#include "worker/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/ring_math.h"

#define SLOW_NS    NSEC_PER_SEC /* one write; then the file is given up */
#define PATH_BYTES 4096u

#define GET(field)    atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, v) atomic_store_explicit(&(field), (v), memory_order_relaxed)

/* Where the path stands in the ring's file. */
static off_t
path_offset(const struct child *c)
{
	return (off_t)(RING_DATA_OFFSET + c->ring.hdr->head_bytes +
	    c->ring.tail_cap);
}

/* Writes no more. */
static void
spill_stop(struct child *c, enum ring_spill state, int error)
{
	SET(c->ring.hdr->spill_state,
	    (uint64_t)(uint32_t)error << 32 | (uint32_t)state);
	if (state != SPILL_FULL)
		log_event(LOG_WARN, "spill-ends", KV("session", c->sid.v),
		    KV("error", err_name(error)));
	spill_close(c);
}

void
spill_close(struct child *c)
{
	if (c->spill_fd >= 0)
		close(c->spill_fd);
	c->spill_fd = -1;
}

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

int
spill_create(struct child *c, const char *path, uint64_t max, bool again)
{
	struct ring_header *hdr = c->ring.hdr;
	size_t len = strlen(path) + 1;
	struct stat st;
	ssize_t n;
	int fd;

	if (c->spill_fd >= 0)
		return 0; /* a try before this one */
	if (len > PATH_BYTES)
		return -ENAMETOOLONG;
	n = pwrite(c->ring.fd, path, len, path_offset(c));
	if (n != (ssize_t)len)
		return n < 0 ? -errno : -ENOSPC;
	fd = open_new(path, again, &st);
	if (fd < 0)
		return fd;
	c->spill_fd = fd;
	FAULT("spill.in-create");
	SET(hdr->spill_dev, st.st_dev);
	SET(hdr->spill_ino, st.st_ino);
	SET(hdr->spill_max, max);
	SET(hdr->spill_state, SPILL_WRITING);
	return 0;
}

void
spill_undo(struct child *c, const char *path)
{
	struct stat st;

	if (c->spill_fd < 0)
		return;
	if (lstat(path, &st) == 0 && st.st_size == 0 &&
	    st.st_dev == GET(c->ring.hdr->spill_dev) &&
	    st.st_ino == GET(c->ring.hdr->spill_ino))
		(void)unlink(path);
	spill_close(c);
}

void
spill_take_over(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	char path[PATH_BYTES];
	struct stat st;
	ssize_t n;

	if (GET(hdr->spill_state) != SPILL_WRITING)
		return;
	n = pread(c->ring.fd, path, sizeof(path), path_offset(c));
	if (n <= 0 || memchr(path, 0, (size_t)n) == NULL) {
		spill_stop(c, SPILL_ERROR, n < 0 ? errno : EBADMSG);
		return;
	}
	c->spill_fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC |
	    O_NOCTTY | O_NONBLOCK);
	if (c->spill_fd < 0 || fstat(c->spill_fd, &st) != 0) {
		spill_stop(c, SPILL_ERROR, errno);
	} else if (!S_ISREG(st.st_mode) || st.st_dev != GET(hdr->spill_dev) ||
	    st.st_ino != GET(hdr->spill_ino)) {
		spill_stop(c, SPILL_ERROR, ESTALE); /* another file now */
	} else {
		spill_step(c);
	}
}

/* How much can be copied in one piece from `pos`, `end` at most; 0: it is a
 * hole that a full tmpfs left, up to *ret_skip. */
static size_t
piece(const struct child *c, uint64_t pos, uint64_t end, uint64_t *ret_skip)
{
	const struct ring_header *hdr = c->ring.hdr;
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
	    : pos + c->ring.tail_cap -
		(pos - hdr->head_bytes) % c->ring.tail_cap;
	if (wrap < limit)
		limit = wrap;
	return limit - pos < RING_MAX_SPLICE ? (size_t)(limit - pos)
					     : RING_MAX_SPLICE;
}

/* Copies n bytes at `pos`; what was written, or -errno. */
static ssize_t
copy_piece(struct child *c, uint64_t pos, size_t n)
{
	static char buf[RING_MAX_SPLICE];
	uint64_t from = clock_boot_ns();
	ssize_t got, put;

	do
		got = pread(c->ring.fd, buf, n,
		    (off_t)ring_offset_of(pos, c->ring.hdr->head_bytes,
			c->ring.tail_cap));
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 ? -errno : -EIO;
	FAULT("spill.before-write");
	do
		put = FAULT_FAILS("spill.disk-full")
		    ? (errno = ENOSPC, -1)
		    : pwrite(c->spill_fd, buf, (size_t)got, (off_t)pos);
	while (put < 0 && errno == EINTR);
	if (put <= 0)
		return put < 0 ? -errno : -EIO;
	FAULT("spill.after-write");
	return clock_boot_ns() - from > SLOW_NS || FAULT_FAILS("spill.slow")
	    ? -ETIMEDOUT
	    : put;
}

void
spill_step(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	uint64_t pos, head, end, skip = 0;
	ssize_t n;

	if (c->spill_fd < 0)
		return;
	pos = GET(hdr->spill_pos);
	head = GET(hdr->head);
	end = head < GET(hdr->spill_max) ? head : GET(hdr->spill_max);
	while (pos < end) {
		size_t len = piece(c, pos, end, &skip);

		n = len > 0 ? copy_piece(c, pos, len) : (ssize_t)(skip - pos);
		if (n < 0) {
			spill_stop(c, n == -ENOSPC || n == -EDQUOT
				? SPILL_DISK_FULL : SPILL_ERROR, (int)-n);
			return;
		}
		pos += (uint64_t)n;
		/* whoever dies before this store has it written once more */
		SET(hdr->spill_pos, pos);
	}
	if (head > end)
		spill_stop(c, SPILL_FULL, 0);
}
