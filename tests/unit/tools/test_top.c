/* SPDX-License-Identifier: MIT */
/* psup-top's decisions: text in columns, the order and the tree of the table,
 * the header, what keys do, what is asked of the server. */
#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

#include "tools/top/cells.h"
#include "tools/top/draw.h"
#include "tools/top/header.h"
#include "tools/top/proc.h"

#define SIZE 512

/* Fits a text and compares text and columns. */
static void
fits(const char *text, int width, bool right, const char *wanted, int wide)
{
	char got[SIZE];
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
	fits("abcdef", 4, false, "abc…", 4);
	fits("abcdef", 1, false, "a", 1);
	fits("abc", 0, false, "abc", 3);
	fits("", 2, false, "  ", 2);
	fits("a\tb", 12, false, "a       b   ", 12);
}

Test(top_cells, count_wide_characters_twice, .timeout = 20, .init = use_utf8)
{
	fits("日本", 6, false, "日本  ", 6);
	/* half a character is never shown */
	fits("日本語", 4, false, "日… ", 4);
	fits("e\xcc\x81x", 3, false, "e\xcc\x81x ", 3);
	/* a mark without its letter, and more marks than a cell holds */
	fits("\xcc\x81x", 2, false, "x ", 2);
	fits("e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81x", 3, false,
	    "e\xcc\x81\xcc\x81\xcc\x81x ", 3);
	/* what the C library takes for wider than utf8proc: U+4DC9 */
	fits("\xe4\xb7\x89x", 4, false, "\xe4\xb7\x89x ", 4);
	cr_assert_eq(cells_width("日本\033"), 8);
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
	static const struct {
		double bytes;
		const char *text;
	} bytes[] = {{999, "999"}, {1000, "1.0K"}, {1536, "1.5K"},
	    {20.0 * 1024 * 1024, "20M"}, {1023.0 * 1024, "1.0M"}, {-1, "-"}};
	static const struct {
		uint64_t ms;
		const char *text;
	} ages[] = {{59999, "59s"}, {125000, "2m05"}, {5400000, "1h30"},
	    {90061000, "1d01"}};
	char got[32];

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		cells_bytes(bytes[i].bytes, got, sizeof(got));
		cr_assert_str_eq(got, bytes[i].text);
	}
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		cells_age(ages[i].ms, got, sizeof(got));
		cr_assert_str_eq(got, ages[i].text);
	}
}

Test(top_line, is_cut_and_keeps_its_runs, .timeout = 20, .init = use_utf8)
{
	static struct line l;

	line_init(&l, 10);
	line_put(&l, STYLE_BOLD, "abc");
	line_text(&l, STYLE_PLAIN, "日\033");
	line_put(&l, STYLE_DIM, "much more");
	cr_assert_str_eq(l.text, "abc日\\x1bm");
	cr_assert_eq(l.cols, 10);
	cr_assert_eq(l.run_count, 3);
	cr_assert_eq(l.runs[2].col, 9);
	line_put(&l, STYLE_BAD, "x");
	cr_assert_eq(l.cols, 10, "nothing is behind the end");
	/* more looks than a line can have */
	line_init(&l, 0);
	for (uint32_t i = 0; i < 2 * LINE_RUNS; i++)
		line_put(&l, i % 2, "x");
	cr_assert_eq(l.run_count, LINE_RUNS);
	cr_assert_eq(l.len, 2 * LINE_RUNS);
	/* and more text */
	for (unsigned i = 0; i < LINE_BYTES; i++)
		line_put(&l, STYLE_PLAIN, "日");
	cr_assert_lt(l.len, LINE_BYTES);
}

Test(top_proc, takes_a_hostile_name_apart, .timeout = 20)
{
	struct proc_stat st;

	cr_assert(proc_parse_stat("12 (a) R 1 (b)) S 7 3 3 9 3 0 0 0 0 0 "
	                          "10 20 1 2 20 0 1 0 555 100 42 9", &st));
	cr_assert_str_eq(st.name, "a) R 1 (b)");
	cr_assert_eq(st.state, 'S');
	cr_assert_eq(st.parent, 7);
	cr_assert_eq(st.ticks, 33);
	cr_assert_eq(st.born, 555);
	cr_assert_eq(st.rss_pages, 42);
	cr_assert(st.foreground);
	cr_assert_not(proc_parse_stat("12 (a) S 7", &st));
	cr_assert_not(proc_parse_stat("", &st));
	cr_assert_not(proc_parse_stat(")(", &st));
}

/* ------------------------------------------------------------------- actors */

static struct top_model model;
static struct top_list list;
static struct top_row rows[4];
static struct ui ui;
static struct pane pane;
static struct frame frame;

/* Four sessions of two scopes: two run in lane main, one waits for it, one
 * ended. The server runs. */
static void
set_up(void)
{
	static const char *const ids[] = {"c-name", "a-name", "b-name",
	    "d-name"};
	static const char *const scopes[] = {"red", "blue", "red", ""};

	use_utf8();
	for (unsigned i = 0; i < 4; i++) {
		struct top_row *r = &rows[i];

		r->s.instance = i + 1;
		r->s.state = i == 2 ? "queued" : i < 2 ? "running" : "ended";
		r->s.status = i < 3 ? "running" : "completed";
		r->s.reason = "none";
		r->s.created_ms = 1000 * (i + 1);
		r->s.started_ms = i == 2 ? 0 : r->s.created_ms;
		r->s.ended_ms = i == 3 ? 9000 : 0;
		r->s.exit_code = i == 3 ? 0 : -1;
		r->s.lane_position = i == 2;
		r->s.stdin_open = i < 2;
		r->s.total_bytes = 100 * (i + 1);
		snprintf(r->s.id, sizeof(r->s.id), "%s", ids[i]);
		snprintf(r->s.scope, sizeof(r->s.scope), "%s", scopes[i]);
		snprintf(r->s.lane, sizeof(r->s.lane), "%s",
		    i < 3 ? "main" : "");
		snprintf(r->s.command, sizeof(r->s.command), "run \033[2J%u",
		    i);
		facts_row(r, 20000);
		r->output_rate = i == 0 ? 50 : 0;
	}
	model.rows = rows;
	model.count = model.room = 4;
	model.now_ms = 20000;
	model.view = (psup_view *)&model; /* there is one; nobody looks */
	model.totals.created_ms = 10000;
	model.processes[0].p = (struct psup_view_process){
	    .role = "keeper", .pid = 10, .slot = -1, .generation = 1};
	model.processes[1].p = (struct psup_view_process){.role = "master",
	    .pid = 11, .slot = -1, .generation = 3, .restarts = 2,
	    .heartbeat_age_ms = 400};
	model.processes[2].p = (struct psup_view_process){
	    .role = "worker", .pid = 12, .slot = 0, .generation = 1};
	model.process_count = 3;
	for (int i = 0; i < 3; i++) {
		model.processes[i].exists = true;
		model.processes[i].state = 'S';
	}
	model.lanes[0].l = (struct psup_view_lane){.name = "main", .width = 2,
	    .active = 2, .queued = 1, .blocked_by = "width"};
	model.lane_count = 1;
	facts_holders(&model);
	model.state = facts_server(&model);
	list.sort = (size_t)column_find("rate");
	ui.model = &model;
	ui.list = &list;
	ui.rows = frame.rows = 24;
	ui.cols = frame.cols = 80;
	ui.delay_ms = 1000;
	frame.lines = calloc(200, sizeof(*frame.lines));
	cr_assert_not_null(frame.lines);
	ui_rebuild(&ui);
}

static void
tear_down(void)
{
	list_fini(&list);
	pane_fini(&pane);
	free(frame.lines);
}

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

/* Types each character. */
static void
type(const char *keys)
{
	for (; *keys != '\0'; keys++)
		keys_press(&ui, *keys);
}

/* Draws, and tells whether a line holds a text. */
static bool
shows(const char *text)
{
	draw(&ui, &pane, &frame);
	for (int i = 0; i < frame.rows; i++)
		if (strstr(frame.lines[i].text, text) != NULL)
			return true;
	return false;
}

TestSuite(top_list, .timeout = 20, .init = set_up, .fini = tear_down);
TestSuite(top_facts, .timeout = 20, .init = set_up, .fini = tear_down);
TestSuite(top_keys, .timeout = 20, .init = set_up, .fini = tear_down);
TestSuite(top_draw, .timeout = 20, .init = set_up, .fini = tear_down);

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

/* --------------------------------------------------------------------- keys */

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

Test(top_draw, has_a_header_that_says_all)
{
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
