/* SPDX-License-Identifier: MIT */
/*
 * Our own terminal while we are attached: raw, its screen pushed up into its
 * memory of lines, and all of it put back at the end. Called by attach.c.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "common/clock.h"

#define HINT_MS 2000

/* Writes now; what stands before in the sink goes first. */
static void
say_now(struct attach *a, const char *text)
{
	if (sink_put(&a->out, text, strlen(text)) == 0)
		sink_flush(&a->out);
}

/* Room for the session's screen, without losing a line of ours. */
static void
screen_begin(struct attach *a)
{
	int cols = 0, rows = 24;

	run_tty_size(&cols, &rows);
	say_now(a, "\r");
	for (int i = 0; i < rows; i++)
		say_now(a, "\n");
	say_now(a, "\033[H\033[2J");
	a->screen = (struct term_out){0};
}

/* "attached to ID; Ctrl-] detaches" */
static void
hint_words(const struct attach *a, char *ret, size_t size)
{
	int key = a->o->detach_key;
	char how[32] = "";

	if (a->in_tty && key >= 0)
		snprintf(how, sizeof(how), key < ' ' ? "; Ctrl-%c detaches"
			: key == 127 ? "; Ctrl-? detaches" : "; %c detaches",
		    key < ' ' ? key + '@' : key);
	snprintf(ret, size, "attached to %s%s%s", a->id,
	    a->o->read_only ? ", to look" : "", how);
}

void
attach_tty_enter(struct attach *a)
{
	char words[160];

	if (isatty(a->out.fd)) {
		screen_begin(a);
		a->entered = true;
	} else if (a->hint) {
		hint_words(a, words, sizeof(words));
		cli_say("%s", words);
		a->hint = false;
	}
	if (!a->in_tty || a->raw || tcgetattr(STDIN_FILENO, &a->tty) != 0)
		return;
	a->raw = run_tty_make_raw(&a->tty);
}

void
attach_tty_leave(struct attach *a)
{
	char undo[512];

	if (a->entered) {
		attach_tty_hint_off(a);
		a->entered = a->hint = false;
		term_out_undo(&a->screen, undo, sizeof(undo));
		a->screen = (struct term_out){0};
		say_now(a, undo);
		say_now(a, "\r\n");
	}
	if (a->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &a->tty);
	a->raw = false;
}

void
attach_tty_resize(struct attach *a, int off)
{
	if (!a->o->fixed_size && !a->o->read_only)
		run_tty_tell_size(a->c, a->id,
		    off + (a->hint || a->hint_ns != 0));
}

/* What stands on the last line moves up; the session scrolls above the hint,
 * unless it has margins of its own. */
void
attach_tty_hint(struct attach *a)
{
	char words[160], margins[24] = "", line[320];
	int cols = 0, rows = 0;

	if (!a->hint || a->next < a->replay_to || a->screen.state != 0)
		return;
	a->hint = false;
	run_tty_size(&cols, &rows);
	if (rows < 3) {
		attach_tty_resize(a, 0);
		return;
	}
	hint_words(a, words, sizeof(words));
	if (!a->screen.margins)
		snprintf(margins, sizeof(margins), "\033[1;%dr", rows - 1);
	snprintf(line, sizeof(line),
	    "\033D\033[A\0337%s\033[%d;1H\033[0;7m%.*s\033[0m\033[K\0338",
	    margins, rows, cols, words);
	a->hint_row = rows;
	a->hint_ns = clock_boot_ns() + HINT_MS * 1000000ull;
	say_now(a, line);
}

void
attach_tty_hint_off(struct attach *a)
{
	char line[80];

	if (a->hint_ns == 0)
		return;
	a->hint_ns = 0;
	snprintf(line, sizeof(line), "\0337%s\033[%d;1H\033[0m\033[2K\0338",
	    a->screen.margins ? "" : "\033[r", a->hint_row);
	say_now(a, line);
}
