/* SPDX-License-Identifier: MIT */
/* What a reader gets, to the byte and in time: characters that come in two
 * parts, a writer faster than its reader, answers that never arrived, places
 * that outlive the master. */
#include "lib_scn.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

TestSuite(reading);

/* A shell command with the path of a gate in it. */
static const char *
with_gate(const char *before, const char *gate, const char *after)
{
	char *text = scn_alloc(1000);

	snprintf(text, 1000, "%s; until [ -e %s ]; do sleep 0.01; done; %s",
	    before, gate, after);
	return text;
}

SCENARIO(reading, a_character_in_two_parts_comes_whole)
{
	const char *id, *gate;
	struct answer *a;
	struct question *q;

	psupd();
	gate = file_in_scenario("gate");
	id = background(STR("command",
	    with_gate("printf 'caf\\303'", gate, "printf '\\251!'; sleep 60")));
	await_output(id, "caf");
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "output", "caf");
	expect_int(a, "next", 3);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "output", "");
	/* Half a character is no output to wake for. */
	q = ask_later(NULL, "poll", STR("sessionId", id),
	    INT("timeout", 30000));
	expect_ok(ask_as(peer(NULL), "list"));
	expect(!is_answered(q));
	fclose(fopen(gate, "we"));
	a = answer_of(q);
	expect_str(a, "output", "\303\251!");
	expect_int(a, "next", 6);
	/* A read by position ends before the character that has no room. */
	a = ask("poll", STR("sessionId", id), INT("since", 0),
	    INT("maxBytes", 4));
	expect_str(a, "output", "caf");
	expect_int(a, "next", 3);
}

SCENARIO(reading, half_a_character_at_the_end_is_told)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(STR("command", "printf 'x\\303'"));
	await_end(id);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "output", "x\357\277\275");
	expect_int(a, "next", 2);
	expect_str(ask("poll", STR("sessionId", id)), "output", "");
}

SCENARIO(reading, a_waiting_poll_is_woken_at_once)
{
	/* 25 ms for an end that may be behind the line, see test_process */
	enum { ROUNDS = 31, ROUND_MS = 25 + 10 };
	struct peer *writer;
	const char *id;
	int64_t began, took = 0, withheld;

	psupd();
	id = background(PUPPET("cat"));
	writer = peer(NULL);
	withheld = withheld_ms();
	for (int i = 0; i < ROUNDS; i++) {
		struct question *q = ask_later(NULL, "poll",
		    STR("sessionId", id), INT("timeout", 30000));

		expect_ok(ask_as(writer, "list")); /* it waits by now */
		began = now_ms();
		expect_ok(ask_as(writer, "write", STR("sessionId", id),
		    STR("data", "x\n")));
		expect_str(answer_of(q), "output", "x\n");
		took += now_ms() - began;
	}
	/* who looks every so often would be late each time */
	withheld = withheld_ms() - withheld;
	expect(took < ROUNDS * ROUND_MS + withheld, "%lld ms, %lld of them withheld",
	    (long long)took, (long long)withheld);
}

SCENARIO(reading, a_slow_reader_knows_what_it_missed)
{
	enum { TOTAL = 60000000, CHECKED = 1000 };
	int64_t got = 0, missed = 0, polls = 0;
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("bytes 60000000"));
	do {
		size_t len;
		const char *s;
		int64_t next;

		a = ask("poll", STR("sessionId", id), INT("timeout", 1000));
		s = psup_get_str(details(a), "output", &len);
		next = number_of(a, "next");
		for (size_t i = 0; i < len && i < CHECKED; i++)
			expect(s[len - 1 - i] ==
			        (char)('a' + (next - 1 - (int64_t)i) % 26),
			    "%zu before %lld", i, (long long)next);
		got += (int64_t)len;
		missed += number_of(a, "dropped") + number_of(a, "omitted");
		polls++;
		expect(got + missed == next, "%lld + %lld, next %lld",
		    (long long)got, (long long)missed, (long long)next);
	} while (psup_get_is(details(a), "status", "running"));
	expect(got + missed == TOTAL && missed > 0 && polls > 1,
	    "%lld + %lld in %lld polls", (long long)got, (long long)missed,
	    (long long)polls);
}

/* A client that asks and does not read the answer, which has begun to come. */
static int
poll_unread(const char *id)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct pollfd p = {.events = POLLIN};
	char frame[128];
	size_t n = strlen(id);
	int len;

	snprintf(to.sun_path, sizeof(to.sun_path), "%.90s/sock",
	    runtime_dir());
	/* [0, 7, "poll", {"sessionId": id}] */
	len = snprintf(frame, sizeof(frame), "\x94%c\x07\xa4poll\x81\xa9"
	    "sessionId%c%s", 1, (char)(0xa0 | n), id);
	frame[1] = 0;
	p.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	expect(n < 32 && connect(p.fd, (void *)&to, sizeof(to)) == 0);
	expect(write(p.fd, frame, (size_t)len) == len);
	expect(poll(&p, 1, SCN_DEADLINE_MS) == 1);
	return p.fd;
}

SCENARIO(reading, an_answer_that_did_not_arrive_is_delivered_again)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("bytes 190000; hang"));
	do
		a = ask("poll", STR("sessionId", id), INT("since", 189000));
	while (number_of(a, "totalOutputChars") < 190000);
	/* Larger than what the socket takes: part of it never leaves. */
	for (int i = 0; i < 3; i++)
		close(poll_unread(id));
	a = ask("poll", STR("sessionId", id));
	expect(strlen(text_of(a, "output")) == 190000, "%zu bytes",
	    strlen(text_of(a, "output")));
	a = ask_as(peer(NULL), "poll", STR("sessionId", id));
	expect_str(a, "output", "");
}

SCENARIO(reading, two_polls_of_one_reader_share_what_there_is)
{
	enum { ROUNDS = 50 };
	struct peer *p[2];
	struct question *q[2];
	const char *id;

	psupd();
	id = background(PUPPET("cat"));
	p[0] = peer(NULL);
	p[1] = peer(NULL);
	for (int i = 0; i < ROUNDS; i++) {
		/* Both wait and are woken: one gets it, the other waits on. */
		for (int k = 0; k < 2; k++) {
			q[k] = ask_later(p[k], "poll", STR("sessionId", id),
			    INT("timeout", 30000), STR("reader", "r"));
			expect_ok(ask_as(p[k], "list"));
		}
		expect_ok(ask("write", STR("sessionId", id),
		    STR("data", "one\n")));
		while (!is_answered(q[0]) && !is_answered(q[1]))
			for (int k = 0; k < 2; k++)
				expect_ok(ask_as(p[k], "list"));
		for (int k = 0; k < 2; k++)
			expect_ok(ask_as(p[k], "list"));
		expect(is_answered(q[0]) != is_answered(q[1]), "round %d", i);
		expect_ok(ask("write", STR("sessionId", id),
		    STR("data", "two\n")));
		for (int k = 0; k < 2; k++)
			expect(strlen(text_of(answer_of(q[k]), "output")) == 4,
			    "round %d", i);
	}
}

SCENARIO(reading, a_poll_does_not_repeat_an_answer_that_is_under_way)
{
	struct question *q;
	struct answer *a;
	const char *id;
	int fd;

	psupd();
	id = background(PUPPET("bytes 190000; hang"));
	do
		a = ask("poll", STR("sessionId", id), INT("since", 189000));
	while (number_of(a, "totalOutputChars") < 190000);
	fd = poll_unread(id);
	a = ask_as(peer(NULL), "poll", STR("sessionId", id));
	expect_str(a, "code", "busy");
	expect_int(ask("poll", STR("sessionId", id), STR("reader", "other")),
	    "next", 190000);
	q = ask_later(NULL, "poll", STR("sessionId", id),
	    INT("timeout", 30000));
	expect_ok(ask_as(peer(NULL), "list"));
	expect(!is_answered(q));
	close(fd);
	a = answer_of(q);
	expect(strlen(text_of(a, "output")) == 190000, "%zu bytes",
	    strlen(text_of(a, "output")));
}

SCENARIO(reading, a_place_outlives_connection_and_master)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(PUPPET("print one; hang"));
	await_output(id, "one\n");
	expect_str(ask("poll", STR("sessionId", id), STR("reader", "r")),
	    "output", "one\n");
	expect_ok(ask("list")); /* a turn later it is written down */
	kill_master();
	a = ask("poll", STR("sessionId", id), STR("reader", "r"));
	expect_str(a, "output", "");
	expect_int(a, "next", 4);
	a = ask("poll", STR("sessionId", id), STR("reader", "other"));
	expect_str(a, "output", "one\n");
}

SCENARIO(reading, a_poll_waits_on_when_the_worker_is_another_one)
{
	const char *id, *gate;
	struct question *q;

	psupd();
	gate = file_in_scenario("gate");
	id = background(STR("command",
	    with_gate("echo one", gate, "echo two; sleep 60")));
	await_output(id, "one\n");
	expect_str(ask("poll", STR("sessionId", id)), "output", "one\n");
	q = ask_later(NULL, "poll", STR("sessionId", id),
	    INT("timeout", 30000));
	expect_ok(ask_as(peer(NULL), "list"));
	kill_worker_of(id);
	expect(!is_answered(q));
	fclose(fopen(gate, "we"));
	expect_str(answer_of(q), "output", "two\n");
}

SCENARIO(reading, log_says_where_the_gap_is)
{
	const char *id;
	struct answer *a;
	int64_t gap, total;
	char text[40];

	psupd();
	id = background(PUPPET("lines 100000"));
	await_end(id);
	a = ask("log", STR("sessionId", id), INT("offset", 0),
	    INT("limit", 2));
	expect_text(a, "line 0\nline 1");
	gap = number_of(a, "gapAt");
	total = number_of(a, "totalLines");
	expect(gap > 0 && gap < total, "%lld of %lld", (long long)gap,
	    (long long)total);
	expect_flag(a, "truncated", true);
	expect(number_of(a, "droppedBytes") > 0);
	a = ask("log", STR("sessionId", id), INT("offset", gap - 1),
	    INT("limit", 1));
	snprintf(text, sizeof(text), "line %lld", (long long)(gap - 1));
	expect_text(a, text);
	a = ask("log", STR("sessionId", id), INT("limit", 1));
	expect_text(a, "line 99999");
	/* The last line before the end, counted by what is retained. */
	a = ask("log", STR("sessionId", id), INT("offset", total - 1));
	expect_text(a, "line 99999");
	expect_int(a, "lines", 1);
}

SCENARIO(reading, log_counts_lines_as_a_reader_does)
{
	const char *id;
	struct answer *a;

	psupd();
	id = background(STR("command",
	    "printf 'a\\r\\nb\\n'; read x; printf 'err\\n' >&2; read x;"
	    "printf '\\nc'"));
	/* what is in both pipes at once has no order */
	await_output(id, "b\n");
	expect_ok(ask("write", STR("sessionId", id), STR("data", "\n")));
	await_output(id, "err\n");
	expect_ok(ask("write", STR("sessionId", id), STR("data", "\n")));
	await_end(id);
	a = ask("log", STR("sessionId", id));
	expect_int(a, "totalLines", 5);
	expect_text(a, "a\nb\nerr\n\nc");
	a = ask("log", STR("sessionId", id), STR("stream", "stdout"));
	expect_int(a, "totalLines", 4);
	a = ask("log", STR("sessionId", id), STR("stream", "stderr"));
	expect_int(a, "totalLines", 1);
	expect_text(a, "err");
	a = ask("log", STR("sessionId", id), INT("limit", 0));
	expect_int(a, "lines", 0);
}
