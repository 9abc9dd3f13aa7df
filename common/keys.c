/* SPDX-License-Identifier: MIT */
/*
 * From key tokens to bytes, and text to a paste that cannot be broken out of.
 * Called by the server for send-keys and paste, and by libpsup for the names.
 * Knows nothing of sessions: what a terminal's cursor mode is, the caller says.
 */
#include "keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "check.h"
#include "text.h"

/* Their sum plus one is the parameter m of xterm's sequences. */
enum { SHIFT = 1, ALT = 2, CTRL = 4 };

#define FIX false
#define MOD true
static const struct key keys[] = {
#define KEY(name, bytes, modifiable, application)                              \
	{ name, bytes, modifiable, application },
#include "keys.def"
};

/* A token taken apart. */
struct token {
	const char *base; /* without modifiers */
	size_t len;
	unsigned mods;
	const struct key *key; /* NULL: no name */
};

const struct key *
key_row(size_t i)
{
	return i < NELEMS(keys) ? &keys[i] : NULL;
}

int
key_control(unsigned char c)
{
	if (c == '?')
		return 0x7f;
	if (c >= 'a' && c <= 'z')
		c = (unsigned char)(c - 'a' + 'A');
	return c >= '@' && c <= '_' ? c & 0x1f : -1;
}

/* Takes white space off both ends. */
static void
trim(const char **s, size_t *len)
{
	static const char white[] = " \t\n\v\f\r";

	while (*len > 0 && memchr(white, (*s)[0], sizeof(white) - 1) != NULL) {
		(*s)++;
		(*len)--;
	}
	while (*len > 0 &&
	    memchr(white, (*s)[*len - 1], sizeof(white) - 1) != NULL)
		(*len)--;
}

/* The row of a name. */
static const struct key *
find_key(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < NELEMS(keys); i++) {
		if (strlen(keys[i].name) == len &&
		    strncasecmp(keys[i].name, name, len) == 0)
			return &keys[i];
	}
	return NULL;
}

/* The modifier that a letter names; 0: none. */
static unsigned
modifier_of(char c)
{
	switch (c) {
	case 'C':
	case 'c':
		return CTRL;
	case 'M':
	case 'm':
		return ALT;
	case 'S':
	case 's':
		return SHIFT;
	default:
		return 0;
	}
}

/* Modifiers, and what they stand before. */
static struct token
parse(const char *s, size_t len)
{
	struct token t = { 0 };

	trim(&s, &len);
	/* "C-" alone is text, "C--" is ctrl and a minus */
	while (len > 2 && s[1] == '-' && modifier_of(s[0]) != 0) {
		t.mods |= modifier_of(s[0]);
		s += 2;
		len -= 2;
	}
	t.base = s;
	t.len = len;
	t.key = find_key(s, len);
	return t;
}

/* "^X": its control code, or -1. */
static int
parse_caret(const char *s, size_t len)
{
	trim(&s, &len);
	return len == 2 && s[0] == '^' ? key_control((unsigned char)s[1]) : -1;
}

bool
key_needs_mode(const char *token, size_t len)
{
	struct token t = parse(token, len);

	return t.key != NULL && t.key->application != 0 && t.mods == 0;
}

/* ESC[n~ with modifiers is ESC[n;m~; ESC[A and ESC O P are ESC[1;mA and
 * ESC[1;mP. */
static size_t
encode_modified(const struct key *key, unsigned mods, char *dst)
{
	size_t len = strlen(key->bytes), digits = strspn(key->bytes + 2,
	    "0123456789");
	char buf[KEY_BYTES];
	int n;

	n = snprintf(buf, sizeof(buf), "\033[%.*s;%u%c",
	    digits > 0 ? (int)digits : 1,
	    digits > 0 ? key->bytes + 2 : "1", mods + 1, key->bytes[len - 1]);
	CHECK(n > 0 && (size_t)n < sizeof(buf));
	memcpy(dst, buf, (size_t)n);
	return (size_t)n;
}

/* A key with a name. */
static size_t
encode_named(const struct token *t, enum cursor_mode mode, char *dst)
{
	const char *bytes = t->key->bytes;
	size_t n = 0;

	if (t->key->modifiable && t->mods != 0)
		return encode_modified(t->key, t->mods, dst);
	if (t->key->application != 0 && mode == CURSOR_APPLICATION) {
		memcpy(dst, "\033O", 2);
		dst[2] = t->key->application;
		return 3;
	}
	if ((t->mods & SHIFT) != 0 && strcmp(bytes, "\t") == 0) {
		memcpy(dst, "\033[Z", 3);
		return 3;
	}
	if (t->mods & ALT)
		dst[n++] = '\033';
	if ((t->mods & CTRL) != 0 && strcmp(bytes, " ") == 0) {
		dst[n++] = '\0';
		return n;
	}
	memcpy(dst + n, bytes, strlen(bytes));
	return n + strlen(bytes);
}

/* Is it one character? A byte that is no UTF-8 counts as one. */
static bool
is_character(const char *s, size_t len)
{
	unsigned char c = (unsigned char)s[0];
	size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

	return len == 1 || (len == want && text_is_utf8(s, len));
}

/* A character with modifiers. */
static size_t
encode_character(const struct token *t, char *dst)
{
	size_t n = 0;
	char c = t->base[0];

	if (t->mods & ALT)
		dst[n++] = '\033';
	if (t->len > 1) {
		memcpy(dst + n, t->base, t->len);
		return n + t->len;
	}
	if ((t->mods & SHIFT) != 0 && c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	if ((t->mods & CTRL) != 0 && key_control((unsigned char)c) >= 0)
		c = (char)key_control((unsigned char)c);
	dst[n++] = c;
	return n;
}

size_t
key_encode(const char *token, size_t len, enum cursor_mode mode, char *dst,
    char *warning, size_t warning_size)
{
	int control = parse_caret(token, len);
	struct token t = parse(token, len);
	char shown[64];

	if (warning_size > 0)
		warning[0] = '\0';
	if (control >= 0) {
		dst[0] = (char)control;
		return 1;
	}
	if (t.len == 0)
		return 0;
	if (t.key != NULL)
		return encode_named(&t, mode, dst);
	if (is_character(t.base, t.len))
		return encode_character(&t, dst);
	if (t.mods != 0) {
		(void)text_escape(t.base, t.len, false, shown, sizeof(shown));
		(void)snprintf(warning, warning_size,
		    "Unknown key \"%s\" for modifiers; sending literal.",
		    shown);
	}
	memcpy(dst, t.base, t.len);
	return t.len;
}

/* The value of a hex digit, or -1. */
static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int
key_hex(const char *item, size_t len, unsigned char *ret)
{
	int value = 0;
	size_t i;

	trim(&item, &len);
	if (len > 2 && item[0] == '0' && (item[1] == 'x' || item[1] == 'X')) {
		item += 2;
		len -= 2;
	}
	if (len < 1 || len > 2)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (hex_digit(item[i]) < 0)
			return -EINVAL;
		value = value * 16 + hex_digit(item[i]);
	}
	*ret = (unsigned char)value;
	return 0;
}

/* ------------------------------------------------------------------ paste */

/* A control character that a terminal's parser steps over inside a sequence:
 * all but those that abort or begin one. */
static bool
is_stepped_over(unsigned char c)
{
	return (c < 0x20 && c != 0x18 && c != 0x1a && c != 0x1b) || c == 0x7f;
}

/* The length of a CSI introducer at the start of s: ESC [, or U+009B, or a bare
 * 9b byte. Of ESC [ it is the ESC alone that counts. 0: none. */
static size_t
introducer(const unsigned char *s, size_t len, size_t *ret_params)
{
	size_t i = 1;

	if (s[0] == 0x9b || (s[0] == 0xc2 && len > 1 && s[1] == 0x9b)) {
		*ret_params = s[0] == 0x9b ? 1 : 2;
		return *ret_params;
	}
	if (s[0] != 0x1b)
		return 0;
	while (i < len && is_stepped_over(s[i]))
		i++;
	*ret_params = i + 1;
	return i < len && s[i] == '[' ? 1 : 0;
}

/* Is the first parameter 201, however it is written? Ends at the first byte
 * that is neither a digit nor stepped over, so that looking at every introducer
 * of a text reads it twice at most. */
static bool
ends_paste(const unsigned char *s, size_t len)
{
	unsigned value = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (is_stepped_over(s[i]))
			continue;
		if (s[i] < '0' || s[i] > '9')
			break;
		value = value * 10 + (s[i] - (unsigned)'0');
		if (value > 201)
			value = 1000; /* stays too large */
	}
	return value == 201;
}

/* The length of a whole character of several bytes; 1 of anything else. */
static size_t
character_len(const unsigned char *s, size_t len)
{
	size_t want = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2
	                                                                 : 1;

	return want <= len && text_is_utf8((const char *)s, want) ? want : 1;
}

/* Copies with every end of a paste neutralised. */
static size_t
copy_neutral(const unsigned char *s, size_t len, char *dst)
{
	size_t i = 0, n = 0, step, params;

	while (i < len) {
		step = introducer(s + i, len - i, &params);
		if (step > 0 && ends_paste(s + i + params, len - i - params)) {
			memcpy(dst + n, "\xe2\x90\x9b", 3);
			n += 3;
			i += step;
			continue;
		}
		step = character_len(s + i, len - i);
		memcpy(dst + n, s + i, step);
		n += step;
		i += step;
	}
	return n;
}

size_t
keys_paste(const char *text, size_t len, bool bracketed, char *dst)
{
	size_t n;

	if (!bracketed) {
		if (len > 0)
			memcpy(dst, text, len);
		return len;
	}
	memcpy(dst, "\033[200~", 6);
	n = 6 + copy_neutral((const unsigned char *)text, len, dst + 6);
	memcpy(dst + n, "\033[201~", 6);
	return n + 6;
}
