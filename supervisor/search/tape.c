/* SPDX-License-Identifier: MIT */
/* Retained output by position, and its lines. See tape.h. */
#include "supervisor/search/tape.h"

#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "common/text.h"

enum ring_verdict
tape_begin(struct tape *t, struct ring_reader *rd, enum lines_streams which)
{
	enum ring_verdict v;

	*t = (struct tape){.which = which};
	v = ring_facts(rd, &t->facts);
	return v == RING_OVERRUN ? RING_OK : v;
}

/* Whether a byte of this stream is wanted. What is not known may be. */
static bool
wanted(enum lines_streams which, enum ring_stream stream)
{
	return which == LINES_BOTH || stream == RING_MIXED ||
	    (which == LINES_STDOUT) == (stream == RING_STDOUT);
}

/* Fills the stretch from the block just read, as far as one stream goes. */
static enum ring_stream
stretch_of(const struct tape *t, uint64_t at, size_t n, struct stretch *ret)
{
	uint64_t end, wall;
	enum ring_stream s = ring_stream_at(&t->facts.raw, at, &end, &wall);

	if (end <= at)
		s = RING_MIXED; /* the log ends before the data */
	else if (end - at < n)
		n = (size_t)(end - at);
	ret->len = n;
	ret->pos = at;
	ret->wall_ms = s == RING_MIXED ? 0 : wall;
	return s;
}

int
tape_next(struct tape *t, struct ring_reader *rd, struct stretch *ret,
    enum ring_verdict *ret_verdict)
{
	static char block[TAPE_BLOCK];
	const uint64_t head = t->facts.head;

	*ret_verdict = RING_OK;
	while (t->pos < head) {
		uint64_t at = t->pos, dropped = 0;
		ssize_t n = ring_read(rd, &at, block, sizeof(block), &dropped,
		    ret_verdict);
		enum ring_stream s;

		if (n < 0)
			return -1;
		if (at > head)
			at = head; /* all of it was overwritten meanwhile */
		if ((uint64_t)n > head - at)
			n = (ssize_t)(head - at);
		if (n == 0 && at == t->pos)
			return 0;
		t->missing += at - t->pos;
		t->dropped += at - t->pos;
		t->pos = at;
		if (n == 0)
			continue;
		s = stretch_of(t, at, (size_t)n, ret);
		t->pos += ret->len;
		if (!wanted(t->which, s))
			continue;
		ret->mixed = s == RING_MIXED;
		t->mixed += ret->mixed ? ret->len : 0;
		ret->data = block;
		ret->missing = t->missing;
		ret->first = !t->begun;
		t->missing = 0;
		t->begun = true;
		return 1;
	}
	return 0;
}

/* Is this where output went on when it was counted? */
static bool
is_known(const struct tape_lines *l, uint64_t pos)
{
	for (size_t i = 0; i < l->gap_count; i++)
		if (l->gaps[i] == pos)
			return true;
	return false;
}

/* The next stretch for its lines. A gap that ends the line it is in is said
 * first: 2. */
static int
refill(struct tape_lines *l, struct ring_reader *rd,
    enum ring_verdict *ret_verdict)
{
	int rc = tape_next(&l->tape, rd, &l->st, ret_verdict);

	l->at = 0;
	if (rc <= 0) {
		l->st.len = 0;
		return rc;
	}
	l->torn = l->torn || (l->st.first && l->st.pos > 0);
	if (l->st.missing == 0)
		return 1;
	l->lost = l->again && !is_known(l, l->st.pos);
	if (!l->again && l->gap_count < TAPE_GAPS)
		l->gaps[l->gap_count++] = l->st.pos;
	if (l->after_gap && !l->lost)
		return 1;
	l->torn = true;
	if (!l->after_gap)
		l->before_gap = l->line + l->mid;
	l->after_gap = true;
	if (!l->mid)
		return 1;
	l->mid = false;
	l->line++;
	return 2;
}

/* Goes on there. */
static void
go_to(struct tape_lines *l, const struct tape_mark *to)
{
	l->tape.pos = to->pos;
	l->tape.missing = 0;
	l->st.len = l->at = 0;
	l->line = to->line;
	l->mid = false;
	l->after_gap = to->after_gap;
	l->torn = to->torn;
}

/* Some output is gone since it was counted: goes on at the next mark. */
static int
jump(struct tape_lines *l, struct ring_reader *rd,
    enum ring_verdict *ret_verdict)
{
	uint64_t pos = l->st.pos;

	l->lost = false;
	for (size_t i = 0; i < l->mark_count; i++) {
		if (l->marks[i].pos < pos)
			continue;
		go_to(l, &l->marks[i]);
		l->jumped = true;
		l->hits = l->marks[i].hits;
		return refill(l, rd, ret_verdict);
	}
	l->st.len = l->at = 0;
	l->tape.pos = l->tape.facts.head;
	return 0;
}

int
tape_piece(struct tape_lines *l, struct ring_reader *rd,
    struct tape_piece *ret, enum ring_verdict *ret_verdict)
{
	const char *lf;
	int rc = 1;

	*ret = (struct tape_piece){.number = l->line};
	if (l->at == l->st.len)
		rc = refill(l, rd, ret_verdict);
	if (l->lost && rc != 2) {
		rc = jump(l, rd, ret_verdict);
		ret->number = l->line;
	}
	if (rc < 0)
		return rc;
	if (rc == 2 || (rc == 0 && l->mid)) {
		ret->end = rc == 2 ? TAPE_GAP : TAPE_LAST;
		l->line += rc == 0;
		l->mid = false;
		return 1;
	}
	if (rc == 0)
		return 0;
	ret->begins = !l->mid;
	ret->torn = l->torn;
	ret->number = l->line;
	ret->pos = l->st.pos + l->at;
	ret->wall_ms = l->st.wall_ms;
	ret->data = l->st.data + l->at;
	lf = memchr(ret->data, '\n', l->st.len - l->at);
	ret->len = lf != NULL ? (size_t)(lf - ret->data) : l->st.len - l->at;
	ret->end = lf != NULL ? TAPE_LF : TAPE_MORE;
	l->at += ret->len + (lf != NULL);
	l->line += lf != NULL;
	l->mid = lf == NULL;
	if (l->torn)
		ret->skip = text_skip_partial(ret->data, ret->len);
	l->torn = false;
	return 1;
}

void
tape_mark(struct tape_lines *l, uint64_t pos, uint64_t line, uint64_t hits,
    bool torn)
{
	size_t n = l->mark_count;

	if (n > 0 && pos < l->marks[n - 1].pos + TAPE_BLOCK)
		return;
	if (!GROW(l->marks, l->mark_room, n + 1, 16)) {
		l->failed = true;
		return;
	}
	l->marks[l->mark_count++] = (struct tape_mark){.pos = pos,
	    .line = line, .hits = hits, .after_gap = l->after_gap, .torn = torn};
}

int
tape_count(struct tape_lines *l, struct ring_reader *rd,
    enum ring_verdict *ret_verdict)
{
	int rc = refill(l, rd, ret_verdict);
	const char *lf;
	uint64_t n = 0;

	if (rc <= 0) {
		l->line += rc == 0 && l->mid;
		l->mid = l->mid && rc != 0;
		return rc;
	}
	if (!l->mid)
		tape_mark(l, l->st.pos, l->line, 0, l->torn);
	l->torn = false;
	lf = memchr(l->st.data, '\n', l->st.len);
	if (lf != NULL && lf + 1 < l->st.data + l->st.len)
		tape_mark(l, l->st.pos + (uint64_t)(lf + 1 - l->st.data),
		    l->line + 1, 0, false);
	for (size_t i = 0; i < l->st.len; i++)
		n += l->st.data[i] == '\n';
	l->line += n;
	l->mid = l->st.data[l->st.len - 1] != '\n';
	l->at = l->st.len;
	return 1;
}

void
tape_seek(struct tape_lines *l, uint64_t line, uint64_t hits,
    struct tape_mark *ret)
{
	size_t low = 0, high = l->mark_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->marks[mid].line <= line && l->marks[mid].hits <= hits)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = (struct tape_mark){.pos = 0};
	if (low > 0)
		*ret = l->marks[low - 1];
	else
		l->tape.begun = false;
	go_to(l, ret);
}

void
tape_pause(struct tape_lines *l)
{
	if (l->at < l->st.len) {
		l->tape.pos = l->st.pos + l->at;
		l->tape.mixed -= l->st.mixed ? l->st.len - l->at : 0;
	}
	l->st.len = l->at = 0;
}

void
tape_fini(struct tape_lines *l)
{
	free(l->marks);
	l->marks = NULL;
	l->mark_count = l->mark_room = 0;
}
