/* SPDX-License-Identifier: MIT */
/* See sandbox_made.h. */
#include "supervisor/api/sandbox_made.h"

#include "common/config_options.h"

static void
put_binds(struct enc *e, const struct config_sandbox *s)
{
	const char *at = s->binds;
	struct box_bind bind;

	enc_kv_array(e, "binds");
	while (config_next_bind(&at, &bind)) {
		enc_map(e);
		enc_kv_str(e, "host", bind.host);
		enc_kv_str(e, "inside", bind.inside);
		enc_kv_bool(e, "writable", bind.writable);
		enc_end(e);
	}
	enc_end(e);
}

/* What it shows; a container shows what it was made with. */
static void
put_place(struct enc *e, const struct config_sandbox *s, const char *directory)
{
	if (s->backend == CONFIG_BACKEND_CONTAINER) {
		enc_kv_str(e, "engine", config_word(OPT_BOX_ENGINE, s->engine));
		enc_kv_str(e, "container", s->container);
		return;
	}
	enc_kv_str(e, "workspace", s->workspace);
	enc_kv_str(e, "access", config_word(OPT_BOX_ACCESS, s->access));
	if (s->access != CONFIG_ACCESS_NONE)
		enc_kv_str(e, "directory", directory);
	enc_kv_str(e, "network", config_word(OPT_BOX_NETWORK, s->network));
	put_binds(e, s);
}

void
sandbox_put_made(struct enc *e, const struct config_sandbox *s,
    const char *directory)
{
	enc_kv_str(e, "backend", config_word(OPT_BOX_BACKEND, s->backend));
	put_place(e, s, directory);
	enc_kv_uint(e, "uid", s->uid);
	enc_kv_uint(e, "gid", s->gid);
	enc_kv_str(e, "setup", s->setup);
	enc_kv_uint(e, "idleMin", s->idle_min);
	enc_kv_uint(e, "maxAgeMin", s->max_age_min);
}
