/* SPDX-License-Identifier: MIT */
/*
 * libvterm's state machine over the pages of screen_page.h. Called by the
 * master and by libpsup's view, mostly through screen_replay.c.
 *
 * libvterm's own screen layer is not used: it moves whole screens of cells for
 * each line that scrolls, and it trusts positions. Here every callback checks
 * what it is given.
 */
#include "shm/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "common/text.h"
#include "shm/screen_arena.h"
#include "shm/screen_filter.h"
#include "shm/screen_page.h"

struct screen {
	VTerm *vt;
	VTermState *state;
	struct screen_arena arena; /* of vt */
	struct screen_filter filter;
	unsigned cols, rows;
	struct page pages[2];
	bool alternate, cursor_visible, failed;
	struct screen_cell pen; /* its ch are 0 */
	int last_row, last_col; /* of the last character; -1: none */
	char title[FILTER_TITLE_MAX];
};

/* The line that is drawn on; NULL: there is none. */
static struct row *
row_at(struct screen *s, int row)
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

/* ---------------------------------------------------------------- callbacks */

static int
on_putglyph(VTermGlyphInfo *info, VTermPos pos, void *user)
{
	struct screen *s = user;
	struct row *r = row_at(s, pos.row);
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
on_erase(VTermRect rect, int selective, void *user)
{
	struct screen *s = user;
	struct row *r;
	int i;

	(void)selective;
	if (!rect_ok(s, &rect))
		return 1;
	for (i = rect.start_row; i < rect.end_row; i++)
		if ((r = row_at(s, i)) != NULL)
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
		struct row *to = row_at(s, dest.start_row + k);
		struct row *from = row_at(s, src.start_row + k);

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

static const VTermStateCallbacks callbacks = {
	.putglyph = on_putglyph,
	.scrollrect = on_scrollrect,
	.moverect = on_moverect,
	.erase = on_erase,
	.initpen = on_initpen,
	.setpenattr = on_setpenattr,
	.settermprop = on_settermprop,
	.resize = on_resize,
};

/* ------------------------------------------------------------------- filter */

/* Gives libvterm bytes that it can take. */
static void
give(struct screen *s, const char *data, size_t n)
{
	if (!s->failed)
		(void)vterm_input_write(s->vt, data, n);
}

/* Puts the cursor, in absolute numbers from 0. */
static void
put_cursor(struct screen *s, int row, int col)
{
	char seq[40];
	int n;

	row = row < 0 ? 0 : row >= (int)s->rows ? (int)s->rows - 1 : row;
	col = col < 0 ? 0 : col >= (int)s->cols ? (int)s->cols - 1 : col;
	n = snprintf(seq, sizeof(seq), "\033[%d;%dH", row + 1, col + 1);
	give(s, seq, (size_t)n);
}

/* A position that was saved on a larger screen comes back as it was. */
static void
check_cursor(struct screen *s)
{
	VTermPos pos;

	vterm_state_get_cursorpos(s->state, &pos);
	if (pos.row >= 0 && pos.row < (int)s->rows && pos.col >= 0 &&
	    pos.col < (int)s->cols)
		return;
	give(s, "\033[?6l", 5);
	put_cursor(s, pos.row, pos.col);
}

/* A mark on the character that was drawn last. */
static void
add_mark(struct screen *s, const char *data, size_t len)
{
	struct row *r = row_at(s, s->last_row);
	struct screen_cell *c;
	unsigned i;

	if (r == NULL || s->last_col < 0 || (unsigned)s->last_col >= r->used)
		return;
	c = &r->cells[s->last_col];
	for (i = 1; i < SCREEN_CELL_CHARS && c->ch[0] != 0; i++)
		if (c->ch[i] == 0) {
			c->ch[i] = text_code_point(data, len);
			return;
		}
}

/* What the filter lets through. */
static void
on_filtered(void *arg, enum filter_kind kind, const char *data, size_t len)
{
	struct screen *s = arg;

	switch (kind) {
	case FILTER_TEXT:
		give(s, data, len);
		break;
	case FILTER_MARK:
		add_mark(s, data, len);
		break;
	case FILTER_SEQUENCE:
		s->last_row = -1;
		give(s, data, len);
		check_cursor(s);
		break;
	case FILTER_TITLE:
		if (len >= sizeof(s->title))
			len = sizeof(s->title) - 1;
		memcpy(s->title, data, len);
		s->title[len] = '\0';
		break;
	case FILTER_RESET:
		s->alternate = false; /* libvterm does not say so */
		break;
	}
}

/* What it would answer to queries: those were answered long ago. */
static void
on_output(const char *data, size_t len, void *user)
{
	(void)data;
	(void)len;
	(void)user;
}

/* ------------------------------------------------------------------- public */

static unsigned
size_ok(unsigned n)
{
	return n < 1 ? 1 : n > SCREEN_SIZE_MAX ? SCREEN_SIZE_MAX : n;
}

/* libvterm's memory. */
static void *
vt_malloc(size_t size, void *arg)
{
	return arena_alloc(arg, size);
}

static void
vt_free(void *p, void *arg)
{
	(void)p;
	(void)arg;
}

static VTermAllocatorFunctions vt_memory = {vt_malloc, vt_free};

struct screen *
screen_new(unsigned cols, unsigned rows)
{
	struct screen *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->cols = size_ok(cols);
	s->rows = size_ok(rows);
	if (!arena_prepare(&s->arena, s->cols, s->rows) ||
	    !page_make(&s->pages[0], s->cols, s->rows)) {
		arena_free(&s->arena);
		free(s);
		return NULL;
	}
	s->last_row = -1;
	filter_init(&s->filter, on_filtered, s);
	s->vt = vterm_new_with_allocator((int)s->rows, (int)s->cols, &vt_memory,
	    &s->arena);
	vterm_set_utf8(s->vt, 1);
	vterm_output_set_callback(s->vt, on_output, NULL);
	s->state = vterm_obtain_state(s->vt);
	vterm_state_set_callbacks(s->state, &callbacks, s);
	vterm_state_reset(s->state, 1);
	return s;
}

void
screen_free(struct screen **s)
{
	if (*s == NULL)
		return;
	vterm_free((*s)->vt);
	arena_free(&(*s)->arena);
	page_free(&(*s)->pages[0], (*s)->rows);
	page_free(&(*s)->pages[1], (*s)->rows);
	free(*s);
	*s = NULL;
}

void
screen_feed(struct screen *s, const char *data, size_t n)
{
	filter_feed(&s->filter, data, n);
}

/* The scrolling region goes first: libvterm would keep one whose top is below
 * the last line. */
void
screen_resize(struct screen *s, unsigned cols, unsigned rows)
{
	VTermPos pos;

	cols = size_ok(cols);
	rows = size_ok(rows);
	if (s->failed || (cols == s->cols && rows == s->rows))
		return;
	if (!arena_prepare(&s->arena, cols, rows)) {
		s->failed = true;
		return;
	}
	vterm_state_get_cursorpos(s->state, &pos);
	s->last_row = -1;
	give(s, "\033[r", 3);
	put_cursor(s, pos.row, pos.col);
	vterm_set_size(s->vt, (int)rows, (int)cols);
	check_cursor(s);
}

void
screen_gap(struct screen *s)
{
	static const char calm[] = "\033[m\033(B\017\033[?6l\033[4l\033[r";
	unsigned page, i;
	VTermPos pos;

	filter_cut(&s->filter);
	filter_feed(&s->filter, "", 0);
	s->last_row = -1;
	vterm_state_get_cursorpos(s->state, &pos);
	give(s, calm, sizeof(calm) - 1);
	put_cursor(s, pos.row, pos.col);
	for (page = 0; page < 2; page++)
		for (i = 0; s->pages[page].rows != NULL && i < s->rows; i++)
			row_erase(s->pages[page].rows[i], 0, s->cols, s->cols,
			    SCREEN_DEFAULT);
}

bool
screen_failed(const struct screen *s)
{
	return s->failed;
}

void
screen_facts(const struct screen *s, struct screen_facts *ret)
{
	VTermPos pos;

	vterm_state_get_cursorpos(s->state, &pos);
	*ret = (struct screen_facts){.cols = s->cols, .rows = s->rows,
	    .cursor_row = pos.row < 0 ? 0 : (unsigned)pos.row,
	    .cursor_col = pos.col < 0 ? 0 : (unsigned)pos.col,
	    .cursor_visible = s->cursor_visible, .alternate = s->alternate,
	    .title = s->title};
	if (ret->cursor_row >= s->rows)
		ret->cursor_row = s->rows - 1;
	if (ret->cursor_col >= s->cols)
		ret->cursor_col = s->cols - 1;
}

const struct screen_cell *
screen_cells(const struct screen *s, unsigned row, unsigned *ret_n,
    uint32_t *ret_bg)
{
	const struct row *r = s->pages[s->alternate ? 1 : 0].rows[row];

	*ret_n = r->used;
	*ret_bg = r->bg;
	return r->cells;
}
