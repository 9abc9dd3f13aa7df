/* SPDX-License-Identifier: MIT */
/*
 * psup wait: until sessions end, or one of the conditions given is met. A wait
 * changes nothing, so one whose connection broke (the master was away) is asked
 * again for the rest of its time.
 */
#include <string.h>

#include "bulk.h"
#include "common/clock.h"
#include "ended.h"

#define DAY_MS       86400000
#define POSITION_MAX 9007199254740991
#define BYTES_MAX    (INT64_C(1) << 52)

static struct psup_until u = PSUP_UNTIL_INIT;
static int64_t timeout = DAY_MS;
static bool with_code;

/* --since N|now */
static void
take_since(struct usage *usage, const char *text)
{
	u.since = strcmp(text, "now") == 0
	    ? -1
	    : usage_number(usage, "--since", text, 0, POSITION_MAX);
}

/* Is anything asked for but the end? */
static bool
has_condition(void)
{
	return u.text != NULL || u.regex != NULL || u.idle_ms != 0 ||
	    u.bytes != 0 || u.input;
}

/* A session that just ended is not what a condition waited for. */
static bool
is_missed(const psup_value *rows)
{
	size_t n = psup_value_count(rows), met = 0, ended = 0;

	if (!has_condition())
		return false;
	for (size_t i = 0; i < n; i++) {
		const psup_value *row = psup_value_at(rows, i);

		if (psup_get_is(row, "met", "exit"))
			ended++;
		else if (psup_get_str(row, "met", NULL) != NULL)
			met++;
	}
	return u.any ? met == 0 : ended > 0;
}

/* Asks, and again where the connection breaks. */
static int
ask(struct cli *c, const char *const *ids, size_t count, psup_reply **ret)
{
	int64_t until = (int64_t)clock_boot_ms() + timeout, left = timeout;
	int rc;

	do {
		rc = cli_connect(c, CLI_NEVER_START, 0);
		if (rc == PSUP_OK)
			rc = psup_wait_until(c->p, ids, count, &u, left, ret);
		left = until - (int64_t)clock_boot_ms();
	} while (rc == PSUP_ERR_LOST && left > 0);
	return rc;
}

/* What a condition found, behind the line of its session. */
static void
print_met(const json_t *row, const char *met)
{
	const json_t *at = json_object_get(row, "at");

	if (met == NULL || strcmp(met, "exit") == 0 ||
	    strcmp(met, "timeout") == 0)
		return;
	cli_putf("  met: %s", met);
	if (json_is_integer(at))
		cli_putf(" at position %lld: \"%s\"",
		    (long long)json_integer_value(at),
		    json_string_value(json_object_get(row, "matched")));
	cli_putf("\n");
}

/* "ID completed (exit 7) after 2m5s :: make test" */
static void
print_row(const json_t *row)
{
	const char *id, *met, *name;
	char words[160], time[32] = "";
	const json_t *ms = json_object_get(row, "runtimeMs");
	bool ended = json_is_true(json_object_get(row, "closed"));

	id = json_string_value(json_object_get(row, "sessionId"));
	met = json_string_value(json_object_get(row, "met"));
	name = json_string_value(json_object_get(row, "name"));
	if (name == NULL) {
		cli_putf("%s is gone\n", id);
		return;
	}
	ended_words(row, false, words, sizeof(words));
	psup_duration((uint64_t)json_integer_value(ms), time, sizeof(time));
	cli_putf("%s %s %s %s :: %s\n", id, words, ended ? "after" : "for",
	    time, name);
	print_met(row, met);
}

static void
print_rows(const psup_value *rows)
{
	json_t *v = json_of_value(rows);

	for (size_t i = 0; i < json_array_size(v); i++)
		print_row(json_array_get(v, i));
	json_decref(v);
}

/* The exit code of what was waited for: of several the first that is not 0. */
static int
code_of(const psup_value *rows)
{
	int code = EXIT_OK;

	for (size_t i = 0; code == EXIT_OK && i < psup_value_count(rows); i++)
		code = run_exit_code(psup_value_at(rows, i));
	return code;
}

static int
run(struct cli *c, int argc, char **argv)
{
	const psup_value *details, *rows;
	size_t count = (size_t)argc, left = count;
	psup_reply *reply;
	int code, rc;

	rc = bulk_ask(c, argv, &left, ask, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	if (left == 0)
		return EXIT_FAILED;
	details = psup_reply_details(reply);
	rows = psup_value_get(details, "sessions");
	code = cli_exit_code(reply);
	if (code != EXIT_OK)
		return cli_answer(c, &reply);
	if (psup_get_is(details, "met", "timeout"))
		code = EXIT_TIMED_OUT;
	else if (with_code)
		code = code_of(rows);
	else if (is_missed(rows))
		code = EXIT_FAILED;
	if (code == EXIT_OK && left < count)
		code = EXIT_FAILED;
	if (c->json) {
		(void)cli_answer(c, &reply);
	} else {
		print_rows(rows);
		psup_reply_free(&reply);
	}
	return code;
}

static const struct opt options[] = {
	TEXT("text", 0, "S", NULL, u.text, "until the output has this text"),
	TEXT("regex", 0, "R", NULL, u.regex,
	    "until this matches it: . [] () | * + ? {n,m} ^ $ \\b \\d \\w \\s"),
	NUMBER("idle", 0, "MS", u.idle_ms, 1, DAY_MS,
	    "until it was silent for so long"),
	SIZE("bytes", 0, u.bytes, 1, BYTES_MAX,
	    "until there is so much output"),
	FLAG("input", 0, u.input, "until it waits for input"),
	CALL("since", 0, "N", "?now", take_since,
	    "look at output from byte position N on, or from now"),
	FLAG("raw", 0, u.raw, "escape sequences are text, too"),
	FLAG("any", 0, u.any, "one of the sessions is enough"),
	FLAG("exit-code", 0, with_code,
	    "end with the session's exit code (128+n: signal n); of several "
	    "with the first that is not 0"),
	NUMBER("timeout", 0, "MS", timeout, 0, DAY_MS,
	    "at most so long (a day); exit code 124 then"),
	OPT_END};

const struct command cmd_wait = {
	.name = "wait",
	.args = "ID...",
	.words = "@session...",
	.min_args = 1,
	.max_args = -1,
	.summary = "Wait until sessions end, or for output",
	.about = "Says how each ended. The first condition that is met counts. "
	         "Exit code 1: a session ended before.",
	.options = options,
	.run = run,
};
