/* SPDX-License-Identifier: MIT */
/*
 * From exec's params to what START needs: shell, environment, directory,
 * program candidates, limits of execve. Pure: no path of a client's is
 * touched, here nor anywhere else in the master.
 */
#ifndef PSUP_SUPERVISOR_API_EXEC_SPEC_H
#define PSUP_SUPERVISOR_API_EXEC_SPEC_H

#include "supervisor/master.h"

struct exec_base {
	const struct config *cfg;
	const char *base_env; /* the server's own, filtered */
	size_t base_env_bytes;
	const char *home, *user_shell, *path;
	bool boxed; /* it is to run in a box */
};

struct exec_ids {
	const char *slug, *scope, *instance;
	bool pty; /* it needs a TERM */
};

/* The directory: absolute. Errors: -EINVAL with *why filled
 * (PROTO_E_WORKDIR). */
int exec_workdir(const struct exec_base *b, const struct val *params,
    char *ret, size_t size, struct proto_problem *why);
/* Everything else. Errors: -EINVAL, -E2BIG, -ENOMEM with *why filled. */
int exec_spec_make(const struct exec_base *b, const struct val *params,
    const char *cwd, const struct exec_ids *ids, struct spec **ret,
    struct proto_problem *why);
/* The rules about params that need nothing else. */
int exec_check(const struct val *params, struct proto_problem *why);
/* The command line as shown. */
void exec_shown(const struct val *params, struct sbuf *b);

/* Is it a name that a lane may have? 0, or -EINVAL and *why. */
int exec_check_lane(struct val_str name, struct proto_problem *why);

#endif
