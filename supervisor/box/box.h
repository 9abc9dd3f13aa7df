/* SPDX-License-Identifier: MIT */
/*
 * The life of one box. Pure: it is told what happened and when, and answers
 * what is to be done about it. It knows neither bwrap nor sessions; who asked
 * for the box keeps those that wait.
 *
 *     absent -> making -> [setup ->] ready -> draining -> gone
 *                  \_________\_______-> failed _________/
 *
 * A box that is gone is not made again: its scope begins another one.
 */
#ifndef PSUP_SUPERVISOR_BOX_BOX_H
#define PSUP_SUPERVISOR_BOX_BOX_H

#include <stdbool.h>
#include <stdint.h>

enum box_state {
	BOX_ABSENT,
	BOX_MAKING, /* bwrap runs, its pid 1 has said nothing */
	BOX_SETUP,  /* the setup command runs in it */
	BOX_READY,
	BOX_DRAINING, /* nobody enters any more; who is inside ends by itself */
	BOX_FAILED,   /* was not made, or not set up; being stopped */
	BOX_GONE,     /* its pid 1 is dead, and thereby all in it */
	BOX_STATES
};

enum box_event {
	BOX_WANT,	/* a command is to run in it */
	BOX_UP,		/* its pid 1 has spoken */
	BOX_SETUP_DONE, /* the setup command ended with 0 */
	BOX_BAD,	/* ... in another way; or what was made is not it */
	BOX_LEFT,	/* of those who entered one has ended */
	BOX_DRAIN,	/* prune, or other settings */
	BOX_DIED,	/* pid 1, or bwrap before there was one */
	BOX_TIME,	/* box_due_ns() has come */
	BOX_EVENTS
};

/* What is to be done, in this order; 0: nothing, and who wants in waits. */
enum {
	BOX_DO_MAKE = 1 << 0,
	BOX_DO_SETUP = 1 << 1,
	BOX_DO_ENTER = 1 << 2,	/* who wanted in is inside, and is counted */
	BOX_DO_AGAIN = 1 << 3,	/* all that wait want in once more: in this box,
				 * or  where it is gone, in the next one */
	BOX_DO_REFUSE = 1 << 4, /* all that wait, and who wanted in, fail */
	BOX_DO_LOST = 1 << 5,	/* those inside died with it */
	BOX_DO_STOP = 1 << 6	/* kill pid 1, or bwrap where there is none */
};

/* Durations; 0: without end. */
struct box_rules {
	bool setup;
	uint64_t make_ns, setup_ns;
	uint64_t stop_ns; /* until one that was stopped is stopped once more */
	uint64_t idle_ns, age_ns;
};

struct box {
	enum box_state state;
	uint32_t inside;
	uint64_t made_ns;  /* when MAKE was answered */
	uint64_t since_ns; /* of this state; of READY: since nobody is inside;
			    * of a box that is stopped: the last STOP */
};

/* A box that is all 0 is absent. */
unsigned box_tell(struct box *b, enum box_event event,
    const struct box_rules *rules, uint64_t now_ns);

/* When BOX_TIME is due; UINT64_MAX: never, as it is. */
uint64_t box_due_ns(const struct box *b, const struct box_rules *rules);

const char *box_state_name(enum box_state state);

#endif
