/* SPDX-License-Identifier: MIT */
/*
 * The file of a ring and its header: made, used again for another session, let
 * go. Called by the worker alone, which never unlinks a ring that was announced.
 */
#include "shm/ring_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/rundir.h"
#include "shm/lent_map.h"
#include "shm/ring_math.h"

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
	if (err != 0)
		return err;
	lent_map_forked(page, false);
	*ret = page;
	return 0;
}

void
ring_sign(struct ring_header *h)
{
	SET_RELAXED(h->stamp, abi_stamp(ABI_RING));
#if defined(PSUP_LAYOUT_BUMP) && PSUP_LAYOUT_BUMP == 1
	/* in a test of upgrades the next build has one more field */
	h->porter_pad = 1;
#endif
}

/* Fills a header that is all zero. */
static void
header_fill(struct ring_header *h, struct sid sid, uint64_t incarnation,
    const struct ring_geometry *geo)
{
	ring_sign(h);
	h->header_bytes = sizeof(*h);
	h->sid.v = sid.v;
	h->incarnation = incarnation;
	h->head_bytes = geo->head_bytes;
	h->tail_bytes = geo->tail_bytes;
	h->created_ms = clock_wall_ms();
	SET_RELAXED(h->off[0], RING_DATA_OFFSET);
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
ring_recycle(int dirfd, const char *from, struct sid sid,
    uint64_t incarnation, const struct ring_geometry *geo,
    struct ring_writer *w)
{
	const size_t kept = offsetof(struct ring_header, incarnation);
	char to[RUNDIR_NAME_MAX];
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
	rundir_ring_name(sid, to);
	FAULT("ring.in-recycle");
	return renameat(dirfd, from, dirfd, to) < 0 ? -errno : 0;
}

/* One look at what every step relies on. */
bool
ring_is_sound(const struct ring_writer *w)
{
	const struct ring_header *h = w->hdr;
	uint64_t lap = RELAXED(h->lap);

	return h->magic == RING_MAGIC && h->head_bytes == w->head_bytes &&
	    h->tail_bytes == w->tail_bytes &&
	    ring_cursor_ok(RELAXED(h->off[lap & 1]), lap, w->head_bytes,
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
