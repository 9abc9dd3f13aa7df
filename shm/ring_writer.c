/* SPDX-License-Identifier: MIT */
/*
 * The writing end of a ring: creates it, moves a pipe into it with splice(2),
 * takes it over after a writer's death. Called by the worker alone. It never
 * maps or touches the data, and it never unlinks a ring that was announced.
 *
 * Whatever a SIGKILL interrupts, the kernel's cursor off[lap & 1] says how many
 * bytes left the pipe; everything else in the header follows from it.
 */
#include "shm/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h> /* memfd_create */
#include <sys/stat.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/rundir.h"
#include "shm/lent_map.h"
#include "shm/ring_math.h"

#define MERGE_MS   10u
#define COPY_BYTES 16384u

/* Every field of the header has one writer, so its own loads need no order. */
#define GET(field)    atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, v) atomic_store_explicit(&(field), (v), memory_order_relaxed)

/* What one splice needs to know, taken once. */
struct step {
	uint64_t pos;
	size_t size;
	_Atomic int64_t *cursor;
};

/* Allocates and maps the header page of a file that was just made. */
static int
header_map_new(int fd, struct ring_header **ret)
{
	void *page;
	int err;

	do
		err = posix_fallocate(fd, 0, SHM_PAGE);
	while (err == EINTR);
	if (err != 0)
		return -err;
	err = lent_map(fd, 0, SHM_PAGE, true, &page);
	if (err == 0)
		*ret = page;
	return err;
}

/* This build writes from here on. A reader that has the header open looks at
 * the stamp in each of its copies. */
static void
header_sign(struct ring_header *h)
{
	SET(h->stamp, abi_stamp(ABI_RING));
#if defined(PSUP_LAYOUT_BUMP) && PSUP_LAYOUT_BUMP == 1
	/* in a test of upgrades the next build has one more field */
	h->reserved[0] = h->created_ms;
#endif
}

/* Fills a header that is all zero. */
static void
header_fill(struct ring_header *h, struct sid sid, uint64_t incarnation,
    const struct ring_geometry *geo)
{
	header_sign(h);
	h->header_bytes = sizeof(*h);
	h->sid.v = sid.v;
	h->incarnation = incarnation;
	h->head_bytes = geo->head_bytes;
	h->tail_bytes = geo->tail_bytes;
	h->created_ms = clock_wall_ms();
	SET(h->off[0], RING_DATA_OFFSET);
	/* A file that a kill left half filled has no magic yet. */
	atomic_signal_fence(memory_order_release);
	h->magic = RING_MAGIC;
}

/* Makes the file of a session and its header. */
int
ring_create(int dirfd, struct sid sid, uint64_t incarnation,
    const struct ring_geometry *geo, struct ring_writer *ret)
{
	struct ring_header *hdr = NULL;
	char name[RUNDIR_NAME_MAX];
	int fd, err;

	if (!ring_geometry_ok(geo->head_bytes, geo->tail_bytes))
		return -EINVAL;
	rundir_ring_name(sid, name);
	fd = openat(dirfd, name,
	    O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = header_map_new(fd, &hdr);
	if (err != 0) {
		unlinkat(dirfd, name, 0);
		close(fd);
		return err;
	}
	FAULT("ring.in-create");
	CHECK(hdr != NULL);
	header_fill(hdr, sid, incarnation, geo);
	*ret = (struct ring_writer){ .fd = fd, .hdr = hdr,
		.head_bytes = geo->head_bytes, .tail_bytes = geo->tail_bytes,
		.tail_cap = ring_tail_cap(geo->tail_bytes),
		.blocks = SHM_PAGE };
	return 0;
}

int
ring_recycle(int dirfd, struct sid forgotten, struct sid sid,
    uint64_t incarnation, const struct ring_geometry *geo,
    struct ring_writer *w)
{
	const size_t kept = offsetof(struct ring_header, incarnation);
	char from[RUNDIR_NAME_MAX], to[RUNDIR_NAME_MAX];
	struct ring_header *h = w->hdr;

	if (!ring_is_sound(w) || w->head_bytes != geo->head_bytes ||
	    w->tail_bytes != geo->tail_bytes)
		return -EBADMSG;
	/* A reader that has the old one open looks at this after each copy, so
	 * it is changed before anything else. */
	h->sid.v = sid.v;
	atomic_thread_fence(memory_order_release);
	memset((char *)h + kept, 0, SHM_PAGE - kept);
	/* what was removed with its session does not live on in another's file */
	if (w->blocks > SHM_PAGE && ftruncate(w->fd, SHM_PAGE) < 0)
		return -errno;
	header_fill(h, sid, incarnation, geo);
	w->recovered = 0;
	w->blocks = SHM_PAGE;
	rundir_spare_name(forgotten, from);
	rundir_ring_name(sid, to);
	FAULT("ring.in-recycle");
	return renameat(dirfd, from, dirfd, to) < 0 ? -errno : 0;
}

/* One look at what every step relies on. */
bool
ring_is_sound(const struct ring_writer *w)
{
	const struct ring_header *h = w->hdr;
	uint64_t lap = GET(h->lap);

	return h->magic == RING_MAGIC && h->head_bytes == w->head_bytes &&
	    h->tail_bytes == w->tail_bytes &&
	    ring_cursor_ok(GET(h->off[lap & 1]), lap, w->head_bytes,
		w->tail_cap);
}

/* The file keeps no magic: what else is left of it is not to be believed. */
void
ring_let_go(struct ring_writer *w)
{
	struct ring_geometry geo = { w->head_bytes, w->tail_bytes };
	struct sid sid = { w->hdr->sid.v };

	(void)!pwrite(w->fd, "", 1, 0);
	lent_map_let_go(w->hdr);
	header_fill(w->hdr, sid, 0, &geo);
}

/* Unmaps and closes; the file stays. */
void
ring_close(struct ring_writer *w)
{
	if (w->hdr != NULL)
		lent_unmap(w->hdr);
	if (w->fd >= 0)
		close(w->fd);
	w->hdr = NULL;
	w->fd = -1;
}

/* Where the kernel stands. */
uint64_t
ring_pos(const struct ring_writer *w)
{
	uint64_t lap = GET(w->hdr->lap);

	return ring_cursor_pos(GET(w->hdr->off[lap & 1]), lap, w->tail_cap);
}

/* Goes to the next lap where this one is full, and plans one splice. */
static int
step_plan(struct ring_writer *w, size_t max, struct step *ret)
{
	struct ring_header *h = w->hdr;
	uint64_t lap = GET(h->lap);
	uint64_t end = RING_DATA_OFFSET + w->head_bytes + w->tail_cap;
	uint64_t off = (uint64_t)GET(h->off[lap & 1]);
	struct step s = { 0 };

	if (!ring_is_sound(w) || off > end)
		return -EBADMSG;
	if (off == end) {
		off = RING_DATA_OFFSET + w->head_bytes;
		SET(h->off[(lap + 1) & 1], (int64_t)off);
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
	if (GET(h->stream) != stream)
		SET(h->stream, stream);
	SET(h->reserve, s->pos + s->size);
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

/* Attributes everything up to `end` to `stream`. */
static void
segment_close(struct ring_header *h, uint64_t end, uint32_t stream,
    uint64_t wall_ms)
{
	uint64_t count = GET(h->seg_count);
	uint64_t value = end << 2 | stream;
	struct ring_segment *seg;

	if (count > 0) {
		seg = &h->segments[(count - 1) % RING_SEGMENTS];
		if ((GET(seg->end_stream) & 3) == stream &&
		    wall_ms - GET(seg->wall_ms) < MERGE_MS) {
			SET(seg->end_stream, value);
			return;
		}
	}
	seg = &h->segments[count % RING_SEGMENTS];
	SET(seg->wall_ms, wall_ms);
	SET(seg->end_stream, value);
	FAULT("ring.in-segment");
	/* Readers that count this entry see it whole. */
	atomic_store_explicit(&h->seg_count, count + 1, memory_order_release);
}

/* Makes everything up to `pos` readable. */
static void
publish(struct ring_header *h, uint64_t pos)
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
		SET(h->reserve, s.pos);
		return moved;
	}
	if (FAULT_FAILS("lie.byte-more"))
		moved += atomic_fetch_add(s.cursor, 1) > 0;
	FAULT("ring.after-splice");
	s.pos += (uint64_t)moved;
	segment_close(h, s.pos, stream, wall_ms);
	FAULT("ring.after-segment");
	publish(h, s.pos);
	blocks_count(w, s.pos);
	return moved;
}

/*
 * Counts from..to as dropped. Each step may be the last one before a kill, and
 * the whole may run again with the same arguments: dropped_nospace is written
 * last and always from the other three.
 */
static void
hole_note(struct ring_writer *w, uint64_t from, uint64_t to)
{
	struct ring_header *h = w->hdr;
	uint64_t old_from = GET(h->hole_from), old_to = GET(h->hole_to);
	uint64_t oldest = ring_oldest_tail(to, w->head_bytes, w->tail_cap);

	if (old_to > old_from &&
	    (old_from < w->head_bytes || old_to > oldest)) {
		/* Still in sight: one interval covers both. */
		from = old_from;
	} else {
		/* Readers see no hole until the new one is whole. */
		atomic_store_explicit(&h->hole_to, 0, memory_order_release);
		SET(h->hole_base, GET(h->dropped_nospace));
		FAULT("ring.in-hole");
		atomic_store_explicit(&h->hole_from, from,
		    memory_order_release);
	}
	atomic_store_explicit(&h->hole_to, to, memory_order_release);
	FAULT("ring.in-hole-count");
	atomic_store_explicit(&h->dropped_nospace,
	    GET(h->hole_base) + to - from, memory_order_release);
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
		hole_note(w, s.pos - (uint64_t)moved, s.pos);
		segment_close(h, s.pos, stream, clock_wall_ms());
		publish(h, s.pos);
		FAULT("ring.in-discard");
	} else {
		SET(h->reserve, s.pos);
	}
	/* Only now: until head is published, recovery must know. */
	atomic_store_explicit(&h->stream, stream, memory_order_release);
	return moved;
}

/* Could a writer that was killed anywhere have left this? */
static bool
recover_check(const struct ring_header *h, struct sid sid)
{
	uint64_t cap, lap, pos, head, reserve, count, last = 0;
	uint32_t stream;
	int64_t off;

	if (h->magic != RING_MAGIC || !abi_reads(ABI_RING, h->stamp) ||
	    h->header_bytes != sizeof(*h) || h->sid.v != sid.v ||
	    !ring_geometry_ok(h->head_bytes, h->tail_bytes))
		return false;
	cap = ring_tail_cap(h->tail_bytes);
	lap = GET(h->lap);
	off = GET(h->off[lap & 1]);
	if (!ring_cursor_ok(off, lap, h->head_bytes, cap))
		return false;
	pos = ring_cursor_pos(off, lap, cap);
	head = GET(h->head);
	reserve = GET(h->reserve);
	stream = GET(h->stream);
	if (head > pos || pos - head > RING_MAX_SPLICE ||
	    reserve - head > RING_MAX_SPLICE ||
	    (stream & ~RING_DISCARD) > RING_STDERR)
		return false;
	count = GET(h->seg_count);
	if (count > 0)
		last = GET(h->segments[(count - 1) % RING_SEGMENTS].end_stream);
	return (last & 3) <= RING_STDERR && last >> 2 >= head &&
	    last >> 2 <= pos && GET(h->hole_to) <= pos &&
	    GET(h->spool_off) >= 0;
}

/* Brings the header to what the kernel's cursor says. */
static void
recover_header(struct ring_writer *w)
{
	struct ring_header *h = w->hdr;
	uint64_t pos = ring_pos(w), head = GET(h->head);
	uint32_t stream = GET(h->stream);
	uint64_t count = GET(h->seg_count), last = 0;

	if (pos > head)
		w->recovered = pos - head;
	if (count > 0)
		last = GET(h->segments[(count - 1) % RING_SEGMENTS].end_stream);
	if (pos > head && (stream & RING_DISCARD) != 0)
		hole_note(w, head, pos);
	if (last >> 2 < pos)
		segment_close(h, pos, stream & ~RING_DISCARD, clock_wall_ms());
	FAULT("ring.in-recover");
	publish(h, pos);
	header_sign(h);
	atomic_store_explicit(&h->stream, stream & ~RING_DISCARD,
	    memory_order_release);
}

/* Opens the file and maps the header of a ring that exists. */
static int
recover_map(int dirfd, const char *name, struct ring_writer *w)
{
	struct stat st;
	void *page;
	int err;

	w->fd = openat(dirfd, name,
	    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (w->fd < 0)
		return -errno;
	if (fstat(w->fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)SHM_PAGE)
		return -EBADMSG;
	/* A page that is a hole would be a SIGBUS on a full tmpfs. */
	err = posix_fallocate(w->fd, 0, SHM_PAGE);
	if (err != 0)
		return -err;
	err = lent_map(w->fd, 0, SHM_PAGE, true, &page);
	if (err != 0)
		return err;
	w->hdr = page;
	w->blocks = (uint64_t)st.st_blocks * 512u;
	return 0;
}

/* Takes over a ring whose writer is dead for sure. */
int
ring_recover(int dirfd, struct sid sid, struct ring_writer *ret)
{
	struct ring_writer w = { .fd = -1 };
	char name[RUNDIR_NAME_MAX];
	int err;

	rundir_ring_name(sid, name);
	err = recover_map(dirfd, name, &w);
	if (err == 0 && (w.hdr == NULL || !recover_check(w.hdr, sid)))
		err = -EBADMSG;
	if (err != 0) {
		ring_close(&w);
		return err;
	}
	w.head_bytes = w.hdr->head_bytes;
	w.tail_bytes = w.hdr->tail_bytes;
	w.tail_cap = ring_tail_cap(w.tail_bytes);
	if (!ring_is_sound(&w)) { /* changed while we looked */
		ring_close(&w);
		return -EBADMSG;
	}
	recover_header(&w);
	*ret = w;
	return 0;
}
