/* SPDX-License-Identifier: MIT */
/*
 * Room is lent in shares: what each scope uses of what all share, and whether
 * one of them may have more. Pure: counts in, decisions out; no I/O, no clock,
 * no memory of its own.
 *
 * A scope may use what is free, up to seven eighths of a limit. Beyond, whoever
 * would come over an equal part of these is refused, unless ended results of its
 * own make room; for whoever stays within, the heaviest scope that is over that
 * part pays. A scope within its share never loses anything to another one.
 *
 * The last eighth is there for those who come: where everybody has all of an
 * equal part that cannot be taken back, a newcomer is served all the same.
 */
#ifndef PSUP_SUPERVISOR_SHARE_SHARE_H
#define PSUP_SUPERVISOR_SHARE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/share/rank.h"

enum share_resource {
	SHARE_MEMORY,
	SHARE_CONNECTIONS,
	SHARE_SESSIONS,
	SHARE_WAITING,
	SHARE_OUTPUT,
	SHARE_RESOURCES
};

#define SHARE_UNIT 16u  /* reclaims for one ask where there is room anyhow, */
#define SHARE_MOST 256u /* ... and where there is none */

/* What one scope uses, inside its owner's struct; all zero before. */
struct share_scope {
	uint64_t used[SHARE_RESOURCES];
	/* of it, what a reclaim could take back; the owner keeps it up to date,
	 * so that nothing is taken for an ask that is refused all the same */
	uint64_t loose[SHARE_RESOURCES];
	struct rank_node by_use[SHARE_RESOURCES];
	uint64_t barren; /* the last ask for which it had nothing to give */
};

/* Takes one thing from the payer, by share_give(). False: it has nothing. */
typedef bool share_reclaim(void *arg, struct share_scope *payer);

struct shares {
	struct share_row {
		uint64_t limit, used;
		struct rank_tree users; /* lightest first */
		share_reclaim *reclaim; /* NULL: nothing can be taken back */
		void *arg;
	} row[SHARE_RESOURCES];
	uint64_t asks; /* that had to look further */
	const struct share_scope *asker; /* of the last of these, or NULL */
};

/* Every limit is 0 until it is set. */
void share_init(struct shares *sh);
/* A limit below what is used takes nothing from anybody. */
void share_set_limit(struct shares *sh, enum share_resource r, uint64_t limit);
void share_set_reclaim(struct shares *sh, enum share_resource r,
    share_reclaim *fn, void *arg);

/* May the scope have `n` more? Reclaims what has to be for a yes; does not
 * count: share_take() does. */
bool share_may(struct shares *sh, struct share_scope *s,
    enum share_resource r, uint64_t n);
/* Less room is left than the counts say: takes one thing from the heaviest
 * over an equal part of what is used, else from the asker (NULL: from the
 * heaviest). False: there is nothing. */
bool share_squeeze(struct shares *sh, struct share_scope *asker,
    enum share_resource r);
/* Counts, whatever the limit says: what was accepted before goes on. */
void share_take(struct shares *sh, struct share_scope *s,
    enum share_resource r, uint64_t n);
/* n: no more than it has. */
void share_give(struct shares *sh, struct share_scope *s,
    enum share_resource r, uint64_t n);

/* The part of the limit that is the scope's while others ask, too. */
uint64_t share_fair(const struct shares *sh, const struct share_scope *s,
    enum share_resource r);
/* memory, connections, ...; and whether its unit is bytes. */
const char *share_name(enum share_resource r);
bool share_in_bytes(enum share_resource r);

#endif
