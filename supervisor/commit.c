/* SPDX-License-Identifier: MIT */
/*
 * The end of a turn: what was decided in it is committed to the index, and only
 * then orders, answers and events leave. Called by master.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "common/fault.h"
#include "common/log.h"
#include "supervisor/master.h"

#define RETRY_MS      1000u
#define RETRY_SOON_MS 100u
#define FAILING_MS    10000u /* commits that fail so long never will work */
#define NEXT_AHEAD    64u    /* numbers of sessions put on record at once: their
			      * page is not to be in the commit of each start */

/* After a failed commit: the next turn tries again. */
static void
on_retry(int, short, void *arg)
{
	struct master *m = arg;

	turn_begin(m);
	if (m->events_due)
		session_events_due(m);
}

int
commit_turn(struct master *m)
{
	struct session *s;
	int r = 0;

	record_due(m);
	m->next_put = m->next_kept;
	if (m->next_sid > m->next_kept) {
		m->next_put = m->next_sid + NEXT_AHEAD;
		r = recover_meta_put(m, "next", m->next_put);
		if (r < 0)
			return r;
	}
	r = lane_admin_write(m);
	if (r == 0)
		r = tally_write(m);
	if (r < 0)
		return r;
	TAILQ_FOREACH(s, &m->dirty, record.link) {
		r = record_write(m, s);
		if (r == 0)
			r = spec_write(m, s);
		if (r == 0 && s->record.fresh)
			r = key_write(m, s);
		if (r < 0)
			return r;
	}
	FAULT("master.before-commit");
	return index_commit(m->ix);
}

/* The commit failed: sessions made in this turn never were. The others keep
 * the state that is true and are written again. */
static void
turn_undo(struct master *m)
{
	struct session *s, *next;
	struct worker *w;

	TAILQ_FOREACH_SAFE(s, &m->dirty, record.link, next) {
		if (!s->record.fresh)
			continue;
		log_event(LOG_WARN, "session-taken-back", KV_SESSION(s),
		    KV("why", "the index is full"));
		w = custody_has(&s->custody) ? pool_get(m, s->custody.who)
					     : NULL;
		if (w != NULL && w->live > 0 && session_live(s))
			w->live--;
		pool_drop_orders(m, s->id.sid);
		registry_forget(m, s);
	}
	sweep_squeeze(m);
	session_pump_lanes(m); /* what was taken back held a place */
	session_ends_drain(m);
	timer_in(m, &m->retry_timer, on_retry, m, RETRY_MS);
}

/* The commit failed for another reason than room: all of the turn waits for
 * one that works. A master that never gets there ends, loudly: its successor
 * reads the index and asks keeper and workers, and nobody was told anything
 * that is not on record. */
static void
turn_wait(struct master *m, int err)
{
	uint64_t now = clock_boot_ns();

	if (m->failing_ns == 0)
		m->failing_ns = now;
	pool_turn_end(m, false);
	if (err == -ENOTRECOVERABLE ||
	    now - m->failing_ns > FAILING_MS * NSEC_PER_MSEC) {
		log_event(LOG_ERROR, "index-not-written",
		    KV("error", strerror(-err)));
		m->running = false;
		m->failed = true;
		return;
	}
	timer_in(m, &m->retry_timer, on_retry, m, RETRY_SOON_MS);
}

/* Everything of this turn is in the index: it may leave. */
static void
turn_send(struct master *m)
{
	struct session *s, *next;

	m->next_kept = m->next_put;
	tally_written(m);
	lane_admin_written(m);
	lane_admin_show(m);
	TAILQ_FOREACH_SAFE(s, &m->dirty, record.link, next) {
		record_committed(m, s);
		board_show(m, s);
	}
	FAULT("master.after-commit");
	pool_turn_end(m, true);
	FAULT("master.before-push");
	api_events_push(m);
	FAULT("master.before-answers");
	conn_turn_end(m, true);
	FAULT("master.after-answers");
}

/* Again where sending brought something new. */
void
commit_and_send(struct master *m)
{
	for (int i = 0; i < 8; i++) {
		int r;

		api_lanes_step(m);
		do {
			session_ends_drain(m);
			starts_pump(m); /* one that cannot be made ends */
		} while (!TAILQ_EMPTY(&m->ends));
		r = commit_turn(m);
		m->again = false;
		if (r < 0 && m->failing_ns == 0)
			log_event(LOG_ERROR, "commit-failed",
			    KV("error", strerror(-r)));
		if (r < 0 && r != -ENOSPC) {
			turn_wait(m, r);
			return;
		}
		m->failing_ns = 0;
		if (r < 0) {
			pool_turn_end(m, false);
			turn_undo(m);
			conn_turn_end(m, false);
			(void)index_commit(m->ix);
			(void)tokens_reload(m->tokens);
			(void)drains_reload(m->drains);
			return;
		}
		turn_send(m);
		if ((m->events_due || m->events_unread) && (m->retry_timer == NULL ||
			!evtimer_pending(m->retry_timer, NULL)))
			timer_in(m, &m->retry_timer, on_retry, m, RETRY_MS);
		if (!m->again)
			return;
	}
	timer_in(m, &m->retry_timer, on_retry, m, 0);
}
