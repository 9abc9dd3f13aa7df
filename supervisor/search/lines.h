/* SPDX-License-Identifier: MIT */
/*
 * A session's retained output, read at once, over a ring reader. Bounded memory:
 * what the ring retains, once.
 */
#ifndef PSUP_SUPERVISOR_SEARCH_LINES_H
#define PSUP_SUPERVISOR_SEARCH_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "shm/ring.h"

/* A stretch of kept bytes of one stream, nothing missing within. */
struct retained_run {
	uint64_t pos;     /* of its first byte */
	uint64_t missing; /* bytes lost between the run before and this */
	size_t at, len;   /* in data */
	enum ring_stream stream;
};

/* The retained bytes of a session from `from` on: head part, gap, tail part.
 * data is malloc'ed; the caller frees it. */
struct retained {
	char *data;
	size_t len;
	uint64_t from;     /* position of data[0] */
	uint64_t to;       /* position after the last byte */
	uint64_t head;     /* of the ring: where it stood */
	size_t gap_at;     /* index in data where bytes are missing; len: none */
	uint64_t dropped;  /* bytes missing there (hole included); a second
	                    * gap, after a full tmpfs, is counted too */
	uint64_t before;   /* of dropped: missing before data[0] */
	uint64_t gone;     /* bytes of all output that are retained nowhere */
	size_t piece;      /* bytes from data[0] on without a gap */
	uint64_t mixed;    /* bytes whose stream is not known any more */
	uint64_t omitted;  /* bytes that were not read, being older */
	struct retained_run *runs; /* what is known of which part */
	size_t run_count;
};

enum lines_streams { LINES_BOTH, LINES_STDOUT, LINES_STDERR };

/* Reads everything retained from position `from` on; `max_tail` > 0: only the
 * last so many bytes (then `from` moves up and nothing is counted as dropped
 * for it). LINES_STDOUT / _STDERR: that stream's bytes (and mixed ones).
 * Reads up to where the ring stood when it was called; `from` beyond that is
 * taken for that. LINES_BOTH: to - from == len + dropped - what is missing
 * before data[0] (omitted is 0). RING_OK or RING_OVERRUN (dropped > 0), or
 * GONE, CORRUPT, BUSY (also: no memory) with *ret empty. */
enum ring_verdict retained_read(struct ring_reader *r, uint64_t from,
    size_t max_tail, enum lines_streams which, struct retained *ret);
/* The same of the oldest `max` bytes from there on: to may be below the head. */
enum ring_verdict retained_read_some(struct ring_reader *r, uint64_t from,
    size_t max, struct retained *ret);
/* Everything from there on, but of a stream that has more than `newest` bytes
 * hardly more than these: it costs what it brings, however much is retained. */
enum ring_verdict retained_read_newest(struct ring_reader *r, uint64_t from,
    size_t newest, struct retained *ret);
void retained_free(struct retained *r);

#endif
