/* SPDX-License-Identifier: MIT */
/*
 * killScope: all sessions of a scope end, and drainScope's, too.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/api/ending.h"
#include "supervisor/api/kill.h"
#include "supervisor/words/result.h"

/* ---------------------------------------------------------------- answer */

/* What became of the sessions so far. */
static void
count_scope(struct req *r, uint64_t *ret_ended, uint64_t *ret_remaining)
{
	const struct scope_end *st = r->state;
	const struct watch *w;
	uint64_t live = 0, remaining = 0;

	LIST_FOREACH(w, &r->watches, of_req) {
		if (session_live(w->s))
			live++;
		else
			remaining += w->s->facts.remaining;
	}
	*ret_ended = st->asked - live;
	*ret_remaining = remaining;
}

/* Answers a killScope. */
static void
scope_answer(struct req *r)
{
	const struct scope_end *st = r->state;
	uint64_t ended, remaining;
	struct enc e = ENC_INIT;
	char text[160];

	count_scope(r, &ended, &remaining);
	if (st->answers_early)
		snprintf(text, sizeof(text),
		    "Termination requested for %" PRIu64 " sessions.",
		    st->asked);
	else if (remaining > 0)
		snprintf(text, sizeof(text),
		    "Ended %" PRIu64 " of %" PRIu64 " sessions; %" PRIu64
		    " of their processes could not be ended.",
		    ended, st->asked, remaining);
	else
		snprintf(text, sizeof(text),
		    "Ended %" PRIu64 " of %" PRIu64 " sessions.", ended,
		    st->asked);
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "completed");
	enc_kv_uint(&e, "sessions", st->asked);
	enc_kv_uint(&e, "ended", ended);
	enc_kv_uint(&e, "remaining", remaining);
	result_close(&e, false);
	req_done(r, &e);
}

/* One of them has ended, or time is up. */
static void
kill_scope_wake(struct req *r, struct session *s, unsigned wake)
{
	const struct scope_end *st = r->state;
	const struct watch *w;

	if (st->ending != NULL)
		return; /* not all of them were told */
	if ((wake & WAKE_TIMER) == 0) {
		LIST_FOREACH(w, &r->watches, of_req)
			if ((session_live(w->s) || w->s->ending.killing_left) &&
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

/* ----------------------------------------------------------------- the end */

void
scope_end_drop(struct req *r)
{
	ending_leave(((struct scope_end *)r->state)->ending);
}

/* First those that wait, then all, in order of session id. */
static struct session *
next_of_scope(struct master *m, struct ending *end)
{
	struct session *s = registry_after(m, end->at);

	if ((s == NULL || s->id.sid.v >= end->until) && end->waiting) {
		end->waiting = false;
		end->at = (struct sid){0};
		s = registry_after(m, end->at);
	}
	if (s == NULL || s->id.sid.v >= end->until)
		return NULL;
	end->at = s->id.sid;
	return s;
}

/* Who waits for it watches it until it is so. */
static bool
end_one(struct master *m, struct ending *end, struct session *s)
{
	struct req *r = end->r;
	struct scope_end *st = r != NULL ? r->state : NULL;
	bool live = session_live(s);

	if ((end->waiting && s->state != STATE_QUEUED) ||
	    (!live && !(end->left && session_has_left(s))) ||
	    strcmp(s->id.scope, end->scope) != 0)
		return false;
	if (st != NULL && !st->answers_early && !end->waiting &&
	    req_watch(r, s) < 0)
		st->answers_early = true;
	if (st != NULL)
		st->told += live;
	if (end->own)
		session_kill_is_of(s, s->id.scope);
	if (live)
		session_kill(m, s, end->signal, end->grace_ms,
		    END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	else
		session_kill_left(m, s, end->signal, end->grace_ms,
		    CTL_KILL_ESCALATE);
	return true;
}

static void
all_told(struct master *, struct ending *end)
{
	if (end->r != NULL)
		((struct scope_end *)end->r->state)->done(end->r);
}

bool
scope_end_all(struct req *r, const char *scope, bool left,
    void (*done)(struct req *r))
{
	struct scope_end *st = r->state;
	struct ending *end = ending_new(0);

	if (end == NULL)
		return false;
	snprintf(end->scope, sizeof(end->scope), "%s", scope);
	end->until = scope[0] != '\0' ? r->m->next_sid : 0;
	end->waiting = true;
	end->left = left;
	end->next = next_of_scope;
	end->one = end_one;
	end->done = all_told;
	end->own = st->own;
	end->signal = st->signal;
	end->grace_ms = st->grace_ms;
	st->done = done;
	ending_begin(end, r, &st->ending);
	return true;
}

/* --------------------------------------------------------------- request */

/* All of them were told to end. */
static void
scope_told(struct req *r)
{
	struct scope_end *st = r->state;

	st->asked = st->told;
	if (st->answers_early) {
		scope_answer(r);
		return;
	}
	req_timer(r, st->grace_ms + KILL_LATE_MS);
	kill_scope_wake(r, NULL, 0);
}

/* killScope */
static void
kill_scope_call(struct api_call *c)
{
	struct req *r = c->req;
	struct scope_end *st = r->state;
	char buf[64];
	const char *scope;

	st->signal = kill_signal(c);
	if (st->signal == 0)
		return;
	scope = take_scope(c, buf, sizeof(buf));
	if (scope == NULL)
		return;
	st->grace_ms = (uint32_t)proto_int(PROTO_KILL_SCOPE, c->params,
	    "graceMs", (int64_t)c->m->cfg.grace_ms);
	if (st->grace_ms == 0)
		st->signal = SIGKILL;
	st->own = conn_scope(c->conn) != NULL;
	st->answers_early = !val_bool(c->params, "wait", true);
	if (!scope_end_all(r, scope, true, scope_told))
		req_nomem(r);
}

const struct method method_KILL_SCOPE = {.call = kill_scope_call,
    .wake = kill_scope_wake, .drop = scope_end_drop,
    .state_size = sizeof(struct scope_end)};
