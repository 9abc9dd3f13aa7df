/* SPDX-License-Identifier: MIT */
/*
 * The event log: one record per event in the index, with a sequence number
 * that only grows, kept until every known subscriber of its scope has
 * acknowledged it, or none exists and it is over `[retain] events`. No
 * connections here: conn.c asks for what is new.
 *
 * Scope NULL and "" are the same: the view of administrators, which is of all
 * scopes, and the scope of events that have none.
 *
 * A subscriber is known by scope and name from its first subscribe or events
 * call on. A name of NULL, "" or the scope's own name is the scope's own
 * subscriber. Whose places count for an event: those of its scope's
 * subscribers; only where its scope has none, those of the administrators;
 * where there are none either, the event stays until a poll tells it or the
 * bound is reached. An event is dropped when all whose place counts have
 * acknowledged it.
 *
 * News (every kind but exited and lost) lie in the same log with numbers of the
 * same row, under a bound of their own: they never push out an end, and those
 * that go are not counted as overflow.
 *
 * Everything is written in the index's open transaction, which the caller
 * commits before it tells anybody, and found again by events_open(). A record
 * that does not decode is left alone and counted.
 */
#ifndef PSUP_SUPERVISOR_STORE_EVENTS_H
#define PSUP_SUPERVISOR_STORE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/codec.h"
#include "common/event_kind.h"
#include "common/ids.h"
#include "shm/index.h"

struct events;

/* Loads sequence number, places of subscribers and counts from the index; a
 * record that does not decode is left alone.
 * Errors: -ENOMEM, what index_scan gives. */
int events_open(struct index *ix, uint64_t keep_per_scope, struct events **ret);
void events_close(struct events **ev);
/* At least 1; what is over the new bound goes at once. */
void events_set_keep(struct events *ev, uint64_t keep_per_scope);

struct event_in {
	const char *scope; /* "": none */
	struct sid sid;
	const char *instance_id; /* as clients see it; NULL: from sid alone */
	const char *kind;  /* a name of common/event_kind.h; "exited" and "lost"
	                    * tell the session's end */
	/* the rest of the notification's fields, encoded as a map by events.c */
	const char *slug, *session_key, *text, *status, *exit_signal,
	    *exit_reason;
	int exit_code; /* -1: none */
	const char *quiet; /* why nobody need be woken for it; NULL: told */
	uint64_t at_ms;
	/* fields of a kind that is no end, which has no exit fields; key NULL:
	 * none */
	struct event_more {
		const char *key;
		uint64_t value;
	} more[2];
	const void *wait; /* of lane-wait: an encoded map; NULL: none */
	size_t wait_bytes;
};
/* Appends; returns its sequence number, or -errno (as int64_t < 0), and then
 * nothing has changed. Beyond the bound the scope's oldest event is dropped. */
int64_t events_append(struct events *ev, const struct event_in *in);

/* Newest sequence number. */
uint64_t events_last(const struct events *ev);

/* Calls fn with each event (an encoded map, ready for enc_raw) of `scope`
 * (NULL: all) of these kinds with seq > since, oldest first, at most `limit`. fn may
 * acknowledge; what it returns, if not 0, ends the read and is returned. The
 * map is valid during the call. */
typedef int events_fn(void *arg, uint64_t seq, const void *map, size_t size);
int events_read(struct events *ev, const char *scope, uint64_t since,
    uint32_t kinds, uint32_t limit, events_fn *fn, void *arg);

/* A subscriber's place (the last acknowledged number); a new one's is 0 and is
 * remembered from its first subscribe or events call on. A scope remembers
 * 256: the one furthest behind makes room. Beyond 32 768 scopes those that were
 * not used for long and have no events are forgotten with their subscribers. */
uint64_t events_place(struct events *ev, const char *scope,
    const char *subscriber);
/* Moves it (never back, never beyond the newest) and drops what nobody needs.
 * Returns the place. */
uint64_t events_ack(struct events *ev, const char *scope,
    const char *subscriber, uint64_t seq);
/* A poll has told this session's end to the scope: its exit event counts as
 * acknowledged for the scope's own subscriber, whatever its place. Subscribers
 * of other names still get it. */
void events_ack_session(struct events *ev, const char *scope, struct sid sid);
/* Whether this subscriber has acknowledged it, by its place or by a poll: ask
 * before sending what events_read() shows. */
bool events_acked(struct events *ev, const char *scope, const char *subscriber,
    uint64_t seq);
/* Dropped unacknowledged, ever, for this scope; NULL: for all together. */
uint64_t events_overflowed(struct events *ev, const char *scope);

#endif
