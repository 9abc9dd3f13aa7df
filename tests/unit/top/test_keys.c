/* SPDX-License-Identifier: MIT */
/* What keys do in psup-top: what they choose, what they ask before they do it,
 * what is asked of the server. */
#include "lib_top.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define SIZE 512

TestSuite(top_keys, .timeout = 20, .init = top_set_up, .fini = top_tear_down);

Test(top_keys, each_does_one_thing_and_fits_the_help)
{
	struct key_row row;
	char seen[4096] = " ";
	size_t i;

	for (i = 0; keys_row(i, &row); i++) {
		char copy[80], *at = copy, *word;

		/* what no row of the help may be wider than */
		cr_assert_leq(21 + strlen(row.help), 80, "%s", row.help);
		memcpy(copy, row.keys, sizeof(row.keys));
		while ((word = strsep(&at, " ")) != NULL) {
			char wanted[40];

			snprintf(wanted, sizeof(wanted), " %s ", word);
			cr_assert(word[0] == '\0' ||
			        strstr(seen, wanted) == NULL,
			    "%s is there twice", word);
			strcat(strcat(seen, word), " ");
		}
	}
	cr_assert_gt(i, 30);
}

Test(top_keys, choose_and_hold_a_session)
{
	cr_assert_eq(ui_row(&ui), &rows[0]);
	/* nobody chose it: whatever comes first is chosen */
	rows[1].output_rate = 70;
	ui_rebuild(&ui);
	cr_assert_eq(ui_row(&ui), &rows[1]);
	keys_press(&ui, TOPKEY_DOWN);
	cr_assert_eq(ui_row(&ui), &rows[0]);
	rows[0].output_rate = 0;
	ui_rebuild(&ui);
	cr_assert_eq(ui_row(&ui), &rows[0], "it stays chosen");
	keys_press(&ui, TOPKEY_END);
	cr_assert_eq(ui.chosen, 3);
	keys_press(&ui, TOPKEY_DOWN);
	cr_assert_eq(ui.chosen, 3);
	keys_press(&ui, TOPKEY_HOME);
	keys_press(&ui, TOPKEY_UP);
	cr_assert_eq(ui.chosen, 0);
}

Test(top_keys, filter_as_they_are_typed)
{
	type("/blue");
	cr_assert_eq(list.count, 1);
	cr_assert(shows("/blue_  1 of 4"));
	keys_press(&ui, TOPKEY_BACK);
	cr_assert_str_eq(list.filter, "blu");
	keys_press(&ui, 0xe9); /* é */
	keys_press(&ui, TOPKEY_BACK);
	cr_assert_str_eq(list.filter, "blu");
	type("\n");
	cr_assert_eq(ui.prompt, PROMPT_NONE);
	cr_assert_eq(list.count, 1);
	type("/\033");
	cr_assert_eq(list.count, 4);
	for (int i = 0; i < 300; i++)
		type(i == 0 ? "/x" : "x");
	cr_assert_eq(strlen(list.filter), LIST_FILTER - 1);
}

Test(top_keys, sort_fold_and_come_back)
{
	type("I");
	cr_assert_eq(list.sort, (size_t)column_find("session"));
	type(">");
	cr_assert_eq(list.sort, (size_t)column_find("scope"));
	type("<<");
	cr_assert_eq(list.sort, column_count - 1);
	type("tI");
	keys_press(&ui, TOPKEY_END);
	cr_assert_eq(ui_row(&ui), &rows[0]);
	keys_press(&ui, TOPKEY_LEFT);
	cr_assert_null(ui_row(&ui), "its scope is chosen");
	cr_assert_str_eq(ui.chosen_scope, "red");
	cr_assert(shows("▸ red  2 sessions, 2 live"));
	keys_press(&ui, TOPKEY_RIGHT);
	cr_assert_eq(list.count, 7);
	type("td\033");
	cr_assert_eq(ui.pane, PANE_NONE);
	type("l");
	cr_assert_eq(ui.screen, SCREEN_LANES);
	type("\033");
	cr_assert_eq(ui.screen, SCREEN_TABLE);
	type("q");
	cr_assert(ui.quit);
}

Test(top_keys, search_the_output_hit_by_hit)
{
	type("n");
	cr_assert(shows("no output is shown to search"));
	type("fz/Word\n");
	cr_assert_eq(ui.prompt, PROMPT_NONE);
	cr_assert_str_eq(ui.search, "Word");
	cr_assert(ui_searches(&ui));
	pane.back_max = 490;
	cr_assert_not(ui_seek_hit(&ui, &pane));
	cr_assert(shows("what is kept of the output does not have it"));
	pane_add_hit(&pane, 3);
	pane_add_hit(&pane, 100);
	pane_add_hit(&pane, 505);
	type("n");
	cr_assert(ui_seek_hit(&ui, &pane));
	cr_assert_eq(ui.hit_line, 3);
	cr_assert_eq(ui.back, 0, "it is seen");
	cr_assert_not(ui_seek_hit(&ui, &pane), "once");
	type("n");
	cr_assert(ui_seek_hit(&ui, &pane));
	cr_assert(ui.back > 80 && ui.back < 100, "the pane goes there");
	cr_assert(shows("hit 2 of 3 (n N)"));
	type("n");
	cr_assert(ui_seek_hit(&ui, &pane));
	cr_assert_eq(ui.back, 490, "as far as there are lines");
	type("n");
	cr_assert_not(ui_seek_hit(&ui, &pane));
	cr_assert(shows("there is no older one"));
	type("NN");
	cr_assert(ui_seek_hit(&ui, &pane));
	cr_assert_eq(ui.hit, 2, "a refresh between: one step a look");
	type("N");
	cr_assert(ui_seek_hit(&ui, &pane));
	type("N");
	cr_assert_not(ui_seek_hit(&ui, &pane));
	cr_assert(shows("there is no newer one"));
	/* whoever looks elsewhere goes on from there */
	ui.hit = 0;
	ui.back = 50;
	type("n");
	cr_assert(ui_seek_hit(&ui, &pane));
	cr_assert_eq(ui.hit, 2);
	/* fewer than there were */
	pane.hit_count = 1;
	ui_seek_hit(&ui, &pane);
	cr_assert_eq(ui.hit, 1);
	type("\033");
	cr_assert_not(ui_searches(&ui));
	cr_assert_eq(ui.pane, PANE_OUTPUT, "one step back");
	type("N");
	cr_assert_eq(list.sort, (size_t)column_find("name"));
	type("z/blue\n");
	cr_assert_str_eq(list.filter, "blue");
	for (int i = 0; i < 300; i++)
		type(i == 0 ? "n" : "x");
	cr_assert_eq(strlen(ui.search), PANE_SEARCH - 1);
	type("\033");
	cr_assert_str_eq(ui.search, "");
}

Test(top_keys, ask_what_will_be_done_whatever_the_command)
{
	char *command = rows[0].s.command;

	top_use_utf8();
	/* characters of two bytes, none of them cut */
	for (size_t i = 0; i < sizeof(rows[0].s.command) - 2; i += 2)
		memcpy(command + i, "\xc3\xa4", 3);
	for (int cols = 60; cols < 200; cols++) {
		ui.cols = frame.cols = cols;
		type("k");
		cr_assert(shows("...)? TERM, in 5 s KILL [y/N]"), "%d", cols);
		cr_assert_not(shows("\\xc3"), "%d", cols);
		type("n");
	}
}

Test(top_keys, ask_before_they_do)
{
	type("k");
	cr_assert_eq(ui.prompt, PROMPT_CONFIRM);
	cr_assert(shows("kill c-name (run \\x1b[2J0)? TERM, in 5 s KILL [y/N]"));
	type("n");
	cr_assert_not(ui.carry_out);
	cr_assert(shows("not done"));
	type("Ky");
	cr_assert(ui.carry_out);
	cr_assert_eq(ui.action.instance, 1);
	cr_assert(ui.action.now);
	ui.carry_out = false;
	type("p");
	cr_assert(shows("pause lane main? who waits goes on waiting [y/N]"));
	type("y");
	cr_assert_eq(ui.action.kind, ACTION_PAUSE);
	model.lanes[0].l.paused = true;
	type("p");
	cr_assert_eq(ui.action.kind, ACTION_RESUME);
	type("n");
	/* all of a scope */
	type("tG");
	keys_press(&ui, TOPKEY_LEFT);
	type("k");
	cr_assert(shows("kill all of scope red? TERM, in 5 s KILL [y/N]"));
}

Test(top_keys, send_keys_that_were_typed)
{
	type("s\"make all\" Entex");
	keys_press(&ui, TOPKEY_BACK);
	type("r\n");
	cr_assert(shows("send to c-name: \"make all\" Enter [y/N]"));
	type("y");
	cr_assert(ui.carry_out);
	cr_assert_str_eq(ui.action.keys, "\"make all\" Enter");
	type("s  \n");
	cr_assert(shows("nothing sent"));
	keys_press(&ui, TOPKEY_END);
	type("s");
	cr_assert(shows("d-name takes no input"));
}

Test(top_keys, say_why_nothing_can_be_done)
{
	model.state = SERVER_MASTER_STOPPED;
	type("k");
	cr_assert_eq(ui.prompt, PROMPT_NONE);
	cr_assert(shows("cannot kill c-name: the master is stopped (kill -CONT "
	                "11)"));
	model.state = SERVER_MASTER_DOWN;
	type("s");
	cr_assert(shows("cannot send to c-name: the master is down"));
	model.state = SERVER_DOWN;
	type("p");
	cr_assert(shows("cannot pause lane main: the server is down"));
}

/* What the words of typed keys are. */
static void
words(const char *typed, const char *wanted)
{
	char got[SIZE] = "", word[64];

	while (action_next_key(&typed, word, sizeof(word)))
		strcat(strcat(strcat(got, "["), word), "]");
	cr_assert_str_eq(got, wanted);
}

Test(top_actions, take_typed_keys_apart, .timeout = 20)
{
	words("", "");
	words("  C-c  Up ", "[C-c][Up]");
	words("\"ls -l\" Enter", "[ls -l][Enter]");
	words("a\"b c\"d", "[ab cd]");
	words("say\\\"so\\\\ \"not closed", "[say\"so\\][not closed]");
	words("\"\"", "[]");
}
