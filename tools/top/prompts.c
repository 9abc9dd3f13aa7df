/* SPDX-License-Identifier: MIT */
/* Keys while something is typed or asked for, and where a key goes. Called by
 * display.c. */
#include <limits.h>
#include <string.h>
#include <wchar.h>

#include "ui.h"

/* A key that edits a text. True: it did. */
static bool
edit(char *text, size_t size, int key)
{
	size_t len = strlen(text), n;
	char bytes[MB_LEN_MAX];
	mbstate_t state = {0};

	if (key == TOPKEY_BACK) {
		while (len > 0 && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
			len--;
		text[len > 0 ? len - 1 : 0] = '\0';
		return true;
	}
	if (key == ('U' & 0x1f)) {
		text[0] = '\0';
		return true;
	}
	if (key < ' ' || key >= TOPKEY_FIRST)
		return false;
	n = wcrtomb(bytes, (wchar_t)key, &state);
	if (n == (size_t)-1 || len + n >= size)
		return true;
	memcpy(text + len, bytes, n);
	text[len + n] = '\0';
	return true;
}

/* A key while the filter is typed: arrows still move. */
static void
press_filter(struct ui *u, int key)
{
	char *filter = u->list->filter;

	if (key == '\n')
		u->prompt = PROMPT_NONE;
	else if (key == TOPKEY_ESCAPE) {
		filter[0] = '\0';
		u->prompt = PROMPT_NONE;
	} else if (!edit(filter, sizeof(u->list->filter), key)) {
		if (key >= TOPKEY_UP && key <= TOPKEY_END)
			keys_press_any(u, key);
		return;
	}
	ui_rebuild(u);
}

/* A key while it is typed what is searched for: the output shows it at once. */
static void
press_search(struct ui *u, int key)
{
	if (key == TOPKEY_ESCAPE) {
		u->prompt = PROMPT_NONE;
		ui_search_end(u);
	} else if (key != '\n') {
		edit(u->search, sizeof(u->search), key);
		u->hit = 0;
	} else {
		u->prompt = PROMPT_NONE;
		u->seek = u->search[0] != '\0' ? SEEK_OLDER : SEEK_NONE;
	}
}

/* A key while keys to send are typed. */
static void
press_send(struct ui *u, int key)
{
	if (key == TOPKEY_ESCAPE) {
		u->prompt = PROMPT_NONE;
		ui_say(u, false, "nothing sent");
	} else if (key != '\n')
		edit(u->typed, sizeof(u->typed), key);
	else if (u->typed[strspn(u->typed, " ")] == '\0') {
		u->prompt = PROMPT_NONE;
		ui_say(u, false, "nothing sent");
	} else {
		memcpy(u->action.keys, u->typed, sizeof(u->action.keys));
		u->prompt = PROMPT_CONFIRM;
	}
}

/* A key where a yes is asked for: all others mean no. */
static void
press_confirm(struct ui *u, int key)
{
	u->prompt = PROMPT_NONE;
	if (key == 'y' || key == 'Y')
		u->carry_out = true;
	else
		ui_say(u, false, "not done");
}

void
keys_press(struct ui *u, int key)
{
	static void (*const press[])(struct ui *, int) = {
	    [PROMPT_NONE] = keys_press_any, [PROMPT_FILTER] = press_filter,
	    [PROMPT_SEARCH] = press_search, [PROMPT_SEND] = press_send,
	    [PROMPT_CONFIRM] = press_confirm};

	if (key == TOPKEY_END_OF_INPUT) {
		u->quit = true;
		return;
	}
	/* a terminal moves and cuts what is on it in its own way, and may have
	 * done so before what curses drew last */
	u->redraw |= key == TOPKEY_RESIZE;
	if (key == TOPKEY_NONE || key == TOPKEY_RESIZE)
		return;
	if (u->prompt != PROMPT_NONE && key >= TOPKEY_CLICK &&
	    key <= TOPKEY_WHEEL_DOWN)
		return; /* it answers nothing */
	u->message[0] = '\0';
	press[u->prompt](u, key);
	/* what was chosen of columns, once that is left */
	u->keep_columns = u->columns_changed &&
	    (u->screen != SCREEN_COLUMNS || u->quit);
}
