/* SPDX-License-Identifier: MIT */
/*
 * One MessagePack-RPC frame: decoded within limits, recognised, handed to
 * api.c. What is wrong is answered where its msgid is known; the connection
 * goes on wherever the end of the frame is known.
 */
#include <string.h>

#include "common/log.h"
#include "shm/stats.h"
#include "supervisor/conn.h"

/* The msgid of a request that did not decode: it stands at the start. */
static uint32_t
peek_msgid(const char *buf, size_t len)
{
	const unsigned char *p = (const void *)buf;

	if (len < 3 || p[0] != 0x94 || p[1] != 0x00)
		return 0;
	if (p[2] < 0x80)
		return p[2];
	if (p[2] == 0xcc && len >= 4)
		return p[3];
	if (p[2] == 0xcd && len >= 5)
		return (uint32_t)p[3] << 8 | p[4];
	if (p[2] == 0xce && len >= 7)
		return (uint32_t)p[3] << 24 | (uint32_t)p[4] << 16 |
		    (uint32_t)p[5] << 8 | p[6];
	return 0;
}

/* Answers that a frame is wrong. */
static void
frame_fail(struct conn *c, uint32_t msgid, enum proto_error code,
    const char *why)
{
	struct proto_problem p;

	atomic_fetch_add_explicit(&c->m->stats->malformed, 1,
	    memory_order_relaxed);
	proto_problem_set(&p, code, "", "%s", why);
	conn_fail(c, msgid, &p);
}

/* The params map of a call: a map, [map], or []. NULL: something else. */
static const struct val *
params_of(const struct val *v)
{
	static const struct val empty = {.type = VAL_MAP};

	if (v->type == VAL_NIL)
		return &empty;
	if (v->type == VAL_ARRAY && v->a.count == 0)
		return &empty;
	if (v->type == VAL_ARRAY && v->a.count == 1)
		v = &v->a.items[0];
	return v->type == VAL_MAP ? v : NULL;
}

/* [0, msgid, method, params] */
static void
on_request(struct conn *c, const struct val *f)
{
	const struct val *id = &f->a.items[1], *name = &f->a.items[2];
	const struct val *params = params_of(&f->a.items[3]);
	enum proto_method method;
	struct proto_problem p;
	struct req *r;
	uint32_t msgid;

	c->requests++;
	if (id->type != VAL_UINT || id->u > UINT32_MAX) {
		frame_fail(c, 0, PROTO_E_BAD_REQUEST,
		    "msgid is not an unsigned 32-bit number");
		return;
	}
	msgid = (uint32_t)id->u;
	if (name->type != VAL_STR || params == NULL) {
		frame_fail(c, msgid, PROTO_E_BAD_REQUEST,
		    "a request is [0, msgid, method, params] with a map of "
		    "params");
		return;
	}
	if (conn_req(c, msgid) != NULL) {
		frame_fail(c, msgid, PROTO_E_BAD_REQUEST,
		    "a request of this msgid is under way");
		return;
	}
	method = proto_method_find(name->s.ptr, name->s.len);
	if (method == PROTO_METHOD_COUNT) {
		proto_problem_set(&p, PROTO_E_UNKNOWN_METHOD, "",
		    "there is no such method");
		conn_fail(c, msgid, &p);
		return;
	}
	if (proto_check(method, params, &p) < 0) {
		conn_fail(c, msgid, &p);
		return;
	}
	if (proto_method_kind(method) == PROTO_ADMIN && conn_scope(c) != NULL) {
		proto_problem_set(&p, PROTO_E_FORBIDDEN, "",
		    "%s needs an admin connection", proto_method_name(method));
		conn_fail(c, msgid, &p);
		return;
	}
	r = req_new(c, msgid, method);
	if (r == NULL) {
		proto_problem_set(&p, PROTO_E_BUSY, "", "out of memory");
		conn_fail(c, msgid, &p);
		return;
	}
	api_dispatch(c->m, r, params);
}

/* [2, "cancel", {msgid}]; other notifications are ignored. */
static void
on_notification(struct conn *c, const struct val *f)
{
	const struct val *params = params_of(&f->a.items[2]);
	uint64_t msgid;
	struct req *r;

	if (!val_is_str(&f->a.items[1], "cancel") || params == NULL)
		return;
	msgid = val_uint(params, "msgid", UINT64_MAX);
	r = msgid <= UINT32_MAX ? conn_req(c, (uint32_t)msgid) : NULL;
	if (r != NULL)
		req_abandon(r, true);
}

/* A decoded frame. */
static void
frame_take(struct conn *c, const struct val *f)
{
	if (f->type == VAL_ARRAY && f->a.count == 4 &&
	    f->a.items[0].type == VAL_UINT && f->a.items[0].u == 0)
		on_request(c, f);
	else if (f->type == VAL_ARRAY && f->a.count == 3 &&
	    f->a.items[0].type == VAL_UINT && f->a.items[0].u == 2)
		on_notification(c, f);
	else
		frame_fail(c, 0, PROTO_E_BAD_REQUEST,
		    "neither a request nor a notification of MessagePack-RPC");
}

/* Handles one frame. */
size_t
frame_handle(struct conn *c, const char *p, size_t len)
{
	struct codec_limits limits = codec_limits_default;
	struct codec_arena *arena = NULL;
	const struct val *f = NULL;
	char why[200] = "";
	size_t used = 0;
	enum codec_error e;

	limits.bytes = (uint32_t)c->m->cfg.frame_bytes;
	e = codec_decode(p, len, &limits, &used, &arena, &f, why, sizeof(why));
	switch (e) {
	case CODEC_OK:
		atomic_fetch_add_explicit(&c->m->stats->requests, 1,
		    memory_order_relaxed);
		frame_take(c, f);
		codec_arena_free(&arena);
		return used;
	case CODEC_INCOMPLETE:
		return 0;
	case CODEC_TOO_LARGE:
		frame_fail(c, peek_msgid(p, len), PROTO_E_FRAME_TOO_LARGE,
		    why);
		used = 0;
		break;
	case CODEC_LIMIT:
		frame_fail(c, peek_msgid(p, len), PROTO_E_LIMIT, why);
		break;
	case CODEC_MALFORMED:
		frame_fail(c, peek_msgid(p, len), PROTO_E_BAD_REQUEST, why);
		break;
	case CODEC_NOMEM:
		frame_fail(c, peek_msgid(p, len), PROTO_E_BUSY,
		    "out of memory");
		break;
	}
	if (used == 0)
		c->closing = true; /* its end is not known: no way to go on */
	return used;
}
