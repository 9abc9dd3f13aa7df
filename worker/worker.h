/* SPDX-License-Identifier: MIT */
/*
 * One worker: its two channels, its clock of the moment, its sessions.
 *
 * Everything is driven by libevent callbacks; each begins with worker_begin()
 * and ends with worker_end(). A session that is over is unlinked at once but
 * freed only between two turns of the loop, so no callback ever sees a freed
 * one.
 *
 * Descriptors: 0 /dev/null, 1 and 2 the log, 3 the keeper, 4 to 12 the stdio of
 * commands that are being started, 13 the keeper's pidfd; everything else is
 * above. 4 to 12 lie on /dev/null between spawns, so that nothing else ever gets
 * these numbers (spawn.h says why).
 */
#ifndef PSUP_WORKER_WORKER_H
#define PSUP_WORKER_WORKER_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/ctl.h"
#include "common/heritage.h"
#include "shm/stats.h"
#include "worker/timer.h"

struct child;
struct tree;
LIST_HEAD(child_list, child);
TAILQ_HEAD(child_queue, child);

enum link_to { LINK_KEEPER, LINK_MASTER, LINK_COUNT };

/* A channel. fd is -1 where there is none (no master at the moment). */
struct link {
	int fd;
	bool writing;  /* full: write_ev is waiting for room */
	bool due;      /* something marked in this turn is to be sent */
	bool dump_end; /* DUMP_END follows when the queue is empty */
	uint64_t late_ns; /* boot: something that waits is sent; 0: nothing */
	struct event read_ev, write_ev;
	struct child_queue queue; /* sessions with something to say */
};

#define WORKER_BUCKETS 1024u
#define WORKER_TURN_NS (NSEC_PER_MSEC / 2) /* a START takes up to 0.3 of it */
#define WORKER_BEAT_NS NSEC_PER_SEC  /* an idle loop turns that often */
#define WORKER_GRID_NS (4 * NSEC_PER_MSEC) /* what nobody waits for is due on it */
#define WORKER_LATE_NS (2 * WORKER_BEAT_NS) /* it was stopped meanwhile */

struct worker {
	struct heritage heritage;
	struct event_base *base;
	struct stats_page *stats;
	int dirfd;   /* runtime directory */
	int null_fd; /* /dev/null, read-write */
	struct link link[LINK_COUNT];
	struct timers timers;
	struct event timer_ev;
	struct tree *tree; /* tree.h */

	/* the moment, as of worker_begin() */
	uint64_t now_ns; /* boot */
	uint64_t now_ms; /* wall */
	uint64_t turn;   /* of the loop */
	uint64_t turn_began_ns; /* 0: not yet */
	uint64_t turn_cpu_ns; /* processor time at the end of the last one */
	uint64_t beat_ns;       /* boot: when the next heartbeat is due */
	uint64_t heart_ns;      /* boot: the last one */
	uint64_t late_ns;       /* boot: one that came late; 0: none did */
	uint64_t look_ns;       /* boot: the next look for input (input_look.h) */
	unsigned maps_lost; /* of lent_map.h, when last looked at */

	bool stopping; /* CTL_STOP came: nothing new is started */
	uint32_t stop_grace_ms;
	struct child *stop_next; /* whose ladder begins next, and those after it */
	bool taking;   /* a dead worker's sessions arrive: the master hears of
	                * all of them after the last, it wants the same cores */
	bool took;     /* one of them, in this turn */
	bool lost;     /* descriptors from the keeper: it must begin anew */
	bool keeper_reads; /* pids, in the rings' headers: it says so */
	bool keeper_porters; /* nor does it overlook a porter */
	bool keeper_passes; /* an END on to the master */
	bool leaving;  /* told to make way: at the end of this turn */
	struct child_list sessions;
	size_t count; /* of them */
	struct child_list buckets[WORKER_BUCKETS]; /* by sid */
	struct child_list under_way; /* cloned, not known to have exec'd */
	unsigned young; /* of them, those that do not seem to hang */
	bool may_yield; /* to commands that run: nobody chose how we are scheduled */
	bool yields;    /* it does: SCHED_BATCH */
	bool crowded;   /* a crowd began since the last beat */
	struct child_list dead; /* to be freed between two turns */
	struct ctl_msg msg;     /* the one being handled */
};

/* Errors: -errno, with the reason logged. */
int worker_init(struct worker *w, const struct heritage *h);
/* Runs until the keeper is gone; returns the exit code. */
int worker_run(struct worker *w);

/* First and last call of every callback; `sid` is 0 where it is about none. */
void worker_begin(struct worker *w, struct sid sid);
void worker_end(struct worker *w);

/* So soon, together with all else that nobody waits for. */
static inline uint64_t
worker_late_ns(const struct worker *w)
{
	return (w->now_ns / WORKER_GRID_NS + 2) * WORKER_GRID_NS;
}

#endif
