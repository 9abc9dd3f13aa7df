/* SPDX-License-Identifier: MIT */
/*
 * The table of keys, and those that show another view or set the display.
 * Called by display.c. Draws nothing, asks nobody: what is to be done stands in
 * the state.
 */
#include <limits.h>
#include <stdio.h>

#include "keys_do.h"

#define DELAY_MIN_MS 100u
#define DELAY_MAX_MS 60000u
#define CODES        4 /* keys for the same */

/* -------------------------------------------------------------- other views */

/* Shows a view, or the table again. */
void
do_screen(struct ui *u, int screen)
{
	u->screen = (int)u->screen == screen ? SCREEN_TABLE
	                                     : (enum ui_screen)screen;
	u->scroll = 0;
	ui_rebuild(u);
}

void
do_header(struct ui *u, int)
{
	u->other_header = !u->other_header;
	ui_rebuild(u);
}

void
do_delay(struct ui *u, int percent)
{
	unsigned ms = u->delay_ms * (unsigned)percent / 100;

	u->delay_ms = ms < DELAY_MIN_MS ? DELAY_MIN_MS
	    : ms > DELAY_MAX_MS         ? DELAY_MAX_MS
	                                : ms;
	ui_say(u, false, "every %.1f s", (double)u->delay_ms / 1000);
}

void
do_refresh(struct ui *u, int)
{
	u->refresh = true;
}

void
do_redraw(struct ui *u, int)
{
	u->redraw = true;
}

/* One step back. */
void
do_escape(struct ui *u, int)
{
	if (u->screen != SCREEN_TABLE)
		do_screen(u, (int)u->screen);
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

void
do_quit(struct ui *u, int)
{
	u->quit = true;
}

/* ---------------------------------------------------------------- the table */

/* A row without a function is a section's title. */
static const struct {
	const char *help;
	void (*act)(struct ui *u, int argument);
	int argument;
	int codes[CODES]; /* 0: none */
} keys[] = {
#define KEYS(title) {title, NULL, 0, {0}},
#define KEY(function, argument, help, ...)                                     \
	{help, do_##function, argument, {__VA_ARGS__}},
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
				keys[i].act(u, keys[i].argument);
				return;
			}
	for (size_t i = 0; i < column_count; i++)
		if (key == columns[i].key)
			keys_sort_by(u, i);
}
