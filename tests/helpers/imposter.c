/* SPDX-License-Identifier: MIT */
/*
 * A program that says it is of the next build, and then is no good: for tests
 * of upgrades. How, its path says: .../dies/..., .../hangs/..., .../blind/...
 * (a psupd that cannot read a state). Compiled with the next build's table.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/abi.h"

int
main(int argc, char **argv)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (abi_asked(argc, argv, argv[0]))
		return 0;
	if (argc == 2 && strcmp(argv[1], "--check-state") == 0) {
		puts("this state is Greek to me");
		return 1;
	}
	path[n > 0 ? n : 0] = '\0';
	while (strstr(path, "/hangs/") != NULL)
		pause();
	return 1;
}
