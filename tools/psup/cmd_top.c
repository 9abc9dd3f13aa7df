/* SPDX-License-Identifier: MIT */
/* psup top: psup-top, for who types it so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* psup-top beside our own program; else what PATH has. */
static void
path_of_top(char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 5);

	ret[n > 0 ? n : 0] = '\0';
	strcat(ret, "-top");
	if (n <= 0 || access(ret, X_OK) != 0)
		snprintf(ret, size, "psup-top");
}

static int
run(struct cli *c, int, char **)
{
	char path[4096];
	char *words[] = {(char *)(uintptr_t)"psup-top", NULL};

	if (c->runtime_dir != NULL &&
	    setenv("PSUP_RUNTIME_DIR", c->runtime_dir, 1) != 0)
		return EXIT_INTERNAL;
	path_of_top(path, sizeof(path));
	execvp(path, words);
	cli_say("%s: %s", path, strerror(errno));
	return EXIT_INTERNAL;
}

const struct command cmd_top = {
	.name = "top",
	.wants = "it takes no argument; psup-top has options",
	.summary = "Watch sessions, lanes and processes: psup-top",
	.run = run,
};
