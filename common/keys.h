/* SPDX-License-Identifier: MIT */
/*
 * Keys as the bytes that a terminal sends for them: pure, no I/O, no state.
 * The names are the rows of keys.def.
 *
 * A key token, white space around it taken off, is the first of:
 *
 *     ^X           a control code; X of @ A-Z [ \ ] ^ _ ?
 *     C- M- S-     ctrl, alt, shift before any of the following, in any order
 *                  and case
 *     a name       "up", "f5", "kp+", in any case
 *     a character  shift makes it upper case, ctrl a control code, alt puts an
 *                  ESC in front
 *     other text   sent as it is; with a warning if it had modifiers
 */
#ifndef PSUP_KEYS_H
#define PSUP_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Of the terminal that a session reads from. */
enum cursor_mode {
	CURSOR_NORMAL,
	CURSOR_APPLICATION, /* the command sent ESC[?1h */
	CURSOR_UNKNOWN      /* nothing was seen of it yet */
};

#define KEYS_MAX  1024u /* tokens of one call */
#define KEY_BYTES 16u   /* the longest sequence of a key */

struct key {
	const char *name;
	const char *bytes;
	bool modifiable;
	char application; /* 0: none */
};

/* Row i of the table; NULL beyond the last. */
const struct key *key_row(size_t i);

/* The control code of a character, -1: it has none. */
int key_control(unsigned char c);

/* Must the cursor mode be known to send this token? */
bool key_needs_mode(const char *token, size_t len);

/*
 * The bytes of a token; an unknown mode is taken for the normal one. dst has
 * room for max(len, KEY_BYTES). Returns how many were written, 0 for an empty
 * token. `warning` is "" where there is none.
 */
size_t key_encode(const char *token, size_t len, enum cursor_mode mode,
    char *dst, char *warning, size_t warning_size);

/* A byte given in hex, "1b" or "0x1B", white space around it taken off. 0 and
 * *ret, or -EINVAL. */
int key_hex(const char *item, size_t len, unsigned char *ret);

/*
 * Text as a terminal pastes it: between ESC[200~ and ESC[201~ if bracketed. A
 * sequence inside it that would end the paste gets U+241B (the picture of ESC)
 * for its introducer. dst has room for KEYS_PASTE_BYTES(len). Returns how many
 * were written.
 */
#define KEYS_PASTE_BYTES(len) ((len) + (len) / 2 + 16)
size_t keys_paste(const char *text, size_t len, bool bracketed, char *dst);

#endif
