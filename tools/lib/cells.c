/* SPDX-License-Identifier: MIT */
/* Text in columns: see cells.h. Called by whatever shows tables. */
#include "tools/lib/cells.h"

#include <psup/psup.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include <wchar.h>

#define TAB_COLUMNS 8
#define MARKS_MAX   3 /* combining characters on one letter */
#define TEXT_MAX    8192
#define ELLIPSIS    "\xe2\x80\xa6"
#define REPLACEMENT "\xef\xbf\xbd"

/* One character as it is shown. */
struct glyph {
	const char *shown;
	size_t bytes; /* of shown */
	size_t taken; /* of the text */
	int wide;
};

/* The next character; a byte that is none, or what the C library does not
 * know, is shown as the replacement character. */
static struct glyph
next_glyph(const char *p)
{
	struct glyph g = {REPLACEMENT, sizeof(REPLACEMENT) - 1, 1, 1};
	utf8proc_int32_t cp;
	utf8proc_ssize_t n;
	int ours, theirs;

	if ((unsigned char)*p < 0x80) {
		if (*p >= ' ' && *p < 0x7f)
			g = (struct glyph){p, 1, 1, 1};
		return g;
	}
	n = utf8proc_iterate((const utf8proc_uint8_t *)p,
	    (utf8proc_ssize_t)strnlen(p, 4), &cp);
	if (n <= 0)
		return g;
	g.taken = (size_t)n;
	ours = utf8proc_charwidth(cp);
	theirs = wcwidth((wchar_t)cp);
	if (theirs < 0)
		return g;
	g.shown = p;
	g.bytes = g.taken;
	g.wide = theirs > ours ? theirs : ours;
	return g;
}

int
cells_copy(const char *p, int at, int width, char *dst, size_t size,
    const char **ret_rest)
{
	size_t len = 0, marks = MARKS_MAX; /* no letter yet */
	struct glyph g;
	int used = 0;

	while (*p != '\0') {
		if (*p == '\t')
			g = (struct glyph){"        ", 0, 1,
			    TAB_COLUMNS - (at + used) % TAB_COLUMNS};
		else
			g = next_glyph(p);
		if (*p == '\t')
			g.bytes = (size_t)g.wide;
		if (g.wide == 0 && marks++ >= MARKS_MAX) {
			p += g.taken;
			continue;
		}
		if ((width > 0 && used + g.wide > width) ||
		    len + g.bytes + 1 > size)
			break;
		memcpy(dst + len, g.shown, g.bytes);
		len += g.bytes;
		used += g.wide;
		p += g.taken;
		if (g.wide > 0)
			marks = 0;
	}
	dst[len] = '\0';
	if (ret_rest != NULL)
		*ret_rest = p;
	return used;
}

/* Escapes; tabs stay where there are no line ends. */
static void
make_safe(const char *text, char *dst, size_t size)
{
	size_t len = strnlen(text, TEXT_MAX / 4);

	psup_escape(text, len, memchr(text, '\n', len) == NULL, dst, size);
}

int
cells_cut(const char *safe, int width, char *dst, size_t size)
{
	const char *rest;
	int used = cells_copy(safe, 0, width, dst, size, &rest);
	size_t len;

	if (*rest == '\0' || width <= 1)
		return used;
	used = cells_copy(safe, 0, width - 1, dst, size, NULL);
	len = strlen(dst);
	if (len + sizeof(ELLIPSIS) > size)
		return used;
	memcpy(dst + len, ELLIPSIS, sizeof(ELLIPSIS));
	return used + 1;
}

int
cells_fit(const char *text, int width, bool right, char *dst, size_t size)
{
	char safe[TEXT_MAX + 1];
	size_t len, pad;
	int used;

	make_safe(text, safe, sizeof(safe));
	used = cells_cut(safe, width, dst, size);
	if (width <= used)
		return used;
	len = strlen(dst);
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

int
cells_width(const char *text)
{
	char safe[TEXT_MAX + 1], copy[TEXT_MAX + 1];

	make_safe(text, safe, sizeof(safe));
	return cells_copy(safe, 0, 0, copy, sizeof(copy), NULL);
}

void
cells_bytes(double bytes, char *dst, size_t size)
{
	static const char units[] = "BKMGTPE";
	size_t unit = 0;

	if (bytes < 0) {
		snprintf(dst, size, "-");
		return;
	}
	while (bytes >= 999.5 && unit + 2 < sizeof(units)) {
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
	static const struct {
		uint64_t below, big, small; /* seconds */
		char unit;
	} rows[] = {{3600, 60, 1, 'm'}, {86400, 3600, 60, 'h'},
	    {UINT64_MAX, 86400, 3600, 'd'}};
	uint64_t s = ms / 1000;
	size_t i = 0;

	if (s < 60) {
		snprintf(dst, size, "%us", (unsigned)s);
		return;
	}
	while (s >= rows[i].below)
		i++;
	snprintf(dst, size, "%llu%c%02llu",
	    (unsigned long long)(s / rows[i].big), rows[i].unit,
	    (unsigned long long)(s % rows[i].big / rows[i].small));
}
