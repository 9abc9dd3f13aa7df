/* SPDX-License-Identifier: MIT */
/*
 * Warnings about sessions that wait long in a lane: who really holds them up.
 * Called by session.c after every change of a lane and when one is due.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "supervisor/master.h"

#define WARN_BURST 256u /* in one turn: ten thousand may be due at once */

/* What holds it up, as data. */
static void
wait_encode(struct master *m, const struct session *s, const char *scope,
    const struct lane_view *v, uint64_t waited_ms, struct enc *e)
{
	enc_map(e);
	enc_kv_str(e, "lane", v->name);
	enc_kv_uint(e, "waitedMs", waited_ms);
	enc_kv_uint(e, "queuePosition", lanes_position(m->lanes, s->id.sid));
	enc_kv_uint(e, "queued", v->queued);
	enc_kv_uint(e, "active", v->active);
	enc_kv_uint(e, "width", v->width);
	enc_kv_str(e, "blockedBy", lane_block_name(v->block));
	if (v->group[0] != '\0') {
		enc_kv_str(e, "group", v->group);
		enc_kv_uint(e, "groupActive", v->group_active);
		enc_kv_uint(e, "groupWidth", v->group_width);
	}
	enc_key(e, "blockers");
	lane_blockers_encode(m, scope, v->name, e);
	enc_end(e);
}

/* And in words. */
static void
wait_text(struct master *m, const struct session *s, const char *scope,
    const struct lane_view *v, uint64_t waited_ms, struct sbuf *b)
{
	char waited[32];

	text_duration(waited_ms, waited, sizeof(waited));
	sbuf_addf(b, "Exec has waited %s in lane %s, place %u (%s): ", waited,
	    v->name, lanes_position(m->lanes, s->id.sid), s->id.slug);
	switch (v->block) {
	case LANE_BLOCK_PAUSED:
		sbuf_add(b, "the lane is paused by an operator");
		return;
	case LANE_BLOCK_GROUP:
		sbuf_addf(b, "group %s is full (%u of %u), held by ", v->group,
		    v->group_active, v->group_width);
		break;
	case LANE_BLOCK_RESERVED:
		sbuf_addf(b, "what group %s has left is reserved for its other "
			     "lanes; the rest is held by ",
		    v->group);
		break;
	default:
		if (v->width == 0) {
			sbuf_add(b, "the lane has width 0");
			return;
		}
		sbuf_add(b, "the lane is full, held by ");
	}
	lane_blockers_text(m, scope, v->name, b);
}

/* One of them. */
static void
warn(struct master *m, struct session *s, uint64_t now)
{
	const char *scope = s->id.scope[0] != '\0' ? s->id.scope : NULL;
	uint64_t since = lanes_since(m->lanes, s->id.sid);
	uint64_t waited = now > since ? now - since : 0;
	char instance[SESSION_INSTANCE_MAX];
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	struct lane_view v;
	struct event_in in;

	if (lane_deadlock_end(m, s))
		return;
	s->queued.warned = true;
	tally_add(m, TALLY(lane_warned), 1);
	session_touch(m, s);
	if (!lanes_find(m->lanes, s->wish.lane, &v) || s->shown.hidden ||
	    v.block == LANE_OPEN || /* the server stops */
	    (m->kinds_wanted & EVENT_BIT(EVENT_LANE_WAIT)) == 0)
		return;
	wait_encode(m, s, scope, &v, waited, &e);
	wait_text(m, s, scope, &v, waited, &text);
	session_instance(s, instance);
	in = (struct event_in){.scope = s->id.scope, .sid = s->id.sid,
	    .instance_id = instance, .slug = s->id.slug,
	    .kind = event_kind_name(EVENT_LANE_WAIT),
	    .session_key =
		s->id.session_key[0] != '\0' ? s->id.session_key : NULL,
	    .text = text.p != NULL ? text.p : "", .exit_code = -1,
	    .at_ms = now, .wait = e.buf, .wait_bytes = e.len};
	if (e.failed || events_append(m->events, &in) < 0)
		log_event(LOG_WARN, "event-not-written",
		    KV("kind", "lane-wait"), KV_SESSION(s));
	enc_fini(&e);
	sbuf_fini(&text);
}

/* Whoever has waited too long, each once. */
void
lane_wait_warn(struct master *m, uint64_t now)
{
	if (m->lane_warns)
		return;
	m->lane_warns = true;
	for (unsigned i = 0; i < WARN_BURST; i++) {
		struct sid sid = lanes_warn(m->lanes, now);
		struct session *s = sid.v != 0 ? session_by_sid(m, sid) : NULL;

		if (sid.v == 0)
			break;
		if (s != NULL && s->state == STATE_QUEUED)
			warn(m, s, now);
	}
	m->lane_warns = false;
}
