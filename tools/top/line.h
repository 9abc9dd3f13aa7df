/* SPDX-License-Identifier: MIT */
/*
 * A line of the display: text and how its stretches look. Everything that is
 * shown passes through here, and here what a stranger wrote is escaped. Pure.
 */
#ifndef TOP_LINE_H
#define TOP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES 6144 /* 400 columns of four-byte characters and marks */
#define LINE_RUNS  256

enum style {
	STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_LABEL, STYLE_VALUE,
	STYLE_GOOD, STYLE_WARN, STYLE_BAD, STYLE_HEAD, STYLE_SORTED,
	STYLE_CHOSEN, STYLE_KEY, STYLE_ASK, STYLE_FOUND, STYLES
};

/* Or the look of a terminal's cell: enum psup_screen_attr, and colours from
 * the 256, -1 the default. */
#define STYLE_OF_CELL 0x1000000u
#define STYLE_CELL(attrs, fg, bg)                                              \
	(STYLE_OF_CELL | ((uint32_t)(attrs) & 63u) << 18 |                     \
	    ((uint32_t)((fg) + 1) & 511u) << 9 | ((uint32_t)((bg) + 1) & 511u))
#define STYLE_ATTRS(s) ((s) >> 18 & 63u)
#define STYLE_FG(s)    ((int)((s) >> 9 & 511u) - 1)
#define STYLE_BG(s)    ((int)((s) & 511u) - 1)

struct line_run {
	uint32_t style; /* enum style or STYLE_CELL */
	uint16_t at;    /* its first byte */
	uint16_t col;   /* its first column */
};

struct line {
	int width; /* what does not fit is cut; 0: no limit */
	int cols;  /* used */
	bool cut;  /* something did not fit */
	size_t len, run_count;
	struct line_run runs[LINE_RUNS];
	char text[LINE_BYTES];
};

void line_init(struct line *l, int width);
/* Our own words. */
void line_put(struct line *l, uint32_t style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What a stranger wrote, as it comes. */
void line_text(struct line *l, uint32_t style, const char *text);
/* The same in a cell of `width` columns (0: what is left). */
void line_cell(struct line *l, uint32_t style, const char *text, int width,
    bool right);
/* Blanks up to a column. */
void line_pad(struct line *l, uint32_t style, int col);
/* Every place that has these words, whatever their case, looks like this.
 * False: there is none that is shown. */
bool line_mark(struct line *l, const char *words, uint32_t style);
/* Where something did not fit, an ellipsis stands at its end. */
void line_ellipsis(struct line *l);
/* The whole line looks like this. */
void line_paint(struct line *l, uint32_t style);

#endif
