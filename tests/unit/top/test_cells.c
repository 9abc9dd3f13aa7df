/* SPDX-License-Identifier: MIT */
/* Text in psup-top's columns, its figures, and what /proc says of a process. */
#include "lib_top.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tools/lib/cells.h"
#include "tools/top/proc.h"

#define SIZE 512

/* Fits a text and compares text and columns. */
static void
fits(const char *text, int width, bool right, const char *wanted, int wide)
{
	char got[SIZE];
	int used = cells_fit(text, width, right, got, sizeof(got));

	cr_assert_str_eq(got, wanted, "%s: got [%s], not [%s]", text, got,
	    wanted);
	cr_assert_eq(used, wide, "%s: %d columns", text, used);
}

Test(top_cells, fit_pad_and_cut, .timeout = 20, .init = top_use_utf8)
{
	fits("abc", 5, false, "abc  ", 5);
	fits("abc", 5, true, "  abc", 5);
	fits("abcdef", 4, false, "abc…", 4);
	fits("abcdef", 1, false, "a", 1);
	fits("abc", 0, false, "abc", 3);
	fits("", 2, false, "  ", 2);
	fits("a\tb", 12, false, "a       b   ", 12);
}

Test(top_cells, count_wide_characters_twice, .timeout = 20, .init = top_use_utf8)
{
	fits("日本", 6, false, "日本  ", 6);
	/* half a character is never shown */
	fits("日本語", 4, false, "日… ", 4);
	fits("e\xcc\x81x", 3, false, "e\xcc\x81x ", 3);
	/* a mark without its letter, and more marks than a cell holds */
	fits("\xcc\x81x", 2, false, "x ", 2);
	fits("e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81x", 3, false,
	    "e\xcc\x81\xcc\x81\xcc\x81x ", 3);
	/* what the C library takes for wider than utf8proc: U+4DC9 */
	fits("\xe4\xb7\x89x", 4, false, "\xe4\xb7\x89x ", 4);
	cr_assert_eq(cells_width("日本\033"), 8);
}

Test(top_cells, clusters_are_shown_and_cut_whole, .timeout = 20,
    .init = top_use_utf8)
{
	/* a family, joined by U+200D: its first */
	fits("\U0001f468\u200d\U0001f469\u200d\U0001f467x", 4, false,
	    "\U0001f468x ", 4);
	/* a thumb with a colour of skin; a heart and a digit with selectors */
	fits("\U0001f44d\U0001f3fdx", 0, false, "\U0001f44dx", 3);
	fits("\u2764\ufe0fx", 3, false, "\u2764x ", 3);
	fits("1\ufe0f\u20e3x", 3, false, "1\u20e3x ", 3);
	/* flags; one and a half */
	fits("\U0001f1e9\U0001f1ea\U0001f1ebx", 5, false, "DEFx ", 5);
	/* jamo that make one syllable, a vowel sign with a column of its own */
	fits("\u1112\u1161\u11abx", 4, false, "\u1112\u1161\u11abx ", 4);
	fits("\u0915\u093fx", 4, false, "\u0915\u093fx ", 4);
	fits("\u0915\u093fxy", 2, false, "\u2026 ", 2);
	/* joiners, selectors and marks that stand alone */
	fits("\u200d\ufe0fx", 2, false, "x ", 2);
	/* a sign that is put before what it belongs to */
	fits("\u060012", 0, false, "\u0600" "12", 3);
}

/* Whatever is cut: never more columns than there are, and the rest goes on
 * where it stopped. */
Test(top_cells, any_text_can_be_shown_in_pieces, .timeout = 60,
    .init = top_use_utf8)
{
	static const char *const parts[] = {"a", "\u65e5", "\u0301", "\u200d",
	    "\ufe0f", "\U0001f468", "\U0001f3fd", "\U0001f1e9", "\u1161",
	    "\u0600", "\u093f", "\t", "\xff", "\xf0\x9f"};
	char text[256], whole[1024], piece[1024];
	unsigned seed = 15;

	for (int round = 0; round < 20000; round++) {
		const char *rest = text;
		int cols, used = 0;

		text[0] = '\0';
		for (int i = 0; i < 16; i++)
			strcat(text, parts[(seed = seed * 1103515245 + 12345) /
			        65536 %
			    (sizeof(parts) / sizeof(parts[0]))]);
		cols = cells_copy(text, 0, 0, whole, sizeof(whole), NULL);
		while (*rest != '\0') {
			const char *from = rest;
			int n = cells_copy(rest, used, 8, piece,
			    sizeof(piece), &rest);

			cr_assert_leq(n, 8);
			cr_assert_gt(rest, from, "round %d stands still", round);
			used += n;
		}
		cr_assert_eq(used, cols, "round %d: %d columns, in pieces %d",
		    round, cols, used);
	}
}

Test(top_cells, show_what_is_hostile_as_text, .timeout = 20, .init = top_use_utf8)
{
	fits("\033[2Jx", 0, false, "\\x1b[2Jx", 8);
	fits("a\nb", 0, false, "a\\x0ab", 6);
	fits("\xff", 0, false, "\\xff", 4);
	fits("a\t\033", 0, false, "a       \\x1b", 12);
}

Test(top_cells, figures, .timeout = 20)
{
	static const struct {
		double bytes;
		const char *text;
	} bytes[] = {{999, "999"}, {1000, "1.0K"}, {1536, "1.5K"},
	    {20.0 * 1024 * 1024, "20M"}, {1023.0 * 1024, "1.0M"}, {-1, "-"}};
	static const struct {
		uint64_t ms;
		const char *text;
	} ages[] = {{59999, "59s"}, {125000, "2m05"}, {5400000, "1h30"},
	    {90061000, "1d01"}};
	char got[32];

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		cells_bytes(bytes[i].bytes, got, sizeof(got));
		cr_assert_str_eq(got, bytes[i].text);
	}
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		cells_age(ages[i].ms, got, sizeof(got));
		cr_assert_str_eq(got, ages[i].text);
	}
}

Test(top_line, is_cut_and_keeps_its_runs, .timeout = 20, .init = top_use_utf8)
{
	static struct line l;

	line_init(&l, 10);
	line_put(&l, STYLE_BOLD, "abc");
	line_text(&l, STYLE_PLAIN, "日\033");
	line_put(&l, STYLE_DIM, "much more");
	cr_assert_str_eq(l.text, "abc日\\x1bm");
	cr_assert_eq(l.cols, 10);
	cr_assert_eq(l.run_count, 3);
	cr_assert_eq(l.runs[2].col, 9);
	line_put(&l, STYLE_BAD, "x");
	cr_assert_eq(l.cols, 10, "nothing is behind the end");
	/* more looks than a line can have */
	line_init(&l, 0);
	for (uint32_t i = 0; i < 2 * LINE_RUNS; i++)
		line_put(&l, i % 2, "x");
	cr_assert_eq(l.run_count, LINE_RUNS);
	cr_assert_eq(l.len, 2 * LINE_RUNS);
	/* and more text */
	for (unsigned i = 0; i < LINE_BYTES; i++)
		line_put(&l, STYLE_PLAIN, "日");
	cr_assert_lt(l.len, LINE_BYTES);
}

/* What is cut says so, and is no half of anything. */
Test(top_line, ends_with_an_ellipsis, .timeout = 20, .init = top_use_utf8)
{
	static const struct {
		const char *first, *second, *wanted;
	} cuts[] = {{"abc", "defg", "abcdefg"}, {"abc", "defghi", "abcdefg…"},
	    {"abcdefgh", "  ", "abcdefgh"}, {"abcdefgh", "i", "abcdefg…"},
	    {"abcdefg", "日本", "abcdefg…"}, {"日本語", "日本", "日本語 …"},
	    {"abcdefghij", "", "abcdefg…"}};
	static struct line l;

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		line_init(&l, 8);
		line_put(&l, STYLE_BOLD, "%s", cuts[i].first);
		line_put(&l, STYLE_DIM, "%s", cuts[i].second);
		line_ellipsis(&l);
		cr_expect_str_eq(l.text, cuts[i].wanted, "%s", l.text);
		cr_expect_eq(l.len, strlen(l.text));
		cr_expect_leq(l.cols, 8);
	}
}

Test(top_line, marks_words_and_no_half_of_a_letter, .timeout = 20,
    .init = top_use_utf8)
{
	struct line l;

	line_init(&l, 0);
	line_put(&l, STYLE_DIM, "\u65e5Ab ");
	line_text(&l, STYLE_BOLD, "abc ae\u0301 e");
	cr_assert(line_mark(&l, "AB", STYLE_FOUND));
	cr_assert_eq(l.run_count, 5);
	cr_assert_eq(l.runs[1].col, 2);
	cr_assert_eq(l.runs[1].at, 3);
	cr_assert_eq(l.runs[1].style, STYLE_FOUND);
	cr_assert_eq(l.runs[2].style, STYLE_DIM);
	cr_assert_eq(l.runs[3].style, STYLE_FOUND);
	cr_assert_eq(l.runs[4].at, 8);
	cr_assert_eq(l.runs[4].col, 7);
	/* with the mark that stands on it, and no mark alone */
	cr_assert(line_mark(&l, "ae", STYLE_CHOSEN));
	cr_assert_eq(l.runs[5].style, STYLE_CHOSEN);
	cr_assert_eq(l.runs[6].style, STYLE_BOLD);
	cr_assert_eq(l.runs[6].at - l.runs[5].at, 4);
	cr_assert_eq(l.runs[6].col - l.runs[5].col, 2);
	cr_assert_not(line_mark(&l, "\u0301", STYLE_CHOSEN));
	cr_assert_not(line_mark(&l, "x", STYLE_CHOSEN));
	cr_assert_not(line_mark(&l, "", STYLE_CHOSEN));
	/* as many as there is room for */
	line_init(&l, 0);
	for (int i = 0; i < 2 * LINE_RUNS; i++)
		line_put(&l, STYLE_PLAIN, "ab");
	cr_assert(line_mark(&l, "a", STYLE_FOUND));
	cr_assert_eq(l.run_count, LINE_RUNS);
}
