/* SPDX-License-Identifier: MIT */
/*
 * What a connection keeps for its execs, so that an environment does not travel
 * with each of them: by defaults, or by hello. It counts with the connection,
 * and so with its scope's memory. exec.c and exec_session.c begin with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/api/conn.h"

void
defaults_free(struct exec_defaults *d)
{
	free(d->env);
	free(d->dir);
}

void
defaults_lose(struct exec_defaults *d)
{
	defaults_free(d);
	*d = (struct exec_defaults){.umask = d->umask,
	    .lost_env = d->lost_env || d->env != NULL,
	    .lost_dir = d->lost_dir || d->dir != NULL};
}

bool
defaults_refuse(const struct api_call *c, struct proto_problem *why)
{
	const struct exec_defaults *d = &c->conn->defaults;
	const char *lost = d->lost_env && val_get(c->params, "baseEnv") == NULL
	    ? "baseEnv"
	    : d->lost_dir && val_get(c->params, "baseDir") == NULL ? "baseDir"
								   : NULL;
	struct proto_share share;

	if (lost == NULL)
		return false;
	room_refuse(c->conn->room, SHARE_MEMORY, 0, why);
	share = why->share;
	proto_problem_set(why, PROTO_E_SHARE_USED_UP, lost,
	    "memory: another scope needed what this connection keeps as %s; "
	    "send it again, by defaults or with the call", lost);
	why->share = share;
	return true;
}

uint64_t
defaults_bytes(const struct exec_defaults *d)
{
	return d->env_bytes + (d->dir != NULL ? strlen(d->dir) + 1 : 0);
}

/* baseDir, and the mark of the session that the client runs in. */
static int
take_texts(const struct val *params, struct exec_defaults *d,
    struct proto_problem *why)
{
	struct val_str dir = val_str(params, "baseDir");
	struct val_str mark = val_str(val_get(params, "baseEnv"),
	    "PSUP_INSTANCE");

	if (mark.ptr != NULL && mark.len < sizeof(d->mark))
		memcpy(d->mark, mark.ptr, mark.len);
	if (dir.ptr == NULL)
		return 0;
	if (dir.ptr[0] != '/')
		return proto_problem_value(why, PROTO_E_INVALID_PARAMS,
		    "baseDir", val_get(params, "baseDir"), "an absolute path");
	d->dir = strndup(dir.ptr, dir.len);
	if (d->dir != NULL)
		return 0;
	return proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
}

int
defaults_make(const struct val *params, struct exec_defaults *ret,
    struct proto_problem *why)
{
	const struct val *env = val_get(params, "baseEnv");
	struct exec_defaults d = {.umask = -1};
	uint32_t mask = 0;
	int r = take_texts(params, &d, why);

	if (r == 0)
		r = exec_umask(params, 0, &mask, why);
	if (r == 0 && env != NULL)
		r = env_keep(env, &d.env, &d.env_bytes, why);
	if (r < 0) {
		defaults_free(&d);
		return r;
	}
	if (val_get(params, "umask") != NULL)
		d.umask = (int)mask;
	*ret = d;
	return 0;
}

int
conn_keep(struct conn *c, struct exec_defaults *d, struct proto_problem *why)
{
	struct exec_defaults *own = &c->defaults, next = *own;
	uint64_t had = defaults_bytes(own), has;

	if (d->env != NULL) {
		next.env = d->env;
		next.env_bytes = d->env_bytes;
		memcpy(next.mark, d->mark, sizeof(next.mark));
		next.lost_env = false;
	}
	if (d->dir != NULL) {
		next.dir = d->dir;
		next.lost_dir = false;
	}
	if (d->umask >= 0)
		next.umask = d->umask;
	has = defaults_bytes(&next);
	if (has > had && room_ask(c->room, SHARE_MEMORY, has - had, why) < 0) {
		defaults_free(d);
		return -EDQUOT;
	}
	if (d->env != NULL)
		free(own->env);
	if (d->dir != NULL)
		free(own->dir);
	*own = next;
	conn_room_count(c);
	return 0;
}

struct exec_base
exec_base_of(const struct api_call *c)
{
	const struct exec_defaults *d = &c->conn->defaults;
	const struct master *m = c->m;
	struct exec_base b = {.cfg = &m->cfg, .base_env = m->base_env,
	    .base_env_bytes = m->base_env_bytes, .home = m->home,
	    .user_shell = m->user_shell, .path = m->server_path,
	    .dir = d->dir != NULL ? d->dir : "",
	    .umask = d->umask >= 0 ? (uint32_t)d->umask : 022};

	if (d->env != NULL) {
		b.base_env = d->env;
		b.base_env_bytes = d->env_bytes;
	}
	return b;
}

static void
defaults_call(struct api_call *c)
{
	struct exec_defaults d;
	struct proto_problem why;
	struct enc e = ENC_INIT;

	if (defaults_make(c->params, &d, &why) < 0 ||
	    conn_keep(c->conn, &d, &why) < 0) {
		req_fail(c->req, &why);
		return;
	}
	enc_map(&e);
	enc_kv_uint(&e, "bytes", defaults_bytes(&c->conn->defaults));
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_DEFAULTS = {.call = defaults_call};
