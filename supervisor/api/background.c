/* SPDX-License-Identifier: MIT */
/* A command goes on in the background: since its exec asked for that, once
 * there is a pid to name, or since somebody else did (background). */
#include <stdio.h>
#include <string.h>

#include "supervisor/api/exec.h"
#include "supervisor/words/result.h"

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
