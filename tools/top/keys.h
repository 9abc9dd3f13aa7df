/* SPDX-License-Identifier: MIT */
/* What keys do: keys.def made into functions on the display's state. Pure. */
#ifndef TOP_KEYS_H
#define TOP_KEYS_H

#include <stddef.h>

enum top_key {
	TOPKEY_NONE = -1, /* the time is over */
	TOPKEY_CTRL_L = 'L' & 0x1f,
	TOPKEY_ESCAPE = 033,
	TOPKEY_FIRST = 0x200000, /* no character is larger */
	TOPKEY_UP, TOPKEY_DOWN, TOPKEY_LEFT, TOPKEY_RIGHT, TOPKEY_PGUP,
	TOPKEY_PGDN, TOPKEY_HOME, TOPKEY_END, TOPKEY_DELETE, TOPKEY_BACK,
	TOPKEY_F1, TOPKEY_F3, TOPKEY_F4, TOPKEY_F5, TOPKEY_F6, TOPKEY_F9,
	TOPKEY_F10, TOPKEY_CLICK, TOPKEY_WHEEL_UP, TOPKEY_WHEEL_DOWN,
	TOPKEY_RESIZE, TOPKEY_END_OF_INPUT, TOPKEY_OTHER
};

struct ui;
/* prompts.c: what a key does, in the mode the display is in. */
void keys_press(struct ui *u, int key);
/* Where nothing is asked for. */
void keys_press_any(struct ui *u, int key);

/* The table's rows, and after them the letters that sort. `keys` is "" for a
 * section's title. False beyond the last. */
struct key_row {
	const char *help;
	char keys[64]; /* "page down space" */
};
bool keys_row(size_t i, struct key_row *ret);

#endif
