/* SPDX-License-Identifier: MIT */
/* psup resize: the size of a session's terminal. */
#include <stdio.h>

#include "cli.h"

#define WAIT_MS 30000

static int
run(struct cli *c, int, char **argv)
{
	psup_args *a;
	int cols, rows, used = 0;

	if (sscanf(argv[1], "%4dx%4d%n", &cols, &rows, &used) != 2 ||
	    argv[1][used] != '\0' || cols < 1 || cols > 1000 ||
	    rows < 1 || rows > 1000)
		return cli_usage(c, "\"%.40s\" is no size: COLSxROWS, like "
		                    "120x30, up to 1000x1000",
		    argv[1]);
	a = psup_args_new();
	psup_args_str(a, "sessionId", argv[0]);
	psup_args_int(a, "cols", cols);
	psup_args_int(a, "rows", rows);
	return cli_simple(c, "resize", a, WAIT_MS);
}

const struct command cmd_resize = {
	.name = "resize",
	.args = "ID COLSxROWS",
	.words = "@session ?80x24|120x30",
	.min_args = 2,
	.max_args = 2,
	.wants = "it needs a session id and a size",
	.summary = "Change the size of a session's terminal",
	.run = run,
};
