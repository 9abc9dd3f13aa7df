/* SPDX-License-Identifier: MIT */
/*
 * What the followed session shows: the screen of its terminal as a program
 * drew it, or the last lines of its output as `psup log` has them. Reads
 * shared memory alone. Called by display.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pane.h"

#define TAIL_BYTES 16384u
#define BACK_BYTES 262144u /* where somebody scrolls back */
#define BUSY_TRIES 20

/* What is searched for is seen where it stands; more so in the hit that is
 * chosen. */
static void
mark(const struct pane *p, struct line *l, size_t before_last)
{
	line_mark(l, p->was.search,
	    before_last == p->was.here ? STYLE_CHOSEN : STYLE_FOUND);
}

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

/* Which rows have what is searched for; `last` is the pane's foot where nobody
 * looks back. */
static void
search_screen(struct pane *p, const psup_screen_image *image, size_t rows,
    size_t last)
{
	char text[LINE_BYTES];
	size_t row = rows < last + 1 ? rows : last + 1;

	while (row-- > 0 && p->was.search[0] != '\0')
		if (psup_screen_line(image, (int)row, text, sizeof(text)) > 0 &&
		    strcasestr(text, p->was.search) != NULL)
			pane_add_hit(p, last - row);
}

/* The screen, or the part of it that has the cursor. */
static void
read_screen(struct pane *p, psup_view *v, uint64_t instance)
{
	size_t want = p->was.lines, back = p->was.back;
	int width = p->was.width;
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
	search_screen(p, image, rows, from + want - 1);
	from -= back < from ? back : from;
	for (size_t i = 0; i < want && from + i < rows; i++) {
		l = pane_add(p, width);
		if (l == NULL)
			break;
		screen_row(image, &facts, (int)(from + i), l);
		mark(p, l, p->back_max + want - 1 - (from + i));
	}
	p->screen = true;
	p->end = facts.next;
	snprintf(p->title, sizeof(p->title), "%dx%d%s%.100s%s", facts.cols,
	    facts.rows, facts.title[0] != '\0' ? ", " : "", facts.title,
	    facts.approximate ? ", its beginning is not kept" : "");
	psup_screen_free(&image);
}

/* ---------------------------------------------------------------- of a pipe */

/* The last bytes that are retained, up to where it is held. How many, or -1. */
static ssize_t
read_tail(struct pane *p, psup_view *v, const struct psup_view_session *s,
    char *dst, size_t size)
{
	uint64_t until = p->hold > 0 ? p->hold : UINT64_MAX;
	uint64_t all = p->hold > 0 ? p->hold : s->total_bytes;
	uint64_t from = all > size ? all - size : 0;
	struct psup_view_chunk chunk = {0};
	size_t len = 0, most;
	int busy = 0;
	ssize_t n;

	p->end = from;
	while (len < size && from < until) {
		most = until - from < size - len ? until - from : size - len;
		n = psup_view_read_output(v, s->instance, from, dst + len,
		    most, &chunk);
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

/* Of a line of output what a terminal leaves: what a carriage return went back
 * over is gone. */
static const char *
what_stays(const char *from, const char **end)
{
	const char *back;

	if (*end > from && (*end)[-1] == '\r')
		(*end)--;
	back = memrchr(from, '\r', (size_t)(*end - from));
	return back != NULL ? back + 1 : from;
}

/* Has a line what is searched for? */
static bool
has(const char *from, const char *end, const char *words)
{
	size_t len = strlen(words);

	for (; (size_t)(end - from) >= len; from++)
		if (strncasecmp(from, words, len) == 0)
			return true;
	return false;
}

static void
output_line(struct pane *p, const char *from, const char *end,
    size_t before_last)
{
	struct line *l = pane_add(p, p->was.width);
	size_t len = (size_t)(end - from);
	char text[LINE_BYTES];

	if (l == NULL)
		return;
	if (len >= sizeof(text))
		len = sizeof(text) - 1;
	memcpy(text, from, len);
	text[len] = '\0';
	line_text(l, STYLE_PLAIN, text);
	mark(p, l, before_last);
}

/* The hits the other way round. */
static void
newest_first(struct pane *p)
{
	size_t other;

	for (size_t i = 0; i < p->hit_count / 2; i++) {
		other = p->hits[i];
		p->hits[i] = p->hits[p->hit_count - 1 - i];
		p->hits[p->hit_count - 1 - i] = other;
	}
}

/* The lines of a tail that are wanted. The first line may be a rest and is
 * left out where there are others. */
static void
show_lines(struct pane *p, const char *text, const char *end, bool whole)
{
	size_t want = p->was.lines, back = p->was.back;
	size_t lines = 0, last, first, i = 0;
	const char *at = text, *stop, *line, *line_end;

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
	for (; i < lines && at <= end; i++, at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (stop == NULL)
			stop = end;
		line_end = stop;
		line = what_stays(at, &line_end);
		if (p->was.search[0] != '\0' &&
		    has(line, line_end, p->was.search))
			pane_add_hit(p, lines - 1 - i);
		if (i >= first && i < last)
			output_line(p, line, line_end, lines - 1 - i);
	}
	newest_first(p);
}

static void
read_output(struct pane *p, psup_view *v, const struct psup_view_session *s)
{
	static char raw[BACK_BYTES], clean[4 * BACK_BYTES];
	bool much = p->was.back > 0 || p->was.search[0] != '\0';
	ssize_t n = read_tail(p, v, s, raw, much ? BACK_BYTES : TAIL_BYTES);
	size_t len;

	p->title[0] = '\0';
	if (n <= 0) {
		say(p, p->was.width,
		    n == 0 || s->total_bytes == 0 ? "no output yet"
		                                  : "no output is kept");
		return;
	}
	len = psup_clean("clean", raw, (size_t)n, false, clean);
	show_lines(p, clean, clean + len, (uint64_t)n == p->end);
}

/* Is there anything behind what was read? */
static bool
has_grown(struct pane *p, psup_view *v)
{
	struct psup_view_chunk chunk;
	char byte;

	return p->hold == 0 && psup_view_read_output(v, p->instance, p->end,
	                           &byte, 1, &chunk) != 0;
}

void
pane_output(struct pane *p, psup_view *v, const struct top_row *r,
    const struct pane_want *w)
{
	struct psup_view_session s = r->s;
	bool same = p->instance == s.instance && p->count > 0;
	bool still = w->back > 0 || w->here != PANE_NO_HIT;

	if (!still)
		p->hold = 0;
	else if (!same)
		p->hold = s.total_bytes;
	else if (p->hold == 0)
		p->hold = p->end;
	if (same && memcmp(&p->was, w, sizeof(*w)) == 0 && !has_grown(p, v))
		return;
	pane_clear(p);
	p->instance = s.instance;
	p->was = *w;
	p->end = s.total_bytes;
	if (s.pty)
		read_screen(p, v, s.instance);
	else
		read_output(p, v, &s);
}
