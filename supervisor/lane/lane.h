/* SPDX-License-Identifier: MIT */
/*
 * The lane scheduler: pure. Events and a clock value in, decisions out; no
 * I/O, no clock of its own. The caller carries decisions out and feeds their
 * outcome back. There are two of it: the lanes of sessions (session.c), and the
 * places of those that run (admission.h).
 *
 * A session without a lane never comes here. A slot is held by a session and
 * freed by its end, whatever ended it, so it cannot leak.
 *
 * FIFO per lane and tier (1, 0, -1). An entry that waited 30 s moves up one
 * tier, never into 1. Ties by order of arrival.
 *
 * Lanes of a group share its width. What a lane reserves of it is its alone,
 * used or not: another lane starts one only where
 *     sum over the group's lanes of max(active, reserve) < width.
 */
#ifndef PSUP_SUPERVISOR_LANE_LANE_H
#define PSUP_SUPERVISOR_LANE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ids.h"
#include "shm/layout.h"

#define LANE_NAME_MAX 52 /* operators' have 31 bytes, those of places more */
#define LANE_AGE_MS   30000u

struct lanes; /* all lanes */

struct lanes *lanes_new(void);
void lanes_free(struct lanes **ls);

/* Sets a lane's width and queue bound, making the lane where needed; a
 * configured lane is not forgotten when idle. cron:<job>, session:<key> and
 * unknown names have width 1 and queue 100 000; main (1) and subagent (8) are
 * there from the start. Width 0: nobody starts. A width below what runs ends
 * nobody. Errors: -EINVAL (name not 1..51 bytes), -ENOMEM. */
int lanes_configure(struct lanes *ls, const char *name, uint32_t width,
    uint32_t queue_max);

/* All of the configuration, in one step: what is not in it goes back to the
 * defaults. Widths that lanes_put_state() set stay. */
struct lane_group_conf {
	char name[LANE_NAME_MAX];
	uint32_t width;
};
struct lane_conf {
	char name[LANE_NAME_MAX]; /* a last '*': all lanes that begin so */
	uint32_t width, queue_max;
	char group[LANE_NAME_MAX]; /* "": none */
	uint32_t reserve;          /* of the group's width */
};
/* Errors: -EINVAL (a name, an unknown group, a reservation outside a group or
 * of a pattern, more reserved than there is), -ENOMEM; nothing has changed. */
int lanes_setup(struct lanes *ls, const struct lane_group_conf *groups,
    size_t group_count, const struct lane_conf *lanes, size_t lane_count);

/* What an operator has done to a lane; kept by the caller over a restart. */
struct lane_state {
	bool paused;     /* nobody starts */
	bool draining;   /* nobody may enter; the queue goes on */
	bool width_set;  /* `width` instead of the configured one */
	uint32_t width;
	uint32_t generation; /* never goes back */
};
/* Makes the lane where needed. It is not forgotten while any of the three is
 * set. -EINVAL, -ENOMEM. */
int lanes_put_state(struct lanes *ls, const char *name,
    const struct lane_state *state);
/* A new generation: who runs keeps running, but holds no place any more. The
 * queue stays. false: there is no such lane. */
bool lanes_reset(struct lanes *ls, const char *name);
/* An active session is of an older generation (restored after a reset). */
void lanes_disown(struct lanes *ls, struct sid sid);

enum lane_verdict { LANE_ADMIT, LANE_QUEUED, LANE_FULL, LANE_NOMEM,
	LANE_DRAINING };

/*
 * A session wants to run. ADMIT: it holds a slot now. QUEUED: *ret_pos is its
 * place, 1 first. `seq` orders it among the others for good: 0 takes the next
 * one and *ret_seq says it; a restarted master passes what the index holds and
 * always gets QUEUED (even beyond queue_max: it was accepted before), since
 * only lanes_next() knows who is first once all are back; it restores the
 * active ones first. now_ms may then be the time it first came, so that it
 * goes on ageing. A sid that is known already hears where it stands.
 * ret_seq and ret_pos may be NULL; ADMIT says place 0. `lane`: 1..51 bytes.
 */
enum lane_verdict lanes_enter(struct lanes *ls, const char *lane, int priority,
    struct sid sid, uint64_t seq, uint64_t now_ms, uint64_t *ret_seq,
    uint32_t *ret_pos);
/* A session that held a slot when the master restarted: takes one even above
 * the width. */
int lanes_restore_active(struct lanes *ls, const char *lane, struct sid sid);
/* It ended, was cancelled while queued, or was removed. Unknown: nothing. true:
 * it was active. */
bool lanes_leave(struct lanes *ls, struct sid sid);
/* Next session that may start now, or {0}; it holds a slot from here on.
 * Call until {0} after every leave, configure and on lanes_due(). */
struct sid lanes_next(struct lanes *ls, uint64_t now_ms);
/* When an ageing step may change something; UINT64_MAX: never. */
uint64_t lanes_due(const struct lanes *ls);
/* Place of a queued session, 1 first; 0: not queued. O(log n). */
uint32_t lanes_position(const struct lanes *ls, struct sid sid);

/* A warning is due once for each wait of this length; 0: never. */
void lanes_set_warn(struct lanes *ls, uint64_t after_ms);
/* The next session to warn about, or {0}; it is not named again. */
struct sid lanes_warn(struct lanes *ls, uint64_t now_ms);
/* When the next warning is due; UINT64_MAX: none. */
uint64_t lanes_warn_due(const struct lanes *ls);
/* Its warning was given by an earlier master. */
void lanes_mute(struct lanes *ls, struct sid sid);
/* Since when it waits; 0: it does not. */
uint64_t lanes_since(const struct lanes *ls, struct sid sid);

/* Grows with every change of what lanes_view() tells. */
uint64_t lanes_changes(const struct lanes *ls);

struct lane_view {
	char name[LANE_NAME_MAX];
	uint32_t width, active, queued, queue_max, generation;
	uint32_t width_conf, reserve;
	uint32_t stale; /* still running, of older generations */
	bool paused, draining, width_set;
	bool configured; /* stays when idle */
	enum lane_block block;
	char group[LANE_NAME_MAX]; /* "": none */
	uint32_t group_width, group_active;
};
size_t lanes_count(const struct lanes *ls);
/* i < lanes_count(), in order of name. */
void lanes_view(const struct lanes *ls, size_t i, struct lane_view *ret);
/* false: there is no such lane. */
bool lanes_find(const struct lanes *ls, const char *name,
    struct lane_view *ret);

struct lane_group_view {
	char name[LANE_NAME_MAX];
	uint32_t width, active, lanes;
	uint32_t reserved; /* of lanes, used or not */
};
size_t lanes_group_count(const struct lanes *ls);
void lanes_group_view(const struct lanes *ls, size_t i,
    struct lane_group_view *ret);

/* Sessions of a lane, oldest first: those that wait, those that hold its
 * places, those of older generations; or whoever keeps its first from
 * starting, of whatever lane of its group. fn returns false to stop, and
 * changes nothing. */
enum lane_which { LANE_THE_QUEUED, LANE_THE_ACTIVE, LANE_THE_STALE,
	LANE_THE_BLOCKERS };
typedef bool lane_fn(void *arg, struct sid sid);
void lanes_each(const struct lanes *ls, const char *name,
    enum lane_which which, lane_fn *fn, void *arg);
/* A copy of the queued or the active, for who changes them one by one; the
 * caller's to free. NULL: none, or no memory. */
struct sid *lanes_list(const struct lanes *ls, const char *name,
    enum lane_which which, size_t *ret_n);

#endif
