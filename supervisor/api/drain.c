/* SPDX-License-Identifier: MIT */
/*
 * drainScope and undrainScope: a scope takes no new sessions, and its sessions
 * are waited for, then ended where that is asked for. Who is left is said: the
 * answer is a failure unless the scope is empty.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/api/kill.h"
#include "supervisor/words/result.h"

#define SURVIVORS_MAX 100u   /* named in the answer */

/* How many of the scope live; `gone` does not count. */
static uint64_t
survivors(const struct req *r, const struct session *gone)
{
	const struct scope_end *st = r->state;

	return room_live(r->m, st->scope) -
	    (gone != NULL && gone->share.lives &&
		strcmp(gone->id.scope, st->scope) == 0);
}

/* The names of the first of them. */
static void
put_survivors(struct req *r, const struct session *gone, struct enc *e)
{
	const struct scope_end *st = r->state;
	uint64_t left = survivors(r, gone);
	struct session *s;

	if (left > SURVIVORS_MAX)
		left = SURVIVORS_MAX;
	for (s = registry_first(r->m); s != NULL && left > 0;
	     s = registry_next(r->m, s)) {
		if (s == gone || !session_live(s) ||
		    strcmp(s->id.scope, st->scope) != 0)
			continue;
		enc_str(e, s->id.slug);
		left--;
	}
}

/* Answers with what is left. */
static void
drain_answer(struct req *r, const struct session *gone)
{
	const struct scope_end *st = r->state;
	uint64_t left = survivors(r, gone);
	struct enc e = ENC_INIT;
	char text[200];

	if (left == 0)
		snprintf(text, sizeof(text),
		    "Scope %s is drained: nothing of it runs.", st->scope);
	else
		snprintf(text, sizeof(text),
		    "Scope %s is not empty: %" PRIu64 " sessions are left. It "
		    "takes no new ones.", st->scope, left);
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", left == 0 ? "completed" : "failed");
	enc_kv_str(&e, "scope", st->scope);
	enc_kv_bool(&e, "drained", left == 0);
	enc_kv_uint(&e, "sessions", st->asked);
	enc_kv_uint(&e, "left", left);
	enc_kv_array(&e, "survivors");
	put_survivors(r, gone, &e);
	enc_end(&e);
	result_close(&e, left != 0);
	req_done(r, &e);
}

/* All that is left was told to end: that is waited for, too. */
static void
drain_told(struct req *r)
{
	const struct scope_end *st = r->state;

	if (survivors(r, NULL) == 0)
		drain_answer(r, NULL);
	else
		req_timer(r, st->grace_ms + KILL_LATE_MS);
}

/* The wait is over: the ladder for the rest. */
static void
drain_kill(struct req *r)
{
	struct scope_end *st = r->state;

	st->kill = false;
	if (!scope_end_all(r, st->scope, false, drain_told))
		drain_answer(r, NULL);
}

/* One of them has ended, or time is up. */
static void
drain_scope_wake(struct req *r, struct session *s, unsigned wake)
{
	const struct scope_end *st = r->state;
	const struct session *gone = wake & WAKE_GONE ? s : NULL;

	if (st->ending != NULL)
		return;
	if ((wake & WAKE_TIMER) && st->kill)
		drain_kill(r);
	else if ((wake & WAKE_TIMER) ||
	    ((wake & (WAKE_STATE | WAKE_GONE)) != 0 &&
		survivors(r, gone) == 0))
		drain_answer(r, gone);
}

/* Marks the scope, or refuses. */
static bool
drain_mark(struct api_call *c, const char *scope, bool on)
{
	int r = drains_set(c->m->drains, scope, on);

	if (r == 0)
		return true;
	(void)drains_reload(c->m->drains);
	return req_failf(c->req, PROTO_E_NO_SPACE, "scope",
	    "the scope is not marked: %s", strerror(-r));
}

/* drainScope */
static void
drain_scope_call(struct api_call *c)
{
	struct req *r = c->req;
	struct scope_end *st = r->state;
	struct session *s;

	val_copy(c->params, "scope", st->scope, sizeof(st->scope));
	if (!drain_mark(c, st->scope, true))
		return;
	st->kill = val_bool(c->params, "kill", false);
	st->grace_ms = (uint32_t)proto_int(PROTO_DRAIN_SCOPE, c->params,
	    "graceMs", (int64_t)c->m->cfg.grace_ms);
	st->signal = st->grace_ms == 0 ? SIGKILL : SIGTERM;
	for (s = registry_first(c->m); s != NULL; s = registry_next(c->m, s)) {
		if (!session_live(s) || strcmp(s->id.scope, st->scope) != 0)
			continue;
		st->asked++;
		(void)req_watch(r, s); /* else the time-out finds it */
	}
	if (st->asked == 0) {
		drain_answer(r, NULL);
		return;
	}
	req_timer(r, (uint64_t)proto_int(PROTO_DRAIN_SCOPE, c->params,
			 "timeout", 30000));
}

const struct method method_DRAIN_SCOPE = {.call = drain_scope_call,
    .wake = drain_scope_wake, .drop = scope_end_drop,
    .state_size = sizeof(struct scope_end)};

/* undrainScope */
static void
undrain_scope_call(struct api_call *c)
{
	char scope[48], text[120];
	bool was;
	struct enc e = ENC_INIT;

	val_copy(c->params, "scope", scope, sizeof(scope));
	was = drains_has(c->m->drains, scope);
	if (!drain_mark(c, scope, false))
		return;
	snprintf(text, sizeof(text), "Scope %s %s.", scope,
	    was ? "takes sessions again" : "was not drained");
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "completed");
	enc_kv_str(&e, "scope", scope);
	enc_kv_bool(&e, "wasDrained", was);
	result_close(&e, false);
	req_done(c->req, &e);
}

const struct method method_UNDRAIN_SCOPE = {.call = undrain_scope_call};
