/* SPDX-License-Identifier: MIT */
/*
 * Those who wait at the gate: a warning about who really holds each of them
 * up, once, and an end for those who wait for their own ancestors alone.
 * Called by gate.c, session.c and session/end.c; lane_wait.c and
 * lane_deadlock.c do the same for lanes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "supervisor/master.h"

#define CHAIN_MAX  64u  /* ancestors followed */
#define WARN_BURST 256u /* in one turn: ten thousand may be due at once */

/* Milliseconds that the wall clock's changes do not touch. */
static uint64_t
now_ms(void)
{
	return clock_boot_ns() / NSEC_PER_MSEC;
}

/* ---------------------------------------------------------------- deadlock */

/* The bound that is reached by its ancestors alone; ADMISSION_FREE: none. */
static enum admission_why
held_by_kin(struct master *m, const struct session *s)
{
	uint64_t all = admission_running(m->gate.admission);
	uint64_t kin = 0, kin_of_scope = 0;
	struct sid at = s->id.parent;
	struct admission_view v;

	for (unsigned i = 0; i < CHAIN_MAX && at.v != 0; i++) {
		const struct session *p = session_by_sid(m, at);

		if (p == NULL)
			break;
		if (p->place.admission.scope != NULL &&
		    p->place.admission.running) {
			kin++;
			kin_of_scope += strcmp(p->id.scope, s->id.scope) == 0;
		}
		at = p->id.parent;
	}
	if (kin == 0)
		return ADMISSION_FREE;
	admission_view_of(m->gate.admission, s->id.scope, &v);
	if (v.max != 0 && v.running >= v.max && v.running == kin_of_scope)
		return ADMISSION_SCOPE;
	if (m->cfg.max_running != 0 && all >= m->cfg.max_running && all == kin)
		return ADMISSION_GLOBAL;
	return ADMISSION_FREE;
}

int
gate_deadlock_refuse(struct master *m, const struct session *s,
    struct proto_problem *why)
{
	const char *bound, *scope = s->id.scope[0] != '\0' ? s->id.scope : NULL;
	enum admission_why held = held_by_kin(m, s);
	struct sbuf chain = SBUF_INIT;

	if (held == ADMISSION_FREE)
		return 0;
	bound = held == ADMISSION_SCOPE ? "scope.max_running"
					: "server.max_running";
	lane_deadlock_chain(m, s, scope, &chain);
	proto_problem_set(why, PROTO_E_DEADLOCK, bound,
	    "every place (%s) is held by sessions that this command was "
	    "started from: it would wait for ever behind %s",
	    bound, chain.p != NULL ? chain.p : "them");
	sbuf_fini(&chain);
	log_event(LOG_NOTE, "session-refused", KV_SESSION(s),
	    KV("bound", bound), KV("why", "deadlock"));
	return -EDEADLK;
}

bool
gate_deadlock_end(struct master *m, struct session *s)
{
	if (s->state != STATE_QUEUED ||
	    !admission_is_waiting(&s->place.admission) ||
	    held_by_kin(m, s) == ADMISSION_FREE)
		return false;
	log_event(LOG_NOTE, "session-deadlocked", KV_SESSION(s),
	    KV("bound", "max_running"));
	s->queued.deadlock = true;
	session_end_here(m, s, END_DEADLOCK,
	    "only its ancestors hold the places");
	return true;
}

bool
gate_still_full(struct master *m, const struct session *s)
{
	struct admission_view v;

	if (m->cfg.max_running != 0 &&
	    admission_running(m->gate.admission) >= m->cfg.max_running)
		return true;
	admission_view_of(m->gate.admission, s->id.scope, &v);
	return v.max != 0 && v.running >= v.max;
}

void
gate_deadlock_look(struct master *m)
{
	uint64_t n = admission_waiting(m->gate.admission), have = 0;
	struct session *s;
	struct sid *sids;

	sids = n > 0 ? calloc(n, sizeof(*sids)) : NULL;
	if (sids == NULL)
		return;
	for (s = registry_first(m); s != NULL && have < n;
	     s = registry_next(s))
		if (admission_is_waiting(&s->place.admission) &&
		    s->id.parent.v != 0)
			sids[have++] = s->id.sid;
	for (uint64_t i = 0; i < have; i++) {
		s = session_by_sid(m, sids[i]);
		if (s != NULL)
			(void)gate_deadlock_end(m, s);
	}
	free(sids);
}

/* ---------------------------------------------------------------- warnings */

/* Those that have a place that it could have. */
static void
find_blockers(struct master *m, const struct session *s,
    enum admission_why why, const struct admission_view *v,
    struct blockers *ret)
{
	uint64_t total = why == ADMISSION_SCOPE
	    ? v->running
	    : admission_running(m->gate.admission);
	struct session *o;

	*ret = (struct blockers){.total = (uint32_t)total};
	if (why != ADMISSION_SCOPE && why != ADMISSION_GLOBAL) {
		ret->total = 0;
		return;
	}
	for (o = registry_first(m); o != NULL && ret->n < total &&
	     ret->n < BLOCKERS_NAMED; o = registry_next(o))
		if (o->place.admission.scope != NULL &&
		    o->place.admission.running &&
		    (why == ADMISSION_GLOBAL ||
			strcmp(o->id.scope, s->id.scope) == 0))
			ret->sids[ret->n++] = o->id.sid;
}

/* What holds it up, as data. */
static void
wait_encode(struct master *m, const struct session *s, const char *scope,
    enum admission_why why, const struct admission_view *v,
    const struct blockers *b, uint64_t waited_ms, struct enc *e)
{
	bool own = why == ADMISSION_SCOPE;

	enc_map(e);
	if (s->wish.lane[0] != '\0')
		enc_kv_str(e, "lane", s->wish.lane);
	enc_kv_uint(e, "waitedMs", waited_ms);
	enc_kv_uint(e, "queuePosition", gate_position(m, s));
	enc_kv_uint(e, "queued", v->waiting);
	enc_kv_uint(e, "active",
	    own ? v->running : admission_running(m->gate.admission));
	if (own || why == ADMISSION_GLOBAL)
		enc_kv_uint(e, "width", own ? v->max : m->cfg.max_running);
	enc_kv_str(e, "blockedBy", gate_queued_for(m, s));
	enc_key(e, "blockers");
	blockers_encode(m, scope, b, e);
	enc_end(e);
}

/* And in words. */
static void
wait_text(struct master *m, const struct session *s, const char *scope,
    enum admission_why why, const struct admission_view *v,
    const struct blockers *b, uint64_t waited_ms, struct sbuf *text)
{
	char waited[32];

	text_duration(waited_ms, waited, sizeof(waited));
	sbuf_addf(text, "Exec has waited %s for a place to run, place %" PRIu32
			" (%s): ", waited, gate_position(m, s), s->id.slug);
	switch (why) {
	case ADMISSION_RATE:
		sbuf_addf(text, "%" PRIu64 " sessions may start a second "
				"(server.spawn_rate)", m->cfg.spawn_rate);
		return;
	case ADMISSION_PRESSURE:
		sbuf_add(text, "memory is short "
			       "(pressure.memory_some_avg10)");
		return;
	case ADMISSION_SCOPE:
		sbuf_addf(text, "%" PRIu64 " of its scope may run at once "
				"(scope.max_running), held by ", v->max);
		break;
	default:
		sbuf_addf(text, "%" PRIu64 " sessions may run at once "
				"(server.max_running), held by ",
		    m->cfg.max_running);
		break;
	}
	blockers_text(m, scope, b, text);
}

/* One of them. */
static void
warn(struct master *m, struct session *s, uint64_t now)
{
	const char *scope = s->id.scope[0] != '\0' ? s->id.scope : NULL;
	uint64_t waited = now > s->queued.since_ms ? now - s->queued.since_ms
						   : 0;
	char instance[SESSION_INSTANCE_MAX];
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	struct admission_view v;
	enum admission_why why;
	struct event_in in;
	struct blockers b;

	if (gate_deadlock_end(m, s))
		return;
	s->queued.warned = true;
	session_touch(m, s);
	why = admission_waits_for(m->gate.admission, &s->place.admission, now);
	if (s->shown.hidden || m->stopping || why == ADMISSION_FREE ||
	    (m->kinds_wanted & EVENT_BIT(EVENT_LANE_WAIT)) == 0)
		return;
	admission_view_of(m->gate.admission, s->id.scope, &v);
	find_blockers(m, s, why, &v, &b);
	wait_encode(m, s, scope, why, &v, &b, waited, &e);
	wait_text(m, s, scope, why, &v, &b, waited, &text);
	session_instance(s, instance);
	in = (struct event_in){.scope = s->id.scope, .sid = s->id.sid,
	    .instance_id = instance, .slug = s->id.slug,
	    .kind = event_kind_name(EVENT_LANE_WAIT),
	    .session_key =
		s->id.session_key[0] != '\0' ? s->id.session_key : NULL,
	    .text = text.p != NULL ? text.p : "", .exit_code = -1,
	    .at_ms = clock_wall_ms(), .wait = e.buf, .wait_bytes = e.len};
	if (e.failed || events_append(m->events, &in) < 0)
		log_event(LOG_WARN, "event-not-written",
		    KV("kind", "lane-wait"), KV_SESSION(s));
	enc_fini(&e);
	sbuf_fini(&text);
}

static void arm_warning(struct master *m);

/* For the timer: whoever has waited too long, each once. */
static void
on_warn(int fd, short what, void *arg)
{
	struct master *m = arg;
	uint64_t now = now_ms();
	struct session *s;

	(void)fd;
	(void)what;
	turn_begin(m);
	for (unsigned i = 0; i < WARN_BURST; i++) {
		s = TAILQ_FIRST(&m->gate.unwarned);
		if (s == NULL || m->cfg.lane_warn_ms == 0 ||
		    s->queued.since_ms + m->cfg.lane_warn_ms > now)
			break;
		gate_wait_over(m, s);
		warn(m, s, now);
	}
	arm_warning(m);
}

/* Comes back when the next warning is due. */
static void
arm_warning(struct master *m)
{
	struct session *s = TAILQ_FIRST(&m->gate.unwarned);
	uint64_t now = now_ms(), due;

	if (s == NULL || m->cfg.lane_warn_ms == 0 || m->stopping)
		return;
	due = s->queued.since_ms + m->cfg.lane_warn_ms;
	timer_in(m, &m->gate.warn_timer, on_warn, m,
	    due > now ? due - now : 1);
}

void
gate_wait_begin(struct master *m, struct session *s, uint64_t waited_ms)
{
	uint64_t now = now_ms();
	bool first = TAILQ_EMPTY(&m->gate.unwarned);

	if (s->queued.unwarned)
		return;
	s->queued.unwarned = true;
	s->queued.since_ms = now > waited_ms ? now - waited_ms : 0;
	TAILQ_INSERT_TAIL(&m->gate.unwarned, s, queued.link);
	if (first)
		arm_warning(m);
}

void
gate_wait_over(struct master *m, struct session *s)
{
	if (!s->queued.unwarned)
		return;
	s->queued.unwarned = false;
	TAILQ_REMOVE(&m->gate.unwarned, s, queued.link);
}

void
gate_wait_configure(struct master *m)
{
	arm_warning(m);
}
