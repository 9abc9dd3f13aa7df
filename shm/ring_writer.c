/* SPDX-License-Identifier: MIT */
/*
 * The writing end of a ring: moves a pipe into it with splice(2). Called by the
 * worker alone. It never maps or touches the data.
 *
 * Whatever a SIGKILL interrupts, the kernel's cursor off[lap & 1] says how many
 * bytes left the pipe; everything else in the header follows from it.
 */
#include "shm/ring_write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h> /* memfd_create */
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "shm/ring_math.h"

#define MERGE_MS   10u
#define COPY_BYTES 16384u

/* What one splice needs to know, taken once. */
struct step {
	uint64_t pos;
	size_t size;
	_Atomic int64_t *cursor;
};

/* Where the kernel stands. */
uint64_t
ring_pos(const struct ring_writer *w)
{
	uint64_t lap = RELAXED(w->hdr->lap);

	return ring_cursor_pos(RELAXED(w->hdr->off[lap & 1]), lap, w->tail_cap);
}

/* Goes to the next lap where this one is full, and plans one splice. */
static int
step_plan(struct ring_writer *w, size_t max, struct step *ret)
{
	struct ring_header *h = w->hdr;
	uint64_t lap = RELAXED(h->lap);
	uint64_t end = RING_DATA_OFFSET + w->head_bytes + w->tail_cap;
	uint64_t off = (uint64_t)RELAXED(h->off[lap & 1]);
	struct step s = { 0 };

	if (!ring_is_sound(w) || off > end)
		return -EBADMSG;
	if (off == end) {
		off = RING_DATA_OFFSET + w->head_bytes;
		SET_RELAXED(h->off[(lap + 1) & 1], (int64_t)off);
		/* A kill sees the old lap, or the new one with its cursor. */
		FAULT("ring.in-wrap");
		atomic_store_explicit(&h->lap, ++lap, memory_order_release);
	}
	s.cursor = &h->off[lap & 1];
	s.pos = ring_cursor_pos((int64_t)off, lap, w->tail_cap);
	s.size = max < RING_MAX_SPLICE ? max : RING_MAX_SPLICE;
	if (s.size > end - off)
		s.size = (size_t)(end - off);
	*ret = s;
	return 0;
}

/* Says what is going to be written, before it is. */
static void
step_announce(struct ring_header *h, const struct step *s, uint32_t stream)
{
	if (RELAXED(h->stream) != stream)
		SET_RELAXED(h->stream, stream);
	SET_RELAXED(h->reserve, s->pos + s->size);
	/* Pairs with the reader's fence between data and reserve. */
	atomic_thread_fence(memory_order_release);
}

/* Where the kernel will not splice: a kill between read and the cursor loses
 * what was read. Where so much is there to be read as much is written first, so
 * that nothing is read in vain; no more, for what lies there is retained yet. */
static ssize_t
step_copy(const struct step *s, int pipe_fd, int fd)
{
	off_t off = (off_t)atomic_load(s->cursor);
	size_t size = s->size < COPY_BYTES ? s->size : COPY_BYTES;
	char buf[COPY_BYTES] = { 0 };
	int there = 0;
	ssize_t n;

	(void)ioctl(pipe_fd, FIONREAD, &there);
	if (there > 0 && (size_t)there < size)
		size = (size_t)there;
	if (there > 0) {
		n = pwrite(fd, buf, size, off);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		size = (size_t)n;
	}
	n = read(pipe_fd, buf, size);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	/* a short write to a file with room is the work of nobody */
	if (pwrite(fd, buf, (size_t)n, off) != n)
		return -EIO;
	atomic_store(s->cursor, off + n);
	return n;
}

/* Where not even a file that nobody reads takes it: as step_copy(), but to
 * nowhere. */
static ssize_t
step_drop(const struct step *s, int pipe_fd)
{
	char buf[COPY_BYTES];
	ssize_t n = read(pipe_fd, buf,
	    s->size < sizeof(buf) ? s->size : sizeof(buf));

	if (n <= 0)
		return n < 0 ? -errno : 0;
	atomic_store(s->cursor, atomic_load(s->cursor) + n);
	return n;
}

/* One splice to `fd` at the shared cursor: the kernel moves both. What it
 * refuses for another reason than the state of pipe and file is no end. */
static ssize_t
step_splice(const struct step *s, int pipe_fd, int fd)
{
	ssize_t moved = splice(pipe_fd, NULL, fd,
	    (loff_t *)(uintptr_t)s->cursor, s->size,
	    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	if (moved < 0)
		moved = -errno;
	if (moved >= 0 || moved == -EAGAIN || moved == -EINTR ||
	    moved == -ENOMEM || moved == -EFAULT)
		return moved;
	if (moved != -ENOSPC && moved != -EDQUOT)
		moved = step_copy(s, pipe_fd, fd);
	return moved == -EDQUOT ? -ENOSPC : moved;
}

void
ring_attribute(struct ring_header *h, uint64_t end, uint32_t stream,
    uint64_t wall_ms)
{
	uint64_t count = RELAXED(h->seg_count);
	uint64_t value = end << 2 | stream;
	struct ring_segment *seg;

	if (count > 0) {
		seg = &h->segments[(count - 1) % RING_SEGMENTS];
		if ((RELAXED(seg->end_stream) & 3) == stream &&
		    wall_ms - RELAXED(seg->wall_ms) < MERGE_MS) {
			SET_RELAXED(seg->end_stream, value);
			return;
		}
	}
	seg = &h->segments[count % RING_SEGMENTS];
	SET_RELAXED(seg->wall_ms, wall_ms);
	SET_RELAXED(seg->end_stream, value);
	FAULT("ring.in-segment");
	/* Readers that count this entry see it whole. */
	atomic_store_explicit(&h->seg_count, count + 1, memory_order_release);
}

void
ring_publish(struct ring_header *h, uint64_t pos)
{
	/* Pairs with the reader's acquire; the kernel's store is no release. */
	atomic_store_explicit(&h->head, pos, memory_order_release);
	FAULT("ring.in-publish");
	/* A short splice overwrote less than was announced. */
	atomic_store_explicit(&h->reserve, pos, memory_order_release);
}

/* Keeps the guess of the tmpfs bytes. */
static void
blocks_count(struct ring_writer *w, uint64_t pos)
{
	uint64_t size = w->head_bytes + w->tail_cap;

	if (pos < size)
		size = pos;
	size = SHM_PAGE + ((size + SHM_PAGE - 1) & ~(uint64_t)(SHM_PAGE - 1));
	if (size > w->blocks)
		w->blocks = size;
}

/* For the fault point: a full tmpfs says nothing of an empty pipe. */
static bool
pipe_has_bytes(int pipe_fd)
{
	int n;

	return ioctl(pipe_fd, FIONREAD, &n) == 0 && n > 0;
}

/* Moves bytes from the pipe into the ring and publishes them. */
ssize_t
ring_splice(struct ring_writer *w, int pipe_fd, enum ring_stream stream,
    size_t max, uint64_t wall_ms)
{
	struct ring_header *h = w->hdr;
	struct step s;
	ssize_t moved;
	int err;

	CHECK(stream == RING_STDOUT || stream == RING_STDERR);
	if (max == 0)
		return -EINVAL;
	err = step_plan(w, max, &s);
	if (err < 0)
		return err;
	step_announce(h, &s, stream);
	FAULT("ring.before-splice");
	moved = FAULT_FAILS("ring.no-space") && pipe_has_bytes(pipe_fd)
	    ? -ENOSPC
	    : step_splice(&s, pipe_fd, w->fd);
	if (moved <= 0) {
		SET_RELAXED(h->reserve, s.pos);
		return moved;
	}
	if (FAULT_FAILS("lie.byte-more"))
		moved += atomic_fetch_add(s.cursor, 1) > 0;
	FAULT("ring.after-splice");
	s.pos += (uint64_t)moved;
	ring_attribute(h, s.pos, stream, wall_ms);
	FAULT("ring.after-segment");
	ring_publish(h, s.pos);
	blocks_count(w, s.pos);
	return moved;
}

void
ring_hole(struct ring_writer *w, uint64_t from, uint64_t to)
{
	struct ring_header *h = w->hdr;
	uint64_t old_from = RELAXED(h->hole_from), old_to = RELAXED(h->hole_to);
	uint64_t oldest = ring_oldest_tail(to, w->head_bytes, w->tail_cap);

	if (old_to > old_from &&
	    (old_from < w->head_bytes || old_to > oldest)) {
		/* Still in sight: one interval covers both. */
		from = old_from;
	} else {
		/* Readers see no hole until the new one is whole. */
		atomic_store_explicit(&h->hole_to, 0, memory_order_release);
		SET_RELAXED(h->hole_base, RELAXED(h->dropped_nospace));
		FAULT("ring.in-hole");
		atomic_store_explicit(&h->hole_from, from,
		    memory_order_release);
	}
	atomic_store_explicit(&h->hole_to, to, memory_order_release);
	FAULT("ring.in-hole-count");
	atomic_store_explicit(&h->dropped_nospace,
	    RELAXED(h->hole_base) + to - from, memory_order_release);
}

/*
 * Throws bytes of the pipe away and counts them. They go to a scratch file
 * with the same shared cursor (/dev/null would not move it), so that a kill
 * loses no count; the ring's own pages are not touched.
 */
ssize_t
ring_discard(struct ring_writer *w, int pipe_fd, enum ring_stream stream,
    size_t max)
{
	struct ring_header *h = w->hdr;
	struct step s;
	ssize_t moved;
	int scratch, err;

	CHECK(stream == RING_STDOUT || stream == RING_STDERR);
	if (max == 0)
		return -EINVAL;
	err = step_plan(w, max, &s);
	if (err < 0)
		return err;
	scratch = memfd_create("psup-discard", MFD_CLOEXEC);
	if (scratch < 0)
		return -errno;
	step_announce(h, &s, stream | RING_DISCARD);
	FAULT("ring.before-discard");
	moved = step_splice(&s, pipe_fd, scratch);
	if (moved < 0 && moved != -EAGAIN && moved != -EINTR &&
	    moved != -ENOMEM)
		moved = step_drop(&s, pipe_fd);
	close(scratch);
	if (moved > 0) {
		FAULT("ring.after-discard");
		s.pos += (uint64_t)moved;
		ring_hole(w, s.pos - (uint64_t)moved, s.pos);
		ring_attribute(h, s.pos, stream, clock_wall_ms());
		ring_publish(h, s.pos);
		FAULT("ring.in-discard");
	} else {
		SET_RELAXED(h->reserve, s.pos);
	}
	/* Only now: until head is published, recovery must know. */
	atomic_store_explicit(&h->stream, stream, memory_order_release);
	return moved;
}
