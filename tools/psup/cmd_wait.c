/* SPDX-License-Identifier: MIT */
/*
 * psup wait: until sessions end, or one of the conditions given is met. A wait
 * changes nothing, so one whose connection broke (the master was away) is asked
 * again for the rest of its time.
 */
#include <string.h>

#include "cli.h"
#include "common/clock.h"

#define DAY_MS       86400000
#define POSITION_MAX 9007199254740991

static struct psup_until u = PSUP_UNTIL_INIT;
static int64_t timeout = DAY_MS;

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

static int
run(struct cli *c, int argc, char **argv)
{
	const psup_value *details;
	psup_reply *reply;
	bool timed_out, missed;
	int code, rc;

	rc = ask(c, (const char *const *)argv, (size_t)argc, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	details = psup_reply_details(reply);
	timed_out = psup_get_is(details, "met", "timeout");
	missed = is_missed(psup_value_get(details, "sessions"));
	code = cli_answer(c, &reply);
	if (code != EXIT_OK)
		return code;
	return timed_out ? EXIT_TIMED_OUT : missed ? EXIT_FAILED : EXIT_OK;
}

static const struct opt options[] = {
	TEXT("text", 0, "S", NULL, u.text, "until the output has this text"),
	TEXT("regex", 0, "R", NULL, u.regex,
	    "until this matches it: . [] () | * + ? {n,m} ^ $ \\b \\d \\w \\s"),
	NUMBER("idle", 0, "MS", u.idle_ms, 1, DAY_MS,
	    "until it was silent for so long"),
	NUMBER("bytes", 0, "N", u.bytes, 1, POSITION_MAX,
	    "until there is so much output"),
	FLAG("input", 0, u.input, "until it waits for input"),
	CALL("since", 0, "N", "?now", take_since,
	    "look at output from byte position N on, or from now"),
	FLAG("raw", 0, u.raw, "escape sequences are text, too"),
	FLAG("any", 0, u.any, "one of the sessions is enough"),
	NUMBER("timeout", 0, "MS", timeout, 0, DAY_MS,
	    "at most so long (a day); exit code 124 then"),
	OPT_END};

const struct command cmd_wait = {
	.name = "wait",
	.args = "ID...",
	.words = "@session...",
	.min_args = 1,
	.max_args = -1,
	.wants = "it needs a session id",
	.summary = "Wait until sessions end, or for output",
	.about = "The first condition that is met counts. Exit code 1: a "
	         "session ended before.",
	.options = options,
	.run = run,
};
