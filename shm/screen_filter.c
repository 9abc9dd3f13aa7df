/* SPDX-License-Identifier: MIT */
/*
 * The tokenizer of screen_filter.h. Called by screen.c alone. What it keeps
 * libvterm 0.1 from: more than 16 numbers in a sequence, strings that are cut,
 * control characters as text (their width is negative), combining
 * marks (it loses those that come by themselves), repeats of nothing, lines of double width.
 */
#include "shm/screen_sequences.h"

#include <stdbool.h>
#include <string.h>

#include "common/text.h"

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
void
filter_flush(struct screen_filter *f)
{
	if (f->text_len > 0)
		f->fn(f->arg, FILTER_TEXT, f->text, f->text_len);
	f->text_len = 0;
}

/* Passes a sequence on. */
void
filter_pass(struct screen_filter *f, const char *seq, size_t len)
{
	filter_flush(f);
	f->fn(f->arg, FILTER_SEQUENCE, seq, len);
}

/* Collects text: one character of up to 4 bytes, or n > 0 plain ones. */
void
filter_add_text(struct screen_filter *f, const char *data, size_t n)
{
	bool high = (unsigned char)data[0] >= 0x80;
	size_t part;

	/* the first byte decides on the character set of all */
	if (f->text_len > 0 && high != ((unsigned char)f->text[0] >= 0x80))
		filter_flush(f);
	for (; n > 0; data += part, n -= part) {
		part = sizeof(f->text) - f->text_len;
		if (part < n && (n <= 4 || part == 0)) {
			filter_flush(f);
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
			filter_flush(f);
			f->fn(f->arg, FILTER_MARK, bytes, len);
		}
		return;
	}
	f->combining = 0;
	memcpy(f->last, bytes, len);
	f->last_len = len;
	filter_add_text(f, bytes, len);
}

/* What is no UTF-8. */
static void
add_replacement(struct screen_filter *f)
{
	add_character(f, 0xfffd, "\xef\xbf\xbd", 3);
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
	cp = text_code_point((const char *)f->u8, f->u8_len);
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
		filter_add_text(f, data, i);
	}
	return i;
}

/* A control character, wherever it comes; those that draw nothing are left
 * out. */
static void
control(struct screen_filter *f, char c)
{
	if (c == '\b' || (c >= '\t' && c <= '\r') || c == 0x0e || c == 0x0f)
		filter_pass(f, &c, 1);
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
		sequence_esc(f, c);
	f->string_len = 0;
}

/* A byte of a CSI sequence. */
static void
csi_byte(struct screen_filter *f, char c)
{
	if (c >= '@' && c < 0x7f) {
		if (f->state == S_CSI)
			sequence_csi(f, c);
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
			sequence_string(f);
		f->state = S_TEXT;
		if (c == '\\')
			return false;
		f->state = S_ESC; /* that ESC began something else */
		f->seq_len = 0;
		return true;
	}
	if (c == FILTER_ESC) {
		f->state = osc ? S_STRING_ESC : S_IGNORE_ESC;
	} else if (c == '\a') {
		if (osc)
			sequence_string(f);
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
	if (c == FILTER_ESC) {
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
	filter_flush(f);
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
		if (data[i] == FILTER_ESC)
			return i;
		if (data[i] == '\n')
			return i + 1;
	}
	return text_skip_partial(data, n);
}
