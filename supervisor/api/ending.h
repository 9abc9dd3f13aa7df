/* SPDX-License-Identifier: MIT */
/*
 * Many sessions that are to end, some a turn of the loop: each is a record to
 * commit, and ending one may start and end others; nor are they looked for in
 * one turn. What was asked for is done though who asked goes away. killScope,
 * drainScope, and lanes clear and reset use it.
 */
#ifndef PSUP_SUPERVISOR_API_ENDING_H
#define PSUP_SUPERVISOR_API_ENDING_H

#include "supervisor/api/method.h"

struct ending {
	TAILQ_ENTRY(ending) link; /* of the master's */
	struct req *r;            /* NULL: nobody waits for it any more */
	struct ending **of;       /* where r's state names it */
	/* The next that may be one of them; NULL: that was all. */
	struct session *(*next)(struct master *m, struct ending *end);
	/* Ends one, or what it has left behind: was there anything to do? */
	bool (*one)(struct master *m, struct ending *end, struct session *s);
	/* All were told; the ending is freed behind it. */
	void (*done)(struct master *m, struct ending *end);
	uint64_t told; /* so many had anything to do */
	/* of killScope and drainScope */
	char scope[48];
	struct sid at;  /* the walk has come to this one */
	uint64_t until; /* who is younger than it was not asked for */
	bool waiting;   /* first those that wait alone, so that none starts */
	bool left;      /* who has left processes behind, too */
	bool own; /* asked for by a connection of the scope */
	int signal;
	uint32_t grace_ms;
	/* of lanes */
	bool resets;
	char lane[LANE_NAME_MAX];
	size_t n, i; /* of v: how many, who is next */
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
