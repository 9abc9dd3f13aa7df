/* SPDX-License-Identifier: MIT */
/* What the process tool shows of sessions: list, poll, log, wait; to whom, and
 * for how long. Compatibility points 3 and 4. */
#include "lib_scn.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(process);

/* ------------------------------------------------------------------- list */

SCENARIO(process, list_shows_newest_first_and_how_they_ended)
{
	const char *first, *second;
	struct answer *a;
	const psup_value *rows, *row;

	psupd();
	first = background(STR("command", "echo one; exit 4"));
	await_end(first);
	second = background(PUPPET("print two; hang"));
	await_output(second, "two");
	a = ask("list");
	expect_ok(a);
	rows = psup_value_get(details(a), "sessions");
	expect(psup_value_count(rows) == 2, "%zu rows",
	    psup_value_count(rows));
	row = psup_value_at(rows, 0);
	expect(psup_get_is(row, "sessionId", second));
	expect(psup_get_is(row, "status", "running"));
	expect(psup_get_int(row, "pid", 0) > 1);
	expect(psup_get_bool(row, "stdinWritable", false));
	row = psup_value_at(rows, 1);
	expect(psup_get_is(row, "sessionId", first));
	expect(psup_get_is(row, "status", "completed"));
	expect(psup_get_int(row, "exitCode", -1) == 4);
	expect(psup_get_is(row, "exitReason", "exit"));
	expect(psup_get_is(row, "tail", "one\n"));
	expect(psup_get_int(row, "endedAt", 0) > 0);
	expect_text(a, second);
}

SCENARIO(process, list_shows_the_fields_that_are_asked_for)
{
	const psup_value *rows;
	struct answer *a;
	const char *id;

	psupd();
	id = background(STR("command", "echo hello"), STR("label", "mine"));
	expect_ok(ask("wait", LIST("sessionIds", id)));
	a = ask("list", LIST("fields", "state", "sessionId"));
	expect_text(a, "1 sessions.");
	rows = psup_value_get(details(a), "sessions");
	expect(psup_value_count(psup_value_at(rows, 0)) == 2);
	expect(psup_get_is(psup_value_at(rows, 0), "sessionId", id));
	expect(psup_get_is(psup_value_at(rows, 0), "state", "ended"));
	/* whichever of them is named twice */
	a = ask("list", LIST("fields", "tail", "label", "closed", "lane",
	    "tail", "closed"));
	rows = psup_value_get(details(a), "sessions");
	expect(psup_value_count(psup_value_at(rows, 0)) == 3,
	    "it has no lane");
	expect(psup_get_is(psup_value_at(rows, 0), "tail", "hello\n"));
	expect(psup_get_is(psup_value_at(rows, 0), "label", "mine"));
	expect_refused_for(ask("list", LIST("fields", "state", "colour")),
	    "invalid-params", "fields");
}

SCENARIO(process, foreground_sessions_are_not_listed)
{
	struct question *q;
	const char *gate;
	char script[300];
	struct answer *a;

	psupd();
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "touch %s; hang", gate);
	q = ask_later(NULL, "exec", PUPPET(script), NIL("yieldMs"));
	await_file(gate);
	a = ask("list");
	expect(psup_value_count(psup_value_get(details(a), "sessions")) == 0);
	a = ask("list", YES("all"));
	expect(psup_value_count(psup_value_get(details(a), "sessions")) == 1);
	give_up(q);
	answer_of(q);
}

/* ------------------------------------------------------------------- poll */

SCENARIO(process, poll_gives_what_is_new)
{
	const char *id, *gate;
	char script[300];
	struct answer *a;
	struct output o;

	psupd();
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "print one; await %s; print two",
	    gate);
	id = background(PUPPET(script));
	await_output(id, "one\n");
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "status", "running");
	expect_str(a, "output", "one\n");
	expect_int(a, "retryInMs", 5000);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "output", "");
	expect_int(a, "retryInMs", 10000);
	a = ask("poll", STR("sessionId", id));
	expect_int(a, "retryInMs", 30000);
	fclose(fopen(gate, "we"));
	o = poll_to_the_end(id, "r2");
	expect(o.len == 8 && memcmp(o.bytes, "one\ntwo\n", 8) == 0);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "status", "completed");
	expect_str(a, "output", "two\n");
	expect_int(a, "exitCode", 0);
}

SCENARIO(process, poll_is_woken_by_output)
{
	const char *id, *gate;
	char script[300];
	struct question *q;

	psupd();
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "await %s; print now; hang", gate);
	id = background(PUPPET(script));
	q = ask_later(NULL, "poll", STR("sessionId", id),
	    INT("timeout", 30000));
	expect(!is_answered(q));
	fclose(fopen(gate, "we"));
	expect_str(answer_of(q), "output", "now\n");
}

/* The end is 25 ms behind at most: 99 of 100, and one more for each 25 ms that
 * the machine withheld (the kernel says so up to 2 s later). */
static void
expect_in_one_answer(bool by_wait)
{
	enum { JOBS = 100 };
	const char *id, *gate;
	char name[24], script[300];
	const psup_value *d;
	struct question *q;
	struct answer *a;
	int64_t withheld = withheld_ms();
	int once = 0;

	psupd();
	for (int i = 0; i < JOBS; i++) {
		snprintf(name, sizeof(name), "gate%d", i);
		gate = file_in_scenario(name);
		snprintf(script, sizeof(script), "await %s; print last", gate);
		id = background(PUPPET(script));
		q = by_wait ? ask_later(NULL, "wait", STR("sessionId", id),
				  STR("text", "last"), INT("timeout", 30000))
			    : ask_later(NULL, "poll", STR("sessionId", id),
				  INT("timeout", 30000));
		fclose(fopen(gate, "we"));
		a = answer_of(q);
		expect_str(a, by_wait ? "met" : "output",
		    by_wait ? "text" : "last\n");
		d = by_wait ? psup_value_at(psup_value_get(details(a),
				  "sessions"), 0)
			    : details(a);
		once += psup_get_is(d, "status", "completed");
	}
	if (once < JOBS - 1)
		usleep(2100000);
	expect(once >= JOBS - 1 - (withheld_ms() - withheld) / 25,
	    "%d of %d", once, JOBS);
}

SCENARIO(process, a_last_line_and_the_end_come_in_one_poll)
{
	expect_in_one_answer(false);
}

SCENARIO(process, a_last_line_and_the_end_come_in_one_wait)
{
	expect_in_one_answer(true);
}

/* Output alone is told after that moment, though the job goes on. */
SCENARIO(process, a_line_does_not_wait_for_the_end)
{
	struct answer *a;
	const char *id;

	psupd();
	id = background(PUPPET("print one; hang"));
	a = ask("poll", STR("sessionId", id), INT("timeout", 30000));
	expect_str(a, "output", "one\n");
	expect_str(a, "status", "running");
}

SCENARIO(process, poll_of_an_unknown_id_answers_at_once)
{
	int64_t start;

	psupd();
	start = now_ms();
	expect_refused(ask("poll", STR("sessionId", "no-such"),
	                   INT("timeout", 30000)),
	    "not-found");
	expect(now_ms() - start < busy_ms());
}

SCENARIO(process, poll_shows_the_last_of_too_much)
{
	const char *id;
	struct answer *a;

	psupd(.conf = "[exec]\npending_max_output_chars = 30000\n");
	id = background(PUPPET("bytes 31000; stderr warned"));
	await_end(id);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "status", "completed");
	expect_text(a, "warned");
	expect_text(a, "[1000 bytes of earlier output");
	expect(strlen(text_of(a, "output")) == 30000 + strlen("warned\n"));
	/* Left out of the poll is not gone. */
	a = ask("log", STR("sessionId", id), INT("offset", 0));
	expect_int(a, "droppedBytes", 0);
	expect_int(a, "totalOutputChars", 31007);
}

SCENARIO(process, since_reads_again_and_again)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("print one; print two"));
	await_end(id);
	for (int i = 0; i < 3; i++) {
		a = ask("poll", STR("sessionId", id), INT("since", 4));
		expect_str(a, "output", "two\n");
		expect_int(a, "next", 8);
		expect_int(a, "dropped", 0);
		expect_flag(a, "exited", true);
	}
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "output", "one\ntwo\n");
}

SCENARIO(process, a_poll_not_acknowledged_is_delivered_again)
{
	const char *id;
	struct answer *a;
	int64_t ack;
	char text[32];

	psupd();
	id = background(PUPPET("print one; hang"));
	await_output(id, "one\n");
	a = ask("poll", STR("sessionId", id), STR("reader", "careful"),
	    STR("ack", "explicit"));
	expect_str(a, "output", "one\n");
	a = ask("poll", STR("sessionId", id), STR("reader", "careful"),
	    STR("ack", "explicit"));
	expect_str(a, "output", "one\n");
	ack = number_of(a, "ack");
	if (ack != INT64_MIN)
		snprintf(text, sizeof(text), "%lld", (long long)ack);
	else
		snprintf(text, sizeof(text), "%s", text_of(a, "ack"));
	a = ask("poll", STR("sessionId", id), STR("reader", "careful"),
	    STR("ack", text));
	expect_str(a, "output", "");
	a = ask("poll", STR("sessionId", id), STR("ack", "explicitly"));
	expect_refused_for(a, "invalid-params", "ack");
	expect(strstr(words_of(a), "\"explicitly\"") != NULL, "%s",
	    words_of(a));
}

SCENARIO(process, readers_do_not_steal_from_each_other)
{
	const char *id;

	psupd();
	id = background(PUPPET("print shared"));
	await_end(id);
	for (int i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "r%d", i);
		expect_str(ask("poll", STR("sessionId", id),
		               STR("reader", name)),
		    "output", "shared\n");
	}
}

SCENARIO(process, counts_every_byte_it_had_to_drop)
{
	const char *id;
	struct answer *a;
	struct output o;

	psupd();
	id = background(PUPPET("bytes 10000000"));
	await_end(id);
	a = ask("log", STR("sessionId", id));
	expect_int(a, "totalOutputChars", 10000000);
	expect_flag(a, "truncated", true);
	expect(number_of(a, "droppedBytes") >= 10000000 - 20000 - 270000 &&
	        number_of(a, "droppedBytes") <= 10000000 - 220000,
	    "%lld", (long long)number_of(a, "droppedBytes"));
	/* A poll and a row of list say the same. */
	expect_int(ask("poll", STR("sessionId", id)), "droppedBytes",
	    number_of(a, "droppedBytes"));
	expect(psup_get_int(psup_value_at(psup_value_get(
	    psup_reply_details(ask("list")->reply), "sessions"), 0),
	    "droppedBytes", -1) == number_of(a, "droppedBytes"));
	/* Every byte that is there says where it stood. */
	o = read_retained(id);
	expect((int64_t)o.len + o.dropped == 10000000, "%zu + %lld", o.len,
	    (long long)o.dropped);
	for (size_t i = 0; i < o.len; i++) {
		uint64_t pos = i < 20000 ? i : 10000000 - o.len + i;

		expect(o.bytes[i] == (char)('a' + (int)(pos % 26)),
		    "byte %zu", i);
	}
}

/* -------------------------------------------------------------------- log */

SCENARIO(process, log_pages_by_lines)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("lines 1000"));
	await_end(id);
	a = ask("log", STR("sessionId", id));
	expect_int(a, "totalLines", 1000);
	expect_text(a, "line 800\n");
	expect_text(a, "line 999");
	expect(strstr(words_of(a), "line 799\n") == NULL);
	expect_text(a, "offset");
	a = ask("log", STR("sessionId", id), INT("limit", 3));
	expect_text(a, "line 997\nline 998\nline 999");
	a = ask("log", STR("sessionId", id), INT("offset", 5),
	    INT("limit", 2));
	expect_text(a, "line 5\nline 6");
	expect(strstr(words_of(a), "line 7") == NULL);
	a = ask("log", STR("sessionId", id), INT("offset", 998));
	expect_text(a, "line 998\nline 999");
	a = ask("log", STR("sessionId", id), INT("offset", 5000));
	expect_ok(a);
	expect(strstr(words_of(a), "line ") == NULL);
}

SCENARIO(process, log_tells_the_streams_apart)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("print out; sleep 50; stderr err"));
	await_end(id);
	a = ask("log", STR("sessionId", id), STR("stream", "stderr"));
	expect_text(a, "err");
	expect(strstr(words_of(a), "out") == NULL);
	a = ask("log", STR("sessionId", id), STR("stream", "stdout"));
	expect_text(a, "out");
}

SCENARIO(process, text_stays_utf8_and_bytes_stay_bytes)
{
	const char *id;
	struct output o;
	struct answer *a;

	psupd();
	id = background(STR("command", "printf 'caf\\303\\251\\377\\000!'"));
	await_end(id);
	o = poll_to_the_end(id, "raw");
	expect(o.len == 8 && memcmp(o.bytes, "caf\303\251\377\0!", 8) == 0);
	a = ask("poll", STR("sessionId", id), STR("reader", "text"));
	expect(psup_is_utf8(text_of(a, "output"),
	           strlen(text_of(a, "output"))));
	expect_text(a, "caf\303\251");
}

/* ------------------------------------------------------------------- wait */

SCENARIO(process, wait_tells_whose_end_it_met)
{
	const char *slow, *quick, *gate;
	char script[300];
	struct answer *a;
	struct question *q;

	psupd();
	gate = file_in_scenario("gate");
	snprintf(script, sizeof(script), "await %s", gate);
	slow = background(PUPPET(script));
	quick = background(STR("command", "true"));
	a = ask("wait", LIST("sessionIds", slow, quick), STR("mode", "any"));
	expect_str(a, "met", "exit");
	a = ask("wait", LIST("sessionIds", slow, quick), INT("timeout", 50));
	expect_str(a, "met", "timeout");
	q = ask_later(NULL, "wait", LIST("sessionIds", slow, quick));
	fclose(fopen(gate, "we"));
	expect_str(answer_of(q), "met", "exit");
}

/* ----------------------------------------------------------------- scopes */

SCENARIO(process, another_scope_sees_nothing)
{
	struct peer *a, *b;
	const char *id;
	struct answer *theirs, *nobodys;

	psupd();
	a = peer("a");
	b = peer("b");
	id = id_of(ask_as(a, "exec", PUPPET("print up; hang"),
	    YES("background")));
	await_output(id, "up"); /* in a box its pid is not there before */
	expect(is_listed(a, id));
	expect(!is_listed(b, id));
	expect(is_listed(NULL, id), "an admin sees all");
	theirs = ask_as(b, "poll", STR("sessionId", id));
	nobodys = ask_as(b, "poll", STR("sessionId", "nobody-here"));
	expect_refused(theirs, "not-found");
	expect_refused(nobodys, "not-found");
	expect_refused(ask_as(b, "kill", STR("sessionId", id)), "not-found");
	expect_refused(ask_as(b, "write", STR("sessionId", id),
	                   STR("data", "x")),
	    "not-found");
	expect_refused(ask_as(b, "remove", STR("sessionId", id)),
	    "not-found");
	expect_refused(ask_as(b, "shutdown"), "forbidden");
	expect(is_alive(pid_of(id)));
}

/* -------------------------------------------------------------- retention */

SCENARIO(process, the_oldest_finished_goes_first)
{
	const char *ids[6];

	psupd(.conf = "[retain]\nfinished = 5\n");
	for (int i = 0; i < 6; i++) {
		ids[i] = background(STR("command", "echo kept"));
		await_end(ids[i]);
	}
	expect(!is_listed(NULL, ids[0]));
	for (int i = 1; i < 6; i++)
		expect(is_listed(NULL, ids[i]), "%d", i);
}

SCENARIO(process, finished_bytes_are_capped_but_the_newest_is_kept)
{
	const char *ids[5];

	psupd(.conf = "[retain]\nfinished_bytes = 400000\n");
	for (int i = 0; i < 5; i++) {
		ids[i] = background(PUPPET("bytes 180000"));
		await_end(ids[i]);
	}
	expect(!is_listed(NULL, ids[0]));
	expect(is_listed(NULL, ids[4]));
}
