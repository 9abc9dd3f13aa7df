/* SPDX-License-Identifier: MIT */
/*
 * A log under way: first all lines are counted, and searched; then those of the
 * page are shown. In slices, by position: no copy of the output is kept.
 */
#ifndef PSUP_SUPERVISOR_SEARCH_SHOW_H
#define PSUP_SUPERVISOR_SEARCH_SHOW_H

#include "common/text_clean.h"
#include "supervisor/search/find.h"
#include "supervisor/search/tape.h"

#define LOG_PAGE_MAX (1u << 20) /* bytes of what is shown in one answer */

struct log_show {
	/* what was asked for */
	enum text_rule rule;
	bool have_offset, have_limit, have_since;
	uint64_t offset, limit;
	uint64_t since_ms;      /* wall clock */
	uint64_t context;
	bool timestamps, raw;
	bool finds;             /* a text or an expression */
	bool more;              /* output may follow */
	struct log_find find;

	/* what was counted */
	struct tape_lines lines;
	bool counted;
	uint64_t dropped, mixed, to;
	uint64_t total_lines, hit_count;
	int64_t gap_line;       /* line before the gap, which ends it; -1 */
	uint64_t since_line;    /* the first one since then */

	/* the page */
	uint64_t first_line, line_count; /* of lines, not of hits */
	uint64_t first, shown;  /* of hits */
	bool defaulted;         /* neither offset nor limit was given */
	bool cut;               /* LOG_PAGE_MAX did not hold it */
	struct sbuf text;       /* raw: the bytes */
	uint64_t *numbers;      /* of the hits on it */
	size_t number_count, number_room;

	/* where it stands */
	bool waits;             /* a line of which more is to be looked at */
	struct tape_piece piece;
	struct sbuf carry;      /* of the line: not cleaned yet */
	struct sbuf line;       /* of a search: as it is shown, ... */
	struct sbuf held;       /* ... and lines before it, each with LF */
	uint64_t held_lines;
	uint64_t hit;           /* number of the next */
	uint64_t until;         /* lines after a hit, up to here */
	bool any;               /* a hit was shown */
	uint64_t wall_ms;       /* whose text is in stamp */
	char stamp[40];
};

/* Goes on until `until` (boot, ns). 1: not done; 0: done; else *ret_verdict
 * (RING_BUSY: no memory, or try again). */
int log_show_step(struct log_show *l, struct ring_reader *rd, uint64_t until,
    enum ring_verdict *ret_verdict);
/* How much memory it takes. */
size_t log_show_bytes(const struct log_show *l);
void log_show_fini(struct log_show *l);

#endif
