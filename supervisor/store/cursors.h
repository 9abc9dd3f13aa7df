/* SPDX-License-Identifier: MIT */
/*
 * Where each reader of a session stands: kept in the index, across
 * connections and restarts.
 *
 * A poll's delivery is staged first (cursors_stage), and confirmed when the
 * answer was written to the socket whole (cursors_confirm), or, with explicit
 * acknowledgement, when the next poll passes its ack value. What was never
 * confirmed is delivered again.
 */
#ifndef PSUP_SUPERVISOR_STORE_CURSORS_H
#define PSUP_SUPERVISOR_STORE_CURSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ids.h"
#include "shm/index.h"

struct cursors;

/* A record of the index that does not decode is left alone. */
int cursors_open(struct index *ix, struct cursors **ret);
void cursors_close(struct cursors **c);

struct cursor {
	uint64_t pos;       /* confirmed: the next poll reads from here */
	uint32_t empty_polls; /* answers in a row without output, and the one
	                       * before them; retryInMs comes from it */
	bool end_told;      /* the session's end was delivered and confirmed */
};

/* {0} for a reader that is new. */
struct cursor cursors_get(struct cursors *c, struct sid sid,
    const char *reader);
/* Notes what a poll is about to deliver; returns its ack value, which fits in
 * 52 bits and is never the one that a lost master gave out. 0: no memory, or a
 * reader's name of 128 bytes and more; the poll will be delivered again. A
 * reader may have 8 staged at once, a session 64 readers: the oldest, or the
 * one that has read least, makes room and is delivered again. */
uint64_t cursors_stage(struct cursors *c, struct sid sid, const char *reader,
    uint64_t from, uint64_t to, bool tells_end);
/* The delivery is confirmed or unstaged by what becomes of its answer: ... */
void cursors_writing(struct cursors *c, struct sid sid, const char *reader,
    uint64_t ack);
/* ... until then another poll would deliver the same bytes. */
bool cursors_busy(const struct cursors *c, struct sid sid,
    const char *reader);
/* Confirms. false: that value is not (or no longer) staged. */
bool cursors_confirm(struct cursors *c, struct sid sid, const char *reader,
    uint64_t ack);
/* The connection died before the answer was out: forget the staging. */
void cursors_unstage(struct cursors *c, struct sid sid, const char *reader,
    uint64_t ack);
/* 5, 10, 30, 60 s after consecutive empty polls; `cur` as it was before the
 * poll that is answered. The count does not survive the master. */
uint32_t cursors_retry_ms(const struct cursor *cur);
/* The session is gone: drop all its readers. */
void cursors_forget(struct cursors *c, struct sid sid);

#endif
