/* SPDX-License-Identifier: MIT */
/*
 * exec: a request becomes a session; the foreground wait ends at the first of
 * its end, the yield, background, cancel or the client's end.
 */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "shm/spool.h"
#include "supervisor/api/exec.h"
#include "supervisor/api/exec_spec.h"
#include "supervisor/session/limits.h"
#include "supervisor/session/retain.h"
#include "supervisor/words/result.h"

/* Its child could not go to the directory: that is said as if it had been
 * known before, and nothing of the session is kept (session_ended). */
static void
answer_workdir(struct req *r, const struct session *s)
{
	int error = abs(s->error);
	char shown[200];

	text_escape(s->cwd, strlen(s->cwd), false, shown, sizeof(shown));
	req_refuse(r, PROTO_E_WORKDIR, NULL, "workdir %s%s%s; nothing was run",
	    shown, error == ENOTDIR ? " is not a directory" : ": ",
	    error == ENOTDIR ? "" : strerror(error));
}

/* Answers with the end. */
static void
answer_ended(struct req *r, struct session *s)
{
	const struct exec *x = r->state;
	struct master *m = r->m;
	struct enc e = ENC_INIT;

	if (session_never_was(s)) {
		answer_workdir(r, s);
		return;
	}
	result_exec_ended(m, s, x->text,
	    x->warnings.p != NULL ? x->warnings.p : "", &e);
	if (!s->answered) {
		s->answered = true;
		session_touch(m, s);
	}
	req_done(r, &e);
	sweep_read(m, s);
}

/* Answers that it goes on in the background. */
static void
answer_running(struct req *r, struct session *s)
{
	const struct exec *x = r->state;
	struct enc e = ENC_INIT;

	if (x->streaming)
		stream_end(r, s);
	session_background(r->m, s);
	s->answered = true;
	session_touch(r->m, s);
	result_exec_running(r->m, s,
	    x->warnings.p != NULL ? x->warnings.p : "", &e);
	req_done(r, &e);
}

/* Something happened that an exec may wait for. */
static void
exec_wake(struct req *r, struct session *s, unsigned wake)
{
	const struct exec *x = r->state;

	if (s == NULL)
		return;
	if (wake & WAKE_GONE) {
		req_failf(r, PROTO_E_NOT_FOUND, "", "the session was removed");
		return;
	}
	if (x->streaming && !stream_pump(r, s) && !session_live(s))
		return; /* the answer comes after the last byte */
	if (!session_live(s))
		answer_ended(r, s);
	else if ((wake & WAKE_TIMER) || (x->bg && s->state != STATE_STARTING))
		answer_running(r, s);
}

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
			answer_running(w->req, s);
	}
}

bool
api_exec_waits(const struct conn *c, const struct session *s)
{
	const struct watch *w;

	LIST_FOREACH(w, &s->watches, of_session)
		if (w->req->conn == c && w->req->row == &method_EXEC)
			return true;
	return false;
}

/* Does another request of the same key wait for it too? */
static bool
others_wait(const struct req *r, const struct session *s)
{
	const struct watch *w;

	LIST_FOREACH(w, &s->watches, of_session)
		if (w->req != r && w->req->row == &method_EXEC)
			return true;
	return false;
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
	if (s->backgrounded || !session_live(s) || others_wait(r, s))
		return;
	/* One that does not run yet ends here and now: its end must not answer
	 * the request that is being given up. */
	req_unwatch(r);
	session_kill(r->m, s, SIGTERM, s->grace_ms, END_ABORTED,
	    CTL_KILL_ESCALATE);
}

static void
exec_drop(struct req *r)
{
	struct exec *x = r->state;

	if (x->stall != NULL)
		event_free(x->stall);
	sbuf_fini(&x->warnings);
}

/* Seconds as milliseconds. */
static uint64_t
seconds_ms(double v)
{
	return v > 0 ? (uint64_t)(v * 1000 + 0.5) : 0;
}

/* A copy of a param; "" where absent. */
static char *
param_dup(const struct val *params, const char *name)
{
	struct val_str v = val_str(params, name);

	return strndup(v.ptr != NULL ? v.ptr : "", v.len);
}

/* The texts of a session. */
static int
session_texts(struct session *s, struct api_call *c, const char *cwd)
{
	const char *scope = conn_scope(c->conn);
	struct sbuf shown = SBUF_INIT;
	char name[160];

	exec_shown(c->params, &shown);
	text_derive_name(shown.p != NULL ? shown.p : "", shown.len, name,
	    sizeof(name));
	s->command = shown.p;
	s->scope = scope != NULL ? strdup(scope)
				 : param_dup(c->params, "scope");
	s->name = strdup(name);
	s->cwd = strdup(cwd);
	s->label = param_dup(c->params, "label");
	s->session_key = param_dup(c->params, "sessionKey");
	s->request_key = param_dup(c->params, "requestKey");
	s->lane = param_dup(c->params, "lane");
	if (s->command == NULL || s->scope == NULL || s->name == NULL ||
	    s->cwd == NULL || s->label == NULL || s->session_key == NULL ||
	    s->request_key == NULL || s->lane == NULL)
		return -ENOMEM;
	return 0;
}

/* The tags of a session, as encoded. */
static int
session_tags(struct session *s, const struct val *params)
{
	const struct val *tags = val_get(params, "tags");
	struct enc e = ENC_INIT;

	if (tags == NULL || tags->a.count == 0)
		return 0;
	enc_val(&e, tags);
	if (e.failed) {
		enc_fini(&e);
		return -ENOMEM;
	}
	s->tags = e.buf;
	s->tags_bytes = e.len;
	return 0;
}

/* The numbers and switches of a session. */
static void
session_numbers(struct session *s, struct master *m, const struct val *p)
{
	const struct config *cfg = &m->cfg;
	double timeout = val_num(p, "timeout",
	    val_num(p, "timeoutSeconds", (double)cfg->timeout_sec));

	s->created_ms = clock_wall_ms();
	s->timeout_ms = seconds_ms(timeout);
	s->no_output_timeout_ms = seconds_ms(val_num(p, "noOutputTimeout", 0));
	s->ttl_ms = cfg->cleanup_ms;
	s->head_bytes = (uint32_t)cfg->head_output_chars;
	s->tail_bytes = (uint32_t)cfg->max_output_chars;
	if (s->tail_bytes < 4096)
		s->tail_bytes = 4096;
	s->grace_ms = (uint32_t)cfg->grace_ms;
	s->pty = val_bool(p, "pty", false);
	s->cols = (uint32_t)proto_int(PROTO_EXEC, p, "cols", 120);
	s->rows = (uint32_t)proto_int(PROTO_EXEC, p, "rows", 30);
	s->priority = (int)val_int(p, "priority", 0);
	s->notify = val_bool(p, "notifyOnExit", cfg->notify_on_exit);
	s->notify_empty = cfg->notify_on_exit_empty_success;
}

/* A text that is there before the command is. */
static int
stdin_spool(struct session *s, struct master *m, struct val_str text)
{
	int fd = spool_open_append(m->dirfd, s->sid), r;

	s->spooled = true;
	if (fd < 0)
		return fd;
	r = spool_append(fd, 0, text.ptr, text.len);
	close(fd);
	if (r == 0)
		s->spool_end = text.len;
	return r;
}

/* stdin: a pipe, nothing, or a text that is spooled before the start. */
static int
session_stdin(struct session *s, struct master *m, const struct val *params,
    struct proto_problem *why)
{
	const struct val *in = val_get(params, "stdin");
	struct val_str text = val_str(in, "text");
	int r = 0;

	s->stdin_pipe = true;
	if (in == NULL || val_is_str(in, "open"))
		return 0;
	s->spool_eof = true;
	if (text.ptr == NULL) {
		s->stdin_pipe = false;
		s->stdin_closed = true;
	}
	if (text.len > 0 &&
	    room_ask(s->room, SHARE_WAITING, text.len, why) < 0)
		return -EDQUOT;
	if (text.len > 0)
		r = stdin_spool(s, m, text);
	if (r == 0 && s->pty) {
		terminal_accepted(s, text.ptr, text.len);
		r = terminal_eof(m, s);
	}
	if (r < 0)
		proto_problem_set(why, PROTO_E_NO_SPACE, "stdin",
		    "no space for stdin: %s", strerror(-r));
	return r;
}

/* The spec of a session. */
static int
session_spec(struct session *s, struct master *m, const struct val *params,
    struct proto_problem *why)
{
	struct exec_base b = {.cfg = &m->cfg, .base_env = m->base_env,
	    .base_env_bytes = m->base_env_bytes, .home = m->home,
	    .user_shell = m->user_shell, .path = m->server_path};
	char instance[SESSION_INSTANCE_MAX];
	struct exec_ids ids = {.slug = s->slug, .scope = s->scope,
	    .instance = instance, .pty = s->pty};

	session_instance(s, instance);
	return exec_spec_make(&b, params, s->cwd, &ids, &s->spec, why);
}

/* A session in the registry, with everything but a state. NULL: *why. */
static struct session *
session_make(struct api_call *c, const char *cwd, struct proto_problem *why)
{
	struct master *m = c->m;
	struct session *s = session_new();
	const struct config_lane *lane;
	int r = -ENOMEM;

	proto_problem_set(why, PROTO_E_BUSY, "", "out of memory");
	if (s == NULL)
		return NULL;
	session_numbers(s, m, c->params);
	s->sid.v = m->next_sid++;
	s->incarnation = m->h.incarnation;
	m->next_dirty = true;
	if (session_texts(s, c, cwd) == 0 && session_tags(s, c->params) == 0)
		s->room = room_hold(m, s->scope);
	if (s->room != NULL)
		r = room_for(s, STATE_FREE, why);
	if (r == 0)
		r = registry_add(m, s);
	if (r < 0) {
		session_free(s);
		return NULL;
	}
	s->fresh = true;
	session_touch(m, s);
	s->parent = kin_of_call(c);
	lane = s->lane[0] != '\0' ? config_lane_for(&m->cfg, s->lane) : NULL;
	if (lane != NULL && val_get(c->params, "priority") == NULL)
		s->priority = lane->priority;
	r = limits_take(&m->h, c->params, &s->limits, why);
	if (r == 0 && lane != NULL)
		r = limits_take_config(&m->h, &lane->limits, &s->limits, why);
	if (r == 0)
		r = limits_take_config(&m->h, &m->cfg.limits, &s->limits, why);
	if (r == 0)
		r = retain_take(m, c->params, s, why);
	if (r == 0)
		r = session_stdin(s, m, c->params, why);
	if (r == 0)
		r = session_spec(s, m, c->params, why);
	if (r < 0) {
		registry_forget(m, s);
		return NULL;
	}
	return s;
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
		x->bg = true;
		if (s->state != STATE_STARTING)
			answer_running(r, s);
		else
			req_timer(r, c->m->cfg.background_ms);
		return;
	}
	if (!may && (yield != NULL || val_bool(c->params, "background", false)))
		sbuf_add(&x->warnings, "continuation options are unavailable; "
				       "running synchronously");
	if (may && (yield == NULL || yield->type != VAL_NIL))
		req_timer(r, (uint64_t)proto_int(PROTO_EXEC, c->params,
				 "yieldMs", (int64_t)c->m->cfg.background_ms));
}

/* The same request key again: the first one's answer, nothing new. Who asks
 * for the stream gets it from the first byte that is kept, also where the
 * first request had none, and where the command has ended meanwhile. */
static void
exec_attach(struct api_call *c, struct session *s)
{
	bool wanted = val_bool(c->params, "stream", false);
	struct req *r = c->req;

	if (!session_live(s) && !wanted) {
		answer_ended(r, s);
		return;
	}
	if (session_live(s) && s->backgrounded) {
		answer_running(r, s);
		return;
	}
	if (req_watch(r, s) < 0) {
		(void)req_nomem(r);
		return;
	}
	if (wanted) {
		stream_begin(r, s);
		if (!session_live(s)) {
			exec_wake(r, s, WAKE_STATE);
			return;
		}
		s->stream = true; /* its background lifts the credit */
		session_touch(c->m, s);
		(void)stream_pump(r, s);
	} else if (s->stream && !others_wait(r, s)) {
		stream_end(r, s);
	}
	exec_wait(c, s);
}

/* Was the directory, or what is in it, deleted under us? Looked for once a
 * turn. */
static bool
runtime_dir_gone(struct master *m)
{
	struct stat st;

	if (m->dir_seen_ns == m->turn_began_ns)
		return false;
	if (fstat(m->dirfd, &st) < 0 || st.st_nlink == 0 ||
	    faccessat(m->dirfd, "rings", F_OK, 0) < 0)
		return true;
	m->dir_seen_ns = m->turn_began_ns;
	return false;
}

/* Does its scope take no new sessions? */
static bool
exec_drained(struct api_call *c, struct proto_problem *why)
{
	const char *scope = conn_scope(c->conn);
	char own[48];

	if (scope == NULL) {
		val_copy(c->params, "scope", own, sizeof(own));
		scope = own;
	}
	if (!drains_has(c->m->drains, scope))
		return false;
	proto_problem_set(why, PROTO_E_SCOPE_DRAINING, "scope",
	    "scope %s is being drained: it takes no new sessions", scope);
	return true;
}

/* Refuses what cannot start now. */
static bool
exec_refused(struct api_call *c, struct proto_problem *why)
{
	if (c->m->stopping) {
		proto_problem_set(why, PROTO_E_STOPPING, "",
		    "the server is shutting down");
		return true;
	}
	if (exec_check(c->params, why) < 0)
		return true;
	if (runtime_dir_gone(c->m)) {
		proto_problem_set(why, PROTO_E_RUNTIME_GONE, "",
		    "the runtime directory %s was deleted: nothing new "
		    "starts; stop this server (psupd, pid %d) and start "
		    "another",
		    c->m->h.runtime_dir, (int)c->m->h.keeper_pid);
		return true;
	}
	if (conn_scope(c->conn) != NULL &&
	    val_get(c->params, "scope") != NULL &&
	    !val_is_str(val_get(c->params, "scope"), conn_scope(c->conn))) {
		proto_problem_set(why, PROTO_E_FORBIDDEN, "scope",
		    "this connection belongs to another scope");
		return true;
	}
	if (exec_drained(c, why))
		return true;
	return false;
}

/* Does the key belong to a session already? */
static struct session *
exec_known(struct api_call *c)
{
	const char *scope = conn_scope(c->conn);
	char key[136], own[48];

	if (val_copy(c->params, "requestKey", key, sizeof(key)) == 0)
		return NULL;
	if (scope == NULL) {
		val_copy(c->params, "scope", own, sizeof(own));
		scope = own;
	}
	return session_by_key(c->m, scope, key);
}

/* exec */
static void
exec_call(struct api_call *c)
{
	struct exec_base b = {.cfg = &c->m->cfg, .base_env = c->m->base_env,
	    .base_env_bytes = c->m->base_env_bytes, .home = c->m->home};
	struct session *s = exec_known(c);
	struct master *m = c->m;
	struct proto_problem why;
	struct req *r = c->req;
	struct exec *x = r->state;
	char cwd[4096];

	if (!api_text_rule(c, &x->text))
		return;
	if (s != NULL) {
		exec_attach(c, s);
		return;
	}
	if (exec_refused(c, &why)) {
		req_fail(r, &why);
		return;
	}
	if (exec_workdir(&b, c->params, cwd, sizeof(cwd), &why) < 0) {
		req_refuse(r, PROTO_E_WORKDIR, NULL, "%s", why.message);
		return;
	}
	s = session_make(c, cwd, &why);
	if (s == NULL) {
		req_fail(r, &why);
		return;
	}
	s->stream = val_bool(c->params, "stream", false);
	if (req_watch(r, s) < 0 ||
	    lane_deadlock_refuse(m, s, conn_scope(c->conn), &why) < 0 ||
	    session_admit(m, s, &why) < 0) {
		req_unwatch(r); /* it is told why, not that it is gone */
		registry_forget(m, s);
		req_fail(r, &why);
		return;
	}
	if (!session_live(s)) {
		/* START could not even be made; its end may have answered */
		answer_ended(r, s);
		return;
	}
	if (s->stream)
		stream_begin(r, s);
	exec_wait(c, s);
}

const struct method method_EXEC = {.call = exec_call, .wake = exec_wake,
    .drop = exec_drop, .abandon = exec_abandon, .room = stream_room,
    .committed = stream_committed, .written = stream_written,
    .state_size = sizeof(struct exec)};

/* A foreground exec of the session that can be answered now. */
static struct req *
exec_waiting(struct session *s)
{
	struct watch *w;
	struct exec *x;

	LIST_FOREACH(w, &s->watches, of_session) {
		if (w->req->row != &method_EXEC)
			continue;
		if (s->state != STATE_STARTING)
			return w->req;
		x = w->req->state;
		x->bg = true; /* its answer names the pid */
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
	if (!session_live(s)) {
		req_refuse(c->req, PROTO_E_NOT_RUNNING, s->slug,
		    "No active session found for %s", s->slug);
		return;
	}
	session_background(c->m, s);
	while ((r = exec_waiting(s)) != NULL)
		answer_running(r, s);
	snprintf(text, sizeof(text), "Session %s goes on in the background.",
	    s->slug);
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "running");
	enc_kv_str(&e, "sessionId", s->slug);
	result_close(&e, false);
	req_done(c->req, &e);
}

const struct method method_BACKGROUND = {.call = background_call};
