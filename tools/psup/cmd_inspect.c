/* SPDX-License-Identifier: MIT */
/*
 * psup inspect: all that is known of a session, as a page. A wait that does not
 * wait has its row; of one that runs a poll that moves no cursor has what it
 * uses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bulk.h"
#include "color.h"
#include "ended.h"

#define CALL_MS    30000
#define INDENT     12
#define TAIL_LINES 10

/* A line's name, in front of what it says. */
static void
name(const char *word)
{
	cli_putf("%-*s", INDENT, word);
}

/* A line of its own, where there is something to say. */
static void
line(const char *word, const char *value)
{
	if (value[0] == '\0')
		return;
	name(word);
	cli_put_text(value, strlen(value));
	putchar('\n');
}

static void
moment_line(const char *word, json_int_t ms)
{
	time_t t = (time_t)(ms / 1000);
	char shown[40] = "";
	struct tm tm;

	if (t > 0 && localtime_r(&t, &tm) != NULL)
		strftime(shown, sizeof(shown), "%Y-%m-%d %H:%M:%S %z", &tm);
	line(word, shown);
}

static void
print_state(const json_t *row)
{
	char words[160], time[40], all[240];
	bool ended = json_is_true(json_object_get(row, "closed"));

	ended_words(row, false, words, sizeof(words));
	psup_duration((uint64_t)json_number(row, "runtimeMs"), time, sizeof(time));
	snprintf(all, sizeof(all), "%s %s %s%s", words,
	    ended ? "after" : "for", time,
	    json_is_false(json_object_get(row, "backgrounded")) && !ended
	        ? ", in the foreground"
	        : "");
	line("state", all);
	moment_line("started", json_number(row, "startedAt"));
	moment_line("ended", json_number(row, "endedAt"));
	moment_line("deadline", json_number(row, "deadlineAt"));
}

/* Its processes, and what they use. */
static void
print_usage(const json_t *row, const json_t *u)
{
	char cpu[40], memory[24];

	if (json_number(row, "pid") > 0) {
		name("process");
		cli_putf("%lld, of worker %lld\n",
		    (long long)json_number(row, "pid"),
		    (long long)json_number(row, "worker"));
	}
	if (u == NULL)
		return;
	psup_duration((uint64_t)json_number(u, "cpuMs"), cpu, sizeof(cpu));
	cells_amount((uint64_t)json_number(u, "maxRssBytes"), memory,
	    sizeof(memory));
	name("used");
	cli_putf("%s of a processor, at most %s of memory in one process", cpu,
	    memory);
	if (json_number(u, "pids") > 0)
		cli_putf("; processes: %lld", (long long)json_number(u, "pids"));
	cli_putf("\n");
}

static void
print_output(const json_t *row)
{
	char total[24], dropped[24];

	cells_amount((uint64_t)json_number(row, "totalOutputChars"), total,
	    sizeof(total));
	cells_amount((uint64_t)json_number(row, "droppedBytes"), dropped,
	    sizeof(dropped));
	name("output");
	cli_putf("%s", total);
	if (json_number(row, "droppedBytes") > 0)
		cli_putf(", of which %s are not kept", dropped);
	cli_putf("\n");
	if (json_is_true(json_object_get(row, "waitingForInput")))
		line("input", strcmp(json_text(row, "waitReason"), "idle") == 0
			? "silent; it may wait for input"
			: "it waits for input");
	if (json_is_true(json_object_get(row, "pty"))) {
		name("terminal");
		cli_putf("%lld x %lld\n", (long long)json_number(row, "cols"),
		    (long long)json_number(row, "rows"));
	}
}

/* Members of an object, "key=value" with blanks between. */
static void
print_map(const char *word, const json_t *row, const char *key)
{
	json_t *v, *o = json_object_get(row, key);
	const char *member;
	char *shown;

	if (json_object_size(o) == 0)
		return;
	cli_putf("%-*s", INDENT - 1, word);
	json_object_foreach(o, member, v)
	{
		const json_t *limit = json_object_get(v, "limit");

		if (json_is_string(v)) {
			cli_putf(" %s=%s", member, json_string_value(v));
			continue;
		}
		shown = json_dumps(limit != NULL ? limit : v, JSON_ENCODE_ANY);
		cli_putf(" %s=%s", member, shown != NULL ? shown : "");
		free(shown);
	}
	putchar('\n');
}

/* The last lines, whole ones where there is more than one. */
static void
print_tail(const json_t *row)
{
	const char *tail = json_text(row, "tail"), *lf;
	size_t len = strlen(tail), lines = 0, at = len;
	bool all = json_number(row, "totalOutputChars") == (json_int_t)len;

	if (len == 0)
		return;
	while (at > 0 && (tail[at - 1] != '\n' || at == len ||
	    ++lines < TAIL_LINES))
		at--;
	lf = at == 0 && !all ? memchr(tail, '\n', len - 1) : NULL;
	if (lf != NULL)
		at = (size_t)(lf - tail) + 1;
	cli_putf("\n%s:\n", at == 0 && all ? "Its output"
	                                   : "The last of its output");
	cli_print_text(tail + at, len - at);
}

static void
print_page(const json_t *row, const json_t *usage)
{
	line("session", json_text(row, "sessionId"));
	line("label", json_text(row, "label"));
	line("command", json_text(row, "command"));
	line("directory", json_text(row, "cwd"));
	print_state(row);
	print_usage(row, usage != NULL ? usage
	                               : json_object_get(row, "usage"));
	line("lane", json_text(row, "lane"));
	line("waits for", json_text(row, "queuedFor"));
	line("scope", json_text(row, "scopeKey"));
	line("parent", json_text(row, "parentSession"));
	print_map("tags", row, "tags");
	print_map("limits", row, "limits");
	print_output(row);
	line("instance", json_text(row, "instanceId"));
	print_tail(row);
}

/* What one that runs uses now; NULL: nobody knows. */
static json_t *
ask_usage(struct cli *c, const char *id)
{
	psup_args *a = psup_args_new();
	json_t *usage = NULL;
	psup_reply *reply;

	if (a == NULL)
		return NULL;
	psup_args_str(a, "sessionId", id);
	psup_args_int(a, "since", 0);
	psup_args_int(a, "maxBytes", 1);
	psup_args_bool(a, "usage", true);
	if (psup_call(c->p, "poll", a, CALL_MS, &reply) == PSUP_OK) {
		const psup_value *u = psup_value_get(psup_reply_details(reply),
		    "usage");

		usage = u != NULL ? json_of_value(u) : NULL;
		psup_reply_free(&reply);
	}
	psup_args_free(&a);
	return usage;
}

/* A wait that does not wait. */
static int
ask(struct cli *c, const char *const *ids, size_t count, psup_reply **ret)
{
	struct psup_until now = PSUP_UNTIL_INIT;

	return psup_wait_until(c->p, ids, count, &now, 0, ret);
}

static int
run(struct cli *c, int argc, char **argv)
{
	size_t count = (size_t)argc, left = count;
	json_t *rows, *row, *usage;
	psup_reply *reply;
	int rc;

	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = bulk_ask(c, argv, &left, ask, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	if (left == 0)
		return EXIT_FAILED;
	if (psup_reply_is_error(reply))
		return cli_answer(c, &reply);
	rows = json_of_value(psup_value_get(psup_reply_details(reply),
	    "sessions"));
	psup_reply_free(&reply);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		usage = json_is_true(json_object_get(row, "closed"))
		    ? NULL
		    : ask_usage(c, json_text(row, "sessionId"));
		if (c->json && usage != NULL)
			json_object_set(row, "usage", usage);
		if (c->json)
			cli_print_json(json_incref(row));
		else
			print_page(row, usage);
		json_decref(usage);
		if (!c->json && i + 1 < json_array_size(rows))
			putchar('\n');
	}
	json_decref(rows);
	return left < count ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_inspect = {
	.name = "inspect",
	.args = "ID...",
	.words = "@session...",
	.min_args = 1,
	.max_args = -1,
	.summary = "Show everything that is known of a session",
	.run = run,
};
