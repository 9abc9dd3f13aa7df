/* SPDX-License-Identifier: MIT */
/*
 * psup wait: until sessions end, or one of the conditions given is met. A wait
 * changes nothing, so one whose connection broke (the master was away) is asked
 * again for the rest of its time.
 */
#include <string.h>
#include <time.h>

#include "cli.h"

#define DAY_MS       86400000
#define POSITION_MAX 9007199254740991

/* Milliseconds that only grow. */
static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Options that are no simple numbers of their own. */
static int64_t
since_of(struct cli *c, const char *text)
{
	if (strcmp(text, "now") == 0)
		return -1;
	return cli_number(c, "--since", text, 0, POSITION_MAX);
}

/* Is anything asked for but the end? */
static bool
has_condition(const struct psup_until *u)
{
	return u->text != NULL || u->regex != NULL || u->idle_ms != 0 ||
	    u->bytes != 0 || u->input;
}

/* A session that just ended is not what a condition waited for. */
static bool
is_missed(const psup_value *rows, const struct psup_until *u)
{
	size_t n = psup_value_count(rows), met = 0, ended = 0;

	if (!has_condition(u))
		return false;
	for (size_t i = 0; i < n; i++) {
		const psup_value *row = psup_value_at(rows, i);

		if (psup_get_is(row, "met", "exit"))
			ended++;
		else if (psup_get_str(row, "met", NULL) != NULL)
			met++;
	}
	return u->any ? met == 0 : ended > 0;
}

/* Asks, and again where the connection breaks. */
static int
ask(struct cli *c, const char *const *ids, size_t count,
    const struct psup_until *u, int64_t timeout, psup_reply **ret)
{
	int64_t until = now_ms() + timeout, left = timeout;
	int rc;

	do {
		rc = cli_connect(c, CLI_NEVER_START, 0);
		if (rc == PSUP_OK)
			rc = psup_wait_until(c->p, ids, count, u, left, ret);
		left = until - now_ms();
	} while (rc == PSUP_ERR_LOST && left > 0);
	return rc;
}

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"any", no_argument, NULL, 'a'},
		{"text", required_argument, NULL, 'x'},
		{"regex", required_argument, NULL, 'e'},
		{"idle", required_argument, NULL, 'i'},
		{"bytes", required_argument, NULL, 'b'},
		{"input", no_argument, NULL, 'I'},
		{"since", required_argument, NULL, 's'},
		{"raw", no_argument, NULL, 'R'},
		{"timeout", required_argument, NULL, 't'}, {0}};
	struct psup_until u = PSUP_UNTIL_INIT;
	int64_t timeout = DAY_MS;
	const psup_value *details;
	psup_reply *reply;
	bool timed_out, missed;
	int opt, code, rc;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 'a')
			u.any = true;
		else if (opt == 'x')
			u.text = optarg;
		else if (opt == 'e')
			u.regex = optarg;
		else if (opt == 'i')
			u.idle_ms = cli_number(c, "--idle", optarg, 1, DAY_MS);
		else if (opt == 'b')
			u.bytes = cli_number(c, "--bytes", optarg, 1,
			    POSITION_MAX);
		else if (opt == 'I')
			u.input = true;
		else if (opt == 's')
			u.since = since_of(c, optarg);
		else if (opt == 'R')
			u.raw = true;
		else
			timeout = cli_number(c, "--timeout", optarg, 0, DAY_MS);
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind == argc)
		return cli_usage(c, "it needs a session id");
	rc = ask(c, (const char *const *)(argv + optind),
	    (size_t)(argc - optind), &u, timeout, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	details = psup_reply_details(reply);
	timed_out = psup_get_is(details, "met", "timeout");
	missed = is_missed(psup_value_get(details, "sessions"), &u);
	code = cli_answer(c, &reply);
	if (code != EXIT_OK)
		return code;
	return timed_out ? EXIT_TIMED_OUT : missed ? EXIT_FAILED : EXIT_OK;
}

const struct command cmd_wait = {
	.name = "wait",
	.usage = "ID... [--text S | --regex R | --idle MS | --bytes N | "
	         "--input]... [--since N] [--raw] [--any] [--timeout MS] "
	         "[--json]",
	.summary = "Wait until sessions end, or for output",
	.help = "  --text S           until the output has this text\n"
	        "  --regex R          until this matches it: . [] () | * + ? {n,m} "
	        "^ $ \\b \\d \\w \\s\n"
	        "  --idle MS          until it was silent for so long\n"
	        "  --bytes N          until there is so much output\n"
	        "  --input            until it waits for input\n"
	        "  --since N          look at output from byte position N on, or "
	        "from now\n"
	        "  --raw              escape sequences are text, too\n"
	        "  --any              one of the sessions is enough\n"
	        "  --timeout MS       at most so long (a day); exit code 124 "
	        "then\n"
	        "The first condition that is met counts. Exit code 1: a session "
	        "ended before.\n",
	.run = run,
};
