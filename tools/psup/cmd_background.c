/* SPDX-License-Identifier: MIT */
/* psup background: a session whose exec still waits need not wait. */
#include "cli.h"

#define WAIT_MS 30000

static int
run(struct cli *c, int argc, char **argv)
{
	psup_args *a = psup_args_new();

	(void)argc;
	if (a != NULL)
		psup_args_str(a, "sessionId", argv[0]);
	return cli_simple(c, "background", a, WAIT_MS);
}

const struct command cmd_background = {
	.name = "background",
	.args = "ID",
	.words = "@session",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "Send a foreground session to the background",
	.about = "The exec that waits for it is answered that it goes on; so is "
	         "the psup exec of another terminal. psup list --all shows "
	         "foreground sessions.",
	.run = run,
};
