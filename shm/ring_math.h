/* SPDX-License-Identifier: MIT */
/*
 * Where a position lies in the file, and which header values can be true at
 * all. Shared by writer and reader; all arguments are private copies.
 */
#ifndef PSUP_SHM_RING_MATH_H
#define PSUP_SHM_RING_MATH_H

#include <stdbool.h>

#include "shm/layout.h"

#define RING_SIZE_MAX   1000u /* columns, lines */
#define RING_TAIL_MIN   4096u
#define RING_REGION_MAX (1u << 30)
/* Positions stay below 2^61: shifted by two in a segment, and far from wrap. */
#define RING_POS_MAX (1ull << 61)

static inline bool
ring_geometry_ok(uint32_t head_bytes, uint32_t tail_bytes)
{
	return head_bytes <= RING_REGION_MAX && tail_bytes >= RING_TAIL_MIN &&
	    tail_bytes <= RING_REGION_MAX;
}

static inline uint64_t
ring_tail_cap(uint32_t tail_bytes)
{
	return (uint64_t)tail_bytes + RING_MAX_SPLICE;
}

/* Where size n is noted: the first for good, the others by turns. */
static inline unsigned
ring_size_slot(uint64_t n)
{
	return n == 0 ? 0 : 1 + (unsigned)((n - 1) % (RING_SIZES - 1));
}

/* File offset of the byte at `pos`. */
static inline uint64_t
ring_offset_of(uint64_t pos, uint64_t head_bytes, uint64_t tail_cap)
{
	if (pos < head_bytes)
		return RING_DATA_OFFSET + pos;
	return RING_DATA_OFFSET + head_bytes + (pos - head_bytes) % tail_cap;
}

/* First position of the tail region that nobody may have overwritten. */
static inline uint64_t
ring_oldest_tail(uint64_t reserve, uint64_t head_bytes, uint64_t tail_cap)
{
	if (reserve <= head_bytes + tail_cap)
		return head_bytes;
	return reserve - tail_cap;
}

/* Bytes that [from, to) and [a, b) have in common. */
static inline uint64_t
ring_overlap(uint64_t from, uint64_t to, uint64_t a, uint64_t b)
{
	uint64_t lo = from > a ? from : a;
	uint64_t hi = to < b ? to : b;

	return hi > lo ? hi - lo : 0;
}

/* Is `off` a place where the cursor of lap `lap` can stand? */
static inline bool
ring_cursor_ok(int64_t off, uint64_t lap, uint64_t head_bytes,
    uint64_t tail_cap)
{
	uint64_t first = RING_DATA_OFFSET + (lap == 0 ? 0 : head_bytes);

	return lap < RING_POS_MAX / tail_cap - 1 && off >= 0 &&
	    (uint64_t)off >= first &&
	    (uint64_t)off <= RING_DATA_OFFSET + head_bytes + tail_cap;
}

static inline uint64_t
ring_cursor_pos(int64_t off, uint64_t lap, uint64_t tail_cap)
{
	return (uint64_t)off - RING_DATA_OFFSET + lap * tail_cap;
}

#endif
