/* SPDX-License-Identifier: MIT */
/*
 * The event log: one record per event in the index, with a sequence number
 * that only grows, kept until every known subscriber of its scope has
 * acknowledged it, or none exists and it is over `[retain] events`. No
 * connections here: conn.c asks for what is new.
 */
#ifndef PSUP_EVENTS_H
#define PSUP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/codec.h"
#include "common/ids.h"
#include "shm/index.h"

struct events;

/* Loads sequence number, places of subscribers and counts from the index. */
int events_open(struct index *ix, uint64_t keep_per_scope, struct events **ret);
void events_close(struct events **ev);
void events_set_keep(struct events *ev, uint64_t keep_per_scope);

struct event_in {
	const char *scope; /* "": none */
	struct sid sid;
	const char *kind;  /* "exited" */
	/* the rest of the notification's fields, encoded as a map by events.c */
	const char *slug, *session_key, *text, *status, *exit_signal,
	    *exit_reason;
	int exit_code; /* -1: none */
	uint64_t at_ms;
};
/* Appends; returns its sequence number, or -errno (as int64_t < 0). */
int64_t events_append(struct events *ev, const struct event_in *in);

/* Newest sequence number. */
uint64_t events_last(const struct events *ev);

/* Calls fn with each event (an encoded map, ready for enc_raw) of `scope`
 * (NULL: all) with seq > since, oldest first, at most `limit`. */
typedef int events_fn(void *arg, uint64_t seq, const void *map, size_t size);
int events_read(struct events *ev, const char *scope, uint64_t since,
    uint32_t limit, events_fn *fn, void *arg);

/* A subscriber's place (the last acknowledged number); a new one's is 0 and is
 * remembered from its first subscribe or events call on. */
uint64_t events_place(struct events *ev, const char *scope,
    const char *subscriber);
/* Moves it (never back, never beyond the newest) and drops what nobody needs.
 * Returns the place. */
uint64_t events_ack(struct events *ev, const char *scope,
    const char *subscriber, uint64_t seq);
/* A poll has told this session's end to the scope: its exit event counts as
 * acknowledged for the scope's own subscriber. */
void events_ack_session(struct events *ev, const char *scope, struct sid sid);
/* Dropped unacknowledged, ever, for this scope. */
uint64_t events_overflowed(struct events *ev, const char *scope);

#endif
