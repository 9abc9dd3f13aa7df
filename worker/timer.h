/* SPDX-License-Identifier: MIT */
/*
 * Deadlines by CLOCK_BOOTTIME: a binary heap of the sessions' next due times
 * and one timerfd for all of them. A due time may lie earlier than the thing
 * it stands for (output moves a time-out away without telling the heap): who
 * is called looks again and sets the next one.
 */
#ifndef PSUP_WORKER_TIMER_H
#define PSUP_WORKER_TIMER_H

#include <stddef.h>
#include <stdint.h>

#define TIMER_NEVER UINT64_MAX

struct timer {
	uint64_t due_ns; /* boot */
	size_t index;    /* place in the heap, 1 first; 0: not in it */
};

struct timers {
	int fd;              /* the timerfd */
	struct timer **heap; /* [1..count] */
	size_t count, cap;
	uint64_t armed_ns; /* what the timerfd is set to; 0: nothing */
};

/* Errors: -errno of timerfd_create. */
int timers_init(struct timers *ts);
void timers_fini(struct timers *ts);

/* Makes room for n timers, so that timer_set never fails. -ENOMEM. */
int timers_reserve(struct timers *ts, size_t n);

/* Sets, moves or (TIMER_NEVER) takes out. */
void timer_set(struct timers *ts, struct timer *t, uint64_t due_ns);

/* Takes out and returns one that is due at `now_ns`, or NULL. */
struct timer *timers_expired(struct timers *ts, uint64_t now_ns);

/* Sets the timerfd to the earliest, but not later than `latest_ns`. */
void timers_arm(struct timers *ts, uint64_t latest_ns);

#endif
