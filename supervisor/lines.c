/* SPDX-License-Identifier: MIT */
/*
 * Retained output as text. Called by api_*.c for poll, log and tails. Reads a
 * ring once, up to where it stood at the beginning, and remembers what it kept
 * as runs: stretches of known position and stream. Pages are index arithmetic
 * over those bytes. Text is repaired on the way out, never in between.
 *
 * It does not write notes about gaps and pages: the caller has the words.
 */
#include "supervisor/lines.h"

#include "common/check.h"
#include "common/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of kept bytes of one stream. */
struct retained_run {
	uint64_t pos;     /* of its first byte */
	uint64_t missing; /* bytes lost between the run before and this */
	uint64_t wall_ms; /* when it arrived; 0: not known */
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
keep(struct reading *rd, size_t from, size_t n, uint64_t pos, bool mixed,
    uint64_t wall_ms)
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
		.at = rd->len, .len = n, .mixed = mixed,
		.wall_ms = mixed ? 0 : wall_ms };
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
			rc = keep(rd, from, part, pos, s == RING_MIXED,
			    wall_ms);
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
	ret->runs = rd->runs;
	ret->run_count = rd->run_count;
}

/* See lines.h. */
enum ring_verdict
retained_read(struct ring_reader *r, uint64_t from, size_t max_tail,
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

/* May be called on an empty one, and twice. */
void
retained_free(struct retained *r)
{
	free(r->data);
	free(r->runs);
	memset(r, 0, sizeof(*r));
}

/* See lines.h. */
uint64_t
retained_time(const struct retained *r, size_t at)
{
	size_t low = 0, high = r->run_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->runs[mid].at + r->runs[mid].len <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->run_count && r->runs[low].at <= at
	    ? r->runs[low].wall_ms
	    : 0;
}

/* See lines.h. A clock that was set back must not show what is older. */
size_t
retained_since(const struct retained *r, uint64_t wall_ms)
{
	for (size_t i = r->run_count; i > 0; i--)
		if (r->runs[i - 1].wall_ms < wall_ms)
			return r->runs[i - 1].at + r->runs[i - 1].len;
	return r->run_count > 0 ? r->runs[0].at : r->len;
}

/* --------------------------------------------------------------- the lines */

/* Line ends in data[begin..end). */
static uint64_t
count_ends(const char *data, size_t begin, size_t end)
{
	uint64_t n = 0;

	for (size_t i = begin; i < end; i++)
		n += data[i] == '\n';
	return n;
}

/* Lines in data[begin..end): the last one may lack its end. */
static uint64_t
count_lines(const char *data, size_t begin, size_t end)
{
	return count_ends(data, begin, end) +
	    (end > begin && data[end - 1] != '\n');
}

/* Where line `n` of data[begin..end) begins; `total` is how many it has. From
 * the end that is nearer. */
static size_t
find_line(const char *data, size_t begin, size_t end, uint64_t n,
    uint64_t total)
{
	const char *p;

	if (n >= total)
		return end;
	if (n <= total / 2) {
		for (p = data + begin; n > 0; n--)
			p = (const char *)memchr(p, '\n',
			        (size_t)(data + end - p)) + 1;
		return (size_t)(p - data);
	}
	for (n = total - n; n > 0; n--) {
		/* the byte before `end` ends this line, or is its last */
		p = end - begin < 2 ? NULL
		                    : memrchr(data + begin, '\n',
		                          end - begin - 1);
		end = p == NULL ? begin : (size_t)(p - data) + 1;
	}
	return end;
}

/* Where line n of the whole begins; the gap ends a line. */
static size_t
locate(const struct retained *r, size_t gap, uint64_t n, uint64_t before,
    uint64_t after)
{
	if (n < before)
		return find_line(r->data, 0, gap, n, before);
	return find_line(r->data, gap, r->len, n - before, after);
}

/* See lines.h. */
uint64_t
lines_before_byte(const struct retained *r, size_t at)
{
	size_t gap_at = r->dropped > 0 && r->gap_at < at ? r->gap_at : at;

	return count_lines(r->data, 0, gap_at) +
	    count_lines(r->data, gap_at, at);
}

/* See lines.h. */
void
lines_page(const struct retained *r, bool have_offset, uint64_t offset,
    bool have_limit, uint64_t limit, struct lines_page *ret)
{
	bool gap = r->dropped > 0;
	size_t gap_at = gap && r->gap_at < r->len ? r->gap_at : r->len;
	uint64_t before = count_lines(r->data, 0, gap_at);
	uint64_t after = count_lines(r->data, gap_at, r->len);
	uint64_t total = before + after, first, count;

	if (!have_limit)
		limit = have_offset ? UINT64_MAX : LINES_DEFAULT;
	if (have_offset) {
		first = offset < total ? offset : total;
		count = limit < total - first ? limit : total - first;
	} else {
		count = limit < total ? limit : total;
		first = total - count;
	}
	ret->total_lines = total;
	ret->first_line = first;
	ret->line_count = count;
	ret->begin = locate(r, gap_at, first, before, after);
	ret->end = locate(r, gap_at, first + count, before, after);
	ret->gap_line = gap && before > 0 ? (int64_t)before - 1 : -1;
	ret->defaulted = !have_offset && !have_limit;
}

/* Appends data[0..n) to dst by a rule, with CRLF as LF; returns bytes. */
static size_t
copy_text(char *dst, const char *data, size_t n, enum text_rule rule, bool more)
{
	size_t len = text_clean(rule, data, n, more, dst), out = 0;
	char *p, *cr;

	for (p = dst; (cr = memchr(p, '\r', (size_t)(dst + len - p))) != NULL;
	     p = cr + 1) {
		size_t part = (size_t)(cr - p);

		if (cr + 1 == dst + len || cr[1] != '\n')
			part++;
		memmove(dst + out, p, part);
		out += part;
	}
	memmove(dst + out, p, (size_t)(dst + len - p));
	return out + (size_t)(dst + len - p);
}

/* Does something that is not there stand before data[at]? What is left of a
 * cut character goes too. */
static size_t
skip_cut(const struct retained *r, size_t at, size_t end)
{
	if ((at == 0 && r->from > 0) || (r->dropped > 0 && at == r->gap_at))
		at += text_skip_partial(r->data + at, end - at);
	return at;
}

/* See lines.h. */
char *
lines_text(const struct retained *r, size_t begin, size_t end,
    enum text_rule rule, bool more, size_t *ret_len)
{
	bool gap = r->dropped > 0 && begin < r->gap_at && r->gap_at < end;
	size_t mid = gap ? r->gap_at : end, len;
	char *dst;

	CHECK(begin <= end && end <= r->len);
	dst = malloc(4 * (end - begin) + 2);
	if (dst == NULL)
		return NULL;
	more = more && end == r->len;
	begin = skip_cut(r, begin, mid);
	len = copy_text(dst, r->data + begin, mid - begin, rule, gap || more);
	if (gap) {
		if (len > 0 && dst[len - 1] != '\n')
			dst[len++] = '\n';
		mid = skip_cut(r, mid, end);
		len += copy_text(dst + len, r->data + mid, end - mid, rule,
		    more);
	}
	if (len > 0 && dst[len - 1] == '\n')
		len--;
	dst[len] = '\0';
	*ret_len = len;
	return dst;
}

/* See lines.h. */
bool
lines_next(const struct retained *r, struct lines_walk *w)
{
	size_t end = r->len;
	const char *lf;

	if (w->next == r->len)
		return false;
	if (r->dropped > 0 && w->next < r->gap_at && r->gap_at < r->len)
		end = r->gap_at; /* the gap ends a line */
	w->number += w->started;
	w->started = true;
	w->begin = w->next;
	lf = memchr(r->data + w->begin, '\n', end - w->begin);
	w->end = lf != NULL ? (size_t)(lf - r->data) : end;
	w->next = lf != NULL ? w->end + 1 : end;
	return true;
}

/* See lines.h. */
size_t
lines_clean(const struct retained *r, const struct lines_walk *w,
    enum text_rule rule, bool more, char *dst)
{
	size_t begin = skip_cut(r, w->begin, w->end), end = w->end;

	if (end > begin && end < w->next && r->data[end - 1] == '\r')
		end--;
	more = w->end == w->next && (more || w->end < r->len);
	return text_clean(rule, r->data + begin, end - begin, more, dst);
}
