/* SPDX-License-Identifier: MIT */
/*
 * The tokenizer of screen_filter.h. Called by screen.c alone. What it keeps
 * libvterm 0.1 from: more than 16 numbers in a sequence, strings that are cut,
 * control characters as text (their width is negative), combining
 * marks (it loses those that come by themselves), repeats of nothing, lines of double width.
 */
#include "shm/screen_filter.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define ESC           0x1b
#define ARGS_MAX      16u   /* of a sequence, as libvterm keeps them */
#define NUMBER_MAX    9999u
#define REPEAT_MAX    1000u
#define COMBINING_MAX 3u
#define BORDER_LOOK   4096u

enum state { S_TEXT, S_ESC, S_CSI, S_SKIP_CSI, S_STRING, S_STRING_ESC,
	S_IGNORE, S_IGNORE_ESC };

void
filter_init(struct screen_filter *f, filter_fn *fn, void *arg)
{
	memset(f, 0, sizeof(*f));
	f->fn = fn;
	f->arg = arg;
}

/* Passes the collected text on. */
static void
flush(struct screen_filter *f)
{
	if (f->text_len > 0)
		f->fn(f->arg, FILTER_TEXT, f->text, f->text_len);
	f->text_len = 0;
}

/* Passes a sequence on. */
static void
pass(struct screen_filter *f, const char *seq, size_t len)
{
	flush(f);
	f->fn(f->arg, FILTER_SEQUENCE, seq, len);
}

/* The same for a constant. */
static void
pass_str(struct screen_filter *f, const char *seq)
{
	pass(f, seq, strlen(seq));
}

/* Collects text: one character of up to 4 bytes, or n > 0 plain ones. */
static void
add_text(struct screen_filter *f, const char *data, size_t n)
{
	bool high = (unsigned char)data[0] >= 0x80;
	size_t part;

	/* the first byte decides on the character set of all */
	if (f->text_len > 0 && high != ((unsigned char)f->text[0] >= 0x80))
		flush(f);
	for (; n > 0; data += part, n -= part) {
		part = sizeof(f->text) - f->text_len;
		if (part < n && (n <= 4 || part == 0)) {
			flush(f);
			part = sizeof(f->text);
		}
		if (part > n)
			part = n;
		memcpy(f->text + f->text_len, data, part);
		f->text_len += part;
	}
}

/* --------------------------------------------------------------------- text */

/* One whole character of `len` bytes. */
static void
add_character(struct screen_filter *f, uint32_t cp, const char *bytes,
    unsigned len)
{
	if (!text_is_shown(cp))
		return;
	if (text_is_combining(cp)) {
		if (f->combining++ < COMBINING_MAX) {
			flush(f);
			f->fn(f->arg, FILTER_MARK, bytes, len);
		}
		return;
	}
	f->combining = 0;
	memcpy(f->last, bytes, len);
	f->last_len = len;
	add_text(f, bytes, len);
}

/* What is no UTF-8. */
static void
add_replacement(struct screen_filter *f)
{
	add_character(f, 0xfffd, "\xef\xbf\xbd", 3);
}

/* The code point of a whole sequence of the right lengths; 0: not valid. */
static uint32_t
code_point(const unsigned char *b, unsigned len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t cp = b[0] & (0xffu >> (len + 1));
	unsigned i;

	for (i = 1; i < len; i++)
		cp = cp << 6 | (b[i] & 0x3fu);
	if (cp < least[len] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return 0;
	return cp;
}

/* One byte from 0x80 on. */
static void
high_byte(struct screen_filter *f, unsigned char c)
{
	uint32_t cp;

	if (c >= 0xc0) {
		if (f->u8_len > 0)
			add_replacement(f);
		f->u8_len = 0;
		if (c < 0xc2 || c > 0xf4) {
			add_replacement(f);
			return;
		}
		f->u8_need = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		f->u8[f->u8_len++] = c;
		return;
	}
	if (f->u8_len == 0) {
		add_replacement(f);
		return;
	}
	f->u8[f->u8_len++] = c;
	if (f->u8_len < f->u8_need)
		return;
	cp = code_point(f->u8, f->u8_len);
	if (cp == 0)
		add_replacement(f);
	else
		add_character(f, cp, (const char *)f->u8, f->u8_len);
	f->u8_len = 0;
}

/* Plain characters at the start of data: passed as they are. */
static size_t
plain_run(struct screen_filter *f, const char *data, size_t n)
{
	size_t i = 0;

	while (i < n && data[i] >= ' ' && data[i] < 0x7f)
		i++;
	if (i > 0) {
		if (f->u8_len > 0)
			add_replacement(f);
		f->u8_len = 0;
		f->combining = 0;
		f->last[0] = data[i - 1];
		f->last_len = 1;
		add_text(f, data, i);
	}
	return i;
}

/* A control character, wherever it comes; those that draw nothing are left
 * out. */
static void
control(struct screen_filter *f, char c)
{
	if (c == '\b' || (c >= '\t' && c <= '\r') || c == 0x0e || c == 0x0f)
		pass(f, &c, 1);
}

/* ---------------------------------------------------------------- sequences */

/* A CSI sequence, taken apart. */
struct csi {
	char prefix, between, final;
	unsigned argc;
	unsigned args[ARGS_MAX]; /* UINT_MAX: not given */
	char sep[ARGS_MAX];      /* after each: ; or : */
};
#define NOT_GIVEN (~0u)

/* Takes f->seq apart: prefix, numbers, one intermediate byte. */
static bool
csi_parse(const struct screen_filter *f, char final, struct csi *q)
{
	const char *p = f->seq, *end = f->seq + f->seq_len;

	memset(q, 0, sizeof(*q));
	q->final = final;
	q->args[0] = NOT_GIVEN;
	q->argc = 1;
	if (p < end && *p >= '<' && *p <= '?')
		q->prefix = *p++;
	for (; p < end && *p >= '0' && *p <= ';'; p++) {
		unsigned *arg = &q->args[q->argc - 1];

		if (*p <= '9') {
			*arg = (*arg == NOT_GIVEN ? 0 : *arg * 10) +
			    (unsigned)(*p - '0');
			if (*arg > NUMBER_MAX)
				*arg = NUMBER_MAX;
			continue;
		}
		if (q->argc == ARGS_MAX)
			return final == 'm'; /* the first ones count */
		q->sep[q->argc - 1] = *p;
		q->args[q->argc++] = NOT_GIVEN;
	}
	if (p < end && *p >= ' ' && *p <= '/')
		q->between = *p++;
	return p == end;
}

/* Passes it on, written anew. */
static void
csi_pass(struct screen_filter *f, const struct csi *q)
{
	char out[8 + ARGS_MAX * 6];
	size_t n = 0;
	unsigned i;

	out[n++] = ESC;
	out[n++] = '[';
	if (q->prefix != 0)
		out[n++] = q->prefix;
	for (i = 0; i < q->argc; i++) {
		if (q->args[i] != NOT_GIVEN)
			n += (size_t)snprintf(out + n, 6, "%u", q->args[i]);
		if (i + 1 < q->argc)
			out[n++] = q->sep[i];
	}
	if (q->between != 0)
		out[n++] = q->between;
	out[n++] = q->final;
	pass(f, out, n);
}

/* Modes that change what is seen, one by one. */
static void
csi_modes(struct screen_filter *f, const struct csi *q)
{
	static const unsigned ansi[] = {4, 20};
	static const unsigned dec[] = {5, 6, 7, 25, 47, 1047, 1048, 1049};
	const unsigned *known = q->prefix == '?' ? dec : ansi;
	size_t count = q->prefix == '?' ? sizeof(dec) / sizeof(dec[0]) : 2, k;
	struct csi one = {.prefix = q->prefix, .final = q->final, .argc = 1};
	unsigned i;

	for (i = 0; i < q->argc; i++)
		for (k = 0; k < count; k++)
			if (q->args[i] == known[k]) {
				one.args[0] = known[k] == 47 ? 1047 : known[k];
				csi_pass(f, &one);
			}
}

/* REP: the last character again. */
static void
csi_repeat(struct screen_filter *f, const struct csi *q)
{
	unsigned n = q->args[0] == NOT_GIVEN || q->args[0] == 0 ? 1
	                                                        : q->args[0];

	if (n > REPEAT_MAX)
		n = REPEAT_MAX;
	while (f->last_len > 0 && n-- > 0)
		add_text(f, f->last, f->last_len);
}

/* A whole CSI sequence. */
static void
csi_done(struct screen_filter *f, char final)
{
	struct csi q;

	if (!csi_parse(f, final, &q))
		return;
	if (q.between == '!' && q.prefix == 0 && final == 'p') {
		csi_pass(f, &q); /* DECSTR */
		return;
	}
	if (q.between != 0 || (q.prefix != 0 && q.prefix != '?'))
		return;
	if (final == 'h' || final == 'l')
		csi_modes(f, &q);
	else if (q.prefix == '?' && (final == 'J' || final == 'K'))
		csi_pass(f, &q);
	else if (q.prefix != 0)
		return;
	else if (final == 'T' && q.argc > 1)
		return; /* of a mouse */
	else if (final == 'b')
		csi_repeat(f, &q);
	else if (final == 's' && f->seq_len == 0)
		pass_str(f, "\0337");
	else if (final == 'u' && f->seq_len == 0)
		pass_str(f, "\0338");
	else if (strchr("@ABCDEFGHIJKLMPSTXZ`adefgmr", final) != NULL)
		csi_pass(f, &q);
}

/* A whole escape sequence; f->seq has the bytes between ESC and the last. */
static void
esc_done(struct screen_filter *f, char final)
{
	char out[3] = {ESC, f->seq[0], final};

	if (f->seq_len == 1 && (f->seq[0] == '(' || f->seq[0] == ')')) {
		if (strchr("0AB", final) != NULL)
			pass(f, out, 3);
		return;
	}
	if (f->seq_len != 0)
		return;
	if (final == 'c') {
		flush(f);
		f->fn(f->arg, FILTER_RESET, "", 0);
	}
	out[1] = final;
	if (strchr("78DEHMc=>", final) != NULL)
		pass(f, out, 2);
}

/* OSC 0 and 2 say the title. */
static void
string_done(struct screen_filter *f)
{
	char shown[FILTER_TITLE_MAX];
	size_t n;

	if (f->string_len < 2 || f->string[1] != ';' ||
	    (f->string[0] != '0' && f->string[0] != '2'))
		return;
	n = text_cut_back(f->string + 2, f->string_len - 2,
	    f->string_len - 2);
	n = text_escape(f->string + 2, n, false, shown, sizeof(shown));
	flush(f);
	f->fn(f->arg, FILTER_TITLE, shown, n);
}

/* -------------------------------------------------------------------- bytes */

/* The byte after ESC, and those after it. */
static void
esc_byte(struct screen_filter *f, char c)
{
	if (c >= ' ' && c <= '/') {
		if (f->seq_len < 4)
			f->seq[f->seq_len++] = c;
		return;
	}
	f->state = S_TEXT;
	if (f->seq_len == 0 && c == '[')
		f->state = S_CSI;
	else if (f->seq_len == 0 && c == ']')
		f->state = S_STRING;
	else if (f->seq_len == 0 && c != '\0' && strchr("PX^_", c) != NULL)
		f->state = S_IGNORE;
	else if (c >= '0' && c < 0x7f)
		esc_done(f, c);
	f->string_len = 0;
}

/* A byte of a CSI sequence. */
static void
csi_byte(struct screen_filter *f, char c)
{
	if (c >= '@' && c < 0x7f) {
		if (f->state == S_CSI)
			csi_done(f, c);
		f->state = S_TEXT;
	} else if (f->seq_len == sizeof(f->seq)) {
		f->state = S_SKIP_CSI;
	} else {
		f->seq[f->seq_len++] = c;
	}
}

/* A byte of a string, or the one after its ESC. True: it was none. */
static bool
string_byte(struct screen_filter *f, char c)
{
	bool osc = f->state == S_STRING || f->state == S_STRING_ESC;

	if (f->state == S_STRING_ESC || f->state == S_IGNORE_ESC) {
		if (c == '\\' && osc)
			string_done(f);
		f->state = S_TEXT;
		if (c == '\\')
			return false;
		f->state = S_ESC; /* that ESC began something else */
		f->seq_len = 0;
		return true;
	}
	if (c == ESC) {
		f->state = osc ? S_STRING_ESC : S_IGNORE_ESC;
	} else if (c == '\a') {
		if (osc)
			string_done(f);
		f->state = S_TEXT;
	} else if (osc && f->string_len < sizeof(f->string)) {
		f->string[f->string_len++] = c;
	}
	return false;
}

/* One byte that is no plain text, or within something. */
static void
byte(struct screen_filter *f, char c)
{
	unsigned char u = (unsigned char)c;

	if (c == 0x18 || c == 0x1a) {
		filter_cut(f);
		return;
	}
	if (f->state >= S_STRING && !string_byte(f, c))
		return;
	if (c == ESC) {
		filter_cut(f);
		f->state = S_ESC;
	} else if (u < ' ') {
		control(f, c);
	} else if (u == 0x7f) {
		return;
	} else if (u >= 0x80) {
		f->state = S_TEXT; /* no sequence has such a byte */
		high_byte(f, u);
	} else if (f->state == S_ESC) {
		esc_byte(f, c);
	} else {
		csi_byte(f, c);
	}
}

void
filter_feed(struct screen_filter *f, const char *data, size_t n)
{
	const char *end = data + n;

	while (data < end) {
		if (f->state == S_TEXT)
			data += plain_run(f, data, (size_t)(end - data));
		if (data < end)
			byte(f, *data++);
	}
	flush(f);
}

void
filter_cut(struct screen_filter *f)
{
	f->state = S_TEXT;
	f->seq_len = 0;
	f->string_len = 0;
	if (f->u8_len > 0)
		add_replacement(f);
	f->u8_len = 0;
}

size_t
filter_border(const char *data, size_t n)
{
	size_t look = n < BORDER_LOOK ? n : BORDER_LOOK, i;

	for (i = 0; i < look; i++) {
		if (data[i] == ESC)
			return i;
		if (data[i] == '\n')
			return i + 1;
	}
	return text_skip_partial(data, n);
}
