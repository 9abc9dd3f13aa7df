/* SPDX-License-Identifier: MIT */
/*
 * How a session begins: one function sets the state, checked against a table;
 * lanes and gate say when it starts; where nobody has it any more, it starts
 * again. Nothing is sent from here nor from end.c and recv.c:
 * orders and answers are staged for the end of the turn.
 */

#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/state_names.h"
#include "shm/stats.h"
#include "supervisor/host/boxes.h"
#include "supervisor/master.h"

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
	if (s->state == STATE_STARTING)
		starts_over(m, s);
	m->counts[s->state]--;
	m->counts[state]++;
	s->state = state;
	room_count(s);
	if (state == STATE_RUNNING)
		session_touch_soon(m, s);
	else
		session_touch(m, s);
}

/* Tells every request that watches the session. */
void
session_wake(struct master *m, struct session *s, unsigned wake)
{
	struct watch *w;

	if (s->wish.host == HOST_BOX)
		boxes_heard(m, s);
	/* over_watch() says why this holds whatever a request does */
	LIST_FOREACH(w, &s->watches, of_session)
		if (w->req != NULL)
			watch_wake(w, wake);
}

/* 16 digits. */
static char *
put_hex(char *p, uint64_t v)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*p++ = "0123456789abcdef"[v >> shift & 15];
	return p;
}

/* The one place that spells an instance id. Lists do it for each row: not by
 * printf. */
void
session_instance(const struct session *s, char ret[SESSION_INSTANCE_MAX])
{
	char *p = put_hex(ret, s->id.incarnation);

	*p++ = '.';
	*put_hex(p, s->id.sid.v) = '\0';
}

/* Queued, or starting at once. */
int
session_admit(struct master *m, struct session *s, struct proto_problem *why)
{
	int r;

	if (s->wish.lane[0] == '\0')
		return gate_enter(m, s, true, "no lane", why);
	switch (lane_enter(m, s, s->wish.priority + FAULT_FAILS("lie.order"),
	    clock_wall_ms())) {
	case LANE_ADMIT:
		stats_observe(&m->stats->lane_wait, METRIC_CUT_LIFE, 0);
		r = gate_enter(m, s, true, "admitted", why);
		if (r < 0)
			lanes_leave(m->lanes, s->id.sid);
		return r;
	case LANE_QUEUED:
		r = room_for(s, STATE_QUEUED, why);
		if (r < 0) {
			lanes_leave(m->lanes, s->id.sid);
			return r;
		}
		session_set_state(m, s, STATE_QUEUED, "the lane is busy");
		session_pump_lanes(m);
		return 0;
	case LANE_FULL:
		return proto_problem_set(why, PROTO_E_QUEUE_FULL, "lane",
		    "the queue of lane %s is full", s->wish.lane);
	case LANE_DRAINING:
		return proto_problem_set(why, PROTO_E_LANE_DRAINING, "lane",
		    "lane %s is draining: it takes nothing new until it is "
		    "resumed", s->wish.lane);
	case LANE_NOMEM:
		break;
	}
	return proto_problem_set(why, PROTO_E_NO_SPACE, "lane",
	    "out of memory");
}

/* For the lane timer: an ageing step may let somebody through, or one has waited
 * for too long. */
static void
on_lane_timer(int, short, void *arg)
{
	struct master *m = arg;

	turn_begin(m);
	wait_warn(m, m->lanes, clock_wall_ms());
	session_pump_lanes(m);
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
		    now > s->id.created_ms ? (now - s->id.created_ms) * 1000
					   : 0);
		if (gate_enter(m, s, false, "its turn has come", NULL) < 0)
			session_end_here(m, s, END_LOST, "out of memory");
		else if (deadlock_end(m, s))
			continue;
		else if (s->state != STATE_QUEUED)
			session_wake(m, s, WAKE_STATE);
	}
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
	if (!shown_background(s))
		return;
	log_event(LOG_DEBUG, "session-backgrounded", KV_SESSION(s));
	if (s->wish.stream && session_live(s)) {
		struct ctl_pos c = {.head = CTL_INIT(CTL_CREDIT, s->id.sid,
					struct ctl_pos),
		    .pos = UINT64_MAX};

		pool_order(m, s, &c, sizeof(c), false, -1);
	}
	session_touch(m, s);
}

/* Not running yet and given to nobody alive: start it elsewhere. */
void
session_again(struct master *m, struct session *s)
{
	custody_back(&s->custody);
	output_unwatched(s);
	stdin_unwatched(s);
	spares_lost(m, s);
	if (s->ending.forced != END_NONE) {
		session_end_here(m, s, s->ending.forced, "before it started");
		return;
	}
	s->tries.attempt++;
	session_touch(m, s);
	starts_enter(m, s);
}

/* Its worker has died and it never ran. */
void
session_again_after(struct master *m, struct session *s, bool in_hand)
{
	if (!in_hand || s->ending.forced != END_NONE ||
	    ++s->tries.deadly_starts < MASTER_RESTARTS)
		session_again(m, s);
	else
		session_end_here(m, s, END_SPAWN_ERROR, "no worker starts it");
}

bool
session_may_again(struct session *s, struct wid tried)
{
	s->tries.tried |= 1u << tried.slot % 32;
	return ++s->tries.failed_starts < MASTER_ATTEMPTS;
}
