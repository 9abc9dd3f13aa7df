/* SPDX-License-Identifier: MIT */
/*
 * Our own terminal while we are attached: raw, its screen pushed up into its
 * memory of lines, and all of it put back at the end. Called by attach.c.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "attach.h"

#define TITLE_PUSH "\033[22;0t"
#define TITLE_POP  "\033[23;0t"

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
	say_now(a, TITLE_PUSH "\r");
	for (int i = 0; i < rows; i++)
		say_now(a, "\n");
	say_now(a, "\033[H\033[2J");
	a->screen = (struct term_out){0};
}

void
attach_tty_enter(struct attach *a)
{
	if (isatty(a->out.fd)) {
		screen_begin(a);
		a->entered = true;
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
		a->entered = false;
		term_out_undo(&a->screen, undo, sizeof(undo));
		a->screen = (struct term_out){0};
		say_now(a, undo);
		say_now(a, TITLE_POP "\r\n");
	}
	if (a->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &a->tty);
	a->raw = false;
}

void
attach_tty_resize(struct attach *a, int off)
{
	if (!a->o->fixed_size && !a->o->read_only)
		run_tty_tell_size(a->c, a->id, off);
}

/* Programs may have had our terminal send keys as sequences of numbers: then
 * the detach key is one of these. */
static ssize_t
key_as_sequence(int key, const char *data, size_t len)
{
	int code = key >= 1 && key <= 26 ? key + 'a' - 1 : key + '@';
	char text[24];
	const char *at;

	if (key >= ' ')
		return -1;
	snprintf(text, sizeof(text), "\033[%d;5u", code);
	at = memmem(data, len, text, strlen(text));
	if (at == NULL) {
		snprintf(text, sizeof(text), "\033[27;5;%d~", code);
		at = memmem(data, len, text, strlen(text));
	}
	return at != NULL ? at - data : -1;
}

ssize_t
attach_key_find(int key, const char *data, size_t len)
{
	const char *at;

	if (key < 0)
		return -1;
	at = memchr(data, key, len);
	return at != NULL ? at - data : key_as_sequence(key, data, len);
}
