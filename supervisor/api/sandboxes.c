/* SPDX-License-Identifier: MIT */
/* sandboxes and pruneSandboxes: the boxes that there are, and their end. */
#include <stdio.h>
#include <string.h>

#include "common/config_options.h"
#include "common/text.h"
#include "supervisor/api/method.h"
#include "supervisor/api/sandbox_made.h"
#include "supervisor/session/limits.h"
#include "supervisor/words/result.h"
#include "supervisor/words/sbuf.h"

/* The box that a call is about; "": all. False: there is none of that name. */
static bool
take_key(struct api_call *c, char ret[BOXES_KEY_MAX])
{
	const struct host_box *bx;

	ret[0] = '\0';
	(void)val_copy(c->params, "box", ret, BOXES_KEY_MAX);
	if (ret[0] == '\0')
		return true;
	/* that of calls without scope, whose blank at the end nobody types */
	if (strcmp(ret, "agent") == 0)
		(void)strlcpy(ret, "agent ", BOXES_KEY_MAX);
	LIST_FOREACH(bx, &c->m->boxes.list, link)
		if (strcmp(bx->key, ret) == 0)
			return true;
	req_refuse(c->req, PROTO_E_NOT_FOUND, NULL,
	    "No box \"%s\"; psup sandbox list shows those there are", ret);
	return false;
}

static uint64_t
age_ms(const struct host_box *bx)
{
	uint64_t now = clock_wall_ms();

	return now > bx->made_ms ? now - bx->made_ms : 0;
}

/* A bound, and by what it is held to it: a group bounds the box as a whole, an
 * rlimit each process in it, but for the number of these. */
static void
put_bound(struct enc *e, const struct master *m, const char *name,
    enum ctl_limit which, uint64_t v)
{
	char key[24];

	if (v == 0)
		return;
	(void)snprintf(key, sizeof(key), "%s%s", name,
	    which == CTL_LIMIT_MEMORY ? "Bytes" :
		which == CTL_LIMITS   ? "Percent" :
					"");
	enc_kv_uint(e, key, v);
	(void)snprintf(key, sizeof(key), "%sBy", name);
	enc_kv_str(e, key,
	    which == CTL_LIMITS ? ((m->h.flags & HERITAGE_TREE_LIMIT_CPU) != 0 ?
					"cgroup-v2" : "none") :
		limits_box_by_group(&m->h, which) ? limits_by(&m->h, which) :
						    "rlimit");
}

static void
put_row(struct enc *e, const struct master *m, const struct host_box *bx)
{
	enc_map(e);
	enc_kv_str(e, "box", bx->key);
	enc_kv_str(e, "state", box_state_name(bx->life.state));
	enc_kv_int(e, "pid", bx->pid);
	enc_kv_uint(e, "inside", bx->life.inside);
	enc_kv_uint(e, "madeAt", bx->made_ms);
	enc_kv_uint(e, "ageMs", age_ms(bx));
	sandbox_put_made(e, bx->made, bx->made->directory);
	put_bound(e, m, "memory", CTL_LIMIT_MEMORY, bx->made->memory);
	put_bound(e, m, "pids", CTL_LIMIT_PIDS, bx->made->pids);
	put_bound(e, m, "cpus", CTL_LIMITS, bx->made->cpus);
	if (bx->why[0] != '\0')
		enc_kv_str(e, "why", bx->why);
	enc_end(e);
}

/* "agent web    ready, pid 4711, 2 inside, made 5m3s ago" */
static void
add_line(struct sbuf *b, const struct host_box *bx)
{
	char age[32];

	text_duration(age_ms(bx), age, sizeof(age));
	sbuf_addf(b, "%s: %s", bx->key, box_state_name(bx->life.state));
	if (bx->pid != 0)
		sbuf_addf(b, ", pid %d", (int)bx->pid);
	sbuf_addf(b, ", %u inside, made %s ago%s%s\n",
	    (unsigned)bx->life.inside, age, bx->why[0] != '\0' ? ": " : "",
	    bx->why);
}

/* sandboxes */
static void
sandboxes_call(struct api_call *c)
{
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	const struct host_box *bx;
	char key[BOXES_KEY_MAX];

	if (!take_key(c, key))
		return;
	result_open_details(&e);
	enc_kv_str(&e, "status", "completed");
	enc_kv_array(&e, "boxes");
	LIST_FOREACH(bx, &c->m->boxes.list, link) {
		if (key[0] != '\0' && strcmp(bx->key, key) != 0)
			continue;
		put_row(&e, c->m, bx);
		add_line(&text, bx);
	}
	enc_end(&e);
	if (text.len == 0)
		sbuf_add(&text, "There is no box.\n");
	result_close_text(&e, &text);
	sbuf_fini(&text);
	req_done(c->req, &e);
}

const struct method method_SANDBOXES = {.call = sandboxes_call};

/* pruneSandboxes */
static void
prune_sandboxes_call(struct api_call *c)
{
	char key[BOXES_KEY_MAX], text[160];
	struct enc e = ENC_INIT;
	size_t n;

	if (!take_key(c, key))
		return;
	n = boxes_drain(c->m, key[0] != '\0' ? key : NULL);
	(void)snprintf(text, sizeof(text),
	    "%zu box%s: nobody enters any more, and each ends once it is empty.",
	    n, n == 1 ? "" : "es");
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "completed");
	enc_kv_uint(&e, "pruned", n);
	result_close(&e, false);
	req_done(c->req, &e);
}

const struct method method_PRUNE_SANDBOXES = {.call = prune_sandboxes_call};
