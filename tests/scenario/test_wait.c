/* SPDX-License-Identifier: MIT */
/* wait: for ends, texts, expressions, silence and bytes; any and all; bounded;
 * and nobody else waits meanwhile. */
#include "lib_scn.h"

#include <stdio.h>
#include <string.h>

TestSuite(wait);

/* Row i of a wait's answer. */
static const psup_value *
row_of(const struct answer *a, size_t i)
{
	return psup_value_at(psup_value_get(details(a), "sessions"), i);
}

static void
expect_row(const struct answer *a, size_t i, const char *id, const char *met)
{
	const psup_value *row = row_of(a, i);
	char got[32] = "nil";

	psup_get_copy(row, "met", got, sizeof(got));
	expect(psup_get_is(row, "sessionId", id), "row %zu is not %s", i, id);
	expect(psup_get_is(row, "met", met), "row %zu: %s, not %s", i, got,
	    met);
}

/* Has a session write, by its stdin. */
static void
feed(const char *id, const char *text)
{
	expect_ok(ask("write", STR("sessionId", id), STR("data", text)));
}

SCENARIO(wait, finds_a_text_that_was_there_before)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("print xxready; hang"));
	await_output(id, "ready");
	a = ask("wait", STR("sessionId", id), STR("text", "ready"));
	expect_str(a, "met", "text");
	expect_str(a, "status", "completed");
	expect_row(a, 0, id, "text");
	expect(psup_get_int(row_of(a, 0), "at", -1) == 2);
	expect(psup_get_int(row_of(a, 0), "next", -1) == 7);
	expect(psup_get_is(row_of(a, 0), "matched", "ready"));
	expect_text(a, "met: text at position 2");
	/* but not behind where it stands */
	a = ask("wait", STR("sessionId", id), STR("text", "ready"),
	    INT("since", 3), INT("timeout", 50));
	expect_str(a, "met", "timeout");
	expect_str(a, "status", "running");
	expect_row(a, 0, id, "timeout");
	a = ask("wait", STR("sessionId", id), STR("text", "ready"),
	    INT("since", -1), INT("timeout", 0));
	expect_str(a, "met", "timeout");
	a = ask("wait", STR("sessionId", id), STR("text", "ready"),
	    INT("timeout", 0));
	expect_str(a, "met", "text");
}

SCENARIO(wait, finds_a_text_in_pieces)
{
	const char *id;
	struct question *q;

	psupd();
	id = background(STR("command", "exec cat"));
	q = ask_later(NULL, "wait", STR("sessionId", id), STR("text", "ready"));
	feed(id, "not yet re");
	await_output(id, "re");
	expect(!is_answered(q));
	feed(id, "a");
	await_output(id, "rea");
	feed(id, "dy!");
	expect_row(answer_of(q), 0, id, "text");
	expect(psup_get_int(row_of(answer_of(q), 0), "at", -1) == 8);
}

SCENARIO(wait, finds_an_expression_in_pieces)
{
	const char *id;
	struct question *q;
	struct answer *a;

	psupd();
	id = background(STR("command", "exec cat"));
	q = ask_later(NULL, "wait", STR("sessionId", id),
	    STR("regex", "^port \\d+$"));
	feed(id, "a port 1\npo");
	await_output(id, "po");
	feed(id, "rt \033[1m80");
	await_output(id, "80");
	feed(id, "80\033[0m\r\nmore");
	a = answer_of(q);
	expect_row(a, 0, id, "regex");
	expect(psup_get_int(row_of(a, 0), "at", -1) == 9);
	expect(psup_get_is(row_of(a, 0), "matched", "port 8080"));
}

/* A prompt has no line's end behind it. */
SCENARIO(wait, finds_the_end_of_a_line_that_pauses)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(STR("command", "printf 'a$ b\\nme:~$ '; cat"));
	a = ask("wait", STR("sessionId", id), STR("regex", "\\$ $"));
	expect_row(a, 0, id, "regex");
	expect(psup_get_int(row_of(a, 0), "at", -1) == 9);
}

SCENARIO(wait, an_end_is_an_end)
{
	const char *id, *found;
	struct answer *a;

	psupd();
	id = background(PUPPET("print no; exit 3"));
	a = ask("wait", STR("sessionId", id), STR("text", "yes"));
	expect_str(a, "met", "exit");
	expect_row(a, 0, id, "exit");
	expect(psup_get_int(row_of(a, 0), "exitCode", -1) == 3);
	/* what was written last is looked at before the end counts */
	found = background(STR("command", "echo last words"));
	a = ask("wait", STR("sessionId", found), STR("regex", "words$"));
	expect_row(a, 0, found, "regex");
	a = ask("wait", STR("sessionId", found), INT("bytes", 11));
	expect_row(a, 0, found, "bytes");
	a = ask("wait", STR("sessionId", found), INT("bytes", 12));
	expect_row(a, 0, found, "exit");
}

SCENARIO(wait, for_silence)
{
	const char *id;
	struct question *q;
	struct answer *a;
	int64_t t0, idle;

	psupd();
	id = background(STR("command", "exec cat"));
	t0 = now_ms();
	q = ask_later(NULL, "wait", STR("sessionId", id), INT("idleMs", 400));
	feed(id, "x");
	await_output(id, "x");
	feed(id, "y");
	await_output(id, "y");
	a = answer_of(q);
	expect_row(a, 0, id, "idle");
	idle = psup_get_int(row_of(a, 0), "idleMs", -1);
	expect(idle >= 390, "%lld", (long long)idle);
	expect(now_ms() - t0 >= 400);
	/* it is silent already */
	expect_row(ask("wait", STR("sessionId", id), INT("idleMs", 1),
	               INT("timeout", 0)),
	    0, id, "idle");
}

SCENARIO(wait, for_bytes)
{
	const char *id;
	struct question *q;
	struct answer *a;

	psupd();
	id = background(STR("command", "exec cat"));
	q = ask_later(NULL, "wait", STR("sessionId", id), INT("bytes", 5));
	feed(id, "four");
	await_output(id, "four");
	expect(!is_answered(q));
	feed(id, "!");
	expect_row(answer_of(q), 0, id, "bytes");
	a = ask("wait", STR("sessionId", id), INT("bytes", 3), INT("since", 3),
	    INT("timeout", 0));
	expect_str(a, "met", "timeout");
	a = ask("wait", STR("sessionId", id), INT("bytes", 2), INT("since", 3));
	expect_str(a, "met", "bytes");
}

SCENARIO(wait, for_any_and_for_all)
{
	const char *a, *b, *c;
	struct question *any, *all;
	struct answer *r;

	psupd();
	a = background(STR("command", "exec cat"));
	b = background(STR("command", "exec cat"));
	c = background(STR("command", "exec cat"));
	any = ask_later(NULL, "wait", LIST("sessionIds", a, b, c),
	    STR("mode", "any"), STR("text", "go"));
	all = ask_later(NULL, "wait", LIST("sessionIds", a, b, c),
	    STR("text", "go"), INT("bytes", 100));
	feed(b, "go");
	r = answer_of(any);
	expect_str(r, "met", "text");
	expect_row(r, 1, b, "text");
	expect(psup_value_type(psup_value_get(row_of(r, 0), "met")) == PSUP_NIL,
	    "not met yet");
	expect(!is_answered(all));
	feed(a, "gogo");
	feed(c, "0123456789012345678901234567890123456789012345678901234567"
	        "89012345678901234567890123456789012345678901234567890123");
	r = answer_of(all);
	expect_str(r, "met", "several");
	expect_row(r, 0, a, "text");
	expect_row(r, 1, b, "text");
	expect_row(r, 2, c, "bytes");
}

SCENARIO(wait, a_removed_session_is_at_its_end)
{
	const char *a, *b;
	struct question *q;
	struct answer *r;

	psupd();
	a = background(STR("command", "exec cat"));
	b = background(STR("command", "exec cat"));
	q = ask_later(NULL, "wait", LIST("sessionIds", a, b),
	    STR("text", "never"));
	expect_ok(ask("remove", STR("sessionId", a)));
	expect(!is_answered(q));
	expect_ok(ask("remove", STR("sessionId", b)));
	r = answer_of(q);
	expect_str(r, "met", "exit");
	expect_row(r, 0, a, "exit");
}

/* Output that went by unseen is counted; a match does not go across. */
SCENARIO(wait, says_what_it_could_not_look_at)
{
	const char *id;
	struct answer *a;

	psupd(.conf = "[exec]\nmax_output_chars = 4096\n"
	              "head_output_chars = 10\n");
	id = background(PUPPET("print begin; bytes 200000; print end; hang"));
	a = ask("wait", STR("sessionId", id), STR("text", "end"));
	expect_row(a, 0, id, "text");
	a = ask("wait", STR("sessionId", id), STR("regex", "end$"));
	expect_row(a, 0, id, "regex");
	expect(psup_get_int(row_of(a, 0), "dropped", -1) > 0);
	expect(psup_get_int(row_of(a, 0), "dropped", -1) <
	    psup_get_int(row_of(a, 0), "at", -1));
}

SCENARIO(wait, bad_conditions_are_refused)
{
	static const struct {
		const char *regex, *words;
	} rows[] = {
		{"a(b", "byte 1: no ) for this ("}, {"(a)\\1", "backreference"},
		{"(?=a)", "linear time"}, {"a*", "always there"},
		{"(a{100}){100}", "too large"}, {"[b-a]", "range"},
	};
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("hang"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a = ask("wait", STR("sessionId", id),
		    STR("regex", rows[i].regex));
		expect_refused_for(a, "invalid-params", "regex");
		expect(strstr(a->message, rows[i].words) != NULL, "%s",
		    a->message);
	}
	expect_refused_for(ask("wait", STR("sessionId", id), STR("text", "")),
	    "invalid-params", "text");
	expect_refused_for(ask("wait", STR("sessionId", id), INT("bytes", 0)),
	    "invalid-params", "bytes");
	expect_refused_for(ask("wait", STR("sessionId", id), INT("idleMs", -1)),
	    "invalid-params", "idleMs");
	expect_refused_for(ask("wait", STR("sessionId", id), INT("since", -2)),
	    "invalid-params", "since");
	expect_refused_for(ask("wait"), "invalid-params", "sessionId");
}

/* What takes others hours is looked at in slices. */
SCENARIO(wait, a_hard_expression_holds_nobody_up)
{
	static const char *const hard[] = {"(a+)+$b", "(a|aa)+$b",
	    "(a?){300}a{300}b"};
	struct question *q[3];
	const char *id;
	int64_t t0, worst = 0, took;

	psupd();
	id = background(STR("command",
	    "head -c 200000 /dev/zero | tr '\\0' a; exec cat"));
	expect_str(ask("wait", STR("sessionId", id), INT("bytes", 200000)),
	    "met", "bytes");
	for (int i = 0; i < 3; i++)
		q[i] = ask_later(NULL, "wait", STR("sessionId", id),
		    STR("regex", hard[i]), INT("timeout", 1));
	for (int i = 0; i < 20; i++) {
		t0 = now_ms();
		expect_ok(ask("list"));
		took = now_ms() - t0;
		worst = took > worst ? took : worst;
	}
	expect(worst < 100 + busy_ms(), "a list took %lld ms", (long long)worst);
	for (int i = 0; i < 3; i++)
		expect_str(answer_of(q[i]), "met", "timeout");
}

SCENARIO(wait, a_worker_s_death_goes_unnoticed)
{
	const char *id;
	struct question *q;

	psupd();
	id = background(STR("command", "exec cat"));
	q = ask_later(NULL, "wait", STR("sessionId", id), STR("text", "ready"));
	feed(id, "rea");
	await_output(id, "rea");
	kill_worker_of(id);
	feed(id, "dy");
	expect_row(answer_of(q), 0, id, "text");
}

SCENARIO(wait, of_the_cli_says_how_it_went)
{
	const char *id, *ended;
	struct running *r;
	struct run *run;

	psupd();
	id = background(STR("command", "echo up; exec cat"));
	run = cli("wait", id, "--text", "up");
	expect_exit(run, 0);
	expect(strstr(run->out, "met: text at position 0") != NULL, "%s",
	    run->out);
	run = cli("wait", id, "--regex", "u.", "--json");
	expect_exit(run, 0);
	expect(strstr(run->out, "\"matched\":\"up\"") != NULL, "%s", run->out);
	expect_exit(cli("wait", id, "--bytes", "3", "--idle", "60000"), 0);
	expect_exit(cli("wait", id, "--idle", "20"), 0);
	expect_exit(cli("wait", id, "--text", "down", "--timeout", "30"), 124);
	expect_exit(cli("wait", id, "--text", "up", "--since", "now",
	                "--timeout", "30"), 124);
	run = cli("wait", id, "--regex", "(");
	expect(run->code != 0 && strstr(run->err, "no ) for this (") != NULL,
	    "%s", run->err);
	expect_exit(cli("wait", id, "--idle", "0"), 2);
	ended = background(STR("command", "echo over"));
	expect_exit(cli("wait", ended, "--text", "never"), 1);
	expect_exit(cli("wait", ended, "--text", "over"), 0);
	expect_exit(cli("wait", id, ended, "--any", "--bytes", "2"), 0);
	/* a master that goes away is asked again */
	r = cli_start("wait", id, "--text", "again");
	kill_master();
	feed(id, "here again");
	expect_exit(await_run(r), 0);
}

SCENARIO(wait, of_the_tool_is_the_same)
{
	char call[300];
	const char *id;
	struct run *r;

	psupd();
	id = background(STR("command", "echo port 8080; exec cat"));
	snprintf(call, sizeof(call),
	    "{\"tool\":\"process\",\"action\":\"wait\",\"sessionId\":\"%s\","
	    "\"regex\":\"port [0-9]+\",\"timeout\":5000}\n", id);
	r = cli_fed(call, strlen(call), "tool");
	expect_exit(r, 0);
	expect(strstr(r->out, "\"met\":\"regex\"") != NULL &&
	        strstr(r->out, "\"matched\":\"port 8080\"") != NULL,
	    "%s", r->out);
}
