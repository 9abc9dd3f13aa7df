/* SPDX-License-Identifier: MIT */
/* Everything of a session that depends on time. Called by the loop when a
 * session's timer is due, and by recv.c for KILL and STOP. The facts that a
 * replacement needs (deadline, silence, KILL due) stand in the header. */
#include "worker/ladder.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/procfs.h"
#include "shm/state_names.h"
#include "worker/input.h"
#include "worker/input_look.h"
#include "worker/link.h"
#include "worker/pump.h"
#include "worker/spill.h"
#include "worker/start.h"
#include "worker/tree.h"

#define EXIT_WAIT_NS    (100 * NSEC_PER_MSEC)
#define EXIT_WAITS      600u /* at a load of 170 ten seconds were too few */
#define EXIT_SLEEPS     5u   /* looks in a row; then it cannot die */
#define HURRY_MS        200u /* of the last second: kill what is known */
#define FREEZE_PAUSE_NS NSEC_PER_MSEC
#define STRIKE_NS       (30 * NSEC_PER_MSEC) /* in one go */

/* Signals the group. The keeper reaps the leader only after CLOSED, so until
 * then the number means this group and no other. */
static void
group_signal(struct child *c, int sig)
{
	if (c->pid <= 1 || c->state >= CHILD_FAILED)
		return;
	if (kill(-c->pid, sig) == 0 || errno != ESRCH || c->pidfd < 0)
		return;
	/* it left its group's name before it was one: the process itself */
	if (syscall(SYS_pidfd_send_signal, c->pidfd, sig, NULL, 0) != 0)
		log_event(LOG_DEBUG, "signal-not-sent",
		    KV("session", c->sid.v));
}

/* The first forced reason wins, and none is forced on what exited already. */
static void
note_reason(struct child *c, enum end_reason reason)
{
	_Atomic uint32_t *at = &c->ring.hdr->end_reason;

	if (reason == END_NONE || c->exit.code != 0 ||
	    c->state == CHILD_EXITING || atomic_load(at) != END_NONE)
		return;
	atomic_store(at, reason);
	log_event(LOG_NOTE, "session-stopped", KV("session", c->sid.v),
	    KV("why", reason_name(reason)));
}

/* The tree's part of the last rung, until it is done; then the group's. A rung
 * that still freezes kills what it has found shortly before the session ends;
 * after that end there is time. */
static void
ladder_strike(struct child *c)
{
	uint64_t until_ns = clock_boot_ns() + STRIKE_NS;
	bool done, again = c->freezing;
	int nice_before = getpriority(PRIO_PROCESS, 0);

	if (!c->freezing)
		c->hurry_ns = c->state >= CHILD_ENDED
		    ? c->w->now_ns + CHILD_FINAL_MS * NSEC_PER_MSEC
		    : c->final_ns - HURRY_MS * NSEC_PER_MSEC;
	(void)setpriority(PRIO_PROCESS, 0, -20); /* who may outruns a crowd */
	do {
		done = FAULT_FAILS("lie.process") ||
		    tree_kill(c, c->hurry_ns);
	} while (!done && again && clock_boot_ns() < until_ns);
	(void)setpriority(PRIO_PROCESS, 0, nice_before);
	group_signal(c, done ? SIGKILL : SIGSTOP);
	c->tree_ns = clock_boot_ns() +
	    (done ? tree_pause_ns(c, c->tree_looks++) : FREEZE_PAUSE_NS);
}

/* The last rung. It ends within a second, or once its command can die. */
static void
ladder_kill(struct child *c)
{
	c->killed = true;
	c->final_ns = c->w->now_ns + CHILD_FINAL_MS * NSEC_PER_MSEC;
	c->tree_looks = 0;
	ladder_strike(c);
	if (c->paused)
		pump_resume(c); /* its reader no longer holds it up */
}

/* One signal to the group. */
void
ladder_signal(struct child *c, int sig, enum end_reason reason)
{
	if (c->ring.hdr == NULL)
		return;
	if (c->state == CHILD_SPAWNING) {
		if (sig > 0 && sig < 64)
			c->stop.signals |= 1ull << sig;
		return;
	}
	note_reason(c, reason);
	group_signal(c, sig);
}

/* The ladder's first rung. Its signal stands in the header until it was sent,
 * so that it is sent whoever dies in between. */
static void
ladder_first(struct child *c)
{
	_Atomic uint64_t *at = &c->ring.hdr->ladder_signal;
	int sig = (int)atomic_load(at);

	c->first.late_count = 0;
	/* the tree first: a dead parent vouches for nobody */
	tree_signal(c, sig, &c->first.unseen);
	group_signal(c, sig);
	c->first.sig = sig;
	tree_signal(c, SIGCONT, NULL); /* a stopped one could not obey */
	group_signal(c, SIGCONT);
	FAULT("stop.after-signal");
	atomic_store(at, 0);
}

void
ladder_take_over(struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t sig = atomic_load(&hdr->ladder_signal);

	if (sig > 0 && sig < NSIG && c->exit.code == 0 &&
	    atomic_load(&hdr->ladder_kill_ns) != 0)
		ladder_first(c);
}

/* TERM (or what is asked for) now, KILL after the grace. */
void
ladder_begin(struct child *c, int sig, uint32_t grace_ms,
    enum end_reason reason)
{
	struct ring_header *hdr = c->ring.hdr;
	uint64_t due = c->w->now_ns + grace_ms * NSEC_PER_MSEC;
	uint64_t old;

	if (c->state == CHILD_SPAWNING) {
		if (start_is_under_way(c))
			start_stop(c, sig, grace_ms, reason);
		else
			child_fail(c, ECANCELED, STAGE_PREPARE);
		return;
	}
	if (c->state >= CHILD_FAILED)
		return;
	if (c->killed) {
		c->left_told = false;
		return;
	}
	note_reason(c, reason);
	FAULT("stop.after-reason");
	if (grace_ms != 0)
		atomic_store(&hdr->ladder_signal, (uint64_t)sig);
	old = atomic_load(&hdr->ladder_kill_ns);
	if (old == 0 || due < old)
		atomic_store(&hdr->ladder_kill_ns, due);
	FAULT("stop.before-signal");
	c->tree_empty = false;
	if (c->ladder_ns == 0)
		c->ladder_ns = c->w->now_ns;
	if (grace_ms == 0) {
		ladder_kill(c);
		FAULT("stop.after-kill");
	} else {
		ladder_first(c);
	}
	ladder_arm(c);
}

/* Its output has been asked for a time-out's length and did not come. While
 * we are the ones who do not read, silence is not the command's. */
static uint64_t
silence_due(const struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t length = atomic_load(&hdr->no_output_ns);
	uint64_t from = atomic_load(&hdr->last_output_ns);

	if (length == 0 || c->state != CHILD_RUNNING)
		return TIMER_NEVER;
	if (from == 0)
		from = atomic_load(&hdr->started_ns);
	if (c->paused || c->refill_ns != 0)
		from = c->w->now_ns;
	return from + length;
}

/* Until when a ladder that is under way has its say; 0: there is none, or it
 * has found nobody left. */
static uint64_t
ladder_until(const struct child *c)
{
	uint64_t kill_ns = atomic_load(&c->ring.hdr->ladder_kill_ns);

	if (kill_ns == 0 || c->tree_empty)
		return 0;
	if (c->state >= CHILD_ENDED)
		return TIMER_NEVER; /* it was told who is left; go on */
	return c->killed ? c->final_ns
			 : kill_ns + CHILD_FINAL_MS * NSEC_PER_MSEC;
}

static bool
ladder_runs(const struct child *c)
{
	return c->w->now_ns < ladder_until(c);
}

/* The command is dead; is anybody else left? Who forks faster than it is
 * killed is killed again. */
static void
ladder_look(struct child *c)
{
	uint64_t next;

	c->tree_ns = 0;
	if (c->freezing) { /* however late: who is stopped is to be killed */
		ladder_strike(c);
		return;
	}
	if (!ladder_runs(c))
		return;
	if (tree_left(c, NULL, 0) == 0) {
		c->tree_empty = c->exit.code != 0;
		if (c->state == CHILD_COMMITTED)
			c->left_ns = c->w->now_ns +
			    CHILD_SILENCE_MS * NSEC_PER_MSEC;
		return;
	}
	if (c->state == CHILD_COMMITTED && c->killed && !c->left_told &&
	    c->w->now_ns >= c->final_ns) {
		c->left_told = true; /* who asked waits no longer */
		child_tell_left(c);
	}
	if (c->killed) {
		ladder_strike(c);
		return;
	}
	tree_signal_late(c);
	next = c->w->now_ns + tree_pause_ns(c, c->tree_looks++);
	c->tree_ns = next < ladder_until(c) ? next : ladder_until(c);
}

/* Looks, where that has not been done yet. */
bool
ladder_waits(struct child *c)
{
	if (c->ring.hdr == NULL || c->exit.code == 0 || !ladder_runs(c))
		return false;
	if (c->tree_ns == 0)
		ladder_look(c);
	return ladder_runs(c);
}

/* When holders have been silent for long enough. */
static uint64_t
drained_due(const struct child *c)
{
	uint64_t from = c->exited_ns;
	uint64_t last = atomic_load(&c->ring.hdr->last_output_ns);

	if (c->state != CHILD_EXITED || ladder_runs(c))
		return TIMER_NEVER;
	if (last > from)
		from = last;
	/* what was held up is still in the pipe when it is read again */
	if (c->resumed_ns > from)
		from = c->resumed_ns;
	if (c->paused || c->refill_ns != 0)
		from = c->w->now_ns;
	return from + CHILD_SILENCE_MS * NSEC_PER_MSEC;
}

/* 0 means never. */
static void
earlier(uint64_t *due, uint64_t other)
{
	if (other != 0 && other < *due)
		*due = other;
}

/* What of the forced kind is next. */
static uint64_t
forced_due(const struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t due = TIMER_NEVER;
	uint64_t kill_ns = atomic_load(&hdr->ladder_kill_ns);

	if (c->killed) {
		if (c->state < CHILD_ENDED)
			earlier(&due, c->final_ns);
	} else if (kill_ns != 0) {
		earlier(&due, kill_ns);
	} else if (c->state < CHILD_ENDED && c->state != CHILD_EXITING) {
		earlier(&due, atomic_load(&hdr->deadline_ns));
		earlier(&due, silence_due(c));
	}
	return due;
}

/* Only ever moves the timer nearer: what moved away is found when it fires,
 * so output costs no work here. */
void
ladder_arm(struct child *c)
{
	uint64_t due = TIMER_NEVER;

	if (c->state == CHILD_GONE)
		return;
	earlier(&due, c->retry_ns);
	earlier(&due, c->look_ns);
	earlier(&due, c->in.look_ns);
	earlier(&due, c->spill_ns);
	if (c->state > CHILD_SPAWNING && c->state < CHILD_FAILED) {
		earlier(&due, forced_due(c));
		earlier(&due, drained_due(c));
		earlier(&due, c->drop_ns);
		earlier(&due, c->refill_ns);
		earlier(&due, c->forget_ns);
		earlier(&due, c->oom_ns);
		earlier(&due, c->tree_ns);
		earlier(&due, c->left_ns);
		earlier(&due, c->pty.retry_ns);
	}
	if (c->timer.index == 0 || due < c->timer.due_ns)
		timer_set(&c->w->timers, &c->timer, due);
}

/* The bound is for what cannot die: a command that sleeps in the kernel. One that
 * had no processor yet dies as soon as it gets one, and of a dead one the keeper
 * knows how it ended, however late the keeper says so. */
static bool
exit_is_coming(struct child *c)
{
	struct procfs_stat s;

	/* one look alone may find it waiting for a page of its file */
	c->exit_sleeps = procfs_alive(c->pid, &s) && s.state == 'D'
	    ? c->exit_sleeps + 1 : 0;
	if (c->exit.code != 0 || c->exit_waits == EXIT_WAITS ||
	    c->exit_sleeps > EXIT_SLEEPS)
		return false;
	c->exit_waits++;
	c->final_ns = c->w->now_ns + EXIT_WAIT_NS;
	return true;
}

/* Deadlines that passed begin the ladder; its KILL and its end. */
static void
forced_check(struct child *c, uint64_t now)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint32_t grace_ms = atomic_load(&hdr->grace_ms);

	if (forced_due(c) > now || (c->killed && exit_is_coming(c)))
		return;
	if (c->killed)
		child_end(c);
	else if (atomic_load(&hdr->ladder_kill_ns) != 0)
		ladder_kill(c);
	else if (atomic_load(&hdr->deadline_ns) != 0 &&
	    atomic_load(&hdr->deadline_ns) <= now)
		ladder_begin(c, SIGTERM, grace_ms, END_OVERALL_TIMEOUT);
	else
		ladder_begin(c, SIGTERM, grace_ms, END_NO_OUTPUT_TIMEOUT);
}

/* Holders go on being pumped only while the master keeps the ring. */
static void
forget_check(struct child *c)
{
	struct stat st;

	c->forget_ns = 0;
	if (c->state != CHILD_COMMITTED || !pump_is_open(c))
		return;
	if (fstat(c->ring.fd, &st) == 0 && st.st_nlink == 0)
		pump_stop(c);
	else
		c->forget_ns =
		    c->w->now_ns + CHILD_FORGET_MS * NSEC_PER_MSEC;
}

/* True, once, if *at has come. */
static bool
is_due(uint64_t *at, uint64_t now)
{
	if (*at == 0 || *at > now)
		return false;
	*at = 0;
	return true;
}

/* Looks at everything that may be due. */
void
ladder_due(struct child *c)
{
	uint64_t now = c->w->now_ns;

	(void)child_ring_ok(c); /* the times below stand in it */
	if (is_due(&c->look_ns, now) && c->state == CHILD_SPAWNING)
		start_wait(c);
	if (is_due(&c->retry_ns, now)) {
		if (c->state == CHILD_SPAWNING)
			start_retry(c);
		else
			link_say(c, LINK_KEEPER, TELL_ASK_EXIT);
	}
	if (is_due(&c->in.look_ns, now))
		input_look_now(c);
	if (is_due(&c->spill_ns, now))
		spill_due(c);
	if (c->state > CHILD_SPAWNING && c->state < CHILD_FAILED) {
		if (is_due(&c->drop_ns, now) && c->drop_mask != 0)
			link_say(c, LINK_KEEPER, TELL_DROP);
		if (is_due(&c->refill_ns, now))
			pump_resume(c);
		if (is_due(&c->pty.retry_ns, now))
			input_retry(c);
		if (is_due(&c->oom_ns, now))
			start_oom_score(c);
		if (c->tree_ns != 0 && c->tree_ns <= now)
			ladder_look(c);
		if (c->forget_ns != 0 && c->forget_ns <= now)
			forget_check(c);
		if (is_due(&c->left_ns, now))
			child_tell_left(c);
		forced_check(c, now);
		if (drained_due(c) <= now && !spill_waits(c))
			child_end(c);
	}
	child_step(c);
}
