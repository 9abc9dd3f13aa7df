/* SPDX-License-Identifier: MIT */
/* What a reader is shown: every rule on every kind of thing, and that the text
 * is the same in pieces as in one. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/text.h"
#include "common/text_clean.h"

static const char *const rule_names[TEXT_RULES] = {"clean", "ansi", "shown",
    "plain"};

#define S(s) (s), sizeof(s) - 1

/* By a rule, as a string that lives until the next call. */
static const char *
cleaned(enum text_rule rule, const char *s, size_t len)
{
	static char out[1 << 16];
	size_t n;

	cr_assert(4 * len < sizeof(out));
	n = text_clean(rule, s, len, false, out);
	out[n] = '\0';
	return out;
}

Test(text_clean, every_rule, .timeout = 10)
{
	static const struct {
		const char *in;
		size_t len;
		const char *clean, *ansi, *shown, *plain;
	} cases[] = {
		{ S("a\tb\r\nc\rd é"), "a\tb\r\nc\rd é", "a\tb\r\nc\rd é",
		    "a\tb\r\nc\rd é", "a\tb\r\nc\rd é" },
		{ S("\33[1;31mred\33[0m"), "red", "\33[1;31mred\33[0m",
		    "\\x1b[1;31mred\\x1b[0m", "\33[1;31mred\33[0m" },
		{ S("a\bb\x7f\a"), "a\\x08b\\x7f\\x07", "a\\x08b\\x7f\\x07",
		    "a\\x08b\\x7f\\x07", "a\bb\x7f\a" },
		{ S("x\33]0;title\ay"), "xy", "x\33]0;title\ay",
		    "x\\x1b]0;title\\x07y", "x\33]0;title\ay" },
		{ S("x\33]8;;http://h/é\33\\y"), "xy",
		    "x\33]8;;http://h/é\33\\y",
		    "x\\x1b]8;;http://h/é\\x1b\\y", "x\33]8;;http://h/é\33\\y" },
		{ S("\302\2331mC1\302\235t\302\234."), "C1.",
		    "\302\2331mC1\302\235t\302\234.",
		    "\\x9b1mC1\\x9dt\\x9c.", "\302\2331mC1\302\235t\302\234." },
		{ S("\33(B\33=\0337\33M\33kname\33\\z"), "z",
		    "\33(B\33=\0337\33M\33kname\33\\z",
		    "\\x1b(B\\x1b=\\x1b7\\x1bM\\x1bkname\\x1b\\z",
		    "\33(B\33=\0337\33M\33kname\33\\z" },
		/* bidi, zero width, soft hyphen: format characters */
		{ S("a\342\200\256b\342\200\213c\302\255d"), "abcd", "abcd",
		    "a\\xe2\\x80\\xaeb\\xe2\\x80\\x8bc\\xc2\\xadd",
		    "a\342\200\256b\342\200\213c\302\255d" },
		{ S("\302\205|\xff|\303"), "\\x85|\357\277\275|\357\277\275",
		    "\\x85|\357\277\275|\357\277\275", "\\x85|\\xff|\\xc3",
		    "\302\205|\357\277\275|\357\277\275" },
		/* none of these is a sequence */
		{ S("\33"), "\\x1b", "\\x1b", "\\x1b", "\33" },
		{ S("\33[12"), "\\x1b[12", "\\x1b[12", "\\x1b[12", "\33[12" },
		{ S("\33[1\n2m"), "\\x1b[1\n2m", "\\x1b[1\n2m",
		    "\\x1b[1\n2m", "\33[1\n2m" },
		{ S("\33]0;a\nb\a"), "\\x1b]0;a\nb\\x07",
		    "\\x1b]0;a\nb\\x07", "\\x1b]0;a\nb\\x07", "\33]0;a\nb\a" },
		{ S("\33\33[m|"), "\\x1b|", "\\x1b\33[m|", "\\x1b\\x1b[m|",
		    "\33\33[m|" },
		{ S("\33é"), "\\x1bé", "\\x1bé", "\\x1bé", "\33é" },
		{ S("\0"), "\\x00", "\\x00", "\\x00", "" },
		{ S(""), "", "", "", "" },
	};

	for (size_t i = 0; i < NELEMS(cases); i++) {
		const char *const want[TEXT_RULES] = {
		    [TEXT_CLEAN] = cases[i].clean,
		    [TEXT_ANSI] = cases[i].ansi,
		    [TEXT_SHOWN] = cases[i].shown,
		    [TEXT_PLAIN] = cases[i].plain};

		for (unsigned r = 0; r < TEXT_RULES; r++)
			cr_expect_str_eq(cleaned(r, cases[i].in, cases[i].len),
			    want[r], "case %zu %s: %s", i, rule_names[r],
			    cleaned(r, cases[i].in, cases[i].len));
	}
}

Test(text_clean, rules_have_names, .timeout = 10)
{
	cr_expect_eq(text_rule_find(S("clean")), TEXT_CLEAN);
	cr_expect_eq(text_rule_find(S("plain")), TEXT_PLAIN);
	cr_expect_eq(text_rule_find(S("clea")), TEXT_RULES);
	cr_expect_eq(text_rule_find(S("")), TEXT_RULES);
}

Test(text_clean, what_is_not_whole_waits, .timeout = 10)
{
	static const struct {
		const char *in;
		size_t len, open;
	} cases[] = {
		{ S("abc"), 0 }, { S("abc\33"), 1 }, { S("abc\33["), 2 },
		{ S("abc\33[0;3"), 5 }, { S("abc\33[0;3m"), 0 },
		{ S("a\33]0;title"), 9 }, { S("a\33]0;title\33"), 10 },
		{ S("a\33]0;title\a"), 0 }, { S("\33]0;t\n"), 0 },
		{ S("a\342\202"), 2 }, { S("a\302"), 1 }, { S("\xff"), 0 },
		{ S("\33("), 2 }, { S("\302\233"), 2 }, { S(""), 0 },
		{ S("\33]x\302"), 4 }, { NULL, 0, 0 },
	};
	char out[64];

	for (size_t i = 0; i < NELEMS(cases); i++) {
		size_t len = cases[i].len - cases[i].open, n;

		cr_expect_eq(text_open_tail(cases[i].in, cases[i].len),
		    cases[i].open, "case %zu", i);
		n = text_clean(TEXT_PLAIN, cases[i].in, cases[i].len, true,
		    out);
		cr_expect(n >= len, "case %zu", i);
	}
}

Test(text_clean, a_string_without_end_is_none, .timeout = 10)
{
	static char in[3 * TEXT_SEQUENCE_MAX], out[4 * sizeof(in)];

	memset(in, 'x', sizeof(in));
	memcpy(in, "\33]0;", 4);
	cr_expect_eq(text_open_tail(in, TEXT_SEQUENCE_MAX - 1),
	    TEXT_SEQUENCE_MAX - 1);
	cr_expect_eq(text_open_tail(in, TEXT_SEQUENCE_MAX), 0);
	cr_expect_eq(text_open_tail(in, sizeof(in)), 0);
	in[sizeof(in) - 1] = '\a';
	cr_expect_eq(text_clean(TEXT_CLEAN, in, sizeof(in), false, out),
	    sizeof(in) + 6);
	cr_expect(memcmp(out, "\\x1b]0;", 7) == 0);
}

Test(text_clean, introducers_in_a_row_cost_no_more, .timeout = 10)
{
	static const char *const parts[] = {"\302\235", "\33]", "\302\233",
	    "\33P", "\33[1;", "\33(", "\33]\302"};
	static char in[1 << 20], out[4 << 20];

	for (size_t p = 0; p < NELEMS(parts); p++) {
		size_t n = strlen(parts[p]), len = 0;

		for (; len + n <= sizeof(in); len += n)
			memcpy(in + len, parts[p], n);
		text_clean(TEXT_CLEAN, in, len, true, out);
	}
}

/* Something of everything, close together. */
static size_t
random_output(char *s, size_t max)
{
	static const char *const parts[] = {"\33", "[", "]", "0;", "m", "\a",
	    "\33\\", "x", "yz", "\n", "\r", "\302", "\233", "\234", "\235",
	    "é", "\342\202", "\254", "\342\200\256", "\33[1m", "\xff", "(",
	    "P", "\33]8;;u\33\\", "\1", "\360\237\230\200"};
	size_t len = 0;

	for (;;) {
		const char *p = parts[(size_t)rand() % NELEMS(parts)];

		if (len + strlen(p) > max)
			return len;
		memcpy(s + len, p, strlen(p));
		len += strlen(p);
	}
}

Test(text_clean, is_the_same_in_pieces, .timeout = 60)
{
	char in[120], whole[4 * sizeof(in)], part[4 * sizeof(in)];

	srand(7);
	for (int round = 0; round < 200000; round++) {
		size_t len = random_output(in, sizeof(in) -
		    (size_t)rand() % 100), at = 0, got = 0, n;
		enum text_rule rule = (enum text_rule)(round % TEXT_RULES);

		n = text_clean(rule, in, len, false, whole);
		cr_assert(n <= 4 * len);
		cr_assert(rule == TEXT_PLAIN || memchr(whole, 0x1b, n) == NULL ||
		    rule == TEXT_ANSI);
		cr_assert(text_is_utf8(whole, n));
		while (at < len) {
			size_t end = at + 1 + (size_t)rand() % (len - at);

			if (end < len)
				end -= text_open_tail(in + at, end - at);
			if (end == at)
				end = len;
			got += text_clean(rule, in + at, end - at, false,
			    part + got);
			at = end;
		}
		cr_assert(got == n && memcmp(part, whole, n) == 0,
		    "round %d, rule %s, %zu bytes", round,
		    rule_names[rule], len);
	}
}

/* The same copy, stopped anywhere. */
Test(text_clean, goes_on_where_it_has_stopped, .timeout = 60)
{
	char in[120], whole[4 * sizeof(in)], part[4 * sizeof(in)];

	srand(8);
	for (int round = 0; round < 200000; round++) {
		size_t len = random_output(in, sizeof(in)), at = 0, got = 0;
		enum text_rule rule = (enum text_rule)(round % TEXT_RULES);
		size_t n = text_clean(rule, in, len, false, whole);

		while (at < len) {
			size_t stop = at + 1 + (size_t)rand() % 20;

			got += text_clean_some(rule, in, len, &at, stop,
			    part + got);
			cr_assert(at >= stop || at == len);
		}
		cr_assert(got == n && memcmp(part, whole, n) == 0,
		    "round %d, rule %s", round, rule_names[rule]);
	}
}

Test(text_clean, a_cut_moves_to_a_border, .timeout = 10)
{
	const char s[] = "ab\33[31mc\n\33]0;t\ad\342\202\254e";

	cr_expect_eq(text_resync(S(s), 2), 2);
	for (size_t at = 3; at <= 7; at++)
		cr_expect_eq(text_resync(S(s), at), 7, "%zu", at);
	cr_expect_eq(text_resync(S(s), 8), 8);
	cr_expect_eq(text_resync(S(s), 9), 9);
	for (size_t at = 10; at <= 15; at++)
		cr_expect_eq(text_resync(S(s), at), 15, "%zu", at);
	cr_expect_eq(text_resync(S(s), 17), 19);
	cr_expect_eq(text_resync(S(s), sizeof(s) - 1), sizeof(s) - 1);
	cr_expect_eq(text_resync("", 0, 0), 0);
}
