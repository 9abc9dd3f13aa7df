/* SPDX-License-Identifier: MIT */
/* psup poll: what a session wrote since this reader looked last. */

#include "cli.h"

#define CALL_MS 30000 /* beside what it waits */

static struct {
	const char *reader, *text;
	int64_t since, timeout;
} o = {.since = -1};

static int
run(struct cli *c, int, char **argv)
{
	psup_args *a;

	c->rule = o.text;
	a = psup_args_new();
	if (a == NULL)
		return EXIT_INTERNAL;
	psup_args_str(a, "sessionId", argv[0]);
	psup_args_int(a, "timeout", o.timeout);
	if (o.since >= 0)
		psup_args_int(a, "since", o.since);
	psup_args_str(a, "reader", o.reader);
	psup_args_str(a, "text", o.text);
	return cli_simple(c, "poll", a, (int)o.timeout + CALL_MS);
}

static const struct opt options[] = {
	NUMBER("timeout", 0, "MS", o.timeout, 0, 30000,
	    "wait so long for output or the end, up to 30000"),
	NUMBER("since", 0, "N", o.since, 0, 9007199254740991,
	    "read from byte position N, move no cursor"),
	TEXT("reader", 0, "NAME", NULL, o.reader,
	    "a place of your own in the output"),
	TEXT("text", 0, "RULE", CLI_TEXT_RULES, o.text, CLI_TEXT_RULES_HELP),
	OPT_END};

const struct command cmd_poll = {
	.name = "poll",
	.args = "ID",
	.words = "@session",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "Print new output of a session, and how it stands",
	.options = options,
	.run = run,
};
