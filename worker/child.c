/* SPDX-License-Identifier: MIT */
/*
 * The state table of a session (child.h) and its end. Called by recv.c for
 * messages, by libevent for the pidfd, by pump.c and ladder.c when something
 * ended. Sends nothing itself: it marks what is to be said (link.h).
 */
#include "worker/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
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
	c->watch_pos = c->in.watch_pos = UINT64_MAX;
	LIST_INSERT_HEAD(&w->sessions, c, all);
	LIST_INSERT_HEAD(bucket_of(w, sid), c, bucket);
	w->count++;
	atomic_store_explicit(&w->stats->sessions, w->count,
	    memory_order_relaxed);
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
	}
	spill_close(c);
	timer_set(&w->timers, &c->timer, TIMER_NEVER);
	link_forget(c);
	LIST_REMOVE(c, bucket);
	LIST_REMOVE(c, all);
	LIST_INSERT_HEAD(&w->dead, c, all);
	w->count--;
	atomic_store_explicit(&w->stats->sessions, w->count,
	    memory_order_relaxed);
	worker_count(&w->stats->ring_bytes,
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
	c->pid_watched = false;
	close(c->pidfd);
	c->pidfd = -1;
}

/* It is a zombie now; only the keeper may ask what became of it. Many a command
 * is over before anybody has looked whether it has exec'd. */
static void
child_pid_cb(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;

	(void)what;
	worker_begin(c->w, c->sid);
	if (c->state == CHILD_SPAWNING)
		start_wait(c);
	c->pid_watched = false;
	if (c->pidfd == fd && c->state != CHILD_SPAWNING) {
		child_close_pidfd(c);
		link_say(c, LINK_KEEPER, TELL_ASK_EXIT);
		if (c->state == CHILD_RUNNING)
			child_set_state(c, CHILD_EXITING, "pidfd is readable");
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
child_watch(struct child *c)
{
	child_watch_pidfd(c);
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

/* The keeper may let go of this turn. */
static void
say_closed(struct child *c)
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
	worker_count(&c->w->stats->spawn_failed, 1);
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
	c->want[LINK_MASTER] &= ~(unsigned)SAY_STDIN_AT;
	/* the keeper first: it must have forgotten it when the master has it
	 * started elsewhere */
	c->owes = c->held && c->ran;
	if (c->held && !c->owes)
		say_closed(c);
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

/* Writes the exit down where a replacement finds it. */
static void
exit_record(struct child *c, const struct ctl_exit *e)
{
	struct ring_header *hdr = c->ring.hdr;

	c->exit = *e;
	if (FAULT_FAILS("lie.exit-status"))
		c->exit.status ^= 1;
	c->exited_ns = c->w->now_ns;
	atomic_store(&hdr->utime_us, e->utime_us);
	atomic_store(&hdr->stime_us, e->stime_us);
	atomic_store(&hdr->io_blocks, e->io_blocks);
	atomic_store(&hdr->maxrss_kib, e->maxrss_kib);
	atomic_store(&hdr->exit_status, e->status);
	atomic_store(&hdr->exited_ms, e->wall_ms);
	FAULT("end.before-exit");
	atomic_store(&hdr->exit_code, e->code);
	FAULT("end.after-exit");
	/* cloned by a worker that died before it saw that exec failed */
	if (atomic_load(&hdr->exec_errno) != 0 &&
	    atomic_load(&hdr->end_reason) == END_NONE)
		atomic_store(&hdr->end_reason, END_SPAWN_ERROR);
}

/* The keeper says what became of it. */
void
child_exited(struct child *c, const struct ctl_exit *e)
{
	if (c->exit.code != 0 || c->state < CHILD_RUNNING ||
	    c->state >= CHILD_FAILED)
		return;
	if (e->code == 0) {
		c->retry_ns =
		    c->w->now_ns + CHILD_RETRY_ASK_MS * NSEC_PER_MSEC;
		ladder_arm(c);
		return;
	}
	c->retry_ns = 0;
	child_close_pidfd(c);
	exit_record(c, e);
	if (c->state < CHILD_EXITED) {
		child_set_state(c, CHILD_EXITED, "the keeper knows");
		if (pump_is_open(c))
			link_say(c, LINK_MASTER, SAY_EXITED);
		if (c->pty.fd >= 0)
			pump_resume(c); /* its end now means the end */
	}
	child_step(c);
}

/* Who still lives and holds the output; somebody does where it is open. */
static void
count_left(struct child *c)
{
	struct ctl_end *end = &c->end;
	size_t i;

	memset(end->holder, 0, sizeof(end->holder));
	end->holders = end->named = 0;
	if (pump_is_open(c)) {
		end->holders = (uint32_t)tree_holders(c, end->holder,
		    CTL_END_HOLDERS);
		for (i = 0; i < CTL_END_HOLDERS; i++)
			end->named += end->holder[i].pid > 0;
		if (end->holders == 0)
			end->holders = 1;
	}
	memset(end->remaining_pids, 0, sizeof(end->remaining_pids));
	end->remaining = 0;
	if (atomic_load(&c->ring.hdr->ladder_kill_ns) != 0 && !c->tree_empty)
		end->remaining = (uint32_t)tree_left(c, end->remaining_pids,
		    CTL_END_PIDS);
	atomic_store(&c->ring.hdr->holders, end->holders);
}

/* Why it ended: the first forced reason, else what waitid said. */
static uint32_t
end_reason_of(struct child *c)
{
	uint32_t reason = atomic_load(&c->ring.hdr->end_reason);

	if (reason != END_NONE)
		return reason;
	reason = limits_verdict(c);
	if (reason != END_NONE)
		return reason;
	if (c->exit.code == CTL_EXIT_UNKNOWN)
		return END_LOST;
	return c->exit.code == CLD_EXITED ? END_EXIT : END_SIGNAL;
}

/* Makes the record from the header and the exit. */
static void
end_record(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	struct ctl_end *end = &c->end;
	uint64_t started_ns = atomic_load(&hdr->started_ns);
	uint64_t until_ns = c->exited_ns != 0 ? c->exited_ns : c->w->now_ns;

	end->exit = c->exit;
	end->exit.pid = c->pid;
	end->reason = end_reason_of(c);
	count_left(c);
	end->killed = c->killed;
	if (c->ladder_ns != 0 && c->w->now_ns > c->ladder_ns)
		end->ladder_ms = (clock_boot_ns() - c->ladder_ns) /
		    NSEC_PER_MSEC;
	end->in_leaf = c->leaf != 0;
	if (end->remaining > 0)
		log_event(LOG_WARN, "processes-left", KV("session", c->sid.v),
		    KV("processes", end->remaining),
		    KV("freezing", c->freezing));
	end->total = atomic_load(&hdr->head);
	end->dropped_nospace = atomic_load(&hdr->dropped_nospace);
	end->ring_bytes = c->ring.blocks;
	end->ring_kept = end->holders == 0 && end->remaining == 0 &&
	    spare_may(c->w, &c->ring);
	end->started_ms = atomic_load(&hdr->started_ms);
	end->ended_ms = c->exit.wall_ms != 0 ? c->exit.wall_ms : c->w->now_ms;
	if (until_ns > started_ns)
		end->duration_ms = (until_ns - started_ns) / NSEC_PER_MSEC;
	atomic_store(&hdr->end_reason, end->reason);
}

/* From here on the result is final. */
void
child_end(struct child *c)
{
	if (c->state < CHILD_RUNNING || c->state > CHILD_EXITED)
		return;
	end_record(c);
	FAULT("end.after-record");
	worker_count(&c->w->stats->ended, 1);
	/* from here on they are the master's to count: counted twice, even for
	 * a moment, they would keep a new session out */
	c->blocks_told = c->blocks_seen;
	worker_count(&c->w->stats->ring_bytes, 0 - c->blocks_told);
	child_set_state(c, CHILD_ENDED, reason_name(c->end.reason));
	input_close(c);
	if (c->committed)
		child_set_state(c, CHILD_COMMITTED, "the master knows");
	else
		link_say(c, LINK_MASTER, SAY_END);
}

/* Only where it corrects what was told. */
void
child_tell_left(struct child *c)
{
	uint32_t holders = c->end.holders, remaining = c->end.remaining;

	if (c->state != CHILD_COMMITTED)
		return;
	count_left(c);
	if (holders != c->end.holders || remaining != c->end.remaining ||
	    c->ladder_ns != 0)
		link_say(c, LINK_MASTER, SAY_LEFT);
}

/* Lets go: after this the keeper reaps, and the pid may mean another. */
static void
child_close(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;

	if (c->end.holders != 0 || c->end.remaining != 0)
		child_tell_left(c);
	atomic_store(&hdr->closed_ms, c->w->now_ms);
	FAULT("end.before-closed");
	child_set_state(c, CHILD_CLOSED, "drained and committed");
	child_close_pidfd(c);
	c->want[LINK_KEEPER] &= ~(unsigned)TELL_DROP;
	say_closed(c);
	c->all_said = true;
	child_settle(c);
}

/* Somebody has overwritten its header, or cut the file short: its output is
 * gone, and so is what it was to be held to. What cannot be babysat must not
 * run on. */
static void
ring_lost(struct child *c)
{
	log_event(LOG_ERROR, "ring-damaged", KV("session", c->sid.v),
	    KV("why", "it was overwritten or cut short"));
	ring_let_go(&c->ring);
	atomic_store(&c->ring.hdr->started_ms, c->w->now_ms);
	atomic_store(&c->ring.hdr->started_ns, c->w->now_ns);
	pump_give_up(c);
	input_close(c);
	c->killed = false; /* a kill under way stood in the old header */
	ladder_begin(c, SIGKILL, 0, END_LOST);
}

bool
child_ring_ok(struct child *c)
{
	if (c->ring.hdr == NULL || c->state < CHILD_RUNNING ||
	    c->state >= CHILD_ENDED || ring_is_sound(&c->ring))
		return true;
	ring_lost(c);
	return false;
}

/* Goes on where the facts allow it. */
void
child_step(struct child *c)
{
	struct worker *w = c->w;

	(void)child_ring_ok(c);
	if (ladder_waits(c)) {
		ladder_arm(c);
		return; /* a ladder is not cut short by the leader's death */
	}
	if (c->state == CHILD_EXITED && !pump_is_open(c) && !spill_waits(c))
		child_end(c);
	if (c->state == CHILD_COMMITTED) {
		if (!pump_is_open(c) && c->exit.code != 0 && !spill_waits(c))
			child_close(c);
		else if (c->forget_ns == 0)
			c->forget_ns =
			    w->now_ns + CHILD_FORGET_MS * NSEC_PER_MSEC;
	}
	ladder_arm(c);
}

/* The master has it. Where the command still runs, the master counts it as
 * over for another reason, so nothing of it must run on. */
void
child_committed(struct child *c)
{
	c->committed = true;
	if (c->state == CHILD_FAILED) {
		c->want[LINK_MASTER] = 0;
		if (c->owes)
			say_closed(c);
		c->all_said = true;
		child_settle(c);
		return;
	}
	if (c->state == CHILD_RUNNING)
		ladder_begin(c, SIGTERM, atomic_load(&c->ring.hdr->grace_ms),
		    END_LOST);
	if (c->state != CHILD_ENDED)
		return;
	c->want[LINK_MASTER] &= ~(unsigned)SAY_END;
	child_set_state(c, CHILD_COMMITTED, "the master says so");
	child_step(c);
}

/* Gone once everybody has been told. */
void
child_settle(struct child *c)
{
	if (c->all_said && c->state != CHILD_GONE &&
	    c->want[LINK_KEEPER] == 0 && c->want[LINK_MASTER] == 0)
		child_set_state(c, CHILD_GONE, "all is said");
}
