/* SPDX-License-Identifier: MIT */
/*
 * From the clone to the exec, which nobody waits for: the child is looked at
 * each turn and by a timer that backs off, and its end is seen at once. chdir
 * and exec may hang on a file system that never answers; then this session ends,
 * with stage and path named, and no other one notices. Called by start.c, take.c
 * and ladder.c.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/state_names.h"
#include "worker/ladder.h"
#include "worker/link.h"
#include "worker/procfs.h"
#include "worker/spawn.h"
#include "worker/start.h"
#include "worker/tree.h"

#define LOOK_MIN_NS NSEC_PER_MSEC
#define LOOK_NOW_NS (NSEC_PER_MSEC / 4) /* where something waits for the exec */
#define LOOK_MAX_NS (50 * NSEC_PER_MSEC)
#define STOP_NS     (50 * NSEC_PER_MSEC) /* to the exec, when it is to end */
#define OVER_NS     (100 * NSEC_PER_MSEC) /* then the keeper has reaped it */
#define DOOMED_NS   NSEC_PER_SEC         /* from SIGKILL to giving it up */

bool
start_is_under_way(const struct child *c)
{
	return c->spawn != NULL || c->adopted;
}

/* Is what was cloned a zombie by now? */
static bool
is_dead(const struct child *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	return c->pidfd >= 0 && poll(&p, 1, 0) == 1;
}

/* Has it exec'd, or will it never? Of one that a dead worker cloned nobody
 * tells us when it lets go of the memory: the kernel says whether it exec'd. */
static bool
is_settled(const struct child *c)
{
	if (c->spawn != NULL && !c->orphan)
		return spawn_released(c->spawn);
	return atomic_load(&c->ring.hdr->exec_errno) != 0 || is_dead(c) ||
	    !procfs_before_exec(c->pid);
}

/* Did its program begin? Who calls execve and says no error has exec'd: what is
 * killed in there counts as a command that was killed, unless it was we. */
static bool
has_begun(const struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;

	if (atomic_load(&hdr->exec_errno) != 0)
		return false;
	if (c->pid <= 1)
		return false; /* its porter came to no clone */
	if (c->adopted || c->orphan || c->doomed_ns != 0)
		return !procfs_before_exec(c->pid);
	return atomic_load(&hdr->exec_stage) == STAGE_EXEC;
}

/* Porters, for the keeper to reap with the next start: they count among the
 * processes of a box until somebody does. */
static struct over {
	int32_t pid;
	uint64_t at_ns;
} over[CTL_STARTS_MAX];
static unsigned overs, told;

int32_t
start_porter_over(const struct worker *w)
{
	while (told != overs) {
		const struct over *o = &over[told++ % CTL_STARTS_MAX];

		if (overs - told < CTL_STARTS_MAX &&
		    w->now_ns - o->at_ns < OVER_NS)
			return o->pid;
	}
	return 0;
}

/* A porter's command is known once the porter is gone. One that was killed may
 * have left one before its exec: that is looked at as a dead worker's. */
static void
unload(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	bool whole = spawn_released(c->spawn);

	child_close_pidfd(c);
	over[overs++ % CTL_STARTS_MAX] = (struct over){c->porter, c->w->now_ns};
	c->porter = 0;
	c->pid = atomic_load(&hdr->pid);
	atomic_store(&hdr->porter, 0);
	FAULT("porter.gone");
	spawn_porter_died(c->spawn);
	if (c->pid <= 1)
		return;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0) {
		log_event(LOG_ERROR, "process-not-watched",
		    KV("session", c->sid.v), KV("error", err_name(errno)));
		c->w->lost = true; /* the next worker is given it */
		return;
	}
	c->orphan = !whole;
	child_watch_pidfd(c);
}

/* Where commands start in a crowd the worker does not interrupt those that run:
 * what comes meanwhile is dealt with in one turn, and its next one is soon, since
 * psup's share of the processors is the greater. A command is as it would be. */
static void
yield_to_crowd(struct worker *w)
{
	const struct sched_param p = {0};

	w->crowded = true;
	if (w->may_yield && !w->yields)
		w->yields = sched_setscheduler(0, SCHED_BATCH, &p) == 0;
}

/* No longer than it lasts: what else there is does not wait for others' slices. */
static void
yield_no_more(struct worker *w)
{
	const struct sched_param p = {0};

	if (w->yields)
		w->yields = sched_setscheduler(0, SCHED_OTHER, &p) != 0;
}

void
start_rest(struct worker *w)
{
	if (!w->crowded) /* what is under way hangs */
		yield_no_more(w);
	w->crowded = false;
}

/* It is no part of a crowd, or no more. */
static void
age(struct child *c)
{
	c->w->young -= c->young;
	c->young = false;
}

/* Not under way any more. */
static void
leave(struct child *c)
{
	LIST_REMOVE(c, under_way);
	age(c);
	spawn_look();
	if (c->spawn != NULL) {
		if (c->spawn->join_fd >= 0 && !c->spawn->joined) {
			tree_leave(c, false);
			atomic_store(&c->ring.hdr->leaf, 0);
		}
		spawn_give(c->spawn);
	}
	c->spawn = NULL;
	c->adopted = c->orphan = false;
	c->look_ns = c->look_step = 0;
}

/* What was asked for meanwhile. */
static void
catch_up(struct child *c)
{
	int sig;

	for (sig = 1; c->stop.signals != 0 && sig < 64; sig++) {
		if ((c->stop.signals >> sig & 1) == 0)
			continue;
		c->stop.signals &= ~(1ull << sig);
		ladder_signal(c, sig, END_NONE);
	}
	if (c->stop.wanted)
		ladder_begin(c, c->stop.sig, c->stop.grace_ms, c->stop.reason);
}

/* It has let go of our memory. */
static void
settle(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	bool adopted = c->adopted, doomed = c->doomed_ns != 0;
	unsigned stage = atomic_load(&hdr->exec_stage);
	int error = (int)atomic_load(&hdr->exec_errno);

	if (has_begun(c)) {
		leave(c);
		if (adopted)
			start_taken_over(c);
		else
			start_succeeded(c);
		catch_up(c);
		return;
	}
	leave(c);
	c->ran = false;
	child_close_pidfd(c);
	tree_leave(c, doomed || error == 0);
	if (doomed && stage == STAGE_FDS && !c->stop.wanted) {
		/* it came to no path of the command's: it hung in our own
		 * hands, or those of a dead worker, and another one starts it */
		child_fail(c, EAGAIN, stage);
	} else if (doomed) {
		child_fail(c, c->stop.wanted ? ECANCELED : ETIMEDOUT, stage);
	} else if (error == 0) {
		start_failed(c, EAGAIN, STAGE_CLONE); /* killed by somebody */
	} else {
		start_failed(c, error, stage);
	}
}

/* What it hangs at, as far as that is known. */
static void
note_path(struct child *c)
{
	const char *path = c->spawn != NULL ? c->spawn->path : NULL;

	snprintf(c->failed.path, sizeof(c->failed.path), "%s",
	    path != NULL ? path : "");
}

/* The command that a porter waits for, before its exec: the number that stands in
 * shared memory counts only for a child of the keeper that has exec'd nothing. A
 * pidfd is taken first, so that what is looked at, or nobody, is killed. */
static void
kill_ported(struct child *c)
{
	int32_t pid = (int32_t)atomic_load(&c->ring.hdr->pid);
	int fd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct procfs_stat st;

	if (fd < 0)
		return;
	if (procfs_stat(pid, &st) == 0 &&
	    st.ppid == c->w->heritage.keeper_pid && procfs_before_exec(pid))
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

/* Its time is over: it is killed, and where even that does not end it, given
 * up. It holds nothing of ours but the context, and begins nothing any more:
 * SIGKILL is waiting for it wherever it hangs. */
static void
overdue(struct child *c)
{
	int error = c->stop.wanted ? ECANCELED : ETIMEDOUT;
	unsigned stage = atomic_load(&c->ring.hdr->exec_stage);

	if (c->doomed_ns == 0) {
		note_path(c);
		log_event(LOG_WARN, "start-overdue", KV("session", c->sid.v),
		    KV("stage", stage_name(stage)), KV("path", c->failed.path),
		    KV("error", err_name(error)));
		c->doomed_ns = c->w->now_ns + DOOMED_NS;
		c->look_step = LOOK_MIN_NS;
		if (!FAULT_FAILS("spawn.no-death"))
			(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL,
			    NULL, 0);
		if (c->porter)
			kill_ported(c);
		FAULT("start.after-kill");
		return;
	}
	if (c->w->now_ns < c->doomed_ns)
		return;
	log_event(LOG_ERROR, "start-not-killed", KV("session", c->sid.v),
	    KV("command_pid", c->pid), KV("stage", stage_name(stage)),
	    KV("path", c->failed.path));
	if (c->spawn != NULL)
		spawn_lay_give_up(c->spawn);
	LIST_REMOVE(c, under_way);
	age(c);
	c->adopted = c->ran = false;
	c->look_ns = 0;
	child_fail(c, error, stage);
}

/* Is there somebody to be told of its exec, or input to be given then? */
static bool
is_waited_for(const struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;

	return start_is_awaited(c) ||
	    (c->in.fd >= 0 && (atomic_load(&hdr->spool_end) > 0 ||
	        atomic_load(&hdr->stdin_eof) != 0));
}

void
start_look_now(struct child *c)
{
	if (!start_is_under_way(c) || c->doomed_ns != 0 ||
	    c->look_step > LOOK_MIN_NS)
		return;
	c->look_step = LOOK_NOW_NS;
	c->look_ns = c->w->now_ns;
	start_wait(c);
}

void
start_wait(struct child *c)
{
	uint64_t now = c->w->now_ns;

	if (c->look_step == 0) {
		c->look_step = is_waited_for(c) ? LOOK_NOW_NS : LOOK_MIN_NS;
		c->doomed_ns = 0;
		c->start_due = atomic_load(&c->ring.hdr->start_due_ns);
		if (c->start_due == 0) /* by another build's worker */
			c->start_due = now + START_MS * NSEC_PER_MSEC;
		LIST_INSERT_HEAD(&c->w->under_way, c, under_way);
		c->young = true;
		if (++c->w->young >= CHILD_CROWD)
			yield_to_crowd(c->w);
		if (c->stop.wanted)
			c->start_due = now + STOP_NS;
		child_watch_pidfd(c);
	}
	if (c->porter && (spawn_released(c->spawn) || is_dead(c)))
		unload(c);
	if (c->porter)
		FAULT("porter.between-looks");
	/* a porter that has let go since then is the next look's */
	if (!c->porter && is_settled(c)) {
		settle(c);
		return;
	}
	if (now >= c->start_due) {
		overdue(c);
		if (c->state != CHILD_SPAWNING)
			return;
	}
	if (c->look_ns <= now) {
		/* a crowd is looked at together where nobody waits for one */
		c->look_ns = c->look_step == LOOK_MIN_NS && !is_waited_for(c)
		    ? worker_late_ns(c->w)
		    : now + c->look_step;
		if (c->look_step < LOOK_MAX_NS)
			c->look_step *= 2;
		else
			age(c);
	}
	if (c->doomed_ns == 0 && c->look_ns > c->start_due)
		c->look_ns = c->start_due;
	ladder_arm(c);
}

void
start_wait_all(struct worker *w)
{
	struct child *c, *next;

	spawn_look();
	for (c = LIST_FIRST(&w->under_way); c != NULL; c = next) {
		next = LIST_NEXT(c, under_way);
		if (c->spawn == NULL || !spawn_released(c->spawn))
			continue;
		worker_begin(w, c->sid);
		start_wait(c);
		worker_end(w);
	}
	if (LIST_EMPTY(&w->under_way))
		yield_no_more(w);
}

void
start_stop(struct child *c, int sig, uint32_t grace_ms, enum end_reason reason)
{
	uint64_t due = c->w->now_ns + (grace_ms > 0 ? STOP_NS : 0);

	if (!c->stop.wanted || grace_ms < c->stop.grace_ms) {
		c->stop.sig = sig;
		c->stop.grace_ms = grace_ms;
	}
	if (!c->stop.wanted)
		c->stop.reason = reason;
	c->stop.wanted = true;
	if (due < c->start_due)
		c->start_due = due;
	c->look_ns = c->w->now_ns;
	start_wait(c);
}

void
start_adopt(struct child *c)
{
	c->adopted = true;
	link_say(c, LINK_MASTER, SAY_RUNNING); /* that it is in our hands */
	FAULT("take.adopted");
	start_wait(c);
}
