/* SPDX-License-Identifier: MIT */
/*
 * Whose bytes are where: stdout's or stderr's, from the segments in a copy of
 * the ring's header. Read by whoever shows output.
 */
#include "shm/ring.h"

/*
 * Whose bytes are at `pos`? Walks the private copy back from its end. An entry
 * says where its stretch ends; where it begins, only the entry before it does.
 */
enum ring_stream
ring_stream_at(const struct ring_header *raw, uint64_t pos, uint64_t *ret_end,
    uint64_t *ret_wall_ms)
{
	uint64_t count = raw->seg_count, value, i;
	uint64_t end = UINT64_MAX, wall_ms = 0;
	enum ring_stream stream = RING_MIXED;
	const struct ring_segment *seg;
	bool known = false;

	for (i = 0; i < RING_SEGMENTS && i < count; i++) {
		seg = &raw->segments[(count - 1 - i) % RING_SEGMENTS];
		value = seg->end_stream;
		if (value >> 2 >= end || (value & 3) > RING_STDERR)
			break; /* taken out of the copy, or damaged */
		if (value >> 2 <= pos) {
			known = true;
			break;
		}
		end = value >> 2;
		stream = (enum ring_stream)(value & 3);
		wall_ms = seg->wall_ms;
	}
	if (i == count)
		known = true; /* the very first entry begins at 0 */
	if (!known) {
		stream = RING_MIXED;
		wall_ms = 0;
	}
	if (end == UINT64_MAX)
		end = raw->head > pos ? raw->head : pos + 1;
	*ret_end = end;
	*ret_wall_ms = wall_ms;
	return stream;
}
