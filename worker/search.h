/* SPDX-License-Identifier: MIT */
/*
 * The last step of a child: which file is it that it execs? All that the file
 * system has to say about paths that a client named is asked here, in the
 * child, so that one that never answers holds up nobody else. Async-signal-
 * safe; allocates nothing; errno is not touched.
 */
#ifndef PSUP_SEARCH_H
#define PSUP_SEARCH_H

#include "worker/direct.h"

#define SEARCH_DIRS_MAX 64 /* of PATH, without a shell; else the shell looks */

/* One file to try. */
struct search_try {
	const char *path; /* NULL: no more */
	char **argv;      /* "/bin/sh", argv[0], ..., NULL */
};

struct search {
	struct search_try *tries; /* in order, as execvp would */
	char *argv0;              /* NULL: they are shells: each its own path */
	char *const *envp;
	struct direct *direct;    /* tried before the shell; NULL: not so */
	const char *volatile *trying; /* told what it is about to look at */
};

/* Execs, or returns the errno that tells best why not. Writes the argv[0] of
 * the tries and direct->name. */
int search_exec(const struct search *s);

#endif
