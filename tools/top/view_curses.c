/* SPDX-License-Identifier: MIT */
/*
 * The terminal: the one home of curses. Called by display.c with lines that
 * are escaped and cut; decides nothing about what is shown.
 */
#include <curses.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

/* After curses.h, whose macros must not meet our names. */
#include "keys.h"
#include "view.h"

#define ESCAPE_MS  50
#define FIRST_FREE 32  /* pairs below are the styles' */
#define PAIRS_MAX  224 /* for cells of terminals */

static int mouse_row, mouse_col;
static SCREEN *screen; /* curses keeps one of its own, too */
static bool coloured;
static attr_t attrs[STYLES];
static short pairs[STYLES];
static struct {
	int fg, bg;
} cell_pairs[PAIRS_MAX];
static size_t cell_pair_count;

/* One row a style: without colours; with 8 of them; with 256. Those of the 256
 * without a ground of their own have a contrast of 3.3 at least on black and on
 * white. */
static const struct look {
	attr_t mono, attr;
	short fg, bg;
	short fg256, bg256;
} looks[STYLES] = {
    [STYLE_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1, -1, -1},
    [STYLE_BOLD] = {A_BOLD, A_BOLD, -1, -1, -1, -1},
    [STYLE_DIM] = {A_DIM, A_DIM, -1, -1, 245, -1},
    [STYLE_LABEL] = {A_NORMAL, A_NORMAL, COLOR_CYAN, -1, 67, -1},
    [STYLE_VALUE] = {A_NORMAL, A_NORMAL, -1, -1, -1, -1},
    [STYLE_GOOD] = {A_BOLD, A_NORMAL, COLOR_GREEN, -1, 28, -1},
    [STYLE_WARN] = {A_BOLD, A_NORMAL, COLOR_YELLOW, -1, 136, -1},
    [STYLE_BAD] = {A_BOLD | A_UNDERLINE, A_BOLD, COLOR_RED, -1, 167, -1},
    [STYLE_HEAD] = {A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_CYAN, 253, 238},
    [STYLE_SORTED] = {A_REVERSE | A_BOLD, A_BOLD, COLOR_BLACK, COLOR_CYAN,
        117, 238},
    [STYLE_CHOSEN] = {A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_WHITE, 255, 24},
    [STYLE_KEY] = {A_BOLD, A_BOLD, COLOR_CYAN, -1, 32, -1},
    [STYLE_FOUND] = {A_REVERSE | A_BOLD, A_NORMAL, COLOR_BLACK, COLOR_YELLOW,
        16, 179},
    [STYLE_ASK] = {A_REVERSE | A_BOLD, A_BOLD, COLOR_YELLOW, -1, 166, -1},
};

/* Attributes and pairs of the styles. */
static void
make_styles(bool monochrome)
{
	const struct look *l;
	bool many;

	coloured = !monochrome && has_colors() && start_color() != ERR;
	many = coloured && COLORS >= 256;
	if (coloured)
		use_default_colors();
	for (int i = 0; i < STYLES; i++) {
		l = &looks[i];
		attrs[i] = !coloured         ? l->mono
		    : many && l->fg256 >= 0  ? l->attr & ~A_DIM
		                             : l->attr;
		pairs[i] = 0;
		if (!coloured || (l->fg < 0 && (!many || l->fg256 < 0)))
			continue;
		pairs[i] = (short)(i + 1);
		init_pair(pairs[i], many ? l->fg256 : l->fg,
		    many ? l->bg256 : l->bg);
	}
	cell_pair_count = 0;
}

/* Can the terminal's cursor be placed? */
static bool
has_addressing(void)
{
	const char *cup = tigetstr("cup");

	return cup != NULL && cup != (const char *)-1;
}

int
view_open(bool monochrome, bool mouse)
{
	/* not initscr(), which ends the program where it fails */
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return -1;
	set_term(screen);
	if (!has_addressing()) { /* nothing was sent yet */
		reset_shell_mode();
		delscreen(screen);
		screen = NULL;
		return -1;
	}
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	if (mouse) {
		mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED,
		    NULL);
		mouseinterval(0); /* no double clicks to wait for */
	}
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

/* A colour that this terminal has. */
static int
colour_here(int c)
{
	if (c < COLORS)
		return c;
	return c < 16 && COLORS >= 8 ? c - 8 : -1;
}

/* The pair of two colours; 0 where there are too many. */
static short
pair_of(int fg, int bg)
{
	size_t i;

	fg = colour_here(fg);
	bg = colour_here(bg);
	if (!coloured || (fg < 0 && bg < 0))
		return 0;
	for (i = 0; i < cell_pair_count; i++)
		if (cell_pairs[i].fg == fg && cell_pairs[i].bg == bg)
			return (short)(FIRST_FREE + i);
	if (i == PAIRS_MAX || (int)(FIRST_FREE + i) >= COLOR_PAIRS)
		return 0;
	cell_pairs[i].fg = fg;
	cell_pairs[i].bg = bg;
	cell_pair_count++;
	init_pair((short)(FIRST_FREE + i), (short)fg, (short)bg);
	return (short)(FIRST_FREE + i);
}

/* Looks like this from here on. */
static void
use_style(uint32_t style)
{
	static const struct {
		unsigned ours;
		attr_t curses;
	} rows[] = {{PSUP_SCREEN_BOLD, A_BOLD},
	    {PSUP_SCREEN_UNDERLINE, A_UNDERLINE},
	    {PSUP_SCREEN_REVERSE, A_REVERSE}};
	attr_t a = A_NORMAL;

	if ((style & STYLE_OF_CELL) == 0) {
		attr_set(attrs[style], pairs[style], NULL);
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (STYLE_ATTRS(style) & rows[i].ours)
			a |= rows[i].curses;
	attr_set(a, pair_of(STYLE_FG(style), STYLE_BG(style)), NULL);
}

void
view_frame(const struct frame *f, bool all)
{
	const struct line *l;
	size_t end;

	for (int row = 0; row < f->rows; row++) {
		l = &f->lines[row];
		attr_set(A_NORMAL, 0, NULL);
		move(row, 0);
		clrtoeol();
		/* each run at its column: where curses counts a character
		 * otherwise, only its own cell is wrong */
		for (size_t i = 0; i < l->run_count; i++) {
			end = i + 1 < l->run_count ? l->runs[i + 1].at : l->len;
			use_style(l->runs[i].style);
			mvaddnstr(row, l->runs[i].col,
			    l->text + l->runs[i].at,
			    (int)(end - l->runs[i].at));
		}
	}
	attr_set(A_NORMAL, 0, NULL);
	clearok(stdscr, all ? TRUE : FALSE);
	refresh();
}

/* A key of curses in our words. */
static int
key_of(wint_t code)
{
	static const struct {
		wint_t curses;
		int key;
	} rows[] = {{KEY_UP, TOPKEY_UP}, {KEY_DOWN, TOPKEY_DOWN},
	    {KEY_LEFT, TOPKEY_LEFT}, {KEY_RIGHT, TOPKEY_RIGHT},
	    {KEY_PPAGE, TOPKEY_PGUP}, {KEY_NPAGE, TOPKEY_PGDN},
	    {KEY_HOME, TOPKEY_HOME}, {KEY_END, TOPKEY_END},
	    {KEY_DC, TOPKEY_DELETE}, {KEY_RESIZE, TOPKEY_RESIZE},
	    {KEY_BACKSPACE, TOPKEY_BACK}, {KEY_ENTER, '\n'},
	    {KEY_F(1), TOPKEY_F1}, {KEY_F(3), TOPKEY_F3},
	    {KEY_F(4), TOPKEY_F4}, {KEY_F(5), TOPKEY_F5},
	    {KEY_F(6), TOPKEY_F6}, {KEY_F(9), TOPKEY_F9},
	    {KEY_F(10), TOPKEY_F10}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].curses == code)
			return rows[i].key;
	return TOPKEY_OTHER;
}

/* A click or a turn of the wheel. */
static int
mouse_key(void)
{
	MEVENT e;

	if (getmouse(&e) != OK)
		return TOPKEY_OTHER;
	mouse_row = e.y;
	mouse_col = e.x;
	if (e.bstate & BUTTON1_PRESSED)
		return TOPKEY_CLICK;
	if (e.bstate & BUTTON4_PRESSED)
		return TOPKEY_WHEEL_UP;
	return e.bstate & BUTTON5_PRESSED ? TOPKEY_WHEEL_DOWN : TOPKEY_OTHER;
}

void
view_mouse(int *ret_row, int *ret_col)
{
	*ret_row = mouse_row;
	*ret_col = mouse_col;
}

void
view_suspend(void)
{
	def_prog_mode();
	endwin();
}

void
view_resume(void)
{
	reset_prog_mode();
	clearok(stdscr, TRUE);
	refresh();
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
		return poll(&in, 1, 0) > 0 ? TOPKEY_END_OF_INPUT : TOPKEY_NONE;
	if (rc == KEY_CODE_YES)
		return code == KEY_MOUSE ? mouse_key() : key_of(code);
	if (code == '\r')
		return '\n';
	return code == 127 || code == 8 ? TOPKEY_BACK : (int)code;
}
