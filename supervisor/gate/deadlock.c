/* SPDX-License-Identifier: MIT */
/*
 * Sessions that would wait for ever: those whose lane, group or place to run is
 * held only by sessions they descend from. Refused when they come, ended
 * where a bound became too narrow meanwhile. Called by session/end.c, gate.c,
 * wait.c and lanes.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "supervisor/master.h"

#define CHAIN_MAX 64u /* ancestors followed */
#define SAID_MAX  8u  /* and told */

struct lanes *
gate_queue_of(struct master *m, const struct session *s,
    char ret[LANE_NAME_MAX])
{
	struct lanes *places = admission_lanes(m->gate.admission);

	if (lanes_position(places, s->id.sid) > 0) {
		admission_lane(s->id.scope, ret);
		return places;
	}
	memcpy(ret, s->wish.lane, strlen(s->wish.lane) + 1);
	return m->lanes;
}

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

/* What its own ancestors alone keep from it: "lane", "scope.max_running",
 * "server.max_running"; NULL: nothing. */
static const char *
held_by_kin(struct master *m, const struct session *s)
{
	struct look l = {.m = m, .s = s};
	char name[LANE_NAME_MAX];
	struct lane_view v;
	struct lanes *ls;

	if (s->id.parent.v == 0)
		return NULL;
	ls = gate_queue_of(m, s, name);
	lanes_each(ls, name, LANE_THE_BLOCKERS, on_blocker, &l);
	if (l.ancestors == 0 || l.others || !lanes_find(ls, name, &v))
		return NULL;
	return ls == m->lanes ? "lane"
	    : v.block == LANE_BLOCK_WIDTH ? "scope.max_running"
					  : "server.max_running";
}

/* "nova-gulf (running 12s) in lane main <- ...": from the parent upwards. */
static void
chain_text(struct master *m, const struct session *s, const char *scope,
    struct sbuf *b)
{
	struct sid at = s->id.parent;

	for (unsigned i = 0; i < SAID_MAX && at.v != 0; i++) {
		const struct session *p = session_by_sid(m, at);
		char age[32];

		if (p == NULL)
			break;
		text_duration(blocker_age_ms(p), age, sizeof(age));
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

int
deadlock_refuse(struct master *m, const struct session *s, const char *scope,
    struct proto_problem *why)
{
	const char *held = held_by_kin(m, s), *chain;
	struct sbuf text = SBUF_INIT;

	if (held == NULL)
		return 0;
	chain_text(m, s, scope, &text);
	chain = text.p != NULL ? text.p : "them";
	if (strcmp(held, "lane") == 0) {
		proto_problem_set(why, PROTO_E_DEADLOCK, held,
		    "lane %s is held only by sessions that this command was "
		    "started from: it would wait for ever behind %s; use "
		    "another lane, or none", s->wish.lane, chain);
		log_event(LOG_NOTE, "session-refused", KV_SESSION(s),
		    KV("lane", s->wish.lane), KV("why", "deadlock"));
	} else {
		proto_problem_set(why, PROTO_E_DEADLOCK, held,
		    "every place (%s) is held by sessions that this command "
		    "was started from: it would wait for ever behind %s",
		    held, chain);
		log_event(LOG_NOTE, "session-refused", KV_SESSION(s),
		    KV("bound", held), KV("why", "deadlock"));
	}
	sbuf_fini(&text);
	return -EDEADLK;
}

bool
deadlock_end(struct master *m, struct session *s)
{
	const char *held = s->state == STATE_QUEUED ? held_by_kin(m, s) : NULL;

	if (held == NULL)
		return false;
	if (strcmp(held, "lane") != 0)
		gate_deadlocked(s);
	if (s->queued.deadlock)
		log_event(LOG_NOTE, "session-deadlocked", KV_SESSION(s),
		    KV("bound", "max_running"));
	else
		log_event(LOG_NOTE, "session-deadlocked", KV_SESSION(s),
		    KV("lane", s->wish.lane));
	session_end_here(m, s, END_DEADLOCK, s->queued.deadlock
		? "only its ancestors hold the places"
		: "only its ancestors hold its lane");
	return true;
}

void
deadlock_look(struct master *m, struct lanes *ls, const char *lane)
{
	struct lane_view v;
	struct sid *sids;
	size_t n;

	if (!lanes_find(ls, lane, &v) || v.block <= LANE_BLOCK_PAUSED)
		return;
	sids = lanes_list(ls, lane, LANE_THE_QUEUED, &n);
	for (size_t i = 0; i < n; i++) {
		struct session *s = session_by_sid(m, sids[i]);

		if (s != NULL)
			(void)deadlock_end(m, s);
	}
	free(sids);
}

/* From the last one on: whose last session ends here may be forgotten. */
void
deadlock_look_all(struct master *m, struct lanes *ls)
{
	struct lane_view v;

	for (size_t i = lanes_count(ls); i-- > 0;) {
		if (i >= lanes_count(ls))
			continue;
		lanes_view(ls, i, &v);
		deadlock_look(m, ls, v.name);
	}
}
