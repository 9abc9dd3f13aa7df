/* SPDX-License-Identifier: MIT */
/* psup poll: what a session wrote since this reader looked last. */
#include "cli.h"

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"timeout", required_argument, NULL, 't'},
		{"since", required_argument, NULL, 's'},
		{"reader", required_argument, NULL, 'r'}, {0}};
	const char *reader = NULL;
	int64_t since = -1, timeout = 0;
	psup_reply *reply;
	int opt, rc;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 't')
			timeout = cli_number(c, "--timeout", optarg, 0, 30000);
		else if (opt == 's')
			since = cli_number(c, "--since", optarg, 0,
			    9007199254740991);
		else
			reader = optarg;
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind + 1 != argc)
		return cli_usage(c, "it needs one session id");
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_poll(c->p, argv[optind], (int)timeout, since, reader,
		    &reply);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

const struct command cmd_poll = {
	.name = "poll",
	.usage = "ID [--timeout MS] [--since N] [--reader NAME] [--json]",
	.summary = "Print new output of a session, and how it stands",
	.help = "  --timeout MS       wait so long for output or the end, up to "
	        "30000\n"
	        "  --since N          read from byte position N, move no "
	        "cursor\n"
	        "  --reader NAME      a place of your own in the output\n",
	.run = run,
};
