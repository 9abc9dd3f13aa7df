/* SPDX-License-Identifier: MIT */
/*
 * The terminal: the one home of curses. Called by ui.c with lines that are
 * escaped and as wide as the terminal; decides nothing about what is shown.
 */
#include <curses.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

/* After curses.h, whose macros must not meet our names. */
#include "top.h"

#define ESCAPE_MS 50

static SCREEN *screen; /* curses keeps one of its own, too */
static attr_t styles[VIEW_DIM + 1];
static short pairs[VIEW_DIM + 1];

/* Attributes without colours; with them where there are any. */
static void
make_styles(bool monochrome)
{
	styles[VIEW_BOLD] = A_BOLD;
	styles[VIEW_BAR] = A_REVERSE;
	styles[VIEW_CHOSEN] = A_REVERSE | A_BOLD;
	styles[VIEW_GOOD] = A_BOLD;
	styles[VIEW_BAD] = A_BOLD | A_STANDOUT;
	styles[VIEW_DIM] = A_DIM;
	if (monochrome || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_RED, -1);
	init_pair(3, COLOR_BLACK, COLOR_CYAN);
	pairs[VIEW_GOOD] = 1;
	pairs[VIEW_BAD] = 2;
	styles[VIEW_BAD] = A_BOLD;
	pairs[VIEW_BAR] = 3;
	styles[VIEW_BAR] = A_NORMAL;
}

int
view_open(bool monochrome)
{
	/* not initscr(), which ends the program where it fails */
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return -1;
	set_term(screen);
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	make_styles(monochrome);
	return 0;
}

void
view_close(void)
{
	if (screen == NULL)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

void
view_size(int *ret_rows, int *ret_cols)
{
	getmaxyx(stdscr, *ret_rows, *ret_cols);
}

void
view_line(int row, enum view_style style, const char *text)
{
	attr_set(styles[style], pairs[style], NULL);
	/* the last cell of the screen: curses says ERR, and shows it */
	mvaddstr(row, 0, text);
	clrtoeol();
	attr_set(A_NORMAL, 0, NULL);
}

void
view_show(void)
{
	refresh();
}

/* A key of curses in our words. */
static int
key_of(wint_t code)
{
	static const struct {
		wint_t curses;
		int key;
	} keys[] = {
		{KEY_UP, VIEW_UP}, {KEY_DOWN, VIEW_DOWN},
		{KEY_PPAGE, VIEW_PGUP}, {KEY_NPAGE, VIEW_PGDN},
		{KEY_HOME, VIEW_HOME}, {KEY_END, VIEW_END},
		{KEY_RESIZE, VIEW_RESIZE}, {KEY_BACKSPACE, VIEW_BACK},
		{KEY_ENTER, '\n'}, {KEY_F(1), 'h'}, {KEY_F(10), 'q'},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == code)
			return keys[i].key;
	return VIEW_OTHER;
}

int
view_key(int timeout_ms)
{
	struct pollfd in = {.fd = STDIN_FILENO};
	wint_t code = 0;
	int rc;

	timeout(timeout_ms);
	rc = get_wch(&code);
	if (rc == ERR) /* the time is over, or the terminal is gone */
		return poll(&in, 1, 0) > 0 ? VIEW_END_OF_INPUT : VIEW_NONE;
	if (rc == KEY_CODE_YES)
		return key_of(code);
	if (code == '\r')
		return '\n';
	return code == 127 || code == 8 ? VIEW_BACK : (int)code;
}
