/* SPDX-License-Identifier: MIT */
/* Patterns of labels. */
#include <criterion/criterion.h>
#include <string.h>

#include "supervisor/api/list_wish.h"

TestSuite(list_wish, .timeout = 10);

static bool
matches(const char *pattern, const char *text)
{
	return list_wish_matches(pattern, strlen(pattern), text);
}

Test(list_wish, a_pattern_is_the_whole_text)
{
	cr_assert(matches("", ""));
	cr_assert(!matches("", "a"));
	cr_assert(matches("job", "job"));
	cr_assert(!matches("job", "jobs"));
	cr_assert(!matches("job", "a job"));
}

Test(list_wish, stars_and_question_marks)
{
	cr_assert(matches("*", ""));
	cr_assert(matches("job *", "job 17"));
	cr_assert(matches("*1*7*", "job 1 of 7"));
	cr_assert(!matches("*1*7", "job 1 of 7."));
	cr_assert(matches("job ??", "job 17"));
	cr_assert(!matches("job ??", "job 7"));
	cr_assert(matches("**b*", "aab"));
	cr_assert(matches("?\xe5\xad\x97", "\xe6\xbc\xa2\xe5\xad\x97"),
	    "a character is one, whatever its bytes");
	cr_assert(matches("[a]", "[a]"), "nothing else has a meaning");
}

/* What a recursive matcher takes hours for. */
Test(list_wish, many_stars_take_no_time)
{
	cr_assert(!matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}
