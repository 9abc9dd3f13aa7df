/* SPDX-License-Identifier: MIT */
/*
 * Room is lent in shares: a hog takes each resource as far as it can, and
 * another scope gets its part, loses nothing, and is never named.
 */
#include "lib_inner.h"
#include "lib_wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(shares);

#define BUDGET    (8 << 20)
#define BUDGET_8M "[server]\noutput_budget = 8388608\n"
#define LENT      (224096 + 0) /* 20 000 + 200 000 + a page, as of default */

/* Starts what the args say for a scope until it is refused; how many there
 * are, and *ret_last: the refusal. */
#define fill(ids, most, last, ...) \
	scn_fill(ids, most, last, (struct arg[]){__VA_ARGS__, {0}})
static int
scn_fill(const char **ids, int most, struct answer **ret_last,
    const struct arg *args)
{
	for (int n = 0; n < most; n++) {
		struct answer *a = scn_ask(NULL, "exec", args);

		if (a->status != PSUP_OK) {
			*ret_last = a;
			return n;
		}
		expect_ok(a);
		ids[n] = id_of(a);
	}
	scn_fail(__FILE__, __LINE__, "a refusal", "%d were taken", most);
	return most;
}

/* A refusal that names the resource, and nobody. */
static void
expect_share(struct answer *a, const char *resource)
{
	expect_refused(a, "share-used-up");
	expect(strncmp(a->message, resource, strlen(resource)) == 0, "%s",
	    a->message);
	expect(strstr(a->message, "hog") == NULL &&
	    strstr(a->message, "quiet") == NULL, "%s", a->message);
}

/* ---------------------------------------------------------------- output */

SCENARIO(shares, what_runs_is_counted_with_what_it_may_retain)
{
	const char *ids[64];
	struct answer *a;
	int n, m;

	psupd(.conf = BUDGET_8M);
	n = fill(ids, 64, &a, PUPPET("hang"), YES("background"),
	    STR("scope", "hog"));
	expect_share(a, "output");
	expect(n == BUDGET / 8 * 7 / LENT, "%d", n);
	expect(share_in_status("output", "used") == n * (int64_t)LENT);
	expect(share_in_status("output", "refused") == 1);
	/* another one: at once what is left, and its half as the hog ends */
	m = fill(ids + n, 64 - n, &a, PUPPET("hang"), YES("background"),
	    STR("scope", "quiet"));
	expect_share(a, "output");
	expect(m == BUDGET / LENT - n && m > 3, "%d", m);
	for (int i = 0; i < n; i++)
		expect_ok(ask("remove", STR("sessionId", ids[i])));
	expect(fill(ids, 64, &a, PUPPET("hang"), YES("background"),
	    STR("scope", "quiet")) > BUDGET / 2 / LENT - m);
}

SCENARIO(shares, a_scope_within_its_share_loses_no_result)
{
	const char *quiet[8], *hog = NULL, *first = NULL;
	struct peer *p;

	psupd(.conf = BUDGET_8M);
	for (int i = 0; i < 8; i++) {
		quiet[i] = background(PUPPET("bytes 190000"),
		    STR("scope", "quiet"));
		await_end(quiet[i]);
	}
	for (int i = 0; i < 60; i++) {
		hog = background(PUPPET("bytes 190000"), STR("scope", "hog"));
		await_end(hog);
		first = first == NULL ? hog : first;
		if (i == 40)
			kill_master();
	}
	expect(!is_listed(NULL, first) && is_listed(NULL, hog));
	expect(share_in_status("output", "used") <= BUDGET);
	p = peer("quiet");
	expect(share_in_status_of(p, "output", "used") <= share_in_status_of(p, "output", "fair"));
	for (int i = 0; i < 8; i++)
		expect(read_retained(quiet[i]).len == 190000, "%d", i);
}

SCENARIO(shares, read_results_go_before_unread_ones)
{
	const char *ids[60];
	int n = 20;

	psupd(.conf = BUDGET_8M);
	for (int i = 0; i < n; i++) {
		ids[i] = background(PUPPET("bytes 190000"));
		await_end(ids[i]);
	}
	for (int i = 10; i < n; i++)
		(void)poll_to_the_end(ids[i], "reader");
	/* it is written down 16 ms later: before the answer of what waits longer
	 * in the same loop */
	expect_ok(ask("poll", STR("sessionId", background(STR("command",
	    "read x"))), INT("timeout", 100)));
	kill_master(); /* its successor knows what was read */
	for (; n < 60 && is_listed(NULL, ids[0]); n++) {
		ids[n] = background(PUPPET("bytes 190000"));
		await_end(ids[n]);
	}
	expect(n > 40 && n < 60, "%d", n);
	for (int i = 1; i < n; i++)
		expect(is_listed(NULL, ids[i]) == (i < 10 || i >= 20), "%d",
		    i);
}

SCENARIO(shares, answered_ones_of_another_scope_stay)
{
	struct answer *a;

	psupd();
	expect_ok(ask("exec", STR("command", "echo mine"),
	    STR("scope", "quiet")));
	for (int i = 0; i < 270; i++)
		expect_ok(ask("exec", STR("command", "true"),
		    STR("scope", "hog")));
	a = ask("list", YES("all"));
	expect_text(a, "echo mine");
	expect(psup_value_count(psup_value_get(details(a), "sessions")) ==
	    257);
}

/* --------------------------------------------------------------- waiting */

/* Hundreds of KiB that wait with each command. */
static const char *
much(void)
{
	static char text[300001];

	memset(text, 'x', sizeof(text) - 1);
	return text;
}

SCENARIO(shares, what_waits_is_counted)
{
	const char *ids[64];
	struct answer *a;
	int n;

	psupd(.conf = BUDGET_8M "[lane \"one\"]\nwidth = 1\n");
	background(PUPPET("hang"), STR("lane", "one"));
	n = fill(ids, 64, &a, PUPPET("hang"), STR("lane", "one"),
	    STDIN_TEXT(much()), YES("background"), STR("scope", "hog"));
	expect_share(a, "waiting");
	expect(n >= 4 && n <= 6, "%d", n);
	expect_ok(ask("exec", PUPPET("hang"), STR("lane", "one"),
	    YES("background"), STR("scope", "quiet")));
	expect_ok(ask("remove", STR("sessionId", ids[0])));
	expect_ok(ask("exec", PUPPET("hang"), STR("lane", "one"),
	    STDIN_TEXT(much()), YES("background"), STR("scope", "hog")));
}

/* Those whose turn to start has not come, too: the master has their specs in
 * memory. */
SCENARIO(shares, what_is_to_start_is_counted)
{
	static char value[100001];
	struct question *q[40];
	struct answer *a, *refused = NULL;
	struct peer *p;

	memset(value, 'v', sizeof(value) - 1);
	psupd(.workers = 1, .conf = BUDGET_8M);
	kill_now(worker_of(background(PUPPET("hang"))), SIGSTOP);
	p = peer(NULL);
	for (int i = 0; i < 40; i++)
		q[i] = ask_later(p, "exec", LIST("argv", "/bin/true"),
		    MAP("env", "W", value), YES("background"),
		    ONE("retain", "tailBytes", 4096), STR("scope", "hog"));
	for (int i = 0; i < 40; i++) {
		a = answer_of(q[i]);
		if (a->status != PSUP_OK)
			refused = a;
	}
	expect(refused != NULL, "40 times 100 KB of 2 MiB were taken");
	expect_share(refused, "waiting");
}

/* Whatever the budget is: specs wait in the index, in which everybody's records
 * must have room beside them. */
SCENARIO(shares, what_waits_leaves_room_in_the_index)
{
	static char value[100001];
	static const char *ids[3000];
	struct answer *a;

	memset(value, 'v', sizeof(value) - 1);
	psupd(.conf = "[server]\noutput_budget = 8000000000\n"
		      "[lane \"one\"]\nwidth = 1\n");
	background(PUPPET("hang"), STR("lane", "one"));
	fill(ids, 3000, &a, LIST("argv", "/bin/true"), STR("lane", "one"),
	    MAP("env", "W", value, "X", value, "Y", value),
	    YES("background"), STR("scope", "hog"));
	expect_share(a, "waiting");
	expect(psup_get_int(psup_value_get(psup_reply_value(ask("status")
	        ->reply), "master"), "indexBytes", 0) < 600000000);
	for (int i = 0; i < 20; i++)
		expect_ok(ask("exec", STR("command", "true"),
		    STR("scope", "quiet")));
	expect_ok(ask("killScope", STR("scope", "hog")));
}

SCENARIO(shares, input_that_nobody_reads_is_counted)
{
	const char *ids[16];
	struct answer *a = NULL;
	int full = -1;

	psupd(.conf = BUDGET_8M);
	for (int i = 0; i < 16 && full < 0; i++) {
		ids[i] = background(PUPPET("print up; hang"),
		    STR("scope", "hog"));
		await_output(ids[i], "up");
		for (int k = 0; k < 3 && full < 0; k++) {
			a = ask("write", STR("sessionId", ids[i]),
			    STR("data", much()));
			if (strcmp(code_of(a), "share-used-up") == 0)
				full = i;
			else
				expect_ok(a);
		}
	}
	expect(full > 0, "%d", full);
	expect_str(a, "resource", "waiting");
	expect(number_of(a, "used") <= number_of(a, "limit") &&
	    number_of(a, "fair") ==
		number_of(a, "limit") - number_of(a, "limit") / 8);
	/* another one's command is fed, and the hog's again once it reads */
	ids[15] = background(PUPPET("print up; cat"), STR("scope", "quiet"));
	expect_ok(ask("write", STR("sessionId", ids[15]), STR("data", "on\n")));
	await_output(ids[15], "on\n");
	expect_ok(ask("kill", STR("sessionId", ids[0])));
	await_end(ids[0]);
	expect_ok(ask("write", STR("sessionId", ids[full]),
	    STR("data", much())));
}

/* -------------------------------------------------------------- sessions */

SCENARIO(shares, running_sessions_are_lent_in_shares)
{
	const char *ids[200];
	struct answer *a;
	int64_t most;
	int n;

	psupd(.wrap = {"prlimit", "--nofile=400:400"});
	most = share_in_status("sessions", "limit");
	expect(most > 16 && most < 200, "%lld", (long long)most);
	n = fill(ids, 200, &a, PUPPET("hang"), YES("background"),
	    STR("scope", "hog"));
	expect_share(a, "sessions");
	expect(n == most - most / 8, "%d of %lld", n, (long long)most);
	expect_ok(ask("exec", PUPPET("hang"), YES("background"),
	    STR("scope", "quiet")));
	expect_str(ask("exec", STR("command", "echo on"),
	    STR("scope", "quiet")), "aggregated", "on\n");
}

/* ---------------------------------------------------------------- memory */

/* Begins a message of 3 MiB, and sends so much of it. False: it was closed. */
static bool
send_part(struct wire *w, const char *text, size_t len)
{
	/* str of 1 MiB each, in an array: a limit of the decoder's is no
	 * matter, it waits for the end all the same */
	static const char begin[] = "\x94\x00\x07\xa5write\x81\xa4" "data\x9f",
	    head[] = {'\xdb', 0, 0x10, 0, 0};
	ssize_t n;

	if (send(w->fd, begin, sizeof(begin) - 1, MSG_NOSIGNAL) < 0)
		return false;
	for (size_t at = 0; at < len; at += (size_t)n) {
		if (at % (1u << 20) == 0 &&
		    send(w->fd, head, sizeof(head), MSG_NOSIGNAL) < 0)
			return false;
		n = (ssize_t)((1u << 20) - at % (1u << 20));
		n = send(w->fd, text + at, n < (ssize_t)(len - at) ? (size_t)n
			: len - at, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
	}
	return true;
}

SCENARIO(shares, unfinished_messages_are_counted)
{
	static char text[2 << 20];
	static struct wire *hog[60];
	char answer[4096];
	struct enc e = ENC_INIT;
	int closed = 0;
	char c;

	memset(text, 'x', sizeof(text));
	psupd(.conf = "[server]\nclient_memory = 33554432\n");
	for (int i = 0; i < 60; i++) {
		hog[i] = wire_open();
		expect(wire_hello(hog[i], "hog", NULL));
		send_part(hog[i], text, sizeof(text));
		expect(share_in_status("memory", "used") <= 33554432);
	}
	for (int i = 0; i < 60; i++)
		closed += recv(hog[i]->fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
	expect(closed > 20, "%d of 60 were refused or closed", closed);
	/* another one's message of the same size is taken */
	hog[59] = wire_open();
	expect(wire_hello(hog[59], "quiet", NULL));
	enc_map(&e);
	enc_end(&e);
	wire_send(hog[59], "list", &e);
	expect(wire_answer(hog[59], answer, sizeof(answer)) > 0);
	expect_ok(ask("exec", STR("command", "true"), STDIN_TEXT(much()),
	    STR("scope", "quiet")));
	enc_fini(&e);
}

/* A scope that needs 3 MiB at once is given them. */
static void
expect_room_for_another(void)
{
	static char text[(1 << 20) + 1];
	struct question *q[3];

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 3; i++)
		q[i] = ask_later(NULL, "exec", STR("command", "true"),
		    STDIN_TEXT(text), STR("scope", "quiet"));
	for (int i = 0; i < 3; i++)
		expect_ok(answer_of(q[i]));
}

/* Many short ones add up, too: nobody else waits for their ends. */
SCENARIO(shares, unfinished_short_messages_make_room)
{
	static char text[120000];
	struct wire *hog[160];

	memset(text, 'x', sizeof(text));
	psupd(.conf = "[server]\nclient_memory = 16777216\n");
	for (int i = 0; i < 160; i++) {
		hog[i] = wire_open();
		expect(wire_hello(hog[i], "hog", NULL));
		send_part(hog[i], text, sizeof(text));
		expect(share_in_status("memory", "used") <= 16777216);
	}
	expect_room_for_another();
}

/* A client of the scope that asks the same so often, and reads no answer. */
static struct wire *
deaf(const char *scope, const char *method, const struct enc *params, int n)
{
	struct wire *w = wire_open();

	expect(wire_hello(w, scope, NULL));
	for (int i = 0; i < n; i++)
		wire_send(w, method, params);
	return w;
}

/* Answers that nobody takes. */
SCENARIO(shares, unread_answers_make_room)
{
	struct enc e = ENC_INIT;
	const char *id;

	psupd(.conf = "[server]\nclient_memory = 16777216\n");
	id = background(PUPPET("bytes 190000"), STR("scope", "hog"));
	await_end(id);
	enc_map(&e);
	enc_kv_str(&e, "sessionId", id);
	enc_end(&e);
	for (int i = 0; i < 40; i++)
		deaf("hog", "log", &e, 10);
	while (share_in_status("memory", "used") < 13 << 20)
		deaf("hog", "log", &e, 10);
	expect_room_for_another();
	enc_fini(&e);
}

/* What connections keep for their execs, also of those that have a request under
 * way; who had it is told with its next exec. */
SCENARIO(shares, what_busy_connections_keep_makes_room)
{
	static char big[100001];
	static struct peer *p[64];
	struct answer *a;
	const char *id;
	int n = 0, refused = 0;

	memset(big, 'x', sizeof(big) - 1);
	psupd(.conf = "[server]\nclient_memory = 16777216\n");
	id = background(PUPPET("hang"), STR("scope", "hog"));
	for (; n < 64 && share_in_status("memory", "used") < 13 << 20; n++) {
		p[n] = peer("hog");
		expect_ok(ask_as(p[n], "defaults", MAP("baseEnv", "A", big,
		    "B", big, "C", big, "D", big)));
		(void)ask_later(p[n], "wait", LIST("sessionIds", id),
		    INT("timeout", 600000));
		expect_ok(ask_as(p[n], "list")); /* it is there */
	}
	expect(n < 64);
	for (int i = 0; i < 12; i++) /* 4.8 MB: below its share */
		expect_ok(ask_as(peer("quiet"), "defaults", MAP("baseEnv",
		    "A", big, "B", big, "C", big, "D", big)));
	for (int i = 0; i < n; i++) {
		a = ask_as(p[i], "exec", STR("command", "true"));
		if (a->status == PSUP_OK)
			continue;
		expect_share(a, "memory");
		expect_refused_for(a, "share-used-up", "baseEnv");
		if (refused++ > 0)
			continue;
		expect_ok(ask_as(p[i], "exec", STR("command", "true"),
		    MAP("baseEnv", "A", "1")));
		/* what is sent is to be what was lost */
		expect_ok(ask_as(p[i], "defaults", STR("umask", "077")));
		expect_refused_for(ask_as(p[i], "exec", STR("command", "true")),
		    "share-used-up", "baseEnv");
		expect_ok(ask_as(p[i], "defaults", MAP("baseEnv", "A", "1")));
		expect_ok(ask_as(p[i], "exec", STR("command", "true")));
	}
	expect(refused > 0);
}

/* Requests that keep much until they end. */
SCENARIO(shares, waits_make_room)
{
	static struct question *q[400];
	const char *ids[20];
	struct peer *p = NULL;
	int n = 0, refused = 0;

	psupd(.conf = "[server]\nclient_memory = 16777216\n");
	for (int i = 0; i < 20; i++)
		ids[i] = background(PUPPET("hang"), STR("scope", "hog"));
	for (; n < 400 && share_in_status("memory", "used") < 13 << 20; n++) {
		if (n % 50 == 0)
			p = peer("hog");
		q[n] = ask_later(p, "wait", LIST("sessionIds", ids[0], ids[1],
		    ids[2], ids[3], ids[4], ids[5], ids[6], ids[7], ids[8],
		    ids[9]), STR("regex", "[a-z]{999}[0-9]"),
		    INT("timeout", 600000));
		expect_ok(ask_as(p, "list")); /* it is there */
	}
	expect(n < 400);
	expect_room_for_another();
	for (int i = 0; i < n; i++)
		if (is_answered(q[i])) {
			expect_share(answer_of(q[i]), "memory");
			refused++;
		}
	expect(refused > 0 && refused < n, "%d of %d", refused, n);
}

/* Its own request, which needs more, does not take the message that comes
 * behind it on the same connection. */
SCENARIO(shares, who_asks_is_not_closed_for_it)
{
	static char text[3 << 19], answer[1 << 19];
	struct enc e = ENC_INIT;
	struct wire *w;
	const char *id;

	psupd(.conf = "[server]\nclient_memory = 16777216\n");
	id = background(PUPPET("lines 20000"), STR("scope", "hog"));
	await_end(id);
	while (share_in_status("memory", "used") < 12 << 20) {
		w = wire_open();
		expect(wire_hello(w, "hog", NULL));
		send_part(w, text, 400000);
		expect(share_in_status("memory", "used") <= 16777216);
	}
	enc_map(&e);
	enc_kv_str(&e, "sessionId", id);
	enc_kv_uint(&e, "limit", 5500);
	enc_kv_bool(&e, "timestamps", true);
	enc_end(&e);
	w = deaf("hog", "log", &e, 1);
	send_part(w, text, sizeof(text));
	expect(wire_answer(w, answer, sizeof(answer)) > 300000);
	enc_fini(&e);
}

/* What somebody sends who has not said who he is counts with his user: the
 * admins' scope does not pay for it. */
SCENARIO(shares, who_says_nothing_is_not_the_admins)
{
	const char *me = scn_format("%u", geteuid());
	int64_t begun = 0, until = now_ms() + SCN_DEADLINE_MS;
	int fds[20];

	psupd();
	for (int i = 0; i < 20; i++) {
		fds[i] = raw_connect();
		expect(send(fds[i], "\x94\x00", 2, MSG_NOSIGNAL) == 2);
	}
	while (begun < 20) {
		const psup_value *rows = psup_value_get(psup_reply_value(
		    ask("status")->reply), "shares");
		const psup_value *most;

		expect(now_ms() < until, "%d of 20", (int)begun);
		for (size_t i = 0; i < psup_value_count(rows); i++) {
			if (!psup_get_is(psup_value_at(rows, i), "resource",
				"connections"))
				continue;
			most = psup_value_at(psup_value_get(
			    psup_value_at(rows, i), "heaviest"), 0);
			begun = psup_get_is(most, "user", me)
			    ? psup_get_int(most, "used", 0) : 0;
		}
	}
	for (int i = 0; i < 20; i++)
		close(fds[i]);
}

/* -------------------------------------------------------------- the words */

/* The very bytes of a refusal have the four numbers. */
SCENARIO(shares, a_refusal_has_its_numbers)
{
	const char *ids[64];
	struct enc params = ENC_INIT;
	struct answer *a;
	struct wire *w;
	char got[4096];
	size_t n;

	psupd(.conf = BUDGET_8M);
	fill(ids, 64, &a, PUPPET("hang"), YES("background"),
	    STR("scope", "hog"));
	w = wire_open();
	enc_map(&params);
	enc_kv_str(&params, "command", "true");
	enc_kv_str(&params, "scope", "hog");
	enc_end(&params);
	wire_send(w, "exec", &params);
	n = wire_answer(w, got, sizeof(got));
	for (const char *const *k = (const char *const[]){"share-used-up",
		 "details", "resource", "output", "used", "fair", "limit",
		 NULL}; *k != NULL; k++)
		expect(memmem(got, n, *k, strlen(*k)) != NULL, "%s", *k);
	wire_close(w);
	enc_fini(&params);
}
