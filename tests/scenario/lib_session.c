/* SPDX-License-Identifier: MIT */
/* Sessions: starting one in the background, its output, its end. */
#include "lib_scn.h"

#include <stdlib.h>
#include <string.h>

#include "lib_inner.h"

const char *
scn_background(const struct arg *args)
{
	struct answer *a = scn_ask(NULL, "exec", args);

	expect_ok(a);
	expect_str(a, "status", "running");
	return id_of(a);
}

const psup_value *
await_end(const char *id)
{
	struct answer *a = ask("wait", STR("sessionId", id),
	    INT("timeout", SCN_DEADLINE_MS / 2));

	expect_ok(a);
	expect_str(a, "met", "exit");
	return psup_value_at(psup_value_get(details(a), "sessions"), 0);
}

/* Appends to an output that grows. */
static void
append(struct output *o, size_t *room, const char *bytes, size_t len)
{
	if (len == 0)
		return;
	if (o->len + len > *room) {
		char *bigger = scn_alloc((o->len + len) * 2);

		*room = (o->len + len) * 2;
		if (o->len > 0)
			memcpy(bigger, o->bytes, o->len);
		o->bytes = bigger;
	}
	memcpy(o->bytes + o->len, bytes, len);
	o->len += len;
}

struct output
poll_to_the_end(const char *id, const char *reader)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct output o = {0};
	size_t room = 0;

	for (;;) {
		size_t len;
		const char *bytes;

		o.last = ask("poll", STR("sessionId", id),
		    STR("reader", reader), INT("timeout", 5000), YES("raw"));
		expect(o.last->status == PSUP_OK, "poll %s: %s", id,
		    o.last->message);
		bytes = psup_get_str(details(o.last), "output", &len);
		append(&o, &room, bytes, len);
		o.dropped += psup_get_int(details(o.last), "dropped", 0);
		if (!psup_get_is(details(o.last), "status", "running"))
			return o;
		expect(now_ms() < until, "%s does not end", id);
	}
}

struct output
read_retained(const char *id)
{
	struct output o = {0};
	int64_t since = 0;
	size_t room = 0;

	for (;;) {
		size_t len;
		const char *bytes;

		o.last = ask("poll", STR("sessionId", id),
		    INT("since", since), YES("raw"), INT("maxBytes", 65536));
		expect(o.last->status == PSUP_OK, "poll %s: %s", id,
		    o.last->message);
		bytes = psup_get_str(details(o.last), "output", &len);
		append(&o, &room, bytes, len);
		o.dropped += number_of(o.last, "dropped");
		if (len == 0 && number_of(o.last, "next") == since)
			return o;
		expect(number_of(o.last, "next") ==
		        since + number_of(o.last, "dropped") + (int64_t)len,
		    "next %lld", (long long)number_of(o.last, "next"));
		since = number_of(o.last, "next");
	}
}

void
await_output(const char *id, const char *text)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS, since = 0;
	struct output seen = {0};
	size_t room = 0;

	for (;;) {
		struct answer *a = ask("poll", STR("sessionId", id),
		    INT("since", since), INT("timeout", 1000), YES("raw"));
		size_t len;
		const char *bytes;

		expect(a->status == PSUP_OK, "poll %s: %s", id, a->message);
		bytes = psup_get_str(details(a), "output", &len);
		append(&seen, &room, bytes, len);
		since = number_of(a, "next");
		if (seen.len > 0 && memmem(seen.bytes, seen.len, text,
		        strlen(text)) != NULL)
			return;
		expect(now_ms() < until, "'%s' not written by %s", text, id);
		expect(psup_get_is(details(a), "status", "running"),
		    "%s ended without writing '%s'", id, text);
	}
}

struct answer *
await_screen(const char *id, const char *text)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct answer *a;

	for (;;) {
		a = ask("screen", STR("sessionId", id));
		expect_ok(a);
		if (strstr(words_of(a), text) != NULL)
			return a;
		expect(now_ms() < until, "%s does not show '%s' but\n%s", id,
		    text, words_of(a));
		expect(psup_get_is(details(a), "status", "running"),
		    "%s ended and shows no '%s' but\n%s", id, text,
		    words_of(a));
		ask("poll", STR("sessionId", id),
		    INT("since", number_of(a, "next")), INT("timeout", 1000));
	}
}

const char *
screen_line_of(const struct answer *a, size_t row)
{
	const psup_value *lines = psup_value_get(details(a), "lines");
	size_t len;
	const char *line = psup_value_str(psup_value_at(lines, row), &len);
	char *copy = scn_alloc(len + 1);

	if (line != NULL)
		memcpy(copy, line, len);
	copy[len] = '\0';
	return copy;
}

bool
is_listed(struct peer *p, const char *id)
{
	struct answer *a = ask_as(p, "list");
	const psup_value *rows;

	expect_ok(a);
	rows = psup_value_get(details(a), "sessions");
	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			return true;
	return false;
}

double
longest_turn_ms(const char *process)
{
	const char *name = scn_format("\npsup_process_longest_turn_cpu_seconds"
	    "{process=\"%s\"", process);
	struct run *r = cli("metrics", "--format", "text");
	const char *at = strstr(r->out, name);

	expect(at != NULL && (at = strchr(at, '}')) != NULL, "%s", r->out);
	return strtod(at + 1, NULL) * 1e3;
}
