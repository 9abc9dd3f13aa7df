/* SPDX-License-Identifier: MIT */
/*
 * Taking over a ring after its writer's death. Whatever a SIGKILL interrupts, the
 * kernel's cursor off[lap & 1] says how many bytes left the pipe; everything else
 * in the header follows from it. Called by the worker alone.
 */
#include "shm/ring_write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/abi.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/rundir.h"
#include "shm/lent_map.h"
#include "shm/ring_math.h"

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
	lap = RELAXED(h->lap);
	off = RELAXED(h->off[lap & 1]);
	if (!ring_cursor_ok(off, lap, h->head_bytes, cap))
		return false;
	pos = ring_cursor_pos(off, lap, cap);
	head = RELAXED(h->head);
	reserve = RELAXED(h->reserve);
	stream = RELAXED(h->stream);
	if (head > pos || pos - head > RING_MAX_SPLICE ||
	    reserve - head > RING_MAX_SPLICE ||
	    (stream & ~RING_DISCARD) > RING_STDERR)
		return false;
	count = RELAXED(h->seg_count);
	if (count > 0)
		last = RELAXED(
		    h->segments[(count - 1) % RING_SEGMENTS].end_stream);
	return (last & 3) <= RING_STDERR && last >> 2 >= head &&
	    last >> 2 <= pos && RELAXED(h->hole_to) <= pos &&
	    RELAXED(h->spool_off) >= 0;
}

/* Brings the header to what the kernel's cursor says. */
static void
recover_header(struct ring_writer *w)
{
	struct ring_header *h = w->hdr;
	uint64_t pos = ring_pos(w), head = RELAXED(h->head);
	uint32_t stream = RELAXED(h->stream);
	uint64_t count = RELAXED(h->seg_count), last = 0;

	if (pos > head)
		w->recovered = pos - head;
	if (count > 0)
		last = RELAXED(
		    h->segments[(count - 1) % RING_SEGMENTS].end_stream);
	if (pos > head && (stream & RING_DISCARD) != 0)
		ring_hole(w, head, pos);
	if (last >> 2 < pos)
		ring_attribute(h, pos, stream & ~RING_DISCARD, clock_wall_ms());
	FAULT("ring.in-recover");
	ring_publish(h, pos);
	ring_sign(h);
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
	lent_map_forked(page, false);
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
