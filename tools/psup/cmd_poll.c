/* SPDX-License-Identifier: MIT */
/* psup poll: what a session wrote since this reader looked last. */
#include <string.h>

#include "cli.h"

#define CALL_MS 30000 /* beside what it waits */

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"timeout", required_argument, NULL, 't'},
		{"since", required_argument, NULL, 's'},
		{"reader", required_argument, NULL, 'r'},
		{"text", required_argument, NULL, 'x'}, {0}};
	const char *reader = NULL, *text = NULL;
	int64_t since = -1, timeout = 0;
	psup_args *a;
	int opt;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 't')
			timeout = cli_number(c, "--timeout", optarg, 0, 30000);
		else if (opt == 's')
			since = cli_number(c, "--since", optarg, 0,
			    9007199254740991);
		else if (opt == 'x')
			text = optarg;
		else
			reader = optarg;
	}
	if (text != NULL && !c->usage_error)
		c->as_is = cli_text_rule(c, text) &&
		    (strcmp(text, "ansi") == 0 || strcmp(text, "plain") == 0);
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind + 1 != argc)
		return cli_usage(c, "it needs one session id");
	a = psup_args_new();
	if (a == NULL)
		return EXIT_INTERNAL;
	psup_args_str(a, "sessionId", argv[optind]);
	psup_args_int(a, "timeout", timeout);
	if (since >= 0)
		psup_args_int(a, "since", since);
	if (reader != NULL)
		psup_args_str(a, "reader", reader);
	if (text != NULL)
		psup_args_str(a, "text", text);
	return cli_simple(c, "poll", a, (int)timeout + CALL_MS);
}

const struct command cmd_poll = {
	.name = "poll",
	.usage = "ID [--timeout MS] [--since N] [--reader NAME] [--text RULE] [--json]",
	.summary = "Print new output of a session, and how it stands",
	.help = "  --timeout MS       wait so long for output or the end, up to "
	        "30000\n"
	        "  --since N          read from byte position N, move no "
	        "cursor\n"
	        "  --reader NAME      a place of your own in the output\n"
	        "  --text RULE        clean (no escape sequences), ansi (with "
	        "them), shown\n"
	        "                     (as \\xNN), plain (as it is) (clean)\n",
	.run = run,
};
