/* SPDX-License-Identifier: MIT */
/*
 * Which size a terminal had at which position of its output: a short log in
 * the ring's header. Written by the worker at each resize, read by whoever
 * draws the screen again. The first size and the last 23 are kept.
 */
#include "shm/ring.h"

#include "common/fault.h"
#include "shm/ring_math.h"

#define SIZE_BITS 10u
#define SIZE_MASK ((1u << SIZE_BITS) - 1)
static_assert(RING_SIZE_MAX <= SIZE_MASK, "a size fits its bits");

void
ring_note_size(struct ring_writer *w, uint64_t pos, unsigned cols,
    unsigned rows, uint64_t wall_ms)
{
	struct ring_header *h = w->hdr;
	uint64_t size = (uint64_t)cols << SIZE_BITS | rows;
	uint64_t entry = wall_ms << (2 * SIZE_BITS) | size;
	uint64_t n = RELAXED(h->size_count), old;
	struct ring_size *last, *next = &h->sizes[ring_size_slot(n)];

	if (cols == 0 || rows == 0 || cols > RING_SIZE_MAX ||
	    rows > RING_SIZE_MAX)
		return;
	if (n > 0) {
		last = &h->sizes[ring_size_slot(n - 1)];
		old = RELAXED(last->wall_size);
		if ((old & ((1u << (2 * SIZE_BITS)) - 1)) == size)
			return;
		if (pos <= RELAXED(last->pos)) {
			/* nothing was written at the size before */
			SET_RELAXED(last->wall_size, entry);
			return;
		}
	}
	SET_RELAXED(next->pos, pos);
	SET_RELAXED(next->wall_size, entry);
	FAULT("ring.in-size");
	atomic_store_explicit(&h->size_count, n + 1, memory_order_release);
}

/* One entry, as a stranger wrote it. */
static bool
entry_read(const struct ring_header *raw, uint64_t n, struct ring_resize *ret)
{
	const struct ring_size *s = &raw->sizes[ring_size_slot(n)];
	uint64_t v = RELAXED(s->wall_size);

	ret->pos = RELAXED(s->pos);
	ret->wall_ms = v >> (2 * SIZE_BITS);
	ret->cols = (unsigned)(v >> SIZE_BITS) & SIZE_MASK;
	ret->rows = (unsigned)v & SIZE_MASK;
	ret->after_more = false;
	return ret->cols > 0 && ret->cols <= RING_SIZE_MAX && ret->rows > 0 &&
	    ret->rows <= RING_SIZE_MAX && ret->pos < RING_POS_MAX;
}

/* The slot after the last one may have been in the writer's hands while the
 * page was copied, so what it had before is not believed. */
size_t
ring_sizes(const struct ring_header *raw, struct ring_resize ret[RING_SIZES])
{
	uint64_t count = RELAXED(raw->size_count), n = 1;
	size_t have = 0;

	if (count == 0 || count > RING_POS_MAX || !entry_read(raw, 0, &ret[0]))
		return 0;
	have = 1;
	if (count > RING_SIZES - 1)
		n = count - (RING_SIZES - 2);
	for (; n < count; n++) {
		if (!entry_read(raw, n, &ret[have]) ||
		    ret[have].pos < ret[have - 1].pos)
			continue;
		ret[have].after_more = have == 1 && n > 1;
		have++;
	}
	return have;
}
