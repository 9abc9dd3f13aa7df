/* SPDX-License-Identifier: MIT */
/*
 * One MessagePack-RPC frame: decoded within limits, recognised, handed to
 * api.c. What is wrong is answered where its msgid is known; the connection
 * goes on wherever the end of the frame is known.
 */
#include <string.h>

#include "common/codec_scan.h"
#include "common/reserve.h"
#include "common/text.h"
#include "supervisor/api/conn.h"

/* The msgid of a request that did not decode: it stands at the start. */
static uint32_t
peek_msgid(const char *buf, size_t len)
{
	uint64_t msgid;

	return codec_peek_msgid(buf, len, &msgid) && msgid <= UINT32_MAX
	    ? (uint32_t)msgid
	    : 0;
}

/* Answers that a frame is wrong; `why` may hold a stranger's bytes. */
static void
frame_fail(struct conn *c, uint32_t msgid, enum proto_error code,
    const char *why)
{
	struct proto_problem p;
	char shown[300];

	ADD_RELAXED(c->m->stats->malformed, 1);
	text_escape(why, strlen(why), false, shown, sizeof(shown));
	proto_problem_set(&p, code, "", "%s", shown);
	conn_fail(c, msgid, &p);
}

/* Answers that a part of a frame is wrong: which, what it is, what it should
 * be. */
static void
part_fail(struct conn *c, uint32_t msgid, const char *part,
    const struct val *v, const char *expected)
{
	struct proto_problem p;

	ADD_RELAXED(c->m->stats->malformed, 1);
	proto_problem_value(&p, PROTO_E_BAD_REQUEST, part, v, expected);
	conn_fail(c, msgid, &p);
}

/* What makes a request the same one when it comes again. */
static uint64_t
hash_of(const struct conn *c, const struct val *name, const struct val *params)
{
	const char *scope = conn_scope(c);
	uint64_t h = scope != NULL
	    ? val_hash_bytes(1, scope, strlen(scope)) : 0;

	return val_hash(val_hash(h, name), params) | 1;
}

/* [0, msgid, method, params] */
static void
on_request(struct conn *c, const struct val *f)
{
	const struct val *id = &f->a.items[1], *name = &f->a.items[2];
	const struct val *params = proto_params_map(&f->a.items[3]);
	enum proto_method method;
	struct proto_problem p;
	struct req *r;
	uint32_t msgid;
	uint64_t hash;

	c->requests++;
	if (id->type != VAL_UINT || id->u > UINT32_MAX) {
		part_fail(c, 0, "msgid", id, "an integer from 0 to 4294967295");
		return;
	}
	msgid = (uint32_t)id->u;
	if (name->type != VAL_STR) {
		part_fail(c, msgid, "method", name, "a method's name");
		return;
	}
	if (params == NULL) {
		part_fail(c, msgid, "params", &f->a.items[3],
		    "a map, an array of one map, an empty array or nil");
		return;
	}
	if (conn_req(c, msgid) != NULL) {
		part_fail(c, msgid, "msgid", id,
		    "a number that no request under way on this connection "
		    "has");
		return;
	}
	method = proto_method_find(name->s.ptr, name->s.len);
	if (method == PROTO_METHOD_COUNT) {
		proto_problem_method(&p, name->s.ptr, name->s.len);
		conn_fail(c, msgid, &p);
		return;
	}
	if (!conn_may_call(c, method, &p)) {
		conn_fail(c, msgid, &p);
		return;
	}
	if (proto_check(method, params, &p) < 0) {
		if (method == PROTO_HELLO)
			conn_deny(c);
		conn_fail(c, msgid, &p);
		return;
	}
	hash = hash_of(c, name, params);
	if (turn_is_fatal(c->m, hash)) {
		proto_problem_set(&p, PROTO_E_REFUSED_AFTER_DEATHS, "",
		    "%s: this request was in hand when the server died twice; "
		    "the same one is taken again in 10 minutes",
		    proto_method_name(method));
		conn_fail(c, msgid, &p);
		return;
	}
	r = reserve_fill() ? req_new(c, msgid, method) : NULL;
	if (r == NULL) {
		proto_problem_set(&p, PROTO_E_BUSY, "", "out of memory");
		conn_fail(c, msgid, &p);
		return;
	}
	r->hash = hash;
	turn_in_hand(c->m, proto_method_name(method), hash);
	api_dispatch(c->m, r, params);
}

/* [2, "cancel", {msgid}]; other notifications are ignored. */
static void
on_notification(struct conn *c, const struct val *f)
{
	const struct val *params = proto_params_map(&f->a.items[2]);
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
		part_fail(c, 0, "message", f, "[0, msgid, method, params] or "
		    "[2, method, params]");
}

/* A frame that is not whole yet may be known to be wrong: its sender is told
 * now, and only once, and the rest of it is skipped as it comes. */
static void
frame_early(struct conn *c, const char *p, size_t len,
    const struct codec_extent *extent)
{
	if (c->told || extent->broken == CODEC_OK)
		return;
	c->told = true;
	frame_fail(c, peek_msgid(p, len),
	    extent->broken == CODEC_LIMIT ? PROTO_E_LIMIT : PROTO_E_BAD_REQUEST,
	    c->walk.why);
}

/* Answers a frame that is not taken, unless that was done already. */
static void
frame_refuse(struct conn *c, const char *p, size_t len, enum codec_error e,
    const char *why)
{
	static const enum proto_error codes[] = {
	    [CODEC_TOO_LARGE] = PROTO_E_FRAME_TOO_LARGE,
	    [CODEC_LIMIT] = PROTO_E_LIMIT,
	    [CODEC_MALFORMED] = PROTO_E_BAD_REQUEST,
	    [CODEC_NOMEM] = PROTO_E_BUSY,
	};

	if (!c->told)
		frame_fail(c, peek_msgid(p, len), codes[e], why);
	c->told = false;
}

void
frame_give_up(struct conn *c, const struct proto_problem *p)
{
	if (!c->told)
		conn_fail(c, peek_msgid(c->in + c->in_at,
		    c->in_len - c->in_at), p);
	c->told = c->closing = true;
}

/* Handles one frame. */
size_t
frame_handle(struct conn *c, const char *p, size_t len)
{
	struct codec_limits limits = codec_limits_default;
	struct codec_arena *arena = NULL;
	const struct val *f = NULL;
	struct codec_extent extent;
	enum codec_error e;

	limits.bytes = conn_frame_max(c);
	e = codec_decode_more(&c->walk, p, len, &limits, &extent, &arena, &f);
	switch (e) {
	case CODEC_OK:
		ADD_RELAXED(c->m->stats->requests, 1);
		frame_take(c, f);
		codec_arena_free(&arena);
		return extent.used;
	case CODEC_INCOMPLETE:
		frame_early(c, p, len, &extent);
		return 0;
	case CODEC_TOO_LARGE:
		extent.used = 0;
		break;
	case CODEC_LIMIT:
	case CODEC_MALFORMED:
	case CODEC_NOMEM:
		break;
	}
	frame_refuse(c, p, len, e, c->walk.why);
	if (extent.used == 0)
		c->closing = true; /* its end is not known: no way to go on */
	return extent.used;
}
