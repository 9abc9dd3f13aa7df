/* SPDX-License-Identifier: MIT */
/* The screen: what is drawn, and that no byte can make it draw anything bad. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "lib_rings.h"
#include "shm/screen.h"
#include "shm/screen_filter.h"

TestSuite(screen, .timeout = 60);

static char shown[1u << 20];

/* Its lines without what is blank, each ended by |. */
static const char *
lines_of(const struct screen *s)
{
	struct screen_facts f;
	size_t n = 0, end = 0;

	screen_facts(s, &f);
	for (unsigned i = 0; i < f.rows; i++) {
		size_t len = screen_line(s, i, true, shown + n);

		n += len;
		shown[n++] = '|';
		if (len > 0)
			end = n;
	}
	shown[end] = '\0';
	return shown;
}

static void
feed_text(struct screen *s, const char *text)
{
	screen_feed(s, text, strlen(text));
}

static void
expect_shows(unsigned cols, unsigned rows, const char *text, const char *want)
{
	struct screen *s = screen_new(cols, rows);

	feed_text(s, text);
	cr_expect_str_eq(lines_of(s), want, "%s: %s", want, lines_of(s));
	screen_free(&s);
}

Test(screen, draws_what_a_terminal_draws)
{
	expect_shows(10, 3, "one\r\ntwo\r\n", "one|two|");
	expect_shows(10, 2, "1\r\n2\r\n3\r\n4", "3|4|");
	expect_shows(5, 3, "abcdefg", "abcde|fg|");
	expect_shows(10, 3, "\033[2;4Hx\033[1;1Hy", "y|   x|");
	expect_shows(10, 3, "abcdef\033[1;3H\033[K", "ab|");
	expect_shows(10, 3, "abcdef\033[1;3H\033[1K", "   def|");
	expect_shows(10, 3, "abc\r\ndef\033[2Jx", "|   x|");
	expect_shows(10, 3, "abcdef\033[1;2H\033[2P\033[@", "a def|");
	expect_shows(10, 4, "a\r\nb\r\nc\033[1;1H\033[L\033[2;1H\033[M", "|b|c|");
	expect_shows(10, 4, "a\r\nb\r\nc\r\nd\033[2;3r\033[3;1H\nx",
	    "a|c|x|d|");
	expect_shows(10, 2, "ab\tc\bd", "ab      d|");
	expect_shows(10, 2, "-\033[3b|", "----||");
	expect_shows(10, 2, "\033(0lqk\033(B lqk", "\u250c\u2500\u2510 lqk|");
	expect_shows(10, 2, "a\033[sb\033[1;8Hc\033[ud", "ad     c|");
	expect_shows(10, 3, "old\033cnew", "new|");
}

Test(screen, wide_characters_and_marks)
{
	expect_shows(6, 2, "\u65e5\u672c\u8a9e", "\u65e5\u672c\u8a9e|");
	expect_shows(5, 2, "\u65e5\u672c\u8a9e", "\u65e5\u672c|\u8a9e|");
	expect_shows(6, 2, "\u65e5\u672c\033[1;2Hx", " x\u672c|");
	expect_shows(6, 2, "\u65e5\u672c\033[1;3H\033[K", "\u65e5|");
	expect_shows(6, 2, "e\u0301a", "e\u0301a|");
	expect_shows(6, 2, "e\u0301\u0302\u0303\u0304\u0305a",
	    "e\u0301\u0302\u0303a|");
}

Test(screen, shows_no_control_character)
{
	expect_shows(9, 2, "a\xc2\x85\xc2\x9b" "b\u202ec\u2066d\u2028e\u061cf", "abcdef|");
	expect_shows(9, 2, "a\xff\xc3(b\xe2\x82", "a\ufffd\ufffd(b|");
	expect_shows(9, 2, "\xed\xa0\x80\xc0\x80z",
	    "\ufffd\ufffd\ufffdz|");
	expect_shows(9, 2, "a\x01\x02\x07\x7f\x1f" "b", "ab|");
}

Test(screen, knows_title_pages_and_cursor)
{
	struct screen *s = screen_new(20, 4);
	struct screen_facts f;

	feed_text(s, "main\033]0;a title\007\033[?25l");
	screen_facts(s, &f);
	cr_expect_str_eq(f.title, "a title");
	cr_expect_not(f.alternate);
	cr_expect_not(f.cursor_visible);
	cr_expect_eq(f.cursor_col, 4);
	feed_text(s, "\033[?1049h\033[Halt\033]2;b\033[31m\033\\\033[?25h");
	screen_facts(s, &f);
	cr_expect_str_eq(f.title, "a title", "a string that ends by nothing");
	cr_expect(f.alternate);
	cr_expect(f.cursor_visible);
	cr_expect_str_eq(lines_of(s), "alt|");
	feed_text(s, "\033]2;t\xff\033\\\033]1;icon\007\033[?1049l");
	screen_facts(s, &f);
	cr_expect_str_eq(f.title, "t\\xff");
	cr_expect_not(f.alternate);
	cr_expect_str_eq(lines_of(s), "main|");
	cr_expect_eq(f.cursor_col, 4);
	feed_text(s, "\033[?47hx\033c");
	screen_facts(s, &f);
	cr_expect_not(f.alternate);
	cr_expect_str_eq(lines_of(s), "");
	screen_free(&s);
}

Test(screen, knows_colours_and_attributes)
{
	struct screen *s = screen_new(20, 2);
	const struct screen_cell *c;
	unsigned n;
	uint32_t bg;

	feed_text(s, "\033[1;31ma\033[0;4;48;5;200mb\033[38;2;1;2;3;7mc\033[md"
		     "\033[44m\033[K");
	c = screen_cells(s, 0, &n, &bg);
	cr_assert_eq(n, 4);
	cr_expect_eq(c[0].attrs, SCREEN_BOLD);
	cr_expect_eq(c[0].fg, SCREEN_INDEXED | 1);
	cr_expect_eq(c[0].bg, SCREEN_DEFAULT);
	cr_expect_eq(c[1].attrs, SCREEN_UNDERLINE);
	cr_expect_eq(c[1].bg, SCREEN_INDEXED | 200);
	cr_expect_eq(c[2].fg, SCREEN_RGB | 0x010203);
	cr_expect_eq(c[2].attrs, SCREEN_UNDERLINE | SCREEN_REVERSE);
	cr_expect_eq(c[3].attrs | c[3].fg | c[3].bg, 0);
	cr_expect_eq(bg, SCREEN_INDEXED | 4);
	screen_free(&s);
}

Test(screen, follows_a_resize)
{
	struct screen *s = screen_new(10, 4);
	struct screen_facts f;

	feed_text(s, "1\r\n2\r\n3\r\n4 \u65e5\0337");
	screen_resize(s, 4, 2);
	screen_facts(s, &f);
	cr_expect_eq(f.cols, 4);
	cr_expect_eq(f.cursor_row, 1);
	cr_expect_str_eq(lines_of(s), "3|4 \u65e5|");
	/* what was saved is off the screen now */
	feed_text(s, "\0338\033[2;4r\n\n");
	screen_facts(s, &f);
	cr_expect_lt(f.cursor_row, 2);
	screen_resize(s, 3, 3);
	cr_expect_not_null(lines_of(s));
	feed_text(s, "\033[2;3r");
	screen_resize(s, 3, 1);
	feed_text(s, "\n\nx\033M\033M\033[L");
	screen_resize(s, 1000, 1000);
	feed_text(s, "\033[1000;1000Hx");
	screen_facts(s, &f);
	cr_expect_eq(f.cursor_row, 999);
	screen_free(&s);
}

Test(screen, a_gap_leaves_nothing_half)
{
	struct screen *s = screen_new(20, 4);
	struct screen_facts f;

	feed_text(s, "\033]0;kept\007\033[?1049hold\033[31;1m\033(0\033[12;");
	screen_gap(s);
	feed_text(s, "34mqx\r\nnew");
	screen_facts(s, &f);
	cr_expect_str_eq(f.title, "kept");
	cr_expect(f.alternate);
	cr_expect_str_eq(lines_of(s), "   34mqx|new|");
	cr_expect_eq(filter_border("2;3mtext\nnext", 13), 9);
	cr_expect_eq(filter_border("2;3mte\033[mnext", 13), 6);
	cr_expect_eq(filter_border("\x82\xacnext", 6), 2);
	screen_free(&s);
}

/* ------------------------------------------------------------ bad input */

static const char *const tokens[] = {"\033[", "\033]0;", "\033P", "\033\\",
	"\007", "\030", "\033c", "\033[?1049h", "\033[?1049l", "\033[?6h",
	"\033[999999999999b", "\033[999;999H", "\033[2;5r", "\033[r", "\033#8",
	"\033#6", "\033[?69h", "\033[2;3s", "\0337", "\0338", "\033[L",
	"\033[999M", "\033[99@", "\033[P", "\033[S", "\033[9999T", "\033[4h",
	"\033[2J", "\033[?5h", "\t", "\033[999I", "\033[99Z", "\033H", "\033D",
	"\033M", "\n", "\r", "\b", "\u0301", "\u200d", "\u65e5", "\xc2\x85",
	"\033[38;2;1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20m",
	"\033[;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;H",
	"\033[::::::::::::::::::::::::::::::m", "\033%@", "\033(0", "\033(B",
	"\016", "\017", "\033N", "\033[!p", "\033[6n", "\033[c", "\033P$qm",
	"\033[?2026h", "\033[>4;2m", "\033[5i", "\033[K", "\033[1K", "\033[X",
	"\U0001f600", "\xf4\x90\x80\x80", "\xc2", "\x9b", "abc", "    ", "z"};

/* Some vicious bytes, the same for the same seed. */
static size_t
vicious(char *buf, size_t size)
{
	size_t n = 0, len;

	while (n + 80 < size) {
		if (random() % 4 == 0) {
			buf[n++] = (char)random();
			continue;
		}
		const char *t = tokens[(size_t)random() %
		    (sizeof(tokens) / sizeof(tokens[0]))];

		len = strlen(t);
		memcpy(buf + n, t, len);
		n += len;
	}
	return n;
}

/* Nothing but text within its bounds. */
static void
expect_sane(const struct screen *s)
{
	static char line[1000 * SCREEN_CELL_BYTES];
	struct screen_facts f;

	screen_facts(s, &f);
	cr_assert_lt(f.cursor_row, f.rows);
	cr_assert_lt(f.cursor_col, f.cols);
	cr_assert(text_is_utf8(f.title, strlen(f.title)));
	for (unsigned i = 0; i < f.rows; i++) {
		size_t n = screen_line(s, i, random() % 2, line);

		cr_assert_leq(n, f.cols * SCREEN_CELL_BYTES);
		cr_assert(text_is_utf8(line, n));
		for (size_t k = 0; k < n; k++)
			cr_assert((unsigned char)line[k] >= ' ' &&
			    line[k] != 0x7f);
	}
}

Test(screen, no_bytes_break_it)
{
	const char *env = getenv("PSUP_SEED");
	unsigned seed = env != NULL ? (unsigned)strtoul(env, NULL, 10) : 815;
	unsigned rounds = env != NULL ? 3000 : 250;
	static char buf[6000];

	fprintf(stderr, "seed %u\n", seed);
	srandom(seed);
	for (unsigned i = 0; i < rounds; i++) {
		struct screen *s = screen_new((unsigned)random() % 50,
		    (unsigned)random() % 20);

		for (int k = 0; k < 4; k++) {
			size_t n = vicious(buf, sizeof(buf)), at = 0;

			while (at < n) {
				size_t part = 1 + (size_t)random() % 700;

				if (part > n - at)
					part = n - at;
				screen_feed(s, buf + at, part);
				at += part;
				if (random() % 9 == 0)
					screen_resize(s,
					    (unsigned)random() % 60,
					    (unsigned)random() % 30);
				if (random() % 30 == 0)
					screen_gap(s);
			}
			expect_sane(s);
		}
		screen_free(&s);
	}
}

/* Where input is cut makes no difference. */
Test(screen, cuts_are_not_seen)
{
	static char buf[4000], whole[1u << 16];

	srandom(4711);
	for (int i = 0; i < 60; i++) {
		size_t n = vicious(buf, sizeof(buf));
		struct screen *a = screen_new(40, 12), *b = screen_new(40, 12);

		screen_feed(a, buf, n);
		for (size_t k = 0; k < n; k++)
			screen_feed(b, buf + k, 1);
		snprintf(whole, sizeof(whole), "%s", lines_of(a));
		cr_expect_str_eq(lines_of(b), whole, "round %d", i);
		screen_free(&a);
		screen_free(&b);
	}
}

/* What costs a terminal most, at the largest size: bounded all the same. */
/* Sanitized, each byte costs tenfold. */
#ifdef __SANITIZE_ADDRESS__
#define VICIOUS_BYTES 12000
#else
#define VICIOUS_BYTES 60000
#endif

Test(screen, vicious_output_takes_bounded_time)
{
	static const char *const slow[] = {"\n", "\033[2J", "\033#8", "\033c",
		"\033[L", "\033[1T", "\033[@", "\033[4hx", "\033[1000b",
		"\u0301", "\0337\u0301", "\033[?1049h\033[?1049l", "\033[1K",
		"\033[5000;5000Hx\033[1;1H"};
	clock_t begun; /* of the processor: others may want it, too */

	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
		struct screen *s = screen_new(1000, 1000);
		long ms;

		begun = clock();
		for (size_t n = 0; n < VICIOUS_BYTES; n += strlen(slow[i]))
			feed_text(s, slow[i]);
		ms = (clock() - begun) / (CLOCKS_PER_SEC / 1000);
		fprintf(stderr, "%2zu: %ld ms\n", i, ms);
		cr_expect_lt(ms, 8000, "%zu: %ld", i, ms);
		screen_free(&s);
	}
}
