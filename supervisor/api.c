/* SPDX-License-Identifier: MIT */
/*
 * From a checked request to its handler, by one table; and the one function
 * through which every handler comes to a session, so that another scope's id
 * answers exactly like an unknown one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    [PROTO_KILL] = api_kill,
    [PROTO_KILL_SCOPE] = api_kill_scope,
    [PROTO_CLEAR] = api_clear,
    [PROTO_REMOVE] = api_remove,
    [PROTO_EVENTS] = api_events,
    [PROTO_SUBSCRIBE] = api_subscribe,
    [PROTO_ACK] = api_ack,
    [PROTO_STATUS] = api_status,
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

/* The session a call names; NULL: the refusal is sent. */
struct session *
api_session(struct api_call *c, bool backgrounded)
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
	if (backgrounded && !s->backgrounded && conn_scope(c->conn) != NULL) {
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

/* hello: scope and rights of the connection. */
void
api_hello(struct api_call *c)
{
	char scope[48], client[72], inc[24];
	bool has_scope = val_copy(c->params, "scope", scope, sizeof(scope)) > 0;
	struct enc e = ENC_INIT;

	val_copy(c->params, "client", client, sizeof(client));
	if (conn_set_hello(c->conn, has_scope ? scope : NULL,
		val_bool(c->params, "process", true), client) < 0) {
		req_failf(c->req, PROTO_E_FORBIDDEN, "",
		    "hello comes once, before anything else");
		return;
	}
	snprintf(inc, sizeof(inc), "%016" PRIx64, c->m->h.incarnation);
	enc_map(&e);
	enc_kv_str(&e, "server", PSUP_VERSION);
	enc_kv_int(&e, "protocol", PROTO_VERSION);
	enc_kv_str(&e, "incarnation", inc);
	enc_key(&e, "scope");
	if (has_scope)
		enc_str(&e, scope);
	else
		enc_nil(&e);
	enc_kv_int(&e, "pid", getpid());
	enc_end(&e);
	req_answer(c->req, &e);
	enc_fini(&e);
}
