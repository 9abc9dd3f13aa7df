/* SPDX-License-Identifier: MIT */
/* psup-top: text in columns, figures, the order and the filter of the table. */
#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

#include "tools/top/top.h"

/* Fits a text and compares text and columns. */
static void
fits(const char *text, int width, bool right, const char *wanted, int wide)
{
	char got[TOP_LINE];
	int used = cells_fit(text, width, right, got, sizeof(got));

	cr_assert_str_eq(got, wanted, "%s: got [%s], not [%s]", text, got,
	    wanted);
	cr_assert_eq(used, wide, "%s: %d columns", text, used);
}

/* Characters are UTF-8. */
static void
use_utf8(void)
{
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

Test(top_cells, fit_pad_and_cut, .timeout = 20, .init = use_utf8)
{
	fits("abc", 5, false, "abc  ", 5);
	fits("abc", 5, true, "  abc", 5);
	fits("abcdef", 4, false, "abcd", 4);
	fits("abc", 0, false, "abc", 3);
	fits("", 2, false, "  ", 2);
	fits("a\tb", 12, false, "a       b   ", 12);
}

Test(top_cells, count_wide_characters_twice, .timeout = 20, .init = use_utf8)
{
	fits("日本", 6, false, "日本  ", 6);
	/* half a character is never shown */
	fits("日本", 3, false, "日 ", 3);
	fits("e\xcc\x81x", 3, false, "e\xcc\x81x ", 3);
}

Test(top_cells, show_what_is_hostile_as_text, .timeout = 20, .init = use_utf8)
{
	fits("\033[2Jx", 0, false, "\\x1b[2Jx", 8);
	fits("a\nb", 0, false, "a\\x0ab", 6);
	fits("\xff", 0, false, "\\xff", 4);
	fits("a\t\033", 0, false, "a       \\x1b", 12);
}

Test(top_cells, figures, .timeout = 20)
{
	char got[32];

	cells_bytes(999, got, sizeof(got));
	cr_assert_str_eq(got, "999");
	cells_bytes(1536, got, sizeof(got));
	cr_assert_str_eq(got, "1.5K");
	cells_bytes(20.0 * 1024 * 1024, got, sizeof(got));
	cr_assert_str_eq(got, "20M");
	cells_age(59999, got, sizeof(got));
	cr_assert_str_eq(got, "59s");
	cells_age(125000, got, sizeof(got));
	cr_assert_str_eq(got, "2m05");
	cells_age(90061000, got, sizeof(got));
	cr_assert_str_eq(got, "1d01");
}

/* Three sessions: two that run, one that ended. */
static void
fill(struct top_model *m, struct top_row *rows)
{
	memset(m, 0, sizeof(*m));
	memset(rows, 0, 3 * sizeof(*rows));
	for (unsigned i = 0; i < 3; i++) {
		rows[i].s.instance = i + 1;
		rows[i].s.state = i < 2 ? "running" : "ended";
		rows[i].s.status = i < 2 ? "running" : "completed";
		rows[i].s.created_ms = 1000 * (i + 1);
		rows[i].live = i < 2;
		rows[i].output_rate = i == 0 ? 50 : 0;
		snprintf(rows[i].s.id, sizeof(rows[i].s.id), "%c-name",
		    "cab"[i]);
	}
	m->rows = rows;
	m->count = m->room = 3;
	m->now_ms = 10000;
}

/* Compares the order of the list with instances. */
static void
is_order(struct top_list *l, const struct top_model *m, const char *wanted)
{
	char got[8] = "";

	cr_assert_eq(list_build(l, m), 0);
	for (size_t i = 0; i < l->count; i++)
		got[i] = (char)('0' + l->rows[i]->s.instance);
	cr_assert_str_eq(got, wanted);
}

Test(top_list, is_sorted_and_filtered, .timeout = 20)
{
	struct top_list l = {.sort = (size_t)column_find("rate")};
	struct top_row rows[3];
	struct top_model m;

	fill(&m, rows);
	is_order(&l, &m, "123"); /* among equals what runs comes first */
	l.sort = (size_t)column_find("session");
	is_order(&l, &m, "231");
	l.reverse = true;
	is_order(&l, &m, "132");
	l.live_only = true;
	is_order(&l, &m, "12");
	snprintf(l.filter, sizeof(l.filter), "A-NAME");
	is_order(&l, &m, "2");
	snprintf(l.filter, sizeof(l.filter), "none of them");
	is_order(&l, &m, "");
	list_fini(&l);
}

Test(top_list, each_column_has_a_name_and_a_key_of_its_own, .timeout = 20)
{
	for (size_t i = 0; i < column_count; i++) {
		cr_assert_eq(column_find(columns[i].name), (int)i);
		for (size_t j = 0; j < i; j++)
			cr_assert_neq(columns[i].key, columns[j].key);
	}
	cr_assert_eq(column_find("nothing"), -1);
}
