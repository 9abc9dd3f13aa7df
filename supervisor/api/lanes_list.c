/* SPDX-License-Identifier: MIT */
/* lanes, op list: what there is, as rows and in words. Called by lanes.c. */
#include <stdlib.h>
#include <string.h>

#include "shm/state_names.h"
#include "supervisor/api/lanes.h"
#include "supervisor/words/result.h"

#define LISTED_MAX 1000u

void
lanes_row(struct api_call *c, const struct lane_view *v, struct enc *e)
{
	enc_map(e);
	enc_kv_str(e, "name", v->name);
	enc_kv_uint(e, "width", v->width);
	enc_kv_uint(e, "configuredWidth", v->width_conf);
	enc_kv_uint(e, "active", v->active);
	enc_kv_uint(e, "queued", v->queued);
	enc_kv_uint(e, "queueMax", v->queue_max);
	enc_kv_uint(e, "generation", v->generation);
	enc_kv_bool(e, "paused", v->paused);
	enc_kv_bool(e, "draining", v->draining);
	enc_kv_uint(e, "older", v->stale);
	if (v->group[0] != '\0') {
		enc_kv_str(e, "group", v->group);
		enc_kv_uint(e, "groupWidth", v->group_width);
		enc_kv_uint(e, "groupActive", v->group_active);
		enc_kv_uint(e, "reserve", v->reserve);
	}
	if (v->block != LANE_OPEN) {
		enc_kv_str(e, "blockedBy", lane_block_name(v->block));
		enc_key(e, "blockers");
		blockers_encode(c->m, conn_scope(c->conn), c->m->lanes,
		    v->name, e);
	}
	enc_end(e);
}

/* "main 1/1, 3 waiting, generation 1 [paused]: held by nova-gulf (...)" */
static void
lane_line(struct api_call *c, const struct lane_view *v, struct sbuf *b)
{
	sbuf_addf(b, "%s %u/%u, %u waiting", v->name, v->active, v->width,
	    v->queued);
	if (v->generation > 1)
		sbuf_addf(b, ", generation %u", v->generation);
	if (v->stale > 0)
		sbuf_addf(b, ", %u of older ones still running", v->stale);
	if (v->group[0] != '\0')
		sbuf_addf(b, ", group %s %u/%u", v->group, v->group_active,
		    v->group_width);
	if (v->paused)
		sbuf_add(b, " [paused]");
	if (v->draining)
		sbuf_add(b, " [draining]");
	if (v->queued > 0 && v->block > LANE_BLOCK_PAUSED) {
		sbuf_addf(b, ": %s, ",
		    v->block == LANE_BLOCK_WIDTH	? "full"
			: v->block == LANE_BLOCK_GROUP ? "its group is full"
						       : "the rest of its "
							 "group is reserved");
		blockers_text(c->m, conn_scope(c->conn), c->m->lanes,
		    v->name, b);
	}
	sbuf_add(b, "\n");
}

struct listing {
	struct sbuf text;
	struct enc e;
	uint32_t n, total;
};

/* One lane more. */
static void
list_one(struct api_call *c, struct listing *l, const struct lane_view *v)
{
	l->total++;
	if (l->n == LISTED_MAX)
		return;
	l->n++;
	lanes_row(c, v, &l->e);
	lane_line(c, v, &l->text);
}

/* Is one of the scope's own sessions in this lane? */
static bool
scope_uses(struct master *m, const char *scope, const char *lane)
{
	struct session *s;

	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		if (session_live(s) && strcmp(s->id.scope, scope) == 0 &&
		    strcmp(s->wish.lane, lane) == 0)
			return true;
	return false;
}

/* The lanes of a scope's own sessions, each once. */
static void
list_of_scope(struct api_call *c, struct listing *l, const char *scope)
{
	struct master *m = c->m;
	char(*seen)[LANE_NAME_MAX] = calloc(LISTED_MAX, sizeof(*seen));
	struct session *s;
	struct lane_view v;
	uint32_t n = 0, i;

	for (s = registry_first(m); seen != NULL && s != NULL;
	     s = registry_next(m, s)) {
		if (!session_live(s) || s->wish.lane[0] == '\0' ||
		    strcmp(s->id.scope, scope) != 0)
			continue;
		for (i = 0; i < n && strcmp(seen[i], s->wish.lane) != 0; i++)
			;
		if (i < n || n == LISTED_MAX ||
		    !lanes_find(m->lanes, s->wish.lane, &v))
			continue;
		memcpy(seen[n++], v.name, sizeof(v.name));
		list_one(c, l, &v);
	}
	free(seen);
}

/* The groups; they are the administrator's. */
static void
list_groups(struct api_call *c, struct enc *e)
{
	struct lane_group_view g;

	enc_kv_array(e, "groups");
	for (size_t i = 0; conn_scope(c->conn) == NULL &&
	     i < lanes_group_count(c->m->lanes); i++) {
		lanes_group_view(c->m->lanes, i, &g);
		enc_map(e);
		enc_kv_str(e, "name", g.name);
		enc_kv_uint(e, "width", g.width);
		enc_kv_uint(e, "active", g.active);
		enc_kv_uint(e, "reserved", g.reserved);
		enc_kv_uint(e, "lanes", g.lanes);
		enc_end(e);
	}
	enc_end(e);
}

void
lanes_list_all(struct api_call *c, const char *name)
{
	const char *scope = conn_scope(c->conn);
	struct listing l = {.text = SBUF_INIT, .e = ENC_INIT};
	struct enc e = ENC_INIT;
	struct lane_view v;

	enc_array(&l.e);
	if (name[0] != '\0') {
		if (lanes_find(c->m->lanes, name, &v) &&
		    (scope == NULL || scope_uses(c->m, scope, name)))
			list_one(c, &l, &v);
	} else if (scope != NULL) {
		list_of_scope(c, &l, scope);
	} else {
		for (size_t i = 0; i < lanes_count(c->m->lanes); i++) {
			lanes_view(c->m->lanes, i, &v);
			list_one(c, &l, &v);
		}
	}
	enc_end(&l.e);
	if (l.total > l.n)
		sbuf_addf(&l.text, "and %u more\n", l.total - l.n);
	if (l.text.len == 0)
		sbuf_add(&l.text, "No lanes.");
	result_open(&e, l.text.p, l.text.len);
	enc_kv_str(&e, "status", "completed");
	enc_key(&e, "lanes");
	if (l.e.failed)
		enc_nil(&e);
	else
		enc_raw(&e, l.e.buf, l.e.len);
	list_groups(c, &e);
	enc_kv_uint(&e, "total", l.total);
	result_close(&e, false);
	req_done(c->req, &e);
	enc_fini(&l.e);
	sbuf_fini(&l.text);
}
