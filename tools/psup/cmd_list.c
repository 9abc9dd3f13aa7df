/* SPDX-License-Identifier: MIT */
/*
 * psup list: the sessions, newest first. Where a server is there but its
 * socket does not answer, the rows come from shared memory.
 */
#include "cli.h"

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"all", no_argument, NULL, 'a'}, {0}};
	psup_reply *reply;
	bool all = false;
	int opt, rc;

	while ((opt = cli_option(c, argc, argv, own)) != -1)
		all = true;
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind != argc)
		return cli_usage(c, "it takes no argument");
	rc = cli_connect_briefly(c);
	if (rc == PSUP_OK)
		rc = psup_list(c->p, all, &reply);
	if (rc == PSUP_ERR_TIMEOUT || rc == PSUP_ERR_LOST)
		return view_list(c, all);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

const struct command cmd_list = {
	.name = "list",
	.usage = "[--all] [--json]",
	.summary = "List the backgrounded sessions, running and finished",
	.help = "  --all              foreground sessions too\n",
	.run = run,
};
