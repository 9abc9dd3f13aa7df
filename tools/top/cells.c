/* SPDX-License-Identifier: MIT */
/*
 * Text in columns of a terminal: escaped, as wide as asked for, wide
 * characters counted as two. Called by everything that shows text. Needs a
 * locale whose characters are UTF-8 (main.c).
 */
#include <string.h>
#include <wchar.h>

#include "top.h"

#define TAB_COLUMNS 8

/* The next character: its bytes, and its columns. A byte that is none shows
 * as '?'. */
static size_t
next_char(const char *p, mbstate_t *state, const char **ret_shown,
    int *ret_wide)
{
	wchar_t wc;
	size_t n = mbrtowc(&wc, p, strlen(p), state);
	int wide;

	*ret_shown = p;
	*ret_wide = 1;
	if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
		memset(state, 0, sizeof(*state));
		*ret_shown = "?";
		return 1;
	}
	wide = wcwidth(wc);
	if (wide < 0)
		*ret_shown = "?";
	else
		*ret_wide = wide;
	return n;
}

/* Copies characters while they fit. Returns the columns. */
static int
copy_columns(const char *p, int width, char *dst, size_t size, size_t *ret_len)
{
	mbstate_t state = {0};
	const char *shown;
	size_t len = 0, n, bytes;
	int used = 0, wide;

	while (*p != '\0') {
		if (*p == '\t') {
			n = 1;
			wide = TAB_COLUMNS - used % TAB_COLUMNS;
			shown = "        ";
			bytes = (size_t)wide;
		} else {
			n = next_char(p, &state, &shown, &wide);
			bytes = shown == p ? n : 1;
		}
		if ((width > 0 && used + wide > width) ||
		    len + bytes + 1 > size)
			break;
		memcpy(dst + len, shown, bytes);
		len += bytes;
		used += wide;
		p += n;
	}
	dst[len] = '\0';
	*ret_len = len;
	return used;
}

int
cells_fit(const char *text, int width, bool right, char *dst, size_t size)
{
	char safe[2 * TOP_LINE];
	size_t len, pad;
	int used;

	/* tabs stay, line ends are never in a line */
	if (strchr(text, '\t') != NULL && strchr(text, '\n') == NULL)
		psup_escape(text, strlen(text), true, safe, sizeof(safe));
	else
		psup_escape(text, strlen(text), false, safe, sizeof(safe));
	used = copy_columns(safe, width, dst, size, &len);
	if (width <= used)
		return used;
	pad = (size_t)(width - used);
	if (len + pad + 1 > size)
		pad = size - 1 - len;
	if (right) {
		memmove(dst + pad, dst, len + 1);
		memset(dst, ' ', pad);
	} else {
		memset(dst + len, ' ', pad);
		dst[len + pad] = '\0';
	}
	return used + (int)pad;
}

void
cells_bytes(double bytes, char *dst, size_t size)
{
	static const char units[] = "BKMGTPE";
	size_t unit = 0;

	while (bytes >= 1000 && unit + 2 < sizeof(units)) {
		bytes /= 1024;
		unit++;
	}
	if (unit == 0)
		snprintf(dst, size, "%.0f", bytes);
	else
		snprintf(dst, size, "%.*f%c", bytes < 9.95 ? 1 : 0, bytes,
		    units[unit]);
}

void
cells_age(uint64_t ms, char *dst, size_t size)
{
	uint64_t s = ms / 1000;

	if (s < 60)
		snprintf(dst, size, "%llus", (unsigned long long)s);
	else if (s < 3600)
		snprintf(dst, size, "%llum%02llu", (unsigned long long)(s / 60),
		    (unsigned long long)(s % 60));
	else if (s < 86400)
		snprintf(dst, size, "%lluh%02llu",
		    (unsigned long long)(s / 3600),
		    (unsigned long long)(s / 60 % 60));
	else
		snprintf(dst, size, "%llud%02llu",
		    (unsigned long long)(s / 86400),
		    (unsigned long long)(s / 3600 % 24));
}
