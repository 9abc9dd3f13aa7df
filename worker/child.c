/* SPDX-License-Identifier: MIT */
/*
 * The state table of a session (child.h), and what becomes of it until its
 * command has exited (child_end.c). Called by recv.c for messages, by libevent
 * for the pidfd, by pump.c and ladder.c when something ended. Sends nothing
 * itself: it marks what is to be said (link.h).
 */
#include "worker/child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/reserve.h"
#include "shm/state_names.h"
#include "worker/input.h"
#include "worker/ladder.h"
#include "worker/limits.h"
#include "worker/link.h"
#include "worker/pump.h"
#include "worker/spare.h"
#include "worker/spawn.h"
#include "worker/spill.h"
#include "worker/start.h"
#include "worker/start_plan.h"
#include "worker/tree.h"

static const char *const state_names[CHILD_STATES] = {
    [CHILD_SPAWNING] = "spawning",
    [CHILD_RUNNING] = "running",
    [CHILD_EXITING] = "exiting",
    [CHILD_EXITED] = "exited",
    [CHILD_ENDED] = "ended",
    [CHILD_COMMITTED] = "committed",
    [CHILD_FAILED] = "failed",
    [CHILD_CLOSED] = "closed",
    [CHILD_GONE] = "gone",
};

#define TO(state) (1u << CHILD_##state)

/* Allowed moves. */
static const unsigned moves[CHILD_STATES] = {
    [CHILD_SPAWNING] = TO(RUNNING) | TO(EXITED) | TO(FAILED),
    [CHILD_RUNNING] = TO(EXITING) | TO(EXITED) | TO(ENDED),
    [CHILD_EXITING] = TO(EXITED) | TO(ENDED),
    [CHILD_EXITED] = TO(ENDED),
    [CHILD_ENDED] = TO(COMMITTED),
    [CHILD_COMMITTED] = TO(CLOSED),
    [CHILD_FAILED] = TO(GONE),
    [CHILD_CLOSED] = TO(GONE),
};

/* Where a session of this id is linked. */
static struct child_list *
bucket_of(struct worker *w, struct sid sid)
{
	return &w->buckets[sid.v % WORKER_BUCKETS];
}

/* A new one, linked, with nothing open. */
struct child *
child_new(struct worker *w, struct sid sid)
{
	struct child *c;
	/* ours, not the page's, which anybody may have overwritten */
	if (timers_reserve(&w->timers, w->count + 2) != 0)
		return NULL;
	c = reserve_malloc(sizeof(*c));
	if (c == NULL)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->w = w;
	c->sid = sid;
	c->pidfd = c->in.fd = c->in.spool_fd = c->pty.fd = -1;
	c->out[0] = c->out[1] = (struct child_out){.child = c, .fd = -1};
	c->ring.fd = -1;
	c->watch_pos = c->in.watch_pos = c->pty.eof_at = UINT64_MAX;
	LIST_INSERT_HEAD(&w->sessions, c, all);
	LIST_INSERT_HEAD(bucket_of(w, sid), c, bucket);
	w->count++;
	SET_RELAXED(w->stats->sessions, w->count);
	return c;
}

/* The live one of this id, or NULL. */
struct child *
child_find(struct worker *w, struct sid sid)
{
	struct child *c;

	LIST_FOREACH(c, bucket_of(w, sid), bucket)
		if (sid_eq(c->sid, sid))
			return c;
	return NULL;
}

/* Frees what ended in the turn that is over. */
void
child_reap_dead(struct worker *w)
{
	struct child *c;

	while ((c = LIST_FIRST(&w->dead)) != NULL) {
		LIST_REMOVE(c, all);
		if (c->spawn != NULL)
			spawn_park(c->spawn, &c->ring, c->plan);
		else
			start_plan_free(c->plan);
		if (c->ring.hdr != NULL && c->end.ring_kept != 0)
			spare_keep(c->sid, &c->ring);
		else if (c->ring.hdr != NULL)
			ring_close(&c->ring);
		free(c);
	}
}

/* Takes it out of every list; the memory lives until the turn is over. */
static void
child_unlink(struct child *c)
{
	struct worker *w = c->w;

	CHECK(!pump_is_open(c) && c->in.fd < 0 && c->pidfd < 0 &&
	    c->pty.fd < 0);
	if (c->ring.hdr != NULL) {
		bool limited = atomic_load(&c->ring.hdr->limits) != 0;

		if (limited)
			limits_leave(c);
		tree_leave(c, limited ||
		    atomic_load(&c->ring.hdr->ladder_kill_ns) != 0);
		if (c->box == c->sid.v)
			tree_box_leave(c);
	}
	spill_close(c);
	timer_set(&w->timers, &c->timer, TIMER_NEVER);
	link_forget(c);
	LIST_REMOVE(c, bucket);
	if (w->stop_next == c)
		w->stop_next = LIST_NEXT(c, all);
	LIST_REMOVE(c, all);
	LIST_INSERT_HEAD(&w->dead, c, all);
	w->count--;
	SET_RELAXED(w->stats->sessions, w->count);
	stats_add(&w->stats->ring_bytes,
	    c->blocks_told - c->blocks_seen);
}

/* The only place where a state changes. */
void
child_set_state(struct child *c, enum child_state to, const char *why)
{
	CHECK(to < CHILD_STATES && (moves[c->state] & (1u << to)) != 0);
	log_event(LOG_DEBUG, "session-state", KV("session", c->sid.v),
	    KV("from", state_names[c->state]), KV("to", state_names[to]),
	    KV("why", why));
	c->state = to;
	if (to == CHILD_GONE)
		child_unlink(c);
	else
		ladder_arm(c);
}

/* Stops watching the process. */
void
child_close_pidfd(struct child *c)
{
	if (c->pidfd < 0)
		return;
	if (c->pid_watched)
		event_del(&c->pid_ev);
	c->pid_watched = c->pid_dead = false;
	close(c->pidfd);
	c->pidfd = -1;
}

/* It is a zombie now; only the keeper may ask what became of it. Many a command
 * is over before anybody has looked whether it has exec'd: then nobody has begun
 * to watch its output, which mostly is at its end. */
static void
child_pid_cb(evutil_socket_t fd, short, void *arg)
{
	struct child *c = arg;
	bool ported = c->porter != 0;

	worker_begin(c->w, c->sid);
	c->pid_dead = !ported;
	if (c->state == CHILD_SPAWNING)
		start_wait(c);
	if (ported) { /* it was that one's; the command's is watched by now */
		worker_end(c->w);
		return;
	}
	c->pid_watched = false;
	if (c->pidfd == fd && c->state != CHILD_SPAWNING) {
		child_close_pidfd(c);
		if (c->state == CHILD_RUNNING)
			child_set_state(c, CHILD_EXITING, "pidfd is readable");
		pump_finish(c);
		/* in a crowd several ends are asked for, told and committed
		 * together; by way of the keeper each would wake the master */
		if (c->w->young >= CHILD_CROWD && !start_is_awaited(c))
			link_say_late(c, LINK_KEEPER, TELL_ASK_EXIT);
		else
			link_say(c, LINK_KEEPER, c->w->young > 1
				? TELL_ASK_EXIT : child_ask(c));
	}
	worker_end(c->w);
}

void
child_watch_pidfd(struct child *c)
{
	if (c->pidfd < 0 || c->pid_watched)
		return;
	event_assign(&c->pid_ev, c->w->base, c->pidfd, EV_READ, child_pid_cb,
	    c);
	c->pid_watched = event_add(&c->pid_ev, NULL) == 0;
	if (!c->pid_watched)
		log_event(LOG_ERROR, "process-not-watched",
		    KV("session", c->sid.v));
}

/* It runs, or ran: watch everything that is open. */
void
child_watch(struct child *c, bool late)
{
	child_watch_pidfd(c);
	if (late)
		link_say_late(c, LINK_MASTER, SAY_RUNNING);
	else
		link_say(c, LINK_MASTER, SAY_RUNNING);
	pump_start(c);
	input_start(c);
	if (c->exit.code != 0)
		link_say(c, LINK_MASTER, SAY_EXITED);
	child_step(c);
}

/* May another worker, or a later moment, have more luck? */
static bool
error_is_transient(int error)
{
	static const int transient[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, EBADF};
	size_t i;

	for (i = 0; i < NELEMS(transient); i++)
		if (transient[i] == error)
			return true;
	return false;
}

void
child_say_closed(struct child *c)
{
	c->closing = c->hand_turn;
	link_say(c, LINK_KEEPER, TELL_CLOSED);
}

/* Gives a spawn up; nothing of the command runs. */
void
child_fail(struct child *c, int error, unsigned stage)
{
	struct ring_header *hdr = c->ring.hdr;

	c->failed.error = error;
	c->failed.stage = stage;
	if (c->failed.transient == CTL_FOR_GOOD && !c->ran &&
	    error_is_transient(error))
		c->failed.transient = CTL_TRY_AGAIN;
	log_event(LOG_NOTE, "session-not-spawned", KV("session", c->sid.v),
	    KV("stage", stage_name(stage)), KV("error", err_name(error)));
	if (hdr != NULL) {
		if (!c->ran) {
			atomic_store(&hdr->exec_stage, stage);
			FAULT("fail.in-header");
			atomic_store(&hdr->exec_errno, (uint32_t)error);
		}
		atomic_store(&hdr->open_streams, 0);
		atomic_store(&hdr->closed_ms, c->w->now_ms);
	}
	stats_add(&c->w->stats->spawn_failed, 1);
	c->retry_ns = 0;
	child_set_state(c, CHILD_FAILED, err_name(error));
	start_undo(c);
	if (c->spawn != NULL) { /* a child that cannot die still reads it */
		start_plan_hang_up(c->plan);
	} else {
		start_plan_free(c->plan);
		c->plan = NULL;
	}
	pump_stop(c);
	input_close(c);
	child_close_pidfd(c);
	c->want[LINK_KEEPER] &= ~(unsigned)TELL_DROP;
	/* nor that it was in our hands: said now, that would be that it ran */
	c->want[LINK_MASTER] &= ~(unsigned)(SAY_STDIN_AT | SAY_RUNNING);
	/* the keeper first: it must have forgotten it when the master has it
	 * started elsewhere */
	c->owes = c->held && c->ran;
	if (c->held && !c->owes)
		child_say_closed(c);
	child_say_failed(c);
}

/* Once its file is gone: whoever hears of it may name the same one again. */
void
child_say_failed(struct child *c)
{
	if (!spill_undone(c)) {
		ladder_arm(c);
		return;
	}
	FAULT("fail.before-say");
	link_say(c, LINK_MASTER, SAY_FAILED);
}

bool
child_replace(struct child *c, uint64_t turn, uint64_t *ret_closing)
{
	*ret_closing = 0;
	if (c == NULL)
		return true;
	if (c->state != CHILD_FAILED || c->owes || c->hand_turn >= turn)
		return false;
	if ((c->want[LINK_KEEPER] & TELL_CLOSED) != 0)
		*ret_closing = c->closing;
	child_set_state(c, CHILD_GONE, "another turn");
	return true;
}

/* Nobody's turn any more: the next master starts it where it likes. */
void
child_give_back(struct child *c)
{
	c->failed.transient = CTL_NOT_TRIED;
	child_fail(c, EAGAIN, STAGE_PREPARE);
}
