/* SPDX-License-Identifier: MIT */
/*
 * kill: the stop ladder by request, and what is said afterwards: who is left, and
 * how many adopted processes belong to nobody known.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/mark.h"
#include "common/procfs.h"
#include "common/text.h"
#include "supervisor/api/kill.h"
#include "supervisor/words/result.h"

#define ADOPTED_MAX 512u /* children looked at */

/* A kill under way. */
struct killing {
	bool alone; /* a signal, without the ladder */
	int signal;
	uint32_t grace_ms, flags; /* enum ctl_kill_flags */
};

/* A live process of none of psup's programs? */
static bool
is_foreign(int32_t pid)
{
	struct procfs_stat st;

	return procfs_alive(pid, &st) && strncmp(st.name, "psup-", 5) != 0 &&
	    strncmp(st.name, "psupd", 5) != 0;
}

/* Children of who adopts the orphans of s that are no session's command and carry
 * no mark: they hid from everything that could name their session. */
static unsigned
adopted_unattributed(struct master *m, const struct session *s)
{
	static int32_t pids[ADOPTED_MAX];
	int32_t adopter = s->wish.host == HOST_SANDBOX ? boxes_adopter(m, s)
						       : m->h.keeper_pid;
	size_t count =
	    adopter > 0 ? procfs_children(adopter, pids, ADOPTED_MAX) : 0;
	struct proc_mark mark;
	unsigned n = 0;

	for (size_t i = 0; i < count; i++)
		n += pids[i] > 1 && is_foreign(pids[i]) &&
		    mark_read(pids[i], &mark) == -ENOENT &&
		    session_by_pid(m, pids[i]) == NULL;
	return n;
}

/* " 2 of its processes could not be ended: 17, 23." */
static void
add_remaining(const struct session *s, struct sbuf *b)
{
	if (s->facts.remaining == 0)
		return;
	sbuf_addf(b, " %u of its processes could not be ended:",
	    (unsigned)s->facts.remaining);
	for (size_t i = 0; i < s->facts.remaining && i < CTL_END_PIDS; i++)
		sbuf_addf(b, "%s %d", i > 0 ? "," : "",
		    (int)s->facts.remaining_pids[i]);
	sbuf_add(b, s->facts.remaining > CTL_END_PIDS ? ", ..." : ".");
}

/* Answers a kill. */
static void
kill_answer(struct req *r, struct session *s)
{
	const struct killing *k = r->state;
	bool over = !session_live(s) && !s->ending.killing_left;
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	unsigned adopted = 0;

	if (over)
		sbuf_addf(&text, "Session %s is ended.", s->id.slug);
	else if (k->alone)
		sbuf_addf(&text, "Sent %s to session %s.",
		    text_signal_name(k->signal), s->id.slug);
	else
		sbuf_addf(&text, "Termination requested for session %s.",
		    s->id.slug);
	if (over) {
		add_remaining(s, &text);
		if (s->facts.holders > 0)
			sbuf_addf(&text, " %u processes still hold its output.",
			    (unsigned)s->facts.holders);
		if (!s->facts.in_leaf && s->facts.pid > 0)
			adopted = adopted_unattributed(r->m, s);
		if (adopted > 0)
			sbuf_addf(&text, " %u processes that %s adopted belong "
					 "to no session that is known.",
			    adopted, s->wish.host == HOST_SANDBOX ? "its box"
								  : "the server");
	}
	result_open(&e, text.p, text.len);
	enc_kv_str(&e, "status", over || !k->alone ? "completed" : "running");
	enc_kv_str(&e, "sessionId", s->id.slug);
	enc_kv_str(&e, "name", s->id.name);
	enc_kv_str(&e, "signal", text_signal_name(k->signal));
	if (over) {
		result_exit_fields(s, &e);
		if (!result_was_forced(s))
			result_remaining(s, &e);
		enc_kv_uint(&e, "unattributed", adopted);
	}
	result_close(&e, false);
	req_done(r, &e);
	sbuf_fini(&text);
}

/* The session, or what it has left behind. */
static void
kill_it(struct req *r, struct session *s)
{
	const struct killing *k = r->state;

	if (session_live(s))
		session_kill(r->m, s, k->signal, k->grace_ms,
		    k->alone ? END_NONE : END_MANUAL_CANCEL, k->flags);
	else
		session_kill_left(r->m, s, k->signal, k->grace_ms, k->flags);
}

/* It runs, but a new master has not heard of its worker, or the worker is dead:
 * a lone signal sent now would reach nobody. */
static bool
is_out_of_reach(struct master *m, const struct session *s)
{
	return session_live(s) && s->state != STATE_QUEUED &&
	    (!custody_has(&s->custody) || pool_get(m, s->custody.who) == NULL);
}

/* The session of a waiting kill has ended, or what it had left behind; or the
 * lone signal can be sent now. */
static void
kill_wake(struct req *r, struct session *s, unsigned wake)
{
	const struct killing *k = r->state;

	if (s == NULL)
		return;
	if (k->alone && session_live(s)) {
		if (is_out_of_reach(r->m, s) &&
		    !(wake & (WAKE_GONE | WAKE_TIMER)))
			return;
		kill_it(r, s);
		kill_answer(r, s);
		return;
	}
	if ((!session_live(s) && !s->ending.killing_left) ||
	    (wake & (WAKE_GONE | WAKE_TIMER)))
		kill_answer(r, s);
}

int
kill_signal(struct api_call *c)
{
	const struct val *v = val_get(c->params, "signal");
	char name[24] = "TERM";
	int signal;

	if (v != NULL && v->type == VAL_UINT)
		(void)snprintf(name, sizeof(name), "%u", (unsigned)v->u);
	else if (v != NULL)
		val_copy(c->params, "signal", name, sizeof(name));
	signal = text_signal_number(name, strlen(name));
	if (signal > 0)
		return signal;
	return req_invalid(c->req, "signal", v,
	    "a signal's name, with or without SIG, or its number");
}

/* A running session, or one that has left processes behind. */
static struct session *
take_session(struct api_call *c)
{
	struct session *s = api_session(c, API_OWN);

	if (s == NULL || session_live(s) || session_has_left(s))
		return s;
	req_refuse(c->req, PROTO_E_NOT_RUNNING, s->id.slug,
	    "No active session found for %s", s->id.slug);
	return NULL;
}

/* kill */
static void
kill_call(struct api_call *c)
{
	struct session *s = take_session(c);
	bool escalate = val_bool(c->params, "escalate", true);
	bool wait = val_bool(c->params, "wait", true) && escalate;
	struct req *r = c->req;
	struct killing *k = r->state;

	if (s == NULL || (k->signal = kill_signal(c)) == 0)
		return;
	k->alone = !escalate;
	k->grace_ms = (uint32_t)proto_int(PROTO_KILL, c->params, "graceMs",
	    (int64_t)c->m->cfg.grace_ms);
	if (escalate)
		session_kill_is_of(s, conn_scope(c->conn));
	k->flags = (escalate ? CTL_KILL_ESCALATE : 0) +
	    CTL_KILL_ID * (uint32_t)val_int(c->params, "killId", 0);
	if (k->grace_ms == 0 && escalate)
		k->signal = SIGKILL;
	if ((wait || (!escalate && is_out_of_reach(c->m, s))) &&
	    req_watch(r, s) == 0) {
		/* the ladder is over within grace + 1 s */
		req_timer(r, k->grace_ms + KILL_LATE_MS);
		if (wait)
			kill_it(r, s);
		return;
	}
	kill_it(r, s);
	kill_answer(r, s);
}

const struct method method_KILL = {.call = kill_call, .wake = kill_wake,
    .state_size = sizeof(struct killing)};
