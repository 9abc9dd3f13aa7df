/* SPDX-License-Identifier: MIT */
/* What keys and the mouse do to a pane, and to what lies under the mouse. */
#include <string.h>

#include "ui.h"

#define WHEEL 3 /* lines */

/* Shows a pane, or closes it. */
static void
toggle_pane(struct ui *u, enum ui_pane pane)
{
	u->screen = SCREEN_TABLE;
	u->pane = u->pane == pane ? PANE_NONE : pane;
	u->holds = true;
	u->zoom = u->zoom && u->pane != PANE_NONE;
	u->back = 0;
	ui_rebuild(u);
	if (u->pane != PANE_NONE && ui_pane_lines(u) == 0)
		ui_say(u, true, "a pane needs 16 lines, here are %d", u->rows);
}

void
do_output(struct ui *u)
{
	toggle_pane(u, PANE_OUTPUT);
}

void
do_details(struct ui *u)
{
	toggle_pane(u, PANE_DETAILS);
}

void
do_zoom(struct ui *u)
{
	if (u->pane == PANE_NONE)
		u->pane = PANE_OUTPUT;
	u->zoom = !u->zoom;
	ui_rebuild(u);
}

void
do_search(struct ui *u)
{
	if (!ui_shows_output(u))
		ui_say(u, true, "no output is shown to search (f shows it)");
	else if (u->search[0] == '\0')
		u->prompt = PROMPT_SEARCH;
	else
		u->seek = SEEK_OLDER;
}

/* Scrolls the pane by half of it: output is counted from its end, details
 * from their beginning. */
static void
scroll_pane(struct ui *u, bool towards_end)
{
	size_t by = ui_pane_lines(u) / 2;

	if (towards_end == (u->pane == PANE_DETAILS))
		u->back = u->back + by < u->back_max ? u->back + by
		                                     : u->back_max;
	else
		u->back = u->back > by ? u->back - by : 0;
	if (u->back == 0)
		u->hit = 0; /* follows again */
}

void
do_pane_up(struct ui *u)
{
	scroll_pane(u, false);
}

void
do_pane_down(struct ui *u)
{
	scroll_pane(u, true);
}

/* -------------------------------------------------------------- the mouse */

/* Is it over the pane? */
static bool
over_pane(const struct ui *u)
{
	size_t pane = ui_pane_lines(u);

	return pane > 0 && u->mouse_row + (int)pane + 1 >= u->rows;
}

void
do_wheel_up(struct ui *u)
{
	if (over_pane(u))
		scroll_pane(u, false);
	else
		ui_move(u, -WHEEL);
}

void
do_wheel_down(struct ui *u)
{
	if (over_pane(u))
		scroll_pane(u, true);
	else
		ui_move(u, WHEEL);
}

void
do_click(struct ui *u)
{
	/* the head of the table or of a view stands below the header */
	long row = u->mouse_row - (long)ui_header_lines(u) - 1;
	int column;

	if (row == -1 && u->screen == SCREEN_TABLE) {
		column = list_column_at(u->list, u->cols, u->mouse_col);
		if (column >= 0 && u->list->sort != (size_t)column)
			keys_sort_by(u, (size_t)column);
		else if (column >= 0)
			do_reverse(u);
	} else if (row >= 0 && u->screen == SCREEN_TABLE &&
	    row < (long)ui_table_lines(u)) {
		row += (long)u->top;
		if (row < (long)u->list->count)
			ui_move(u, row - (long)u->chosen);
	} else if (row >= 0 && u->screen == SCREEN_LANES) {
		row += (long)u->lane_top;
		if (row < (long)u->model->lane_count)
			ui_move(u, row - (long)u->lane);
	}
}
