/* SPDX-License-Identifier: MIT */
/*
 * What keys do: a function for each row of keys.def. Called by display.c.
 * Draws nothing, asks nobody: what is to be done stands in the state.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ui.h"

#define DELAY_MIN_MS 100u
#define DELAY_MAX_MS 60000u
#define CODES        4 /* keys for the same */
#define WHEEL        3 /* lines */

/* -------------------------------------------------------------- the table */

static void
do_up(struct ui *u)
{
	ui_move(u, -1);
}

static void
do_down(struct ui *u)
{
	ui_move(u, 1);
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

static void
do_page_up(struct ui *u)
{
	ui_move(u, -page(u));
}

static void
do_page_down(struct ui *u)
{
	ui_move(u, page(u));
}

static void
do_first(struct ui *u)
{
	ui_move(u, -LONG_MAX);
	u->holds = false; /* whatever comes first */
}

static void
do_last(struct ui *u)
{
	ui_move(u, LONG_MAX);
}

/* Sorts by a column. */
static void
sort_by(struct ui *u, size_t column)
{
	u->list->sort = column;
	ui_say(u, false, "sorted by %s", columns[column].name);
	u->refresh = columns[column].sampled;
	ui_rebuild(u);
}

static void
do_sort_left(struct ui *u)
{
	sort_by(u, (u->list->sort + column_count - 1) % column_count);
}

static void
do_sort_right(struct ui *u)
{
	sort_by(u, (u->list->sort + 1) % column_count);
}

static void
do_reverse(struct ui *u)
{
	u->list->reverse = !u->list->reverse;
	ui_rebuild(u);
}

/* Where the pane is alone, there is nothing to filter. */
static void
do_filter(struct ui *u)
{
	if (u->zoom && ui_shows_output(u)) {
		ui_search_end(u);
		u->prompt = PROMPT_SEARCH;
		return;
	}
	u->screen = SCREEN_TABLE;
	u->prompt = PROMPT_FILTER;
}

static void
do_live(struct ui *u)
{
	u->list->live_only = !u->list->live_only;
	ui_say(u, false, "%s sessions",
	    u->list->live_only ? "running and queued" : "all");
	ui_rebuild(u);
}

static void
do_tree(struct ui *u)
{
	u->list->tree = !u->list->tree;
	ui_say(u, false, "%s", u->list->tree ? "by scope" : "all in one table");
	ui_rebuild(u);
}

/* Folds or unfolds the scope that is chosen, or whose session is. */
static void
fold(struct ui *u, bool yes)
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

static void
do_fold(struct ui *u)
{
	if (u->screen == SCREEN_COLUMNS)
		move_column(u, false);
	else
		fold(u, true);
}

static void
do_unfold(struct ui *u)
{
	if (u->screen == SCREEN_COLUMNS)
		move_column(u, true);
	else
		fold(u, false);
}

/* --------------------------------------------------------------- the pane */

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

static void
do_output(struct ui *u)
{
	toggle_pane(u, PANE_OUTPUT);
}

static void
do_details(struct ui *u)
{
	toggle_pane(u, PANE_DETAILS);
}

static void
do_zoom(struct ui *u)
{
	if (u->pane == PANE_NONE)
		u->pane = PANE_OUTPUT;
	u->zoom = !u->zoom;
	ui_rebuild(u);
}

static void
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

static void
do_pane_up(struct ui *u)
{
	scroll_pane(u, false);
}

static void
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

static void
do_wheel_up(struct ui *u)
{
	if (over_pane(u))
		scroll_pane(u, false);
	else
		ui_move(u, -WHEEL);
}

static void
do_wheel_down(struct ui *u)
{
	if (over_pane(u))
		scroll_pane(u, true);
	else
		ui_move(u, WHEEL);
}

static void
do_click(struct ui *u)
{
	/* the head of the table or of a view stands below the header */
	long row = u->mouse_row - (long)ui_header_lines(u) - 1;
	int column;

	if (row == -1 && u->screen == SCREEN_TABLE) {
		column = list_column_at(u->list, u->cols, u->mouse_col);
		if (column >= 0 && u->list->sort != (size_t)column)
			sort_by(u, (size_t)column);
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

/* ------------------------------------------------------------------ actions */

/* Takes a column in or out; it may stand elsewhere then. */
static void
toggle_column(struct ui *u)
{
	size_t column = list_columns_offer(u->list, u->column);

	if (!list_column_toggle(u->list, column))
		ui_say(u, true, "one column stays");
	else
		u->columns_changed = true;
}

/* Marks it, or no longer, and goes to the next. */
static void
do_mark(struct ui *u)
{
	const struct top_row *r = ui_row(u);

	if (u->screen == SCREEN_COLUMNS) {
		toggle_column(u);
		return;
	}

	if (u->screen != SCREEN_TABLE || r == NULL)
		return;
	if (!ui_mark(u, r->s.instance))
		ui_say(u, true, "%d are marked, and no more can be", UI_MARKED);
	ui_move(u, 1);
}

/* Asks about all that are marked. */
static void
ask_marked(struct ui *u, enum action_kind kind)
{
	struct action a = {.kind = kind, .marked = true,
	    .now = kind == ACTION_KILL_NOW};

	snprintf(a.id, sizeof(a.id), "%zu marked session%s", u->marked_count,
	    u->marked_count == 1 ? "" : "s");
	ui_ask(u, &a);
}

/* Asks about the chosen session. */
static void
ask_session(struct ui *u, enum action_kind kind)
{
	struct action a = {.kind = kind, .now = kind == ACTION_KILL_NOW};
	const struct top_row *r = ui_row(u);

	if (u->screen == SCREEN_TABLE && u->marked_count > 0) {
		ask_marked(u, kind);
		return;
	}
	if (u->screen != SCREEN_TABLE || r == NULL) {
		ui_say(u, true, "no session is chosen");
		return;
	}
	a.instance = r->s.instance;
	memcpy(a.id, r->s.id, sizeof(a.id));
	ui_ask(u, &a);
}

/* A session, or all of a scope. */
static void
ask_kill(struct ui *u, bool now)
{
	struct action a = {.kind = ACTION_KILL_SCOPE, .now = now};
	const struct list_entry *e = ui_entry(u);

	if (u->screen != SCREEN_TABLE || e == NULL || e->row != NULL ||
	    u->marked_count > 0) {
		ask_session(u, now ? ACTION_KILL_NOW : ACTION_KILL);
		return;
	}
	memcpy(a.id, u->list->scopes[e->scope].name, sizeof(a.id));
	if (a.id[0] == '\0')
		ui_say(u, true, "these sessions have no scope to kill");
	else
		ui_ask(u, &a);
}

static void
do_kill(struct ui *u)
{
	ask_kill(u, false);
}

static void
do_kill_now(struct ui *u)
{
	ask_kill(u, true);
}

static void
do_remove(struct ui *u)
{
	ask_session(u, ACTION_REMOVE);
}

static void
do_send(struct ui *u)
{
	struct action a = {.kind = ACTION_SEND};
	const struct top_row *r = ui_row(u);
	char why[256];

	if (u->screen != SCREEN_TABLE || r == NULL) {
		ui_say(u, true, "no session is chosen");
		return;
	}
	a.instance = r->s.instance;
	memcpy(a.id, r->s.id, sizeof(a.id));
	action_refusal(u->model, &a, why, sizeof(why));
	if (why[0] == '\0' && (!r->live || !r->s.stdin_open))
		snprintf(why, sizeof(why), "%s takes no input", a.id);
	if (why[0] != '\0') {
		ui_say(u, true, "%s", why);
		return;
	}
	u->action = a;
	u->typed[0] = '\0';
	u->prompt = PROMPT_SEND;
}

static void
do_attach(struct ui *u)
{
	const struct top_row *r = ui_row(u);

	if (u->screen != SCREEN_TABLE || r == NULL)
		ui_say(u, true, "no session is chosen");
	else if (!r->live || r->s.ended_ms != 0)
		ui_say(u, true, "%s is over", r->s.id);
	else if (!r->s.pty)
		ui_say(u, true,
		    "%s has no terminal: f follows its output, s sends keys",
		    r->s.id);
	else
		u->attach = r->s.instance;
}

/* The chosen lane, or the one of the chosen session. */
static const struct top_lane *
lane_meant(const struct ui *u)
{
	const struct top_row *r = ui_row(u);

	if (u->screen == SCREEN_LANES)
		return ui_lane(u);
	for (size_t i = 0; r != NULL && i < u->model->lane_count; i++)
		if (strcmp(u->model->lanes[i].l.name, r->s.lane) == 0)
			return &u->model->lanes[i];
	return NULL;
}

static void
do_lane(struct ui *u)
{
	const struct top_lane *l = lane_meant(u);
	struct action a = {0};

	if (l == NULL) {
		ui_say(u, true, "no lane is chosen (l shows the lanes)");
		return;
	}
	a.kind = l->l.paused || l->l.draining ? ACTION_RESUME : ACTION_PAUSE;
	memcpy(a.id, l->l.name, sizeof(l->l.name));
	ui_ask(u, &a);
}

/* -------------------------------------------------------------- other views */

/* Shows a view, or the table again. */
static void
toggle_screen(struct ui *u, enum ui_screen screen)
{
	u->screen = u->screen == screen ? SCREEN_TABLE : screen;
	u->scroll = 0;
	ui_rebuild(u);
}

static void
do_lanes(struct ui *u)
{
	toggle_screen(u, SCREEN_LANES);
}

static void
do_processes(struct ui *u)
{
	toggle_screen(u, SCREEN_PROCESSES);
}

static void
do_columns(struct ui *u)
{
	toggle_screen(u, SCREEN_COLUMNS);
}

static void
do_header(struct ui *u)
{
	u->other_header = !u->other_header;
	ui_rebuild(u);
}

static void
do_help(struct ui *u)
{
	toggle_screen(u, SCREEN_HELP);
}

/* Sets how often. */
static void
set_delay(struct ui *u, unsigned ms)
{
	u->delay_ms = ms < DELAY_MIN_MS ? DELAY_MIN_MS
	    : ms > DELAY_MAX_MS         ? DELAY_MAX_MS
	                                : ms;
	ui_say(u, false, "every %.1f s", (double)u->delay_ms / 1000);
}

static void
do_slower(struct ui *u)
{
	set_delay(u, u->delay_ms * 2);
}

static void
do_faster(struct ui *u)
{
	set_delay(u, u->delay_ms / 2);
}

static void
do_refresh(struct ui *u)
{
	u->refresh = true;
}

static void
do_redraw(struct ui *u)
{
	u->redraw = true;
}

/* One step back. */
static void
do_escape(struct ui *u)
{
	if (u->screen != SCREEN_TABLE)
		toggle_screen(u, u->screen);
	else if (ui_searches(u))
		ui_search_end(u);
	else if (u->pane != PANE_NONE) {
		u->pane = PANE_NONE;
		u->zoom = false;
	} else if (u->marked_count > 0)
		u->marked_count = 0;
	else
		u->list->filter[0] = '\0';
	ui_rebuild(u);
}

static void
do_quit(struct ui *u)
{
	u->quit = true;
}

/* ---------------------------------------------------------------- the table */

/* A row without a function is a section's title. */
static const struct {
	const char *help;
	void (*act)(struct ui *u);
	int codes[CODES]; /* 0: none */
} keys[] = {
#define KEYS(title)              {title, NULL, {0}},
#define KEY(function, help, ...) {help, do_##function, {__VA_ARGS__}},
#include "keys.def"
#undef KEYS
#undef KEY
};
#define KEY_ROWS (sizeof(keys) / sizeof(keys[0]))

/* "page down" */
static void
name_key(int code, char *dst, size_t size)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {{TOPKEY_UP, "up"}, {TOPKEY_DOWN, "down"},
	    {TOPKEY_LEFT, "left"}, {TOPKEY_RIGHT, "right"},
	    {TOPKEY_PGUP, "page-up"}, {TOPKEY_PGDN, "page-down"},
	    {TOPKEY_HOME, "home"}, {TOPKEY_END, "end"},
	    {TOPKEY_DELETE, "delete"}, {TOPKEY_F1, "F1"}, {TOPKEY_F3, "F3"},
	    {TOPKEY_F4, "F4"}, {TOPKEY_F5, "F5"}, {TOPKEY_F6, "F6"},
	    {TOPKEY_F9, "F9"}, {TOPKEY_F10, "F10"},
	    {TOPKEY_CLICK, "click"}, {TOPKEY_WHEEL_UP, "wheel-up"},
	    {TOPKEY_WHEEL_DOWN, "wheel-down"},
	    {TOPKEY_CTRL_L, "ctrl-L"}, {TOPKEY_ESCAPE, "escape"},
	    {'\n', "enter"}, {'\t', "tab"}, {' ', "space"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code) {
			snprintf(dst, size, "%s", names[i].name);
			return;
		}
	snprintf(dst, size, "%c", code);
}

bool
keys_row(size_t i, struct key_row *ret)
{
	size_t len = 0, column = i - KEY_ROWS;
	char name[16];

	ret->keys[0] = '\0';
	if (i >= KEY_ROWS) {
		/* a title, then each column */
		ret->help = "Sort by a column";
		if (column > column_count)
			return false;
		if (column > 0) {
			ret->help = columns[column - 1].name;
			snprintf(ret->keys, sizeof(ret->keys), "%c",
			    columns[column - 1].key);
		}
		return true;
	}
	ret->help = keys[i].help;
	for (size_t k = 0; k < CODES && keys[i].codes[k] != 0; k++) {
		name_key(keys[i].codes[k], name, sizeof(name));
		len += (size_t)snprintf(ret->keys + len,
		    sizeof(ret->keys) - len, "%s%s", k > 0 ? " " : "", name);
	}
	return true;
}

void
keys_press_any(struct ui *u, int key)
{
	/* beside a search it is the other way; else a column's letter */
	if (key == 'N' && ui_searches(u)) {
		u->seek = SEEK_NEWER;
		return;
	}
	for (size_t i = 0; i < KEY_ROWS; i++)
		for (size_t k = 0; k < CODES && keys[i].codes[k] != 0; k++)
			if (keys[i].codes[k] == key) {
				keys[i].act(u);
				return;
			}
	for (size_t i = 0; i < column_count; i++)
		if (key == columns[i].key)
			sort_by(u, i);
}
