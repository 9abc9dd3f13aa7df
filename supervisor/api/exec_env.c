/* SPDX-License-Identifier: MIT */
/* The environment a command gets: the base, what the call asks for, and what
 * psup itself says. */
#include "supervisor/api/exec_build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/envpolicy.h"
#include "supervisor/api/exec_spec.h"

/* One variable, into the blob. */
static int
put_pair(struct build *bl, const struct pair *p)
{
	char key[160];

	if (p->key_len >= sizeof(key) - 2)
		return proto_problem_set(bl->why, PROTO_E_TOO_BIG, "env",
		    "a variable's name has %zu bytes", p->key_len);
	memcpy(key, p->key, p->key_len);
	key[p->key_len] = '=';
	return blob_put(bl, "env", key, p->key_len + 1, p->val, p->val_len);
}

/* Where a variable is found, or will be. No client can choose names that all
 * come to lie in one place. */
static uint16_t *
slot_of(struct build *bl, const char *key, size_t key_len)
{
	static uint64_t secret;
	const struct pair *p;
	uint64_t h;
	uint16_t *at;

	while (secret == 0)
		arc4random_buf(&secret, sizeof(secret));
	for (h = val_hash_bytes(secret, key, key_len);; h++) {
		at = &bl->slots[h % ENV_SLOTS];
		if (*at == 0)
			return at;
		p = &bl->env[*at - 1];
		if (p->key_len == key_len && memcmp(p->key, key, key_len) == 0)
			return at;
	}
}

void
env_set(struct build *bl, const char *key, size_t key_len, const char *val,
    size_t val_len)
{
	uint16_t *at = slot_of(bl, key, key_len);

	if (*at == 0 && bl->envc == ENV_MAX)
		return;
	if (*at == 0)
		*at = (uint16_t)++bl->envc;
	bl->env[*at - 1] = (struct pair){key, key_len, val, val_len};
}

void
env_base(struct build *bl, const struct exec_base *b, const struct val *params)
{
	const struct val *env = val_get(params, "baseEnv");

	for (size_t i = 0; env != NULL && i < env->a.count; i++) {
		const struct val *k = &env->a.items[2 * i], *v = k + 1;

		if (k->s.len > 0 && memchr(k->s.ptr, '=', k->s.len) == NULL &&
		    !env_is_named(k->s.ptr, k->s.len, b->cfg->env_block) &&
		    env_may_inherit(k->s.ptr, k->s.len))
			env_set(bl, k->s.ptr, k->s.len, v->s.ptr, v->s.len);
	}
	for (size_t at = 0; env == NULL && at < b->base_env_bytes;
	     at += strlen(b->base_env + at) + 1) {
		const char *e = b->base_env + at;
		size_t n = strcspn(e, "=");

		if (!env_is_named(e, n, b->cfg->env_block))
			env_set(bl, e, n, e + n + 1, strlen(e + n + 1));
	}
}

void
env_box(struct build *bl, const struct exec_base *b)
{
	const char *at = b->cfg->sandbox.env;
	size_t n, key;

#define SET(key, val) env_set(bl, key, sizeof(key) - 1, val, strlen(val))
	SET("PATH", BOX_PATH);
	SET("HOME", "/workspace");
	SET("LANG", "C.UTF-8");
#undef SET
	for (; *at != '\0'; at += n + (at[n] == '\n')) {
		n = strcspn(at, "\n");
		key = strcspn(at, "=");
		if (key < n)
			env_set(bl, at, key, at + key + 1, n - key - 1);
	}
}

int
env_keep(const struct val *env, char **ret, size_t *ret_bytes,
    struct proto_problem *why)
{
	struct build bl = {.why = why};
	int r = 0;

	for (size_t i = 0; r == 0 && i < env->a.count; i++) {
		const struct val *k = &env->a.items[2 * i], *v = k + 1;

		if (env_may_inherit(k->s.ptr, k->s.len))
			r = put_pair(&bl, &(struct pair){k->s.ptr, k->s.len,
			    v->s.ptr, v->s.len});
	}
	if (r == 0)
		sbuf_addn(&bl.blob, "", 1); /* of none at all, too */
	if (r == 0 && bl.blob.failed) {
		proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
		r = -ENOMEM;
	}
	if (r < 0) {
		sbuf_fini(&bl.blob);
		return r;
	}
	*ret = bl.blob.p;
	*ret_bytes = bl.blob.len - 1;
	return 0;
}

int
env_call(struct build *bl, const struct exec_base *b, const struct val *params)
{
	const struct val *env = val_get(params, "env");

	for (size_t i = 0; env != NULL && i < env->a.count; i++) {
		const struct val *k = &env->a.items[2 * i], *v = k + 1;
		char why[200], field[64];
		int r = env_may_set(k->s.ptr, k->s.len, why, sizeof(why));

		if (r == 0 && env_is_named(k->s.ptr, k->s.len,
				  b->cfg->env_block)) {
			r = -EPERM; /* its name is portable and short to show */
			snprintf(why, sizeof(why), "Environment variable "
			    "\"%.*s\" is blocked by psup.conf ([env] block).",
			    (int)(k->s.len < 100 ? k->s.len : 100), k->s.ptr);
		}

		if (r < 0) {
			snprintf(field, sizeof(field), "env.%.*s",
			    (int)k->s.len, k->s.ptr);
			return proto_problem_set(bl->why,
			    r == -EPERM ? PROTO_E_FORBIDDEN
					: PROTO_E_INVALID_PARAMS,
			    field, "%s", why);
		}
		env_set(bl, k->s.ptr, k->s.len, v->s.ptr, v->s.len);
	}
	return 0;
}

const struct pair *
env_find(struct build *bl, const char *key)
{
	const uint16_t *at = slot_of(bl, key, strlen(key));

	return *at != 0 ? &bl->env[*at - 1] : NULL;
}

void
env_own(struct build *bl, const struct exec_base *b, const struct exec_ids *ids,
    const char *cwd, struct sbuf *path)
{
	const struct pair *p = env_find(bl, "PATH");

#define SET(key, val) env_set(bl, key, sizeof(key) - 1, val, strlen(val))
	if (b->boxed) {
		/* it has its own */
	} else if (b->cfg->path_prepend[0] != '\0') {
		sbuf_add(path, b->cfg->path_prepend);
		sbuf_add(path, ":");
		if (p != NULL)
			sbuf_addn(path, p->val, p->val_len);
		else
			sbuf_add(path, b->path);
		if (!path->failed)
			SET("PATH", path->p);
	} else if (p == NULL) {
		SET("PATH", b->path);
	}
	SET("PWD", cwd);
	p = env_find(bl, "TERM");
	if (ids->pty && (p == NULL || p->val_len == 0))
		SET("TERM", "xterm-256color");
	SET("OPENCLAW_SHELL", "exec");
	SET("PSUP_SESSION_ID", ids->slug);
	SET("PSUP_SCOPE", ids->scope);
	SET("PSUP_INSTANCE", ids->instance);
#undef SET
}

int
put_env(struct build *bl)
{
	size_t bytes = 0;
	int r = 0;

	for (size_t i = 0; i < bl->envc; i++)
		bytes += bl->env[i].key_len + bl->env[i].val_len + 2;
	if (bytes < ARG_SUM_MAX) /* else it is refused at what is too much */
		(void)sbuf_reserve(&bl->blob, bytes);
	for (size_t i = 0; r == 0 && i < bl->envc; i++)
		r = put_pair(bl, &bl->env[i]);
	return r;
}
