/* SPDX-License-Identifier: MIT */
/*
 * Who keeps a lane's first from starting, in words and as data; of a place to
 * run, too. Called by api/lanes.c, and by wait.c for its warnings.
 */
#include "common/clock.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "supervisor/master.h"

#include <string.h>

#define NAMED_MAX 16u
#define SAID_MAX  3u /* in words */

/* Some of them, and how many there are. */
struct blockers {
	struct sid sids[NAMED_MAX];
	uint32_t n, total;
	bool oldest; /* these first, whatever their lanes */
};

/* One more: those that are named move up, or it comes last. */
static bool
on_blocker(void *arg, struct sid sid)
{
	struct blockers *b = arg;
	uint32_t at = b->n;

	b->total++;
	for (; b->oldest && at > 0 && sid.v < b->sids[at - 1].v; at--)
		if (at < NAMED_MAX)
			b->sids[at] = b->sids[at - 1];
	if (at < NAMED_MAX)
		b->sids[at] = sid;
	if (b->n < NAMED_MAX)
		b->n++;
	return true;
}

/* Those of a lane. Scopes share all places, so that the oldest sessions count;
 * the lanes of a group are told one after the other. */
static struct blockers
find(struct master *m, struct lanes *ls, const char *lane)
{
	struct blockers b = {.oldest = ls != m->lanes};

	lanes_each(ls, lane, LANE_THE_BLOCKERS, on_blocker, &b);
	return b;
}

/* May a connection of this scope know whose it is? */
static bool
may_know(const char *scope, const struct session *s)
{
	return scope == NULL || strcmp(scope, s->id.scope) == 0;
}

uint64_t
blocker_age_ms(const struct session *s)
{
	uint64_t now = clock_wall_ms(), from = s->facts.started_ms;

	if (from == 0)
		from = s->id.created_ms;
	return now > from ? now - from : 0;
}

/* One of them. */
static void
encode_one(const char *scope, const struct session *s, struct enc *e)
{
	char instance[SESSION_INSTANCE_MAX];

	enc_map(e);
	if (may_know(scope, s)) {
		session_instance(s, instance);
		enc_kv_str(e, "sessionId", s->id.slug);
		enc_kv_str(e, "instanceId", instance);
		if (s->id.scope[0] != '\0')
			enc_kv_str(e, "scopeKey", s->id.scope);
		if (s->id.session_key[0] != '\0')
			enc_kv_str(e, "sessionKey", s->id.session_key);
		enc_kv_str(e, "lane", s->wish.lane);
	}
	enc_kv_str(e, "state", state_name(s->state));
	enc_kv_uint(e, "ageMs", blocker_age_ms(s));
	enc_end(e);
}

void
blockers_encode(struct master *m, const char *scope, struct lanes *ls,
    const char *lane, struct enc *e)
{
	struct blockers b = find(m, ls, lane);

	enc_array(e);
	for (uint32_t i = 0; i < b.n; i++) {
		struct session *s = session_by_sid(m, b.sids[i]);

		if (s != NULL)
			encode_one(scope, s, e);
	}
	enc_end(e);
}

/* "nova-gulf (running 12s, scope a), ... and 5 more"; nothing where nobody
 * does. */
void
blockers_text(struct master *m, const char *scope, struct lanes *ls,
    const char *lane, struct sbuf *text)
{
	struct blockers b = find(m, ls, lane);
	uint32_t said = 0;

	for (uint32_t i = 0; i < b.n && said < SAID_MAX; i++) {
		struct session *s = session_by_sid(m, b.sids[i]);
		char age[32];

		if (s == NULL)
			continue;
		text_duration(blocker_age_ms(s), age, sizeof(age));
		sbuf_addf(text, "%s%s (%s %s", said > 0 ? ", " : "",
		    may_know(scope, s) ? s->id.slug
				       : "a session of another scope",
		    state_name(s->state), age);
		if (may_know(scope, s) && s->id.scope[0] != '\0')
			sbuf_addf(text, ", scope %s", s->id.scope);
		if (may_know(scope, s) && s->id.session_key[0] != '\0')
			sbuf_addf(text, ", session key %s", s->id.session_key);
		sbuf_add(text, ")");
		said++;
	}
	if (b.total > said)
		sbuf_addf(text, " and %u more", b.total - said);
}
