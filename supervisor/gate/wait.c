/* SPDX-License-Identifier: MIT */
/*
 * Warnings about sessions that wait long, in a lane or for a place to run: who
 * really holds each of them up, once. Called when one is due.
 */
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "supervisor/master.h"

#define WARN_BURST 256u /* in one turn: ten thousand may be due at once */

/* One who waits. */
struct wait {
	struct master *m;
	const struct session *s;
	const char *scope; /* who may read it; NULL: admins */
	struct lanes *ls;
	struct lane_view v; /* its lane there */
	enum admission_why why; /* FREE: it waits in a lane of its own */
	uint64_t ms;
};

/* What holds it up, as data. */
static void
wait_encode(const struct wait *w, struct enc *e)
{
	const struct lane_view *v = &w->v;
	bool at_gate = w->why != ADMISSION_FREE;
	bool all = at_gate && w->why != ADMISSION_SCOPE;

	enc_map(e);
	if (w->s->wish.lane[0] != '\0')
		enc_kv_str(e, "lane", w->s->wish.lane);
	enc_kv_uint(e, "waitedMs", w->ms);
	enc_kv_uint(e, "queuePosition", gate_position(w->m, w->s));
	enc_kv_uint(e, "queued", v->queued);
	enc_kv_uint(e, "active", all ? v->group_active : v->active);
	if (w->why == ADMISSION_GLOBAL)
		enc_kv_uint(e, "width", w->m->cfg.max_running);
	else if (!all)
		enc_kv_uint(e, "width", v->width);
	enc_kv_str(e, "blockedBy", at_gate ? gate_queued_for(w->m, w->s)
					   : lane_block_name(v->block));
	if (!at_gate && v->group[0] != '\0') {
		enc_kv_str(e, "group", v->group);
		enc_kv_uint(e, "groupActive", v->group_active);
		enc_kv_uint(e, "groupWidth", v->group_width);
	}
	enc_key(e, "blockers");
	blockers_encode(w->m, w->scope, w->ls, v->name, e);
	enc_end(e);
}

/* Why nobody of its lane starts; false: nobody holds it. */
static bool
lane_text(const struct lane_view *v, struct sbuf *b)
{
	switch (v->block) {
	case LANE_BLOCK_PAUSED:
		sbuf_add(b, "the lane is paused by an operator");
		return false;
	case LANE_BLOCK_GROUP:
		sbuf_addf(b, "group %s is full (%u of %u), held by ", v->group,
		    v->group_active, v->group_width);
		return true;
	case LANE_BLOCK_RESERVED:
		sbuf_addf(b, "what group %s has left is reserved for its other "
			     "lanes; the rest is held by ",
		    v->group);
		return true;
	default:
		sbuf_add(b, v->width == 0 ? "the lane has width 0"
					  : "the lane is full, held by ");
		return v->width != 0;
	}
}

/* Which bound keeps it from a place; false: nobody holds that. */
static bool
bound_text(const struct wait *w, struct sbuf *b)
{
	const struct config *c = &w->m->cfg;

	switch (w->why) {
	case ADMISSION_RATE:
		sbuf_addf(b, "%" PRIu64 " sessions may start a second "
			     "(server.spawn_rate)", c->spawn_rate);
		return false;
	case ADMISSION_PRESSURE:
		sbuf_add(b, "memory is short (pressure.memory_some_avg10)");
		return false;
	case ADMISSION_SCOPE:
		sbuf_addf(b, "%u of its scope may run at once "
			     "(scope.max_running), held by ", w->v.width);
		return true;
	default:
		sbuf_addf(b, "%" PRIu64 " sessions may run at once "
			     "(server.max_running), held by ", c->max_running);
		return true;
	}
}

/* And in words. */
static void
wait_text(const struct wait *w, struct sbuf *b)
{
	bool at_gate = w->why != ADMISSION_FREE;
	char waited[32];

	text_duration(w->ms, waited, sizeof(waited));
	sbuf_addf(b, "Exec has waited %s %s%s, place %u (%s): ", waited,
	    at_gate ? "for a place to run" : "in lane ",
	    at_gate ? "" : w->v.name, gate_position(w->m, w->s), w->s->id.slug);
	if (at_gate ? bound_text(w, b) : lane_text(&w->v, b))
		blockers_text(w->m, w->scope, w->ls, w->v.name, b);
}

/* Whoever listens is told. */
static void
append_event(const struct wait *w)
{
	const struct session *s = w->s;
	char instance[SESSION_INSTANCE_MAX];
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	struct event_in in;

	wait_encode(w, &e);
	wait_text(w, &text);
	session_instance(s, instance);
	in = (struct event_in){.scope = s->id.scope, .sid = s->id.sid,
	    .instance_id = instance, .slug = s->id.slug,
	    .kind = event_kind_name(EVENT_LANE_WAIT),
	    .session_key = s->id.session_key[0] != '\0' ? s->id.session_key
							: NULL,
	    .text = text.p != NULL ? text.p : "", .exit_code = -1,
	    .at_ms = clock_wall_ms(), .wait = e.buf, .wait_bytes = e.len};
	if (e.failed || events_append(w->m->events, &in) < 0)
		log_event(LOG_WARN, "event-not-written",
		    KV("kind", "lane-wait"), KV_SESSION(s));
	enc_fini(&e);
	sbuf_fini(&text);
}

/* One of them. */
static void
warn(struct master *m, struct lanes *ls, struct session *s, uint64_t now)
{
	uint64_t since = lanes_since(ls, s->id.sid);
	struct wait w = {.m = m, .s = s, .ls = ls,
	    .scope = s->id.scope[0] != '\0' ? s->id.scope : NULL,
	    .ms = now > since ? now - since : 0};
	char name[LANE_NAME_MAX];

	if (deadlock_end(m, s))
		return;
	gate_warned(s);
	if (ls == m->lanes)
		tally_add(m, TALLY_LANE_WARNED, 1);
	else
		w.why = admission_waits_for(m->gate.admission, s->id.sid, now);
	session_touch(m, s);
	if (!s->shown.hidden && gate_queue_of(m, s, name) == ls &&
	    lanes_find(ls, name, &w.v) &&
	    !(ls == m->lanes ? w.v.block == LANE_OPEN : m->stopping) &&
	    (m->kinds_wanted & EVENT_BIT(EVENT_LANE_WAIT)) != 0)
		append_event(&w);
}

void
wait_warn(struct master *m, struct lanes *ls, uint64_t now)
{
	for (unsigned i = 0; i < WARN_BURST; i++) {
		struct sid sid = lanes_warn(ls, now);
		struct session *s = sid.v != 0 ? session_by_sid(m, sid) : NULL;

		if (sid.v == 0)
			break;
		if (s != NULL && s->state == STATE_QUEUED)
			warn(m, ls, s, now);
	}
}
