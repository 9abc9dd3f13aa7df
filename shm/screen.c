/* SPDX-License-Identifier: MIT */
/*
 * libvterm's state machine over the pages of screen_page.h. Called by the
 * master and by libpsup's view, mostly through screen_replay.c.
 *
 * libvterm's own screen layer is not used: it moves whole screens of cells for
 * each line that scrolls, and it trusts positions (screen_draw.c does not).
 */
#include "shm/screen_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

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
	struct row *r = screen_row(s, s->last_row);
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
on_output(const char *, size_t, void *)
{
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
vt_free(void *, void *)
{
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
	vterm_state_set_callbacks(s->state, &screen_callbacks, s);
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
