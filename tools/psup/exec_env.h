/* SPDX-License-Identifier: MIT */
/* The variables that psup exec is given. */
#ifndef PSUP_EXEC_ENV_H
#define PSUP_EXEC_ENV_H

#include "cli.h"

#define EXEC_ENV_MAX 1024

struct exec_env {
	const char *v[EXEC_ENV_MAX + 1]; /* "KEY=VALUE", then NULL */
	size_t count;
};

/* --env KEY=VALUE into a struct exec_env; what is wrong is said. */
void exec_env_take(struct usage *u, const char *option, const char *text,
    void *env);
/* --env-file FILE: such a line each, values as they stand; empty lines and those
 * that begin with # are none. */
void exec_env_take_file(struct usage *u, const char *option, const char *path,
    void *env);

#endif
