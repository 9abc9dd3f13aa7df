/* SPDX-License-Identifier: MIT */
/*
 * How many commands of a process are in their first moments, and what follows
 * from it for its loop. Where many are, what they cause comes in a crowd: a
 * loop that lets it gather does in one turn (a wake-up, a commit, a message)
 * what takes a turn each else. Where one follows the other there is nothing to
 * gather, and each would only wait; so few mean no pause.
 *
 * Counted by slots of time: entering, leaving and asking cost the same whatever
 * lives, and what runs for long leaves by itself.
 */
#ifndef PSUP_COMMON_CROWD_H
#define PSUP_COMMON_CROWD_H

#include <stdint.h>

#define CROWD_SLOTS    8u       /* are young, of 2^23 ns each: 67 ms in all */
#define CROWD_PAUSE_NS 1000000u /* at most */

struct crowd {
	uint32_t in_slot[CROWD_SLOTS];
	uint32_t count; /* of all slots */
	uint64_t slot;  /* the youngest; 0: nobody ever came */
};

/* One begins, at this moment (boot). *slot is for crowd_leave(); it left before
 * where it was in already. */
void crowd_enter(struct crowd *c, uint64_t now_ns, uint64_t *slot);
/* It is over; 0, and one that is not young any more, change nothing. */
void crowd_leave(struct crowd *c, uint64_t *slot);
/* So long the loop's next turn may be put off: 0 to CROWD_PAUSE_NS. */
uint64_t crowd_pause_ns(struct crowd *c, uint64_t now_ns);
/* Does so. */
void crowd_pause(struct crowd *c);

#endif
