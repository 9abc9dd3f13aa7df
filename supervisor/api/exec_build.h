/* SPDX-License-Identifier: MIT */
/* What START needs, under construction; for exec_spec.c, exec_env.c and
 * exec_workdir.c. */
#ifndef PSUP_SUPERVISOR_API_EXEC_BUILD_H
#define PSUP_SUPERVISOR_API_EXEC_BUILD_H

#include "supervisor/api/exec_spec.h"

#define ENV_MAX     2200u
#define ENV_SLOTS   4096u
#define ARG_ONE_MAX 131071u /* bytes of an argument or a variable */
#define ARG_SUM_MAX (2u * 1024 * 1024 - 32 * 1024) /* of all of them */

/* A variable; points into params, configuration or the caller's memory. */
struct pair {
	const char *key;
	size_t key_len;
	const char *val;
	size_t val_len;
};

struct build {
	size_t envc;
	struct sbuf blob;
	uint64_t sum; /* as execve counts: strings and pointers */
	struct proto_problem *why;
	uint16_t slots[ENV_SLOTS]; /* by name: 1 + where in env; 0: free */
	struct pair env[ENV_MAX]; /* the first envc of them */
};

/* Appends one string of the blob: two parts and a NUL, within the kernel's
 * limits. 0, or -E2BIG and *bl->why. */
int blob_put(struct build *bl, const char *what, const char *a, size_t a_len,
    const char *b, size_t b_len);

/* exec_workdir.c: a variable of the base environment: of the call, or of what it
 * begins with. */
bool exec_base_get(const struct exec_base *b, const struct val *params,
    const char *key, char *ret, size_t size);

/* Sets a variable, over an earlier one of that name. */
void env_set(struct build *bl, const char *key, size_t key_len,
    const char *val, size_t val_len);
/* The value of a variable as it stands now; NULL: unset. */
const struct pair *env_find(struct build *bl, const char *key);
/* The base: what the client sent, filtered, else the server's own. */
void env_base(struct build *bl, const struct exec_base *b,
    const struct val *params);
/* The base in a box: nothing of ours or the client's, but what is configured
 * for it. */
#define BOX_PATH "/usr/local/bin:/usr/bin:/bin"
void env_box(struct build *bl, const struct exec_base *b);
/* What the call asks for; a refusal (-EINVAL) names the key. */
int env_call(struct build *bl, const struct exec_base *b,
    const struct val *params);
/* The variables psup itself sets, and PATH with what config puts first; `path`
 * holds that and lives as long as the build. */
void env_own(struct build *bl, const struct exec_base *b,
    const struct exec_ids *ids, const char *cwd, struct sbuf *path);
/* The environment's strings of the blob. */
int put_env(struct build *bl);

#endif
