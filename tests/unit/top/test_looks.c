/* SPDX-License-Identifier: MIT */
/* That what psup-top shows can be read on a light ground and on a dark one, with
 * 256 colours, with 8 as terminals have them, and without. */
#include <criterion/criterion.h>
#include <math.h>

#include "tools/top/looks.h"

#define BLACK_GROUND 0x000000u
#define WHITE_GROUND 0xffffffu

/* The 8 of xterm and of the console. */
static const unsigned palettes[2][8] = {
    {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd,
        0xe5e5e5},
    {0x000000, 0xaa0000, 0x00aa00, 0xaa5500, 0x0000aa, 0xaa00aa, 0x00aaaa,
        0xaaaaaa}};

/* Of the 256, those beyond the 16 that a person may have changed. */
static unsigned
rgb256(int c)
{
	static const unsigned steps[] = {0, 95, 135, 175, 215, 255};
	unsigned grey;

	cr_assert_geq(c, 16, "%d is whatever a person made of it", c);
	if (c >= 232) {
		grey = 8 + 10 * ((unsigned)c - 232);
		return grey << 16 | grey << 8 | grey;
	}
	c -= 16;
	return steps[c / 36] << 16 | steps[c / 6 % 6] << 8 | steps[c % 6];
}

/* As the WCAG reckons. */
static double
luminance(unsigned rgb)
{
	static const double part[] = {0.0722, 0.7152, 0.2126};
	double sum = 0, v;

	for (int i = 0; i < 3; i++) {
		v = (double)(rgb >> 8 * i & 255u) / 255;
		sum += part[i] * (v <= 0.03928 ? v / 12.92
		                               : pow((v + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static double
contrast(unsigned a, unsigned b)
{
	double x = luminance(a), y = luminance(b);

	return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

/* On its own ground, or on both that a terminal may have. */
static void
can_be_read(int style, unsigned fg, bool own_ground, unsigned bg, double least)
{
	if (own_ground) {
		cr_assert_geq(contrast(fg, bg), least, "style %d", style);
		return;
	}
	cr_assert_geq(contrast(fg, BLACK_GROUND), least, "style %d", style);
	cr_assert_geq(contrast(fg, WHITE_GROUND), least, "style %d", style);
}

Test(top_looks, can_be_read_on_light_and_dark_grounds)
{
	for (int i = 0; i < STYLES; i++) {
		const struct look *l = &looks[i];

		/* a ground of ours has a colour of ours on it */
		cr_assert(l->bg < 0 || l->fg >= 0);
		cr_assert(l->bg256 < 0 || l->fg256 >= 0);
		if (l->fg256 >= 0)
			can_be_read(i, rgb256(l->fg256), l->bg256 >= 0,
			    l->bg256 >= 0 ? rgb256(l->bg256) : 0, 3.3);
		for (int p = 0; l->fg >= 0 && p < 2; p++)
			can_be_read(i, palettes[p][l->fg], l->bg >= 0,
			    l->bg >= 0 ? palettes[p][l->bg] : 0, 2.7);
	}
}

Test(top_looks, differ_where_it_matters)
{
	/* what is wrong, chosen, found, or asked is seen without colours */
	static const int pairs[][2] = {{STYLE_BAD, STYLE_PLAIN},
	    {STYLE_BAD, STYLE_GOOD}, {STYLE_CHOSEN, STYLE_PLAIN},
	    {STYLE_FOUND, STYLE_PLAIN}, {STYLE_FOUND, STYLE_CHOSEN},
	    {STYLE_HEAD, STYLE_PLAIN}, {STYLE_SORTED, STYLE_HEAD},
	    {STYLE_ASK, STYLE_PLAIN}, {STYLE_KEY, STYLE_LABEL}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct look *a = &looks[pairs[i][0]];
		const struct look *b = &looks[pairs[i][1]];

		cr_assert_neq(a->mono, b->mono, "pair %zu", i);
		cr_assert(a->attr != b->attr || a->fg != b->fg ||
		    a->bg != b->bg, "pair %zu", i);
		cr_assert(a->attr256 != b->attr256 || a->fg256 != b->fg256 ||
		    a->bg256 != b->bg256, "pair %zu", i);
	}
}
