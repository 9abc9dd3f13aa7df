/* SPDX-License-Identifier: MIT */
/*
 * Retained output, read at once: for poll and for what a command's end tells.
 * Reads a ring up to where it stood at the beginning, and remembers what it kept
 * as runs: stretches of known position and stream.
 */
#include "supervisor/search/lines.h"
#include "common/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One read under way. */
struct reading {
	struct ring_facts facts; /* one copy of the header for all of it */
	enum lines_streams which;
	char *data;
	size_t len, cap;
	struct retained_run *runs;
	size_t run_count, run_cap;
	uint64_t missing;        /* since the last run */
	uint64_t surplus[2];     /* to be left out: of stdout, of stderr */
	uint64_t omitted;        /* that was */
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
keep(struct reading *rd, size_t from, size_t n, uint64_t pos,
    enum ring_stream stream)
{
	struct retained_run *last = rd->runs + rd->run_count;

	if (from != rd->len)
		memmove(rd->data + rd->len, rd->data + from, n);
	if (rd->run_count > 0 && rd->missing == 0 &&
	    last[-1].stream == stream && last[-1].pos + last[-1].len == pos) {
		last[-1].len += n;
		rd->len += n;
		return 0;
	}
	if (!GROW(rd->runs, rd->run_cap, rd->run_count + 1, 64))
		return -ENOMEM;
	rd->runs[rd->run_count++] = (struct retained_run){ .pos = pos,
		.missing = rd->missing, .at = rd->len, .len = n, .stream = stream };
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
			rc = keep(rd, from, part, pos, s);
		if (rc != 0)
			return rc;
		from += part;
		pos += part;
		n -= part;
	}
	return 0;
}

/* What lies at a position: whose bytes, and up to where; false: they are
 * lost. */
static bool
stretch_at(const struct ring_reader *r, const struct reading *rd, uint64_t pos,
    bool *ret_err, uint64_t *ret_end)
{
	const struct ring_facts *f = &rd->facts;
	uint64_t end = f->oldest_tail, wall_ms;

	if (pos >= r->head_bytes && pos < end) {
		*ret_end = end < f->head ? end : f->head;
		return false;
	}
	*ret_err = ring_stream_at(&f->raw, pos, &end, &wall_ms) == RING_STDERR;
	if (end <= pos || end > f->head)
		end = f->head;
	if (pos < r->head_bytes && end > r->head_bytes &&
	    f->oldest_tail > r->head_bytes)
		end = r->head_bytes;
	*ret_end = end;
	return true;
}

/* Of each stream all but the newest bytes are surplus. Where bytes are missing
 * in the middle, for want of room, all are read. */
static void
count_surplus(const struct ring_reader *r, struct reading *rd, uint64_t pos,
    uint64_t newest)
{
	uint64_t have[2] = {0, 0}, end;
	bool err = false;

	if (rd->facts.head - pos <= newest ||
	    RELAXED(rd->facts.raw.hole_to) > pos)
		return;
	for (; pos < rd->facts.head; pos = end)
		if (stretch_at(r, rd, pos, &err, &end))
			have[err] += end - pos;
	for (int i = 0; i < 2; i++)
		rd->surplus[i] = have[i] > newest ? have[i] - newest : 0;
}

/* Goes over what is surplus at *pos. Returns how much may be read at once: as
 * long as there is more surplus, one stream's. */
static uint64_t
leave_out(const struct ring_reader *r, struct reading *rd, uint64_t *pos)
{
	uint64_t end = 0, n = 0;
	bool err = false;

	while (rd->surplus[0] + rd->surplus[1] > 0 && *pos < rd->facts.head) {
		if (!stretch_at(r, rd, *pos, &err, &end)) {
			rd->missing += end - *pos;
			*pos = end;
			continue;
		}
		n = end - *pos < rd->surplus[err] ? end - *pos
						  : rd->surplus[err];
		if (n == 0)
			return end - *pos;
		rd->surplus[err] -= n;
		rd->omitted += n;
		*pos += n;
	}
	return UINT64_MAX;
}

/* Reads from *pos on until the position the ring had at the beginning: what is
 * newer is not in our copy of the segment log. */
static enum ring_verdict
read_all(struct ring_reader *r, struct reading *rd, uint64_t *pos)
{
	const uint64_t head = rd->facts.head;

	while (*pos < head && rd->len < rd->cap) {
		enum ring_verdict verdict = RING_OK;
		uint64_t most = leave_out(r, rd, pos), at = *pos, dropped = 0;
		ssize_t n = ring_read_known(r, &rd->facts, &at,
		    rd->data + rd->len, rd->cap - rd->len < most ? rd->cap - rd->len : (size_t)most,
		    &dropped, &verdict);

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
	    start < RELAXED(f->raw.hole_to))
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
	ret->head = rd->facts.head;
	ret->gap_at = rd->len;
	ret->piece = rd->len;
	ret->before = rd->run_count > 0 ? rd->runs[0].missing : rd->missing;
	ret->dropped = rd->missing;
	ret->gone = rd->facts.dropped;
	ret->mixed = 0;
	ret->omitted = rd->omitted;
	for (size_t i = 0; i < rd->run_count; i++) {
		const struct retained_run *run = &rd->runs[i];

		if (run->missing > 0 && ret->gap_at == rd->len)
			ret->gap_at = run->at;
		if (run->missing > 0 && i > 0 && ret->piece == rd->len)
			ret->piece = run->at;
		ret->dropped += run->missing;
		ret->mixed += run->stream == RING_MIXED ? run->len : 0;
	}
	if (ret->gone < ret->dropped)
		ret->gone = ret->dropped; /* overwritten meanwhile */
	ret->runs = rd->runs;
	ret->run_count = rd->run_count;
}

/* Which part of what is retained is read. */
struct part {
	size_t most;     /* bytes from the beginning */
	size_t max_tail; /* the last, 0: all */
	size_t newest;   /* of each stream */
	enum lines_streams which;
};

static enum ring_verdict
read_part(struct ring_reader *r, uint64_t from, const struct part *part,
    struct retained *ret)
{
	struct reading rd = { .which = part->which };
	enum ring_verdict verdict;
	uint64_t pos;

	memset(ret, 0, sizeof(*ret));
	verdict = ring_facts(r, &rd.facts);
	if (verdict != RING_OK && verdict != RING_OVERRUN)
		return verdict;
	pos = start_of(&rd, from, part->max_tail);
	count_surplus(r, &rd, pos, part->newest);
	rd.cap = room_for(r, &rd.facts, pos) -
	    (size_t)(rd.surplus[0] + rd.surplus[1]);
	if (rd.cap > part->most)
		rd.cap = part->most;
	rd.data = malloc(rd.cap + 1);
	if (rd.data == NULL)
		return RING_BUSY;
	verdict = read_all(r, &rd, &pos);
	if (verdict != RING_OK) {
		free(rd.runs);
		free(rd.data);
		return verdict;
	}
	if (part->max_tail > 0 && rd.len > part->max_tail)
		cut_front(&rd, rd.len - part->max_tail);
	hand_over(&rd, pos, ret);
	return ret->dropped > 0 ? RING_OVERRUN : RING_OK;
}

/* See lines.h. */
enum ring_verdict
retained_read(struct ring_reader *r, uint64_t from, size_t max_tail,
    enum lines_streams which, struct retained *ret)
{
	return read_part(r, from, &(struct part){SIZE_MAX, max_tail, SIZE_MAX,
	    which}, ret);
}

/* See lines.h. */
enum ring_verdict
retained_read_some(struct ring_reader *r, uint64_t from, size_t max,
    struct retained *ret)
{
	return read_part(r, from, &(struct part){max, 0, SIZE_MAX, LINES_BOTH},
	    ret);
}

/* See lines.h. */
enum ring_verdict
retained_read_newest(struct ring_reader *r, uint64_t from, size_t newest,
    struct retained *ret)
{
	return read_part(r, from, &(struct part){SIZE_MAX, 0, newest,
	    LINES_BOTH}, ret);
}

/* May be called on an empty one, and twice. */
void
retained_free(struct retained *r)
{
	free(r->data);
	free(r->runs);
	memset(r, 0, sizeof(*r));
}
