/* SPDX-License-Identifier: MIT */
/* Keys and pastes as bytes. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/keys.h"

TestSuite(keys, .timeout = 20);

#define ESC "\033"
#define B(s) s, sizeof(s) - 1

/* Encodes a token; the length, -1 where there was a warning. */
static int
encode(const char *token, size_t len, enum cursor_mode mode, char *dst)
{
	char warning[200] = "untouched";
	size_t n = key_encode(token, len, mode, dst, warning,
	    sizeof(warning));

	return warning[0] == '\0' ? (int)n : -1;
}

static const struct {
	const char *token;
	const char *bytes;
	size_t len;
} grammar[] = {
	/* nothing */
	{ "", B("") }, { " \t\n", B("") },
	/* ^X */
	{ "^@", B("\0") }, { "^A", B("\1") }, { "^a", B("\1") },
	{ "^Z", B("\032") }, { "^[", B(ESC) }, { "^\\", B("\034") },
	{ "^]", B("\035") }, { "^^", B("\036") }, { "^_", B("\037") },
	{ "^?", B("\177") }, { " ^C ", B("\3") },
	{ "^", B("^") }, { "^1", B("^1") }, { "^AB", B("^AB") },
	/* names, in any case */
	{ "Enter", B("\r") }, { "RETURN", B("\r") }, { "tab", B("\t") },
	{ "esc", B(ESC) }, { "Escape", B(ESC) }, { "space", B(" ") },
	{ "bspace", B("\177") }, { "BackSpace", B("\177") },
	{ "up", B(ESC "[A") }, { "down", B(ESC "[B") },
	{ "right", B(ESC "[C") }, { "left", B(ESC "[D") },
	{ "home", B(ESC "[1~") }, { "end", B(ESC "[4~") },
	{ "pageup", B(ESC "[5~") }, { "PgUp", B(ESC "[5~") },
	{ "PPage", B(ESC "[5~") }, { "pagedown", B(ESC "[6~") },
	{ "pgdn", B(ESC "[6~") }, { "npage", B(ESC "[6~") },
	{ "insert", B(ESC "[2~") }, { "IC", B(ESC "[2~") },
	{ "delete", B(ESC "[3~") }, { "del", B(ESC "[3~") },
	{ "dc", B(ESC "[3~") }, { "btab", B(ESC "[Z") },
	{ "f1", B(ESC "OP") }, { "f2", B(ESC "OQ") }, { "f3", B(ESC "OR") },
	{ "F4", B(ESC "OS") }, { "f5", B(ESC "[15~") },
	{ "f6", B(ESC "[17~") }, { "f7", B(ESC "[18~") },
	{ "f8", B(ESC "[19~") }, { "f9", B(ESC "[20~") },
	{ "f10", B(ESC "[21~") }, { "f11", B(ESC "[23~") },
	{ "f12", B(ESC "[24~") }, { "f13", B("f13") },
	{ "kp0", B(ESC "Op") }, { "kp1", B(ESC "Oq") },
	{ "kp2", B(ESC "Or") }, { "kp3", B(ESC "Os") },
	{ "kp4", B(ESC "Ot") }, { "kp5", B(ESC "Ou") },
	{ "kp6", B(ESC "Ov") }, { "kp7", B(ESC "Ow") },
	{ "kp8", B(ESC "Ox") }, { "KP9", B(ESC "Oy") },
	{ "kp/", B(ESC "Oo") }, { "kp*", B(ESC "Oj") },
	{ "kp-", B(ESC "Om") }, { "kp+", B(ESC "Ok") },
	{ "kp.", B(ESC "On") }, { "KPEnter", B(ESC "OM") },
	/* modifiers of modifiable keys: every m once */
	{ "S-up", B(ESC "[1;2A") }, { "M-up", B(ESC "[1;3A") },
	{ "S-M-up", B(ESC "[1;4A") }, { "C-up", B(ESC "[1;5A") },
	{ "c-s-Up", B(ESC "[1;6A") }, { "m-C-up", B(ESC "[1;7A") },
	{ "C-M-S-up", B(ESC "[1;8A") }, { "S-C-S-C-M-up", B(ESC "[1;8A") },
	{ "C-left", B(ESC "[1;5D") }, { "C-home", B(ESC "[1;5~") },
	{ "S-end", B(ESC "[4;2~") }, { "C-delete", B(ESC "[3;5~") },
	{ "M-PgUp", B(ESC "[5;3~") }, { "C-npage", B(ESC "[6;5~") },
	{ "S-ic", B(ESC "[2;2~") },
	{ "S-f1", B(ESC "[1;2P") }, { "C-f2", B(ESC "[1;5Q") },
	{ "M-f4", B(ESC "[1;3S") }, { "S-F5", B(ESC "[15;2~") },
	{ "C-M-S-f12", B(ESC "[24;8~") },
	/* modifiers of the others */
	{ "S-tab", B(ESC "[Z") }, { "C-S-Tab", B(ESC "[Z") },
	{ "M-S-tab", B(ESC "[Z") }, { "M-tab", B(ESC "\t") },
	{ "C-tab", B("\t") }, { "S-btab", B(ESC "[Z") },
	{ "M-btab", B(ESC ESC "[Z") }, { "M-enter", B(ESC "\r") },
	{ "C-enter", B("\r") }, { "S-return", B("\r") },
	{ "M-BSpace", B(ESC "\177") }, { "M-esc", B(ESC ESC) },
	{ "C-space", B("\0") }, { "C-M-space", B(ESC "\0") },
	{ "M-space", B(ESC " ") }, { "S-space", B(" ") },
	{ "M-kp5", B(ESC ESC "Ou") }, { "C-kp-", B(ESC "Om") },
	/* one character */
	{ "a", B("a") }, { "-", B("-") }, { " x ", B("x") },
	{ "S-a", B("A") }, { "S-1", B("1") }, { "C-a", B("\1") },
	{ "C-A", B("\1") }, { "C-S-a", B("\1") }, { "c-[", B(ESC) },
	{ "C-?", B("\177") }, { "C-@", B("\0") }, { "C-_", B("\037") },
	{ "C--", B("-") }, { "C-1", B("1") }, { "M-x", B(ESC "x") },
	{ "M-S-x", B(ESC "X") }, { "C-M-c", B(ESC "\3") },
	{ "M--", B(ESC "-") },
	{ "\xc3\xa9", B("\xc3\xa9") }, { "M-\xc3\xa9", B(ESC "\xc3\xa9") },
	{ "M-\xf0\x9f\x99\x82", B(ESC "\xf0\x9f\x99\x82") },
	/* other text, without modifiers */
	{ "C-", B("C-") }, { "X-a", B("X-a") }, { "hello you", B("hello you") },
	{ ":wq", B(":wq") }, { "--", B("--") },
};

Test(keys, the_grammar_row_by_row)
{
	char dst[64];
	size_t i;
	int n;

	for (i = 0; i < NELEMS(grammar); i++) {
		n = encode(grammar[i].token, strlen(grammar[i].token),
		    CURSOR_NORMAL, dst);
		cr_expect_eq(n, (int)grammar[i].len, "\"%s\": %d",
		    grammar[i].token, n);
		if (n == (int)grammar[i].len)
			cr_expect(memcmp(dst, grammar[i].bytes, (size_t)n) ==
			    0, "\"%s\"", grammar[i].token);
	}
}

Test(keys, the_grammar_names_every_row_of_the_table)
{
	const struct key *key;
	size_t i, j;

	for (i = 0; (key = key_row(i)) != NULL; i++) {
		for (j = 0; j < NELEMS(grammar); j++)
			if (strcasecmp(grammar[j].token, key->name) == 0)
				break;
		cr_expect_lt(j, NELEMS(grammar), "%s", key->name);
	}
	cr_expect_eq(i, 54);
	cr_expect_null(key_row(SIZE_MAX));
}

Test(keys, every_key_with_every_modifier)
{
	const struct key *key;
	char token[64], dst[KEY_BYTES], want[64];
	size_t i, len;
	unsigned mods;
	int n;

	for (i = 0; (key = key_row(i)) != NULL; i++) {
		len = strlen(key->bytes);
		for (mods = 1; mods < 8; mods++) {
			snprintf(token, sizeof(token), "%s%s%s%s",
			    mods & 4 ? "C-" : "", mods & 2 ? "m-" : "",
			    mods & 1 ? "S-" : "", key->name);
			n = encode(token, strlen(token), CURSOR_UNKNOWN, dst);
			cr_assert(n > 0 && n <= (int)KEY_BYTES, "%s", token);
			if (!key->modifiable)
				continue;
			if (key->bytes[len - 1] == '~')
				snprintf(want, sizeof(want), "%.*s;%u~",
				    (int)len - 1, key->bytes, mods + 1);
			else
				snprintf(want, sizeof(want), ESC "[1;%u%c",
				    mods + 1, key->bytes[len - 1]);
			cr_expect(strlen(want) == (size_t)n &&
			    memcmp(want, dst, (size_t)n) == 0, "%s", token);
			cr_expect(!key_needs_mode(token, strlen(token)));
		}
	}
}

Test(keys, application_cursor_mode)
{
	static const struct {
		const char *token, *bytes;
	} rows[] = {
		{ "up", ESC "OA" }, { "Down", ESC "OB" }, { "right", ESC "OC" },
		{ "left", ESC "OD" }, { "HOME", ESC "OH" }, { "end", ESC "OF" },
		{ "C-up", ESC "[1;5A" }, { "S-home", ESC "[1;2~" },
		{ "pageup", ESC "[5~" }, { "f1", ESC "OP" }, { "a", "a" },
	};
	char dst[64];
	size_t i;
	int n;

	for (i = 0; i < NELEMS(rows); i++) {
		n = encode(rows[i].token, strlen(rows[i].token),
		    CURSOR_APPLICATION, dst);
		cr_expect(n == (int)strlen(rows[i].bytes) &&
		    memcmp(dst, rows[i].bytes, (size_t)n) == 0, "%s",
		    rows[i].token);
		cr_expect_eq(key_needs_mode(rows[i].token,
		    strlen(rows[i].token)), i < 6, "%s", rows[i].token);
	}
	cr_expect(key_needs_mode(" up ", 4));
	cr_expect(!key_needs_mode("", 0));
	cr_expect(!key_needs_mode("upper", 5));
	/* an unknown mode is taken for the normal one */
	n = encode("up", 2, CURSOR_UNKNOWN, dst);
	cr_expect(n == 3 && memcmp(dst, ESC "[A", 3) == 0);
}

Test(keys, unknown_names_with_modifiers_warn)
{
	char dst[300], warning[200];
	static char text[300];
	size_t n;

	n = key_encode("C-frob", 6, CURSOR_NORMAL, dst, warning,
	    sizeof(warning));
	cr_expect(n == 4 && memcmp(dst, "frob", 4) == 0);
	cr_expect_str_eq(warning,
	    "Unknown key \"frob\" for modifiers; sending literal.");
	memset(text, 'x', sizeof(text));
	memcpy(text, "M-", 2);
	text[2] = ESC[0];
	n = key_encode(text, sizeof(text), CURSOR_NORMAL, dst, warning,
	    sizeof(warning));
	cr_expect_eq(n, sizeof(text) - 2);
	cr_expect_not_null(strstr(warning, "\\x1bxx"));
	cr_expect_null(strchr(warning, ESC[0]));
	/* no room for words is no reason not to encode */
	cr_expect_eq(key_encode("C-frob", 6, CURSOR_NORMAL, dst, NULL, 0), 4);
}

Test(keys, hex)
{
	static const struct {
		const char *item;
		int value; /* -1: invalid */
	} rows[] = {
		{ "0", 0 }, { "1b", 0x1b }, { "1B", 0x1b }, { "0x1b", 0x1b },
		{ "0XfF", 0xff }, { "0x7", 7 }, { " 80 ", 0x80 },
		{ "", -1 }, { "0x", -1 }, { "x", -1 }, { "1g", -1 },
		{ "123", -1 }, { "0x123", -1 }, { "-1", -1 }, { "1 2", -1 },
		{ "0x0x1", -1 },
	};
	unsigned char c;
	size_t i;
	int e;

	for (i = 0; i < NELEMS(rows); i++) {
		c = 0x55;
		e = key_hex(rows[i].item, strlen(rows[i].item), &c);
		cr_expect_eq(e, rows[i].value < 0 ? -EINVAL : 0, "%s",
		    rows[i].item);
		cr_expect_eq(c, rows[i].value < 0 ? 0x55 : rows[i].value, "%s",
		    rows[i].item);
	}
}

/* Whatever comes: bounded, and no byte beyond the room is touched. */
Test(keys, random_tokens_stay_in_bounds)
{
	static const char *const pieces[] = { "C-", "m-", "S-", "^", "up",
		"f12", "kp-", "tab", "space", "\xc3\xa9", "\xff", "a", "-",
		" ", "\033", "0x", "" };
	char token[64], dst[80], warning[80], room;
	unsigned seed = 20261121;
	size_t len, n, i;
	int round;

	for (round = 0; round < 300000; round++) {
		len = 0;
		for (i = (size_t)rand_r(&seed) % 7; i > 0; i--) {
			const char *p = pieces[(size_t)rand_r(&seed) %
			    NELEMS(pieces)];

			memcpy(token + len, p, strlen(p));
			len += strlen(p);
		}
		if (rand_r(&seed) % 4 == 0 && len > 0)
			token[(size_t)rand_r(&seed) % len] =
			    (char)rand_r(&seed);
		room = (char)(round & 1 ? 0x5a : 0x25);
		memset(dst, room, sizeof(dst));
		n = key_encode(token, len, (enum cursor_mode)(round % 3), dst,
		    warning, sizeof(warning));
		cr_assert_leq(n, len > KEY_BYTES ? len : KEY_BYTES);
		for (i = n; i < sizeof(dst); i++)
			cr_assert_eq(dst[i], room);
		for (i = 0; warning[i] != '\0'; i++)
			cr_assert(!iscntrl((unsigned char)warning[i]));
		(void)key_needs_mode(token, len);
	}
}

/* ------------------------------------------------------------------ paste */

#define PASTED(s) ESC "[200~" s ESC "[201~"
#define PICTURE   "\xe2\x90\x9b"

Test(keys, paste_is_framed_and_cannot_be_left)
{
	static const struct {
		const char *text;
		size_t len;
		const char *bytes;
		size_t bytes_len;
	} rows[] = {
		{ B(""), B(PASTED("")) },
		{ B("a\nb\0c"), B(PASTED("a\nb\0c")) },
		{ B("x" ESC "[201~rm"), B(PASTED("x" PICTURE "[201~rm")) },
		/* what is left after one is taken out is no end either */
		{ B(ESC "[20" ESC "[201~1~"),
		    B(PASTED(ESC "[20" PICTURE "[201~1~")) },
		{ B(ESC ESC "[201~"), B(PASTED(ESC PICTURE "[201~")) },
		/* other spellings of the same sequence */
		{ B("\xc2\x9b" "201~"), B(PASTED(PICTURE "201~")) },
		{ B("\x9b" "201~"), B(PASTED(PICTURE "201~")) },
		{ B(ESC "[0201~"), B(PASTED(PICTURE "[0201~")) },
		{ B(ESC "[201;1~"), B(PASTED(PICTURE "[201;1~")) },
		{ B(ESC "[2\r01~"), B(PASTED(PICTURE "[2\r01~")) },
		{ B(ESC "\n[201~"), B(PASTED(PICTURE "\n[201~")) },
		/* what only looks like it stays */
		{ B(ESC "[200~"), B(PASTED(ESC "[200~")) },
		{ B(ESC "[2010~"), B(PASTED(ESC "[2010~")) },
		{ B(ESC "[31mred" ESC "[0m"), B(PASTED(ESC "[31mred" ESC
		    "[0m")) },
		{ B("[201~"), B(PASTED("[201~")) },
		{ B("\xe9\x9b\x9b" "201~"), B(PASTED("\xe9\x9b\x9b" "201~")) },
		{ B(ESC "[20"), B(PASTED(ESC "[20")) },
		{ B(ESC), B(PASTED(ESC)) },
	};
	char dst[200];
	size_t i, n;

	for (i = 0; i < NELEMS(rows); i++) {
		n = keys_paste(rows[i].text, rows[i].len, true, dst);
		cr_expect(n == rows[i].bytes_len &&
		    memcmp(dst, rows[i].bytes, n) == 0, "row %zu", i);
		n = keys_paste(rows[i].text, rows[i].len, false, dst);
		cr_expect(n == rows[i].len &&
		    memcmp(dst, rows[i].text, n) == 0, "row %zu", i);
	}
	cr_expect_eq(keys_paste(NULL, 0, false, dst), 0);
}

/* The end stands at the end and nowhere else, and the room suffices. */
Test(keys, random_pastes_have_one_end)
{
	static const char alphabet[] = "\033\033[[2200011~~\x9b\xc2;\xe9\r";
	char text[48], *dst;
	unsigned seed = 7;
	size_t len, i, n;
	int round;

	for (round = 0; round < 200000; round++) {
		len = (size_t)rand_r(&seed) % sizeof(text);
		for (i = 0; i < len; i++)
			text[i] = alphabet[(size_t)rand_r(&seed) %
			    (sizeof(alphabet) - 1)];
		dst = malloc(KEYS_PASTE_BYTES(len));
		cr_assert_not_null(dst);
		n = keys_paste(text, len, true, dst);
		cr_assert_leq(n, KEYS_PASTE_BYTES(len));
		cr_assert(memmem(dst, n, ESC "[201~", 6) == dst + n - 6);
		free(dst);
	}
}

Test(keys, hostile_pastes_take_linear_time)
{
	enum { BYTES = 1 << 20 };
	char *text = malloc(BYTES), *dst = malloc(KEYS_PASTE_BYTES(BYTES));
	size_t i;

	cr_assert(text != NULL && dst != NULL);
	memset(text, '0', BYTES);
	memcpy(text, ESC "[", 2);
	(void)keys_paste(text, BYTES, true, dst);
	memset(text, ESC[0], BYTES);
	(void)keys_paste(text, BYTES, true, dst);
	for (i = 0; i + 4 <= BYTES; i += 4)
		memcpy(text + i, "\x9b" "201", 4);
	cr_expect_leq(keys_paste(text, BYTES, true, dst),
	    KEYS_PASTE_BYTES(BYTES));
	free(text);
	free(dst);
}
