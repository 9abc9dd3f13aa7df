/* SPDX-License-Identifier: MIT */
/*
 * The worker's loop: how it begins, what ends it, what is done between two
 * turns. Called by main.c. What the worker is told is recv.c's business.
 */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/log_write.h"
#include "common/reserve.h"
#include "common/rundir.h"
#include "shm/lent_map.h"
#include "shm/stats.h"
#include "worker/child.h"
#include "worker/ladder.h"
#include "worker/link.h"
#include "worker/lodge.h"
#include "worker/recv.h"
#include "worker/spare.h"
#include "worker/spawn.h"
#include "worker/spill.h"
#include "worker/start.h"
#include "worker/tree.h"

/* The moment, and the session in hand. */
void
worker_begin(struct worker *w, struct sid sid)
{
	w->now_ns = clock_boot_ns();
	w->now_ms = clock_wall_ms();
	if (w->turn_began_ns == 0)
		w->turn_began_ns = w->now_ns;
	/* what else is ready stays in libevent's queue, and is first in the
	 * next turn; who takes over does so in one go */
	if (w->now_ns - w->turn_began_ns > WORKER_TURN_NS / 2 && !w->taking)
		event_base_loopbreak(w->base);
	SET_RELAXED(w->stats->in_hand, sid.v);
}

/* Nothing is in hand. */
void
worker_end(struct worker *w)
{
	SET_RELAXED(w->stats->in_hand, 0);
}

/* Some deadline has come. */
static void
timer_cb(evutil_socket_t fd, short, void *arg)
{
	struct worker *w = arg;
	struct timer *t;
	struct child *c;
	uint64_t expirations;

	worker_begin(w, (struct sid){0});
	if (read(fd, &expirations, sizeof(expirations)) > 0)
		w->timers.armed_ns = 0;
	while ((t = timers_expired(&w->timers, w->now_ns)) != NULL) {
		c = (struct child *)(void *)((char *)t -
		    offsetof(struct child, timer));
		worker_begin(w, c->sid);
		ladder_due(c);
		/* An end without a control group looks through all of /proc.
		 * What is left is due at once, after a heartbeat. */
		if (clock_boot_ns() - w->turn_began_ns > WORKER_TURN_NS)
			break;
	}
	worker_end(w);
}

/* libevent on epoll, without the changelist: a descriptor must have left epoll
 * before it is closed, since the keeper's copy keeps it alive in there. */
static struct event_base *
base_new(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (cfg == NULL)
		return NULL;
	if (event_config_avoid_method(cfg, "select") == 0 &&
	    event_config_avoid_method(cfg, "poll") == 0 &&
	    event_config_set_flag(cfg,
	        EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) == 0)
		base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return base;
}

static_assert(SPAWN_FD_FIRST_OTHER <= LOG_FD_MIN, "the log is out of the way");

/* /dev/null above the reserved numbers, whatever number is free. */
static int
null_open(int *ret_fd)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FD_FIRST_OTHER);
	if (high < 0)
		high = -errno;
	close(fd);
	if (high < 0)
		return high;
	*ret_fd = high;
	return 0;
}

/* Low descriptors, directory, stats page, loop, the keeper's channel. */
int
worker_init(struct worker *w, const struct heritage *h)
{
	size_t i;
	int rc;

	w->heritage = *h;
	LIST_INIT(&w->sessions);
	LIST_INIT(&w->dead);
	LIST_INIT(&w->under_way);
	for (i = 0; i < WORKER_BUCKETS; i++)
		LIST_INIT(&w->buckets[i]);
	w->may_yield = sched_getscheduler(0) == SCHED_OTHER;
	link_init(w, LINK_KEEPER);
	link_init(w, LINK_MASTER);
	rc = null_open(&w->null_fd);
	if (rc == 0)
		rc = spawn_reserve(w->null_fd, h->keeper_pid);
	if (rc < 0)
		return rc;
	w->dirfd = open(h->runtime_dir,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->dirfd < 0)
		return -errno;
	(void)rundir_attend(w->dirfd); /* without it nobody waits for us */
	rc = stats_attach_own(w->dirfd, STATS_PAGE_OF_WORKER(h->wid.slot),
	    &w->stats);
	if (rc < 0)
		return rc;
	stats_keep_last_words(w->stats);
	log_count_into(&w->stats->log_lines, &w->stats->log_dropped,
	    &w->stats->log_suppressed);
	rc = lodge_begin();
	if (rc == 0)
		rc = tree_init(w);
	if (rc < 0)
		return rc;
	rc = timers_init(&w->timers);
	if (rc < 0)
		return rc;
	event_set_mem_functions(reserve_malloc, reserve_realloc, free);
	w->base = base_new();
	if (w->base == NULL)
		return -ENOMEM;
	event_assign(&w->timer_ev, w->base, w->timers.fd, EV_READ | EV_PERSIST,
	    timer_cb, w);
	if (event_add(&w->timer_ev, NULL) != 0)
		return -ENOMEM;
	return link_open(w, LINK_KEEPER, HERITAGE_FD_KEEPER, recv_keeper);
}

/* A turn in which nobody was taken over ends that, or our own last one. */
static void
taking_ends(struct worker *w)
{
	if (w->taking && (!w->took || w->leaving)) {
		w->taking = false;
		w->link[LINK_MASTER].due = true;
	}
	w->took = false;
}

/* What it has now: the page it stood in was lost. */
static void
count_anew(struct worker *w)
{
	const struct child *c;
	uint64_t bytes = 0;

	LIST_FOREACH(c, &w->sessions, all)
		bytes += c->blocks_seen - c->blocks_told;
	SET_RELAXED(w->stats->sessions, w->count);
	SET_RELAXED(w->stats->ring_bytes, bytes);
}

/* A SIGBUS tells of a ring that was cut short, whichever it is. */
static void
look_at_rings(struct worker *w)
{
	struct child *c, *next;

	if (w->maps_lost == lent_maps_lost())
		return;
	w->maps_lost = lent_maps_lost();
	LIST_FOREACH_SAFE(c, &w->sessions, all, next) {
		worker_begin(w, c->sid);
		child_step(c);
	}
	worker_end(w);
}

/* STOP: the ladders of all begin, as many as a turn has time for. A session that
 * is over with that leaves the list, but is freed only after this turn. */
static void
stop_some(struct worker *w)
{
	struct child *c;

	do {
		c = w->stop_next;
		w->stop_next = LIST_NEXT(c, all);
		worker_begin(w, c->sid);
		ladder_begin(c, SIGTERM, w->stop_grace_ms, END_SHUTDOWN);
	} while (w->stop_next != NULL &&
	    w->now_ns - w->turn_began_ns < WORKER_TURN_NS / 2);
	worker_end(w);
}

/* Between two turns: the dead, the heartbeat, the next deadline. */
static void
worker_between(struct worker *w)
{
	struct stats_page *s = w->stats;
	uint64_t now;

	start_wait_all(w);
	taking_ends(w);
	if (w->stop_next != NULL)
		stop_some(w);
	look_at_rings(w);
	link_turn_end(w);
	now = clock_boot_ns();
	child_reap_dead(w);
	(void)reserve_fill();
	if (w->turn_began_ns != 0 &&
	    now - w->turn_began_ns > atomic_load(&s->longest_turn_ns))
		SET_RELAXED(s->longest_turn_ns, now - w->turn_began_ns);
	stats_turn_cpu(s, &w->turn_cpu_ns);
	w->turn_began_ns = 0;
	w->turn++;
	if (w->heart_ns != 0 && now > w->heart_ns + WORKER_LATE_NS)
		w->late_ns = now;
	w->heart_ns = now;
	SET_RELAXED(s->heartbeat_ns, now);
	stats_add(&s->loop_turns, 1);
	if (now >= w->beat_ns) {
		w->beat_ns = now + WORKER_BEAT_NS;
		if (stats_mend_own(w->dirfd, s) == 1)
			count_anew(w);
		log_tick();
		spawn_unpark();
		start_rest(w);
		tree_rest(w);
		spare_rest();
		spill_reap();
		lodge_rest();
	}
	timers_arm(&w->timers, link_due_ns(w, w->beat_ns));
}

/* The loop. */
int
worker_run(struct worker *w)
{
	struct ctl_head ready = CTL_INIT(CTL_READY, (struct sid){0},
	    struct ctl_head);
	int rc;

	worker_between(w);
	rc = ctl_send(HERITAGE_FD_KEEPER, &ready, sizeof(ready), NULL, 0);
	if (rc < 0) {
		log_event(LOG_ERROR, "keeper-not-told",
		    KV("error", err_name(-rc)));
		return 1;
	}
	while (w->link[LINK_KEEPER].fd >= 0 && !w->lost && !w->leaving) {
		if (event_base_loop(w->base, EVLOOP_ONCE |
		        (w->taking || w->stop_next != NULL ? EVLOOP_NONBLOCK
							   : 0)) < 0) {
			log_event(LOG_ERROR, "loop-failed",
			    KV("error", err_name(errno)));
			return 1;
		}
		worker_between(w);
	}
	if (w->lost) {
		log_event(LOG_ERROR, "message-lost", KV("role", "keeper"),
		    KV("why", "neither memory nor descriptors for it"));
		return 1;
	}
	FAULT("leave.before-exit");
	log_event(LOG_NOTE, "leaves",
	    KV("why", w->leaving ? "upgrade" : "the keeper is gone"));
	return 0;
}
