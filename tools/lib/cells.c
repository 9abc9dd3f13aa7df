/* SPDX-License-Identifier: MIT */
/* Text in columns: see cells.h. Called by whatever shows tables. */
#include "tools/lib/cells.h"

#include <psup/psup.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include <wchar.h>

#define TAB_COLUMNS 8
#define MARKS_MAX   3 /* on one letter */
#define GLYPH_BYTES 24 /* a letter and its marks, or a tab */
#define TEXT_MAX    8192
#define ELLIPSIS    "\xe2\x80\xa6"
#define REPLACEMENT "\xef\xbf\xbd"

/* A grapheme cluster as it is shown. */
struct glyph {
	size_t taken; /* bytes of the text */
	size_t bytes; /* of shown */
	int wide, marks;
	char shown[GLYPH_BYTES];
};

static void
show(struct glyph *g, const char *text, size_t bytes, int wide)
{
	memcpy(g->shown + g->bytes, text, bytes);
	g->bytes += bytes;
	g->wide += wide;
}

static bool
is_regional(utf8proc_int32_t cp)
{
	return cp >= 0x1f1e6 && cp <= 0x1f1ff;
}

/* A sign that stands before the character it belongs to. */
static bool
is_prepended(utf8proc_int32_t cp)
{
	return utf8proc_get_property(cp)->boundclass ==
	    UTF8PROC_BOUNDCLASS_PREPEND;
}

/* A character that stands for itself. Halves of flags are letters: terminals
 * give a flag one, two or four columns. */
static void
show_base(struct glyph *g, utf8proc_int32_t cp, const char *text, size_t bytes)
{
	int ours = utf8proc_charwidth(cp), theirs = wcwidth((wchar_t)cp);
	char letter;

	if (is_regional(cp)) {
		letter = (char)('A' + (cp - 0x1f1e6));
		show(g, &letter, 1, 1);
	} else if (theirs < 0)
		show(g, REPLACEMENT, sizeof(REPLACEMENT) - 1, 1);
	else if (theirs > 0 || ours > 0)
		show(g, text, bytes, theirs > ours ? theirs : ours);
}

/* What belongs to the character before. Shown are marks alone: of emoji that
 * are joined the first, without its colour of skin, and without selectors,
 * since how wide the whole is each terminal says otherwise. */
static void
show_rest(struct glyph *g, utf8proc_int32_t cp, const char *text, size_t bytes)
{
	utf8proc_category_t kind = utf8proc_category(cp);
	int wide = wcwidth((wchar_t)cp);
	bool selector = (cp >= 0xfe00 && cp <= 0xfe0f) ||
	    (cp >= 0xe0100 && cp <= 0xe01ef) || (cp >= 0x180b && cp <= 0x180f);
	bool mark = kind == UTF8PROC_CATEGORY_MN ||
	    kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_ME ||
	    (kind == UTF8PROC_CATEGORY_LO && wide == 0);

	if (is_regional(cp))
		show_base(g, cp, text, bytes);
	else if (mark && !selector && wide >= 0 && g->marks++ < MARKS_MAX)
		show(g, text, bytes, wide);
}

/* The next character. How many bytes; 0: there is none. */
static size_t
take(const char *p, utf8proc_int32_t *ret_cp)
{
	utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)p,
	    (utf8proc_ssize_t)strnlen(p, 4), ret_cp);

	return n > 0 ? (size_t)n : 0;
}

/* The next cluster; a byte that is no character, or what the C library does
 * not know, is shown as the replacement character. */
static void
next_glyph(const char *p, struct glyph *g)
{
	utf8proc_int32_t before, cp, state = 0;
	size_t n;

	g->taken = g->bytes = 1;
	g->wide = 1;
	g->marks = 0;
	g->shown[0] = *p;
	if (*p >= ' ' && *p < 0x7f && (unsigned char)p[1] < 0x80)
		return;
	g->bytes = 0;
	g->wide = 0;
	n = take(p, &before);
	if (n == 0) {
		show(g, REPLACEMENT, sizeof(REPLACEMENT) - 1, 1);
		return;
	}
	g->taken = n;
	show_base(g, before, p, n);
	while ((n = take(p + g->taken, &cp)) > 0 && cp != '\t' &&
	    !utf8proc_grapheme_break_stateful(before, cp, &state)) {
		if (g->wide > 0 && !is_prepended(before))
			show_rest(g, cp, p + g->taken, n);
		else
			show_base(g, cp, p + g->taken, n);
		g->taken += n;
		before = cp;
	}
}

/* Blanks to the next stop. */
static void
tab_glyph(int col, struct glyph *g)
{
	g->taken = 1;
	g->wide = TAB_COLUMNS - col % TAB_COLUMNS;
	g->bytes = (size_t)g->wide;
	memset(g->shown, ' ', g->bytes);
}

int
cells_copy(const char *p, int at, int width, char *dst, size_t size,
    const char **ret_rest)
{
	struct glyph g;
	size_t len = 0;
	int used = 0;

	while (*p != '\0') {
		if (*p >= ' ' && *p < 0x7f && (unsigned char)p[1] < 0x80 &&
		    (width <= 0 || used < width) && len + 2 <= size) {
			dst[len++] = *p++; /* a letter that nothing joins */
			used++;
			continue;
		}
		if (*p == '\t')
			tab_glyph(at + used, &g);
		else
			next_glyph(p, &g);
		if ((width > 0 && used + g.wide > width) ||
		    len + g.bytes + 1 > size)
			break;
		memcpy(dst + len, g.shown, g.bytes);
		len += g.bytes;
		used += g.wide;
		p += g.taken;
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
