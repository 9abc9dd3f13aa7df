/* SPDX-License-Identifier: MIT */
/*
 * From a checked request to its method, by one table; and the one function
 * through which every method comes to a session, so that another scope's id
 * answers exactly like an unknown one.
 */
#include <errno.h>
#include <stdio.h>

#include "common/match.h"
#include "supervisor/api/request.h"

#define METHOD(id, ...) [PROTO_##id] = &method_##id,
static const struct method *const methods[PROTO_METHOD_COUNT] = {
#include "common/proto.def"
};

const struct method *
api_method(enum proto_method method)
{
	return methods[method];
}

/* Hands a request to its method. */
void
api_dispatch(struct master *m, struct req *r, const struct val *params)
{
	struct api_call c = {.m = m, .conn = r->conn, .req = r,
	    .params = params};

	r->row->call(&c);
}

/* The session a call names; NULL: the refusal is sent. */
struct session *
api_session(struct api_call *c, enum api_reach reach)
{
	char id[80], shown[80];
	struct session *s;
	size_t n;

	n = val_copy(c->params, "sessionId", id, sizeof(id));
	if (n == 0) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "sessionId",
		    "sessionId is required for this action.");
		return NULL;
	}
	snprintf(shown, sizeof(shown), "%s", id);
	s = n < sizeof(id) ? session_find(c->m, conn_scope(c->conn), id) : NULL;
	if (s == NULL) {
		req_refuse(c->req, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %s", shown);
		return NULL;
	}
	if (reach != API_ANY && !s->shown.backgrounded &&
	    conn_scope(c->conn) != NULL &&
	    !(reach == API_OWN && api_exec_waits(c->conn, s))) {
		if (session_live(s))
			req_refuse(c->req, PROTO_E_NOT_BACKGROUNDED, s->id.slug,
			    "Session %s is not backgrounded.", s->id.slug);
		else
			req_refuse(c->req, PROTO_E_NOT_FOUND, NULL,
			    "No session found for %s", shown);
		return NULL;
	}
	return s;
}

bool
api_match_spec(struct api_call *c, const struct match_wish *wish,
    struct match_spec **ret)
{
	char expected[160];
	const char *why;
	size_t at;
	int r = match_spec_new(wish, ret, &at, &why);

	if (r == -ENOMEM)
		return req_nomem(c->req);
	if (r == 0)
		return true;
	snprintf(expected, sizeof(expected),
	    "a regular expression, but at byte %zu: %s", at, why);
	return req_invalid(c->req, "regex", val_get(c->params, "regex"),
	    expected);
}

enum text_rule
api_text_rule(struct api_call *c)
{
	struct val_str text = val_str(c->params, "text");

	return text.ptr != NULL ? text_rule_find(text.ptr, text.len)
	                        : TEXT_CLEAN;
}
