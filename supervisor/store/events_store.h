/* SPDX-License-Identifier: MIT */
/*
 * What the event log keeps: notes, scopes, subscribers, in memory and as
 * records of the index; for events*.c alone. Every write goes into the open
 * transaction.
 */
#ifndef PSUP_SUPERVISOR_STORE_EVENTS_STORE_H
#define PSUP_SUPERVISOR_STORE_EVENTS_STORE_H

#include <sys/queue.h>

#include "supervisor/share/rank.h"
#include "supervisor/store/events.h"

#define SCOPE_MAX      128u   /* bytes of a scope's name */
#define SUBSCRIBER_MAX 128u   /* bytes of a subscriber's name */
#define LAST_KEY       "events-last"
#define OVERFLOW_KEY   "events-overflow" /* NUL, then the scope */

/* An event that somebody may still want. */
struct note {
	struct rank_node by_seq;   /* in events->all */
	struct rank_node in_scope; /* in scope->notes */
	TAILQ_ENTRY(note) alike;   /* in scope->ends or scope->news */
	struct scope *scope;
	uint64_t seq;
	struct sid sid;
	uint32_t kind; /* enum event_kind */
	bool is_end; /* tells the end of its session */
	bool told;   /* a poll has told it to the scope */
};

TAILQ_HEAD(note_list, note);

struct sub {
	struct rank_node node; /* in scope->subs */
	uint64_t place;
	char name[];           /* "": the scope's own */
};

struct scope {
	struct rank_node node; /* in events->scopes */
	struct rank_tree notes;
	struct rank_tree subs;
	struct note_list ends, news; /* oldest first */
	uint64_t end_count, news_count;
	uint64_t overflowed;
	bool used; /* since events_scope_room() came by */
	char name[];
};

struct events {
	struct index *ix;
	struct rank_tree all;
	struct rank_tree scopes;
	uint64_t last, keep;
	uint32_t hand; /* of events_scope_room() */
};

int events_cmp_all(const void *key, const struct rank_node *n);
int events_cmp_scope(const void *key, const struct rank_node *n);

/* "" for NULL. */
const char *events_name(const char *scope);
/* NULL: not known. */
struct scope *events_scope_find(const struct events *ev, const char *name);
/* Made where needed; NULL: no memory, or too long a name. */
struct scope *events_scope_get(struct events *ev, const char *name);
/* To be called before a new scope may be made; no other scope that is held by
 * pointer survives it for sure. */
void events_scope_room(struct events *ev);
/* "" for the scope's own subscriber, whichever way it is called. */
const char *events_sub_name(const char *scope, const char *subscriber);
struct sub *events_sub_find(const struct scope *s, const char *name);
/* At a place, in memory only. NULL: no memory. */
struct sub *events_sub_new(struct scope *s, const char *name, size_t len,
    uint64_t place);
/* Known from here on, at place 0; NULL where it cannot be remembered. */
struct sub *events_sub_get(struct events *ev, struct scope *s,
    const char *subscriber);
/* Key of a subscriber's record, in buf. */
struct index_bytes events_sub_key(const struct scope *s, const struct sub *sub,
    char buf[static SCOPE_MAX + SUBSCRIBER_MAX]);

/* In memory only. NULL: no memory. */
struct note *events_note_new(struct events *ev, struct scope *s, uint64_t seq,
    struct sid sid, uint32_t kind);
/* Here and in the index. */
void events_note_drop(struct events *ev, struct note *n);

/* Each 0, -ENOMEM, or what index_put gives. */
int events_put_number(struct events *ev, enum index_db db,
    struct index_bytes key, uint64_t n);
int events_put_record(struct events *ev, const struct note *n,
    const void *map, size_t size);
void events_put_overflow(struct events *ev, const struct scope *s);

/* Everything that is in the index. */
int events_load(struct events *ev);

#endif
