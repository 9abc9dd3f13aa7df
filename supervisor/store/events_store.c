/* SPDX-License-Identifier: MIT */
/*
 * The memory of the event log. Called by events.c, which decides what is kept;
 * here is how it is found and written.
 */
#include "supervisor/store/events_store.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/store/kept.h"

#define SUBS_PER_SCOPE 256u   /* the one furthest behind makes room */
#define SCOPES_MAX     32768u /* then idle ones are forgotten */
#define SCOPES_TRIED   64u    /* at a time */

RANK_BY_U64(events_cmp_all, struct note, by_seq, seq)
static RANK_BY_U64(cmp_in_scope, struct note, in_scope, seq)
RANK_BY_TEXT(events_cmp_scope, struct scope, node, name)
static RANK_BY_TEXT(cmp_sub, struct sub, node, name)

/* ------------------------------------------------------ scopes, subscribers */

/* NULL and "" are the same: all scopes, the view of administrators. */
const char *
events_name(const char *scope)
{
	return scope == NULL ? "" : scope;
}

/* The scope, or NULL. */
struct scope *
events_scope_find(const struct events *ev, const char *name)
{
	struct rank_node *n = rank_find(&ev->scopes, name);

	return n == NULL ? NULL : RANK_OWNER(n, struct scope, node);
}

/* The scope, made where needed; NULL: no memory, or too long a name. */
struct scope *
events_scope_get(struct events *ev, const char *name)
{
	struct scope *s = events_scope_find(ev, name);
	size_t len = strlen(name);

	if (s != NULL)
		s->used = true;
	if (s != NULL || len >= SCOPE_MAX)
		return s;
	s = calloc(1, sizeof(*s) + len + 1);
	if (s == NULL)
		return NULL;
	memcpy(s->name, name, len);
	rank_init(&s->notes, cmp_in_scope);
	rank_init(&s->subs, cmp_sub);
	TAILQ_INIT(&s->ends);
	TAILQ_INIT(&s->news);
	rank_insert(&ev->scopes, &s->node, s->name);
	return s;
}

/* Key of a scope's overflow count. */
static struct index_bytes
overflow_key(const char *scope,
    char buf[static sizeof(OVERFLOW_KEY) + SCOPE_MAX])
{
	size_t n = strlen(scope);

	memcpy(buf, OVERFLOW_KEY, sizeof(OVERFLOW_KEY));
	memcpy(buf + sizeof(OVERFLOW_KEY), scope, n);
	return (struct index_bytes){ buf, sizeof(OVERFLOW_KEY) + n };
}

/* Forgets a scope that has no events, its subscribers and its count. */
static void
scope_forget(struct events *ev, struct scope *s)
{
	char sub_buf[SCOPE_MAX + SUBSCRIBER_MAX];
	char buf[sizeof(OVERFLOW_KEY) + SCOPE_MAX];
	struct rank_node *n;

	while ((n = rank_first(&s->subs)) != NULL) {
		struct sub *sub = RANK_OWNER(n, struct sub, node);

		(void)index_del(ev->ix, INDEX_SUBS,
		    events_sub_key(s, sub, sub_buf));
		rank_erase(&s->subs, n);
		free(sub);
	}
	if (s->overflowed > 0)
		(void)index_del(ev->ix, INDEX_META,
		    overflow_key(s->name, buf));
	rank_erase(&ev->scopes, &s->node);
	free(s);
}

/* Where there are very many scopes, one that was not used since the hand came
 * by last and has no events makes room for the next. */
void
events_scope_room(struct events *ev)
{
	uint32_t count = rank_size(&ev->scopes);

	for (uint32_t i = 0; count >= SCOPES_MAX && i < SCOPES_TRIED; i++) {
		struct scope *s = RANK_OWNER(
		    rank_at(&ev->scopes, ev->hand++ % count), struct scope,
		    node);

		if (s->used || s->name[0] == '\0' ||
		    rank_size(&s->notes) > 0) {
			s->used = false;
			continue;
		}
		scope_forget(ev, s);
		return;
	}
}

/* A scope's own subscriber may be called by the scope's name or by none. */
const char *
events_sub_name(const char *scope, const char *subscriber)
{
	if (subscriber == NULL || strcmp(subscriber, scope) == 0)
		return "";
	return subscriber;
}

/* The subscriber, or NULL. */
struct sub *
events_sub_find(const struct scope *s, const char *name)
{
	struct rank_node *n = s == NULL ? NULL : rank_find(&s->subs, name);

	return n == NULL ? NULL : RANK_OWNER(n, struct sub, node);
}

/* Key of a subscriber's record: scope NUL subscriber. */
struct index_bytes
events_sub_key(const struct scope *s, const struct sub *sub,
    char buf[static SCOPE_MAX + SUBSCRIBER_MAX])
{
	size_t n = strlen(s->name) + 1, m = strlen(sub->name);

	memcpy(buf, s->name, n);
	memcpy(buf + n, sub->name, m);
	return (struct index_bytes){ buf, n + m };
}

struct sub *
events_sub_new(struct scope *s, const char *name, size_t len, uint64_t place)
{
	struct sub *sub = calloc(1, sizeof(*sub) + len + 1);

	if (sub == NULL)
		return NULL;
	memcpy(sub->name, name, len);
	sub->place = place;
	rank_insert(&s->subs, &sub->node, sub->name);
	return sub;
}

/* Forgets the one furthest behind where there are too many. */
static void
sub_make_room(struct events *ev, struct scope *s)
{
	char buf[SCOPE_MAX + SUBSCRIBER_MAX];
	struct sub *least = NULL;

	if (rank_size(&s->subs) < SUBS_PER_SCOPE)
		return;
	for (struct rank_node *n = rank_first(&s->subs); n != NULL;
	     n = rank_next(n)) {
		struct sub *sub = RANK_OWNER(n, struct sub, node);

		if (least == NULL || sub->place < least->place)
			least = sub;
	}
	if (least == NULL)
		return;
	(void)index_del(ev->ix, INDEX_SUBS, events_sub_key(s, least, buf));
	rank_erase(&s->subs, &least->node);
	free(least);
}

/* -------------------------------------------------------- numbers on record */

/* Writes {v, n} under a key. */
int
events_put_number(struct events *ev, enum index_db db, struct index_bytes key,
    uint64_t n)
{
	struct enc e = ENC_INIT;

	kept_map(&e);
	enc_kv_uint(&e, "n", n);
	enc_end(&e);
	return kept_put(ev->ix, db, key, &e, true);
}

/* Writes a scope's overflow count. */
void
events_put_overflow(struct events *ev, const struct scope *s)
{
	char buf[sizeof(OVERFLOW_KEY) + SCOPE_MAX];

	(void)events_put_number(ev, INDEX_META, overflow_key(s->name, buf),
	    s->overflowed);
}

/* Adds an event to both trees and to those of its kind. NULL: no memory. */
struct note *
events_note_new(struct events *ev, struct scope *s, uint64_t seq,
    struct sid sid, uint32_t kind)
{
	struct note *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->scope = s;
	e->seq = seq;
	e->sid = sid;
	e->kind = kind;
	e->is_end = (EVENT_BIT(kind) & EVENT_ENDS) != 0;
	if (e->is_end) {
		TAILQ_INSERT_TAIL(&s->ends, e, alike);
		s->end_count++;
	} else {
		TAILQ_INSERT_TAIL(&s->news, e, alike);
		s->news_count++;
	}
	rank_insert(&ev->all, &e->by_seq, &e->seq);
	rank_insert(&s->notes, &e->in_scope, &e->seq);
	return e;
}

/* Forgets an event, here and in the index. */
void
events_note_drop(struct events *ev, struct note *e)
{
	struct index_key64 key = index_key64(e->seq);

	(void)index_del(ev->ix, INDEX_EVENTS,
	    (struct index_bytes){ key.b, sizeof(key.b) });
	rank_erase(&ev->all, &e->by_seq);
	rank_erase(&e->scope->notes, &e->in_scope);
	if (e->is_end) {
		TAILQ_REMOVE(&e->scope->ends, e, alike);
		e->scope->end_count--;
	} else {
		TAILQ_REMOVE(&e->scope->news, e, alike);
		e->scope->news_count--;
	}
	free(e);
}

/* Writes a whole record. The map is bin, so that a reader hands it on. */
int
events_put_record(struct events *ev, const struct note *n, const void *map,
    size_t size)
{
	struct index_key64 key = index_key64(n->seq);
	struct enc e = ENC_INIT;

	kept_map(&e);
	enc_kv_str(&e, "scope", n->scope->name);
	enc_kv_uint(&e, "sid", n->sid.v);
	enc_kv_bool(&e, "end", n->is_end);
	enc_kv_uint(&e, "kind", n->kind);
	enc_kv_bool(&e, "told", n->told);
	enc_key(&e, "map");
	enc_bin(&e, map, size);
	enc_end(&e);
	return kept_put(ev->ix, INDEX_EVENTS,
	    (struct index_bytes){ key.b, sizeof(key.b) }, &e, n->is_end);
}

/* Known from here on, at place 0. NULL where it cannot be remembered. */
struct sub *
events_sub_get(struct events *ev, struct scope *s, const char *subscriber)
{
	char buf[SCOPE_MAX + SUBSCRIBER_MAX];
	const char *name;
	struct sub *sub;

	if (s == NULL)
		return NULL;
	name = events_sub_name(s->name, subscriber);
	sub = events_sub_find(s, name);
	if (sub != NULL || strlen(name) >= SUBSCRIBER_MAX)
		return sub;
	sub_make_room(ev, s);
	sub = events_sub_new(s, name, strlen(name), 0);
	if (sub != NULL)
		(void)events_put_number(ev, INDEX_SUBS, events_sub_key(s, sub, buf), 0);
	return sub;
}
