/* SPDX-License-Identifier: MIT */
/*
 * Who has heard what of the event log (events.c): places of subscribers, what
 * polls have told, and which records therefore nobody waits for any more.
 */
#include "supervisor/store/events.h"

#include "supervisor/store/events_store.h"
#include "supervisor/store/kept.h"

/* Whose places count for a scope's events: its own subscribers, or, where it
 * has none, the administrators'. */
static const struct scope *
judges_of(const struct events *ev, const struct scope *s)
{
	if (rank_size(&s->subs) > 0)
		return s;
	return events_scope_find(ev, "");
}

/* What a scope's subscribers have acknowledged, all of them together. */
struct needs {
	bool any;      /* somebody subscribed, ever */
	uint64_t own;  /* place of the scope's own; UINT64_MAX: none */
	uint64_t others; /* lowest place of the others; UINT64_MAX: none */
};

static struct needs
needs_of(const struct events *ev, const struct scope *s)
{
	const struct scope *j = judges_of(ev, s);
	struct needs need = { false, UINT64_MAX, UINT64_MAX };

	if (j == NULL)
		return need;
	for (const struct rank_node *n = rank_first(&j->subs); n != NULL;
	     n = rank_next(n)) {
		const struct sub *sub = RANK_OWNER_C(n, struct sub, node);

		need.any = true;
		if (sub->name[0] == '\0')
			need.own = sub->place;
		else if (sub->place < need.others)
			need.others = sub->place;
	}
	return need;
}

/* Whether nobody waits for this event any more. */
static bool
is_done(const struct note *e, const struct needs *need)
{
	if (!need->any)
		return e->told;
	return e->seq <= need->others && (e->told || e->seq <= need->own);
}

/* Drops what is done of a scope's events with from < seq <= to. */
static void
drop_done(struct events *ev, struct scope *s, uint64_t from, uint64_t to)
{
	struct needs need = needs_of(ev, s);
	uint64_t key = from + 1;
	struct rank_node *n = rank_lower(&s->notes, &key);

	while (n != NULL) {
		struct note *e = RANK_OWNER(n, struct note, in_scope);

		n = rank_next(n);
		if (e->seq > to)
			return;
		if (is_done(e, &need))
			events_note_drop(ev, e);
	}
}

/* See events.h. */
uint64_t
events_place(struct events *ev, const char *scope, const char *subscriber)
{
	struct sub *sub;

	events_scope_room(ev);
	sub = events_sub_get(ev, events_scope_get(ev, events_name(scope)),
	    subscriber);
	return sub == NULL ? 0 : sub->place;
}

/* See events.h. */
uint64_t
events_ack(struct events *ev, const char *scope, const char *subscriber,
    uint64_t seq)
{
	char buf[SCOPE_MAX + SUBSCRIBER_MAX];
	struct scope *s;
	struct sub *sub;
	uint64_t from;

	events_scope_room(ev);
	s = events_scope_get(ev, events_name(scope));
	sub = events_sub_get(ev, s, subscriber);
	if (sub == NULL)
		return 0;
	if (seq > ev->last)
		seq = ev->last;
	if (seq <= sub->place)
		return sub->place;
	if (events_put_number(ev, INDEX_SUBS, events_sub_key(s, sub, buf), seq) != 0)
		return sub->place;
	from = sub->place;
	sub->place = seq;
	drop_done(ev, s, from, seq);
	if (s->name[0] != '\0')
		return seq;
	/* an administrator's place counts where nobody else judges */
	for (struct rank_node *n = rank_first(&ev->scopes); n != NULL;
	     n = rank_next(n)) {
		struct scope *other = RANK_OWNER(n, struct scope, node);

		if (other != s && judges_of(ev, other) == s)
			drop_done(ev, other, from, seq);
	}
	return seq;
}

/* Writes down that a poll has told this event. */
static void
note_told(struct events *ev, struct note *n)
{
	struct index_key64 key = index_key64(n->seq);
	struct codec_arena *arena;
	struct index_bytes val;
	const struct val *v;
	struct val_str map;

	n->told = true;
	if (index_get(ev->ix, INDEX_EVENTS,
	        (struct index_bytes){ key.b, sizeof(key.b) }, &val) != 0 ||
	    kept_read(val, &arena, &v) != 0)
		return;
	map = val_str(v, "map");
	if (map.ptr != NULL)
		(void)events_put_record(ev, n, map.ptr, map.len);
	codec_arena_free(&arena);
}

/* See events.h. The newest first: it is there that a session just ended. */
void
events_ack_session(struct events *ev, const char *scope, struct sid sid)
{
	struct scope *s = events_scope_find(ev, events_name(scope));
	struct rank_node *at = s == NULL ? NULL : rank_last(&s->notes);
	struct needs need;

	if (at == NULL)
		return;
	need = needs_of(ev, s);
	while (at != NULL) {
		struct note *n = RANK_OWNER(at, struct note, in_scope);

		at = rank_prev(at);
		if (!sid_eq(n->sid, sid) || !n->is_end || n->told)
			continue;
		n->told = true;
		if (is_done(n, &need))
			events_note_drop(ev, n);
		else
			note_told(ev, n);
	}
}

/* See events.h. */
bool
events_acked(struct events *ev, const char *scope, const char *subscriber,
    uint64_t seq)
{
	const struct scope *s = events_scope_find(ev, events_name(scope));
	struct rank_node *at = rank_find(&ev->all, &seq);
	const struct sub *sub;
	const char *name;

	if (at == NULL)
		return true;
	name = events_sub_name(events_name(scope), subscriber);
	sub = events_sub_find(s, name);
	if (sub != NULL && seq <= sub->place)
		return true;
	return name[0] == '\0' && RANK_OWNER(at, struct note, by_seq)->told;
}
