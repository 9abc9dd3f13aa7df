/* SPDX-License-Identifier: MIT */
/*
 * The end of a session: from its command's exit over the record that the master
 * commits to the last word to the keeper. Called as child.c is. Sends nothing
 * itself: it marks what is to be said (link.h).
 */
#include "worker/child.h"

#include <signal.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/procfs.h"
#include "shm/state_names.h"
#include "worker/input.h"
#include "worker/ladder.h"
#include "worker/limits.h"
#include "worker/link.h"
#include "worker/pump.h"
#include "worker/spare.h"
#include "worker/spill.h"
#include "worker/start_plan.h"
#include "worker/tree.h"

/* Writes the exit down where a replacement finds it. */
static void
exit_record(struct child *c, const struct ctl_exit *e)
{
	struct ring_header *hdr = c->ring.hdr;

	c->exit = *e;
	if (FAULT_FAILS("lie.exit-status"))
		c->exit.status ^= 1;
	if (c->exited_ns == 0)
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
		end->remaining = (uint32_t)tree_staying(c,
		    end->remaining_pids, CTL_END_PIDS);
	atomic_store(&c->ring.hdr->holders, end->holders);
}

/* Why it ended: the first forced reason, else what waitid said. */
static uint32_t
end_reason_of(struct child *c)
{
	uint32_t reason = atomic_load(&c->ring.hdr->end_reason);

	if (reason != END_NONE || c->exit.code == 0)
		return reason;
	reason = limits_verdict(c);
	if (reason != END_NONE)
		return reason;
	if (c->exit.code == CTL_EXIT_UNKNOWN)
		return END_LOST;
	return c->exit.code == CLD_EXITED ? END_EXIT : END_SIGNAL;
}

/* What keeps the first of those that stay: whoever reads of it wants to know. */
static void
log_left(const struct child *c)
{
	const struct ctl_end *end = &c->end;
	char in[64] = "", state[2] = "";
	struct procfs_stat st;

	if (procfs_stat(end->remaining_pids[0], &st) == 0)
		state[0] = st.state;
	(void)procfs_file(end->remaining_pids[0], "wchan", in, sizeof(in));
	log_event(LOG_WARN, "processes-left", KV("session", c->sid.v),
	    KV("processes", end->remaining), KV("freezing", c->freezing),
	    KV("child", end->remaining_pids[0]), KV("state", (const char *)state),
	    KV("in", (const char *)in));
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
		log_left(c);
	end->total = atomic_load(&hdr->head);
	end->dropped_nospace = atomic_load(&hdr->dropped_nospace);
	end->ring_bytes = c->ring.blocks;
	/* a writer that hangs has its header */
	end->ring_kept = end->holders == 0 && end->remaining == 0 &&
	    atomic_load(&hdr->spill_state) == SPILL_NONE &&
	    spare_may(c->w, &c->ring);
	end->started_ms = atomic_load(&hdr->started_ms);
	end->ended_ms = c->exit.wall_ms != 0 ? c->exit.wall_ms : c->w->now_ms;
	if (until_ns > started_ns)
		end->duration_ms = (until_ns - started_ns) / NSEC_PER_MSEC;
	atomic_store(&hdr->end_reason, end->reason);
}

/* From here on they are the master's to count: counted twice, even for a moment,
 * they would keep a new session out. */
static void
leave_blocks(struct child *c)
{
	stats_add(&c->w->stats->ring_bytes,
	    c->blocks_told - c->blocks_seen);
	c->blocks_told = c->blocks_seen;
}

unsigned
child_ask(struct child *c)
{
	if (!c->end_passed || c->state != CHILD_EXITING || pump_is_open(c) ||
	    spill_waits(c) || c->box != 0 ||
	    atomic_load(&c->ring.hdr->limits) != 0 ||
	    atomic_load(&c->ring.hdr->ladder_kill_ns) != 0 ||
	    (!c->end_alone && (c->want[LINK_MASTER] & SAY_RUNNING) != 0) ||
	    !child_ring_ok(c))
		return TELL_ASK_EXIT;
	c->want[LINK_MASTER] &= ~(unsigned)SAY_RUNNING;
	c->exited_ns = c->w->now_ns;
	end_record(c);
	leave_blocks(c);
	c->retry_ns = c->w->now_ns + CHILD_RETRY_END_MS * NSEC_PER_MSEC;
	ladder_arm(c);
	return TELL_END;
}

/* From here on the result is final. */
void
child_end(struct child *c)
{
	if (c->state < CHILD_RUNNING || c->state > CHILD_EXITED)
		return;
	end_record(c);
	FAULT("end.after-record");
	stats_add(&c->w->stats->ended, 1);
	leave_blocks(c);
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
	child_say_closed(c);
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
child_committed(struct child *c, const struct ctl_exit *exit)
{
	c->committed = true;
	if (exit->code != 0) /* the keeper told the master alone */
		child_exited(c, exit);
	if (c->state == CHILD_FAILED) {
		c->want[LINK_MASTER] = 0;
		if (c->owes)
			child_say_closed(c);
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

void
child_says_all(struct child *c)
{
	c->end_alone = c->end_passed = false;
	if (c->plan != NULL)
		c->plan->order.flags &= ~(uint32_t)(CTL_START_END_ALONE |
		    CTL_START_END_PASSED);
	if (c->state == CHILD_EXITING)
		link_say(c, LINK_KEEPER, TELL_ASK_EXIT);
}

/* Gone once everybody has been told. */
void
child_settle(struct child *c)
{
	if (c->all_said && c->state != CHILD_GONE &&
	    c->want[LINK_KEEPER] == 0 && c->want[LINK_MASTER] == 0)
		child_set_state(c, CHILD_GONE, "all is said");
}
