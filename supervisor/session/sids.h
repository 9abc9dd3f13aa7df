/* SPDX-License-Identifier: MIT */
/*
 * The sessions in order of instance id, side by side: who walks past thousands
 * waits for one's memory while the next ones' is on its way. New ones come at
 * the end, old ones go at the front; what goes in between leaves a hole. Called
 * by registry.c.
 */
#ifndef PSUP_SUPERVISOR_SESSION_SIDS_H
#define PSUP_SUPERVISOR_SESSION_SIDS_H

#include <stddef.h>
#include <stdint.h>

struct session;

struct sids { /* {0}: there are none */
	struct sids_place {
		uint64_t sid;
		struct session *s; /* NULL: it went */
	} * v;
	size_t first, end, cap; /* those from first to end are in use */
	size_t holes;		/* of these */
	size_t last;		/* who was looked for: near it is the next */
};

/* 0, -EEXIST or -ENOMEM. */
int sids_put(struct sids *o, uint64_t sid, struct session *s);
/* It is there. The last one takes the memory with it. */
void sids_take(struct sids *o, uint64_t sid);
/* The first one of this id or a higher one, of a higher one, the last one of a
 * lower one; NULL: there is none. */
struct session *sids_from(struct sids *o, uint64_t sid);
struct session *sids_after(struct sids *o, uint64_t sid);
struct session *sids_before(struct sids *o, uint64_t sid);

#endif
