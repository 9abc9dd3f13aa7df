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
#include "looks.h"
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

/* Our bits as curses has them. */
static attr_t
attr_of(unsigned bits)
{
	static const struct {
		unsigned ours;
		attr_t curses;
	} rows[] = {{LOOK_BOLD, A_BOLD}, {LOOK_DIM, A_DIM},
	    {LOOK_UNDERLINE, A_UNDERLINE}, {LOOK_REVERSE, A_REVERSE}};
	attr_t a = A_NORMAL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bits & rows[i].ours)
			a |= rows[i].curses;
	return a;
}

/* Attributes and pairs of the styles. */
static void
make_styles(bool monochrome)
{
	const struct look *l;
	short fg;
	bool many;

	coloured = !monochrome && has_colors() && start_color() != ERR;
	many = coloured && COLORS >= 256;
	if (coloured)
		use_default_colors();
	for (int i = 0; i < STYLES; i++) {
		l = &looks[i];
		fg = many ? l->fg256 : l->fg;
		attrs[i] = attr_of(!coloured ? l->mono
		        : many               ? l->attr256
		                             : l->attr);
		pairs[i] = 0;
		if (!coloured || fg < 0)
			continue;
		pairs[i] = (short)(i + 1);
		init_pair(pairs[i], fg, many ? l->bg256 : l->bg);
	}
	cell_pair_count = 0;
}

/* What terminals send for these keys that are not what TERM says: tmux and
 * screen with the TERM of a login elsewhere, consoles. */
static void
define_keys(void)
{
	static const struct {
		const char *sent;
		int key;
	} rows[] = {{"\033[1~", KEY_HOME}, {"\033[7~", KEY_HOME},
	    {"\033[H", KEY_HOME}, {"\033OH", KEY_HOME},
	    {"\033[4~", KEY_END}, {"\033[8~", KEY_END},
	    {"\033[F", KEY_END}, {"\033OF", KEY_END},
	    {"\033[A", KEY_UP}, {"\033[B", KEY_DOWN},
	    {"\033[C", KEY_RIGHT}, {"\033[D", KEY_LEFT}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (key_defined(rows[i].sent) == 0)
			define_key(rows[i].sent, rows[i].key);
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
	define_keys();
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
