/* SPDX-License-Identifier: MIT */
/*
 * kill and killScope: the stop ladder by request, and what is said afterwards:
 * who is left, and how many adopted processes belong to nobody known.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "supervisor/master.h"
#include "supervisor/result.h"

#define ADOPTED_MAX 512u /* of the keeper's children looked at */
#define LATE_MS     10000u /* a worker that died meanwhile needs longer */
#define MARK        "PSUP_INSTANCE="

/* The start of one file of a process; false: it is gone, or out of reach. */
static bool
read_proc(int32_t pid, const char *file, char *ret, size_t size, size_t *len)
{
	char path[64];
	ssize_t n, have = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((size_t)have < size - 1 &&
	    (n = read(fd, ret + have, size - 1 - (size_t)have)) > 0)
		have += n;
	close(fd);
	ret[have] = '\0';
	*len = (size_t)have;
	return have > 0;
}

/* A live process of none of psup's programs? */
static bool
is_foreign(int32_t pid)
{
	char text[512], *open, *end;
	size_t len;

	if (!read_proc(pid, "stat", text, sizeof(text), &len))
		return false;
	open = strchr(text, '(');
	end = strrchr(text, ')');
	if (open == NULL || end == NULL || end[1] == '\0' || end[2] == 'Z' ||
	    end[2] == 'X')
		return false;
	*end = '\0';
	return strncmp(open + 1, "psup-", 5) != 0 &&
	    strncmp(open + 1, "psupd", 5) != 0;
}

/* Does its environment name a session? */
static bool
has_mark(int32_t pid)
{
	static char env[131072];
	const char *s;
	size_t len;

	if (!read_proc(pid, "environ", env, sizeof(env), &len))
		return false;
	for (s = env; s < env + len; s += strlen(s) + 1)
		if (strncmp(s, MARK, sizeof(MARK) - 1) == 0)
			return true;
	return false;
}

/* Is it a session's command? */
static bool
is_command(struct master *m, int32_t pid)
{
	struct session *s;

	for (s = registry_first(m); s != NULL; s = registry_next(s))
		if (s->pid == pid)
			return true;
	return false;
}

/* Children of the keeper that are no session's command and carry no mark:
 * adopted ones that hid from everything that could name their session. */
static unsigned
adopted_unattributed(struct master *m)
{
	static char list[16384];
	char path[64], *p, *end;
	unsigned n = 0, seen = 0;
	size_t len;

	snprintf(path, sizeof(path), "task/%d/children",
	    (int)m->h.keeper_pid);
	if (!read_proc(m->h.keeper_pid, path, list, sizeof(list), &len))
		return 0;
	for (p = list; seen < ADOPTED_MAX; p = end, seen++) {
		int32_t pid = (int32_t)strtol(p, &end, 10);

		if (end == p)
			break;
		if (pid > 1 && is_foreign(pid) && !has_mark(pid) &&
		    !is_command(m, pid))
			n++;
	}
	return n;
}

/* " 2 of its processes could not be ended: 17, 23." */
static void
add_remaining(const struct session *s, struct sbuf *b)
{
	if (s->remaining == 0)
		return;
	sbuf_addf(b, " %u of its processes could not be ended:",
	    (unsigned)s->remaining);
	for (size_t i = 0; i < s->remaining && i < CTL_END_PIDS; i++)
		sbuf_addf(b, "%s %d", i > 0 ? "," : "",
		    (int)s->remaining_pids[i]);
	sbuf_add(b, s->remaining > CTL_END_PIDS ? ", ..." : ".");
}

/* Answers a kill. */
static void
kill_answer(struct req *r, struct session *s)
{
	bool over = !session_live(s) && !s->killing_left;
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	unsigned adopted = 0;

	if (over)
		sbuf_addf(&text, "Session %s is ended.", s->slug);
	else if (r->any)
		sbuf_addf(&text, "Sent %s to session %s.",
		    text_signal_name(r->signal), s->slug);
	else
		sbuf_addf(&text, "Termination requested for session %s.",
		    s->slug);
	if (over) {
		add_remaining(s, &text);
		if (s->holders > 0)
			sbuf_addf(&text, " %u processes still hold its output.",
			    (unsigned)s->holders);
		if (!s->in_leaf && s->pid > 0)
			adopted = adopted_unattributed(r->m);
		if (adopted > 0)
			sbuf_addf(&text, " %u processes that the server "
					 "adopted belong to no session that "
					 "is known.",
			    adopted);
	}
	enc_map(&e);
	enc_kv_strn(&e, "text", text.p != NULL ? text.p : "", text.len);
	enc_key(&e, "details");
	enc_map(&e);
	enc_kv_str(&e, "status", over || !r->any ? "completed" : "running");
	enc_kv_str(&e, "sessionId", s->slug);
	enc_kv_str(&e, "name", s->name);
	enc_kv_str(&e, "signal", text_signal_name(r->signal));
	if (over) {
		result_exit_fields(s, &e);
		if (!result_was_forced(s))
			result_remaining(s, &e);
		enc_kv_uint(&e, "unattributed", adopted);
	}
	enc_end(&e);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	req_answer(r, &e);
	enc_fini(&e);
	sbuf_fini(&text);
}

/* The session of a waiting kill has ended, or what it had left behind. */
void
api_kill_wake(struct req *r, struct session *s, unsigned wake)
{
	if (s == NULL)
		return;
	if ((!session_live(s) && !s->killing_left) || (wake & (WAKE_GONE | WAKE_TIMER)))
		kill_answer(r, s);
}

/* signal, into the request. False: refused. */
static bool
take_signal(struct api_call *c)
{
	const struct val *v = val_get(c->params, "signal");
	char name[24] = "TERM";
	struct proto_problem p;

	if (v != NULL && v->type == VAL_UINT)
		(void)snprintf(name, sizeof(name), "%u", (unsigned)v->u);
	else if (v != NULL)
		val_copy(c->params, "signal", name, sizeof(name));
	c->req->signal = text_signal_number(name, strlen(name));
	if (c->req->signal > 0)
		return true;
	proto_problem_value(&p, PROTO_E_INVALID_PARAMS, "signal",
	    val_get(c->params, "signal"),
	    "a signal's name, with or without SIG, or its number");
	req_fail(c->req, &p);
	return false;
}

/* A running session, or one that has left processes behind. */
static struct session *
take_session(struct api_call *c)
{
	struct session *s = api_session(c, true);

	if (s == NULL || session_live(s) || session_has_left(s))
		return s;
	req_refuse(c->req, PROTO_E_NOT_RUNNING, s->slug,
	    "No active session found for %s", s->slug);
	return NULL;
}

/* The session, or what it has left behind. */
static void
kill_it(struct master *m, struct session *s, int sig, uint32_t grace,
    bool escalate)
{
	if (session_live(s))
		session_kill(m, s, sig, grace,
		    escalate ? END_MANUAL_CANCEL : END_NONE, escalate);
	else
		session_kill_left(m, s, sig, grace, escalate);
}

/* kill */
void
api_kill(struct api_call *c)
{
	struct session *s = take_session(c);
	bool escalate = val_bool(c->params, "escalate", true);
	bool wait = val_bool(c->params, "wait", true) && escalate;
	struct req *r = c->req;
	uint32_t grace;

	if (s == NULL || !take_signal(c))
		return;
	r->any = !escalate;
	grace = (uint32_t)proto_int(PROTO_KILL, c->params, "graceMs",
	    (int64_t)c->m->cfg.grace_ms);
	if (grace == 0 && escalate)
		r->signal = SIGKILL;
	if (wait && req_watch(r, s) == 0) {
		/* the ladder is over within grace + 1 s */
		req_timer(r, grace + LATE_MS);
		kill_it(c->m, s, r->signal, grace, true);
		return;
	}
	kill_it(c->m, s, r->signal, grace, escalate);
	kill_answer(r, s);
}

/* ------------------------------------------------------------- killScope */

/* What became of the sessions so far. */
static void
count_scope(struct req *r, uint64_t *ret_ended, uint64_t *ret_remaining)
{
	const struct watch *w;
	uint64_t live = 0, remaining = 0;

	LIST_FOREACH(w, &r->watches, of_req) {
		if (session_live(w->s))
			live++;
		else
			remaining += w->s->remaining;
	}
	*ret_ended = r->asked - live;
	*ret_remaining = remaining;
}

/* Answers a killScope. */
static void
scope_answer(struct req *r)
{
	uint64_t ended, remaining;
	struct enc e = ENC_INIT;
	char text[160];

	count_scope(r, &ended, &remaining);
	if (r->any)
		snprintf(text, sizeof(text),
		    "Termination requested for %" PRIu64 " sessions.",
		    r->asked);
	else if (remaining > 0)
		snprintf(text, sizeof(text),
		    "Ended %" PRIu64 " of %" PRIu64 " sessions; %" PRIu64
		    " of their processes could not be ended.",
		    ended, r->asked, remaining);
	else
		snprintf(text, sizeof(text),
		    "Ended %" PRIu64 " of %" PRIu64 " sessions.", ended,
		    r->asked);
	enc_map(&e);
	enc_kv_str(&e, "text", text);
	enc_key(&e, "details");
	enc_map(&e);
	enc_kv_str(&e, "status", "completed");
	enc_kv_uint(&e, "sessions", r->asked);
	enc_kv_uint(&e, "ended", ended);
	enc_kv_uint(&e, "remaining", remaining);
	enc_end(&e);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	req_answer(r, &e);
	enc_fini(&e);
}

/* One of them has ended, or time is up. */
void
api_kill_scope_wake(struct req *r, struct session *s, unsigned wake)
{
	const struct watch *w;

	if ((wake & WAKE_TIMER) == 0) {
		LIST_FOREACH(w, &r->watches, of_req)
			if ((session_live(w->s) || w->s->killing_left) &&
			    !((wake & WAKE_GONE) && w->s == s))
				return;
	}
	scope_answer(r);
}

/* The scope that is meant; NULL: refused. A scoped connection has its own
 * alone, and another's answers as one that has no sessions. */
static const char *
take_scope(struct api_call *c, char *buf, size_t size)
{
	const char *own = conn_scope(c->conn);
	bool named = val_copy(c->params, "scope", buf, size) > 0;

	if (own == NULL && !named) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "scope",
		    "scope: an admin connection has none of its own");
		return NULL;
	}
	if (own != NULL && !named)
		return own;
	return own == NULL || strcmp(own, buf) == 0 ? buf : "";
}

/* The live sessions of a scope, with `left` also those that have left processes
 * behind, as ids: ending one may start and end others. NULL: no memory. The
 * caller frees it. */
static struct sid *
sessions_of(struct master *m, const char *scope, bool left, size_t *ret_count,
    size_t *ret_live)
{
	struct session *s;
	struct sid *list;
	size_t n = 0, live = 0;

	for (s = registry_first(m); s != NULL; s = registry_next(s))
		n += session_live(s) || (left && session_has_left(s));
	list = calloc(n + 1, sizeof(*list));
	for (s = registry_first(m), n = 0; list != NULL && s != NULL;
	     s = registry_next(s)) {
		if ((!session_live(s) && !(left && session_has_left(s))) ||
		    scope[0] == '\0' || strcmp(s->scope, scope) != 0)
			continue;
		list[n++] = s->sid;
		live += session_live(s);
	}
	*ret_count = n;
	*ret_live = live;
	return list;
}

struct sid *
scope_sessions(struct master *m, const char *scope, size_t *ret_count)
{
	size_t live;

	return sessions_of(m, scope, false, ret_count, &live);
}

/* Ends them all, the waiting ones first, so that none of them starts; then
 * watches those that still live. Nothing wakes the request before. */
void
scope_end_all(struct req *r, const struct sid *list, size_t n, uint32_t grace)
{
	struct master *m = r->m;
	struct session *s;
	size_t i;
	int queued;

	for (queued = 1; queued >= 0; queued--)
		for (i = 0; i < n; i++) {
			s = session_by_sid(m, list[i]);
			if (s != NULL && session_live(s) &&
			    (s->state == STATE_QUEUED) == (queued != 0))
				session_kill(m, s, r->signal, grace,
				    END_MANUAL_CANCEL, true);
		}
	for (i = 0; i < n; i++) {
		s = session_by_sid(m, list[i]);
		if (s != NULL && session_has_left(s))
			session_kill_left(m, s, r->signal, grace, true);
	}
	for (i = 0; i < n && !r->any; i++) {
		s = session_by_sid(m, list[i]);
		if (s != NULL && (session_live(s) || s->killing_left) &&
		    req_watch(r, s) < 0)
			r->any = true;
	}
}

/* killScope */
void
api_kill_scope(struct api_call *c)
{
	struct req *r = c->req;
	struct sid *list;
	char buf[64];
	const char *scope;
	uint32_t grace;
	size_t n, live;

	if (!take_signal(c))
		return;
	scope = take_scope(c, buf, sizeof(buf));
	if (scope == NULL)
		return;
	list = sessions_of(c->m, scope, true, &n, &live);
	if (list == NULL) {
		req_failf(r, PROTO_E_BUSY, "", "out of memory");
		return;
	}
	grace = (uint32_t)proto_int(PROTO_KILL_SCOPE, c->params, "graceMs",
	    (int64_t)c->m->cfg.grace_ms);
	if (grace == 0)
		r->signal = SIGKILL;
	r->asked = live;
	r->any = !val_bool(c->params, "wait", true);
	scope_end_all(r, list, n, grace);
	free(list);
	if (r->any) {
		scope_answer(r);
		return;
	}
	req_timer(r, grace + LATE_MS);
	api_kill_scope_wake(r, NULL, 0);
}
