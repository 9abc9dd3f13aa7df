/* SPDX-License-Identifier: MIT */
/* Regular expressions over a stream: what matches where, what is refused, and
 * that time grows with the text alone. */
#include <criterion/criterion.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/check.h"
#include "common/rex.h"

TestSuite(rex, .timeout = 60);

/* "at-end" of the match in ASCII text, "-": none, "!": refused. */
static const char *
search_n(const char *pattern, const char *text, size_t len)
{
	static char ret[64];
	struct rex_run r;
	struct rex *re;
	const char *why;
	size_t at;

	if (rex_compile(pattern, strlen(pattern), &re, &at, &why) != 0)
		return "!";
	cr_assert_eq(rex_run_init(&r, re), 0);
	for (size_t i = 0; i < len && !rex_done(&r); i++)
		rex_feed(&r, (unsigned char)text[i], i, i + 1);
	if (!r.matched)
		rex_at_end(&r, len);
	if (r.matched)
		snprintf(ret, sizeof(ret), "%d-%d", (int)r.at, (int)r.end);
	else
		strcpy(ret, "-");
	rex_run_fini(&r);
	rex_free(&re);
	return ret;
}

static const char *
search(const char *pattern, const char *text)
{
	return search_n(pattern, text, strlen(text));
}

Test(rex, finds)
{
	static const struct {
		const char *pattern, *text, *want;
	} rows[] = {
		{"b", "abc", "1-2"}, {"bc", "abc", "1-3"}, {"x", "abc", "-"},
		{"a|bc", "xbc", "1-3"}, {"ab*", "xabbbc", "1-5"},
		{"ab+c", "abbbc", "0-5"}, {"ab?c", "xac", "1-3"},
		{"a.c", "a\nc abc", "4-7"}, {"[a-c]+", "xxabcab", "2-7"},
		{"[^a-c]+", "abxyz", "2-5"}, {"[]x]+", "a]x", "1-3"},
		{"[^]x]", "]xa", "2-3"}, {"[a-]+", "b-a", "1-3"},
		{"\\d+", "port 8080 is", "5-9"}, {"\\D", "12a", "2-3"},
		{"\\w+", " ab_9 ", "1-5"}, {"\\s", "ab c", "2-3"},
		{"[\\d.]+", "v1.25x", "1-5"}, {"[[:alpha:]]+", "12ab", "2-4"},
		{"^b", "a\nb", "2-3"}, {"^b", "ab", "-"},
		{"a$", "ba\nc", "1-2"}, {"a$", "ba", "1-2"},
		{"a$", "bac", "-"}, {"^$", "a\n\nb", "2-2"},
		{"\\$ $", "x\nme$ ", "4-6"},
		{"\\bfoo\\b", "xfoo foo", "5-8"}, {"\\Boo", "foo", "1-3"},
		{"\\bfoo\\b", "xfoo foox", "-"},
		{"a{3}", "aaxaaa", "3-6"}, {"a{2,3}", "aaaa", "0-3"},
		{"a{2,}b", "aaaab", "0-5"}, {"a{0,2}b", "aaab", "1-4"},
		{"a{,2}", "a{,2}", "0-5"}, {"a{", "a{", "0-2"},
		{"(ab)+", "xababa", "1-5"}, {"(?:ab|a)c", "abac", "2-4"},
		{"(?P<n>a)(?<m>b)", "ab", "0-2"},
		{"(?i)ReAdY", "is rEaDy", "3-8"},
		{"(?i)[a-c]+", "xABc", "1-4"},
		{"\\x41\\x{42}\\n", "AB\n", "0-3"}, {"\\.\\*", "a.*", "1-3"},
		{"a*?b", "aab", "0-3"}, {"(a+)+$", "aaaa", "0-4"},
		{"(a|ab)(c|bcd)", "abcd", "0-4"},
		{"foo|foobar", "foobar", "0-6"},
		{"x*y|z", "xxxz", "3-4"}, {"b|abcd", "abcx", "1-2"},
		{"\\e\\[", "\033[", "0-2"}, {"a|", "b", "!"},
	};

	for (size_t i = 0; i < NELEMS(rows); i++)
		cr_expect_str_eq(search(rows[i].pattern, rows[i].text),
		    rows[i].want, "%s in %s: %s, not %s", rows[i].pattern,
		    rows[i].text, search(rows[i].pattern, rows[i].text),
		    rows[i].want);
}

Test(rex, says_what_is_wrong_and_where)
{
	static const struct {
		const char *pattern;
		int error;
		size_t at;
		const char *why;
	} rows[] = {
		{"a(b", -EINVAL, 1, "no )"}, {"a)b", -EINVAL, 1, "without"},
		{"ab[c", -EINVAL, 2, "no ]"}, {"*a", -EINVAL, 0, "nothing"},
		{"a**", -EINVAL, 2, "repeat of"}, {"a\\", -EINVAL, 1, "backsl"},
		{"(a)\\1", -EINVAL, 4, "linear"}, {"(?=a)", -EINVAL, 1, "lin"},
		{"(?<=a)b", -EINVAL, 1, "linear"}, {"a++", -EINVAL, 2, "poss"},
		{"\\q", -EINVAL, 1, "escape"}, {"[z-a]", -EINVAL, 4, "range"},
		{"[[:no:]]", -EINVAL, 3, "class"}, {"a*", -EINVAL, 0, "always"},
		{"", -EINVAL, 0, "always"}, {"a|b*", -EINVAL, 0, "always"},
		{"a{3,2}", -EINVAL, 1, "before"}, {"a{1001}", -E2BIG, 1, "1000"},
		{"(a{100}){100}", -E2BIG, 0, "large"},
		{"x((((){1000}){1000}){1000}){1000}", 0, 0, ""},
		{"\\x{110000}", -EINVAL, 9, "x{"}, {"\xff", -EINVAL, 0, "UTF"},
	};
	char deep[300];

	for (size_t i = 0; i < NELEMS(rows); i++) {
		struct rex *re = NULL;
		const char *why = "";
		size_t at = 0;
		int r = rex_compile(rows[i].pattern, strlen(rows[i].pattern),
		    &re, &at, &why);

		cr_expect_eq(r, rows[i].error, "%s: %d", rows[i].pattern, r);
		cr_expect_eq(at, rows[i].at, "%s: %zu %s", rows[i].pattern, at,
		    why);
		cr_expect_not_null(strstr(why, rows[i].why), "%s: %s",
		    rows[i].pattern, why);
		rex_free(&re);
	}
	memset(deep, '(', 150);
	memset(deep + 150, ')', 150);
	cr_expect_str_eq(search_n("a", deep, 300), "-");
	deep[299] = '\0';
	cr_expect_str_eq(search(deep, ""), "!");
}

/* Patterns on which a matcher that goes back takes longer than anybody has. */
Test(rex, takes_time_for_the_text_alone)
{
	static const char *const patterns[] = {"(a+)+$b", "(a|aa)+$b",
	    "(a|a?)+b", "(.*)*b", "(a*)*(a*)*(a*)*b", "a{0,50}a{50}b",
	    "(x+x+)+y", "([a-zA-Z]+)*b", "(.*a){12}b", "^(([a-z])+.)+[A-Z]$"};
	enum { LEN = 200000 };
	char *text = malloc(LEN);
	clock_t t0; /* of the processor: others may want it, too */

	cr_assert_not_null(text);
	memset(text, 'a', LEN);
	for (size_t i = 0; i < NELEMS(patterns); i++) {
		t0 = clock();
		cr_expect_str_eq(search_n(patterns[i], text, LEN), "-");
		cr_expect_lt(clock() - t0, 20 * CLOCKS_PER_SEC, "%s",
		    patterns[i]);
	}
	free(text);
}

Test(rex, a_step_is_bounded_by_the_program)
{
	struct rex_run r;
	struct rex *re;
	const char *why;
	size_t at;

	cr_assert_eq(rex_compile("(a?){900}b", 10, &re, &at, &why), 0);
	cr_assert_eq(rex_run_init(&r, re), 0);
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t before = r.work;

		rex_feed(&r, 'a', i, i + 1);
		cr_assert_leq(r.work - before, 2 * rex_size(re) + 1);
	}
	rex_run_fini(&r);
	rex_free(&re);
}

/* A gap ends what was begun. */
Test(rex, nothing_matches_across_a_gap)
{
	struct rex_run r;
	struct rex *re;
	const char *why;
	size_t at;

	cr_assert_eq(rex_compile("ab", 2, &re, &at, &why), 0);
	cr_assert_eq(rex_run_init(&r, re), 0);
	rex_feed(&r, 'a', 0, 1);
	rex_run_reset(&r);
	rex_feed(&r, 'b', 9, 10);
	cr_assert_not(r.matched);
	rex_run_fini(&r);
	rex_free(&re);
}

/* The same answer as the C library's, for patterns and texts made by chance. */
Test(rex, agrees_with_regcomp)
{
	static const char *const pieces[] = {"a", "b", "c", ".", "[ab]",
	    "[^a]", "(", ")", "|", "*", "+", "?", "{1,2}", "a", "b", "^", "$"};
	unsigned seed = 20261121, tried = 0;

	for (int i = 0; i < 60000; i++) {
		char pattern[40] = "", text[16];
		const char *why;
		struct rex *re;
		struct rex_run r;
		regmatch_t match;
		regex_t theirs;
		size_t n = 1 + (size_t)rand_r(&seed) % 7, at;
		bool found;

		for (size_t k = 0; k < n; k++)
			strcat(pattern, pieces[(size_t)rand_r(&seed) %
			                    NELEMS(pieces)]);
		for (size_t k = 0; k < 12; k++)
			text[k] = "aabbc"[rand_r(&seed) % 5];
		text[12] = '\0';
		if (strstr(pattern, "()") != NULL ||
		    strstr(pattern, "$") != NULL ||
		    strstr(pattern, "^") != NULL ||
		    strstr(pattern, "+?") != NULL || /* lazy here */
		    strstr(pattern, "*?") != NULL ||
		    strstr(pattern, "??") != NULL ||
		    strstr(pattern, "}?") != NULL ||
		    rex_compile(pattern, strlen(pattern), &re, &at, &why) != 0)
			continue;
		if (regcomp(&theirs, pattern, REG_EXTENDED) != 0) {
			rex_free(&re);
			continue;
		}
		tried++;
		found = regexec(&theirs, text, 1, &match, 0) == 0;
		cr_assert_eq(rex_run_init(&r, re), 0);
		for (size_t k = 0; k < 12 && !rex_done(&r); k++)
			rex_feed(&r, (unsigned char)text[k], k, k + 1);
		cr_assert_eq(r.matched, found, "%s in %s", pattern, text);
		if (found) {
			cr_assert_eq(r.at, (uint64_t)match.rm_so, "%s in %s",
			    pattern, text);
			cr_assert_eq(r.end, (uint64_t)match.rm_eo, "%s in %s",
			    pattern, text);
		}
		regfree(&theirs);
		rex_run_fini(&r);
		rex_free(&re);
	}
	cr_assert_gt(tried, 5000);
}
