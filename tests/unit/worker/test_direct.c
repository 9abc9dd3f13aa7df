/* SPDX-License-Identifier: MIT */
/* Which command strings need no shell. */
#include <criterion/criterion.h>
#include <string.h>

#include "worker/direct.h"

static const struct row {
	const char *command;
	size_t words; /* 0: for the shell */
} rows[] = {
    {"/bin/true", 1}, {"make -j2 all", 3}, {"  ls\t-l  /tmp ", 3},
    {"git log --format=%h -n 1", 5}, {"cc -DX=1 a.c", 3}, {"a,b:c@d+e", 1},
    /* what a shell acts on */
    {"", 0}, {"  ", 0}, {"ls *", 0}, {"ls ?", 0}, {"ls [a]", 0},
    {"a | b", 0}, {"a; b", 0}, {"a & b", 0}, {"a > b", 0}, {"a < b", 0},
    {"a \"b\"", 0}, {"a 'b'", 0}, {"a \\b", 0}, {"a $b", 0}, {"a `b`", 0},
    {"a ~", 0}, {"a {b}", 0}, {"a (b)", 0}, {"a #b", 0}, {"a !b", 0},
    {"a ^b", 0}, {"a\nb", 0}, {"a\xc3\xa4", 0}, {"a \x01", 0},
    {"X=1 env", 0}, {"-x", 0}, {"%1", 0},
    /* builtins and keywords */
    {"echo hi", 0}, {"true", 0}, {"cd /", 0}, {"kill 1", 0}, {".", 0},
    {". x", 0}, {":", 0}, {"exit 3", 0}, {"while", 0}, {"alias", 0},
    {"umask", 0}, {"test 1", 0}, {"time ls", 0}, {"wait", 0},
    /* words that only begin like one */
    {"echoes", 1}, {"tests", 1}, {"whiles", 1}, {"ech", 1}, {"tru", 1},
};

Test(direct, plain_words_alone, .timeout = 10)
{
	struct direct_words d;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool want = rows[i].words > 0;

		cr_expect_eq(direct_split(rows[i].command,
				 strlen(rows[i].command), &d), want, "%s",
		    rows[i].command);
		if (want)
			cr_expect_eq(d.count, rows[i].words, "%s",
			    rows[i].command);
	}
	cr_assert_not(direct_split("ls\0x", 4, &d));
}

Test(direct, too_many_words_are_the_shells, .timeout = 10)
{
	char text[4 * DIRECT_WORDS_MAX + 8] = "";
	struct direct_words d;
	int i;

	for (i = 0; i < DIRECT_WORDS_MAX; i++)
		strcat(text, "ab ");
	cr_assert(direct_split(text, strlen(text), &d));
	strcat(text, "c");
	cr_assert_not(direct_split(text, strlen(text), &d));
}

Test(direct, variables_that_a_shell_minds, .timeout = 10)
{
	cr_assert(direct_minds("BASH_X", 6));
	cr_assert(direct_minds("CDPATH", 6));
	cr_assert(direct_minds("UID", 3));
	cr_assert(direct_minds("PS1", 3));
	cr_assert_not(direct_minds("PATH", 4));
	cr_assert_not(direct_minds("UIDS", 4));
	cr_assert_not(direct_minds("HOME", 4));
}
