/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 borders, repair and escaping, small formats. Called wherever text of
 * a command or a client is shown. Pure: no state, no allocation.
 * What utf8proc calls a character is one here; of what is none, a sequence as
 * far as it goes is one mistake.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character at s, 0 where there is no valid one. */
static size_t
char_at(const char *s, size_t len, int32_t *ret_cp)
{
	utf8proc_ssize_t n;

	if ((unsigned char)s[0] < 0x80) {
		*ret_cp = (unsigned char)s[0];
		return 1;
	}
	n = utf8proc_iterate((const utf8proc_uint8_t *)s,
	    (utf8proc_ssize_t)(len < 4 ? len : 4), ret_cp);
	return n > 0 ? (size_t)n : 0;
}

/* Bytes that a sequence with this first byte has; 0: not a first byte. */
static size_t
expected_length(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	if (c >= 0xf0 && c <= 0xf4)
		return 4;
	return 0;
}

size_t
text_mistake(const char *s, size_t len)
{
	unsigned char first = (unsigned char)s[0];
	size_t n, want = expected_length(first);

	for (n = 1; n < want && n < len; n++) {
		unsigned char c = (unsigned char)s[n];

		if ((c & 0xc0) != 0x80)
			break;
		/* too long a form, a surrogate, or beyond Unicode */
		if (n == 1 &&
		    ((first == 0xe0 && c < 0xa0) ||
			(first == 0xed && c > 0x9f) ||
			(first == 0xf0 && c < 0x90) ||
			(first == 0xf4 && c > 0x8f)))
			break;
	}
	return n;
}

static bool
is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

bool
text_is_utf8(const char *s, size_t len)
{
	size_t i = 0, n;
	uint64_t eight;
	int32_t cp;

	while (i < len) {
		if (len - i >= sizeof(eight)) { /* of ASCII, most often */
			memcpy(&eight, s + i, sizeof(eight));
			if ((eight & 0x8080808080808080u) == 0) {
				i += sizeof(eight);
				continue;
			}
		}
		n = char_at(s + i, len - i, &cp);
		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

size_t
text_cut_back(const char *s, size_t len, size_t max)
{
	if (max >= len)
		return len;
	return max - text_unfinished(s, max);
}

size_t
text_skip_partial(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && n < 3 && is_continuation(s[n]))
		n++;
	return n;
}

size_t
text_unfinished(const char *s, size_t len)
{
	size_t back;

	for (back = 1; back <= 3 && back <= len; back++) {
		char c = s[len - back];

		if (is_continuation(c))
			continue;
		return expected_length((unsigned char)c) > back ? back : 0;
	}
	return 0;
}

size_t
text_repair(const char *s, size_t len, char *dst)
{
	size_t i = 0, out = 0, n;
	int32_t cp;

	while (i < len) {
		n = char_at(s + i, len - i, &cp);
		if (n == 0) {
			memcpy(dst + out, REPLACEMENT, 3);
			out += 3;
			i += text_mistake(s + i, len - i);
			continue;
		}
		memcpy(dst + out, s + i, n);
		out += n;
		i += n;
	}
	return out;
}

/* What a terminal or a log reader could take for more than text. */
static bool
is_control(int32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp <= 0x9f) || cp == 0x061c ||
	    cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
	    (cp >= 0x2066 && cp <= 0x2069);
}

bool
text_is_printable(const char *s, size_t len)
{
	size_t i = 0, n;
	int32_t cp = 0;

	while (i < len) {
		n = char_at(s + i, len - i, &cp);
		if (n == 0 || is_control(cp))
			return false;
		i += n;
	}
	return true;
}

bool
text_is_shown(uint32_t cp)
{
	return cp <= 0x10ffff && !is_control((int32_t)cp) && cp != 0x2028 &&
	    cp != 0x2029;
}

uint32_t
text_code_point(const char *s, size_t len)
{
	int32_t cp = 0;

	return len > 0 && char_at(s, len, &cp) > 0 ? (uint32_t)cp : 0;
}

bool
text_is_combining(uint32_t cp)
{
	utf8proc_category_t c;

	if (cp < 0x300)
		return false;
	c = utf8proc_category((utf8proc_int32_t)cp);
	return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME ||
	    c == UTF8PROC_CATEGORY_CF || (cp >= 0x1160 && cp <= 0x11ff);
}

size_t
text_escape(const char *s, size_t len, bool keep_lines, char *dst, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	size_t i = 0, out = 0, n, k;
	int32_t cp = 0;
	bool plain;

	if (size == 0)
		return 0;
	while (i < len) {
		if (s[i] >= ' ' && s[i] < 0x7f && out + 1 < size) {
			dst[out++] = s[i++];
			continue;
		}
		n = char_at(s + i, len - i, &cp);
		plain = n > 0 && (!is_control(cp) ||
		    (keep_lines && (cp == '\t' || cp == '\n')));
		if (n == 0)
			n = 1;
		if (n * (plain ? 1 : 4) > size - 1 - out)
			break;
		for (k = 0; k < n; k++) {
			unsigned char c = (unsigned char)s[i + k];

			if (plain) {
				dst[out++] = (char)c;
				continue;
			}
			dst[out++] = '\\';
			dst[out++] = 'x';
			dst[out++] = hex[c >> 4];
			dst[out++] = hex[c & 15];
		}
		i += n;
	}
	dst[out] = '\0';
	return out;
}

void
text_middle(const char *s, size_t len, size_t limit, char *dst, size_t size)
{
	size_t half, head, tail;

	if (size == 0)
		return;
	if (limit > size - 1)
		limit = size - 1;
	if (len <= limit || limit < 5) {
		head = text_cut_back(s, len, limit);
		memcpy(dst, s, head);
		dst[head] = '\0';
		return;
	}
	half = (limit - 3) / 2;
	head = text_cut_back(s, len, half);
	tail = len - half;
	tail += text_skip_partial(s + tail, len - tail);
	memcpy(dst, s, head);
	memcpy(dst + head, "...", 3);
	memcpy(dst + head + 3, s + tail, len - tail);
	dst[head + 3 + len - tail] = '\0';
}

void
text_duration(uint64_t ms, char *dst, size_t size)
{
	static const struct {
		uint64_t big, small;
		const char *big_unit, *small_unit;
	} steps[] = {
		{ 86400, 3600, "d", "h" },
		{ 3600, 60, "h", "m" },
		{ 60, 1, "m", "s" },
	};
	uint64_t sec = ms / 1000, rest;
	size_t i;

	if (ms < 1000) {
		(void)snprintf(dst, size, "%llums", (unsigned long long)ms);
		return;
	}
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (sec < steps[i].big)
			continue;
		rest = sec % steps[i].big / steps[i].small;
		if (rest == 0)
			(void)snprintf(dst, size, "%llu%s",
			    (unsigned long long)(sec / steps[i].big),
			    steps[i].big_unit);
		else
			(void)snprintf(dst, size, "%llu%s%llu%s",
			    (unsigned long long)(sec / steps[i].big),
			    steps[i].big_unit, (unsigned long long)rest,
			    steps[i].small_unit);
		return;
	}
	(void)snprintf(dst, size, "%llus", (unsigned long long)sec);
}

void
text_fold(const char *s, size_t len, size_t limit, char *dst, size_t size)
{
	bool gap = false, cut = false;
	size_t i, out = 0;

	if (size == 0)
		return;
	if (limit > size - 1)
		limit = size - 1;
	for (i = 0; i < len; i++) {
		if (s[i] == ' ' || (s[i] >= '\t' && s[i] <= '\r')) {
			gap = out > 0;
			continue;
		}
		if (out + gap + 1 > limit) {
			cut = true;
			break;
		}
		if (gap)
			dst[out++] = ' ';
		gap = false;
		dst[out++] = s[i];
	}
	if (cut && limit >= 3) {
		/* dst may be full: make room for the dots on a border */
		out = text_cut_back(dst, out, out < limit - 3 ? out :
		    limit - 3);
		out -= text_unfinished(dst, out);
		memcpy(dst + out, "...", 3);
		out += 3;
	} else if (cut) {
		out -= text_unfinished(dst, out);
	}
	dst[out] = '\0';
}
