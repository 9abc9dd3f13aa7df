/* SPDX-License-Identifier: MIT */
/*
 * A session's retained output, read by position, a block at a time: nothing of
 * it is kept between two calls. For answers that are made in slices, as those
 * of api/log.c: what is overwritten meanwhile is missing, as what was before.
 */
#ifndef PSUP_SUPERVISOR_SEARCH_TAPE_H
#define PSUP_SUPERVISOR_SEARCH_TAPE_H

#include "supervisor/search/lines.h"

#define TAPE_BLOCK 65536u
#define TAPE_GAPS  4u /* a ring has two at most, and one while it is read */

struct tape {
	struct ring_facts facts; /* one copy of the header for all of it */
	enum lines_streams which;
	uint64_t pos;            /* where reading goes on */
	uint64_t missing;        /* since the last stretch */
	uint64_t dropped, mixed; /* bytes so far */
	bool begun;              /* there was a stretch */
};

/* Bytes of one stream, one behind the other. They lie in a buffer that the next
 * call fills again, of whatever tape. */
struct stretch {
	const char *data;
	size_t len;
	uint64_t pos;     /* of data[0] */
	uint64_t wall_ms; /* when they began to arrive; 0: not known */
	uint64_t missing; /* bytes lost since the stretch before */
	bool first, mixed;
};

/* From the oldest byte on, up to where the ring stands now. RING_OK, or _GONE,
 * _CORRUPT, _BUSY. */
enum ring_verdict tape_begin(struct tape *t, struct ring_reader *rd,
    enum lines_streams which);
/* The next stretch. 1; 0: none is left; -1: *ret_verdict, as above. */
int tape_next(struct tape *t, struct ring_reader *rd, struct stretch *ret,
    enum ring_verdict *ret_verdict);

/* What comes next in its lines. */
enum tape_end {
	TAPE_MORE, /* the line goes on */
	TAPE_LF,
	TAPE_GAP,  /* output is missing, which ends a line */
	TAPE_LAST  /* the output ends without LF */
};
struct tape_piece {
	const char *data; /* its LF not counted; as a stretch's */
	size_t len;
	uint64_t number;  /* of its line, from 0 */
	uint64_t pos;
	uint64_t wall_ms; /* of its first byte */
	bool begins;      /* its line */
	size_t skip;      /* of data: what is left of a cut character */
	bool torn;        /* it may begin so */
	enum tape_end end;
};

/* A place where a line begins. */
struct tape_mark {
	uint64_t pos, line, hits;
	bool after_gap, torn;
};

/* Lines of a tape; all 0 but the tape at its beginning. */
struct tape_lines {
	struct tape tape;
	struct stretch st;
	size_t at;        /* of the stretch */
	uint64_t line;    /* number of the next one, or of the one it is in */
	bool mid;         /* it is in the middle of one */
	bool after_gap;   /* the first gap: those behind it end no line */
	uint64_t before_gap; /* lines */
	uint64_t gaps[TAPE_GAPS]; /* where output goes on behind each */
	size_t gap_count;
	bool again;       /* all was counted: a gap that was none then is
	                   * output overwritten since, see `jumped` */
	bool lost, jumped; /* to the next mark, whose line is known */
	uint64_t hits;    /* of that mark */
	bool torn;        /* what comes may begin inside of a character */
	struct tape_mark *marks; /* one every 64 KiB of output */
	size_t mark_count, mark_room;
	bool failed;      /* no memory for one */
};

/* 1, 0, -1 as tape_next(). */
int tape_piece(struct tape_lines *l, struct ring_reader *rd,
    struct tape_piece *ret, enum ring_verdict *ret_verdict);
/* Some more is only counted: a stretch. The same returns. */
int tape_count(struct tape_lines *l, struct ring_reader *rd,
    enum ring_verdict *ret_verdict);
/* Notes where a line begins, unless the last mark is near. */
void tape_mark(struct tape_lines *l, uint64_t pos, uint64_t line,
    uint64_t hits, bool torn);
/* Goes on from the last mark with at most so many lines, or hits, before it. */
void tape_seek(struct tape_lines *l, uint64_t line, uint64_t hits,
    struct tape_mark *ret);
/* Between two slices: what is left of the block is read again. */
void tape_pause(struct tape_lines *l);
void tape_fini(struct tape_lines *l);

#endif
