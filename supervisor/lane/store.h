/* SPDX-License-Identifier: MIT */
/*
 * Who waits where: the containers of the lane scheduler, for lane*.c alone.
 *
 * Every session is one entry, found by its id. A queued entry stands in one of
 * its lane's three tiers, ordered by arrival and knowing its rank (rank.h);
 * entries of the lowest tier are also ordered by the time at which they move up,
 * and those that nobody was warned about stand in a list by the time at which
 * they came. Lanes are ordered by name. Every operation is O(log n).
 *
 * Whose turn it is: a ring of lanes that could start somebody, and of groups
 * in which one could. A lane of a group hangs in one of the group's two rings
 * instead: it has a reserved place left, or needs one of those all share.
 */
#ifndef PSUP_SUPERVISOR_LANE_STORE_H
#define PSUP_SUPERVISOR_LANE_STORE_H

#include "supervisor/lane/lane.h"
#include "supervisor/share/rank.h"

#include <assert.h>
#include <sys/queue.h>

#define LANE_QUEUE_MAX 100000u

enum { TIER_HIGH, TIER_NORMAL, TIER_LOW, TIER_COUNT };

struct group;

/* A place in a ring; its head has neither lane nor group. */
struct turn {
	struct turn *next, *prev; /* NULL: in no ring */
	struct lane *lane;
	struct group *group;
};

struct group {
	struct turn turn;             /* in lanes->ready */
	struct turn reserved, shared; /* heads */
	LIST_HEAD(, lane) members;
	uint32_t width, active, lanes;
	uint64_t committed; /* sum of max(active, reserve) */
	char name[LANE_NAME_MAX];
};

struct lane {
	struct rank_node by_name;
	struct turn turn;
	struct turn *ring; /* the head of the one it is in; NULL: none */
	struct group *group;
	LIST_ENTRY(lane) member;
	struct rank_tree tiers[TIER_COUNT];
	TAILQ_HEAD(, entry) holders; /* stale ones too */
	uint32_t width;      /* in force */
	uint32_t width_conf, active, queued, queue_max, generation, reserve;
	uint32_t stale;
	bool configured; /* stays when idle */
	bool paused, draining, width_set;
	char name[LANE_NAME_MAX];
};

struct entry {
	struct rank_node place; /* in lane->tiers[tier], while queued */
	struct rank_node by_sid;
	struct rank_node by_age;    /* while queued in the lowest tier */
	TAILQ_ENTRY(entry) waiting; /* while nobody was warned */
	TAILQ_ENTRY(entry) holding; /* while active */
	struct lane *lane;
	struct sid sid;
	uint64_t seq;
	uint64_t since_ms;      /* came then */
	uint8_t tier;
	bool active, waits; /* waits: in the list of those to warn about */
	bool stale;         /* active, but of an older generation */
};
static_assert(sizeof(struct entry) <= 256, "memory of a queued session");

struct lanes {
	struct rank_tree by_name;
	struct turn ready;       /* head */
	struct rank_tree entries; /* by id */
	struct rank_tree ageing;  /* by since_ms, then arrival */
	size_t queued;
	TAILQ_HEAD(waits, entry) waits; /* by since_ms */
	uint64_t warn_ms;        /* 0: never */
	uint64_t last_seq;
	uint64_t changes;
	struct group *groups;
	size_t group_count;
	struct lane_conf *confs; /* of lanes_setup() */
	size_t conf_count;
};

/* Orders the entries of a tier; the key is an entry. */
int lane_cmp_arrival(const void *key, const struct rank_node *n);
int lane_cmp_name(const void *key, const struct rank_node *n);
/* Orders by id, and by when it moves up; the keys are a sid and an entry. */
int lane_cmp_sid(const void *key, const struct rank_node *n);
int lane_cmp_age(const void *key, const struct rank_node *n);

/* NULL: not known. */
struct entry *lane_entry_find(const struct lanes *ls, struct sid sid);
/* In the table, but neither queued nor active. NULL: no memory. */
struct entry *lane_entry_new(struct lanes *ls, struct lane *l, struct sid sid);
void lane_entry_free(struct lanes *ls, struct entry *e);

/* The lane of this name, made where needed; NULL: no memory. */
struct lane *lane_get(struct lanes *ls, const char *name);
/* Forgets a lane that nobody uses and nobody configured. */
void lane_drop_idle(struct lanes *ls, struct lane *l);
/* A name that a lane may have. */
bool lane_name_ok(const char *name);
bool lane_is_pattern(const char *name);
/* Takes what is configured for its name; not its group. */
const struct lane_conf *lane_take_conf(struct lanes *ls, struct lane *l);

/* group.c */
void lane_turns_init(struct turn *head);
/* To be called after every change of active, queued, width or paused. */
void lane_update_ready(struct lanes *ls, struct lane *l);
/* Out of the ring, to come in again at its end. */
void lane_turn_over(struct lane *l);
/* Whose turn it is; NULL: nobody's. */
struct lane *lane_turn(const struct lanes *ls);
void lane_join(struct lane *l, struct group *g, uint32_t reserve);
void lane_part(struct lane *l);
struct group *lane_group_find(const struct lanes *ls, const char *name);
enum lane_block lane_block_of(const struct lane *l, bool see_pause);
/* Takes a place, and gives it back. */
void lane_activate(struct entry *e);
void lane_deactivate(struct entry *e);
/* It goes on, but holds no place. */
void lane_make_stale(struct entry *e);

void lane_queue_in(struct lanes *ls, struct entry *e, uint8_t tier);
void lane_queue_out(struct lanes *ls, struct entry *e);
/* Somebody is to be warned about it, when its time comes; nobody any more. */
void lane_wait_in(struct lanes *ls, struct entry *e);
void lane_wait_out(struct lanes *ls, struct entry *e);
/* Moves up everybody who has waited long enough. */
void lane_age(struct lanes *ls, uint64_t now_ms);
/* Place in its lane, 1 first, of a queued entry. */
uint32_t lane_place(const struct entry *e);

#endif
