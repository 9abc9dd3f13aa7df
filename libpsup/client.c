/* SPDX-License-Identifier: MIT */
/*
 * The handle: connecting, and calls that wait. Requests go out by request.c,
 * answers come in by incoming.c. Called by programs and by calls.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "internal.h"

#define CONNECT_MS     10000

/* What a waiting call waits for. */
struct waiting {
	struct psup *p;
	bool done;
	int status;
	struct client_error error; /* of the answer: a connection that is
	                            * closed behind it brings another one */
	psup_reply *reply;
};

int
psup_new(struct psup **ret)
{
	struct psup *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return PSUP_ERR_NO_MEMORY;
	p->fd = -1;
	TAILQ_INIT(&p->by_age);
	for (size_t i = 0; i < REQUEST_BUCKETS; i++)
		LIST_INIT(&p->requests[i]);
	*ret = p;
	return PSUP_OK;
}

void
client_disconnect(struct psup *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->paused = p->held = p->resume.subscribed = false;
	p->resume.state = RESUME_NONE;
	buffer_free(&p->in);
	p->walk = (struct codec_walk){0};
	buffer_wipe(&p->out);
	buffer_free(&p->out);
}

void
psup_free(struct psup **p)
{
	struct request *r;

	if (p == NULL || *p == NULL)
		return;
	client_disconnect(*p);
	while ((r = TAILQ_FIRST(&(*p)->by_age)) != NULL)
		request_free(request_take(*p, r->id));
	identity_free(&(*p)->who);
	free(*p);
	*p = NULL;
}

int
client_fail(struct psup *p, int rc)
{
	struct client_error why = p->error;
	bool gone = strcmp(why.code_text, "no-server") == 0;
	struct request *r;

	client_disconnect(p);
	while ((r = TAILQ_FIRST(&p->by_age)) != NULL) {
		(void)request_take(p, r->id);
		p->error = why;
		if (rc == PSUP_ERR_LOST && r->sent)
			(void)request_lost(p, r, gone ? why.code_text
			        : "connection-lost", why.message);
		request_finish(p, r, rc, NULL);
	}
	p->error = why;
	return rc;
}

int
client_lost(struct psup *p, int errnum)
{
	char why[sizeof(p->error.message)];

	snprintf(why, sizeof(why), "the server at %s closed the connection%s%s",
	    p->runtime_dir, errnum != 0 ? ": " : "",
	    errnum != 0 ? strerror(errnum) : "");
	if (resume_begin(p, why))
		return PSUP_OK;
	error_set(p, PSUP_ERR_LOST, "connection-lost", "", "%s", why);
	return client_fail(p, PSUP_ERR_LOST);
}

void
psup_close(struct psup *p)
{
	p->resume.broken = false;
	if (p->fd < 0)
		return;
	error_set(p, PSUP_ERR_LOST, "connection-lost", "",
	    "the connection was closed");
	client_fail(p, PSUP_ERR_LOST);
}

bool
psup_is_connected(const struct psup *p)
{
	return p->fd >= 0;
}

const char *
psup_runtime_dir(const struct psup *p)
{
	return p->runtime_dir;
}

/* ----------------------------------------------------------------- waiting */

/* The answer of a waiting call. */
static void
call_answered(void *arg, int status, psup_reply *reply)
{
	struct waiting *w = arg;

	w->done = true;
	w->error = w->p->error;
	w->status = status;
	w->reply = reply;
}

/* Milliseconds to a deadline, rounded up; -1: there is none. */
static int
left_ms(uint64_t deadline_ns)
{
	uint64_t now, ms;

	if (deadline_ns == 0)
		return -1;
	now = clock_boot_ns();
	if (now >= deadline_ns)
		return 0;
	ms = (deadline_ns - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return ms > 1000000000 ? 1000000000 : (int)ms;
}

/* Waits for what call_answered() gets. PSUP_OK, the answer's error, or
 * PSUP_ERR_TIMEOUT with the request still under way. */
static int
await(struct waiting *w, int timeout_ms)
{
	uint64_t deadline = timeout_ms < 0 ? 0
	    : clock_boot_ns() + (uint64_t)(unsigned)timeout_ms * NSEC_PER_MSEC;
	int left, rc;

	while (!w->done) {
		left = left_ms(deadline);
		if (left == 0)
			return PSUP_ERR_TIMEOUT;
		rc = psup_turn(w->p, left);
		if (rc != PSUP_OK && !w->done)
			return rc;
	}
	if (w->status != PSUP_OK)
		w->p->error = w->error;
	return w->status;
}

/* -------------------------------------------------------------- connecting */

bool
client_is_busy(const struct psup *p, int rc)
{
	return rc == PSUP_ERR_REFUSED &&
	    strcmp(psup_error_code(p), proto_error_name(PROTO_E_BUSY)) == 0;
}

/* Has the server keep what execs begin with. That it does not is no failure. */
static int
client_settle(struct psup *p, int timeout_ms)
{
	struct waiting w = {.p = p};
	int rc;

	if (p->who.defaults == NULL)
		return PSUP_OK;
	rc = client_defaults(p, call_answered, &w);
	if (rc == PSUP_OK)
		rc = await(&w, timeout_ms);
	psup_reply_free(&w.reply);
	p->who.kept = rc == PSUP_OK;
	return rc == PSUP_ERR_REFUSED ? PSUP_OK : rc;
}

/* One try at an existing server. */
static int
client_connect(struct psup *p, int timeout_ms)
{
	struct waiting w = {.p = p};
	int rc;

	rc = wire_connect(p, p->runtime_dir, timeout_ms);
	if (rc < 0)
		return rc;
	p->fd = rc;
	rc = client_hello(p, call_answered, &w);
	if (rc == PSUP_OK)
		rc = await(&w, timeout_ms);
	if (rc == PSUP_OK)
		rc = client_settle(p, timeout_ms);
	if (rc == PSUP_ERR_TIMEOUT)
		error_set(p, rc, "timeout", "",
		    "the server at %s does not answer", p->runtime_dir);
	if (rc == PSUP_OK && p->fd < 0)
		rc = PSUP_ERR_LOST; /* its end came with the answer */
	if (rc == PSUP_OK) {
		psup_get_copy(psup_reply_value(w.reply), "incarnation",
		    p->resume.incarnation, sizeof(p->resume.incarnation));
		p->resume.since_ns = clock_boot_ns();
	} else {
		while (!TAILQ_EMPTY(&p->by_age))
			request_free(request_take(p,
			    TAILQ_FIRST(&p->by_age)->id));
		client_disconnect(p);
	}
	psup_reply_free(&w.reply);
	return rc;
}

/* The same until its time is up or there is no server: a master that dies
 * closes what waits for it, and a keeper that starts does not listen yet. */
static int
client_connect_patiently(struct psup *p, int timeout_ms)
{
	uint64_t deadline = clock_boot_ns() +
	    (uint64_t)(unsigned)timeout_ms * NSEC_PER_MSEC;
	int rc;

	while ((rc = client_connect(p, left_ms(deadline))) == PSUP_ERR_LOST ||
	    client_is_busy(p, rc) ||
	    (rc == PSUP_ERR_NO_SERVER && keeper_lives(p->runtime_dir))) {
		clock_nap(10 * NSEC_PER_MSEC);
		if (left_ms(deadline) == 0)
			break;
	}
	return rc;
}

int
psup_connect(struct psup *p, const struct psup_options *o)
{
	struct psup_options defaults = PSUP_OPTIONS_INIT;
	int timeout_ms, rc;

	if (o == NULL)
		o = &defaults;
	if (o->size != sizeof(*o) || p->depth > 0)
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    p->depth > 0 ? "psup_connect() from a callback"
		                 : "psup_options.size is wrong");
	psup_close(p);
	rc = resolve_dir(p, o, p->runtime_dir);
	if (rc == PSUP_OK)
		rc = identity_take(p, o);
	if (rc != PSUP_OK)
		return rc;
	timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : CONNECT_MS;
	rc = client_connect_patiently(p, timeout_ms);
	if (rc != PSUP_ERR_NO_SERVER || !o->start)
		return rc;
	rc = psup_start_server(p, o);
	return rc == PSUP_OK ? client_connect_patiently(p, timeout_ms) : rc;
}

/* ------------------------------------------------------------------- calls */

/* The call's time is up: forget it, and tell the server. */
static int
call_timed_out(struct psup *p, uint32_t id, const char *method)
{
	request_free(request_take(p, id));
	psup_cancel(p, id);
	return error_set(p, PSUP_ERR_TIMEOUT, "timeout", "",
	    "%s: no answer in time", method);
}

int
psup_call(struct psup *p, const char *method, const struct psup_args *a,
    int timeout_ms, psup_reply **ret)
{
	struct waiting w = {.p = p};
	uint32_t id = 0;
	int rc;

	if (p->depth > 0)
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "psup_call() from a callback");
	rc = client_send(p, method, a, call_answered, &w, SEND_AGAIN, &id);
	if (rc != PSUP_OK)
		return rc;
	rc = await(&w, timeout_ms);
	if (rc == PSUP_ERR_TIMEOUT && !w.done)
		return call_timed_out(p, id, method);
	if (rc == PSUP_OK)
		*ret = w.reply;
	return rc;
}
