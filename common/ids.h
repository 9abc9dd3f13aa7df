/* SPDX-License-Identifier: MIT */
/*
 * Ids are types, so that one kind cannot be passed for another.
 */
#ifndef PSUP_IDS_H
#define PSUP_IDS_H

#include <stdint.h>

/* One supervised run, ever: the instance id. Counts up from 1 in the index and
 * is never used again, unlike the slug that people see. 0 is "none". */
struct sid {
	uint64_t v;
};

/* No count comes so far: one above is damage, or somebody else's. */
#define SID_MAX (UINT64_MAX / 2)

/* One incarnation of a worker: the slot is its place (and its stats page), the
 * generation tells the incarnations of a slot apart and starts at 1. */
struct wid {
	uint32_t slot;
	uint32_t generation;
};

/* Changes of hands of a session have a number, its turn: how often its start was
 * ordered, then how often it was handed over since. That of the n-th start,
 * from 1 on; 0 is "not known". */
#define TURN_OF_START(n) ((uint64_t)(n) << 32)

static inline int
sid_eq(struct sid a, struct sid b)
{
	return a.v == b.v;
}

static inline int
sid_is_real(struct sid a)
{
	return a.v != 0 && a.v <= SID_MAX;
}

static inline int
wid_eq(struct wid a, struct wid b)
{
	return a.slot == b.slot && a.generation == b.generation;
}

#endif
