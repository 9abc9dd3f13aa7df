/* SPDX-License-Identifier: MIT */
/*
 * Feeds stdin. Called by recv.c when the spool has grown and by libevent
 * when the pipe has room. The consumed position is the kernel's, in the
 * header: a replacement worker goes on at the byte.
 */
#include "worker/input.h"

#include <errno.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/spool.h"
#include "worker/input_look.h"
#include "worker/ladder.h"
#include "worker/link.h"
#include "worker/pty.h"
#include "worker/pump.h"

/* Between two looks for who reads a terminal whose end of file is held. */
#define EOF_LOOK_NS (20 * NSEC_PER_MSEC)
#define EOF_SHIFT   5u

/* What is writable when there is room. */
static int
input_fd(const struct child *c)
{
	return c->pty.fd >= 0 ? c->pty.fd : c->in.fd;
}

/* Watches for room in the pipe, or not. */
static void
input_watching(struct child *c, bool on)
{
	if (c->in.fd < 0 || c->in.watching == on)
		return;
	if (on && event_add(&c->in.ev, NULL) != 0) {
		log_event(LOG_ERROR, "stdin-not-watched",
		    KV("session", c->sid.v));
		return;
	}
	if (!on)
		event_del(&c->in.ev);
	c->in.watching = on;
}

/* How much the command was given so far. */
static uint64_t
input_consumed(const struct child *c)
{
	return (uint64_t)RELAXED(c->ring.hdr->spool_off);
}

/* Both copies must go before the command sees its end of file. The master is
 * told unasked: it may be waiting to write more. */
void
input_close(struct child *c)
{
	if (c->in.spool_fd >= 0) {
		close(c->in.spool_fd);
		c->in.spool_fd = -1;
	}
	if (c->in.fd < 0)
		return;
	input_watching(c, false);
	close(c->in.fd);
	c->in.fd = -1;
	atomic_store(&c->ring.hdr->stdin_state, STDIN_CLOSED);
	FAULT("stdin.in-close");
	c->drop_mask |= CTL_FD_IN;
	/* at the end of a session CLOSED and END say the same */
	if (c->state < CHILD_ENDED || pump_is_open(c))
		link_say(c, LINK_KEEPER, TELL_DROP);
	if (c->state < CHILD_ENDED || c->in.watch_pos != UINT64_MAX)
		link_say(c, LINK_MASTER, SAY_STDIN_AT);
	c->in.watch_pos = UINT64_MAX;
}

/* Moves what the pipe takes. Returns 0: all there is was given, -EAGAIN: the
 * pipe is full or the turn is over, -errno. */
static int
input_move(struct child *c, uint64_t end)
{
	uint64_t moved = 0, used;
	ssize_t n;

	do {
		n = spool_splice(c->in.spool_fd, c->ring.hdr, c->in.fd, end);
		FAULT("stdin.after-splice");
		if (n <= 0)
			break;
		moved += (uint64_t)n;
	} while (moved < INPUT_TURN_BYTES);
	used = input_consumed(c);
	if (used >= c->in.punched + INPUT_PUNCH_BYTES)
		spool_punch(c->in.spool_fd, used, &c->in.punched);
	if (n > 0)
		return used < end ? -EAGAIN : 0;
	return (int)n;
}

/* The spool could not be opened or moved at this moment: asked again soon. What
 * was accepted is not thrown away because a descriptor was missing. */
static bool
input_later(struct child *c, int rc)
{
	if (rc != -EMFILE && rc != -ENFILE && rc != -ENOMEM)
		return false;
	input_watching(c, false);
	c->pty.retry_ns = c->w->now_ns + PTY_RETRY_MS * NSEC_PER_MSEC;
	ladder_arm(c);
	return true;
}

/* A terminal takes no more: it says when there is room, or is asked again. It
 * may say so and yet take nothing, hence not at once. */
static void
input_wait_pty(struct child *c, int rc, bool moved)
{
	bool later = rc == -EBUSY || rc == -EIO || (rc == -EAGAIN && !moved);

	input_watching(c, rc == -EAGAIN && moved);
	if (rc == -EBUSY && moved)
		link_say(c, LINK_MASTER, SAY_STDIN_AT);
	c->pty.retry_ns =
	    later ? c->w->now_ns + PTY_RETRY_MS * NSEC_PER_MSEC : 0;
	ladder_arm(c);
}

/* Up to where the spool may go to the terminal: not to the ^D at its end before
 * somebody is there who sees it. */
static uint64_t
input_end_pty(struct child *c)
{
	uint64_t end = atomic_load(&c->ring.hdr->spool_end);

	if (c->pty.eof_at >= end)
		return end;
	if (input_consumed(c) < c->pty.eof_at || !input_is_heard(c))
		return c->pty.eof_at;
	c->pty.eof_at = UINT64_MAX;
	return end;
}

/* What is held is looked at again, ever more rarely. */
static void
input_hold_pty(struct child *c)
{
	unsigned shift = c->pty.eof_looks < EOF_SHIFT ? c->pty.eof_looks
						      : EOF_SHIFT;
	uint64_t due = c->w->now_ns + (EOF_LOOK_NS << shift);

	if (c->pty.eof_at == UINT64_MAX)
		return;
	c->pty.eof_looks++;
	if (c->pty.retry_ns == 0 || due < c->pty.retry_ns)
		c->pty.retry_ns = due;
	ladder_arm(c);
}

/* The terminal's stdin: it stays open, whatever was written. */
static void
input_feed_pty(struct child *c)
{
	uint64_t end = input_end_pty(c);
	uint64_t given = c->pty.given;
	int rc = 0;

	if (input_consumed(c) < end && c->in.spool_fd < 0)
		c->in.spool_fd = rc = spool_open_read(c->w->dirfd, c->sid);
	if (rc >= 0)
		rc = pty_give(c, end);
	if (input_later(c, rc))
		return;
	if (rc < 0 && rc != -EAGAIN && rc != -EBUSY && rc != -EIO) {
		log_event(LOG_WARN, "stdin-closed", KV("session", c->sid.v),
		    KV("error", err_name(-rc)));
		input_close(c);
		return;
	}
	if (input_consumed(c) >= c->in.punched + INPUT_PUNCH_BYTES)
		spool_punch(c->in.spool_fd, input_consumed(c), &c->in.punched);
	input_wait_pty(c, rc, c->pty.given != given);
	input_hold_pty(c);
	if (c->in.watch_pos != UINT64_MAX)
		input_watch(c, c->in.watch_pos);
}

/* Opens the spool at its first use, moves, and decides what to wait for. */
static void
input_feed(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	uint64_t end = atomic_load(&hdr->spool_end);
	int rc = 0;

	if (c->in.fd < 0 || !child_ring_ok(c))
		return;
	if (c->pty.fd >= 0) {
		input_feed_pty(c);
		return;
	}
	if (input_consumed(c) < end) {
		if (c->in.spool_fd < 0)
			c->in.spool_fd = rc =
			    spool_open_read(c->w->dirfd, c->sid);
		if (rc >= 0)
			rc = input_move(c, end);
	}
	if (input_later(c, rc))
		return;
	if (rc < 0 && rc != -EAGAIN) {
		if (rc != -EPIPE)
			log_event(LOG_WARN, "stdin-closed",
			    KV("session", c->sid.v),
			    KV("error", err_name(-rc)));
		input_close(c);
		return;
	}
	if (rc == 0 && input_consumed(c) >= end &&
	    atomic_load(&hdr->stdin_eof)) {
		input_close(c);
		return;
	}
	input_watching(c, rc == -EAGAIN);
	if (c->in.watch_pos != UINT64_MAX)
		input_watch(c, c->in.watch_pos);
}

/* The pipe has room, or its reader is gone. */
static void
input_cb(evutil_socket_t fd, short, void *arg)
{
	struct child *c = arg;

	worker_begin(c->w, c->sid);
	if (c->in.fd >= 0 && input_fd(c) == fd)
		input_feed(c);
	worker_end(c->w);
}

/* From the header's position on. */
void
input_start(struct child *c)
{
	if (c->in.fd < 0)
		return;
	event_assign(&c->in.ev, c->w->base, input_fd(c), EV_WRITE | EV_PERSIST,
	    input_cb, c);
	input_feed(c);
}

/* The spool only grows and its end is said once. */
void
input_more(struct child *c, uint64_t end, bool eof)
{
	struct ring_header *hdr = c->ring.hdr;

	if (end > atomic_load(&hdr->spool_end))
		atomic_store(&hdr->spool_end, end);
	FAULT("stdin.in-more");
	if (eof)
		atomic_store(&hdr->stdin_eof, 1);
	if (c->in.fd < 0)
		link_say(c, LINK_MASTER, SAY_STDIN_AT);
	else
		input_feed(c);
}

/* Says STDIN_AT at once, or when it is so. */
void
input_watch(struct child *c, uint64_t pos)
{
	c->in.watch_pos = pos;
	if (c->in.fd >= 0 && input_consumed(c) <= pos)
		return;
	c->in.watch_pos = UINT64_MAX;
	link_say(c, LINK_MASTER, SAY_STDIN_AT);
}

/* As when the terminal had room. */
void
input_retry(struct child *c)
{
	c->pty.retry_ns = 0;
	if (c->in.fd >= 0)
		input_feed(c);
	else
		c->pty.answer_len = 0; /* nobody is there to read it */
}
