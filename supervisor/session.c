/* SPDX-License-Identifier: MIT */
/*
 * What happens to a session: one function sets the state, checked against a
 * table; the worker's messages and the clients' wishes come in here. Nothing
 * is sent from here: orders and answers are staged for the end of the turn.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "shm/stats.h"
#include "supervisor/master.h"
#include "supervisor/result.h"

/* Allowed moves, a bit per state to go to. FREE: a session that is being
 * made. */
static const uint8_t moves[STATE_COUNT] = {
    [STATE_FREE] = 1 << STATE_QUEUED | 1 << STATE_STARTING,
    [STATE_QUEUED] = 1 << STATE_STARTING | 1 << STATE_ENDED,
    [STATE_STARTING] = 1 << STATE_RUNNING | 1 << STATE_EXITED |
	1 << STATE_ENDED,
    [STATE_RUNNING] = 1 << STATE_EXITED | 1 << STATE_ENDED,
    [STATE_EXITED] = 1 << STATE_ENDED,
    [STATE_ENDED] = 0,
};

/* Is this move in the table? */
bool
session_may_move(uint32_t from, uint32_t to)
{
	return from < STATE_COUNT && to < STATE_COUNT &&
	    (moves[from] >> to & 1) != 0;
}

/* Sets the state: the only place that does. */
void
session_set_state(struct master *m, struct session *s, uint32_t state,
    const char *why)
{
	CHECK(session_may_move(s->state, state));
	log_event(LOG_DEBUG, "session-state", KV_SESSION(s),
	    KV("from", state_name(s->state)), KV("to", state_name(state)),
	    KV("why", why));
	m->counts[s->state]--;
	m->counts[state]++;
	s->state = state;
	session_touch(m, s);
}

/* The status word, from reason and code. */
uint32_t
session_status_of(uint32_t reason, int32_t exit_code)
{
	switch (reason) {
	case END_NONE:
		return STATUS_RUNNING;
	case END_EXIT:
		return exit_code == 126 || exit_code == 127
		    ? STATUS_FAILED
		    : STATUS_COMPLETED;
	case END_MANUAL_CANCEL:
		return STATUS_KILLED;
	case END_LOST:
		return STATUS_LOST;
	default:
		return STATUS_FAILED;
	}
}

/* Tells every request that watches the session. */
void
session_wake(struct master *m, struct session *s, unsigned wake)
{
	struct watch *w, *next;

	(void)m;
	LIST_FOREACH_SAFE(w, &s->watches, of_session, next)
		req_wake(w->req, s, wake);
}

/* The one place that spells an instance id. */
void
session_instance(const struct master *m, const struct session *s,
    char ret[SESSION_INSTANCE_MAX])
{
	snprintf(ret, SESSION_INSTANCE_MAX, "%016" PRIx64 ".%016" PRIx64,
	    m->h.incarnation, s->sid.v);
}

/* Queued, or starting at once. */
int
session_admit(struct master *m, struct session *s, struct proto_problem *why)
{
	uint32_t pos = 0;
	int r;

	if (s->lane[0] == '\0')
		return gate_enter(m, s, true, "no lane", why);
	switch (lanes_enter(m->lanes, s->lane,
	    s->priority + FAULT_FAILS("lie.order"), s->sid, s->lane_seq,
	    clock_wall_ms(), &s->lane_seq, &pos)) {
	case LANE_ADMIT:
		stats_observe(&m->stats->lane_wait, METRIC_CUT_LIFE, 0);
		r = gate_enter(m, s, true, "admitted", why);
		if (r < 0)
			lanes_leave(m->lanes, s->sid);
		return r;
	case LANE_QUEUED:
		session_set_state(m, s, STATE_QUEUED, "the lane is busy");
		session_pump_lanes(m);
		return 0;
	case LANE_FULL:
		proto_problem_set(why, PROTO_E_QUEUE_FULL, "lane",
		    "the queue of lane %s is full", s->lane);
		return -ENOSPC;
	case LANE_DRAINING:
		proto_problem_set(why, PROTO_E_LANE_DRAINING, "lane",
		    "lane %s is draining: it takes nothing new until it is "
		    "resumed", s->lane);
		return -ESHUTDOWN;
	case LANE_NOMEM:
		break;
	}
	proto_problem_set(why, PROTO_E_NO_SPACE, "lane", "out of memory");
	return -ENOMEM;
}

/* For the lane timer: an ageing step may let somebody through. */
static void
on_lane_timer(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	session_pump_lanes(arg);
}

/* Starts what may start now, and arms the timer of the next ageing step. */
void
session_pump_lanes(struct master *m)
{
	uint64_t now = clock_wall_ms(), due;
	struct session *s;
	struct sid sid;

	gate_pump(m);
	while (!m->stopping && (sid = lanes_next(m->lanes, now)).v != 0) {
		s = session_by_sid(m, sid);
		if (s == NULL || s->state != STATE_QUEUED) {
			lanes_leave(m->lanes, sid);
			continue;
		}
		stats_observe(&m->stats->lane_wait, METRIC_CUT_LIFE,
		    now > s->created_ms ? (now - s->created_ms) * 1000 : 0);
		if (gate_enter(m, s, false, "its turn has come", NULL) < 0)
			session_end_here(m, s, END_LOST, "out of memory");
		else if (gate_deadlock_end(m, s))
			continue;
		else if (s->state != STATE_QUEUED)
			session_wake(m, s, WAKE_STATE);
	}
	lane_wait_warn(m, now);
	due = lanes_due(m->lanes);
	if (lanes_warn_due(m->lanes) < due)
		due = lanes_warn_due(m->lanes);
	if (due != UINT64_MAX)
		timer_in(m, &m->lane_timer, on_lane_timer, m,
		    due > now ? due - now : 1);
}

/* From here on the request that began it has no say in its end. */
void
session_background(struct master *m, struct session *s)
{
	if (s->backgrounded)
		return;
	s->backgrounded = true;
	log_event(LOG_DEBUG, "session-backgrounded", KV_SESSION(s));
	if (s->stream && session_live(s)) {
		struct ctl_pos c = {.head = CTL_INIT(CTL_CREDIT, s->sid,
					struct ctl_pos),
		    .pos = UINT64_MAX};

		pool_order(m, s, &c, sizeof(c), false, -1);
	}
	session_touch(m, s);
}

/* Sends CTL_KILL to whoever babysits it. */
static void
order_kill(struct master *m, struct session *s, int sig, uint32_t grace_ms,
    uint32_t reason, bool escalate)
{
	struct ctl_kill k = {.head = CTL_INIT(CTL_KILL, s->sid,
				 struct ctl_kill),
	    .signal = sig, .grace_ms = grace_ms, .reason = reason,
	    .flags = escalate ? CTL_KILL_ESCALATE : 0};

	pool_order(m, s, &k, sizeof(k), false, -1);
}

/* Before worker and keeper have spoken a new master does not know that what it
 * has as starting runs; nor is it in anybody's hands while it changes them. */
static bool
may_run(const struct session *s)
{
	return s->recovering || s->held || s->pid != 0;
}

/* Asks for the end of a session. */
void
session_kill(struct master *m, struct session *s, int sig, uint32_t grace_ms,
    uint32_t reason, bool escalate)
{
	if (!session_live(s))
		return;
	if (escalate && s->forced == END_NONE) {
		s->forced = reason;
		s->forced_signal = sig;
		s->forced_grace_ms = grace_ms;
		session_touch(m, s);
	}
	if (s->state == STATE_QUEUED ||
	    (s->state == STATE_STARTING && !s->has_worker &&
	        !may_run(s))) {
		if (escalate)
			session_end_here(m, s, reason, "before it started");
		return;
	}
	order_kill(m, s, sig, grace_ms, reason, escalate);
}

/* An ended session's zombie still pins its numbers, and its worker still looks
 * after what it left behind. */
void
session_kill_left(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, bool escalate)
{
	s->killing_left = escalate && pool_get(m, s->worker) != NULL;
	order_kill(m, s, sig, grace_ms, END_NONE, escalate);
}

/* Notes that the exit event is due, unless the rules say none is. */
static void
exit_event(struct master *m, struct session *s)
{
	char instance[SESSION_INSTANCE_MAX];
	struct sbuf text = SBUF_INIT;
	struct event_in in;

	if (!s->backgrounded || !s->notify || s->exit_notified || s->hidden ||
	    s->reason == END_MANUAL_CANCEL)
		return;
	if (s->reason == END_EXIT && s->exit_code == 0 && s->total == 0 &&
	    !s->notify_empty)
		return;
	result_event_text(m, s, &text);
	session_instance(m, s, instance);
	in = (struct event_in){.scope = s->scope, .sid = s->sid,
	    .instance_id = instance,
	    .kind = event_kind_name(s->reason == END_LOST ? EVENT_LOST
							  : EVENT_EXITED),
	    .slug = s->slug, .session_key = s->session_key,
	    .text = text.p != NULL ? text.p : "",
	    .status = status_name(s->status),
	    .exit_signal = s->exit_signal != 0
		? text_signal_name(s->exit_signal)
		: NULL,
	    .exit_reason = result_exit_reason(s), .exit_code = s->exit_code,
	    .at_ms = s->ended_ms};
	if (in.session_key[0] == '\0')
		in.session_key = NULL;
	s->exit_notified = FAULT_FAILS("lie.event-lost") ||
	    events_append(m->events, &in) >= 0;
	if (FAULT_FAILS("lie.event-twice"))
		(void)events_append(m->events, &in);
	if (!s->exit_notified) {
		log_event(LOG_WARN, "exit-event-waits", KV_SESSION(s));
		m->events_due = true;
	}
	sbuf_fini(&text);
}

/* Ends whose events could not be written: once more. */
void
session_events_due(struct master *m)
{
	struct session *s;

	m->events_due = false;
	TAILQ_FOREACH(s, &m->ended, ended_link)
		if (!s->exit_notified) {
			exit_event(m, s);
			if (s->exit_notified)
				session_touch(m, s);
		}
}

/* Everything an end brings with it, whatever ended the session. */
static void
session_ended(struct master *m, struct session *s, const char *why)
{
	struct index_key64 id = index_key64(s->sid.v);
	struct worker *w = s->has_worker ? pool_get(m, s->worker) : NULL;
	bool held = s->lane[0] != '\0' &&
	    lanes_position(m->lanes, s->sid) == 0;
	bool narrow;
	char lane[LANE_NAME_MAX];

	snprintf(lane, sizeof(lane), "%s", s->lane);
	if (w != NULL && w->live > 0)
		w->live--;
	s->status = session_status_of(s->reason, s->exit_code);
	tally_add(m, TALLY(ended) + s->reason, 1);
	tally_add(m, TALLY(dropped), s->dropped_nospace);
	if (s->started_ms != 0)
		stats_observe(&m->stats->duration, METRIC_CUT_LIFE,
		    s->duration_ms * 1000);
	s->stdin_closed = true;
	terminal_uncertain(m, s);
	if (s->pending) {
		TAILQ_REMOVE(&m->pending, s, pending_link);
		s->pending = false;
	}
	session_set_state(m, s, STATE_ENDED, why);
	m->live--;
	m->leaving_bytes -= s->leaving_bytes;
	s->leaving_bytes = 0;
	s->ended_ns = clock_boot_ns();
	if (s->spec != NULL || s->pid == 0)
		(void)index_del(m->ix, INDEX_SPECS,
		    (struct index_bytes){id.b, 8});
	spec_free(&s->spec);
	lanes_leave(m->lanes, s->sid);
	narrow = s->gate.scope != NULL && s->gate.running;
	gate_leave(m, s);
	narrow = narrow && gate_still_full(m, s);
	news_deadline_off(s);
	exit_event(m, s);
	sweep_ended(m, s);
	session_wake(m, s, WAKE_STATE);
	if (s->hidden)
		registry_forget(m, s);
	if (held)
		lane_deadlock_look(m, lane);
	if (narrow)
		gate_deadlock_look(m);
	session_pump_lanes(m);
}

/* The end by the master's own decision. */
void
session_end_here(struct master *m, struct session *s, uint32_t reason,
    const char *why)
{
	if (!session_live(s))
		return;
	s->reason = s->forced != END_NONE && reason != END_LOST ? s->forced
								: reason;
	s->ended_ms = clock_wall_ms();
	if (s->started_ms != 0 && s->ended_ms > s->started_ms)
		s->duration_ms = s->ended_ms - s->started_ms;
	atomic_fetch_add_explicit(&m->board.hdr->ended_total, 1,
	    memory_order_relaxed);
	session_ended(m, s, why);
}

/* Takes exit facts as waitid tells them. */
static void
take_exit(struct session *s, int32_t code, int32_t status)
{
	s->exit_code = -1;
	s->exit_signal = 0;
	if (code == CLD_EXITED)
		s->exit_code = status & 0xff;
	else if ((code == CLD_KILLED || code == CLD_DUMPED) && status > 0 &&
	    status < NSIG)
		s->exit_signal = status;
}

/* Bytes that a ring of these facts takes, about. */
static uint64_t
ring_bytes_of(const struct ring_facts *f)
{
	uint64_t most = f->raw.head_bytes + f->raw.tail_bytes;

	return (f->head < most ? f->head : most) + SHM_PAGE;
}

/* It was asked to go for good: what it holds does not keep new ones out,
 * though it ends a moment later. */
void
session_leaves(struct master *m, struct session *s)
{
	struct ring_reader *r = readers_get(m, s->sid);
	struct ring_facts *f = malloc(sizeof(*f));

	if (s->leaving_bytes == 0 && r != NULL && f != NULL &&
	    ring_facts(r, f) == RING_OK) {
		s->leaving_bytes = ring_bytes_of(f);
		m->leaving_bytes += s->leaving_bytes;
	}
	free(f);
}

/* What the ring's header says of an end nobody could tell; else lost. */
void
session_end_by_ring(struct master *m, struct session *s)
{
	static struct ring_facts facts; /* no end is lost for want of memory */
	struct ring_reader *r = readers_get(m, s->sid);
	struct ring_facts *f = &facts;
	bool known = false;

	if (r != NULL && ring_facts(r, f) == RING_OK) {
		int32_t code = f->raw.exit_code;

		s->total = f->head;
		s->ring_bytes = ring_bytes_of(f);
		if (s->started_ms == 0)
			s->started_ms = f->raw.started_ms;
		if (code == CLD_EXITED || code == CLD_KILLED ||
		    code == CLD_DUMPED) {
			take_exit(s, code, f->raw.exit_status);
			known = true;
			s->reason = f->raw.end_reason;
			if (s->reason == END_NONE || s->reason >= END_REASONS)
				s->reason = s->exit_signal != 0 ? END_SIGNAL
								: END_EXIT;
		}
	}
	if (known) {
		uint32_t reason = s->reason;

		s->forced = END_NONE;
		session_end_here(m, s, reason, "told by its ring");
	} else {
		session_end_here(m, s, END_LOST, "nobody knows of it");
	}
}

/* Not running yet and given to nobody alive: start it elsewhere. */
void
session_again(struct master *m, struct session *s)
{
	s->has_worker = false;
	s->left = s->next = (struct wid){0};
	s->confirmed = false;
	s->watching = s->watching_stdin = false;
	if (s->forced != END_NONE) {
		session_end_here(m, s, s->forced, "before it started");
		return;
	}
	if (++s->attempt >= MASTER_RESTARTS) {
		session_end_here(m, s, END_SPAWN_ERROR, "no worker starts it");
		return;
	}
	session_touch(m, s);
	pool_dispatch(m, s);
}

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
	struct worker *old = s->has_worker ? pool_get(m, s->worker) : NULL;

	if (old != NULL && old->live > 0)
		old->live--;
	if (s->pending) {
		TAILQ_REMOVE(&m->pending, s, pending_link);
		s->pending = false;
	}
	s->left = s->has_worker ? s->worker : (struct wid){0};
	s->worker = w->wid;
	s->has_worker = true;
	w->live++;
	session_touch(m, s);
}

/* See master.h. */
void
session_back_to_heir(struct master *m, struct session *s, struct wid dead)
{
	struct worker *heir = s->left.generation != 0 && s->has_worker &&
	        wid_eq(s->worker, dead)
	    ? pool_get(m, s->left)
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
	if (s->has_worker && !wid_eq(s->worker, w->wid) &&
	    (wid_eq(s->left, w->wid) ||
	        (s->row_down && wid_eq(s->row, w->wid))))
		return NULL;
	if (!s->has_worker || !wid_eq(s->worker, w->wid))
		move_to(m, s, w);
	s->confirmed = true;
	s->recovering = false;
	s->next = (struct wid){0};
	/* the last words of a dead worker do not undo what the keeper says of
	 * its death: another one takes the session over */
	if (s->row_down && !wid_eq(s->row, w->wid))
		s->left = s->row;
	if (!s->row_down || !wid_eq(s->row, w->wid))
		s->held = s->row_down = false;
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

/* It runs: the spec is not needed any more. */
void
session_on_running(struct master *m, struct worker *w,
    const struct ctl_running *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);
	struct index_key64 id = index_key64(msg->head.sid.v);
	bool moved;

	if (s == NULL)
		s = adopt_live(m, msg->head.sid);
	if (s == NULL || !session_live(s)) {
		/* what its command left behind goes on, as it did before */
		if (s != NULL) {
			s->worker = w->wid;
			s->has_worker = true;
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
	if (s->has_worker && !wid_eq(s->worker, w->wid) && pool_is_gone(m, w))
		return;
	/* a kill may have come while nobody could be told */
	moved = !s->has_worker || !wid_eq(s->worker, w->wid);
	s = claim(m, w, msg->head.sid);
	if (s == NULL)
		return;
	s->pid = msg->pid > 0 ? msg->pid : 0;
	s->started_ms = msg->started_ms;
	s->deadline_ms = msg->deadline_ms;
	s->watching = s->watching_stdin = false;
	terminal_running(m, s, msg);
	s->stdin_node = msg->stdin_node;
	news_deadline(m, s);
	if (s->state == STATE_STARTING) {
		/* a worker that died had made a ring, too, and a poll may have
		 * opened that one: this one is another file */
		readers_forget(m, s->sid);
		session_set_state(m, s,
		    msg->exited != 0 ? STATE_EXITED : STATE_RUNNING, "spawned");
		(void)index_del(m->ix, INDEX_SPECS,
		    (struct index_bytes){id.b, 8});
		spec_free(&s->spec);
		tally_add(m, TALLY(started), 1);
		atomic_fetch_add_explicit(&m->board.hdr->started_total, 1,
		    memory_order_relaxed);
		news_started(m, s);
	} else if (s->state == STATE_RUNNING && msg->exited != 0) {
		session_set_state(m, s, STATE_EXITED, "told by its worker");
	}
	if (s->spool_end > 0 || s->spool_eof) {
		struct ctl_stdin in = {.head = CTL_INIT(CTL_STDIN, s->sid,
					   struct ctl_stdin),
		    .pos = s->spool_end, .eof = s->spool_eof};

		pool_order(m, s, &in, sizeof(in), true, -1);
	}
	if (moved && s->forced != END_NONE)
		order_kill(m, s, s->forced_signal != 0 ? s->forced_signal
		                                       : SIGTERM,
		    s->forced_signal != 0 ? s->forced_grace_ms : s->grace_ms,
		    s->forced, true);
	session_wake(m, s, WAKE_STATE | WAKE_OUTPUT | WAKE_STDIN);
}

/* It could not be spawned, or, where it runs already, not be taken over. */
void
session_on_failed(struct master *m, struct worker *w,
    const struct ctl_failed *msg)
{
	struct session *s = claim_end(m, w, msg->head.sid);

	if (s == NULL)
		return;
	order_ended(w, s->sid);
	if (s->state != STATE_STARTING) {
		log_event(LOG_WARN, "session-not-taken-over", KV_SESSION(s),
		    KV("error", strerror(abs(msg->error))));
		s->error = msg->error;
		session_end_by_ring(m, s);
		return;
	}
	if (msg->transient == CTL_NOT_TRIED) {
		if (w->live > 0)
			w->live--;
		session_again(m, s);
		return;
	}
	s->error = msg->error;
	s->stage = msg->stage;
	tally_add(m, TALLY(spawn_failed), 1);
	atomic_fetch_add_explicit(&m->board.hdr->failed_total, 1,
	    memory_order_relaxed);
	log_event(LOG_NOTE, "session-not-spawned", KV_SESSION(s),
	    KV("error", strerror(abs(msg->error))),
	    KV("stage", stage_name(msg->stage)));
	if (msg->transient != CTL_FOR_GOOD && s->attempt + 1 < MASTER_ATTEMPTS) {
		if (w->live > 0)
			w->live--;
		/* it paused and tried again itself: somebody else's turn */
		s->tried |= 1u << w->wid.slot % 32;
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
	take_exit(s, msg->code, msg->status);
	session_set_state(m, s, STATE_EXITED, "its root exited");
	session_wake(m, s, WAKE_STATE);
}

/* Who holds its output: "PID NAME" each, fit to be shown. */
static void
take_holders(struct session *s, uint32_t holders, uint32_t named,
    const struct ctl_holder *list)
{
	struct sbuf b = SBUF_INIT;
	size_t i, k;

	s->holders = holders;
	for (i = 0; i < named && i < CTL_END_HOLDERS; i++) {
		char name[sizeof(list[i].name)];

		snprintf(name, sizeof(name), "%.*s",
		    (int)sizeof(list[i].name) - 1, list[i].name);
		for (k = 0; name[k] != '\0'; k++)
			if (name[k] < 0x20 || name[k] > 0x7e)
				name[k] = '?';
		sbuf_addf(&b, "%d %s\n", (int)list[i].pid, name);
	}
	free(s->holder_list);
	s->holder_list = b.p;
}

/* Fewer are left of those that outlived its end, or a kill for them is over. */
void
session_on_left(struct master *m, struct worker *w, const struct ctl_left *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);

	if (s == NULL || session_live(s) || !wid_eq(s->worker, w->wid))
		return;
	s->killing_left = false;
	take_holders(s, msg->holders, msg->named, msg->holder);
	s->remaining = msg->remaining;
	memcpy(s->remaining_pids, msg->remaining_pids,
	    sizeof(s->remaining_pids));
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
	take_exit(s, msg->exit.code, msg->exit.status);
	s->reason = msg->reason;
	if (s->reason == END_NONE || s->reason >= END_REASONS)
		s->reason = s->exit_signal != 0 ? END_SIGNAL
		    : s->exit_code >= 0		? END_EXIT
						: END_LOST;
	take_holders(s, msg->holders, msg->named, msg->holder);
	s->ladder_ms = msg->ladder_ms;
	s->killed = msg->killed != 0;
	s->remaining = msg->remaining;
	s->in_leaf = msg->in_leaf != 0;
	memcpy(s->remaining_pids, msg->remaining_pids,
	    sizeof(s->remaining_pids));
	s->total = msg->total;
	s->dropped_nospace = msg->dropped_nospace;
	s->ring_bytes = msg->ring_bytes;
	s->utime_us = msg->exit.utime_us;
	s->stime_us = msg->exit.stime_us;
	s->io_blocks = msg->exit.io_blocks;
	s->maxrss_kib = msg->exit.maxrss_kib;
	if (msg->exit.pid > 0 && s->pid == 0)
		s->pid = msg->exit.pid;
	if (msg->started_ms != 0)
		s->started_ms = msg->started_ms;
	s->ended_ms = msg->ended_ms != 0 ? msg->ended_ms : clock_wall_ms();
	s->duration_ms = msg->duration_ms;
	atomic_fetch_add_explicit(&m->board.hdr->ended_total, 1,
	    memory_order_relaxed);
	order_ended(w, s->sid);
	session_ended(m, s, reason_name(s->reason));
}
