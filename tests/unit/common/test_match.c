/* SPDX-License-Identifier: MIT */
/* Looking for texts and expressions in output that comes in pieces. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/match.h"

TestSuite(match, .timeout = 30);

/* "text 3-5", "regex 0-2" or "-", whatever the pieces. */
static const char *
look(const char *text, const char *regex, bool raw, const char *in, size_t len,
    size_t piece, uint64_t budget)
{
	struct match_wish w = {.text = text,
	    .text_len = text != NULL ? strlen(text) : 0, .regex = regex,
	    .regex_len = regex != NULL ? strlen(regex) : 0, .raw = raw};
	struct match_spec *spec;
	static char ret[64];
	struct match *m;
	enum match_found found;
	size_t at, pos = 0, have = 0;
	uint64_t from, end;
	const char *why;
	bool final, held;

	cr_assert_eq(match_spec_new(&w, &spec, &at, &why), 0);
	m = match_new(spec);
	cr_assert_not_null(m);
	while (have < len) {
		have = have + piece < len ? have + piece : len;
		do {
			at = match_feed(m, in + pos, have - pos, pos,
			    have < len, budget, &held);
			pos += at;
			found = match_result(m, &from, &end, &final);
		} while (at > 0 && pos < have &&
		    (found == MATCH_NOTHING || !final));
		if (match_result(m, &from, &end, &final) != MATCH_NOTHING &&
		    final)
			break;
	}
	if (match_result(m, &from, &end, &final) == MATCH_NOTHING)
		match_at_end(m, pos);
	found = match_result(m, &from, &end, &final);
	if (found == MATCH_NOTHING)
		strcpy(ret, "-");
	else
		snprintf(ret, sizeof(ret), "%s %d-%d",
		    found == MATCH_TEXT ? "text" : "regex", (int)from,
		    (int)end);
	match_free(&m);
	match_spec_free(&spec);
	return ret;
}

Test(match, finds_whatever_the_pieces)
{
	static const struct {
		const char *text, *regex, *in, *want;
		bool raw;
	} rows[] = {
		{"ready", NULL, "not rereready now", "text 8-13", false},
		{"aab", NULL, "aaaaab", "text 3-6", false},
		{"abc", NULL, "ab", "-", false},
		{"a\nb", NULL, "xa\r\nb", "text 1-5", false},
		{"a\nb", NULL, "xa\r\nb", "-", true},
		{"a\r\nb", NULL, "xa\r\nb", "text 1-5", true},
		{"90%\n", NULL, "10%\r90%\r", "text 4-8", false},
		{"done", NULL, "d\033[1mo\033[0mne", "text 0-12", false},
		{"done", NULL, "\033]0;done\007...", "-", false},
		{"done", NULL, "\033]0;done\007...", "text 4-8", true},
		{"\xc3\xa9t", NULL, "\xc3\xa9\xc3\xa9t\xc3", "text 2-5", false},
		{NULL, "port \\d+", "port \033[1m8080\033[0m ok",
		    "regex 0-13", false},
		{NULL, "^b.$", "a\r\nb\xe2\x82\xac\r\n", "regex 3-7", false},
		{NULL, "[\xc3\xa0-\xc3\xbc]+", "x\xc3\xa9\xc3\xa8y",
		    "regex 1-5", false},
		{NULL, "x.y", "x\xffy", "regex 0-3", false},
		{NULL, "\\$ $", "me:\033[0m~$ ", "regex 8-10", false},
		{NULL, "a$", "ab", "-", false},
		{"b", "a+", "xaab", "regex 1-3", false},
		{"a", "aab", "xaab", "text 1-2", false},
	};

	for (size_t i = 0; i < NELEMS(rows); i++)
		for (size_t piece = 1; piece < 30; piece++)
			for (uint64_t budget = 1; budget < 1000; budget *= 9) {
				const char *got = look(rows[i].text,
				    rows[i].regex, rows[i].raw, rows[i].in,
				    strlen(rows[i].in), piece, budget);

				cr_expect_str_eq(got, rows[i].want,
				    "row %zu in pieces of %zu: %s, not %s", i,
				    piece, got, rows[i].want);
			}
}

/* A text that nearly matches everywhere costs as much as any other. */
Test(match, a_text_takes_linear_time)
{
	enum { LEN = 4u << 20 };
	char *in = malloc(LEN), text[MATCH_TEXT_MAX + 1];

	cr_assert_not_null(in);
	memset(in, 'a', LEN);
	memset(text, 'a', MATCH_TEXT_MAX);
	text[MATCH_TEXT_MAX - 1] = 'b';
	text[MATCH_TEXT_MAX] = '\0';
	cr_assert_str_eq(look(text, NULL, false, in, LEN, 65536, 1000000), "-");
	free(in);
}

/* What budget there is, is kept to within one character's cost. */
Test(match, a_slice_is_bounded)
{
	struct match_wish w = {.regex = "(a?){500}a{500}b", .regex_len = 16};
	struct match_spec *spec;
	struct match *m;
	const char *why;
	char in[5000];
	size_t at, used, total = 0, slices = 0;
	bool held;

	memset(in, 'a', sizeof(in));
	cr_assert_eq(match_spec_new(&w, &spec, &at, &why), 0);
	cr_assert_gt(match_spec_cost(spec), 40000);
	m = match_new(spec);
	while (total < sizeof(in)) {
		used = match_feed(m, in + total, sizeof(in) - total, total,
		    true, 100000, &held);
		cr_assert_gt(used, 0);
		cr_assert_not(held);
		total += used;
		slices++;
	}
	cr_assert_gt(slices, 20);
	match_free(&m);
	match_spec_free(&spec);
}

Test(match, says_what_stood_there)
{
	static const char in[] = "a\033[1mb\r\nc\xff\033[0m";
	struct match_wish w = {.text = "x", .text_len = 1};
	struct match_spec *spec;
	const char *why;
	char out[32];
	size_t at;

	cr_assert_eq(match_spec_new(&w, &spec, &at, &why), 0);
	match_excerpt(spec, in, sizeof(in) - 1, out, sizeof(out));
	cr_assert_str_eq(out, "ab\nc\xef\xbf\xbd");
	match_excerpt(spec, in, sizeof(in) - 1, out, 4);
	cr_assert_str_eq(out, "ab\n");
	match_spec_free(&spec);
}
