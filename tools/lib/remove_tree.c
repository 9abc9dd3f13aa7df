/* SPDX-License-Identifier: MIT */
/* See remove_tree.h. Called by tools that start a server of their own. */
#include "remove_tree.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>

static int failed; /* nftw takes no argument for remove_one() */

static int
remove_one(const char *path, const struct stat *, int, struct FTW *)
{
	if (remove(path) < 0 && failed == 0)
		failed = -errno;
	return 0;
}

int
remove_tree(const char *path)
{
	failed = 0;
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 && failed == 0)
		failed = -errno;
	return failed;
}
