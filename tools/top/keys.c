/* SPDX-License-Identifier: MIT */
/*
 * What keys do: one row of `keys` makes the action and its line of the help.
 * Called by ui.c. Draws nothing.
 */
#include <limits.h>
#include <string.h>
#include <wchar.h>

#include "ui.h"

#define DELAY_MIN_MS 100u
#define DELAY_MAX_MS 60000u

/* Ends the program. */
static void
do_quit(struct ui *u)
{
	u->quit = true;
}

static void
do_help(struct ui *u)
{
	u->mode = UI_HELP;
	u->help_top = 0;
}

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

static void
do_page_up(struct ui *u)
{
	ui_move(u, -(long)u->page);
}

static void
do_page_down(struct ui *u)
{
	ui_move(u, (long)u->page);
}

static void
do_home(struct ui *u)
{
	ui_move(u, LONG_MIN / 2);
}

static void
do_end(struct ui *u)
{
	ui_move(u, LONG_MAX / 2);
}

/* Sorts by the column `by` places from this one. */
static void
sort_next(struct ui *u, size_t by)
{
	u->list->sort = (u->list->sort + by) % column_count;
	snprintf(u->message, sizeof(u->message), "sorted by %s",
	    columns[u->list->sort].name);
	ui_rebuild(u);
}

static void
do_sort_left(struct ui *u)
{
	sort_next(u, column_count - 1);
}

static void
do_sort_right(struct ui *u)
{
	sort_next(u, 1);
}

static void
do_reverse(struct ui *u)
{
	u->list->reverse = !u->list->reverse;
	ui_rebuild(u);
}

static void
do_filter(struct ui *u)
{
	u->mode = UI_FILTER;
}

static void
do_live(struct ui *u)
{
	u->list->live_only = !u->list->live_only;
	snprintf(u->message, sizeof(u->message), "%s sessions",
	    u->list->live_only ? "running and queued" : "all");
	ui_rebuild(u);
}

static void
do_follow(struct ui *u)
{
	u->follow = !u->follow;
}

/* Asks whether the chosen session is meant. */
static void
ask(struct ui *u, const char *method)
{
	const struct top_row *r = ui_chosen(u);

	if (r == NULL)
		return;
	u->confirm = method;
	u->confirm_instance = r->s.instance;
	memcpy(u->confirm_id, r->s.id, sizeof(u->confirm_id));
	u->mode = UI_CONFIRM;
}

static void
do_kill(struct ui *u)
{
	ask(u, "kill");
}

static void
do_remove(struct ui *u)
{
	ask(u, "remove");
}

static void
do_slower(struct ui *u)
{
	unsigned *ms = &u->options->delay_ms;

	*ms = *ms * 2 > DELAY_MAX_MS ? DELAY_MAX_MS : *ms * 2;
	snprintf(u->message, sizeof(u->message), "every %u ms", *ms);
}

static void
do_faster(struct ui *u)
{
	unsigned *ms = &u->options->delay_ms;

	*ms = *ms / 2 < DELAY_MIN_MS ? DELAY_MIN_MS : *ms / 2;
	snprintf(u->message, sizeof(u->message), "every %u ms", *ms);
}

static void
do_refresh(struct ui *u)
{
	u->refresh = true;
}

/* Back to the plain table. */
static void
do_escape(struct ui *u)
{
	u->follow = false;
	u->list->filter[0] = '\0';
	ui_rebuild(u);
}

static const struct {
	int key, other; /* 0: none */
	const char *label, *help;
	void (*act)(struct ui *u);
} keys[] = {
	{'q', 0, "q F10", "quit", do_quit},
	{'h', '?', "h ? F1", "this help", do_help},
	{VIEW_UP, 0, "up", "the session above", do_up},
	{VIEW_DOWN, 0, "down", "the session below", do_down},
	{VIEW_PGUP, 0, "page up", "a page up", do_page_up},
	{VIEW_PGDN, ' ', "page down space", "a page down", do_page_down},
	{VIEW_HOME, 'g', "home g", "the first session", do_home},
	{VIEW_END, 'G', "end G", "the last session", do_end},
	{'<', 0, "<", "sort by the column to the left", do_sort_left},
	{'>', 0, ">", "sort by the column to the right", do_sort_right},
	{'r', 0, "r", "reverse the order", do_reverse},
	{'/', 0, "/", "filter as you type; enter keeps it, escape drops it",
	    do_filter},
	{'e', 0, "e", "hide or show what ended", do_live},
	{'f', '\n', "f enter", "follow the chosen session in a pane",
	    do_follow},
	{'k', 0, "k", "kill the chosen session (asks first)", do_kill},
	{'x', 0, "x", "remove the chosen session (asks first)", do_remove},
	{'+', 0, "+", "refresh half as often", do_slower},
	{'-', 0, "-", "refresh twice as often", do_faster},
	{'u', 'L' & 0x1f, "u ctrl-L", "refresh now", do_refresh},
	{033, 0, "escape", "close the pane, drop the filter", do_escape},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

bool
keys_help_line(size_t i, char *dst, size_t size)
{
	if (i < KEYS)
		snprintf(dst, size, "  %-17s %s", keys[i].label, keys[i].help);
	else if (i - KEYS < column_count)
		snprintf(dst, size, "  %-17c sort by %s", columns[i - KEYS].key,
		    columns[i - KEYS].name);
	else
		return false;
	return true;
}

/* A key over the table. */
static void
press_table(struct ui *u, int key)
{
	for (size_t i = 0; i < KEYS; i++)
		if (key == keys[i].key ||
		    (keys[i].other != 0 && key == keys[i].other)) {
			keys[i].act(u);
			return;
		}
	for (size_t i = 0; i < column_count; i++)
		if (key == columns[i].key)
			sort_next(u, (i + column_count - u->list->sort) %
			        column_count);
}

/* Takes the last character away. */
static void
filter_back(char *filter)
{
	size_t len = strlen(filter);

	while (len > 0 && ((unsigned char)filter[len - 1] & 0xc0) == 0x80)
		len--;
	if (len > 0)
		len--;
	filter[len] = '\0';
}

/* A key while the filter is typed. */
static void
press_filter(struct ui *u, int key)
{
	char *filter = u->list->filter, bytes[MB_LEN_MAX];
	size_t len = strlen(filter), n;
	mbstate_t state = {0};

	if (key == '\n') {
		u->mode = UI_TABLE;
		return;
	}
	if (key == 033) {
		filter[0] = '\0';
		u->mode = UI_TABLE;
	} else if (key == VIEW_BACK)
		filter_back(filter);
	else if (key >= ' ' && key < VIEW_UP) {
		n = wcrtomb(bytes, (wchar_t)key, &state);
		if (n == (size_t)-1 || len + n >= sizeof(u->list->filter))
			return;
		memcpy(filter + len, bytes, n);
		filter[len + n] = '\0';
	}
	ui_rebuild(u);
}

/* A key where a yes is asked for: all others mean no. */
static void
press_confirm(struct ui *u, int key)
{
	char id[40];

	u->mode = UI_TABLE;
	u->message[0] = '\0';
	if (key != 'y' && key != 'Y') {
		snprintf(u->message, sizeof(u->message), "not done");
		return;
	}
	/* the very session that was asked about, not one of the same name */
	snprintf(id, sizeof(id), "%016llx.%016llx",
	    (unsigned long long)u->model->totals.incarnation,
	    (unsigned long long)u->confirm_instance);
	snprintf(u->message, sizeof(u->message), "%s %s: asking the server",
	    u->confirm, u->confirm_id);
	ui_draw(u);
	admin_do(u->options->runtime_dir, u->confirm, id, u->message,
	    sizeof(u->message));
	u->refresh = true;
}

/* A key while the help is shown: scrolls, or closes it. */
static void
press_help(struct ui *u, int key)
{
	char line[TOP_LINE];

	if ((key == VIEW_DOWN || key == VIEW_PGDN || key == ' ') &&
	    keys_help_line(u->help_top + (size_t)u->rows - 3, line,
	        sizeof(line)))
		u->help_top++;
	else if (key == VIEW_UP || key == VIEW_PGUP)
		u->help_top -= u->help_top > 0;
	else if (key != VIEW_DOWN && key != VIEW_PGDN && key != ' ')
		u->mode = UI_TABLE;
}

void
keys_press(struct ui *u, int key)
{
	static void (*const press[])(struct ui *, int) = {
		[UI_TABLE] = press_table, [UI_FILTER] = press_filter,
		[UI_CONFIRM] = press_confirm, [UI_HELP] = press_help};

	if (key == VIEW_END_OF_INPUT) {
		u->quit = true;
		return;
	}
	if (key == VIEW_NONE || key == VIEW_RESIZE)
		return;
	u->message[0] = '\0';
	press[u->mode](u, key);
}
