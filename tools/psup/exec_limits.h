/* SPDX-License-Identifier: MIT */
/* The limits that psup exec is given. */
#ifndef PSUP_EXEC_LIMITS_H
#define PSUP_EXEC_LIMITS_H

#include "cli.h"

#define EXEC_LIMITS_MAX 8

struct exec_limits {
	struct {
		const char *name; /* a row's of common/limit.def */
		int64_t value;
	} v[EXEC_LIMITS_MAX];
	size_t count;
};

/* --limit NAME=N into a struct exec_limits, in the units of the limit; what is
 * wrong is said. */
void exec_limits_take(struct usage *u, const char *option, const char *text,
    void *into);
/* The parameter of exec; none where there are none. */
void exec_limits_args(const struct exec_limits *limits, psup_args *a);

#endif
