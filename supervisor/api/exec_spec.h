/* SPDX-License-Identifier: MIT */
/*
 * From exec's params to what START needs: shell, environment, directory,
 * program candidates, limits of execve. Pure: no path of a client's is
 * touched, here nor anywhere else in the master.
 */
#ifndef PSUP_SUPERVISOR_API_EXEC_SPEC_H
#define PSUP_SUPERVISOR_API_EXEC_SPEC_H

#include <limits.h>

#include "supervisor/master.h"

/* What an exec begins with, where the call does not say. */
struct exec_base {
	const struct config *cfg;
	const char *base_env; /* the connection's or the server's, filtered */
	size_t base_env_bytes;
	const char *dir; /* the connection's; "": none */
	uint32_t umask;
	const char *home, *user_shell, *path;
	bool left;  /* to the host, though its scope is in a box, of which that
		     * shows this (host/boxes.h) as /workspace; "": nothing */
	char workspace[PATH_MAX];
	bool no_links; /* its directory has none: CTL_START_NO_LINKS */
	bool boxed; /* it is to run in a box, which has */
	char directory[CONFIG_DIRECTORY]; /* this of its scope; "": none */
};

/* Of it, what a connection has said once for all of its calls (defaults.c). */
struct exec_defaults {
	char *env; /* filtered, NUL-terminated strings; NULL: none was given */
	size_t env_bytes;
	char *dir; /* absolute; NULL: none was given */
	int umask; /* -1: none was given */
	char mark[64]; /* the session that the client says it runs in, or "" */
	/* taken back for another scope's sake: no exec begins that does not
	 * bring its own */
	bool lost_env, lost_dir;
};

struct exec_ids {
	const char *slug, *scope, *instance;
	bool pty; /* it needs a TERM */
};

/* Is that path of the host one that a box of its scope shows, or, by a "..", may it
 * be one? */
bool exec_is_shown(const struct exec_base *b, const char *path);
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

/* The mask that params ask for, else dflt. 0, or -EINVAL and *why. */
int exec_umask(const struct val *params, uint32_t dflt, uint32_t *ret,
    struct proto_problem *why);
/* A copy of what may be inherited of a baseEnv, as exec_base has it. 0; -E2BIG
 * (no exec could have it), -ENOMEM and *why. */
int env_keep(const struct val *env, char **ret, size_t *ret_bytes,
    struct proto_problem *why);

/* Is it a name that a lane may have? 0, or -EINVAL and *why. */
int exec_check_lane(struct val_str name, struct proto_problem *why);

#endif
