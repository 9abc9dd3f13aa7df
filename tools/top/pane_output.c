/* SPDX-License-Identifier: MIT */
/*
 * What the followed session shows: the screen of its terminal as a program
 * drew it, or the last lines of its output as `psup log` has them. Reads
 * shared memory alone. Called by display.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pane.h"

#define TAIL_BYTES 16384u
#define BACK_BYTES 262144u /* where somebody scrolls back */
#define BUSY_TRIES 20

/* A sentence instead of output. */
static void
say(struct pane *p, int width, const char *text)
{
	struct line *l;

	pane_clear(p);
	l = pane_add(p, width);
	if (l != NULL)
		line_put(l, STYLE_DIM, "%s", text);
}

/* ------------------------------------------------------------ of a terminal */

/* Of 24-bit colours the nearest of the 256 that all terminals have. */
static int
colour_of(int32_t c)
{
	int r = c >> 16 & 255, g = c >> 8 & 255, b = c & 255;

	if (c < 0x1000000)
		return c;
	return 16 + 36 * ((r + 25) / 51) + 6 * ((g + 25) / 51) + (b + 25) / 51;
}

/* A row of it, cell by cell, each looking as the program wants. */
static void
screen_row(const psup_screen_image *image,
    const struct psup_screen_facts *facts, int row, struct line *l)
{
	struct psup_screen_cell cell;
	unsigned attrs;

	for (int col = 0; col < facts->cols; col++) {
		if (psup_screen_cell(image, row, col, &cell) < 0)
			break;
		if (cell.width == 0)
			continue;
		attrs = cell.attrs;
		if (facts->cursor_visible && row == facts->cursor_row &&
		    col == facts->cursor_col)
			attrs ^= PSUP_SCREEN_REVERSE;
		line_text(l,
		    STYLE_CELL(attrs, colour_of(cell.fg), colour_of(cell.bg)),
		    cell.text[0] != '\0' ? cell.text : " ");
		/* what is shown may be narrower than what it stands for */
		line_pad(l, STYLE_PLAIN, col + cell.width);
	}
}

/* How many rows of it hold anything. */
static int
used_rows(const psup_screen_image *image,
    const struct psup_screen_facts *facts)
{
	char line[1024];
	int rows = facts->rows;

	while (rows > facts->cursor_row + 1 && rows > 1 &&
	    psup_screen_line(image, rows - 1, line, sizeof(line)) == 0)
		rows--;
	return rows;
}

/* The screen, or the part of it that has the cursor. */
static void
read_screen(struct pane *p, psup_view *v, uint64_t instance, size_t want,
    size_t back, int width)
{
	struct psup_screen_facts facts;
	psup_screen_image *image;
	size_t rows, from;
	struct line *l;
	int rc = -EAGAIN;

	for (int i = 0; i < BUSY_TRIES && rc == -EAGAIN; i++)
		rc = psup_view_screen(v, instance, &image);
	if (rc < 0) {
		say(p, width,
		    rc == -ENOENT ? "no output is kept" : strerror(-rc));
		return;
	}
	psup_screen_facts(image, &facts);
	rows = (size_t)used_rows(image, &facts);
	/* the line with the cursor is there, and what is above it */
	from = (size_t)facts.cursor_row + 1 > want
	    ? (size_t)facts.cursor_row + 1 - want
	    : 0;
	p->back_max = from;
	from -= back < from ? back : from;
	for (size_t i = 0; i < want && from + i < rows; i++) {
		l = pane_add(p, width);
		if (l == NULL)
			break;
		screen_row(image, &facts, (int)(from + i), l);
	}
	p->screen = true;
	p->end = facts.next;
	snprintf(p->title, sizeof(p->title), "%dx%d%s%.100s%s", facts.cols,
	    facts.rows, facts.title[0] != '\0' ? ", " : "", facts.title,
	    facts.approximate ? ", its beginning is not kept" : "");
	psup_screen_free(&image);
}

/* ---------------------------------------------------------------- of a pipe */

/* The last bytes that are retained. How many, or -1. */
static ssize_t
read_tail(struct pane *p, psup_view *v, const struct psup_view_session *s,
    char *dst, size_t size)
{
	uint64_t from = s->total_bytes > size ? s->total_bytes - size : 0;
	struct psup_view_chunk chunk = {0};
	size_t len = 0;
	int busy = 0;
	ssize_t n;

	p->end = from;
	while (len < size) {
		n = psup_view_read_output(v, s->instance, from, dst + len,
		    size - len, &chunk);
		if (n < 0 && chunk.verdict == PSUP_READ_BUSY &&
		    busy++ < BUSY_TRIES)
			continue;
		if (n < 0 && len == 0)
			return -1;
		if (n <= 0)
			break;
		len += (size_t)n;
		from = p->end = chunk.next;
	}
	return (ssize_t)len;
}

/* A line of output as a terminal leaves it: what a carriage return went back
 * over is gone. */
static void
output_line(struct pane *p, const char *from, const char *end, int width)
{
	char text[LINE_BYTES];
	struct line *l = pane_add(p, width);
	const char *back;
	size_t len;

	if (l == NULL)
		return;
	if (end > from && end[-1] == '\r')
		end--;
	back = memrchr(from, '\r', (size_t)(end - from));
	if (back != NULL)
		from = back + 1;
	len = (size_t)(end - from);
	if (len >= sizeof(text))
		len = sizeof(text) - 1;
	memcpy(text, from, len);
	text[len] = '\0';
	line_text(l, STYLE_PLAIN, text);
}

/* The lines of a tail that are wanted. The first line may be a rest and is
 * left out where there are others. */
static void
show_lines(struct pane *p, const char *text, const char *end, bool whole,
    size_t want, size_t back, int width)
{
	size_t lines = 0, last, first, i = 0;
	const char *at = text, *stop;

	if (end > text && end[-1] == '\n')
		end--;
	if (!whole && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL)
		at = stop + 1;
	for (stop = at; stop < end; stop++)
		lines += *stop == '\n';
	lines += end > text;
	p->back_max = lines > want ? lines - want : 0;
	last = lines - (back < p->back_max ? back : p->back_max);
	first = last > want ? last - want : 0;
	for (; i < last && at <= end; i++, at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (stop == NULL)
			stop = end;
		if (i >= first)
			output_line(p, at, stop, width);
	}
}

static void
read_output(struct pane *p, psup_view *v, const struct psup_view_session *s,
    size_t want, size_t back, int width)
{
	static char raw[BACK_BYTES], clean[4 * BACK_BYTES];
	size_t size = back > 0 ? BACK_BYTES : TAIL_BYTES, len;
	ssize_t n = read_tail(p, v, s, raw, size);

	p->title[0] = '\0';
	if (n <= 0) {
		say(p, width,
		    n == 0 || s->total_bytes == 0 ? "no output yet"
		                                  : "no output is kept");
		return;
	}
	len = psup_clean("clean", raw, (size_t)n, false, clean);
	show_lines(p, clean, clean + len, (size_t)n == s->total_bytes, want,
	    back, width);
}

/* Is there anything behind what was read? */
static bool
has_grown(struct pane *p, psup_view *v)
{
	struct psup_view_chunk chunk;
	char byte;

	return psup_view_read_output(v, p->instance, p->end, &byte, 1,
	           &chunk) != 0;
}

void
pane_output(struct pane *p, psup_view *v, const struct top_row *r, size_t want,
    size_t back, int width)
{
	struct psup_view_session s = r->s;

	if (p->instance == s.instance && p->want == want && p->back == back &&
	    p->width == width && p->count > 0 && !has_grown(p, v))
		return;
	pane_clear(p);
	p->instance = s.instance;
	p->want = want;
	p->back = back;
	p->width = width;
	p->end = s.total_bytes;
	if (s.pty)
		read_screen(p, v, s.instance, want, back, width);
	else
		read_output(p, v, &s, want, back, width);
}
