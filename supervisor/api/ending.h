/* SPDX-License-Identifier: MIT */
/*
 * Many sessions that are to end, by number, some a turn of the loop: each is a
 * record to commit, and ending one may start and end others. What was asked for
 * is done though who asked goes away. killScope, drainScope, and lanes clear and
 * reset use it.
 */
#ifndef PSUP_SUPERVISOR_API_ENDING_H
#define PSUP_SUPERVISOR_API_ENDING_H

#include "supervisor/api/method.h"

struct ending {
	TAILQ_ENTRY(ending) link; /* of the master's */
	struct req *r;            /* NULL: nobody waits for it any more */
	struct ending **of;       /* where r's state names it */
	/* Ends one, or what it has left behind: was there anything to do? NULL:
	 * it is forgotten. */
	bool (*one)(struct master *m, struct ending *end, struct session *s);
	/* All were told; the ending is freed behind it. */
	void (*done)(struct master *m, struct ending *end);
	size_t n, at;  /* of v: how many, who is next */
	size_t first;  /* of a scope: so many of v only where they wait, so
	                * that none of them starts */
	uint64_t told; /* so many had anything to do */
	/* of killScope and drainScope */
	bool own; /* asked for by a connection of the scope */
	int signal;
	uint32_t grace_ms;
	/* of lanes */
	bool resets;
	char lane[LANE_NAME_MAX];
	struct sid v[];
};

/* Room for so many, all else 0. NULL: no memory. */
struct ending *ending_new(size_t most);
/* Begins, and may be through before it returns; `*of`, of r's state, names it
 * until then. */
void ending_begin(struct ending *end, struct req *r, struct ending **of);
/* Its request goes away. */
void ending_leave(struct ending *end);

#endif
