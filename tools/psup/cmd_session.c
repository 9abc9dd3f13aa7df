/* SPDX-License-Identifier: MIT */
/* The commands that ask one thing of one session: rows of commands.def. */
#include "cli.h"

#define WAIT_MS 120000 /* remove waits for the end of what runs */

/* The method is the command's own name. */
static int
run(struct cli *c, int argc, char **argv)
{
	psup_args *a = psup_args_new();

	(void)argc;
	psup_args_str(a, "sessionId", argv[0]);
	return cli_simple(c, c->command->name, a, WAIT_MS);
}

#define COMMAND(id)
#define SESSION_COMMAND(id, text, more)                                        \
	const struct command cmd_##id = {                                      \
		.name = #id,                                                   \
		.args = "ID",                                                  \
		.words = "@session",                                           \
		.min_args = 1,                                                 \
		.max_args = 1,                                                 \
		.wants = "it needs one session id",                            \
		.summary = text,                                               \
		.about = more,                                                 \
		.run = run,                                                    \
	};
#include "commands.def"
