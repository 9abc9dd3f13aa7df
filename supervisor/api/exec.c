/* SPDX-License-Identifier: MIT */
/*
 * exec: a request becomes a session; the foreground wait ends at the first of
 * its end, the yield, background, cancel or the client's end. background: it ends
 * for all who wait in the foreground of a session.
 */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "supervisor/api/exec.h"
#include "supervisor/api/exec_host.h"
#include "supervisor/api/exec_spec.h"
#include "supervisor/session/input_wait.h"
#include "supervisor/words/result.h"

/* A slice of the answer with the end; its session may be removed meanwhile. One
 * that takes more than its share has is refused, and log has the output. */
static int
exec_step(struct req *r, uint64_t until)
{
	struct exec *x = r->state;
	struct master *m = r->m;
	struct sid sid = x->sid;
	struct session *s;
	bool whole = output_answer_some(&x->a, until);

	if (!whole && req_keeps(r, output_answer_bytes(&x->a)))
		return 1;
	if (whole)
		req_answer(r, &x->a.e);
	s = session_by_sid(m, sid);
	if (s == NULL)
		return 0;
	if (!whole)
		shown_keep(m, s);
	shown_answered(m, s);
	sweep_read(m, s);
	return 0;
}

/* Answers with the end. */
static void
answer_ended(struct req *r, struct session *s)
{
	struct exec *x = r->state;

	if (session_never_was(s)) {
		exec_never_was(r, s);
		return;
	}
	x->answers = true;
	x->sid = s->id.sid;
	x->a.rule = x->text;
	if (result_exec_ended(r->m, s, x->warnings.p, &x->a) && !s->wish.stream)
		shown_keep(r->m, s);
	if (exec_step(r, r->m->unit_until_ns) > 0)
		req_step(r, exec_step);
}

/* It goes on in the background; `waits`: and is answered before its time for
 * that. */
static void
exec_answer_running(struct req *r, struct session *s, enum input_wait waits)
{
	const struct exec *x = r->state;
	struct enc e = ENC_INIT;

	if (x->streaming)
		stream_end(r, s);
	session_background(r->m, s);
	shown_answered(r->m, s);
	result_exec_running(r->m, s, waits,
	    x->warnings.p != NULL ? x->warnings.p : "", &e);
	req_done(r, &e);
}

/* Something happened that an exec may wait for. */
static void
exec_wake(struct req *r, struct session *s, unsigned wake)
{
	const struct exec *x = r->state;

	if (s == NULL || x->answers)
		return;
	if (wake & WAKE_GONE) {
		req_failf(r, PROTO_E_NOT_FOUND, "", "the session was removed");
		return;
	}
	tail_session(r, s);
	if (x->streaming && !stream_pump(r, s) && !session_live(s))
		return; /* the answer comes after the last byte */
	if (!session_live(s)) {
		answer_ended(r, s);
	} else if (x->asks) {
		if (exec_yield_told(r, s, wake))
			exec_answer_running(r, s, input_wait_known(s));
	} else if ((x->bg && s->state != STATE_STARTING) ||
	    ((wake & WAKE_TIMER) && exec_yield_timer(r, s))) {
		exec_answer_running(r, s, INPUT_WAIT_NONE);
	} else if ((wake & WAKE_INPUT) && exec_yield_input(r, s)) {
		exec_answer_running(r, s, s->input_wait.told);
	}
}

/* Does an exec but this one wait for it, of that connection or (NULL) of any? */
static bool
waits(const struct session *s, const struct conn *of, const struct req *but)
{
	const struct watch *w;

	LIST_FOREACH(w, &s->watches, of_session)
		if (w->req != but && w->req->row == &method_EXEC &&
		    (of == NULL || w->req->conn == of))
			return true;
	return false;
}

bool
api_exec_waits(const struct conn *c, const struct session *s)
{
	return waits(s, c, NULL);
}

/* Its client gave it up: a foreground command ends with it. */
static void
exec_abandon(struct req *r)
{
	const struct exec *x = r->state;
	struct session *s = req_session(r);

	if (s == NULL)
		return;
	if (x->streaming)
		stream_end(r, s);
	if (s->shown.backgrounded || !session_live(s) || waits(s, NULL, r))
		return;
	/* One that does not run yet ends here and now: its end must not answer
	 * the request that is being given up. */
	req_unwatch(r);
	session_kill(r->m, s, SIGTERM, s->wish.grace_ms, END_ABORTED,
	    CTL_KILL_ESCALATE);
}

/* What was not run is said in the shape of what has ended. */
static void
exec_refusal(const struct req *r, struct enc *e)
{
	const struct exec *x = r->state;

	result_not_run(x->cwd != NULL ? x->cwd : "", e);
}

static void
exec_drop(struct req *r)
{
	struct exec *x = r->state;

	timer_free(&x->stall);
	timer_free(&x->tick);
	output_answer_fini(&x->a);
	sbuf_fini(&x->warnings);
}

/* Does the request ask for notifications of that kind? */
static bool
wants_stream(const struct api_call *c)
{
	return val_bool(c->params, "stream", false);
}

static bool
wants_tail(const struct api_call *c)
{
	return val_is_str(val_get(c->params, "stream"), "tail");
}

/* One more sentence beside the result. */
static void
exec_warn(struct exec *x, const char *text)
{
	if (text[0] != '\0' && x->warnings.len > 0)
		sbuf_add(&x->warnings, "; ");
	sbuf_add(&x->warnings, text);
}

/* How long the foreground lasts; answers at once for background. */
static void
exec_wait(struct api_call *c, struct session *s)
{
	const struct val *yield = val_get(c->params, "yieldMs");
	bool may = conn_process(c->conn);
	struct req *r = c->req;
	struct exec *x = r->state;

	if (may && val_bool(c->params, "background", false)) {
		/* the answer names the pid, so it waits for the spawn */
		session_background(c->m, s);
		if (s->state != STATE_STARTING)
			exec_answer_running(r, s, INPUT_WAIT_NONE);
		else
			exec_yield_pid(r);
		return;
	}
	if (!may && (yield != NULL || val_bool(c->params, "background", false)))
		exec_warn(x, "continuation options are unavailable; running "
			     "synchronously");
	/* who streams sees for itself whether the command asks for something */
	if (may && (yield == NULL || yield->type != VAL_NIL))
		exec_yield_begin(r, (uint64_t)proto_int(PROTO_EXEC, c->params,
		    "yieldMs", (int64_t)c->m->cfg.background_ms),
		    !wants_stream(c) && s->wish.stdin_pipe);
}

/* Was it the foreground that was asked for, until its yield? */
static bool
was_foreground(const struct api_call *c)
{
	const struct val *yield = val_get(c->params, "yieldMs");

	return conn_process(c->conn) && !wants_stream(c) &&
	    !val_bool(c->params, "background", false) &&
	    (yield == NULL || yield->type != VAL_NIL);
}

/* The same request key again: the first one's answer, nothing new. Who asks
 * for the stream gets it from the first byte that is kept, also where the
 * first request had none, and where the command has ended meanwhile. */
static void
exec_attach(struct api_call *c, struct session *s)
{
	bool wanted = wants_stream(c);
	struct req *r = c->req;

	if (!session_live(s) && !wanted) {
		answer_ended(r, s);
		return;
	}
	if (session_live(s) && s->shown.backgrounded) {
		if (!was_foreground(c) || !exec_yield_ask(r, s))
			exec_answer_running(r, s, INPUT_WAIT_NONE);
		return;
	}
	if (req_watch(r, s) < 0) {
		req_nomem(r);
		return;
	}
	if (wanted) {
		stream_begin(r, s);
		if (!session_live(s)) {
			exec_wake(r, s, WAKE_STATE);
			return;
		}
		session_streams(c->m, s);
		(void)stream_pump(r, s);
	} else if (s->wish.stream && !waits(s, NULL, r)) {
		stream_end(r, s);
	}
	if (wants_tail(c))
		tail_begin(r, s);
	exec_wait(c, s);
}

/* Does the key belong to a session already? */
static struct session *
exec_known(struct api_call *c)
{
	char key[136], own[48];

	if (val_copy(c->params, "requestKey", key, sizeof(key)) == 0)
		return NULL;
	return session_by_key(c->m, exec_scope(c, own), key);
}

/* Who has left its box is told where it is. */
static void
say_where(struct exec *x, const char *cwd)
{
	char shown[1024], text[1100];

	text_escape(cwd, strlen(cwd), false, shown, sizeof(shown));
	(void)snprintf(text, sizeof(text), "elevated: it runs on the host, in %s",
	    shown);
	exec_warn(x, text);
}

/* exec */
static void
exec_call(struct api_call *c)
{
	struct exec_base b = exec_base_of(c);
	struct session *s = exec_known(c);
	struct master *m = c->m;
	struct proto_problem why;
	struct req *r = c->req;
	struct exec *x = r->state;
	char cwd[4096] = "", own[48];
	struct box_answer host;

	x->text = api_text_rule(c);
	if (s != NULL) {
		exec_attach(c, s);
		return;
	}
	if (exec_refused(c, &host, &why)) {
		req_fail(r, &why);
		return;
	}
	exec_warn(x, host.text);
	b.boxed = host.host == HOST_SANDBOX;
	b.left = host.left;
	if (b.boxed || b.left)
		(void)config_directory(&m->cfg, exec_scope(c, own), b.directory);
	if (b.left)
		boxes_workspace(m, exec_scope(c, own), b.directory, b.workspace);
	if (exec_workdir(&b, c->params, cwd, sizeof(cwd), &why) < 0) {
		x->cwd = cwd;
		req_refuse(r, PROTO_E_WORKDIR, NULL, "%s", why.message);
		return;
	}
	b.no_links = b.left && exec_is_shown(&b, cwd);
	if (b.left)
		say_where(x, cwd);
	s = exec_session(c, cwd, host.host, b.no_links, &why);
	if (s == NULL) {
		req_fail(r, &why);
		return;
	}
	if (req_watch(r, s) < 0 ||
	    deadlock_refuse(m, s, conn_scope(c->conn), &why) < 0 ||
	    session_admit(m, s, &why) < 0) {
		req_unwatch(r); /* it is told why, not that it is gone */
		registry_forget(m, s);
		req_fail(r, &why);
		return;
	}
	if (!session_live(s)) {
		/* its start could not even be staged */
		answer_ended(r, s);
		return;
	}
	if (s->wish.stream)
		stream_begin(r, s);
	if (wants_tail(c))
		tail_begin(r, s);
	exec_wait(c, s);
}

const struct method method_EXEC = {.call = exec_call, .wake = exec_wake,
    .drop = exec_drop, .refused = exec_refusal, .abandon = exec_abandon,
    .room = stream_room, .committed = stream_committed,
    .written = stream_written, .state_size = sizeof(struct exec)};

/* It runs: who asked for the background is told its pid, though it may have
 * ended before the next unit. */
void
api_exec_running(struct session *s)
{
	struct watch *w, *next;
	const struct exec *x;

	LIST_FOREACH_SAFE(w, &s->watches, of_session, next) {
		x = w->req->state;
		if (w->req->row == &method_EXEC && x->bg)
			exec_answer_running(w->req, s, INPUT_WAIT_NONE);
	}
}

/* A foreground exec of the session that can be answered now. */
static struct req *
exec_waiting(struct session *s)
{
	struct watch *w;

	LIST_FOREACH(w, &s->watches, of_session) {
		if (w->req->row != &method_EXEC)
			continue;
		if (s->state != STATE_STARTING)
			return w->req;
		exec_yield_pid(w->req);
	}
	return NULL;
}

/* background */
static void
background_call(struct api_call *c)
{
	struct session *s = api_session(c, API_ANY);
	struct enc e = ENC_INIT;
	char text[120];
	struct req *r;

	if (s == NULL)
		return;
	if (!session_live(s) &&
	    (s->shown.backgrounded || session_never_was(s))) {
		req_refuse(c->req, PROTO_E_NOT_RUNNING, s->id.slug,
		    "No active session found for %s", s->id.slug);
		return;
	}
	if (session_live(s)) {
		session_background(c->m, s);
		while ((r = exec_waiting(s)) != NULL)
			exec_answer_running(r, s, INPUT_WAIT_NONE);
	} else {
		shown_keep(c->m, s);
		sweep_read(c->m, s);
	}
	snprintf(text, sizeof(text), session_live(s)
		? "Session %s goes on in the background."
		: "Session %s has ended; it is kept.", s->id.slug);
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", result_status(s));
	enc_kv_str(&e, "sessionId", s->id.slug);
	result_close(&e, false);
	req_done(c->req, &e);
}

const struct method method_BACKGROUND = {.call = background_call};
