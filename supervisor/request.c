/* SPDX-License-Identifier: MIT */
/*
 * A request under way: made by frame.c, answered by an api_ file at once or
 * when something it watches happens, ended by cancel or its connection's end.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/text.h"
#include "supervisor/conn.h"
#include "supervisor/waits.h"

/* A request, counted with its connection. */
struct req *
req_new(struct conn *c, uint32_t msgid, enum proto_method method)
{
	struct req *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->conn = c;
	r->m = c->m;
	r->msgid = msgid;
	r->method = method;
	LIST_INIT(&r->watches);
	TAILQ_INSERT_TAIL(&c->reqs, r, link);
	c->nreqs++;
	return r;
}

/* No session wakes it any more. */
void
req_unwatch(struct req *r)
{
	struct watch *w;

	while ((w = LIST_FIRST(&r->watches)) != NULL) {
		LIST_REMOVE(w, of_session);
		LIST_REMOVE(w, of_req);
		free(w);
	}
}

/* Frees it; its connection has room again. */
void
req_free(struct req *r)
{
	if (r->drawing != NULL)
		api_screen_forget(r);
	req_unwatch(r);
	if (r->log != NULL)
		api_log_forget(r);
	if (r->drains_lane)
		LIST_REMOVE(r, drain_link);
	api_upgrade_forget(r);
	if (r->timer != NULL)
		event_free(r->timer);
	if (r->stall != NULL)
		event_free(r->stall);
	sbuf_fini(&r->warnings);
	free(r->data);
	free(r->cuts);
	waits_free(&r->waits);
	TAILQ_REMOVE(&r->conn->reqs, r, link);
	conn_req_gone(r->conn);
	free(r);
}

/* Answers with an encoded result. */
void
req_answer(struct req *r, struct enc *e)
{
	if (e->failed) {
		req_failf(r, PROTO_E_BUSY, "", "out of memory");
		return;
	}
	conn_answer(r->conn, r->msgid, e->buf, e->len);
	req_free(r);
}

/* Answers with an error. */
void
req_fail(struct req *r, const struct proto_problem *p)
{
	conn_fail(r->conn, r->msgid, p);
	req_free(r);
}

/* Answers with an error in words. */
void
req_failf(struct req *r, enum proto_error code, const char *field,
    const char *fmt, ...)
{
	struct proto_problem p;
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	proto_problem_set(&p, code, field, "%s", text);
	req_fail(r, &p);
}

/* Does the method feed stdin? Its failures say how much was taken. */
static bool
feeds_stdin(enum proto_method m)
{
	return m == PROTO_WRITE || m == PROTO_SEND_KEYS || m == PROTO_SUBMIT ||
	    m == PROTO_PASTE;
}

/* A tool's failure, as a result. */
void
req_refuse(struct req *r, enum proto_error code, const char *session,
    const char *fmt, ...)
{
	struct enc e = ENC_INIT;
	char text[600], shown[4 * sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_escape(text, strlen(text), true, shown, sizeof(shown));
	enc_map(&e);
	enc_kv_str(&e, "text", shown);
	enc_key(&e, "details");
	enc_map(&e);
	enc_kv_str(&e, "status", "failed");
	enc_kv_str(&e, "error", proto_error_name(code));
	if (session != NULL)
		enc_kv_str(&e, "sessionId", session);
	if (feeds_stdin(r->method))
		enc_kv_uint(&e, "accepted", r->accepted);
	enc_end(&e);
	enc_kv_bool(&e, "isError", true);
	enc_end(&e);
	req_answer(r, &e);
	enc_fini(&e);
}

/* Has the session wake this request; once per session. */
int
req_watch(struct req *r, struct session *s)
{
	struct watch *w;

	LIST_FOREACH(w, &r->watches, of_req)
		if (w->s == s)
			return 0;
	w = malloc(sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	w->req = r;
	w->s = s;
	LIST_INSERT_HEAD(&s->watches, w, of_session);
	LIST_INSERT_HEAD(&r->watches, w, of_req);
	return 0;
}

/* The one session of a request that has one. */
struct session *
req_session(struct req *r)
{
	struct watch *w = LIST_FIRST(&r->watches);

	return w != NULL ? w->s : NULL;
}

/* The request's own time is up. */
static void
on_timer(int fd, short what, void *arg)
{
	struct req *r = arg;

	(void)fd;
	(void)what;
	req_wake(r, req_session(r), WAKE_TIMER);
}

/* Wakes it with WAKE_TIMER in `ms`. */
void
req_timer(struct req *r, uint64_t ms)
{
	timer_in(r->m, &r->timer, on_timer, r, ms);
}

/* Something it waits for may have happened. */
void
req_wake(struct req *r, struct session *s, unsigned wake)
{
	static void (*const wakes[PROTO_METHOD_COUNT])(struct req *,
	    struct session *, unsigned) = {
	    [PROTO_EXEC] = api_exec_wake,
	    [PROTO_POLL] = api_poll_wake,
	    [PROTO_LOG] = api_log_wake,
	    [PROTO_WAIT] = api_wait_wake,
	    [PROTO_WRITE] = api_write_wake,
	    [PROTO_SEND_KEYS] = api_send_keys_wake,
	    [PROTO_SCREEN] = api_screen_wake,
	    [PROTO_KILL] = api_kill_wake,
	    [PROTO_KILL_SCOPE] = api_kill_scope_wake,
	    [PROTO_DRAIN_SCOPE] = api_drain_scope_wake,
	    [PROTO_LANES] = api_lanes_wake,
	};

	if (wakes[r->method] != NULL)
		wakes[r->method](r, s, wake);
}

/* Given up: by cancel, which is answered, or with its connection. */
void
req_abandon(struct req *r, bool cancelled)
{
	if (r->method == PROTO_EXEC)
		api_exec_abandon(r);
	if (cancelled)
		req_failf(r, PROTO_E_CANCELLED, "", "cancelled");
	else
		req_free(r);
}
