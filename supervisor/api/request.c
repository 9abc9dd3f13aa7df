/* SPDX-License-Identifier: MIT */
/*
 * A request under way: made by frame.c, answered by its method at once or
 * when something it watches happens, ended by cancel or its connection's end.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "common/text.h"
#include "supervisor/api/conn.h"
#include "supervisor/words/result.h"

#define KEPT_FREE 262144u /* bytes; who needs no more asks nobody */

/* A request, counted with its connection. */
struct req *
req_new(struct conn *c, uint32_t msgid, enum proto_method method)
{
	const struct method *row = api_method(method);
	struct req *r = calloc(1, sizeof(*r) + row->state_size);

	if (r == NULL)
		return NULL;
	r->row = row;
	r->state = r->own;
	r->conn = c;
	r->m = c->m;
	r->msgid = msgid;
	r->method = method;
	LIST_INIT(&r->watches);
	TAILQ_INIT(&r->due);
	TAILQ_INSERT_TAIL(&c->reqs, r, link);
	c->nreqs++;
	conn_room_idle(c);
	return r;
}

/* Its word is taken. */
void
watch_hear(struct watch *w)
{
	if (w->wake != 0)
		TAILQ_REMOVE(&w->req->due, w, due_link);
	w->wake = 0;
}

/* It has nothing to do at the moment. */
static void
job_end(struct req *r)
{
	if (r->job)
		TAILQ_REMOVE(&r->conn->jobs, r, job_link);
	r->job = false;
}

/* It has something to do, after the others of its connection. */
static void
job_begin(struct req *r)
{
	if (r->job || r->over)
		return;
	r->job = true;
	TAILQ_INSERT_TAIL(&r->conn->jobs, r, job_link);
	conn_ready(r->conn);
}

/* No session wakes it any more. */
void
req_unwatch(struct req *r)
{
	struct watch *w;

	while ((w = LIST_FIRST(&r->watches)) != NULL)
		over_watch(r->m, w);
}

/* It was answered or given up: nothing wakes it, and its connection has room
 * again. */
void
req_end(struct req *r)
{
	if (r->over)
		return;
	req_unwatch(r);
	job_end(r);
	r->conn->lent -= r->lent;
	conn_room_count(r->conn);
	timer_free(&r->timer);
	TAILQ_REMOVE(&r->conn->reqs, r, link);
	over_req(r);
	conn_req_gone(r->conn);
}

/* Frees it, and what its method has kept. */
void
req_free(struct req *r)
{
	if (r->row->drop != NULL)
		r->row->drop(r);
	free(r);
}

/* Answers with an encoded result; of a long one the memory goes along. */
void
req_answer(struct req *r, struct enc *e)
{
	if (e->failed) {
		req_nomem(r);
		return;
	}
	if (!r->over)
		conn_answer(r->conn, r->msgid, e);
	req_end(r);
}

void
req_done(struct req *r, struct enc *e)
{
	req_answer(r, e);
	enc_fini(e);
}

/* Answers with an error. */
bool
req_fail(struct req *r, const struct proto_problem *p)
{
	if (!r->over)
		conn_fail(r->conn, r->msgid, p);
	req_end(r);
	return false;
}

/* Answers with an error in words. */
bool
req_failf(struct req *r, enum proto_error code, const char *field,
    const char *fmt, ...)
{
	struct proto_problem p;
	char text[300];

	(void)FORMATTED(text, sizeof(text), fmt);
	proto_problem_set(&p, code, field, "%s", text);
	return req_fail(r, &p);
}

bool
req_nomem(struct req *r)
{
	return req_failf(r, PROTO_E_BUSY, "", "out of memory");
}

bool
req_invalid(struct req *r, const char *field, const struct val *v,
    const char *expected)
{
	struct proto_problem p;

	proto_problem_value(&p, PROTO_E_INVALID_PARAMS, field, v, expected);
	return req_fail(r, &p);
}

/* A tool's failure, as a result: text, and details with the share it is about,
 * if it is about one. */
static bool
refuse(struct req *r, enum proto_error code, const char *session,
    const char *text, const struct proto_share *share)
{
	struct enc e = ENC_INIT;
	char shown[4 * 600];

	text_escape(text, strlen(text), true, shown, sizeof(shown));
	result_open(&e, shown, strlen(shown));
	enc_kv_str(&e, "status", "failed");
	enc_kv_str(&e, "error", shown);
	enc_kv_str(&e, "code", proto_error_name(code));
	if (session != NULL)
		enc_kv_str(&e, "sessionId", session);
	if (r->row->refused != NULL)
		r->row->refused(r, &e);
	if (share != NULL)
		proto_encode_share(&e, share);
	result_close(&e, true);
	req_done(r, &e);
	return false;
}

/* The same in words of its own. */
bool
req_refuse(struct req *r, enum proto_error code, const char *session,
    const char *fmt, ...)
{
	char text[600];

	(void)FORMATTED(text, sizeof(text), fmt);
	return refuse(r, code, session, text, NULL);
}

/* The same for a scope that has used up its share. */
bool
req_refuse_share(struct req *r, const char *session,
    const struct proto_problem *why)
{
	return refuse(r, why->code, session, why->message, &why->share);
}

/* By the shorter of both lists. */
static bool
watches(const struct req *r, const struct session *s)
{
	const struct watch *a = LIST_FIRST(&r->watches);
	const struct watch *b = LIST_FIRST(&s->watches);

	while (a != NULL && b != NULL && a->s != s && b->req != r) {
		a = LIST_NEXT(a, of_req);
		b = LIST_NEXT(b, of_session);
	}
	return a != NULL && b != NULL;
}

static int
watch(struct req *r, struct session *s)
{
	struct watch *w;

	if (r->over || s->over.forgotten)
		return -ESTALE;
	w = malloc(sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	w->req = r;
	w->s = s;
	w->wake = 0;
	LIST_INSERT_HEAD(&s->watches, w, of_session);
	LIST_INSERT_HEAD(&r->watches, w, of_req);
	return 0;
}

int
req_watch(struct req *r, struct session *s)
{
	return watches(r, s) ? 0 : watch(r, s);
}

int
req_watch_many(struct req *r, struct session *s)
{
	const struct watch *last = LIST_FIRST(&s->watches);

	return last != NULL && last->req == r ? 1 : watch(r, s);
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
on_timer(int, short, void *arg)
{
	turn_begin(((struct req *)arg)->m);
	req_wake(arg, WAKE_TIMER);
}

int
req_lend(struct req *r, uint64_t n, struct proto_problem *why)
{
	int e = room_ask(r->conn->room, SHARE_MEMORY, n, why);

	if (e < 0)
		return e;
	r->lent += n;
	r->conn->lent += n;
	conn_room_count(r->conn);
	return 0;
}

void *
req_alloc(struct req *r, size_t n)
{
	void *p = malloc(n != 0 ? n : 1);

	if (p == NULL)
		req_nomem(r);
	return p;
}

bool
req_keeps(struct req *r, uint64_t n)
{
	struct proto_problem why;

	if (n <= KEPT_FREE || n <= r->lent ||
	    req_lend(r, n - r->lent, &why) == 0)
		return true;
	return req_fail(r, &why);
}

/* Wakes it with WAKE_TIMER in `ms`. */
void
req_timer(struct req *r, uint64_t ms)
{
	if (!r->over)
		timer_in(r->m, &r->timer, on_timer, r, ms);
}

/* Tells the method what has happened. It may answer. */
static void
tell(struct req *r, struct session *s, unsigned wake)
{
	if (!r->over && r->row->wake != NULL)
		r->row->wake(r, s, wake);
}

void
req_wake(struct req *r, unsigned wake)
{
	r->wake |= wake;
	job_begin(r);
}

void
watch_wake(struct watch *w, unsigned wake)
{
	struct req *r = w->req;
	unsigned before = w->wake;

	if (before == 0)
		TAILQ_INSERT_TAIL(&r->due, w, due_link);
	w->wake |= wake;
	if ((wake & WAKE_GONE) == 0) {
		job_begin(r);
		return;
	}
	/* it will not be there in a unit to come: what it said before is heard
	 * first, an end for example, which answers */
	watch_hear(w);
	if (before != 0)
		tell(r, w->s, before);
	tell(r, w->s, WAKE_GONE);
}

void
req_step(struct req *r, int (*step)(struct req *r, uint64_t until))
{
	r->step = step;
	job_begin(r);
}

/* One word for it, with what it is told without a session. */
static void
hear(struct req *r)
{
	struct watch *w = TAILQ_FIRST(&r->due);
	struct session *s = w != NULL ? w->s : req_session(r);
	unsigned wake = r->wake | (w != NULL ? w->wake : 0);

	r->wake = 0;
	if (w != NULL)
		watch_hear(w);
	tell(r, s, wake);
}

/* Has something happened that it is to hear of? */
static bool
is_told(const struct req *r)
{
	return r->wake != 0 || !TAILQ_EMPTY(&r->due);
}

bool
req_may(const struct req *r)
{
	return is_told(r) || r->step == NULL || conn_takes_answers(r->conn);
}

/* The next slice, of the oldest that does the same. */
static void
step_on(struct req *r, uint64_t until)
{
	int (*step)(struct req *, uint64_t);
	struct req *o;

	TAILQ_FOREACH(o, &r->conn->reqs, link)
		if (o->step != NULL && o->row == r->row)
			break;
	if (o == NULL)
		return;
	step = o->step;
	turn_in_hand(o->m, proto_method_name(o->method), o->hash);
	o->step = NULL;
	if (step(o, until) > 0)
		o->step = step;
}

void
req_unit(struct req *r, uint64_t until)
{
	turn_in_hand(r->m, proto_method_name(r->method), r->hash);
	job_end(r);
	r->heard = is_told(r) && !(r->heard && r->step != NULL &&
	    conn_takes_answers(r->conn));
	if (r->heard)
		hear(r);
	else
		step_on(r, until);
	if (r->step != NULL || is_told(r))
		job_begin(r);
}

/* Given up: by cancel, which is answered, or with its connection. */
void
req_abandon(struct req *r, bool cancelled)
{
	if (r->row->abandon != NULL)
		r->row->abandon(r);
	if (cancelled)
		req_failf(r, PROTO_E_CANCELLED, "", "cancelled");
	else
		req_end(r);
}
