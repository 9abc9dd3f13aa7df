/* SPDX-License-Identifier: MIT */
/*
 * What workers say of their sessions, and which of them has a say: a session
 * changes hands by a death alone, and channels are read in any order.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "common/log.h"
#include "shm/state_names.h"
#include "supervisor/host/boxes.h"
#include "supervisor/master.h"
#include "supervisor/session/input_wait.h"
#include "supervisor/session/spares.h"

/* Owes ENDED for that turn to the worker, after the commit. */
static void
order_ended(struct worker *w, struct sid sid, uint64_t turn)
{
	struct ctl_ended ended = {.head = CTL_INIT(CTL_ENDED, sid,
				      struct ctl_ended), .turn = turn};

	pool_order_to(w, sid, &ended, sizeof(ended), true, -1);
}

/* The same, where all that waits for it is the worker's own tidying. */
static void
order_let_go(struct worker *w, const struct ctl_end *end)
{
	struct ctl_ended ended = {.head = CTL_INIT(CTL_ENDED, end->head.sid,
				      struct ctl_ended), .turn = end->turn,
	    .exit = end->exit};

	pool_order_late(w, end->head.sid, &ended, sizeof(ended));
}

/* Another worker has it now, or one at last. */
static void
moved_to(struct master *m, struct session *s, struct wid had, struct worker *w)
{
	struct worker *old = pool_get(m, had);

	if (old != NULL && old->live > 0)
		old->live--;
	starts_over(m, s);
	w->live++;
	session_touch(m, s);
}

/* Whose word it is; generation 0: nobody's that could be told something. */
static struct wid
who_has(const struct session *s)
{
	return custody_has(&s->custody) ? s->custody.who : (struct wid){0};
}

/* Does this word count? `ask` is custody_word() or custody_failed(). */
static bool
counts(struct master *m, struct session *s, struct worker *w, uint64_t turn,
    enum custody_answer (*ask)(struct custody *, struct wid, uint64_t, bool))
{
	struct wid had = who_has(s);
	bool heir = pool_is_gone(m, s->custody.who) &&
	    !pool_is_gone(m, w->wid);

	if (ask(&s->custody, w->wid, turn, heir) != CUSTODY_COUNTS)
		return false;
	if (!wid_eq(had, w->wid))
		moved_to(m, s, had, w);
	return true;
}

/* The live session that a worker speaks of; NULL with ENDED sent where it is over
 * or unknown. */
static struct session *
live_one(struct master *m, struct worker *w, struct sid sid, uint64_t turn)
{
	struct session *s = session_by_sid(m, sid);

	if (s == NULL)
		s = adopt_live(m, sid);
	if (s == NULL || !session_live(s)) {
		order_ended(w, sid, turn);
		return NULL;
	}
	/* never given to anybody: a stranger's tale */
	return s->state != STATE_QUEUED ? s : NULL;
}

/* A command runs whose session is over here: it must not go on. */
static void
kill_stray(struct worker *w, struct sid sid)
{
	struct ctl_kill k = {.head = CTL_INIT(CTL_KILL, sid, struct ctl_kill),
	    .signal = SIGKILL, .reason = END_LOST, .flags = CTL_KILL_ESCALATE};

	pool_order_to(w, sid, &k, sizeof(k), false, -1);
}

/* The kill that its worker may not have been told of. */
static void
order_forced(struct master *m, struct session *s)
{
	session_order_kill(m, s,
	    s->ending.signal != 0 ? s->ending.signal : SIGTERM,
	    s->ending.signal != 0 ? s->ending.grace_ms : s->wish.grace_ms,
	    s->ending.forced, CTL_KILL_ESCALATE);
}

/* That it runs is heard for the first time, or that it did. A worker that died
 * had made a ring, too, and a poll may have opened that one: this one is another
 * file. */
static void
began(struct master *m, struct session *s)
{
	readers_forget(m, s->id.sid);
	record_started(s);
	ADD_RELAXED(m->board.hdr->started_total, 1);
	news_started(m, s);
}

/* It runs: the spec is not needed any more. */
void
session_on_running(struct master *m, struct worker *w,
    const struct ctl_running *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);
	bool moved;

	if (s == NULL)
		s = adopt_live(m, msg->head.sid);
	if (s == NULL || !session_live(s)) {
		/* what its command left behind goes on, as it did before */
		if (s != NULL && s->state == STATE_ENDED)
			custody_rest(&s->custody, w->wid);
		if (msg->exited != 0)
			order_ended(w, msg->head.sid, msg->turn);
		else
			kill_stray(w, msg->head.sid);
		return;
	}
	/* a kill may have come while nobody could be told */
	moved = !wid_eq(who_has(s), w->wid);
	if (s->state == STATE_QUEUED ||
	    !counts(m, s, w, msg->turn, custody_word))
		return;
	facts_running(m, s, msg);
	news_deadline(m, s, msg->deadline_ms);
	output_unwatched(s);
	stdin_unwatched(s);
	if (msg->starting != 0) {
		starts_found(m, s, w);
		/* what it is told now it does as soon as it runs */
		if (moved && s->ending.forced != END_NONE)
			order_forced(m, s);
		return;
	}
	terminal_running(m, s, msg);
	input_wait_running(s, msg->stdin_node);
	spares_used(m, s);
	if (s->state == STATE_STARTING) {
		session_set_state(m, s,
		    msg->exited != 0 ? STATE_EXITED : STATE_RUNNING, "spawned");
		began(m, s);
	} else if (s->state == STATE_RUNNING && msg->exited != 0) {
		session_set_state(m, s, STATE_EXITED, "told by its worker");
	}
	if (stdin_has(s))
		stdin_order(m, s);
	if (moved && s->ending.forced != END_NONE)
		order_forced(m, s);
	api_exec_running(s);
	session_wake(m, s, WAKE_STATE | WAKE_OUTPUT | WAKE_STDIN);
}

/* It could not be spawned, or, where it runs already, not be taken over. */
void
session_on_failed(struct master *m, struct worker *w,
    const struct ctl_failed *msg)
{
	char path[2 * sizeof(msg->path)];
	struct session *s;

	s = live_one(m, w, msg->head.sid, msg->turn);
	if (s == NULL)
		return;
	order_ended(w, s->id.sid, msg->turn);
	if (!counts(m, s, w, msg->turn, custody_failed))
		return;
	if (s->state != STATE_STARTING) {
		log_event(LOG_WARN, "session-not-taken-over", KV_SESSION(s),
		    KV("error", strerror(abs(msg->error))));
		facts_failed(s, msg->error, s->facts.stage, NULL);
		session_end_by_ring(m, s);
		return;
	}
	if (msg->transient == CTL_NOT_TRIED) {
		if (w->live > 0)
			w->live--;
		session_again(m, s);
		return;
	}
	/* where its box dies under its hands, whatever it was about (its groups are
	 * removed, its clone refused), another box has it */
	if (s->wish.host == HOST_SANDBOX && msg->transient != CTL_TRY_AGAIN &&
	    boxes_is_dead(m, s) && session_may_again(s, w->wid)) {
		if (w->live > 0)
			w->live--;
		session_again(m, s);
		return;
	}
	snprintf(path, sizeof(path), "%.*s", (int)sizeof(msg->path),
	    msg->path);
	/* it is not the machine that has no process to spare, but that */
	if (s->wish.host == HOST_SANDBOX && msg->stage == STAGE_CLONE &&
	    abs(msg->error) == EAGAIN)
		boxes_where(m, s, path, sizeof(path));
	facts_failed(s, msg->error, msg->stage, path);
	tally_add(m, TALLY_SPAWN_FAILED, 1);
	ADD_RELAXED(m->board.hdr->failed_total, 1);
	log_event(LOG_NOTE, "session-not-spawned", KV_SESSION(s),
	    KV("error", strerror(abs(msg->error))),
	    KV("stage", stage_name(msg->stage)));
	if (msg->transient != CTL_FOR_GOOD &&
	    session_may_again(s, w->wid)) {
		if (w->live > 0)
			w->live--;
		session_again(m, s);
		return;
	}
	session_end_here(m, s, END_SPAWN_ERROR, "spawn failed");
}

/* Its root has exited, output is still open. */
void
session_on_exited(struct master *m, struct worker *w,
    const struct ctl_exited *msg)
{
	const struct ctl_exit *e = &msg->exit;
	struct session *s = live_one(m, w, e->head.sid, msg->turn);

	if (s == NULL || !counts(m, s, w, msg->turn, custody_word) ||
	    s->state == STATE_EXITED)
		return;
	facts_exited(s, e->code, e->status);
	session_set_state(m, s, STATE_EXITED, "its root exited");
	session_wake(m, s, WAKE_STATE);
}

/* Fewer are left of those that outlived its end, or a kill for them is over. */
void
session_on_left(struct master *m, struct worker *w, const struct ctl_left *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);

	if (s == NULL || session_live(s))
		return;
	/* after a new master's start an older worker says this alone */
	if (s->custody.who.generation == 0)
		custody_rest(&s->custody, w->wid);
	if (!wid_eq(s->custody.who, w->wid))
		return;
	session_killed_left(s);
	facts_left(s, msg);
	session_touch(m, s);
	session_wake(m, s, WAKE_STATE);
}

/* A look whether it waits for input. */
void
session_on_input(struct master *m, struct worker *w,
    const struct ctl_input *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);

	if (s != NULL && wid_eq(s->custody.who, w->wid) &&
	    input_wait_told(s, msg))
		session_wake(m, s, WAKE_INPUT);
}

/* Over: closed and drained. That is final, also where it is said by one of the
 * past, who was heard late. */
void
session_on_end(struct master *m, struct worker *w, const struct ctl_end *msg)
{
	struct session *s = live_one(m, w, msg->head.sid, msg->turn);
	bool own;

	if (s == NULL)
		return;
	own = counts(m, s, w, msg->turn, custody_word);
	FAULT("master.end");
	facts_end(m, s, msg);
	if (s->state == STATE_STARTING) {
		began(m, s);
		spares_used(m, s);
	}
	output_ended(s, msg->total, msg->dropped_nospace, msg->ring_bytes);
	spares_ended(w, s, msg->ring_kept != 0, own);
	ADD_RELAXED(m->board.hdr->ended_total, 1);
	order_let_go(w, msg);
	session_ended(m, s, reason_name(s->facts.reason));
}
