/* SPDX-License-Identifier: MIT */
/*
 * Who waits where: the containers of the lane scheduler, for lane*.c alone.
 *
 * Every session is one entry, found by a hash of its id. A queued entry stands
 * in one of its lane's three tiers, ordered by arrival and knowing its rank
 * (rank.h); entries of the lowest tier also stand in a heap by the time at
 * which they move up. Lanes are ordered by name; those with room and a queue
 * hang in a ring of their own. Every operation is O(log n).
 */
#ifndef PSUP_LANE_STORE_H
#define PSUP_LANE_STORE_H

#include "supervisor/lane.h"
#include "supervisor/rank.h"

#include <assert.h>

#define LANE_QUEUE_MAX 100000u

enum { TIER_HIGH, TIER_NORMAL, TIER_LOW, TIER_COUNT };

struct lane {
	struct rank_node by_name;
	struct lane *ready_next, *ready_prev; /* NULL: not ready */
	struct rank_tree tiers[TIER_COUNT];
	uint32_t width, active, queued, queue_max, generation;
	bool configured; /* stays when idle */
	char name[LANE_NAME_MAX];
};

struct entry {
	struct rank_node place; /* in lane->tiers[tier], while queued */
	struct entry *chain;    /* same bucket */
	struct lane *lane;
	struct sid sid;
	uint64_t seq;
	uint64_t age_at_ms;     /* moves up then */
	uint32_t heap;          /* place in the heap + 1; 0: not in it */
	uint8_t tier;
	bool active;
};
static_assert(sizeof(struct entry) + 2 * sizeof(void *) <= 256,
    "memory of a queued session");

struct lanes {
	struct rank_tree by_name;
	struct lane ready;       /* head of the ring; only its links are used */
	struct entry **buckets;
	size_t bucket_count;     /* a power of two */
	size_t entry_count;
	struct entry **ageing;   /* binary heap by age_at_ms, then seq */
	size_t ageing_count, ageing_cap;
	uint64_t last_seq;
};

/* Orders the entries of a tier; the key is an entry. */
int lane_cmp_arrival(const void *key, const struct rank_node *n);
int lane_cmp_name(const void *key, const struct rank_node *n);
/* a moves up before b. */
bool lane_ages_before(const struct entry *a, const struct entry *b);

/* NULL: not known. */
struct entry *lane_entry_find(const struct lanes *ls, struct sid sid);
/* In the table, but neither queued nor active. NULL: no memory. */
struct entry *lane_entry_new(struct lanes *ls, struct lane *l, struct sid sid);
void lane_entry_free(struct lanes *ls, struct entry *e);
/* Room for one more that ages; lane_queue_in() cannot fail after it. */
bool lane_heap_reserve(struct lanes *ls);

/* The lane of this name, made where needed; NULL: no memory. */
struct lane *lane_get(struct lanes *ls, const char *name);
/* Forgets a lane that nobody uses and nobody configured. */
void lane_drop_idle(struct lanes *ls, struct lane *l);
/* To be called after every change of active, queued or width. */
void lane_update_ready(struct lanes *ls, struct lane *l);

void lane_queue_in(struct lanes *ls, struct entry *e, uint8_t tier);
void lane_queue_out(struct lanes *ls, struct entry *e);
/* Moves up everybody who has waited long enough. */
void lane_age(struct lanes *ls, uint64_t now_ms);
/* Place in its lane, 1 first, of a queued entry. */
uint32_t lane_place(const struct entry *e);

#endif
