/* SPDX-License-Identifier: MIT */
/*
 * The pages of screen_page.h, and their text. Called by screen.c. Knows nothing
 * of terminals.
 */
#include "shm/screen_page.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"

static struct row *
row_new(unsigned cols, uint32_t bg)
{
	struct row *r = malloc(sizeof(*r) + cols * sizeof(r->cells[0]));

	if (r != NULL) {
		r->used = 0;
		r->bg = bg;
	}
	return r;
}

void
row_extend(struct row *r, unsigned end)
{
	const struct screen_cell blank = {.bg = r->bg, .width = 1};

	while (r->used < end)
		r->cells[r->used++] = blank;
}

void
row_mend(struct row *r, unsigned col)
{
	if (col == 0 || col >= r->used || r->cells[col].width != 0)
		return;
	r->cells[col].ch[0] = 0;
	r->cells[col].width = 1;
	if (r->cells[col - 1].width == 2) {
		r->cells[col - 1].ch[0] = 0;
		r->cells[col - 1].width = 1;
	}
}

void
row_erase(struct row *r, unsigned from, unsigned end, unsigned cols,
    uint32_t bg)
{
	const struct screen_cell blank = {.bg = bg, .width = 1};

	row_mend(r, from);
	row_mend(r, end);
	if (end >= cols && (from == 0 || r->bg == bg || r->used <= from)) {
		if (from > 0 && r->bg != bg)
			row_extend(r, from);
		if (r->used > from)
			r->used = from;
		r->bg = bg;
		return;
	}
	if (end > r->used && r->bg != bg)
		row_extend(r, end);
	for (; from < end && from < r->used; from++)
		r->cells[from] = blank;
}

void
page_free(struct page *p, unsigned rows)
{
	unsigned i;

	for (i = 0; p->rows != NULL && i < rows; i++)
		free(p->rows[i]);
	free(p->rows);
	p->rows = NULL;
}

bool
page_make(struct page *p, unsigned cols, unsigned rows)
{
	unsigned i;

	p->rows = calloc(rows, sizeof(struct row *));
	if (p->rows == NULL)
		return false;
	for (i = 0; i < rows; i++) {
		p->rows[i] = row_new(cols, SCREEN_DEFAULT);
		if (p->rows[i] == NULL) {
			page_free(p, rows);
			return false;
		}
	}
	return true;
}

bool
page_resize(struct page *p, unsigned old_rows, unsigned cols, unsigned rows,
    unsigned first)
{
	struct page fresh;
	unsigned i, n;

	if (p->rows == NULL)
		return true;
	if (!page_make(&fresh, cols, rows))
		return false;
	for (i = 0; i < rows && first + i < old_rows; i++) {
		const struct row *old = p->rows[first + i];

		n = old->used < cols ? old->used : cols;
		memcpy(fresh.rows[i]->cells, old->cells,
		    n * sizeof(old->cells[0]));
		fresh.rows[i]->used = n;
		fresh.rows[i]->bg = old->bg;
		if (n > 0 && fresh.rows[i]->cells[n - 1].width == 2) {
			fresh.rows[i]->cells[n - 1].ch[0] = 0;
			fresh.rows[i]->cells[n - 1].width = 1;
		}
	}
	page_free(p, old_rows);
	*p = fresh;
	return true;
}

void
row_move(struct row *to, unsigned at, struct row *from, unsigned begin,
    unsigned n)
{
	row_extend(from, begin + n);
	row_extend(to, at + n);
	row_mend(from, begin);
	row_mend(from, begin + n);
	row_mend(to, at);
	row_mend(to, at + n);
	memmove(&to->cells[at], &from->cells[begin], n * sizeof(to->cells[0]));
}

/* ------------------------------------------------------------------ as text */

/* One character as UTF-8. */
static size_t
put_utf8(uint32_t cp, char *dst)
{
	if (cp < 0x80) {
		dst[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		dst[0] = (char)(0xc0 | cp >> 6);
		dst[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		dst[0] = (char)(0xe0 | cp >> 12);
		dst[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		dst[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	dst[0] = (char)(0xf0 | cp >> 18);
	dst[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	dst[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	dst[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

/* Checked once more: nothing but text leaves here. */
size_t
screen_cell_text(const struct screen_cell *c, char dst[SCREEN_CELL_BYTES])
{
	size_t n = 0;
	unsigned i;

	if (c->width == 0)
		return 0;
	for (i = 0; i < SCREEN_CELL_CHARS && c->ch[i] != 0; i++)
		if (text_is_shown(c->ch[i]) &&
		    (c->ch[i] < 0xd800 || c->ch[i] > 0xdfff))
			n += put_utf8(c->ch[i], dst + n);
	if (n == 0)
		dst[n++] = ' ';
	return n;
}

size_t
screen_line(const struct screen *s, unsigned row, bool trim, char *dst)
{
	const struct screen_cell *cells;
	struct screen_facts f;
	unsigned i, used;
	uint32_t bg;
	size_t n = 0, end = 0;

	screen_facts(s, &f);
	cells = screen_cells(s, row, &used, &bg);
	for (i = 0; i < used; i++) {
		n += screen_cell_text(&cells[i], dst + n);
		if (cells[i].width == 0 || cells[i].ch[0] > ' ')
			end = n;
	}
	for (; !trim && i < f.cols; i++)
		dst[n++] = ' ';
	return trim ? end : n;
}
