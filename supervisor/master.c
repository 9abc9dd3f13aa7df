/* SPDX-License-Identifier: MIT */
/*
 * The master's life: it opens what it owns, turns the loop, and closes all of
 * it. How a turn ends: commit.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/reserve.h"
#include "shm/stats.h"
#include "supervisor/master.h"

#define HEARTBEAT_MS 1000u
#define ALONE_MS     3000u

/* Nothing of this turn counts, the next master does it again: where memory is
 * gone to the last, that loses less than half a turn. */
void
master_give_up(struct master *m, const char *why)
{
	if (m->running)
		log_event(LOG_ERROR, "master-fails", KV("why", why));
	m->running = false;
	m->failed = true;
}

/* Arms a one-shot timer. */
void
timer_in(struct master *m, struct event **ev, void (*fn)(int, short, void *),
    void *arg, uint64_t ms)
{
	struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
	    .tv_usec = (suseconds_t)(ms % 1000) * 1000};

	if (*ev == NULL)
		*ev = evtimer_new(m->base, fn, arg);
	/* counted from now, not from where this turn began: never early */
	(void)event_base_update_cache_time(m->base);
	if (*ev == NULL || evtimer_add(*ev, &tv) < 0)
		master_give_up(m, "no memory for a timer");
}

/* Once a second: the heartbeat that the keeper watches. */
static void
on_heartbeat(int, short, void *arg)
{
	struct master *m = arg;

	turn_begin(m);
	SET_RELAXED(m->stats->heartbeat_ns, clock_boot_ns());
	SET_RELAXED(m->board.hdr->budget_used, sweep_used(m));
	boxes_show(m);
	mend_look(m);
	spares_rest(m);
	log_tick();
	timer_in(m, &m->heartbeat, on_heartbeat, m, HEARTBEAT_MS);
}

/* Foreground sessions whose request did not come back belong to nobody. */
static void
on_key_timer(int, short, void *arg)
{
	struct master *m = arg;
	struct session *s;

	turn_begin(m);
	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		if (session_live(s) && !s->shown.backgrounded &&
		    !session_is_ours(s) && !s->shown.answered && LIST_EMPTY(&s->watches))
			session_background(m, s);
}

/* One master at a time writes index, board and its page. Within one keeper's
 * life the last one is dead for sure; one of a dead keeper is told to die by
 * PDEATHSIG, but may be in the middle of a commit. A file system that has no
 * such locks has that signal alone. */
static int
be_alone(int dirfd)
{
	uint64_t until = clock_boot_ns() + ALONE_MS * NSEC_PER_MSEC;
	bool said = false;

	while (flock(dirfd, LOCK_EX | LOCK_NB) < 0 &&
	    (errno == EWOULDBLOCK || errno == EINTR)) {
		if (clock_boot_ns() > until)
			return -EBUSY;
		if (!said)
			log_event(LOG_NOTE, "master-waits",
			    KV("why", "the last one is not gone yet"));
		said = true;
		clock_nap(2 * NSEC_PER_MSEC);
	}
	return 0;
}

/* Opens the shared files and the index. */
static int
open_shared(struct master *m)
{
	int r;

	m->dirfd = open(m->h.runtime_dir,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (m->dirfd < 0)
		return -errno;
	r = be_alone(m->dirfd);
	if (r == 0)
		r = stats_attach_own(m->dirfd, STATS_PAGE_OF_MASTER,
		    &m->stats);
	if (r < 0)
		return r;
	stats_keep_last_words(m->stats);
	log_count_into(&m->stats->log_lines, &m->stats->log_dropped,
	    &m->stats->log_suppressed);
	r = stats_attach(m->dirfd, &m->pages);
	if (r == 0)
		r = mend_board_open(m);
	if (r == 0)
		r = shown_open(m);
	if (r < 0)
		return r;
	r = recover_index(m);
	if (r < 0)
		return r;
	r = cursors_open(m->ix, &m->cursors);
	if (r == 0)
		r = events_open(m->ix, m->cfg.events, &m->events);
	if (r == 0)
		r = tokens_open(m->ix, &m->tokens);
	if (r == 0)
		r = drains_open(m->ix, &m->drains);
	return r;
}

/* Opens everything; the listener last. */
int
master_init(struct master *m, const struct heritage *h)
{
	int r;

	m->h = *h;
	m->keeper_fd = HERITAGE_FD_KEEPER;
	m->dirfd = -1;
	RB_INIT(&m->by_slug);
	RB_INIT(&m->by_key);
	TAILQ_INIT(&m->dirty);
	TAILQ_INIT(&m->soon);
	TAILQ_INIT(&m->ended);
	TAILQ_INIT(&m->ends);
	starts_init(m);
	boxes_init(m);
	STAILQ_INIT(&m->lane_notes);
	LIST_INIT(&m->lane_drains);
	TAILQ_INIT(&m->endings);
	rooms_init(m);
	rank_init(&m->expiring, sweep_cmp);
	pool_init(m);
	r = settings_begin(m);
	if (r < 0)
		return r;
	event_set_mem_functions(reserve_malloc, reserve_realloc, free);
	(void)reserve_fill();
	m->base = event_base_new();
	m->lanes = lanes_new();
	if (m->base == NULL || m->lanes == NULL)
		return -ENOMEM;
	r = settings_lanes(m);
	if (r == 0)
		r = gate_init(m);
	if (r < 0)
		return r;
	r = settings_base_env(m);
	if (r == 0)
		r = open_shared(m);
	if (r < 0)
		return r;
	sweep_budget(m);
	SET_RELAXED(m->board.hdr->master_generation, h->wid.generation);
	r = recover_scan(m);
	if (r < 0)
		return r;
	m->events_sent = events_last(m->events);
	api_events_recount(m);
	r = commit_turn(m);
	if (r < 0 && r != -ENOSPC) /* then the first turn tries again */
		return r;
	r = conn_listen(m);
	if (r == 0)
		r = link_open(m);
	if (r < 0)
		return r;
	on_heartbeat(-1, 0, m);
	if (m->live > 0)
		timer_in(m, &m->key_timer, on_key_timer, m,
		    MASTER_KEY_WAIT_MS);
	return 0;
}

void
timer_free(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

/* Closes everything, in the other order. */
void
master_fini(struct master *m)
{
	struct session *s;

	link_close(m);
	conn_close_all(m);
	over_free(m);
	api_end_stop(m);
	pool_fini(m);
	gate_fini(m);
	timer_free(&m->starts.timer);
	timer_free(&m->lane_timer);
	timer_free(&m->sweep_timer);
	timer_free(&m->soon_timer);
	timer_free(&m->retry_timer);
	timer_free(&m->heartbeat);
	timer_free(&m->key_timer);
	timer_free(&m->late_timer);
	readers_close(m);
	while ((s = registry_first(m)) != NULL)
		registry_drop(m, s);
	boxes_fini(m); /* in which some of them waited */
	rooms_fini(m);
	events_close(&m->events);
	cursors_close(&m->cursors);
	tokens_close(&m->tokens);
	drains_close(&m->drains);
	index_close(&m->ix);
	lane_admin_written(m);
	lanes_free(&m->lanes);
	adopt_close(m);
	free(m->board_free);
	free(m->base_env);
	if (m->base != NULL)
		event_base_free(m->base);
}

/* Turns until the keeper is gone. */
void
master_loop(struct master *m)
{
	m->running = !m->failed;
	while (m->running) {
		commit_and_send(m);
		over_free(m);
		if (!m->running)
			break;
		turn_end_time(m);
		if (event_base_loop(m->base, EVLOOP_ONCE |
			(turn_waits(m) ? EVLOOP_NONBLOCK : 0)) < 0)
			break;
		session_ends_drain(m); /* those who wait are told in this turn */
		turn_run(m);
		ADD_RELAXED(m->stats->loop_turns, 1);
	}
	if (m->leaving && !m->failed) {
		commit_and_send(m); /* what was taken in hand is committed and told */
		FAULT("leave.before-exit");
		log_event(LOG_NOTE, "leaves", KV("why", "upgrade"));
	}
}
