/* SPDX-License-Identifier: MIT */
/*
 * The two passes over a session's output that answer a `log`. Called by
 * api/log.c. Lines and their numbers are the same however they are shown; what
 * is overwritten between the passes is a gap on the page, and what follows has
 * the numbers it had.
 */
#include "supervisor/search/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/grow.h"
#include "common/text.h"

#define LINES_DEFAULT 200u /* where neither offset nor limit says more */

/* ------------------------------------------------------------------- text */

/* "2026-11-21T10:43:26.120Z ", or "- ": made once for a stretch. */
static const char *
stamp(struct log_show *l, uint64_t wall_ms)
{
	time_t sec = (time_t)(wall_ms / 1000);
	char text[24];
	struct tm tm;

	if (l->stamp[0] != '\0' && wall_ms == l->wall_ms)
		return l->stamp;
	l->wall_ms = wall_ms;
	if (wall_ms == 0 || gmtime_r(&sec, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		(void)snprintf(l->stamp, sizeof(l->stamp), "- ");
	else
		(void)snprintf(l->stamp, sizeof(l->stamp), "%s.%03uZ ", text,
		    (unsigned)(wall_ms % 1000));
	return l->stamp;
}

/* How many bytes at the end are not whole: they wait for what follows. */
static size_t
open_tail(const struct log_show *l)
{
	const struct sbuf *c = &l->carry;
	size_t n = l->rule == TEXT_CLEAN || l->rule == TEXT_ANSI
	    ? text_open_tail(c->p, c->len)
	    : text_unfinished(c->p, c->len);

	/* a CR may belong to the line's end */
	return n == 0 && c->len > 0 && c->p[c->len - 1] == '\r' ? 1 : n;
}

/* Cleans a piece into b, as far as it is whole. `page`: CR goes before LF as it
 * is shown; else as it was written. */
static void
clean(struct log_show *l, const struct tape_piece *p, bool page, struct sbuf *b)
{
	bool ended = p->end != TAPE_MORE, more = false;
	struct sbuf *c = &l->carry;
	size_t n;

	sbuf_addn(c, p->data + p->skip, p->len - p->skip);
	if (c->failed || c->p == NULL)
		return;
	n = ended ? c->len : c->len - open_tail(l);
	if (p->end == TAPE_LF && !page && n > 0 && c->p[n - 1] == '\r')
		n--;
	if (ended)
		more = p->end == TAPE_GAP || (p->end == TAPE_LAST && l->more);
	if (sbuf_reserve(b, 4 * n + 2))
		b->len += text_clean(l->rule, c->p, n, more, b->p + b->len);
	if (ended)
		n = c->len;
	memmove(c->p, c->p + n, c->len - n);
	c->len -= n;
}

/* ---------------------------------------------------------------- counting */

/* Which lines, now that they are counted. Those before sinceMs are cut off the
 * page; without offset and limit it is all the others. */
static void
page_of(struct log_show *l, uint64_t total, uint64_t *ret_first,
    uint64_t *ret_count)
{
	uint64_t limit = l->have_limit ? l->limit
	    : l->have_offset ? UINT64_MAX : LINES_DEFAULT;

	if (l->have_offset) {
		*ret_first = l->offset < total ? l->offset : total;
		*ret_count = total - *ret_first;
		if (*ret_count > limit)
			*ret_count = limit;
	} else {
		*ret_count = limit < total ? limit : total;
		*ret_first = total - *ret_count;
	}
}

/* All is counted: where does the page begin? */
static void
begin_page(struct log_show *l)
{
	struct tape_lines *t = &l->lines;
	uint64_t end, before = t->after_gap ? t->before_gap : t->line;
	struct tape_mark from;

	l->counted = true;
	l->total_lines = t->line;
	l->dropped = t->tape.dropped;
	l->mixed = t->tape.mixed;
	l->to = t->tape.pos;
	l->gap_line = l->dropped > 0 && before > 0 ? (int64_t)before - 1 : -1;
	l->have_offset = l->have_offset || (l->have_since && !l->have_limit);
	l->defaulted = !l->have_offset && !l->have_limit;
	page_of(l, l->total_lines, &l->first_line, &l->line_count);
	end = l->first_line + l->line_count;
	if (l->first_line < l->since_line) {
		l->first_line = l->since_line < end ? l->since_line : end;
		l->line_count = end - l->first_line;
	}
	page_of(l, l->hit_count, &l->first, &l->shown);
	if (!l->finds)
		tape_seek(t, l->first_line, 0, &from);
	else
		tape_seek(t, UINT64_MAX, l->first, &from);
	if (l->finds && l->context > 0 && from.line > 0)
		tape_seek(t, from.line > l->context ? from.line - l->context
						    : 0, l->first, &from);
	l->hit = from.hits;
	l->carry.len = 0;
	t->again = true;
}

/* Looks at the line of which there is a piece. 1, or -1. */
static int
look(struct log_show *l, const struct tape_piece *p)
{
	size_t before = l->line.len;
	bool again = l->waits;
	int rc = 0;

	if (!again && p->begins)
		rc = log_find_begin(&l->find);
	if (!again)
		clean(l, p, false, &l->line);
	if (rc == 0)
		rc = log_find_look(&l->find,
		    again ? "" : l->line.p + before,
		    again ? 0 : l->line.len - before, p->end != TAPE_MORE);
	l->waits = l->find.busy;
	return rc < 0 || l->line.failed || l->carry.failed ? -1 : 1;
}

/* Counts a piece of a line, and looks at it. */
static int
count_piece(struct log_show *l, struct ring_reader *rd, enum ring_verdict *v)
{
	struct tape_piece *p = &l->piece;
	int rc = 1;

	if (!l->waits) {
		rc = tape_piece(&l->lines, rd, p, v);
		if (rc <= 0)
			return rc;
		if (p->begins)
			tape_mark(&l->lines, p->pos, p->number, l->hit_count,
			    p->torn);
		if (p->data != NULL && p->wall_ms < l->since_ms)
			l->since_line = p->number + 1;
	}
	rc = look(l, p);
	l->line.len = 0;
	if (p->end != TAPE_MORE && !l->waits)
		l->hit_count += l->find.found;
	return rc;
}

/* Counts some more. */
static int
count(struct log_show *l, struct ring_reader *rd, enum ring_verdict *v)
{
	int rc = l->finds ? count_piece(l, rd, v) : tape_count(&l->lines, rd, v);

	if (rc > 0 && !l->finds && l->have_since &&
	    l->lines.st.wall_ms < l->since_ms)
		l->since_line = l->lines.line + l->lines.mid;
	if (rc == 0) {
		begin_page(l);
		return 1;
	}
	return rc;
}

/* ----------------------------------------------------------- a page of lines */

/* A piece of a line of the page. */
static void
add_piece(struct log_show *l, const struct tape_piece *p)
{
	struct sbuf *b = &l->text;

	if (l->raw) {
		sbuf_addn(b, p->data, p->len);
		if (p->end == TAPE_LF)
			sbuf_addn(b, "\n", 1);
		return;
	}
	if (l->timestamps && p->begins)
		sbuf_add(b, stamp(l, p->wall_ms));
	clean(l, p, !l->timestamps, b);
	if (!l->timestamps && p->end == TAPE_LF && b->len > 0 &&
	    b->p[b->len - 1] == '\r')
		b->len--;
	if (p->end == TAPE_LF || (l->timestamps && p->end != TAPE_MORE) ||
	    (p->end == TAPE_GAP && b->len > 0 && b->p[b->len - 1] != '\n'))
		sbuf_addn(b, "\n", 1);
}

/* What one answer holds is there. */
static int
page_full(struct log_show *l, uint64_t lines)
{
	l->cut = true;
	l->line_count = lines;
	return 0;
}

/* Shows a piece of the page. 1; 0: it is all there. */
static int
show_piece(struct log_show *l, struct ring_reader *rd, enum ring_verdict *v)
{
	uint64_t end = l->first_line + l->line_count, done;
	struct tape_piece *p = &l->piece;
	int rc;

	if (l->lines.line >= end && !l->lines.mid)
		return 0;
	rc = tape_piece(&l->lines, rd, p, v);
	if (rc <= 0)
		return rc;
	if (p->number < l->first_line)
		return 1;
	if (p->number >= end)
		return 0;
	add_piece(l, p);
	done = p->number - l->first_line + 1;
	if (l->text.len < LOG_PAGE_MAX)
		return 1;
	if (p->end == TAPE_MORE) {
		l->text.len = LOG_PAGE_MAX;
		if (!l->raw)
			l->text.len -= text_unfinished(l->text.p, LOG_PAGE_MAX);
		return page_full(l, done);
	}
	return done < l->line_count ? page_full(l, done) : 0;
}

/* ----------------------------------------------------- what was found */

/* The line, with its number, behind others in b. */
static void
add_line(struct log_show *l, struct sbuf *b, uint64_t number, char mark)
{
	sbuf_addf(b, "%" PRIu64 "%c", number, mark);
	if (l->timestamps)
		sbuf_add(b, l->stamp);
	sbuf_addn(b, l->line.p != NULL ? l->line.p : "", l->line.len);
	sbuf_addn(b, "\n", 1);
}

/* A line that may be shown before a hit: the last of them are kept. */
static void
hold(struct log_show *l, uint64_t number)
{
	char *lf;

	if (l->context == 0)
		return;
	add_line(l, &l->held, number, '-');
	l->held_lines++;
	while (l->held_lines > l->context ||
	    (l->held.len > LOG_PAGE_MAX && l->held_lines > 1)) {
		lf = memchr(l->held.p, '\n', l->held.len);
		l->held.len -= (size_t)(lf + 1 - l->held.p);
		memmove(l->held.p, lf + 1, l->held.len);
		l->held_lines--;
	}
}

/* A hit, with the lines before it. */
static void
add_hit(struct log_show *l, uint64_t number)
{
	uint64_t from = number > l->context ? number - l->context : 0;

	if (!GROW(l->numbers, l->number_room, l->number_count + 1, 64)) {
		l->text.failed = true;
		return;
	}
	l->numbers[l->number_count++] = number;
	if (l->any && from > l->until && l->context > 0)
		sbuf_add(&l->text, "--\n");
	sbuf_addn(&l->text, l->held.p != NULL ? l->held.p : "", l->held.len);
	l->held.len = l->held_lines = 0;
	add_line(l, &l->text, number, ':');
	l->any = true;
	if (l->text.len < LOG_PAGE_MAX)
		l->until = number + l->context + 1;
}

/* A line is whole. 1; 0: the page is. */
static int
show_line(struct log_show *l, uint64_t number)
{
	uint64_t last = l->first + l->shown, i = l->hit;
	bool hit = l->find.found, near = l->any && number < l->until;

	l->hit += hit;
	if (hit && i >= l->first && i < last && number < l->since_line) {
		l->first = i + 1;
		l->shown = last - l->first;
		hit = false;
	}
	hit = hit && i >= l->first && i < last;
	if (l->text.len >= LOG_PAGE_MAX && !near) {
		l->hit = i;
		return 0;
	}
	if (hit)
		add_hit(l, number);
	else if (near)
		add_line(l, &l->text, number, '-');
	else
		hold(l, number);
	if (l->text.len >= 2 * LOG_PAGE_MAX)
		return 0;
	return l->hit < last || (l->any && number + 1 < l->until);
}

/* A piece of a line. 1; 0: the page is all there. */
static int
show_found(struct log_show *l, struct ring_reader *rd, enum ring_verdict *v)
{
	struct tape_piece *p = &l->piece;
	int rc;

	if (l->shown == 0)
		return 0;
	if (!l->waits) {
		rc = tape_piece(&l->lines, rd, p, v);
		if (rc <= 0)
			return rc;
		if (l->lines.jumped)
			l->hit = l->lines.hits;
		l->lines.jumped = false;
		if (p->begins)
			(void)stamp(l, p->wall_ms);
	}
	if (look(l, p) < 0)
		return -1;
	if (l->line.len > LOG_PAGE_MAX)
		l->line.len = LOG_PAGE_MAX -
		    text_unfinished(l->line.p, LOG_PAGE_MAX);
	if (p->end == TAPE_MORE || l->waits)
		return 1;
	rc = show_line(l, p->number);
	l->line.len = 0;
	return rc;
}

/* The page is there. */
static void
end_page(struct log_show *l)
{
	if (!l->finds)
		return;
	l->cut = l->shown > 0 && l->hit < l->first + l->shown;
	l->shown = l->number_count;
	l->line_count = l->shown;
	l->first_line = l->shown > 0 ? l->numbers[0] : 0;
}

/* Shows some more. */
static int
show(struct log_show *l, struct ring_reader *rd, enum ring_verdict *v)
{
	int rc = l->finds ? show_found(l, rd, v) : show_piece(l, rd, v);

	if (rc == 0)
		end_page(l);
	return rc;
}

int
log_show_step(struct log_show *l, struct ring_reader *rd, uint64_t until,
    enum ring_verdict *ret_verdict)
{
	int rc;

	do {
		*ret_verdict = RING_BUSY;
		rc = l->counted ? show(l, rd, ret_verdict)
				: count(l, rd, ret_verdict);
		if (rc > 0 && (l->text.failed || l->lines.failed ||
				  l->carry.failed || l->held.failed)) {
			*ret_verdict = RING_BUSY;
			return -1;
		}
	} while (rc > 0 && clock_boot_ns() < until);
	tape_pause(&l->lines);
	return rc;
}

size_t
log_show_bytes(const struct log_show *l)
{
	return l->text.cap + l->carry.cap + l->line.cap + l->held.cap +
	    l->find.line.cap + l->number_room * sizeof(*l->numbers) +
	    l->lines.mark_room * sizeof(*l->lines.marks) +
	    (l->find.spec != NULL ? match_spec_cost(l->find.spec) : 0);
}

void
log_show_fini(struct log_show *l)
{
	log_find_fini(&l->find);
	tape_fini(&l->lines);
	sbuf_fini(&l->text);
	sbuf_fini(&l->carry);
	sbuf_fini(&l->line);
	sbuf_fini(&l->held);
	free(l->numbers);
}
