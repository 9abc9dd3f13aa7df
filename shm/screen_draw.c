/* SPDX-License-Identifier: MIT */
/*
 * What libvterm's state machine asks to be drawn, on the pages of screen_page.h.
 * Every callback checks what it is given. Called by libvterm alone.
 */
#include "shm/screen_state.h"

#include <stdlib.h>
#include <string.h>

struct row *
screen_row(struct screen *s, int row)
{
	struct page *p = &s->pages[s->alternate ? 1 : 0];

	if (row < 0 || (unsigned)row >= s->rows || p->rows == NULL)
		return NULL;
	return p->rows[row];
}

/* Brings a rectangle within the screen; false: nothing of it is left. */
static bool
rect_ok(const struct screen *s, VTermRect *r)
{
	if (r->start_row < 0)
		r->start_row = 0;
	if (r->start_col < 0)
		r->start_col = 0;
	if (r->end_row > (int)s->rows)
		r->end_row = (int)s->rows;
	if (r->end_col > (int)s->cols)
		r->end_col = (int)s->cols;
	return r->start_row < r->end_row && r->start_col < r->end_col;
}

static int
on_putglyph(VTermGlyphInfo *info, VTermPos pos, void *user)
{
	struct screen *s = user;
	struct row *r = screen_row(s, pos.row);
	unsigned col = (unsigned)pos.col, i;
	struct screen_cell *c;

	if (r == NULL || pos.col < 0 || col >= s->cols || info->width < 1)
		return 1;
	row_extend(r, col + 1);
	row_mend(r, col);
	if (info->width > 1 && col + 1 < s->cols) {
		row_extend(r, col + 2);
		row_mend(r, col + 2);
	} else {
		row_mend(r, col + 1);
	}
	s->last_row = pos.row;
	s->last_col = pos.col;
	c = &r->cells[col];
	*c = s->pen;
	c->width = 1;
	for (i = 0; i < SCREEN_CELL_CHARS && info->chars[i] != 0; i++)
		c->ch[i] = info->chars[i];
	if (info->width > 1 && col + 1 < s->cols) {
		c->width = 2;
		c[1] = s->pen;
		c[1].width = 0;
	}
	return 1;
}

static int
on_erase(VTermRect rect, int, void *user)
{
	struct screen *s = user;
	struct row *r;
	int i;

	if (!rect_ok(s, &rect))
		return 1;
	for (i = rect.start_row; i < rect.end_row; i++)
		if ((r = screen_row(s, i)) != NULL)
			row_erase(r, (unsigned)rect.start_col,
			    (unsigned)rect.end_col, s->cols, s->pen.bg);
	return 1;
}

/* Whole lines scroll by their pointers; for the rest libvterm asks again, for
 * moves and erasures. */
static int
on_scrollrect(VTermRect rect, int downward, int rightward, void *user)
{
	struct screen *s = user;
	struct row **rows = s->pages[s->alternate ? 1 : 0].rows, *r;
	unsigned by = (unsigned)abs(downward), i, n;

	if (!rect_ok(s, &rect))
		return 1;
	if (rows == NULL || rightward != 0 || rect.start_col != 0 ||
	    rect.end_col != (int)s->cols)
		return 0;
	rows += rect.start_row;
	n = (unsigned)(rect.end_row - rect.start_row);
	if (by >= n)
		return on_erase(rect, 0, user);
	for (; by > 0; by--) {
		i = downward > 0 ? 0 : n - 1;
		r = rows[i];
		if (downward > 0)
			memmove(rows, rows + 1, (n - 1) * sizeof(struct row *));
		else
			memmove(rows + 1, rows, (n - 1) * sizeof(struct row *));
		rows[n - 1 - i] = r;
		r->used = 0;
		r->bg = s->pen.bg;
	}
	return 1;
}

static int
on_moverect(VTermRect dest, VTermRect src, void *user)
{
	struct screen *s = user;
	int n = src.end_row - src.start_row, i, k;
	VTermRect d = dest, f = src;

	if (!rect_ok(s, &d) || !rect_ok(s, &f) ||
	    memcmp(&d, &dest, sizeof(d)) != 0 ||
	    memcmp(&f, &src, sizeof(f)) != 0 ||
	    dest.end_row - dest.start_row != n ||
	    dest.end_col - dest.start_col != src.end_col - src.start_col)
		return 1;
	for (i = 0; i < n; i++) {
		k = dest.start_row > src.start_row ? n - 1 - i : i;
		struct row *to = screen_row(s, dest.start_row + k);
		struct row *from = screen_row(s, src.start_row + k);

		if (to != NULL && from != NULL)
			row_move(to, (unsigned)dest.start_col, from,
			    (unsigned)src.start_col,
			    (unsigned)(src.end_col - src.start_col));
	}
	return 1;
}

static int
on_initpen(void *user)
{
	struct screen *s = user;

	memset(&s->pen, 0, sizeof(s->pen));
	return 1;
}

/* A colour in our words. */
static uint32_t
colour(const VTermColor *c)
{
	if (VTERM_COLOR_IS_DEFAULT_FG(c) || VTERM_COLOR_IS_DEFAULT_BG(c))
		return SCREEN_DEFAULT;
	if (VTERM_COLOR_IS_INDEXED(c))
		return SCREEN_INDEXED | c->indexed.idx;
	return SCREEN_RGB | (uint32_t)c->rgb.red << 16 |
	    (uint32_t)c->rgb.green << 8 | c->rgb.blue;
}

static int
on_setpenattr(VTermAttr attr, VTermValue *val, void *user)
{
	static const uint16_t bits[VTERM_N_ATTRS] = {
	    [VTERM_ATTR_BOLD] = SCREEN_BOLD,
	    [VTERM_ATTR_UNDERLINE] = SCREEN_UNDERLINE,
	    [VTERM_ATTR_ITALIC] = SCREEN_ITALIC,
	    [VTERM_ATTR_BLINK] = SCREEN_BLINK,
	    [VTERM_ATTR_REVERSE] = SCREEN_REVERSE,
	    [VTERM_ATTR_STRIKE] = SCREEN_STRIKE,
	};
	struct screen *s = user;
	bool on;

	if (attr == VTERM_ATTR_FOREGROUND) {
		s->pen.fg = colour(&val->color);
	} else if (attr == VTERM_ATTR_BACKGROUND) {
		s->pen.bg = colour(&val->color);
	} else if (attr > 0 && attr < VTERM_N_ATTRS) {
		on = attr == VTERM_ATTR_UNDERLINE ? val->number != 0
		                                  : val->boolean != 0;
		s->pen.attrs = (uint16_t)(on
		        ? s->pen.attrs | bits[attr]
		        : s->pen.attrs & ~(unsigned)bits[attr]);
	}
	return 1;
}

static int
on_settermprop(VTermProp prop, VTermValue *val, void *user)
{
	struct screen *s = user;

	if (prop == VTERM_PROP_CURSORVISIBLE) {
		s->cursor_visible = val->boolean != 0;
	} else if (prop == VTERM_PROP_ALTSCREEN) {
		if (val->boolean && s->pages[1].rows == NULL &&
		    !page_make(&s->pages[1], s->cols, s->rows)) {
			s->failed = true;
			return 0;
		}
		s->alternate = val->boolean != 0;
	}
	return 1;
}

/* The size changes. Where the cursor's line would be lost, lines at the top
 * are. */
static int
on_resize(int rows, int cols, VTermPos *delta, void *user)
{
	struct screen *s = user;
	unsigned first = 0;
	VTermPos pos;

	vterm_state_get_cursorpos(s->state, &pos);
	if (pos.row >= rows && (unsigned)pos.row < s->rows)
		first = (unsigned)(pos.row - rows + 1);
	if (!page_resize(&s->pages[0], s->rows, (unsigned)cols, (unsigned)rows,
	        first)) {
		s->failed = true;
		return 1;
	}
	if (!page_resize(&s->pages[1], s->rows, (unsigned)cols, (unsigned)rows,
	        first)) {
		s->failed = true;
		page_free(&s->pages[1], s->rows);
		s->alternate = false;
	}
	s->cols = (unsigned)cols;
	s->rows = (unsigned)rows;
	if (delta != NULL)
		delta->row = -(int)first;
	return 1;
}

const VTermStateCallbacks screen_callbacks = {
	.putglyph = on_putglyph,
	.scrollrect = on_scrollrect,
	.moverect = on_moverect,
	.erase = on_erase,
	.initpen = on_initpen,
	.setpenattr = on_setpenattr,
	.settermprop = on_settermprop,
	.resize = on_resize,
};
