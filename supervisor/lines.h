/* SPDX-License-Identifier: MIT */
/*
 * A session's retained output as text: whole reads and the paging rules of
 * `log`, over a ring reader. Bounded memory: what the ring retains, once.
 */
#ifndef PSUP_LINES_H
#define PSUP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/ring.h"

/* The retained bytes of a session from `from` on: head part, gap, tail part.
 * data is malloc'ed; the caller frees it. */
struct retained {
	char *data;
	size_t len;
	uint64_t from;     /* position of data[0] */
	uint64_t to;       /* position after the last byte */
	size_t gap_at;     /* index in data where bytes are missing; len: none */
	uint64_t dropped;  /* bytes missing there (hole included); a second
	                    * gap, after a full tmpfs, is counted too */
	uint64_t mixed;    /* bytes whose stream is not known any more */
};

enum lines_streams { LINES_BOTH, LINES_STDOUT, LINES_STDERR };

/* Reads everything retained from position `from` on; `max_tail` > 0: only the
 * last so many bytes (then `from` moves up and nothing is counted as dropped
 * for it). LINES_STDOUT / _STDERR: that stream's bytes (and mixed ones).
 * Reads up to where the ring stood when it was called; `from` beyond that is
 * taken for that. LINES_BOTH: to - from == len + dropped - what is missing
 * before data[0]. RING_OK or RING_OVERRUN (dropped > 0), or GONE, CORRUPT,
 * BUSY (also: no memory) with *ret empty. */
enum ring_verdict retained_read(struct ring_reader *r, uint64_t from,
    size_t max_tail, enum lines_streams which, struct retained *ret);
void retained_free(struct retained *r);

/* One page of `log`. Offsets into retained.data. */
struct lines_page {
	size_t begin, end;     /* bytes of the page */
	uint64_t total_lines;  /* retained */
	uint64_t first_line, line_count; /* of the page */
	int64_t gap_line;      /* line before the gap, which ends it; -1: none */
	bool defaulted;        /* neither offset nor limit was given */
};
/* have_*: whether the parameter was given. 0-based; CRLF counts as LF; a
 * trailing empty line does not count. */
void lines_page(const struct retained *r, bool have_offset, uint64_t offset,
    bool have_limit, uint64_t limit, struct lines_page *ret);
/* Copies data[begin..end) as valid UTF-8 text, CRLF as LF, without the last
 * LF. malloc'ed, NUL-terminated; NULL: no memory. */
char *lines_text(const struct retained *r, size_t begin, size_t end,
    size_t *ret_len);

#endif
