/* SPDX-License-Identifier: MIT */
/*
 * Sessions that would wait for ever: those whose lane, or group, is held only
 * by sessions they descend from. Refused when they come, ended where a lane
 * became too narrow meanwhile. Called by session/end.c, lane_wait.c
 * and lanes.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "supervisor/master.h"

#define CHAIN_MAX 64u /* ancestors followed */
#define SAID_MAX  8u  /* and told */

/* Does `s` descend from the session `from`? */
static bool
descends(struct master *m, const struct session *s, struct sid from)
{
	struct sid at = s->id.parent;

	for (unsigned i = 0; i < CHAIN_MAX && at.v != 0; i++) {
		const struct session *p;

		if (sid_eq(at, from))
			return true;
		p = session_by_sid(m, at);
		if (p == NULL)
			return false;
		at = p->id.parent;
	}
	return false;
}

struct look {
	struct master *m;
	const struct session *s;
	uint32_t ancestors;
	bool others;
};

/* One who blocks; the first stranger is enough. */
static bool
on_blocker(void *arg, struct sid sid)
{
	struct look *l = arg;

	if (descends(l->m, l->s, sid))
		l->ancestors++;
	else
		l->others = true;
	return !l->others;
}

/* Would it wait for its own ancestors alone? */
static bool
is_deadlock(struct master *m, const struct session *s)
{
	struct look l = {.m = m, .s = s};

	if (s->id.parent.v == 0 || s->wish.lane[0] == '\0')
		return false;
	lanes_each(m->lanes, s->wish.lane, LANE_THE_BLOCKERS, on_blocker, &l);
	return l.ancestors > 0 && !l.others;
}

/* "nova-gulf (running 12s) in lane main <- ...": from the parent upwards. */
void
lane_deadlock_chain(struct master *m, const struct session *s, const char *scope,
    struct sbuf *b)
{
	struct sid at = s->id.parent;
	uint64_t now = clock_wall_ms();

	for (unsigned i = 0; i < SAID_MAX && at.v != 0; i++) {
		const struct session *p = session_by_sid(m, at);
		char age[32];
		uint64_t from;

		if (p == NULL)
			break;
		from = p->facts.started_ms != 0 ? p->facts.started_ms
						: p->id.created_ms;
		text_duration(now > from ? now - from : 0, age, sizeof(age));
		sbuf_addf(b, "%s%s (%s", i > 0 ? " <- " : "",
		    scope == NULL || strcmp(scope, p->id.scope) == 0
			? p->id.slug
			: "a session of another scope",
		    age);
		if (p->wish.lane[0] != '\0')
			sbuf_addf(b, ", lane %s", p->wish.lane);
		sbuf_add(b, ")");
		at = p->id.parent;
	}
}

/* Refuses a session before it enters its lane. `scope`: of whoever asks. */
int
lane_deadlock_refuse(struct master *m, const struct session *s,
    const char *scope, struct proto_problem *why)
{
	struct sbuf chain = SBUF_INIT;

	if (!is_deadlock(m, s))
		return 0;
	lane_deadlock_chain(m, s, scope, &chain);
	proto_problem_set(why, PROTO_E_DEADLOCK, "lane",
	    "lane %s is held only by sessions that this command was started "
	    "from: it would wait for ever behind %s; use another lane, or none",
	    s->wish.lane, chain.p != NULL ? chain.p : "them");
	sbuf_fini(&chain);
	log_event(LOG_NOTE, "session-refused", KV_SESSION(s),
	    KV("lane", s->wish.lane), KV("why", "deadlock"));
	return -EDEADLK;
}

/* Ends a queued one that has come to wait for its ancestors alone. */
bool
lane_deadlock_end(struct master *m, struct session *s)
{
	if (s->state != STATE_QUEUED || !is_deadlock(m, s))
		return false;
	log_event(LOG_NOTE, "session-deadlocked", KV_SESSION(s),
	    KV("lane", s->wish.lane));
	session_end_here(m, s, END_DEADLOCK, "only its ancestors hold its lane");
	return true;
}

struct queue {
	struct sid *sids;
	size_t n, cap;
};

static bool
on_queued(void *arg, struct sid sid)
{
	struct queue *q = arg;

	if (q->n < q->cap)
		q->sids[q->n++] = sid;
	return q->n < q->cap;
}

/* Looks at all who wait in a lane that is fuller than it is wide, or was made
 * narrower: among them may be children of those who hold it. */
void
lane_deadlock_look(struct master *m, const char *lane)
{
	struct lane_view v;
	struct queue q = {0};

	if (!lanes_find(m->lanes, lane, &v) || v.queued == 0 ||
	    v.block <= LANE_BLOCK_PAUSED)
		return;
	q.cap = v.queued;
	q.sids = calloc(q.cap, sizeof(*q.sids));
	if (q.sids == NULL)
		return;
	lanes_each(m->lanes, lane, LANE_THE_QUEUED, on_queued, &q);
	for (size_t i = 0; i < q.n; i++) {
		struct session *s = session_by_sid(m, q.sids[i]);

		if (s != NULL)
			(void)lane_deadlock_end(m, s);
	}
	free(q.sids);
}

/* The same for all lanes: the configuration has changed. */
void
lane_deadlock_look_all(struct master *m)
{
	for (size_t i = 0; i < lanes_count(m->lanes); i++) {
		struct lane_view v;

		lanes_view(m->lanes, i, &v);
		lane_deadlock_look(m, v.name);
	}
}
