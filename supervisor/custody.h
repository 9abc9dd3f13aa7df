/* SPDX-License-Identifier: MIT */
/*
 * Who has a session. Pure: no clock, no channel, no list; it is told what was
 * heard and answers what that means.
 *
 * A session changes hands by a death alone, and each change has a number, its
 * turn: how often the master ordered its start, and how often the keeper has
 * handed it over since. START and HOLD carry the one, GIVE and HELD the other,
 * and a worker says its turn with each word. Channels are read in any order;
 * turns are not.
 *
 * Five rules of the protocol belong to this, and the simulation
 * (tests/sim/test_custody_sim.c) plays them with it:
 *
 *     - FAILED of what never ran is said once CLOSED has left for the keeper
 *       (worker/link.c);
 *     - what fails after its command ran is CLOSED at the keeper only once the
 *       master has said ENDED (worker/child.c);
 *     - START and GIVE take the place of an older FAILED (worker/start.c);
 *     - HOLD of a later turn takes the place of a row whose command never began
 *       (keeper/recv.c);
 *     - CLOSED and ENDED count for their own turn alone.
 *
 * A build before these turns says none. Its words are believed where the worker
 * that had the session is dead, and the speaker is not (`heir`). Before its HOLD
 * is taken, what other workers sent before is read (keeper/recv.c), and it may
 * speak of a session before the row comes that says how often it went on.
 *
 * What a damaged record left to a row alone is over where its ring is closed
 * (reconcile.c): its worker may have said CLOSED between row and channel.
 */
#ifndef PSUP_SUPERVISOR_CUSTODY_H
#define PSUP_SUPERVISOR_CUSTODY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ids.h"

/* Of which module of supervisor/ this is, or a group of a session's fields: all
 * others read it, and have it written by that one's functions
 * (tools/dev/check_owners). */
#ifndef OWNED
#define OWNED(group, module)
#endif

enum custody_state {
	CUSTODY_NOBODY,  /* not given yet, or to be given again */
	CUSTODY_UNKNOWN, /* of a new master: nobody has spoken of it */
	CUSTODY_GIVEN,   /* START was ordered to `who` */
	CUSTODY_HAS,     /* `who` has said a word */
	CUSTODY_EXPECT,  /* the keeper gives it to `who`, or who follows there */
	CUSTODY_OVER,    /* ended; `who`, if anybody, looks after what it left */
	CUSTODY_STATES
};

/* What there is to be told; PAST, NOW and LATER by its turn. */
enum custody_event {
	CUSTODY_START,
	CUSTODY_WORD_PAST,
	CUSTODY_WORD_NOW,
	CUSTODY_WORD_LATER,
	CUSTODY_ROW_PAST,
	CUSTODY_ROW_NOW,
	CUSTODY_ROW_LATER,
	CUSTODY_DOWN,    /* of `who` */
	CUSTODY_SETTLED, /* keeper and workers have all spoken */
	CUSTODY_BACK,    /* it never ran, and its worker has given it back */
	CUSTODY_EVENTS
};

enum custody_answer {
	CUSTODY_PAST,   /* nothing changes; a word is of one who had it: ENDED at
	                 * most, and nothing else */
	CUSTODY_COUNTS, /* it is the word of who has it */
	CUSTODY_MOVED,  /* it is another one that has it, or is to, or nobody */
	CUSTODY_ORPHAN  /* nobody has it: another start, or its end */
};

struct custody {
	OWNED(custody, "custody.c") enum custody_state state;
	/* generation 0: nobody; UNKNOWN: it has failed */
	OWNED(custody, "custody.c") struct wid who;
	/* of `who`, or the last one */
	OWNED(custody, "custody.c") uint64_t turn;
	/* said so without a turn, before the row that gave it to it was read */
	OWNED(custody, "custody.c") struct wid failed;
};

/* A new one is all 0: NOBODY. That of a live session of which the index says
 * that its start was ordered so often (0: not known). */
void custody_load(struct custody *c, uint32_t start);
void custody_given(struct custody *c, struct wid w, uint32_t start);
/* RUNNING, EXITED. */
enum custody_answer custody_word(struct custody *c, struct wid w,
    uint64_t turn, bool heir);
/* FAILED, which is said again to each new master: where the start that it is of,
 * or the last one, has no number, it may be of one that others followed, and
 * whoever has it is still to be heard. */
enum custody_answer custody_failed(struct custody *c, struct wid w,
    uint64_t turn, bool heir);
/* A row of the keeper's table, whose worker is, or will be, `next`. Those that
 * a death moved come before its WORKER_DOWN: whoever is still `who` then died
 * with it in no row. */
enum custody_answer custody_row(struct custody *c, struct wid next,
    uint64_t turn, bool heir);
enum custody_answer custody_down(struct custody *c, struct wid w);
enum custody_answer custody_settled(struct custody *c);
void custody_back(struct custody *c);
void custody_over(struct custody *c);
/* That worker looks after what an ended one left. */
void custody_rest(struct custody *c, struct wid w);

/* Is it in the hands of a worker that can be told something? */
static inline bool
custody_has(const struct custody *c)
{
	return c->who.generation != 0 && c->state != CUSTODY_EXPECT &&
	    c->state != CUSTODY_UNKNOWN;
}

#endif
