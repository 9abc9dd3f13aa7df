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

#include "common/text_clean.h"
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
	uint64_t before;   /* of dropped: missing before data[0] */
	size_t piece;      /* bytes from data[0] on without a gap */
	uint64_t mixed;    /* bytes whose stream is not known any more */
	struct retained_run *runs; /* what is known of which part; private */
	size_t run_count;
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
/* When data[at] arrived, wall ms, to 10 ms; 0: the segment log does not go back
 * so far. */
uint64_t retained_time(const struct retained *r, size_t at);
/* The first of data whose time is known and not before `wall_ms`; len: there is
 * none. */
size_t retained_since(const struct retained *r, uint64_t wall_ms);

#define LINES_DEFAULT 200u /* where neither offset nor limit says more */

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
/* How many lines begin before data[at]. */
uint64_t lines_before_byte(const struct retained *r, size_t at);
/* Copies data[begin..end) by a text rule, CRLF as LF, without the last LF.
 * `more`: output may follow data[len). malloc'ed, NUL-terminated; NULL: no
 * memory. */
char *lines_text(const struct retained *r, size_t begin, size_t end,
    enum text_rule rule, bool more, size_t *ret_len);

/* One line after the other, from {0} on. */
struct lines_walk {
	size_t begin, end; /* of this line, its LF not counted */
	uint64_t number;   /* of this line, from 0 */
	size_t next;       /* where the next one begins */
	bool started;
};
bool lines_next(const struct retained *r, struct lines_walk *w);
/* The line by a text rule, without CR at its end; dst has room for 4 bytes a
 * byte. Returns the bytes written. */
size_t lines_clean(const struct retained *r, const struct lines_walk *w,
    enum text_rule rule, bool more, char *dst);

#endif
