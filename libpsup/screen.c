/* SPDX-License-Identifier: MIT */
/*
 * The screen of a session's terminal, drawn from its ring. Called by programs
 * that look at shared memory. The drawing itself is shm/screen_replay.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <psup/screen.h>

#include "common/text.h"
#include "internal.h"
#include "shm/screen.h"

#define ALL_NS UINT64_C(10000000000)

struct psup_screen_image {
	struct replay replay;
};

int
psup_view_screen(psup_view *v, uint64_t instance, psup_screen_image **ret)
{
	psup_screen_image *s;
	struct ring_reader *rd;
	int rc = view_reader(v, instance, &rd);

	if (rc < 0)
		return rc == -EBADMSG ? rc : -ENOENT;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	rc = replay_begin(rd, &s->replay);
	while (rc == 0 && (rc = replay_step(&s->replay, rd, ALL_NS)) > 0)
		rc = 0;
	if (rc < 0) {
		psup_screen_free(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

void
psup_screen_free(psup_screen_image **s)
{
	if (s == NULL || *s == NULL)
		return;
	replay_end(&(*s)->replay);
	free(*s);
	*s = NULL;
}

void
psup_screen_facts(const psup_screen_image *s, struct psup_screen_facts *ret)
{
	struct screen_facts f;

	screen_facts(s->replay.screen, &f);
	memset(ret, 0, sizeof(*ret));
	ret->cols = (int)f.cols;
	ret->rows = (int)f.rows;
	ret->cursor_col = (int)f.cursor_col;
	ret->cursor_row = (int)f.cursor_row;
	ret->cursor_visible = f.cursor_visible;
	ret->alternate = f.alternate;
	ret->approximate = s->replay.approximate;
	ret->dropped = s->replay.dropped;
	ret->next = s->replay.to;
	memcpy(ret->title, f.title, strnlen(f.title, sizeof(ret->title) - 1));
}

size_t
psup_screen_line(const psup_screen_image *s, int row, char *dst, size_t size)
{
	static _Thread_local char line[SCREEN_SIZE_MAX * SCREEN_CELL_BYTES];
	struct screen_facts f;
	size_t n;

	if (size == 0)
		return 0;
	dst[0] = '\0';
	screen_facts(s->replay.screen, &f);
	if (row < 0 || (unsigned)row >= f.rows)
		return 0;
	n = screen_line(s->replay.screen, (unsigned)row, true, line);
	if (n > size - 1)
		n = text_cut_back(line, n, size - 1);
	memcpy(dst, line, n);
	dst[n] = '\0';
	return n;
}

/* A colour in public words. */
static int32_t
colour(uint32_t c)
{
	if (c == SCREEN_DEFAULT)
		return -1;
	return (c & SCREEN_RGB) != 0 ? (int32_t)(0x1000000u | (c & 0xffffffu))
	                             : (int32_t)(c & 0xff);
}

int
psup_screen_cell(const psup_screen_image *s, int row, int col,
    struct psup_screen_cell *ret)
{
	const struct screen_cell *cells;
	struct screen_cell c = {.width = 1};
	struct screen_facts f;
	unsigned n;

	screen_facts(s->replay.screen, &f);
	if (row < 0 || (unsigned)row >= f.rows || col < 0 ||
	    (unsigned)col >= f.cols)
		return -1;
	cells = screen_cells(s->replay.screen, (unsigned)row, &n, &c.bg);
	if ((unsigned)col < n)
		c = cells[col];
	ret->text[screen_cell_text(&c, ret->text)] = '\0';
	ret->width = c.width;
	ret->attrs = c.attrs;
	ret->fg = colour(c.fg);
	ret->bg = colour(c.bg);
	return 0;
}
