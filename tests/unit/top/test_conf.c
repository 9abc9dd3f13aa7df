/* SPDX-License-Identifier: MIT */
/* Columns that are chosen, and what top.conf may say. */
#include "lib_top.h"
#include "tools/top/conf.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(top_columns, .timeout = 20, .init = top_set_up,
    .fini = top_tear_down);

/* The columns of a table so wide. */
static void
are(int width, const char *wanted)
{
	size_t shown[LIST_COLUMNS], count = list_shown(&list, width, shown);
	char got[256] = "";

	for (size_t i = 0; i < count; i++)
		strcat(strcat(got, i > 0 ? " " : ""), columns[shown[i]].name);
	cr_assert_str_eq(got, wanted, "%d: %s", width, got);
}

Test(top_columns, are_chosen_and_drop_out_where_there_is_no_room)
{
	char why[160], text[256];

	cr_assert(list_columns_take(&list, "name, rss  session,cpu", why,
	    sizeof(why)));
	list.sort = (size_t)column_find("age");
	are(0, "rss session cpu name");
	are(200, "rss session cpu name");
	are(40, "rss session cpu name");
	are(30, "rss session name");
	are(1, "rss name");
	list_columns_text(&list, text, sizeof(text));
	cr_assert_str_eq(text, "rss session cpu name");
	cr_assert_not(list_columns_take(&list, "age namme", why, sizeof(why)));
	cr_assert_str_eq(why,
	    "\"namme\" is no column; did you mean name?");
	cr_assert_not(list_columns_take(&list, "age age", why, sizeof(why)));
	cr_assert_not(list_columns_take(&list, " , ", why, sizeof(why)));
	are(0, "rss session cpu name"); /* as it was */
	/* every width, every order: within the terminal, and a name has room */
	list.chosen_count = 0;
	cr_assert(list_column_toggle(&list, (size_t)column_find("scope")));
	for (int width = 40; width < 200; width++) {
		static struct line l;

		list_head(&list, width, &l);
		cr_assert_leq(l.cols, width);
		cr_assert_not_null(strstr(l.text, "NAME"), "%d", width);
		cr_assert_null(strstr(l.text, "SCOPE"));
	}
}

Test(top_columns, are_taken_in_and_out_and_moved)
{
	size_t age = (size_t)column_find("age");

	type("c");
	cr_assert(shows("[x] session"));
	type("  "); /* out, and then the one that stands there */
	cr_assert(shows("[ ] session"));
	cr_assert(ui.columns_changed);
	cr_assert_not(ui.keep_columns);
	cr_assert_eq(list_columns_offer(&list, column_count - 2), 0);
	type("c");
	cr_assert(ui.keep_columns);
	cr_assert_eq(list_columns_offer(&list, 3), age);
	cr_assert_eq(list_column_move(&list, age, false), 2);
	cr_assert_eq(list_column_move(&list, age, false), 1);
	cr_assert_eq(list_column_move(&list, age, false), 0);
	cr_assert_eq(list_column_move(&list, age, false), 0, "the first");
	/* NAME stays last, and one stays */
	cr_assert_eq(list_column_move(&list, column_count - 1, false),
	    list.chosen_count - 1);
	while (list.chosen_count > 1)
		cr_assert(list_column_toggle(&list, list.chosen[0]));
	cr_assert_not(list_column_toggle(&list, list.chosen[0]));
	cr_assert(shows("NAME"));
	for (size_t i = 0; i < column_count; i++)
		if (!list_column_is_chosen(&list, i))
			cr_assert(list_column_toggle(&list, i));
	cr_assert_eq(list.chosen_count, column_count);
}

/* Is it refused, with that in the reason? */
static void
refused(const char *text, const char *wanted)
{
	struct conf c;
	char why[CONF_WHY];

	c.has_sort = true;
	cr_assert_not(conf_parse(text, strlen(text), &c, why, sizeof(why)));
	cr_assert_not_null(strstr(why, wanted), "%s", why);
	cr_assert(c.has_sort, "nothing was taken");
}

Test(top_conf, takes_all_or_nothing_and_says_why, .timeout = 20)
{
	static const char good[] = "# mine\n\n columns =age,name\r\nsort= cpu\n"
	                           "reverse = yes\nmouse = no\ncolours = yes";
	char why[CONF_WHY], long_line[1000];
	struct conf c;

	cr_assert(conf_parse(good, sizeof(good) - 1, &c, why, sizeof(why)));
	cr_assert_eq(c.list.chosen_count, 2);
	cr_assert_eq(c.list.sort, (size_t)column_find("cpu"));
	cr_assert(c.has_sort && c.list.reverse && c.no_mouse);
	cr_assert_not(c.list.tree || c.monochrome);
	cr_assert(conf_parse("", 0, &c, why, sizeof(why)));
	cr_assert_eq(c.list.chosen_count, 0);
	refused("\nsort cpu\n", "line 2: \"sort cpu\": name = value");
	refused("srot = cpu\n", "line 1: \"srot\" is no setting; did you mean "
	                        "sort?");
	refused("sort = cup", "\"cup\" is no column");
	refused("tree = maybe", "\"maybe\" is neither yes nor no");
	refused("tree = yes\ntree = no", "line 2: tree is there twice");
	refused("columns = age age", "is there twice");
	refused("columns =", "no column is named");
	refused("= yes", "is no setting");
	memset(long_line, 'a', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	refused(long_line, "line 1: no line of text");
	cr_assert_not(conf_parse("tree = yes\0", 11, &c, why, sizeof(why)));
}

Test(top_conf, survives_whatever_a_file_has, .timeout = 60)
{
	static const char *const parts[] = {"columns", "sort", "tree", " ", "=",
	    "\n", "age", "name", ",", "yes", "#", "\xff", "\t", "=="};
	char text[256], why[CONF_WHY], out[CONF_BYTES];
	struct conf c;

	srand(15);
	for (int i = 0; i < 200000; i++) {
		size_t len = 0;

		for (int n = rand() % 20; n > 0; n--) {
			const char *p = parts[(size_t)rand() %
			    (sizeof(parts) / sizeof(parts[0]))];

			memcpy(text + len, p, strlen(p));
			len += strlen(p);
		}
		text[len] = '\0';
		if (!conf_parse(text, len, &c, why, sizeof(why)))
			continue;
		/* what was right is still right with other columns */
		cr_assert(conf_with_columns(text, "cpu name", out,
		    sizeof(out)));
		cr_assert(conf_parse(out, strlen(out), &c, why, sizeof(why)),
		    "%s: %s", why, out);
		cr_assert_eq(c.list.chosen_count, 2);
	}
}

Test(top_conf, changes_one_line_of_a_file, .timeout = 20)
{
	char out[256];

	cr_assert(conf_with_columns("# a\n columns = age\nsort = cpu", "name",
	    out, sizeof(out)));
	cr_assert_str_eq(out, "# a\ncolumns = name\nsort = cpu\n");
	cr_assert(conf_with_columns("# columns = age\n", "name", out,
	    sizeof(out)));
	cr_assert_str_eq(out, "# columns = age\ncolumns = name\n");
	cr_assert(conf_with_columns("columns = age\n", "", out, sizeof(out)));
	cr_assert_str_eq(out, "");
	cr_assert_not(conf_with_columns("# a\n", "name", out, 10));
}
