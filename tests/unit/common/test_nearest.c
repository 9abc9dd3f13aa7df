/* SPDX-License-Identifier: MIT */
/* The word that was probably meant. */
#include <criterion/criterion.h>
#include <getopt.h>
#include <string.h>

#include "common/nearest.h"

TestSuite(nearest, .timeout = 10);

Test(nearest, counts_letters)
{
	static const struct {
		const char *a, *b;
		size_t d;
	} rows[] = {
		{"", "", 0}, {"", "abc", 6}, {"abc", "", 6},
		{"list", "list", 0}, {"lsit", "list", 2}, {"lst", "list", 2},
		{"llist", "list", 2}, {"mist", "list", 2}, {"LIST", "list", 0},
		{"exce", "exec", 2}, {"ca", "abc", 6}, /* each letter once */
		{"kitten", "sitting", 6}, {"no_start", "no-start", 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(nearest_distance(rows[i].a, rows[i].b), rows[i].d,
		    "%s %s", rows[i].a, rows[i].b);
		cr_expect_eq(nearest_distance(rows[i].b, rows[i].a), rows[i].d,
		    "%s %s, turned round", rows[i].a, rows[i].b);
	}
}

Test(nearest, finds_what_was_meant)
{
	static const char *const words[] = {"exec", "list", "log", "lanes",
	    "kill", "status", "send-keys", NULL};
	static const struct {
		const char *wanted, *found;
	} rows[] = {
		{"exce", "exec"}, {"lits", "list"}, {"stat", "status"},
		{"statsu", "status"}, {"sendkeys", "send-keys"},
		{"send_keys", "send-keys"}, {"lane", "lanes"}, {"klil", "kill"},
		{"LOG", "log"}, {"lo", "log"},
		{"", NULL}, {"x", NULL}, {"frobnicate", NULL}, {"qqq", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *found = nearest_of(rows[i].wanted, words);

		if (rows[i].found == NULL)
			cr_expect_null(found, "%s: %s", rows[i].wanted, found);
		else
			cr_expect(found != NULL &&
			    strcmp(found, rows[i].found) == 0, "%s: %s",
			    rows[i].wanted, found != NULL ? found : "none");
	}
}

Test(nearest, reads_options_as_they_are_typed)
{
	static const struct option options[] = {
		{"runtime-dir", required_argument, NULL, 1},
		{"json", no_argument, NULL, 2}, {0}};

	cr_expect_str_eq(nearest_option("--runtme-dir=/x/json", options),
	    "runtime-dir");
	cr_expect_str_eq(nearest_option("-jsno", options), "json");
	cr_expect_null(nearest_option("--", options));
	cr_expect_null(nearest_option("--=json", options));
}

/* Words of any length; what lies beyond the bound is not looked at. */
Test(nearest, is_bounded)
{
	static char big[100000];
	const char *words[] = {big, "list", NULL};

	memset(big, 'x', sizeof(big) - 1);
	cr_expect_eq(nearest_distance(big, big), 0);
	cr_expect_eq(nearest_distance(big, ""), 2 * NEAREST_MAX);
	cr_expect_str_eq(nearest_of("lits", words), "list");
	cr_expect_eq(nearest_of(big, words), big);
	cr_expect_null(nearest_option(big, (struct option[]){{"json", 0, NULL, 0},
	                                       {0}}));
}
