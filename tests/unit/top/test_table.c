/* SPDX-License-Identifier: MIT */
/* What psup-top shows: the order and the tree of the table, what is concluded
 * from the figures, every view at every size. */
#include "lib_top.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(top_list, .timeout = 20, .init = top_set_up, .fini = top_tear_down);
TestSuite(top_facts, .timeout = 20, .init = top_set_up, .fini = top_tear_down);
TestSuite(top_draw, .timeout = 20, .init = top_set_up, .fini = top_tear_down);

/* The entries as instances; a scope's line as its first letter or 0. */
static void
is_order(const char *wanted)
{
	char got[16] = "";

	cr_assert_eq(list_build(&list, &model), 0);
	for (size_t i = 0; i < list.count; i++) {
		const struct list_entry *e = &list.entries[i];

		if (e->row != NULL)
			got[i] = (char)('0' + e->row->s.instance);
		else
			got[i] = list.scopes[e->scope].name[0] != '\0'
			    ? list.scopes[e->scope].name[0]
			    : '-';
	}
	cr_assert_str_eq(got, wanted, "got %s, not %s", got, wanted);
}

/* -------------------------------------------------------------------- table */

Test(top_list, is_sorted_and_filtered)
{
	is_order("1324"); /* among equals what lives comes first, the newest */
	list.sort = (size_t)column_find("session");
	is_order("2314");
	list.reverse = true;
	is_order("4132");
	list.live_only = true;
	is_order("132");
	snprintf(list.filter, sizeof(list.filter), "A-NAME");
	is_order("2");
	snprintf(list.filter, sizeof(list.filter), "none of them");
	is_order("");
}

Test(top_list, every_column_sorts_and_has_a_key_of_its_own)
{
	for (size_t i = 0; i < column_count; i++) {
		list.sort = i;
		cr_assert_eq(list_build(&list, &model), 0);
		cr_assert_eq(list.count, 4);
		cr_assert_eq(column_find(columns[i].name), (int)i);
		for (size_t j = 0; j < i; j++)
			cr_assert_neq(columns[i].key, columns[j].key);
	}
	cr_assert_eq(column_find("nothing"), -1);
	cr_assert_lt(column_count, LIST_COLUMNS);
}

Test(top_list, is_a_tree_of_scopes)
{
	list.tree = true;
	is_order("-4b2r13");
	cr_assert(list_fold(&list, "red", true));
	is_order("-4b2r");
	cr_assert_eq(list.matching, 4);
	cr_assert(list_fold(&list, "red", false));
	snprintf(list.filter, sizeof(list.filter), "red");
	is_order("r13");
	for (int i = 0; i < LIST_FOLDED; i++) {
		char scope[16];

		snprintf(scope, sizeof(scope), "s%d", i);
		cr_assert(list_fold(&list, scope, true));
	}
	cr_assert_not(list_fold(&list, "one more", true));
	cr_assert(list_fold(&list, "s3", true), "it is folded already");
}

Test(top_list, shows_more_where_there_is_room)
{
	static struct line l;

	list_head(&list, 80, &l);
	cr_assert_null(strstr(l.text, "SCOPE"));
	cr_assert_leq(l.cols, 80);
	list_head(&list, 120, &l);
	cr_assert_not_null(strstr(l.text, "SCOPE"));
	cr_assert_not_null(strstr(l.text, "TOTAL"));
	/* the column of the order always is */
	list.sort = (size_t)column_find("scope");
	list_head(&list, 80, &l);
	cr_assert_not_null(strstr(l.text, "SCOPE▴"));
	/* the name has room on every terminal, and more on a wide one */
	list.sort = (size_t)column_find("rate");
	for (int cols = 40; cols <= 200; cols++) {
		int least = cols < 80 ? 10 : 20;

		list_head(&list, cols, &l);
		cr_assert_str_eq(strstr(l.text, "NAME") != NULL ? "NAME" : "",
		    "NAME");
		cr_assert_geq(cols - (int)l.runs[l.run_count - 1].col, least,
		    "%d columns", cols);
	}
	/* scripts get all of a name */
	snprintf(rows[0].s.id, sizeof(rows[0].s.id),
	    "a-very-long-name-of-a-session");
	cr_assert_eq(list_build(&list, &model), 0);
	list_measure(&list, &model);
	list_line(&list, &model, &(struct list_entry){&rows[0], 0}, 0, &l);
	cr_assert_not_null(strstr(l.text, "a-very-long-name-of-a-session "));
}

/* -------------------------------------------------------------------- facts */

Test(top_facts, know_the_server)
{
	struct top_process *master = &model.processes[1];

	cr_assert_eq(facts_server(&model), SERVER_RUNS);
	master->p.heartbeat_age_ms = 5000;
	cr_assert_eq(facts_server(&model), SERVER_MASTER_SILENT);
	master->state = 'T';
	cr_assert_eq(facts_server(&model), SERVER_MASTER_STOPPED);
	master->exists = false;
	cr_assert_eq(facts_server(&model), SERVER_MASTER_DOWN);
	model.processes[0].exists = false;
	cr_assert_eq(facts_server(&model), SERVER_DOWN);
	model.process_count = 0;
	cr_assert_eq(facts_server(&model), SERVER_DOWN);
}

Test(top_facts, know_who_holds_a_lane)
{
	cr_assert_eq(model.lanes[0].holders, 2);
	cr_assert_str_eq(model.lanes[0].holder, "c-name");
	cr_assert_eq(model.lanes[0].holder_ms, 19000);
	cr_assert_eq(model.lanes[0].wait_ms, 17000, "b-name waits");
}

Test(top_facts, know_rates_and_who_waits)
{
	struct top_row before[2] = {rows[0], rows[1]};

	before[0].s.total_bytes = 60;
	before[1].s.total_bytes = 999; /* it counts anew */
	model.before = before;
	model.before_count = 2;
	model.totals.started_ever = 30;
	model.totals_before.started_ever = 10;
	facts_rates(&model, 2);
	cr_assert_float_eq(rows[0].output_rate, 20, 0.01);
	cr_assert_float_eq(rows[1].output_rate, 0, 0.01);
	cr_assert_float_eq(rows[2].output_rate, 150, 0.01, "it is new");
	cr_assert_float_eq(model.starts_rate, 10, 0.01);
	cr_assert_eq(rows[0].input, INPUT_IDLE, "19 s without output");
	cr_assert_eq(rows[3].input, INPUT_CLOSED);
	cr_assert_eq(facts_idle(20000, &rows[3]), -1);
	cr_assert_eq(facts_age(&model, &rows[3]), 5000);
	cr_assert_eq(facts_find(&model, 3), &rows[2]);
	cr_assert_null(facts_find(&model, 5));
}

Test(top_facts, remember_a_minute)
{
	static struct line l;

	history_clear(&model.history);
	for (uint64_t s = 1; s <= 8; s++) {
		model.mono_ns = s * 1000000000 + 1;
		model.totals.running = (uint32_t)s - 1;
		model.totals.started_ever = s * s; /* all of a second count */
		history_add(&model.history, &model);
		history_add(&model.history, &model); /* the same second */
	}
	line_init(&l, 80);
	history_line(&model.history, model.history.running, "running", 40, &l);
	cr_assert_str_eq(l.text, "  running ▁▂▃▄▅▆▇█");
	line_init(&l, 80);
	history_line(&model.history, model.history.starts, "starts", 40, &l);
	cr_assert_str_eq(l.text, "  starts ▁▂▃▄▅▆▇█");
	/* an hour without a look */
	model.mono_ns += 3600u * 1000000000ull;
	model.totals.running = 1;
	history_add(&model.history, &model);
	line_init(&l, 80);
	history_line(&model.history, model.history.running, "r", 16, &l);
	cr_assert_str_eq(l.text, "  r ████████████");
	line_init(&l, 80);
	history_line(&model.history, model.history.running, "r", 15, &l);
	cr_assert_str_eq(l.text, "", "too narrow for a picture");
}

/* --------------------------------------------------------------------- draw */

Test(top_draw, fits_every_terminal)
{
	static const char *const views[] = {"", "f", "d", "z", "\033\033l",
	    "\033w", "\033h", "\033/xyz", "\033k", "\033t"};

	for (int cols = 1; cols <= 250; cols += cols < 90 ? 1 : 40)
		for (int rows_ = 1; rows_ <= 50; rows_ += 7)
			for (size_t v = 0; v < 10; v++) {
				ui.rows = frame.rows = rows_;
				ui.cols = frame.cols = cols;
				type(views[v]);
				ui_rebuild(&ui);
				draw(&ui, &pane, &frame);
				for (int i = 0; i < rows_; i++)
					cr_assert_leq(frame.lines[i].cols,
					    cols);
			}
}

Test(top_draw, has_a_short_header_on_a_small_terminal)
{
	cr_assert(shows("psup  running  up 10s  workers 1  restarts 2"));
	cr_assert(shows("running 0  queued 0  ended 0  failed 0  out 0/s"));
	cr_assert(shows("main 2/2 +1 held by c-name 19s and 1"));
	cr_assert_not(shows("gen 3"));
	model.processes[2].exists = false;
	model.processes[1].p.heartbeat_age_ms = 4000;
	cr_assert(shows("workers 0  down 1  silent 1  restarts 2"));
	/* a keeper that has nothing to do turns every 5 s */
	model.processes[1].p.role = "keeper";
	model.processes[1].p.heartbeat_age_ms = 5200;
	cr_assert_not(shows("silent"));
	model.processes[1].p.heartbeat_age_ms = 8200;
	cr_assert(shows("silent 1"));
	/* five of ten lines are left */
	ui.rows = frame.rows = 10;
	ui_rebuild(&ui);
	cr_assert_eq(ui_table_lines(&ui), 5);
	ui.rows = frame.rows = 32;
	cr_assert(shows("gen 3"));
	type("H");
	cr_assert_not(shows("gen 3"));
}

Test(top_draw, has_a_header_that_says_all)
{
	type("H");
	cr_assert(shows("psup  running  up 10s"));
	cr_assert(shows("master 11 gen 3 restarts 2 beat 0.4s"));
	cr_assert(shows("worker 0 12 gen 1 restarts 0"));
	cr_assert(shows("main 2/2 +1 held by c-name 19s and 1"));
	model.state = SERVER_MASTER_STOPPED;
	cr_assert(shows("master stopped"));
	cr_assert(shows("kill -CONT 11"));
	model.state = SERVER_DOWN;
	cr_assert(shows("psupd or any psup exec starts it"));
	model.lanes[0].l.blocked_by = "group";
	cr_assert(shows("main 2/2 +1 its group is full"));
	/* many workers: their sum */
	for (int i = 3; i < TOP_PROCESSES; i++)
		model.processes[i] = model.processes[2];
	model.process_count = TOP_PROCESSES;
	cr_assert(shows("workers 62  down 0"));
}

Test(top_draw, says_who_is_in_a_box)
{
	static struct line l;

	cr_assert_not(shows("boxes"));
	model.totals.boxes = 2;
	model.totals.boxed = 1;
	rows[0].s.boxed = true;
	cr_assert(shows("  boxes 2"));
	type("H");
	cr_assert(shows("boxes 2  inside 1"));
	list_head(&list, 127, &l);
	cr_assert_null(strstr(l.text, "HOST"));
	list_head(&list, 128, &l);
	cr_assert_not_null(strstr(l.text, "HOST"));
	list_line(&list, &model, &(struct list_entry){&rows[0], 0}, 128, &l);
	cr_assert_not_null(strstr(l.text, " sandbox "));
	list_line(&list, &model, &(struct list_entry){&rows[1], 0}, 128, &l);
	cr_assert_not_null(strstr(l.text, " gateway "));
}

Test(top_draw, has_bars_of_lanes_and_help_beside_help)
{
	type("l");
	cr_assert(shows("[||||||||||||] main     2/2      1     17s c-name 19s "
	                "and 1"));
	model.lanes[0].l.active = 1;
	cr_assert(shows("[||||||      ] main     1/2"));
	/* what is of a column stands in it, whatever the lane's name */
	ui.cols = frame.cols = 80;
	model.lane_count = 2;
	model.lanes[1] = model.lanes[0];
	snprintf(model.lanes[1].l.name, sizeof(model.lanes[1].l.name),
	    "a-lane-with-a-name-of-30-cells");
	cr_assert(shows("[||||||      ] main                     1/2      1"));
	cr_assert(shows("[||||||      ] a-lane-with-a-name-\u2026     1/2      1"));
	cr_assert(shows("LANE                 RUNNING QUEUED LONGEST HELD BY"));
	model.lanes[0].l.blocked_by = "group";
	cr_assert(shows("     17s its group is full"));
	type("h");
	ui.rows = frame.rows = 50;
	ui.cols = frame.cols = 160;
	cr_assert(shows("the one above"));
	cr_assert(shows("Sort by a column"), "all of it is there");
	cr_assert_eq(ui.scroll_max, 0);
	/* wrapped where it stands in two columns, and nothing is cut */
	for (ui.cols = 60; ui.cols <= 200; ui.cols++) {
		frame.cols = ui.cols;
		ui.rows = frame.rows = 90;
		cr_assert_not(shows("\u2026"), "%d", ui.cols);
		cr_assert(shows("NAME") || shows("name"), "%d", ui.cols);
		for (int i = 0; i < frame.rows; i++)
			cr_assert_leq(frame.lines[i].cols, ui.cols);
	}
}

Test(top_list, has_room_for_a_place_in_any_queue)
{
	char text[COLUMN_TEXT];

	for (unsigned place = 1; place < 1000000; place *= 9) {
		rows[2].s.lane_position = place;
		columns[column_find("state")].text(&model, &rows[2], text,
		    sizeof(text));
		cr_assert_leq(strlen(text), 9, "%s", text);
		cr_assert_eq(strtoul(strchr(text, ' '), NULL, 10), place);
	}
}

Test(top_draw, escapes_everything)
{
	struct ui *u = &ui;

	snprintf(rows[0].s.label, sizeof(rows[0].s.label), "\033]0;x\007");
	snprintf(rows[0].s.scope, sizeof(rows[0].s.scope), "\033[31m");
	snprintf(model.lanes[0].l.name, sizeof(model.lanes[0].l.name),
	    "\033[2J");
	snprintf(model.dir, sizeof(model.dir), "/\033");
	snprintf(model.processes[1].p.last_words, 8, "\033[1m");
	u->rows = frame.rows = 50;
	u->cols = frame.cols = 200;
	for (const char *const *v = (const char *const[]){"", "t", "d", "\033l",
	         "\033w", NULL};
	     *v != NULL; v++) {
		type(*v);
		pane_details(&pane, &model, &rows[0], 30, 0, 200);
		draw(u, &pane, &frame);
		for (int i = 0; i < 50; i++)
			for (size_t b = 0; b < frame.lines[i].len; b++)
				cr_assert_geq(
				    (unsigned char)frame.lines[i].text[b], ' ');
	}
}

Test(top_draw, has_details)
{
	pane_details(&pane, &model, &rows[2], 30, 0, 80);
	cr_assert_eq(pane.back_max, 0);
	type("d");
	ui.chosen = 1;
	cr_assert(shows("details of b-name"));
	cr_assert(shows("main, place 1 in its queue  held by c-name"));
	pane_details(&pane, &model, &rows[2], 3, 0, 80);
	cr_assert_eq(pane.count, 3);
	cr_assert_gt(pane.back_max, 3);
}

/* A lane of a name; `active` and `queued` say what it does. */
static void
lane(const char *name, unsigned active, unsigned queued)
{
	struct top_lane *l = &model.lanes[model.lane_count++];

	l->l = (struct psup_view_lane){.width = 9, .active = active,
	    .queued = queued, .blocked_by = ""};
	snprintf(l->l.name, sizeof(l->l.name), "%s", name);
}

Test(top_draw, has_lanes_in_use_first_and_tells_of_more)
{
	static const char *const order[] = {"waits", "lane2", "lane10", "idle",
	    "spare9", "spare10"};
	char name[16];

	model.lane_count = 0;
	lane("idle", 0, 0);
	lane("lane10", 1, 0);
	lane("lane2", 1, 0);
	lane("waits", 0, 1);
	for (int i = 9; i < 39; i++) {
		snprintf(name, sizeof(name), "spare%d", i);
		lane(name, 0, 0);
	}
	facts_sort_lanes(&model);
	for (size_t i = 0; i < 6; i++)
		cr_expect_str_eq(model.lanes[i].l.name, order[i]);
	/* more follow below */
	ui.rows = frame.rows = 24;
	ui.cols = frame.cols = 80;
	type("l");
	cr_expect(shows("HELD BY  1-19 of 34"));
	ui_move(&ui, 1000);
	cr_expect(shows("HELD BY  16-34 of 34"));
	ui.rows = frame.rows = 50;
	cr_expect(shows("(p: pause)"), "all fit");
	/* who is chosen stays so when the order changes */
	ui_move(&ui, -1000);
	ui_move(&ui, 1);
	cr_assert_str_eq(ui_lane(&ui)->l.name, "lane2");
	model.lanes[2].l.queued = 1;
	facts_sort_lanes(&model);
	ui_rebuild(&ui);
	cr_expect_str_eq(ui_lane(&ui)->l.name, "lane2");
	cr_expect_eq(ui.lane, 2);
}
