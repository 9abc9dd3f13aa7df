/* SPDX-License-Identifier: MIT */
/* psup background: a session whose exec still waits need not wait. */
#include "cli.h"

#define WAIT_MS 30000

static int
run(struct cli *c, int argc, char **argv)
{
	psup_args *a;

	while (cli_option(c, argc, argv, NULL) != -1)
		continue;
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind + 1 != argc)
		return cli_usage(c, "it needs one session id");
	a = psup_args_new();
	if (a != NULL)
		psup_args_str(a, "sessionId", argv[optind]);
	return cli_simple(c, "background", a, WAIT_MS);
}

const struct command cmd_background = {
	.name = "background",
	.usage = "ID [--json]",
	.summary = "Send a foreground session to the background",
	.help = "The exec that waits for it is answered that it goes on; so is "
	        "the psup exec\nof another terminal. psup list --all shows "
	        "foreground sessions.\n\n",
	.run = run,
};
