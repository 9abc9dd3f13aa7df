/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler: pure. Events and a clock value in, decisions out; no
 * I/O, no clock of its own. The caller (session.c) carries decisions out and
 * feeds their outcome back.
 *
 * A session without a lane never comes here. A slot is held by a session and
 * freed by its end, whatever ended it, so it cannot leak.
 *
 * FIFO per lane and tier (1, 0, -1). An entry that waited 30 s moves up one
 * tier, never into 1. Ties by order of arrival.
 */
#ifndef PSUP_LANE_H
#define PSUP_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ids.h"

#define LANE_NAME_MAX 32
#define LANE_AGE_MS   30000u

struct lanes; /* all lanes */

struct lanes *lanes_new(void);
void lanes_free(struct lanes **ls);

/* Sets a lane's width and queue bound, making the lane where needed; a
 * configured lane is not forgotten when idle. cron:<job>, session:<key> and
 * unknown names have width 1 and queue 100 000; main (1) and subagent (8) are
 * there from the start. Width 0: nobody starts. A width below what runs ends
 * nobody. Errors: -EINVAL (name not 1..31 bytes), -ENOMEM. */
int lanes_configure(struct lanes *ls, const char *name, uint32_t width,
    uint32_t queue_max);

enum lane_verdict { LANE_ADMIT, LANE_QUEUED, LANE_FULL, LANE_NOMEM };

/*
 * A session wants to run. ADMIT: it holds a slot now. QUEUED: *ret_pos is its
 * place, 1 first. `seq` orders it among the others for good: 0 takes the next
 * one and *ret_seq says it; a restarted master passes what the index holds and
 * always gets QUEUED (even beyond queue_max: it was accepted before), since
 * only lanes_next() knows who is first once all are back; it restores the
 * active ones first. now_ms may then be the time it first came, so that it
 * goes on ageing. A sid that is known already hears where it stands.
 * ret_seq and ret_pos may be NULL; ADMIT says place 0. `lane`: 1..31 bytes.
 */
enum lane_verdict lanes_enter(struct lanes *ls, const char *lane, int priority,
    struct sid sid, uint64_t seq, uint64_t now_ms, uint64_t *ret_seq,
    uint32_t *ret_pos);
/* A session that held a slot when the master restarted: takes one even above
 * the width. */
int lanes_restore_active(struct lanes *ls, const char *lane, struct sid sid);
/* It ended, was cancelled while queued, or was removed. Unknown: nothing. */
void lanes_leave(struct lanes *ls, struct sid sid);
/* Next session that may start now, or {0}; it holds a slot from here on.
 * Call until {0} after every leave, configure and on lanes_due(). */
struct sid lanes_next(struct lanes *ls, uint64_t now_ms);
/* When an ageing step may change something; UINT64_MAX: never. */
uint64_t lanes_due(const struct lanes *ls);
/* Place of a queued session, 1 first; 0: not queued. O(log n). */
uint32_t lanes_position(const struct lanes *ls, struct sid sid);

struct lane_view {
	char name[LANE_NAME_MAX];
	uint32_t width, active, queued, queue_max, generation;
};
size_t lanes_count(const struct lanes *ls);
/* i < lanes_count(), in order of name. */
void lanes_view(const struct lanes *ls, size_t i, struct lane_view *ret);

/* Every invariant, for tests: 0, or a sentence about the first broken one. */
const char *lanes_check(const struct lanes *ls);

#endif
