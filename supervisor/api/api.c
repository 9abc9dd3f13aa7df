/* SPDX-License-Identifier: MIT */
/*
 * From a checked request to its handler, by one table; and the one function
 * through which every handler comes to a session, so that another scope's id
 * answers exactly like an unknown one.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/master.h"

static api_fn *const handlers[PROTO_METHOD_COUNT] = {
    [PROTO_HELLO] = api_hello,
    [PROTO_EXEC] = api_exec,
    [PROTO_LIST] = api_list,
    [PROTO_POLL] = api_poll,
    [PROTO_LOG] = api_log,
    [PROTO_WAIT] = api_wait,
    [PROTO_WRITE] = api_write,
    [PROTO_SEND_KEYS] = api_send_keys,
    [PROTO_SUBMIT] = api_submit,
    [PROTO_PASTE] = api_paste,
    [PROTO_RESIZE] = api_resize,
    [PROTO_BACKGROUND] = api_background,
    [PROTO_SCREEN] = api_screen,
    [PROTO_KILL] = api_kill,
    [PROTO_KILL_SCOPE] = api_kill_scope,
    [PROTO_CLEAR] = api_clear,
    [PROTO_REMOVE] = api_remove,
    [PROTO_EVENTS] = api_events,
    [PROTO_SUBSCRIBE] = api_subscribe,
    [PROTO_ACK] = api_ack,
    [PROTO_LANES] = api_lanes,
    [PROTO_STATUS] = api_status,
    [PROTO_DRAIN_SCOPE] = api_drain_scope,
    [PROTO_UNDRAIN_SCOPE] = api_undrain_scope,
    [PROTO_MINT_TOKEN] = api_mint_token,
    [PROTO_LIST_TOKENS] = api_list_tokens,
    [PROTO_REVOKE_TOKEN] = api_revoke_token,
    [PROTO_UPGRADE] = api_upgrade,
    [PROTO_SHUTDOWN] = api_shutdown,
};

/* Hands a request to its handler. */
void
api_dispatch(struct master *m, struct req *r, const struct val *params)
{
	struct api_call c = {.m = m, .conn = r->conn, .req = r,
	    .params = params};

	if (handlers[r->method] == NULL) {
		req_failf(r, PROTO_E_UNSUPPORTED, "", "%s is not built yet",
		    proto_method_name(r->method));
		return;
	}
	handlers[r->method](&c);
}

/* Does an exec of this connection wait for the session: the one that started
 * it, or the same request key come back? */
static bool
runs_it(const struct api_call *c, const struct session *s)
{
	const struct watch *w;

	LIST_FOREACH(w, &s->watches, of_session)
		if (w->req->conn == c->conn && w->req->method == PROTO_EXEC)
			return true;
	return false;
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
	if (reach != API_ANY && !s->backgrounded &&
	    conn_scope(c->conn) != NULL &&
	    !(reach == API_OWN && runs_it(c, s))) {
		if (session_live(s))
			req_refuse(c->req, PROTO_E_NOT_BACKGROUNDED, s->slug,
			    "Session %s is not backgrounded.", s->slug);
		else
			req_refuse(c->req, PROTO_E_NOT_FOUND, NULL,
			    "No session found for %s", shown);
		return NULL;
	}
	return s;
}

/* How the output of this call is to be shown. */
bool
api_text_rule(struct api_call *c)
{
	const struct val *v = val_get(c->params, "text");
	struct proto_problem p;

	c->req->text = TEXT_CLEAN;
	if (v == NULL)
		return true;
	c->req->text = text_rule_find(v->s.ptr, v->s.len);
	if (c->req->text < TEXT_RULES)
		return true;
	proto_problem_value(&p, PROTO_E_INVALID_PARAMS, "text", v,
	    "clean, ansi, shown or plain");
	req_fail(c->req, &p);
	return false;
}
