/* SPDX-License-Identifier: MIT */
/*
 * How a session ends: the clients' wish that it does, and everything that an
 * end brings with it, whoever tells it: its worker, its ring, this master.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "shm/stats.h"
#include "supervisor/host/boxes.h"
#include "supervisor/master.h"
#include "supervisor/words/result.h"

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

/* Sends CTL_KILL to whoever babysits it. */
void
session_order_kill(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t reason, uint32_t flags)
{
	struct ctl_kill k = {.head = CTL_INIT(CTL_KILL, s->id.sid,
				 struct ctl_kill),
	    .signal = sig, .grace_ms = grace_ms, .reason = reason,
	    .flags = flags};

	pool_order(m, s, &k, sizeof(k), false, -1);
}

/* The end that will be asked for is a wish of this scope (NULL: of none), which
 * knows of it, if the session is its own. The first wish counts. */
void
session_kill_is_of(struct session *s, const char *scope)
{
	if (session_live(s) && s->ending.forced == END_NONE)
		s->ending.by_own =
		    strcmp(s->id.scope, scope != NULL ? scope : "") == 0;
}

/* Asks for the end of a session. */
void
session_kill(struct master *m, struct session *s, int sig, uint32_t grace_ms,
    uint32_t reason, uint32_t flags)
{
	if (!session_live(s))
		return;
	if ((flags & CTL_KILL_ESCALATE) != 0 && s->ending.forced == END_NONE) {
		s->ending.forced = reason;
		s->ending.signal = sig;
		s->ending.grace_ms = grace_ms;
		session_touch(m, s);
	}
	if (s->state == STATE_QUEUED ||
	    (s->state == STATE_STARTING &&
	        s->custody.state == CUSTODY_NOBODY)) {
		if ((flags & CTL_KILL_ESCALATE) != 0)
			session_end_here(m, s, reason, "before it started");
		return;
	}
	session_order_kill(m, s, sig, grace_ms, reason, flags);
}

/* An ended session's zombie still pins its numbers, and its worker still looks
 * after what it left behind. */
void
session_kill_left(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t flags)
{
	s->ending.killing_left = (flags & CTL_KILL_ESCALATE) != 0 &&
	    pool_get(m, s->custody.who) != NULL;
	session_order_kill(m, s, sig, grace_ms, END_NONE, flags);
}

void
session_killed_left(struct session *s)
{
	s->ending.killing_left = false;
}

/* Why an end is none to wake anybody for; NULL: it is. */
static const char *
quiet_reason(const struct session *s)
{
	if (s->wish.notify_asked)
		return NULL;
	if (s->facts.reason == END_MANUAL_CANCEL && s->ending.by_own)
		return "own-kill";
	if (!s->wish.notify)
		return "not-asked";
	if (s->facts.reason == END_EXIT && s->facts.exit_code == 0 &&
	    s->output.total == 0 && !s->wish.notify_empty)
		return "empty-success";
	return NULL;
}

/* Is its exit event still to be written? */
static bool
owes_event(const struct session *s)
{
	return s->shown.backgrounded && !s->shown.exit_notified &&
	    !session_never_was(s) && !session_is_ours(s);
}

/* Writes the exit event, which every end of a backgrounded session has. */
static void
exit_event(struct master *m, struct session *s)
{
	char instance[SESSION_INSTANCE_MAX];
	struct sbuf text = SBUF_INIT;
	struct event_in in;

	if (!owes_event(s))
		return;
	result_event_text(m, s, &text);
	session_instance(s, instance);
	in = (struct event_in){.scope = s->id.scope, .sid = s->id.sid,
	    .instance_id = instance,
	    .kind = event_kind_name(s->facts.reason == END_LOST
		    ? EVENT_LOST : EVENT_EXITED),
	    .slug = s->id.slug, .session_key = s->id.session_key,
	    .text = text.p != NULL ? text.p : "",
	    .status = status_name(s->facts.status),
	    .exit_signal = s->facts.exit_signal != 0
		? text_signal_name(s->facts.exit_signal)
		: NULL,
	    .exit_reason = result_exit_reason(s),
	    .exit_code = s->facts.exit_code,
	    .quiet = quiet_reason(s),
	    .at_ms = s->facts.ended_ms};
	if (in.session_key[0] == '\0')
		in.session_key = NULL;
	if (FAULT_FAILS("lie.event-lost") ||
	    events_append(m->events, &in) >= 0) {
		shown_notified(s);
		if (FAULT_FAILS("lie.event-twice"))
			(void)events_append(m->events, &in);
	} else {
		log_event(LOG_WARN, "exit-event-waits", KV_SESSION(s));
		m->events_due = true;
	}
	sbuf_fini(&text);
}

/* Ends whose events could not be written: once more. */
void
session_events_due(struct master *m)
{
	struct session *s, *next;

	m->events_due = false;
	TAILQ_FOREACH_SAFE(s, &m->ended, retention.ended_link, next) {
		if (s->ending.due || !owes_event(s))
			continue;
		exit_event(m, s);
		if (owes_event(s))
			continue;
		session_touch(m, s);
		if (s->shown.hidden)
			registry_forget(m, s);
	}
}

/* What others get back at once, whatever ended the session. */
void
session_ended(struct master *m, struct session *s, const char *why)
{
	struct worker *w =
	    custody_has(&s->custody) ? pool_get(m, s->custody.who) : NULL;

	if (w != NULL && w->live > 0)
		w->live--;
	/* whoever tells it: the kernel killed it with all in its box */
	if (s->wish.host == HOST_SANDBOX && s->facts.reason == END_SIGNAL &&
	    s->facts.exit_signal == SIGKILL && boxes_is_dead(m, s))
		facts_lost(s);
	facts_over(s, session_status_of(s->facts.reason, s->facts.exit_code));
	tally_add(m, TALLY_ENDED + s->facts.reason, 1);
	tally_add(m, TALLY_DROPPED, s->output.dropped_nospace);
	if (s->facts.started_ms != 0)
		stats_observe(&m->stats->duration, METRIC_CUT_LIFE,
		    s->facts.duration_ms * 1000);
	stdin_closed(s);
	terminal_uncertain(m, s);
	session_set_state(m, s, STATE_ENDED, why);
	custody_over(&s->custody);
	spares_lost(m, s);
	m->live--;
	record_spec_drop(s);
	s->ending.left_lane = lanes_leave(m->lanes, s->id.sid);
	m->ends_narrow |= gate_leave(m, s);
	news_deadline_off(s);
	if (session_never_was(s))
		shown_hide(m, s);
	CHECK(!s->ending.due && !s->over.forgotten);
	s->ending.due = true;
	TAILQ_INSERT_TAIL(&m->ends, s, ending.link);
}

void
session_end_take(struct master *m, struct session *s)
{
	if (!s->ending.due)
		return;
	s->ending.due = false;
	TAILQ_REMOVE(&m->ends, s, ending.link);
	exit_event(m, s);
	sweep_ended(m, s);
	boxes_ended(m, s);
	session_wake(m, s, WAKE_STATE);
	if (s->ending.left_lane)
		deadlock_look(m, m->lanes, s->wish.lane);
}

void
session_ends_drain(struct master *m)
{
	struct session *s;

	while (!TAILQ_EMPTY(&m->ends)) {
		while ((s = TAILQ_FIRST(&m->ends)) != NULL) {
			session_end_take(m, s);
			if (s->shown.hidden && !owes_event(s))
				registry_forget(m, s);
		}
		if (m->ends_narrow) {
			m->ends_narrow = false;
			deadlock_look_all(m,
			    admission_lanes(m->gate.admission));
		}
		session_pump_lanes(m);
	}
}

/* The end by the master's own decision. */
void
session_end_here(struct master *m, struct session *s, uint32_t reason,
    const char *why)
{
	if (!session_live(s))
		return;
	facts_here(s, s->ending.forced != END_NONE && reason != END_LOST
	        ? s->ending.forced
	        : reason);
	ADD_RELAXED(m->board.hdr->ended_total, 1);
	session_ended(m, s, why);
}

/* Bytes that a ring of these facts takes, about. */
static uint64_t
ring_bytes_of(const struct ring_facts *f)
{
	uint64_t most = f->raw.head_bytes + f->raw.tail_bytes;

	return (f->head < most ? f->head : most) + SHM_PAGE;
}

/* What the ring's header says of an end nobody could tell; else lost. */
void
session_end_by_ring(struct master *m, struct session *s)
{
	static struct ring_facts facts; /* no end is lost for want of memory */
	struct ring_reader *r = readers_get(m, s->id.sid);
	struct ring_facts *f = &facts;
	bool known = false;

	if (r != NULL && ring_facts(r, f) == RING_OK) {
		output_ended(s, f->head, s->output.dropped_nospace,
		    ring_bytes_of(f));
		known = facts_by_ring(s, &f->raw);
	}
	if (known) {
		uint32_t reason = s->facts.reason;

		s->ending.forced = END_NONE;
		session_end_here(m, s, reason, "told by its ring");
	} else {
		session_end_here(m, s, END_LOST, "nobody knows of it");
	}
}
