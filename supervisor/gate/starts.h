/* SPDX-License-Identifier: MIT */
/*
 * Starts are bounded. A worker has few under way between order and RUNNING, so
 * that who comes next does not stand behind a crowd; the others wait here, in
 * the order of their scope, and scopes take turns. One that takes long, since
 * it hangs on a path that does not answer, leaves its place to others and
 * counts as slow: of these a worker can have as many as it has contexts, and a
 * scope a share.
 */
#ifndef PSUP_SUPERVISOR_GATE_STARTS_H
#define PSUP_SUPERVISOR_GATE_STARTS_H

#include <sys/queue.h>

#include <stdint.h>

#include "common/ids.h"

struct event;
struct master;
struct room;
struct session;
struct worker;
struct session_list;

#define STARTS_QUICK 8u /* of one worker at once, that are not slow */

/* Where a session is here. */
enum start_is {
	START_NONE,  /* not here */
	START_WAITS, /* for its turn */
	START_QUICK, /* ordered, a moment ago */
	START_SLOW,  /* ordered long ago */
	START_BOX    /* not here yet: waits for its box */
};

struct starts {
	TAILQ_HEAD(, room) rooms;    /* where somebody waits, by turn */
	TAILQ_HEAD(, session) quick; /* the oldest order first */
	uint32_t slow;
	struct event *timer;
};

void starts_init(struct master *m);
/* A starting session is given to a worker at the turn's end, or waits. */
void starts_enter(struct master *m, struct session *s);
/* It waits in that list of host/boxes.c. */
void starts_box(struct session *s, struct session_list *in);
/* It is counted in that box, from now on. */
void starts_inside(struct session *s, struct sid box);
/* A worker has it in hand, before its exec, by the order of somebody else. */
void starts_found(struct master *m, struct session *s, struct worker *w);
/* It waits no more, nor is it under way: it runs, has failed, is over, or its
 * worker is dead. Before its worker changes. */
void starts_over(struct master *m, struct session *s);
/* Gives out what there are places for. At the turn's end, since it may end
 * sessions. */
void starts_pump(struct master *m);

#endif
