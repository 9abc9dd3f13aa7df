/* SPDX-License-Identifier: MIT */
/*
 * The heap behind every time-out of a worker. Called by ladder.c, start.c and
 * the loop in main.c. Knows nothing of sessions.
 */
#include "worker/timer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/reserve.h"

/* Opens the timerfd. */
int
timers_init(struct timers *ts)
{
	int fd;

	fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ts = (struct timers){.fd = fd};
	return 0;
}

/* Closes the timerfd and frees the heap, not the timers. */
void
timers_fini(struct timers *ts)
{
	close(ts->fd);
	free(ts->heap);
	*ts = (struct timers){.fd = -1};
}

/* Makes room for n timers. */
int
timers_reserve(struct timers *ts, size_t n)
{
	struct timer **heap;
	size_t cap = ts->cap != 0 ? ts->cap : 64;

	if (n < ts->cap)
		return 0;
	while (cap <= n)
		cap *= 2;
	heap = reserve_realloc(ts->heap, cap * sizeof(struct timer *));
	if (heap == NULL)
		return -ENOMEM;
	ts->heap = heap;
	ts->cap = cap;
	return 0;
}

/* Puts t at place i. */
static void
timers_put(struct timers *ts, size_t i, struct timer *t)
{
	ts->heap[i] = t;
	t->index = i;
}

/* Moves the timer at i towards the top while it is earlier. */
static void
timers_up(struct timers *ts, size_t i)
{
	struct timer *t = ts->heap[i];

	while (i > 1 && t->due_ns < ts->heap[i / 2]->due_ns) {
		timers_put(ts, i, ts->heap[i / 2]);
		i /= 2;
	}
	timers_put(ts, i, t);
}

/* Moves the timer at i towards the leaves while it is later. */
static void
timers_down(struct timers *ts, size_t i)
{
	struct timer *t = ts->heap[i];
	size_t kid;

	while ((kid = 2 * i) <= ts->count) {
		if (kid < ts->count &&
		    ts->heap[kid + 1]->due_ns < ts->heap[kid]->due_ns)
			kid++;
		if (t->due_ns <= ts->heap[kid]->due_ns)
			break;
		timers_put(ts, i, ts->heap[kid]);
		i = kid;
	}
	timers_put(ts, i, t);
}

/* Takes t out; the last one fills its place. */
static void
timer_remove(struct timers *ts, struct timer *t)
{
	size_t i = t->index;
	struct timer *last = ts->heap[ts->count];

	CHECK(i >= 1 && i <= ts->count && ts->heap[i] == t);
	ts->count--;
	t->index = 0;
	if (last == t)
		return;
	timers_put(ts, i, last);
	timers_up(ts, i);
	timers_down(ts, last->index);
}

/* Sets, moves or takes out. */
void
timer_set(struct timers *ts, struct timer *t, uint64_t due_ns)
{
	if (due_ns == TIMER_NEVER) {
		if (t->index != 0)
			timer_remove(ts, t);
		return;
	}
	if (t->index == 0) {
		CHECK(ts->count + 1 < ts->cap);
		t->due_ns = due_ns;
		timers_put(ts, ++ts->count, t);
		timers_up(ts, t->index);
		return;
	}
	if (due_ns == t->due_ns)
		return;
	t->due_ns = due_ns;
	timers_up(ts, t->index);
	timers_down(ts, t->index);
}

/* One that is due, taken out. */
struct timer *
timers_expired(struct timers *ts, uint64_t now_ns)
{
	struct timer *t;

	if (ts->count == 0 || ts->heap[1]->due_ns > now_ns)
		return NULL;
	t = ts->heap[1];
	timer_remove(ts, t);
	return t;
}

/* One system call at most, and none while the earliest stays the same or moves
 * away: then the loop wakes once for nothing, and arms anew. */
void
timers_arm(struct timers *ts, uint64_t latest_ns)
{
	struct itimerspec when = {0};
	uint64_t due = latest_ns;

	if (ts->count > 0 && ts->heap[1]->due_ns < due)
		due = ts->heap[1]->due_ns;
	if (ts->armed_ns != 0 && due >= ts->armed_ns)
		return;
	if (due == 0)
		due = 1;
	when.it_value.tv_sec = (time_t)(due / NSEC_PER_SEC);
	when.it_value.tv_nsec = (long)(due % NSEC_PER_SEC);
	if (timerfd_settime(ts->fd, TFD_TIMER_ABSTIME, &when, NULL) == 0)
		ts->armed_ns = due;
}
