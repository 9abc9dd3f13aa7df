/* SPDX-License-Identifier: MIT */
/*
 * The orders on their way to each worker (pool.c). They are staged during a turn
 * and leave after its commit, or after the next one where it failed; a full
 * channel is waited for, never blocked on.
 */
#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/reserve.h"
#include "supervisor/master.h"

#define LATE_MS 5u   /* an order that may wait for others waits so long */
#define ROWS_NEAR 256u /* so few places with the keeper: then none waits */

/* Gives an order up, or what is left of it once it is sent. */
static void
order_free(struct order *o)
{
	if (o->fd >= 0)
		close(o->fd);
	explicit_bzero(o->msg, o->size);
	free(o);
}

void
pool_orders_free(struct worker *w)
{
	struct order *o;

	STAILQ_CONCAT(&w->out, &w->staged);
	while ((o = STAILQ_FIRST(&w->out)) != NULL) {
		STAILQ_REMOVE_HEAD(&w->out, link);
		order_free(o);
	}
}

/* Sends what waits; false where the channel is full. */
static bool
worker_flush(struct worker *w)
{
	struct order *o;

	while ((o = STAILQ_FIRST(&w->out)) != NULL) {
		int r;

		FAULT("master.before-order");
		r = ctl_send(w->fd, o->msg, o->size, &o->fd,
		    o->fd >= 0 ? 1 : 0);

		if (r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM ||
		    r == -ETOOMANYREFS)
			return false;
		if (r < 0) /* it died: WORKER_DOWN follows */
			log_event(LOG_DEBUG, "order-lost", KV_WORKER(w),
			    KV("error", strerror(-r)));
		FAULT("master.after-order");
		STAILQ_REMOVE_HEAD(&w->out, link);
		order_free(o);
	}
	w->flushes++;
	return true;
}

void
pool_on_room(int, short, void *arg)
{
	struct worker *w = arg;

	turn_begin(w->m);
	if (!worker_flush(w))
		event_add(w->ev_write, NULL);
}

/* Stages one order; takes the descriptor over. */
static void
stage(struct worker *w, struct sid sid, const void *msg, size_t size,
    bool committed_only, bool may_wait, int fd)
{
	struct order *o = reserve_malloc(sizeof(*o) + size);

	if (o == NULL) {
		master_give_up(w->m, "no memory for an order");
		if (fd >= 0)
			close(fd);
		return;
	}
	o->sid = sid;
	o->committed_only = committed_only;
	o->may_wait = may_wait;
	o->fd = fd;
	o->size = size;
	memcpy(o->msg, msg, size);
	STAILQ_INSERT_TAIL(&w->staged, o, link);
}

void
pool_order_to(struct worker *w, struct sid sid, const void *msg, size_t size,
    bool committed_only, int fd)
{
	stage(w, sid, msg, size, committed_only, false, fd);
}

/* Where the keeper has few places left, what gives one back does not wait. */
void
pool_order_late(struct worker *w, struct sid sid, const void *msg, size_t size)
{
	bool narrow = w->m->live + ROWS_NEAR > w->m->h.max_sessions;

	stage(w, sid, msg, size, true, !narrow, -1);
}

/* Stages an order for whoever babysits the session; nobody: nothing. */
void
pool_order(struct master *m, struct session *s, const void *msg, size_t size,
    bool committed_only, int fd)
{
	struct worker *w =
	    custody_has(&s->custody) ? pool_get(m, s->custody.who) : NULL;

	if (w == NULL || w->fd < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	pool_order_to(w, s->id.sid, msg, size, committed_only, fd);
}

/* Takes back what is staged for a session. */
void
pool_drop_orders(struct master *m, struct sid sid)
{
	for (size_t i = 0; i < MASTER_WORKERS; i++) {
		struct worker *w = &m->workers[i];
		struct order *o, *next;

		STAILQ_FOREACH_SAFE(o, &w->staged, link, next) {
			if (!sid_eq(o->sid, sid))
				continue;
			STAILQ_REMOVE(&w->staged, o, order, link);
			order_free(o);
		}
	}
}

/* After a failed commit: does this one wait for the next, for itself or not
 * to overtake another of its session? */
static bool
order_waits(const struct worker *w, const struct order *o)
{
	const struct order *other;

	if (o->committed_only)
		return true;
	STAILQ_FOREACH(other, &w->staged, link) {
		if (other == o)
			return false;
		if (sid_eq(other->sid, o->sid))
			return true;
	}
	return false;
}

/* So long what waits may do so still: rounded down, since no timer is early. */
static uint64_t
late_ms(const struct worker *w, uint64_t now)
{
	uint64_t waited = now - w->late_ns;

	return waited < LATE_MS * NSEC_PER_MSEC
	    ? LATE_MS - (waited + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC
	    : 0;
}

/* May all of it wait for company? */
static bool
may_wait(struct master *m, struct worker *w, uint64_t now)
{
	const struct order *o;

	STAILQ_FOREACH(o, &w->staged, link)
		if (!o->may_wait)
			return false;
	if (m->leaving || w->fd < 0)
		return false;
	if (w->late_ns == 0)
		w->late_ns = now;
	return late_ms(w, now) > 0;
}

/* Those that waited in vain: the end of this turn sends them. */
static void
on_late(int, short, void *arg)
{
	turn_begin(arg);
}

/* After the commit: what was staged leaves. After a failed one only what does
 * not depend on it; the rest stays for the next, since the records of its
 * sessions do, too. */
void
pool_turn_end(struct master *m, bool committed)
{
	uint64_t now = clock_boot_ns();
	uint64_t wait_ms = 0; /* until the first of them leaves; 0: none waits */

	for (size_t i = 0; i < MASTER_WORKERS; i++) {
		struct worker *w = &m->workers[i];
		struct order *o, *next;
		bool idle = STAILQ_EMPTY(&w->out);

		if (STAILQ_EMPTY(&w->staged))
			continue;
		if (may_wait(m, w, now)) {
			if (wait_ms == 0 || late_ms(w, now) < wait_ms)
				wait_ms = late_ms(w, now);
			continue;
		}
		w->late_ns = 0;
		STAILQ_FOREACH_SAFE(o, &w->staged, link, next) {
			if (!committed && order_waits(w, o))
				continue;
			STAILQ_REMOVE(&w->staged, o, order, link);
			STAILQ_INSERT_TAIL(&w->out, o, link);
		}
		if (w->fd >= 0 && idle && !worker_flush(w))
			event_add(w->ev_write, NULL);
	}
	if (wait_ms > 0 && (m->late_timer == NULL ||
		!evtimer_pending(m->late_timer, NULL)))
		timer_in(m, &m->late_timer, on_late, m, wait_ms);
}
