/* SPDX-License-Identifier: MIT */
/*
 * START: what the master orders (start_plan.h) is made ready (ring, pipes), the
 * keeper is given its copies, then the command is cloned; start_wait.c sees to
 * it from there to its exec. A stage that fails for want of something is tried
 * a few times. Called by recv.c and, for a retry, by ladder.c.
 */
#include "worker/start.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/stats.h"
#include "worker/box_filter.h"
#include "worker/box_group.h"
#include "worker/ladder.h"
#include "worker/limits.h"
#include "worker/link.h"
#include "worker/spare.h"
#include "worker/spawn.h"
#include "worker/spill.h"
#include "worker/start_plan.h"
#include "worker/tree.h"

#define RETRY_MIN_MS  5u
#define RETRY_SPAN_MS 45u
#define SPILL_WAIT_NS (20 * NSEC_PER_MSEC) /* between two looks */

/* So long it may take from the clone to the exec. */
static uint64_t
start_limit_ns(const struct ctl_start *o)
{
	uint64_t ms = o->start_ms != 0 ? o->start_ms : START_MS;

	if (o->timeout_ms != 0 && o->timeout_ms < ms)
		ms = o->timeout_ms;
	return ms * NSEC_PER_MSEC;
}

/* What a replacement must know, before anybody can need it. */
static void
header_fill(struct child *c)
{
	const struct ctl_start *o = &c->plan->order;
	struct ring_header *hdr = c->ring.hdr;
	uint64_t now = c->w->now_ns;

	atomic_store(&hdr->pid, 0); /* of a try that failed */
	atomic_store(&hdr->start_due_ns, now + start_limit_ns(o));
	atomic_store(&hdr->started_ms, c->w->now_ms);
	atomic_store(&hdr->started_ns, now);
	atomic_store(&hdr->deadline_ns,
	    o->timeout_ms != 0 ? now + o->timeout_ms * NSEC_PER_MSEC : 0);
	atomic_store(&hdr->no_output_ns,
	    o->no_output_timeout_ms * NSEC_PER_MSEC);
	atomic_store(&hdr->grace_ms, o->grace_ms);
	atomic_store(&hdr->flags, o->flags);
	atomic_store(&hdr->request, o->request);
	atomic_store(&hdr->credit,
	    (o->flags & CTL_START_LOSSLESS) != 0 ? o->credit : UINT64_MAX);
	atomic_store(&hdr->open_streams,
	    c->pty.fd >= 0 ? CTL_FD_OUT : CTL_FD_OUT | CTL_FD_ERR);
	atomic_store(&hdr->spool_end, o->stdin_end);
	atomic_store(&hdr->stdin_eof,
	    o->stdin_eof != 0 || (o->flags & CTL_START_STDIN_OPEN) == 0);
	atomic_store(&hdr->stdin_state,
	    c->in.fd >= 0 ? STDIN_OPEN : STDIN_NONE);
}

/* Does the keeper find pids in the rings' headers, and may we go on while a
 * child is before its exec? */
static bool
is_free(const struct child *c)
{
	return c->w->keeper_reads && spawn_is_free();
}

/* Gives the keeper its copies. -EAGAIN: its channel is full. */
static int
hold(struct child *c)
{
	struct ctl_fds msg = {
	    .head = CTL_INIT(CTL_HOLD, c->sid, struct ctl_fds),
	    .flags = (is_free(c) ? (uint32_t)CTL_HOLD_BY_HEADER : 0u) |
		(c->rehold ? (uint32_t)CTL_HOLD_AGAIN : 0u) |
		(uint32_t)start_porter_over(c->w) * CTL_HOLD_PORTER,
	    .at_ns = clock_boot_ns(), .turn = c->hand_turn};
	const int all[] = {c->out[0].fd, c->out[1].fd, c->in.fd, c->pty.fd};
	int fds[NELEMS(all)];
	size_t i, n = 0;
	int rc;

	if (c->held && !c->rehold)
		return 0;
	/* what is owed to the keeper goes first, so that it is woken once; and
	 * of the start before it may have a row */
	link_flush(c->w, LINK_KEEPER);
	if ((c->want[LINK_KEEPER] & TELL_CLOSED) != 0)
		return -EAGAIN;
	for (i = 0; i < NELEMS(all); i++) {
		if (all[i] < 0)
			continue;
		msg.mask |= 1u << i;
		fds[n++] = all[i];
	}
	rc = ctl_send(c->w->link[LINK_KEEPER].fd, &msg, sizeof(msg), fds, n);
	if (rc == 0) {
		c->held = true;
		c->rehold = false;
	}
	return rc;
}

/* What the child is to do. */
static void
spawn_fill(struct child *c, struct spawn *s)
{
	static struct search lie;
	static struct search_try nothing[2];
	struct start_plan *plan = c->plan;
	struct search *search = &plan->search;

	if (FAULT_FAILS("lie.start-lost")) {
		nothing[0] = (struct search_try){"/bin/true", plan->words};
		lie = (struct search){.tries = nothing,
		    .argv0 = plan->argv[0], .envp = plan->envp};
		search = &lie;
	}
	search->trying = &s->path;

	s->args = (struct spawn_args){
	    .sid = c->sid,
	    .hdr = c->ring.hdr,
	    .keeper_pid = c->w->heritage.keeper_pid,
	    .held = !is_free(c),
	    .pty = c->pty.fd >= 0,
	    .order = &plan->order,
	    .nofile_soft = c->w->heritage.nofile_soft,
	    .core_soft = c->w->heritage.core_soft,
	    .cwd = plan->cwd,
	    .search = search,
	    .leaf_into = (c->w->heritage.flags & HERITAGE_TREE_INTO) != 0,
	    .yields = c->w->yields,
	    .box_fd = plan->box_fd,
	    .ring_fd = c->ring.fd,
	    .stall = FAULT_FAILS("spawn.no-cut"),
	    .no_pid = FAULT_FAILS("spawn.no-pid")};
}

/* Children still share our descriptors, and do not die: one is named. */
static _Noreturn void
end_stuck(struct child *c)
{
	struct sid stuck = spawn_uncut();

	worker_begin(c->w, stuck);
	log_event(LOG_ERROR, "start-stuck", KV("session", stuck.v),
	    KV("why", "its child neither begins nor dies"));
	_exit(1);
}

/* Its leaf, in the group of its box, and its limits. */
static int
enter_groups(struct child *c, struct spawn *s)
{
	const struct ctl_start *o = &c->plan->order;
	struct ring_header *hdr = c->ring.hdr;
	int rc = 0;

	c->box = (o->flags & CTL_START_BOX) != 0 ? c->sid.v
	    : (o->flags & CTL_START_BOXED) != 0	 ? o->box_sid
						 : 0;
	atomic_store(&hdr->box, c->box);
	atomic_store(&hdr->box_ooms, 0);
	atomic_store(&hdr->box_full, 0);
	if ((o->flags & CTL_START_BOX) != 0)
		rc = box_group_make(c, o);
	s->args.leaf_fd = rc == 0 ? tree_enter(c) : -1;
	s->args.bounded = limits_need_leaf(c, o->limit_mask);
	if (rc == 0 && s->args.bounded && s->args.leaf_fd < 0)
		rc = -EAGAIN;
	return rc < 0 ? rc : limits_prepare(c, o, s->args.leaf_fd, &s->limits);
}

/* Lays the command's descriptors at their numbers, clones, clears them. */
static int
clone_command(struct child *c)
{
	struct start_plan *plan = c->plan;
	struct spawn *s;
	bool in_leaf = false;
	int rc = spawn_place();

	if (rc == -ETIME)
		end_stuck(c);
	if (rc < 0 || (s = spawn_take()) == NULL)
		return -EBUSY;
	spawn_fill(c, s);
	s->filter = box_filter();
	if (plan->box_fd >= 0 && s->filter == NULL) {
		spawn_give(s);
		return -ENOSYS;
	}
	if (plan->box_fd >= 0)
		s->lent = spawn_lend_plan(s, plan);
	rc = enter_groups(c, s);
	atomic_store(&c->ring.hdr->limits, plan->order.limit_mask);
	FAULT("spawn.in-leaf");
	atomic_store(&c->ring.hdr->leaf, c->leaf);
	if (rc == 0)
		rc = spawn_lay(plan->child_end);
	if (rc == 0)
		rc = spawn_clone(s, &c->pid, &c->pidfd, &in_leaf);
	if (!in_leaf) {
		tree_leave(c, false);
		atomic_store(&c->ring.hdr->leaf, 0);
	}
	if (rc == 0 && spawn_is_boxed(s)) { /* pidfd is its porter's, too */
		c->porter = c->pid;
		c->pid = 0;
	}
	if (rc == 0)
		c->spawn = s;
	else
		spawn_give(s);
	return rc;
}

bool
start_is_awaited(const struct child *c)
{
	return c->ring.hdr == NULL ||
	    (atomic_load(&c->ring.hdr->flags) & CTL_START_AWAITED) != 0;
}

void
start_succeeded(struct child *c)
{
	c->oom_score_adj = c->plan->order.oom_score_adj;
	c->end_alone = (c->plan->order.flags & CTL_START_END_ALONE) != 0;
	c->end_passed = (c->plan->order.flags & CTL_START_END_PASSED) != 0 &&
	    c->w->keeper_passes;
	atomic_store(&c->ring.hdr->pid, c->pid);
	atomic_store(&c->ring.hdr->start_due_ns, RING_BEGUN);
	stats_observe(&c->w->stats->spawn, METRIC_CUT_WORK,
	    (clock_boot_ns() - c->plan->began_ns) / NSEC_PER_USEC);
	FAULT("spawn.after-pid");
	if (FAULT_FAILS("lie.start-twice"))
		(void)posix_spawn(&(pid_t){0}, c->plan->search.tries[0].path,
		    NULL, NULL, c->plan->argv, c->plan->envp);
	start_plan_free(c->plan); /* the command's ends: else no EOF ever */
	c->plan = NULL;
	stats_add(&c->w->stats->spawned, 1);
	child_set_state(c, CHILD_RUNNING, "exec");
	child_watch(c, !start_is_awaited(c));
	/* what is over in a moment needs none; whom it forks until then is
	 * found in its leaf */
	if (c->oom_score_adj != INT32_MIN && c->leaf != 0)
		c->oom_ns = c->w->now_ns + START_OOM_NS;
	else if (c->oom_score_adj != INT32_MIN)
		start_oom_score(c);
	ladder_arm(c);
}

/* Not this time: once more later, or never. A full channel to the keeper is no
 * fault of the session and costs it no try; nor do too many starts under way, a
 * broken channel, or a command without a parent: the keeper is dead, we end as
 * soon as that is read, and the next server says what became of the session. */
void
start_failed(struct child *c, int error, unsigned stage)
{
	struct start_plan *plan = c->plan;
	bool full = stage == STAGE_TELL && (error == EAGAIN ||
	    error == ENOBUFS || error == ETOOMANYREFS || error == EPIPE ||
	    error == ECONNRESET);
	bool orphaned = stage == STAGE_PARENT && error == ESRCH;
	bool waits = full || orphaned || error == EBUSY;
	bool again = waits || error == EAGAIN || error == ENOMEM ||
	    error == EMFILE || error == ENFILE;

	c->pid = 0;
	if (error == EMFILE || error == ENFILE)
		spare_drop_all();
	if (plan == NULL || stage == STAGE_EXEC || !again ||
	    (!waits && ++plan->tries >= START_TRIES)) {
		child_fail(c, error, stage);
		return;
	}
	c->retry_ns = c->w->now_ns + RETRY_MIN_MS * NSEC_PER_MSEC;
	if (error != EBUSY)
		c->retry_ns += arc4random_uniform(RETRY_SPAN_MS) * NSEC_PER_MSEC;
	ladder_arm(c);
}

/* Its spill file may lie where nobody ever answers. */
static void
await_spill(struct child *c)
{
	struct start_plan *plan = c->plan;
	uint64_t waited = c->w->now_ns - plan->began_ns;
	uint64_t step = waited / 4;

	if (waited >= start_limit_ns(&plan->order)) {
		snprintf(c->failed.path, sizeof(c->failed.path), "%s",
		    plan->spill);
		child_fail(c, ETIMEDOUT, STAGE_SPILL);
		return;
	}
	c->retry_ns = c->w->now_ns + (step < SPILL_LOOK_NS ? SPILL_LOOK_NS :
	    step > SPILL_WAIT_NS ? SPILL_WAIT_NS : step);
	ladder_arm(c);
}

/* To the clone, from wherever the last try came to. */
static int
try_once(struct child *c, unsigned *ret_stage)
{
	int rc;

	*ret_stage = STAGE_PREPARE;
	rc = start_prepare(c, ret_stage);
	if (rc < 0)
		return rc;
	header_fill(c);
	FAULT("spawn.before-hold");
	*ret_stage = STAGE_TELL;
	rc = hold(c);
	if (rc < 0)
		return rc;
	FAULT("spawn.after-hold");
	*ret_stage = STAGE_CLONE;
	rc = clone_command(c);
	FAULT("spawn.after-clone");
	/* by the next try: the row may have learnt this one's pid */
	c->rehold = c->w->keeper_reads && rc != -EBUSY;
	return rc;
}

/* One try, and another one at once where it lacked what we can give up. */
void
start_retry(struct child *c)
{
	unsigned stage;
	int rc;

	rc = try_once(c, &stage);
	if ((rc == -EMFILE || rc == -ENFILE) && tree_shed(c->w))
		rc = try_once(c, &stage);
	if (rc == -EINPROGRESS)
		await_spill(c);
	else if (rc < 0)
		start_failed(c, -rc, stage);
	else
		start_wait(c);
}

/* The order keeps it for another try, the header for a replacement. */
void
start_note_stdin(struct child *c, uint64_t end, bool eof)
{
	struct ring_header *hdr = c->ring.hdr;

	if (c->plan != NULL && end > c->plan->order.stdin_end)
		c->plan->order.stdin_end = end;
	if (c->plan != NULL && eof)
		c->plan->order.stdin_eof = 1;
	if (hdr == NULL)
		return;
	if (end > atomic_load(&hdr->spool_end))
		atomic_store(&hdr->spool_end, end);
	if (eof)
		atomic_store(&hdr->stdin_eof, 1);
	start_look_now(c);
}

void
start_note_credit(struct child *c, uint64_t credit)
{
	if (c->plan != NULL && credit > c->plan->order.credit)
		c->plan->order.credit = credit;
}

/* Nothing of it runs, or will by this order: what was made for it goes. */
void
start_undo(struct child *c)
{
	if (c->plan != NULL && c->plan->spill != NULL && c->ring.hdr != NULL)
		spill_undo(c);
}

/* The turn of a start: any master says how many came before. 0: no START. */
static uint64_t
turn_of(const struct ctl_msg *msg)
{
	struct ctl_start st;

	if (msg->size < CTL_START_MIN)
		return 0;
	memcpy(&st, msg->bytes, CTL_START_MIN);
	return TURN_OF_START((uint64_t)st.attempt + 1);
}

/* A new session. */
void
start_session(struct worker *w, struct ctl_msg *msg)
{
	uint64_t turn = turn_of(msg), closing;
	struct child *c;
	int rc;

	if (turn == 0 || msg->head.sid.v == 0 ||
	    !child_replace(child_find(w, msg->head.sid), turn, &closing)) {
		stats_add(&w->stats->malformed, 1);
		return;
	}
	c = child_new(w, msg->head.sid);
	if (c == NULL || (c->plan = calloc(1, sizeof(*c->plan))) == NULL) {
		log_event(LOG_ERROR, "start-refused",
		    KV("session", msg->head.sid.v), KV("why", "no memory"));
		if (c != NULL)
			child_fail(c, ENOMEM, STAGE_PREPARE);
		else
			w->lost = true; /* it never ran: another starts it */
		return;
	}
	c->hand_turn = turn;
	c->closing = closing;
	if (closing != 0)
		link_say(c, LINK_KEEPER, TELL_CLOSED);
	memset(c->plan->child_end, -1, sizeof(c->plan->child_end));
	c->plan->box_fd = -1;
	c->plan->began_ns = w->now_ns;
	rc = start_plan_make(c->plan, msg);
	if (rc == -EPROTO)
		stats_add(&w->stats->malformed, 1);
	if (rc < 0)
		child_fail(c, -rc, STAGE_PREPARE);
	else if (w->stopping)
		child_fail(c, ECANCELED, STAGE_PREPARE);
	else
		start_retry(c);
}
