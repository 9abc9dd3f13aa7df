/* SPDX-License-Identifier: MIT */
/*
 * GIVE: a dead worker's session, from the ring's header and what the keeper
 * holds. The keeper gives only what its dead owner can no longer touch.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "worker/ladder.h"
#include "worker/procfs.h"
#include "worker/pty.h"
#include "worker/spare.h"
#include "worker/spill.h"
#include "worker/start.h"
#include "worker/tree.h"

/* Takes the descriptors of `mask` out of the message, in bit order. */
static int
take_fds(struct child *c, struct ctl_msg *msg, uint32_t mask)
{
	int *const at[] = {&c->out[0].fd, &c->out[1].fd, &c->in.fd,
	    &c->pty.fd};
	size_t i, n = 0;

	for (i = 0; i < NELEMS(at); i++) {
		if ((mask & (1u << i)) == 0)
			continue;
		if (n == msg->nfds)
			return -EPROTO;
		*at[i] = msg->fds[n];
		msg->fds[n++] = -1;
	}
	return n == msg->nfds ? 0 : -EPROTO;
}

/* An exit that the dead worker had recorded already. */
static void
take_exit(struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;

	c->exit.code = atomic_load(&hdr->exit_code);
	if (c->exit.code == 0)
		return;
	c->exit.status = atomic_load(&hdr->exit_status);
	c->exit.pid = c->pid;
	c->exit.maxrss_kib = atomic_load(&hdr->maxrss_kib);
	c->exit.utime_us = atomic_load(&hdr->utime_us);
	c->exit.stime_us = atomic_load(&hdr->stime_us);
	c->exit.io_blocks = atomic_load(&hdr->io_blocks);
	c->exit.wall_ms = atomic_load(&hdr->exited_ms);
	c->exited_ns = c->w->now_ns; /* silence is counted anew */
}

/* Ring, process and descriptors. On an error stage and what is missing. */
static int
take_all(struct child *c, struct ctl_msg *msg, unsigned *ret_stage)
{
	struct ctl_give give;
	int rc;

	__builtin_memcpy(&give, msg->bytes, sizeof(give));
	*ret_stage = STAGE_PREPARE;
	rc = take_fds(c, msg, give.mask);
	if (rc < 0)
		return rc;
	*ret_stage = STAGE_CLONE;
	if (give.pid <= 1)
		return -ECHILD; /* held, but never cloned */
	c->pid = give.pid;
	c->ran = true;
	if (give.quarantined != 0)
		return -EOWNERDEAD;
	*ret_stage = STAGE_PREPARE;
	rc = ring_recover(c->w->dirfd, c->sid, &c->ring);
	if (rc < 0) {
		c->ring.hdr = NULL;
		return rc;
	}
	FAULT("take.after-recover");
	c->leaf = atomic_load(&c->ring.hdr->leaf);
	c->box = atomic_load(&c->ring.hdr->box);
	take_exit(c);
	if (c->exit.code == 0) {
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
		if (c->pidfd < 0)
			return -errno;
	}
	return 0;
}

/* Puts what was taken in order and goes on where the dead one stopped. */
void
start_taken_over(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;

	atomic_store(&hdr->pid, c->pid);
	atomic_store(&hdr->open_streams,
	    (c->out[0].fd >= 0 ? CTL_FD_OUT : 0u) |
	        (c->out[1].fd >= 0 ? CTL_FD_ERR : 0u));
	c->in.punched = 0;
	FAULT("take.in-header");
	spill_take_over(c);
	pty_take_over(c);
	FAULT("take.before-watch");
	c->blocks_seen = c->ring.blocks;
	stats_add(&c->w->stats->ring_bytes, c->blocks_seen);
	stats_add(&c->w->stats->taken_over, 1);
	stats_add(&c->w->stats->bytes_moved, c->ring.recovered);
	child_set_state(c, c->exit.code != 0 ? CHILD_EXITED : CHILD_RUNNING,
	    "taken over");
	ladder_take_over(c);
	child_watch(c, false);
}

/* Has its root exited? The keeper's zombie pins the pid. */
static bool
has_exited(const struct child *c)
{
	struct pollfd p = {.events = POLLIN};
	bool over;

	p.fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (p.fd < 0)
		return true;
	over = poll(&p, 1, 0) == 1;
	close(p.fd);
	return over;
}

/* What cannot be babysat must not run on. But a session whose end was told,
 * and which was then forgotten with its ring, has nothing to be killed for: it
 * died with its owner between END and CLOSED. */
static void
give_up(struct child *c, int error, unsigned stage)
{
	int *const fds[] = {&c->out[0].fd, &c->out[1].fd, &c->in.fd,
	    &c->pty.fd};
	bool forgotten = error == ENOENT && c->ring.hdr == NULL &&
	    c->pid > 1 && has_exited(c);

	if (!forgotten)
		log_event(LOG_WARN, "session-not-taken-over",
		    KV("session", c->sid.v), KV("error", err_name(error)));
	if (c->pid > 1 && !forgotten) {
		(void)kill(-c->pid, SIGKILL);
		tree_signal(c, SIGKILL, NULL);
	}
	/* nothing watches them yet, and there may be no header to note it in */
	for (size_t i = 0; i < NELEMS(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	child_fail(c, error, stage);
}

/* Nobody is before the exec of whom that was found out, whose command has written,
 * or who exited. The look in /proc is a third of what one that is silent costs. */
static bool
may_be_before_exec(const struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;

	return c->exit.code == 0 &&
	    atomic_load(&hdr->start_due_ns) != RING_BEGUN &&
	    atomic_load(&hdr->head) == 0 && procfs_before_exec(c->pid);
}

/* Is it this worker that cannot, at this moment? Then the session is not to
 * be blamed: the next worker is given it again. */
static bool
is_passing(int rc)
{
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

/* A dead worker's session. */
void
start_take_over(struct worker *w, struct ctl_msg *msg)
{
	struct ctl_give give;
	struct child *c;
	bool before_exec;
	uint64_t closing;
	unsigned stage;
	int rc;

	__builtin_memcpy(&give, msg->bytes, sizeof(give));
	if (give.turn == 0)
		give.turn = 1; /* handed over, that is all there is to be known */
	if (msg->size != sizeof(give) || msg->head.sid.v == 0 ||
	    !child_replace(child_find(w, msg->head.sid), give.turn, &closing)) {
		stats_add(&w->stats->malformed, 1);
		return;
	}
	c = child_new(w, msg->head.sid);
	if (c == NULL) {
		log_event(LOG_ERROR, "session-not-taken-over",
		    KV("session", msg->head.sid.v), KV("why", "no memory"));
		w->lost = true; /* the next worker is given it again */
		return;
	}
	c->held = true;
	c->hand_turn = give.turn;
	spare_drop_all(); /* what is taken over needs descriptors */
	rc = take_all(c, msg, &stage);
	before_exec = rc == 0 && may_be_before_exec(c);
	if (rc == 0 && atomic_load(&c->ring.hdr->exec_errno) != 0) {
		rc = -(int)atomic_load(&c->ring.hdr->exec_errno);
		c->ran = false;
		stage = atomic_load(&c->ring.hdr->exec_stage);
	}
	if (is_passing(rc)) {
		log_event(LOG_ERROR, "session-not-taken-over",
		    KV("session", c->sid.v), KV("error", err_name(-rc)));
		w->lost = true;
	} else if (rc < 0) {
		give_up(c, -rc, stage);
	} else if (before_exec) {
		start_adopt(c);
	} else {
		start_taken_over(c);
	}
}
