/* SPDX-License-Identifier: MIT */
/* The commands that ask one thing of sessions: rows of commands.def. */
#include "bulk.h"

#define WAIT_MS 120000 /* remove waits for the end of what runs */

/* The method is the command's own name. */
static int
run(struct cli *c, int argc, char **argv)
{
	return bulk_call(c, c->command->name, (const char *const *)argv,
	    (size_t)argc, NULL, WAIT_MS);
}

#define COMMAND(id)
#define SESSION_COMMAND(id, other, text, more)                                 \
	const struct command cmd_##id = {                                      \
		.name = #id,                                                   \
		.also = other,                                                 \
		.args = "ID...",                                               \
		.words = "@session...",                                        \
		.min_args = 1,                                                 \
		.max_args = -1,                                                \
		.summary = text,                                               \
		.about = more,                                                 \
		.run = run,                                                    \
	};
#include "commands.def"
