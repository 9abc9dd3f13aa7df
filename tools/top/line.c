/* SPDX-License-Identifier: MIT */
/* Lines of the display: see line.h. Called by whatever draws. */
#include <psup/psup.h>
#include <stdio.h>
#include <string.h>

#include "common/format.h"
#include "tools/lib/cells.h"
#include "line.h"

#define PUT_MAX 2048

void
line_init(struct line *l, int width)
{
	l->width = width;
	l->cols = 0;
	l->cut = false;
	l->len = l->run_count = 0;
	l->text[0] = '\0';
}

/* Appends what is safe. */
static void
append(struct line *l, uint32_t style, const char *safe)
{
	int left = l->width - l->cols;
	const char *rest = safe;

	if (l->width > 0 && left <= 0) {
		l->cut = l->cut || safe[strspn(safe, " ")] != '\0';
		return;
	}
	/* where there are too many runs the rest looks like the last one */
	if (l->run_count < LINE_RUNS &&
	    (l->run_count == 0 || l->runs[l->run_count - 1].style != style))
		l->runs[l->run_count++] = (struct line_run){style,
		    (uint16_t)l->len, (uint16_t)l->cols};
	l->cols += cells_copy(safe, l->cols, l->width > 0 ? left : 0,
	    l->text + l->len, sizeof(l->text) - l->len, &rest);
	l->cut = l->cut || rest[strspn(rest, " ")] != '\0';
	l->len += strlen(l->text + l->len);
}

void
line_put(struct line *l, uint32_t style, const char *fmt, ...)
{
	char text[PUT_MAX];

	(void)FORMATTED(text, sizeof(text), fmt);
	append(l, style, text);
}

void
line_text(struct line *l, uint32_t style, const char *text)
{
	char safe[4 * PUT_MAX + 1];
	size_t len = strnlen(text, PUT_MAX);

	psup_escape(text, len, memchr(text, '\n', len) == NULL, safe,
	    sizeof(safe));
	append(l, style, safe);
}

/* A run of its own, even if it looks like the one before: a column that wide
 * characters cannot push away. */
static void
begin_run(struct line *l, uint32_t style)
{
	if (l->run_count < LINE_RUNS &&
	    (l->width == 0 || l->cols < l->width))
		l->runs[l->run_count++] = (struct line_run){style,
		    (uint16_t)l->len, (uint16_t)l->cols};
}

void
line_cell(struct line *l, uint32_t style, const char *text, int width,
    bool right)
{
	char cell[LINE_BYTES];

	if (width == 0 && l->width > 0)
		width = l->width - l->cols;
	if (width < 0)
		return;
	cells_fit(text, width, right, cell, sizeof(cell));
	begin_run(l, style);
	append(l, style, cell);
}

void
line_pad(struct line *l, uint32_t style, int col)
{
	if (col > l->cols)
		line_put(l, style, "%*s", col - l->cols, "");
}

void
line_ellipsis(struct line *l)
{
	char stretch[LINE_BYTES];
	struct line_run *r;
	int most = l->width - 1;

	if (!l->cut || most < 1 || l->run_count == 0)
		return;
	while (l->run_count > 1 && l->runs[l->run_count - 1].col >= most)
		l->len = l->runs[--l->run_count].at;
	r = &l->runs[l->run_count - 1];
	memcpy(stretch, l->text + r->at, l->len - r->at);
	stretch[l->len - r->at] = '\0';
	l->len = r->at;
	l->cols = r->col;
	l->cols += cells_copy(stretch, l->cols, most - l->cols,
	    l->text + l->len, sizeof(l->text) - l->len, NULL);
	l->len += strlen(l->text + l->len);
	l->cut = false;
	line_pad(l, r->style, most); /* of a wide character a half */
	append(l, r->style, "\xe2\x80\xa6");
}

void
line_paint(struct line *l, uint32_t style)
{
	for (size_t i = 0; i < l->run_count; i++)
		l->runs[i].style = style;
	if (l->width > 0)
		line_pad(l, style, l->width);
}

/* The columns of a stretch of the line that begins at one of them. */
static int
columns_of(const struct line *l, size_t from, size_t to, int at)
{
	char stretch[LINE_BYTES], shown[LINE_BYTES];

	memcpy(stretch, l->text + from, to - from);
	stretch[to - from] = '\0';
	return cells_copy(stretch, at, 0, shown, sizeof(shown), NULL);
}

/* Does a character with columns of its own begin there, and no mark that
 * belongs to the one before? */
static bool
is_letter(const struct line *l, size_t at)
{
	size_t n = 1;

	while (((unsigned char)l->text[at + n] & 0xc0) == 0x80)
		n++;
	return ((unsigned char)l->text[at] & 0xc0) != 0x80 &&
	    columns_of(l, at, at + n, 0) > 0;
}

/* Has a run begin there. False: there are too many. */
static bool
split(struct line *l, size_t at)
{
	size_t i = l->run_count;
	struct line_run r;

	while (i > 0 && l->runs[i - 1].at > at)
		i--;
	if (i == 0 || at == l->len || l->runs[i - 1].at == at)
		return i > 0;
	if (l->run_count == LINE_RUNS)
		return false;
	r = l->runs[i - 1];
	r.col = (uint16_t)(r.col + columns_of(l, r.at, at, r.col));
	r.at = (uint16_t)at;
	memmove(&l->runs[i + 1], &l->runs[i],
	    (l->run_count - i) * sizeof(l->runs[0]));
	l->runs[i] = r;
	l->run_count++;
	return true;
}

bool
line_mark(struct line *l, const char *words, uint32_t style)
{
	const char *hit = l->text;
	size_t from, to;
	bool any = false;

	if (words[0] == '\0')
		return false;
	for (; (hit = strcasestr(hit, words)) != NULL; hit += strlen(words)) {
		from = (size_t)(hit - l->text);
		to = from + strlen(words);
		while (to < l->len && !is_letter(l, to))
			to++;
		if (!is_letter(l, from) || !split(l, from) || !split(l, to))
			continue;
		for (size_t i = 0; i < l->run_count; i++)
			if (l->runs[i].at >= from && l->runs[i].at < to)
				l->runs[i].style = style;
		any = true;
	}
	return any;
}
