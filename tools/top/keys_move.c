/* SPDX-License-Identifier: MIT */
/*
 * Keys and mouse that move: in the table, its order and its folds, in the pane.
 * A function for each such row of keys.def.
 */
#include <limits.h>
#include <string.h>

#include "keys_do.h"

#define WHEEL 3 /* lines */

/* -------------------------------------------------------------- the table */

void
do_move(struct ui *u, int by)
{
	ui_move(u, by);
}

/* A page of what is shown. */
static long
page(const struct ui *u)
{
	size_t lines = ui_table_lines(u);

	return lines > 1 && u->screen == SCREEN_TABLE ? (long)lines - 1
	    : u->rows > 4                             ? u->rows - 4
	                                              : 1;
}

void
do_page(struct ui *u, int by)
{
	ui_move(u, by * page(u));
}

void
do_first(struct ui *u, int)
{
	ui_move(u, -LONG_MAX);
	u->holds = false; /* whatever comes first */
}

/* Sorts by a column. */
void
keys_sort_by(struct ui *u, size_t column)
{
	u->list->sort = column;
	ui_say(u, false, "sorted by %s", columns[column].name);
	u->refresh = columns[column].sampled;
	ui_rebuild(u);
}

void
do_sort(struct ui *u, int by)
{
	keys_sort_by(u, (u->list->sort + column_count + (size_t)by) %
	    column_count);
}

void
do_reverse(struct ui *u, int)
{
	u->list->reverse = !u->list->reverse;
	ui_rebuild(u);
}

/* Where the pane is alone, there is nothing to filter. */
void
do_filter(struct ui *u, int)
{
	if (u->zoom && ui_shows_output(u)) {
		ui_search_end(u);
		u->prompt = PROMPT_SEARCH;
		return;
	}
	u->screen = SCREEN_TABLE;
	u->prompt = PROMPT_FILTER;
}

void
do_live(struct ui *u, int)
{
	u->list->live_only = !u->list->live_only;
	ui_say(u, false, "%s sessions",
	    u->list->live_only ? "running and queued" : "all");
	ui_rebuild(u);
}

void
do_tree(struct ui *u, int)
{
	u->list->tree = !u->list->tree;
	ui_say(u, false, "%s", u->list->tree ? "by scope" : "all in one table");
	ui_rebuild(u);
}

/* Folds or unfolds the scope that is chosen, or whose session is. */
static void
fold_scope(struct ui *u, bool yes)
{
	const struct list_entry *e = ui_entry(u);
	char scope[48];

	if (e == NULL || !u->list->tree)
		return;
	memcpy(scope, u->list->scopes[e->scope].name, sizeof(scope));
	if (!list_fold(u->list, scope, yes))
		ui_say(u, true, "%d scopes are folded, and no more can be",
		    LIST_FOLDED);
	u->chosen_instance = 0;
	memcpy(u->chosen_scope, scope, sizeof(scope));
	ui_rebuild(u);
}

/* The column that is chosen, one place on. */
static void
move_column(struct ui *u, bool later)
{
	size_t column = list_columns_offer(u->list, u->column);

	if (!list_column_is_chosen(u->list, column))
		return;
	u->column = list_column_move(u->list, column, later);
	u->columns_changed = true;
}

void
do_fold(struct ui *u, int yes)
{
	if (u->screen == SCREEN_COLUMNS)
		move_column(u, !yes);
	else
		fold_scope(u, yes);
}

/* --------------------------------------------------------------- the pane */

/* Shows a pane, or closes it. */
void
do_pane(struct ui *u, int pane)
{
	u->screen = SCREEN_TABLE;
	u->pane = (int)u->pane == pane ? PANE_NONE : (enum ui_pane)pane;
	u->holds = true;
	u->zoom = u->zoom && u->pane != PANE_NONE;
	u->back = 0;
	ui_rebuild(u);
	if (u->pane != PANE_NONE && ui_pane_lines(u) == 0)
		ui_say(u, true, "a pane needs 16 lines, here are %d", u->rows);
}

void
do_zoom(struct ui *u, int)
{
	if (u->pane == PANE_NONE)
		u->pane = PANE_OUTPUT;
	u->zoom = !u->zoom;
	ui_rebuild(u);
}

void
do_search(struct ui *u, int)
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
void
do_scroll(struct ui *u, int towards_end)
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

/* -------------------------------------------------------------- the mouse */

/* Is it over the pane? */
static bool
over_pane(const struct ui *u)
{
	size_t pane = ui_pane_lines(u);

	return pane > 0 && u->mouse_row + (int)pane + 1 >= u->rows;
}

void
do_wheel(struct ui *u, int by)
{
	if (over_pane(u))
		do_scroll(u, by > 0);
	else
		ui_move(u, by * WHEEL);
}

void
do_click(struct ui *u, int)
{
	/* the head of the table or of a view stands below the header */
	long row = u->mouse_row - (long)ui_header_lines(u) - 1;
	int column;

	if (row == -1 && u->screen == SCREEN_TABLE) {
		column = list_column_at(u->list, u->cols, u->mouse_col);
		if (column >= 0 && u->list->sort != (size_t)column)
			keys_sort_by(u, (size_t)column);
		else if (column >= 0)
			do_reverse(u, 0);
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
