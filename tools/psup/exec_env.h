/* SPDX-License-Identifier: MIT */
/* The variables that psup exec is given. */
#ifndef PSUP_EXEC_ENV_H
#define PSUP_EXEC_ENV_H

#include "cli.h"

#define EXEC_ENV_MAX 1024

struct exec_env {
	const char *v[EXEC_ENV_MAX + 1]; /* "KEY=VALUE", then NULL */
	struct exec_env_from {
		const char *file; /* NULL: --env */
		int line;
	} from[EXEC_ENV_MAX];
	size_t count;
};

/* --env KEY=VALUE into a struct exec_env; what is wrong is said. */
void exec_env_take(struct usage *u, const char *option, const char *text,
    void *env);
/* --env-file FILE: such a line each, values as they stand; empty lines and those
 * that begin with # are none. */
void exec_env_take_file(struct usage *u, const char *option, const char *path,
    void *env);
/* Says where the variable came from that an exec's error names in its field. */
void exec_env_explain(const struct exec_env *env, const char *field);

#endif
