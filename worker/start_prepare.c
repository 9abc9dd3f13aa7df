/* SPDX-License-Identifier: MIT */
/* What a command needs before it is cloned: its ring, its pipes or terminal, its
 * spill file. Called by start.c. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"
#include "common/rundir.h"
#include "worker/box.h"
#include "worker/pty.h"
#include "worker/spare.h"
#include "worker/spill.h"
#include "worker/start.h"
#include "worker/start_plan.h"
#include "worker/tree.h"

/* Does the command get a pipe as stdin? */
static bool
wants_stdin(const struct ctl_start *o)
{
	return (o->flags & CTL_START_STDIN_OPEN) != 0 || o->stdin_end > 0;
}

/* The ring. One left by an attempt that never ran is put out of the way: an
 * instance id names one run for ever, and the master says it has not run. */
static int
prepare_ring(struct child *c)
{
	const struct ctl_start *o = &c->plan->order;
	struct ring_geometry geo = {o->head_bytes, o->tail_bytes};
	char name[RUNDIR_NAME_MAX];
	int rc;

	if (c->ring.hdr != NULL)
		return 0;
	if (o->spare != 0 && spare_take(c->w, o, c->sid, &geo, &c->ring)) {
		c->blocks_seen = c->ring.blocks;
		stats_add(&c->w->stats->ring_bytes, c->blocks_seen);
		return 0;
	}
	rc = ring_create(c->w->dirfd, c->sid, c->w->heritage.incarnation,
	    &geo, &c->ring);
	if (rc == -EEXIST) {
		rundir_ring_name(c->sid, name);
		if (unlinkat(c->w->dirfd, name, 0) != 0 && errno != ENOENT)
			return -errno;
		rc = ring_create(c->w->dirfd, c->sid,
		    c->w->heritage.incarnation, &geo, &c->ring);
	}
	if (rc == 0) {
		c->blocks_seen = c->ring.blocks;
		stats_add(&c->w->stats->ring_bytes, c->blocks_seen);
	} else {
		c->ring.hdr = NULL;
	}
	return rc;
}

/* A pipe; our end does not block, the command's does. */
static int
prepare_pipe(int *ours, int *theirs, bool we_write)
{
	int fds[2];

	if (*ours >= 0)
		return 0;
	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	/* the only flag of a pipe that F_SETFL knows */
	if (fcntl(fds[we_write ? 1 : 0], F_SETFL, O_NONBLOCK) != 0) {
		close(fds[0]);
		close(fds[1]);
		return -EIO;
	}
	*ours = fds[we_write ? 1 : 0];
	*theirs = fds[we_write ? 0 : 1];
	return 0;
}

/* A terminal. Where none can be had the command gets pipes, and the header says
 * why; ^D is nothing for a pipe. */
static int
prepare_pty(struct child *c)
{
	struct start_plan *plan = c->plan;
	struct ctl_start *o = &plan->order;
	int rc;

	if (c->pty.fd >= 0)
		return 0;
	rc = pty_open(c, o->cols, o->rows, plan->child_end);
	if ((rc == -EMFILE || rc == -ENFILE) && tree_shed(c->w))
		rc = pty_open(c, o->cols, o->rows, plan->child_end);
	if (rc == 0) {
		if (o->pty_eof > 0)
			c->pty.eof_at = o->stdin_end - o->pty_eof;
		return 0;
	}
	log_event(LOG_WARN, "terminal-not-made", KV("session", c->sid.v),
	    KV("error", err_name(-rc)), KV("msg", "it gets pipes"));
	atomic_store(&c->ring.hdr->pty_error, (uint32_t)-rc);
	o->flags &= ~(uint32_t)CTL_START_PTY;
	o->stdin_end -= o->pty_eof < o->stdin_end ? o->pty_eof : o->stdin_end;
	return rc;
}

int
start_prepare(struct child *c, unsigned *ret_stage)
{
	struct start_plan *plan = c->plan;
	int rc;

	rc = prepare_ring(c);
	if (rc == 0 && (plan->order.flags & CTL_START_BOXED) != 0 &&
	    plan->box_fd < 0) {
		*ret_stage = STAGE_BOX;
		rc = c->w->keeper_porters
		    ? box_open(&plan->order, &plan->box_fd)
		    : -EOPNOTSUPP;
		if (rc < 0)
			return rc;
		*ret_stage = STAGE_PREPARE;
	}
	if (rc == 0 && plan->spill != NULL) {
		rc = spill_create(c, plan->spill, plan->order.spill_max,
		    plan->order.attempt > 0);
		if (rc < 0) {
			*ret_stage = STAGE_SPILL;
			return rc;
		}
	}
	if (rc == 0 && (plan->order.flags & CTL_START_PTY) != 0) {
		if (prepare_pty(c) == 0)
			return 0;
	}
	if (rc == 0)
		rc = prepare_pipe(&c->out[0].fd, &plan->child_end[1], false);
	if (rc == 0)
		rc = prepare_pipe(&c->out[1].fd, &plan->child_end[2], false);
	if (rc == 0 && wants_stdin(&plan->order))
		rc = prepare_pipe(&c->in.fd, &plan->child_end[0], true);
	return rc;
}
