/* SPDX-License-Identifier: MIT */
/*
 * Retained output, read at once: for poll and for what a command's end tells.
 * Reads a ring up to where it stood at the beginning, and remembers what it kept
 * as runs: stretches of known position and stream.
 */
#include "supervisor/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of kept bytes of one stream. */
struct retained_run {
	uint64_t pos;     /* of its first byte */
	uint64_t missing; /* bytes lost between the run before and this */
	size_t at, len;   /* in data */
	bool mixed;
};

/* One read under way. */
struct reading {
	struct ring_facts facts; /* one copy of the header for all of it */
	enum lines_streams which;
	char *data;
	size_t len, cap;
	struct retained_run *runs;
	size_t run_count, run_cap;
	uint64_t missing;        /* since the last run */
};

/* --------------------------------------------------------------- the bytes */

/* Whether a byte of this stream is wanted. What is not known may be. */
static bool
wanted(enum lines_streams which, enum ring_stream stream)
{
	return which == LINES_BOTH || stream == RING_MIXED ||
	    (which == LINES_STDOUT) == (stream == RING_STDOUT);
}

/* Keeps n bytes that lie at data + from, moving them down where others were
 * left out before them. */
static int
keep(struct reading *rd, size_t from, size_t n, uint64_t pos, bool mixed)
{
	struct retained_run *last = rd->runs + rd->run_count;

	if (rd->run_count == rd->run_cap) {
		size_t cap = rd->run_cap == 0 ? 64 : rd->run_cap * 2;
		struct retained_run *grown =
		    reallocarray(rd->runs, cap, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		rd->runs = grown;
		rd->run_cap = cap;
		last = grown + rd->run_count;
	}
	if (from != rd->len)
		memmove(rd->data + rd->len, rd->data + from, n);
	*last = (struct retained_run){ .pos = pos, .missing = rd->missing,
		.at = rd->len, .len = n, .mixed = mixed };
	rd->run_count++;
	rd->missing = 0;
	rd->len += n;
	return 0;
}

/* Sorts n bytes just read behind data + len, of position pos, by stream. */
static int
take(struct reading *rd, size_t n, uint64_t pos)
{
	size_t from = rd->len;

	while (n > 0) {
		uint64_t end, wall_ms;
		enum ring_stream s =
		    ring_stream_at(&rd->facts.raw, pos, &end, &wall_ms);
		size_t part = n;
		int rc = 0;

		if (end <= pos)
			s = RING_MIXED; /* the log ends before the data */
		else if (end - pos < n)
			part = (size_t)(end - pos);
		if (wanted(rd->which, s))
			rc = keep(rd, from, part, pos, s == RING_MIXED);
		if (rc != 0)
			return rc;
		from += part;
		pos += part;
		n -= part;
	}
	return 0;
}

/* Reads from *pos on until the position the ring had at the beginning: what is
 * newer is not in our copy of the segment log. */
static enum ring_verdict
read_all(struct ring_reader *r, struct reading *rd, uint64_t *pos)
{
	const uint64_t head = rd->facts.head;

	while (*pos < head && rd->len < rd->cap) {
		enum ring_verdict verdict = RING_OK;
		uint64_t at = *pos, dropped = 0;
		ssize_t n = ring_read(r, &at, rd->data + rd->len,
		    rd->cap - rd->len, &dropped, &verdict);

		if (n < 0)
			return verdict;
		if (at > head)
			at = head; /* all of it was overwritten meanwhile */
		if ((uint64_t)n > head - at)
			n = (ssize_t)(head - at);
		if (n == 0 && at == *pos)
			break;
		rd->missing += at - *pos;
		if (take(rd, (size_t)n, at) != 0)
			return RING_BUSY;
		*pos = at + (uint64_t)n;
	}
	return RING_OK;
}

/* Leaves the first `surplus` kept bytes out, and what is missing before or
 * inside of them. */
static void
cut_front(struct reading *rd, size_t surplus)
{
	size_t gone = 0, left = surplus;

	while (gone < rd->run_count && left >= rd->runs[gone].len)
		left -= rd->runs[gone++].len;
	memmove(rd->data, rd->data + surplus, rd->len - surplus);
	rd->len -= surplus;
	rd->run_count -= gone;
	memmove(rd->runs, rd->runs + gone, rd->run_count * sizeof(*rd->runs));
	for (size_t i = 0; i < rd->run_count; i++)
		rd->runs[i].at -= i == 0 && left > 0 ? 0 : surplus;
	if (rd->run_count > 0) {
		rd->runs[0].pos += left;
		rd->runs[0].len -= left;
		rd->runs[0].at = 0;
		rd->runs[0].missing = 0;
	}
}

/* Where to begin so that the last max_tail bytes are among what is read, and
 * hardly anything else. */
static uint64_t
start_of(const struct reading *rd, uint64_t from, size_t max_tail)
{
	const struct ring_facts *f = &rd->facts;
	uint64_t start;

	if (from > f->head)
		return f->head; /* a cursor of another life */
	if (max_tail == 0 || rd->which != LINES_BOTH || f->head <= max_tail)
		return from;
	start = f->head - max_tail;
	if (start <= from ||
	    (f->dropped > 0 && start < f->oldest_tail) ||
	    start < atomic_load_explicit(&f->raw.hole_to, memory_order_relaxed))
		return from;
	return start;
}

/* Bytes that a read from `from` can bring at most. */
static size_t
room_for(const struct ring_reader *r, const struct ring_facts *f, uint64_t from)
{
	uint64_t most = (uint64_t)r->head_bytes + r->tail_cap;
	uint64_t n = f->head - from;

	return (size_t)(n < most ? n : most);
}

/* What the caller gets: data, and what the runs say about it. */
static void
hand_over(struct reading *rd, uint64_t pos, struct retained *ret)
{
	ret->data = rd->data;
	ret->len = rd->len;
	ret->from = rd->run_count > 0 ? rd->runs[0].pos : pos;
	ret->to = pos;
	ret->gap_at = rd->len;
	ret->piece = rd->len;
	ret->before = rd->run_count > 0 ? rd->runs[0].missing : rd->missing;
	ret->dropped = rd->missing;
	ret->gone = rd->facts.dropped;
	ret->mixed = 0;
	for (size_t i = 0; i < rd->run_count; i++) {
		const struct retained_run *run = &rd->runs[i];

		if (run->missing > 0 && ret->gap_at == rd->len)
			ret->gap_at = run->at;
		if (run->missing > 0 && i > 0 && ret->piece == rd->len)
			ret->piece = run->at;
		ret->dropped += run->missing;
		ret->mixed += run->mixed ? run->len : 0;
	}
	if (ret->gone < ret->dropped)
		ret->gone = ret->dropped; /* overwritten meanwhile */
	ret->runs = rd->runs;
	ret->run_count = rd->run_count;
}

/* Reads at most `most` bytes from `from` on, or the last max_tail. */
static enum ring_verdict
read_within(struct ring_reader *r, uint64_t from, size_t most, size_t max_tail,
    enum lines_streams which, struct retained *ret)
{
	struct reading rd = { .which = which };
	enum ring_verdict verdict;
	uint64_t pos;

	memset(ret, 0, sizeof(*ret));
	verdict = ring_facts(r, &rd.facts);
	if (verdict != RING_OK && verdict != RING_OVERRUN)
		return verdict;
	pos = start_of(&rd, from, max_tail);
	rd.cap = room_for(r, &rd.facts, pos);
	if (rd.cap > most)
		rd.cap = most;
	rd.data = malloc(rd.cap + 1);
	if (rd.data == NULL)
		return RING_BUSY;
	verdict = read_all(r, &rd, &pos);
	if (verdict != RING_OK) {
		free(rd.runs);
		free(rd.data);
		return verdict;
	}
	if (max_tail > 0 && rd.len > max_tail)
		cut_front(&rd, rd.len - max_tail);
	hand_over(&rd, pos, ret);
	return ret->dropped > 0 ? RING_OVERRUN : RING_OK;
}

/* See lines.h. */
enum ring_verdict
retained_read(struct ring_reader *r, uint64_t from, size_t max_tail,
    enum lines_streams which, struct retained *ret)
{
	return read_within(r, from, SIZE_MAX, max_tail, which, ret);
}

/* See lines.h. */
enum ring_verdict
retained_read_some(struct ring_reader *r, uint64_t from, size_t max,
    struct retained *ret)
{
	return read_within(r, from, max, 0, LINES_BOTH, ret);
}

/* May be called on an empty one, and twice. */
void
retained_free(struct retained *r)
{
	free(r->data);
	free(r->runs);
	memset(r, 0, sizeof(*r));
}
