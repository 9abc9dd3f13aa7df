/* SPDX-License-Identifier: MIT */
/*
 * lanes: what there is, and what an operator does. The doing is gate/lanes.c's
 * and the scheduler's; here are the words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/state_names.h"
#include "supervisor/api/exec_spec.h"
#include "supervisor/api/method.h"
#include "supervisor/words/result.h"

#define LISTED_MAX 1000u

/* A lane's row. */
static void
lane_row(struct api_call *c, const struct lane_view *v, struct enc *e)
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

/* ------------------------------------------------------------------- list */

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
	lane_row(c, v, &l->e);
	lane_line(c, v, &l->text);
}

/* Is one of the scope's own sessions in this lane? */
static bool
scope_uses(struct master *m, const char *scope, const char *lane)
{
	struct session *s;

	for (s = registry_first(m); s != NULL; s = registry_next(s))
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
	     s = registry_next(s)) {
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

	enc_key(e, "groups");
	enc_array(e);
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

/* list */
static void
op_list(struct api_call *c, const char *name)
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

/* -------------------------------------------------------------- operations */

/* What an operation's answer has beside the lane. */
struct fact {
	const char *key; /* NULL: nothing */
	bool is_bool;
	uint64_t value;
};

/* Answers with what the lane is like now. */
static void
answer(struct api_call *c, const char *op, const char *name,
    const struct fact *fact, const char *text)
{
	struct lane_view v = {.width = 1, .width_conf = 1, .generation = 1};
	struct enc e = ENC_INIT;

	if (!lanes_find(c->m->lanes, name, &v))
		memcpy(v.name, name, strlen(name)); /* forgotten: idle */
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "completed");
	enc_kv_str(&e, "op", op);
	if (fact->key != NULL && fact->is_bool)
		enc_kv_bool(&e, fact->key, fact->value != 0);
	else if (fact->key != NULL)
		enc_kv_uint(&e, fact->key, fact->value);
	enc_key(&e, "lane");
	lane_row(c, &v, &e);
	result_close(&e, false);
	req_done(c->req, &e);
}

/* Puts a changed state into force and answers. */
static void
put(struct api_call *c, const char *op, const char *name,
    const struct lane_state *st, const char *text)
{
	int r = lane_admin_put(c->m, name, st);

	if (r < 0)
		req_nomem(c->req);
	else
		answer(c, op, name, &(struct fact){0}, text);
}

/* set-width */
static void
op_set_width(struct api_call *c, const char *name)
{
	const struct val *width = val_get(c->params, "width");
	struct lane_state st;
	char text[160];

	if (width == NULL) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "width",
		    "width is required for set-width: 0 to 100000, or nil for "
		    "the configured one");
		return;
	}
	(void)lane_admin_state(c->m, name, &st);
	st.width_set = width->type != VAL_NIL;
	st.width = (uint32_t)proto_int(PROTO_LANES, c->params, "width", 0);
	if (st.width_set)
		snprintf(text, sizeof(text), "Lane %s has width %u now.", name,
		    st.width);
	else
		snprintf(text, sizeof(text),
		    "Lane %s has its configured width again.", name);
	put(c, "set-width", name, &st, text);
}

/* pause */
static void
op_pause(struct api_call *c, const char *name)
{
	struct lane_state st;
	char text[160];

	(void)lane_admin_state(c->m, name, &st);
	st.paused = true;
	snprintf(text, sizeof(text),
	    "Lane %s is paused: nobody starts until resume.", name);
	put(c, "pause", name, &st, text);
}

/* resume */
static void
op_resume(struct api_call *c, const char *name)
{
	struct lane_state st;
	char text[160];

	(void)lane_admin_state(c->m, name, &st);
	st.paused = st.draining = false;
	snprintf(text, sizeof(text), "Lane %s goes on.", name);
	put(c, "resume", name, &st, text);
}

/* clear */
static void
op_clear(struct api_call *c, const char *name)
{
	struct fact f = {.key = "cleared",
	    .value = lane_admin_clear(c->m, name)};
	char text[160];

	snprintf(text, sizeof(text),
	    "Lane %s is cleared: %u waiting sessions were rejected.", name,
	    (unsigned)f.value);
	answer(c, "clear", name, &f, text);
}

/* reset */
static void
op_reset(struct api_call *c, const char *name)
{
	struct fact f = {.key = "cleared",
	    .value = lane_admin_reset(c->m, name)};
	char text[160];

	snprintf(text, sizeof(text),
	    "Lane %s is reset: %u waiting sessions were rejected, those that "
	    "run hold no place any more.",
	    name, (unsigned)f.value);
	answer(c, "reset", name, &f, text);
}

/* A drain that waits. */
struct lane_drain {
	LIST_ENTRY(lane_drain) link; /* of the master's, with req */
	struct req *req;
	char lane[LANE_NAME_MAX];
};

/* Answers a drain, done or out of time. */
static void
drain_answer(struct req *r, bool done)
{
	const struct lane_drain *d = r->state;
	const char *name = d->lane;
	struct api_call c = {.m = r->m, .conn = r->conn, .req = r};
	struct fact f = {.key = "drained", .is_bool = true, .value = done};
	struct lane_view v = {0};
	char text[200];

	(void)lanes_find(r->m->lanes, name, &v);
	if (done && v.stale > 0)
		snprintf(text, sizeof(text),
		    "Lane %s is drained: nobody waits or holds a place; %u of "
		    "older generations still run.",
		    name, v.stale);
	else if (done)
		snprintf(text, sizeof(text),
		    "Lane %s is drained: nobody runs or waits.", name);
	else
		snprintf(text, sizeof(text),
		    "Lane %s is not drained yet: %u run, %u wait. It goes on "
		    "draining.",
		    name, v.active, v.queued);
	answer(&c, "drain", name, &f, text);
}

/* Nobody runs or waits? */
static bool
is_empty(struct master *m, const char *name)
{
	struct lane_view v = {0};

	return !lanes_find(m->lanes, name, &v) || v.active + v.queued == 0;
}

/* drain */
static void
op_drain(struct api_call *c, const char *name)
{
	struct req *r = c->req;
	struct lane_drain *d = r->state;
	struct lane_state st;

	(void)lane_admin_state(c->m, name, &st);
	st.draining = true;
	if (lane_admin_put(c->m, name, &st) < 0) {
		req_nomem(r);
		return;
	}
	memcpy(d->lane, name, strlen(name) + 1);
	if (is_empty(c->m, name)) {
		drain_answer(r, true);
		return;
	}
	d->req = r;
	LIST_INSERT_HEAD(&c->m->lane_drains, d, link);
	req_timer(r, (uint64_t)proto_int(PROTO_LANES, c->params, "timeout",
			 30000));
}

/* A drain's time is up. */
static void
lanes_wake(struct req *r, struct session *s, unsigned wake)
{
	const struct lane_drain *d = r->state;

	(void)s;
	if (wake & WAKE_TIMER)
		drain_answer(r, is_empty(r->m, d->lane));
}

static void
lanes_drop(struct req *r)
{
	struct lane_drain *d = r->state;

	if (d->req != NULL)
		LIST_REMOVE(d, link);
}

/* Before each commit: which drains are done? */
void
api_lanes_step(struct master *m)
{
	struct lane_drain *d;

	LIST_FOREACH(d, &m->lane_drains, link)
		if (!d->req->over && is_empty(m, d->lane))
			drain_answer(d->req, true);
}

/* lanes */
static void
lanes_call(struct api_call *c)
{
	static const struct {
		const char *name;
		void (*fn)(struct api_call *c, const char *lane);
	} ops[] = {{"list", op_list}, {"set-width", op_set_width},
	    {"pause", op_pause}, {"resume", op_resume}, {"clear", op_clear},
	    {"reset", op_reset}, {"drain", op_drain}};
	char op[24] = "list", lane[LANE_NAME_MAX];
	struct proto_problem why;
	size_t i;

	if (val_get(c->params, "op") != NULL)
		val_copy(c->params, "op", op, sizeof(op));
	val_copy(c->params, "lane", lane, sizeof(lane));
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(ops[i].name, op) == 0)
			break;
	if (i == sizeof(ops) / sizeof(ops[0])) {
		req_invalid(c->req, "op", val_get(c->params, "op"),
		    "list, set-width, pause, resume, clear, reset or drain");
		return;
	}
	if (exec_check_lane(val_str(c->params, "lane"), &why) < 0) {
		req_fail(c->req, &why);
		return;
	}
	if (i > 0 && !conn_is_admin(c->conn)) {
		req_failf(c->req, PROTO_E_FORBIDDEN, "op",
		    "%s is for admin connections: lanes belong to no scope",
		    op);
		return;
	}
	if (i > 0 && lane[0] == '\0') {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "lane",
		    "lane is required for %s", op);
		return;
	}
	ops[i].fn(c, lane);
}

const struct method method_LANES = {.call = lanes_call, .wake = lanes_wake,
    .drop = lanes_drop, .state_size = sizeof(struct lane_drain)};
