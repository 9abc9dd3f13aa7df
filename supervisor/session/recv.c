/* SPDX-License-Identifier: MIT */
/*
 * What workers say of their sessions, and which of them has a say: a session
 * changes hands by a death alone, and channels are read in any order.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/state_names.h"
#include "supervisor/master.h"
#include "supervisor/session/input_wait.h"
#include "supervisor/session/spares.h"

/* Owes ENDED to the worker, after the commit. */
static void
order_ended(struct worker *w, struct sid sid)
{
	struct ctl_head ended = CTL_INIT(CTL_ENDED, sid, struct ctl_head);

	pool_order_to(w, sid, &ended, sizeof(ended), true, -1);
}

/* Another worker has it now. */
static void
move_to(struct master *m, struct session *s, struct worker *w)
{
	struct worker *old =
	    s->custody.has_worker ? pool_get(m, s->custody.worker) : NULL;

	if (old != NULL && old->live > 0)
		old->live--;
	starts_over(m, s);
	s->custody.left = s->custody.has_worker ? s->custody.worker
						: (struct wid){0};
	s->custody.worker = w->wid;
	s->custody.has_worker = true;
	w->live++;
	session_touch(m, s);
}

void
session_back_to_heir(struct master *m, struct session *s, struct wid dead)
{
	struct worker *heir = s->custody.left.generation != 0 &&
		s->custody.has_worker && wid_eq(s->custody.worker, dead)
	    ? pool_get(m, s->custody.left)
	    : NULL;

	if (heir != NULL)
		move_to(m, s, heir);
}

/* Does this worker have a say in this session? NULL with ENDED sent where
 * the session is over or unknown. */
static struct session *
claim(struct master *m, struct worker *w, struct sid sid)
{
	struct session *s = session_by_sid(m, sid);

	if (s == NULL || !session_live(s)) {
		order_ended(w, sid);
		return NULL;
	}
	if (s->state == STATE_QUEUED)
		return NULL; /* never given to anybody: a stranger's tale */
	/* A session changes hands by a death alone. Channels are read in any
	 * order: what its dead worker still said may come after its heir. */
	if (s->custody.has_worker && !wid_eq(s->custody.worker, w->wid) &&
	    (wid_eq(s->custody.left, w->wid) ||
	        (s->custody.row_down && wid_eq(s->custody.row, w->wid))))
		return NULL;
	if (!s->custody.has_worker || !wid_eq(s->custody.worker, w->wid))
		move_to(m, s, w);
	s->custody.confirmed = true;
	s->custody.recovering = false;
	s->custody.next = (struct wid){0};
	/* the last words of a dead worker do not undo what the keeper says of
	 * its death: another one takes the session over */
	if (s->custody.row_down && !wid_eq(s->custody.row, w->wid))
		s->custody.left = s->custody.row;
	if (!s->custody.row_down || !wid_eq(s->custody.row, w->wid))
		s->custody.held = s->custody.row_down = false;
	return s;
}

/* As claim(), for what ends a session: that is final, whoever says it. The heir
 * itself may seem to be the past, where the dead worker's RUNNING was read after
 * its own and the keeper's row has not come yet; it says its end only once. */
static struct session *
claim_end(struct master *m, struct worker *w, struct sid sid)
{
	struct session *s = claim(m, w, sid);

	if (s != NULL)
		return s;
	s = session_by_sid(m, sid);
	return s != NULL && (s->state == STATE_RUNNING ||
	    s->state == STATE_EXITED) ? s : NULL;
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
		if (s != NULL) {
			s->custody.worker = w->wid;
			s->custody.has_worker = true;
		}
		if (msg->exited != 0)
			order_ended(w, msg->head.sid);
		else
			kill_stray(w, msg->head.sid);
		return;
	}
	/* Where this process was stopped, a session may have passed through
	 * several workers that died. Their last words come in any order; they
	 * would take it from the heir that has it, and their own death would
	 * end it. The heir speaks, or the keeper's rows. */
	if (s->custody.has_worker && !wid_eq(s->custody.worker, w->wid) &&
	    pool_is_gone(m, w))
		return;
	/* a kill may have come while nobody could be told */
	moved = !s->custody.has_worker || !wid_eq(s->custody.worker, w->wid);
	s = claim(m, w, msg->head.sid);
	if (s == NULL)
		return;
	facts_running(s, msg);
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
	spares_used(s);
	if (s->state == STATE_STARTING) {
		/* a worker that died had made a ring, too, and a poll may have
		 * opened that one: this one is another file */
		readers_forget(m, s->id.sid);
		session_set_state(m, s,
		    msg->exited != 0 ? STATE_EXITED : STATE_RUNNING, "spawned");
		record_started(s);
		atomic_fetch_add_explicit(&m->board.hdr->started_total, 1,
		    memory_order_relaxed);
		news_started(m, s);
	} else if (s->state == STATE_RUNNING && msg->exited != 0) {
		session_set_state(m, s, STATE_EXITED, "told by its worker");
	}
	if (s->input.spool_end > 0 || s->input.spool_eof)
		stdin_order(m, s);
	if (moved && s->ending.forced != END_NONE)
		order_forced(m, s);
	api_exec_running(s);
	session_wake(m, s, WAKE_STATE | WAKE_OUTPUT | WAKE_STDIN);
}

/* Is it about a start that was followed by another? The master that ordered that
 * one died before this worker knew that it had been heard, and so it says it to
 * the next. */
static bool
is_past_start(struct master *m, const struct ctl_failed *msg)
{
	const struct session *s = session_by_sid(m, msg->head.sid);

	return s != NULL && msg->start != 0 && msg->start <= s->custody.attempt;
}

/* It could not be spawned, or, where it runs already, not be taken over. */
void
session_on_failed(struct master *m, struct worker *w,
    const struct ctl_failed *msg)
{
	char path[sizeof(msg->path) + 1];
	struct session *s;

	if (is_past_start(m, msg)) {
		order_ended(w, msg->head.sid);
		return;
	}
	s = claim_end(m, w, msg->head.sid);
	if (s == NULL)
		return;
	order_ended(w, s->id.sid);
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
	snprintf(path, sizeof(path), "%.*s", (int)sizeof(msg->path),
	    msg->path);
	facts_failed(s, msg->error, msg->stage, path);
	tally_add(m, TALLY_SPAWN_FAILED, 1);
	atomic_fetch_add_explicit(&m->board.hdr->failed_total, 1,
	    memory_order_relaxed);
	log_event(LOG_NOTE, "session-not-spawned", KV_SESSION(s),
	    KV("error", strerror(abs(msg->error))),
	    KV("stage", stage_name(msg->stage)));
	if (msg->transient != CTL_FOR_GOOD &&
	    ++s->custody.failed_starts < MASTER_ATTEMPTS) {
		if (w->live > 0)
			w->live--;
		/* it paused and tried again itself: somebody else's turn */
		s->custody.tried |= 1u << w->wid.slot % 32;
		session_again(m, s);
		return;
	}
	session_end_here(m, s, END_SPAWN_ERROR, "spawn failed");
}

/* Its root has exited, output is still open. */
void
session_on_exited(struct master *m, struct worker *w,
    const struct ctl_exit *msg)
{
	struct session *s = claim(m, w, msg->head.sid);

	if (s == NULL || s->state == STATE_EXITED)
		return;
	facts_exited(s, msg->code, msg->status);
	session_set_state(m, s, STATE_EXITED, "its root exited");
	session_wake(m, s, WAKE_STATE);
}

/* Fewer are left of those that outlived its end, or a kill for them is over. */
void
session_on_left(struct master *m, struct worker *w, const struct ctl_left *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);

	if (s == NULL || session_live(s) || !wid_eq(s->custody.worker, w->wid))
		return;
	session_killed_left(s);
	facts_left(s, msg);
	session_touch(m, s);
	session_wake(m, s, WAKE_STATE);
}

/* Over: closed and drained. */
void
session_on_end(struct master *m, struct worker *w, const struct ctl_end *msg)
{
	struct session *s = claim_end(m, w, msg->head.sid);

	if (s == NULL)
		return;
	FAULT("master.end");
	facts_end(s, msg);
	output_ended(s, msg->total, msg->dropped_nospace, msg->ring_bytes);
	spares_ended(w, s, msg->ring_kept != 0);
	atomic_fetch_add_explicit(&m->board.hdr->ended_total, 1,
	    memory_order_relaxed);
	order_ended(w, s->id.sid);
	session_ended(m, s, reason_name(s->facts.reason));
}
