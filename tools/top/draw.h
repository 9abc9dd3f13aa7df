/* SPDX-License-Identifier: MIT */
/* The screen as lines, made from the display's state. Pure: view_curses.c
 * brings them to the terminal. */
#ifndef TOP_DRAW_H
#define TOP_DRAW_H

#include "pane.h"
#include "ui.h"

struct frame {
	int rows, cols;
	struct line *lines; /* rows of them */
};

/* Fills u->rows lines of u->cols columns. */
void draw(struct ui *u, const struct pane *p, struct frame *f);
/* views.c: those that stand in place of the table: `lines` of them from
 * u->scroll on. */
void draw_lanes(struct ui *u, struct line *to, size_t lines);
void draw_processes(struct ui *u, struct line *to, size_t lines);
void draw_columns(struct ui *u, struct line *to, size_t lines);
void draw_help(struct ui *u, struct line *to, size_t lines);

#endif
