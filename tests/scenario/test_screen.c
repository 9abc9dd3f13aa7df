/* SPDX-License-Identifier: MIT */
/* The screen of a terminal: drawn when asked, from what is retained. */
#include <stdlib.h>
#include <string.h>

#include "lib_scn.h"

#define on_terminal(...) background(YES("pty"), __VA_ARGS__)

static struct answer *
screen_of(const char *id)
{
	struct answer *a = ask("screen", STR("sessionId", id));

	expect_ok(a);
	return a;
}

static void
end(const char *id)
{
	ask("kill", STR("sessionId", id), INT("graceMs", 0));
}

SCENARIO(screen, tells_lines_cursor_and_title)
{
	const psup_value *cursor, *runs, *run;
	const char *id;
	struct answer *a;

	psupd();
	id = on_terminal(STR("command",
	    "printf 'main\\033]2;the title\\007'; printf '\\033[?1049h"
	    "\\033[2;3H\\033[1;31mred\\033[m \\033[48;2;1;2;3mrgb\\033[m"
	    "\\033[?25l'; read x; printf '\\033[?1049l\\033[?25h'; read x"),
	    INT("cols", 20), INT("rows", 4));
	await_screen(id, "rgb");
	a = ask("screen", STR("sessionId", id), YES("cells"));
	expect_ok(a);
	expect_int(a, "cols", 20);
	expect_int(a, "rows", 4);
	expect_str(a, "title", "the title");
	expect_flag(a, "alternate", true);
	expect_flag(a, "approximate", false);
	expect_flag(a, "truncated", false);
	expect(strcmp(screen_line_of(a, 0), "") == 0);
	expect(strcmp(screen_line_of(a, 1), "  red rgb") == 0);
	expect(strcmp(words_of(a), "\n  red rgb") == 0);
	cursor = psup_value_get(details(a), "cursor");
	expect(psup_get_int(cursor, "row", -1) == 1);
	expect(psup_get_int(cursor, "col", -1) == 9);
	expect(!psup_get_bool(cursor, "visible", true));
	runs = psup_value_at(psup_value_get(details(a), "runs"), 1);
	run = psup_value_at(runs, 1);
	expect(psup_get_is(run, "text", "red"));
	expect(psup_get_bool(run, "bold", false));
	expect(psup_get_int(run, "fg", -1) == 1);
	expect(psup_get_is(psup_value_at(runs, 3), "bg", "#010203"));
	expect_ok(ask("submit", STR("sessionId", id)));
	a = await_screen(id, "main");
	expect_flag(a, "alternate", false);
	a = ask("screen", STR("sessionId", id), NO("trim"));
	expect(strlen(screen_line_of(a, 0)) == 20);
	end(id);
	/* what it showed last */
	expect(strcmp(screen_line_of(screen_of(id), 0), "main") == 0);
}

SCENARIO(screen, of_a_thousand_rows_is_whole)
{
	const psup_value *lines, *runs;
	struct answer *a;
	const char *id;

	psupd();
	id = background(STR("command", "seq 990; cat"), YES("pty"),
	    INT("cols", 1000), INT("rows", 1000));
	await_screen(id, "990");
	a = ask("screen", STR("sessionId", id), YES("cells"));
	expect_flag(a, "truncated", false);
	lines = psup_value_get(details(a), "lines");
	runs = psup_value_get(details(a), "runs");
	expect(psup_value_count(lines) == 1000);
	expect(psup_value_count(runs) == 1000);
	for (size_t i = 0; i < 990; i++)
		expect(atoi(screen_line_of(a, i)) == (int)i + 1, "row %zu", i);
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
}

SCENARIO(screen, is_refused_where_there_is_none)
{
	struct peer *alice, *bob;
	const char *id;
	struct answer *a;

	psupd();
	id = background(STR("command", "sleep 100"));
	expect_refused(ask("screen", STR("sessionId", id)), "no-terminal");
	end(id);
	expect_refused(ask("screen", STR("sessionId", "no-such")),
	    "not-found");
	alice = peer("alice");
	bob = peer("bob");
	a = ask_as(alice, "exec", STR("command", "echo mine; sleep 100"),
	    YES("pty"), YES("background"));
	id = id_of(a);
	await_screen(id, "mine");
	expect_refused(ask_as(bob, "screen", STR("sessionId", id)),
	    "not-found");
	expect_text(ask_as(alice, "screen", STR("sessionId", id)), "mine");
	end(id);
}

/* A line was wrapped at the size it had when it was written. */
SCENARIO(screen, knows_the_size_of_each_time)
{
	const char *id;
	struct answer *a;

	psupd();
	id = on_terminal(STR("command",
	    "stty -echo; printf 0123456789abcde; read x; "
	    "printf '\\r\\nABCDEFGHIJKLMNOP'; read x"),
	    INT("cols", 10), INT("rows", 8));
	await_screen(id, "abcde");
	expect_ok(ask("resize", STR("sessionId", id), INT("cols", 40),
	    INT("rows", 8)));
	expect_ok(ask("submit", STR("sessionId", id)));
	a = await_screen(id, "P");
	expect_int(a, "cols", 40);
	expect(strcmp(screen_line_of(a, 0), "0123456789") == 0);
	expect(strcmp(screen_line_of(a, 1), "abcde") == 0);
	expect(strcmp(screen_line_of(a, 2), "ABCDEFGHIJKLMNOP") == 0);
	expect_flag(a, "approximate", false);
	/* and still do when others have taken over */
	kill_worker_of(id);
	kill_master();
	a = screen_of(id);
	expect(strcmp(screen_line_of(a, 1), "abcde") == 0);
	expect(strcmp(screen_line_of(a, 2), "ABCDEFGHIJKLMNOP") == 0);
	end(id);
}

SCENARIO(screen, says_what_is_not_retained)
{
	const char *id;
	struct answer *a;

	psupd();
	id = on_terminal(STR("command",
	    "printf '\\033]0;kept\\007'; i=0; while [ $i -lt 20000 ]; do "
	    "printf '\\033[32mline \\033[m%d of many\\n' $i; i=$((i+1)); done; "
	    "printf over; read x"),
	    INT("rows", 5));
	a = await_screen(id, "over");
	expect_flag(a, "approximate", true);
	expect(number_of(a, "droppedBytes") > 100000);
	expect_str(a, "title", "kept");
	expect(strcmp(screen_line_of(a, 3), "line 19999 of many") == 0);
	expect(strcmp(screen_line_of(a, 4), "over") == 0);
	expect_text(a, "not retained");
	end(id);
}

/* One draws, the others wait; nobody else does. */
SCENARIO(screen, many_ask_at_once)
{
	struct question *q[40];
	const char *id;
	size_t i;

	psupd();
	id = on_terminal(STR("command",
	    "i=0; while [ $i -lt 10000 ]; do echo line $i of many; "
	    "i=$((i+1)); done; printf over; read x"),
	    INT("cols", 1000), INT("rows", 1000));
	await_screen(id, "over");
	for (i = 0; i < 40; i++)
		q[i] = ask_later(NULL, "screen", STR("sessionId", id));
	expect_ok(ask("list"));
	expect(!is_answered(q[39]), "a list comes before the last screen");
	give_up(q[0]);
	give_up(q[20]);
	for (i = 1; i < 40; i++)
		if (i != 20)
			expect_text(answer_of(q[i]), "over");
	/* their session goes while they wait */
	for (i = 0; i < 40; i++)
		q[i] = ask_later(NULL, "screen", STR("sessionId", id));
	expect_ok(ask("remove", STR("sessionId", id)));
	for (i = 0; i < 40; i++)
		answer_of(q[i]);
}

SCENARIO(screen, is_seen_from_the_command_line_and_from_memory)
{
	struct psup_view_session row;
	struct psup_screen_facts f;
	struct psup_screen_cell cell;
	psup_screen_image *image;
	char line[400];
	const char *id;
	psup_view *v;
	struct run *r;

	psupd();
	id = on_terminal(STR("command",
	    "printf 'a \\033[1;34mword\\033[m\\r\\n\\346\\227\\245!'; read x"),
	    INT("cols", 20), INT("rows", 4));
	await_screen(id, "!");
	r = cli("screen", id);
	expect_exit(r, 0);
	expect(strcmp(r->out, "a word\n\u65e5!\n") == 0, "%s", r->out);
	r = cli("screen", id, "--ansi");
	expect(strstr(r->out, "\033[0;1;38;5;4mword\033[0m\n") != NULL);
	r = cli("screen", id, "--json");
	expect(strstr(r->out, "\"cols\":20") != NULL);
	expect_exit(cli("screen", id, "--ansi", "--json"), 2);
	expect_exit(cli("screen"), 2);
	expect_exit(cli("screen", "no-such"), 4);

	expect(psup_view_open(runtime_dir(), &v, NULL, 0) == 0);
	expect(psup_view_find(v, id, &row) == 0);
	expect(psup_view_screen(v, row.instance, &image) == 0);
	psup_screen_facts(image, &f);
	expect(f.cols == 20 && f.rows == 4 && !f.approximate);
	expect(f.cursor_row == 1 && f.cursor_col == 3);
	expect(psup_screen_line(image, 1, line, sizeof(line)) == 4);
	expect(strcmp(line, "\u65e5!") == 0);
	expect(psup_screen_line(image, 1, line, 3) == 0, "cut between");
	expect(psup_screen_cell(image, 0, 2, &cell) == 0);
	expect(strcmp(cell.text, "w") == 0 && cell.fg == 4 && cell.bg == -1 &&
	    cell.attrs == PSUP_SCREEN_BOLD);
	expect(psup_screen_cell(image, 1, 1, &cell) == 0);
	expect(cell.width == 0 && cell.text[0] == '\0');
	expect(psup_screen_cell(image, 4, 0, &cell) == -1);
	psup_screen_free(&image);
	psup_view_close(&v);
	end(id);
}
