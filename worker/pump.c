/* SPDX-License-Identifier: MIT */
/*
 * Moves output. Called by libevent when a pipe is readable and by ladder.c
 * when a stall is over. Positions and their safety are shm/ring.c's; here is
 * only: how much, when to stop, and what a full tmpfs and a credit mean.
 */
#include "worker/pump.h"

#include <errno.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fault.h"
#include "common/log.h"
#include "worker/input.h"
#include "worker/link.h"
#include "worker/pty.h"
#include "worker/spill.h"

/* Is any stream open? */
bool
pump_is_open(const struct child *c)
{
	return c->out[0].fd >= 0 || c->out[1].fd >= 0;
}

/* What is readable when there is output. */
static int
stream_fd(const struct child_out *s)
{
	return s->child->pty.fd >= 0 ? s->child->pty.fd : s->fd;
}

/* Adds or deletes the event of one stream. */
static void
stream_watch(struct child_out *s, bool on)
{
	if (s->fd < 0 || s->watching == on)
		return;
	if (on && event_add(&s->ev, NULL) != 0) {
		log_event(LOG_ERROR, "output-not-watched",
		    KV("session", s->child->sid.v));
		return;
	}
	if (!on)
		event_del(&s->ev);
	s->watching = on;
}

/* Both streams. */
static void
pump_watching(struct child *c, bool on)
{
	stream_watch(&c->out[0], on);
	stream_watch(&c->out[1], on);
}

/* Nobody can write any more: close, and let the keeper close its copy soon.
 * Most sessions end within moments, and CLOSED then says it all. */
static void
stream_eof(struct child_out *s)
{
	struct child *c = s->child;
	uint32_t bit = 1u << (s - c->out);
	struct ring_header *hdr = c->ring.hdr;

	stream_watch(s, false); /* before close: the keeper holds it too */
	if (c->pty.fd >= 0) {
		input_close(c);
		pty_close(c);
		bit |= CTL_FD_PTY;
	}
	close(s->fd);
	s->fd = -1;
	atomic_store(&hdr->open_streams,
	    atomic_load(&hdr->open_streams) & ~bit);
	FAULT("pump.at-eof");
	c->drop_mask |= bit;
	if (c->drop_ns == 0)
		c->drop_ns = c->w->now_ns + CHILD_SILENCE_MS * NSEC_PER_MSEC;
}

/* Nobody has the terminal open. While the command runs somebody may open it
 * again, as it can /dev/tty; once its leader is dead it is nobody's.
 * Returns 0: the end, -EAGAIN: look again later. */
static int
pump_pty_end(struct child *c)
{
	if (c->state >= CHILD_EXITING)
		return 0;
	c->refill_ns = c->w->now_ns + PTY_RETRY_MS * NSEC_PER_MSEC;
	pump_watching(c, false);
	return -EAGAIN;
}

/* One splice into the ring. A terminal's bytes go through its pipe, which is
 * empty before it is filled again: small writes would fill its places. No more
 * is fetched than may be moved, for ptmx does not say what lies in the pipe. */
static ssize_t
pump_take(struct child_out *s, size_t max)
{
	struct child *c = s->child;
	enum ring_stream stream = (enum ring_stream)(s - c->out);
	uint64_t before = ring_pos(&c->ring);
	ssize_t n;

	n = ring_splice(&c->ring, s->fd, stream, max, c->w->now_ms);
	if (c->pty.fd < 0)
		return n;
	if (n == -EAGAIN) {
		n = pty_fetch(c, max);
		if (n > 0)
			n = ring_splice(&c->ring, s->fd, stream, max,
			    c->w->now_ms);
		else if (n == 0)
			n = pump_pty_end(c);
	}
	if (n > 0)
		pty_look(c, before);
	return n;
}

/* What may be moved in this call; 0: nothing until the credit is raised. A
 * session that is being ended by force is not held up by its reader. */
static size_t
pump_allowed(const struct child *c, size_t budget)
{
	const struct ring_header *hdr = c->ring.hdr;
	size_t max = budget < RING_MAX_SPLICE ? budget : RING_MAX_SPLICE;
	uint64_t credit, pos;

	if ((RELAXED(hdr->flags) &
	        CTL_START_LOSSLESS) == 0 ||
	    c->killed)
		return max;
	credit = RELAXED(hdr->credit);
	if (credit == UINT64_MAX)
		return max;
	pos = ring_pos(&c->ring);
	if (pos >= credit)
		return 0;
	return credit - pos < max ? (size_t)(credit - pos) : max;
}

/* The ring cannot be written now, which is no end. After a second what comes is
 * dropped and counted, because a command must not hang on us.
 * Returns bytes dropped, 0 at EOF, -EAGAIN: wait. */
static ssize_t
pump_stall(struct child_out *s, size_t max)
{
	struct child *c = s->child;
	struct worker *w = c->w;

	if (c->stalled_ns == 0)
		c->stalled_ns = w->now_ns;
	if (w->now_ns - c->stalled_ns >= PUMP_STALL_MS * NSEC_PER_MSEC)
		return ring_discard(&c->ring, s->fd,
		    (enum ring_stream)(s - c->out), max);
	c->refill_ns = w->now_ns + PUMP_REFILL_MS * NSEC_PER_MSEC;
	pump_watching(c, false);
	return -EAGAIN;
}

/* The tmpfs is full: meanwhile the master may make room. */
static ssize_t
pump_no_space(struct child_out *s, size_t max)
{
	struct child *c = s->child;

	if (c->no_space_ns == 0 ||
	    c->w->now_ns - c->no_space_ns >= NSEC_PER_SEC) {
		c->no_space_ns = c->w->now_ns;
		link_say(c, LINK_MASTER, SAY_NO_SPACE);
	}
	return pump_stall(s, max);
}

/* The ring cannot be written for a reason that nobody has thought of. */
static ssize_t
pump_unexpected(struct child_out *s, size_t max, int error)
{
	struct child *c = s->child;

	if (c->stalled_ns == 0)
		log_event(LOG_ERROR, "output-lost", KV("session", c->sid.v),
		    KV("error", err_name(error)));
	return pump_stall(s, max);
}

/* Is it an answer of splice's that means nothing special, or is met below? */
static bool
is_expected(ssize_t n)
{
	return n >= 0 || n == -EAGAIN || n == -EINTR || n == -ENOMEM ||
	    n == -EMFILE || n == -ENFILE || n == -EBADMSG || n == -EFAULT;
}

/* In a test build: loses what psup-chaos must miss. */
static void
lie(const struct child_out *s)
{
	char byte;

	if (FAULT_FAILS("lie.byte-lost"))
		(void)!read(s->fd, &byte, 1);
}

/* One system call's worth. Returns bytes, 0 at EOF, -EAGAIN: no more now. */
static ssize_t
pump_once(struct child_out *s, size_t budget)
{
	struct child *c = s->child;
	size_t max = pump_allowed(c, budget);
	ssize_t n;

	if (max == 0) {
		c->paused = true;
		pump_watching(c, false);
		return -EAGAIN;
	}
	max = spill_room(c, max);
	if (max == 0) {
		c->refill_ns = c->w->now_ns + SPILL_LOOK_NS;
		pump_watching(c, false);
		return -EAGAIN;
	}
	lie(s);
	n = pump_take(s, max);
	FAULT("pump.after-splice");
	if (n > 0)
		c->stalled_ns = 0;
	if (n == -ENOSPC)
		n = pump_no_space(s, max);
	else if (!is_expected(n))
		n = pump_unexpected(s, max, (int)-n);
	/* here, not once a turn: what a killed worker had moved and not
	 * published its successor counts (take.c) */
	if (n > 0)
		stats_add(&c->w->stats->bytes_moved, (uint64_t)n);
	if (n > 0)
		spill_step(c);
	if (n == -ENOMEM || n == -EMFILE || n == -ENFILE) {
		/* short of something for a moment; the pipe keeps the bytes */
		c->refill_ns = c->w->now_ns + PUMP_REFILL_MS * NSEC_PER_MSEC;
		pump_watching(c, false);
		return -EAGAIN;
	}
	if (n == -EBADMSG || n == -EFAULT) /* child_step() finds out */
		return -EAGAIN;
	return is_expected(n) ? n : 0; /* not even thrown away: the end */
}

/* ptmx is what is watched, and it may be silent for ever: bytes that a dead
 * worker, a full tmpfs or a turn's end left in the pipe are moved unasked. */
static void
pump_staged(struct child *c)
{
	if (pty_staged(c))
		event_active(&c->out[0].ev, EV_READ, 0);
}

/* Writes down that output came. */
static void
pump_note(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	struct worker *w = c->w;

	SET_RELAXED(hdr->last_output_ns, w->now_ns);
	SET_RELAXED(hdr->last_output_ms, w->now_ms);
	if (c->ring.blocks != c->blocks_seen) {
		stats_add(&w->stats->ring_bytes,
		    c->ring.blocks - c->blocks_seen);
		c->blocks_seen = c->ring.blocks;
	}
	if (c->watch_pos != UINT64_MAX)
		pump_watch(c, c->watch_pos);
}

/* Up to its share of a turn from one stream. A short splice mostly means an
 * empty pipe; asking again would cost a system call for each small write. Once
 * the command has exited the end of the pipe is worth that call. */
static void
pump_turn(struct child_out *s)
{
	struct child *c = s->child;
	struct worker *w = c->w;
	bool moved = false;
	uint64_t limit = PUMP_TURN_BYTES;
	ssize_t n = 1;

	if (!child_ring_ok(c)) {
		child_step(c);
		return;
	}
	if (c->turn != w->turn) {
		c->turn = w->turn;
		c->turn_bytes = 0;
	}
	if (c->turn_bytes == 0 && c->out[0].fd >= 0 && c->out[1].fd >= 0)
		limit = PUMP_TURN_BYTES / 2;
	do {
		if (c->turn_bytes >= limit)
			break;
		n = pump_once(s, (size_t)(limit - c->turn_bytes));
		if (n == 0)
			stream_eof(s);
		if (n <= 0)
			break;
		moved = true;
		c->turn_bytes += (uint64_t)n;
	} while (n == RING_MAX_SPLICE || c->state >= CHILD_EXITING ||
	    c->pty.fd >= 0);
	if (moved)
		pump_note(c);
	if (n != 0 && n != -EAGAIN && c->refill_ns == 0 && pty_staged(c))
		c->refill_ns = w->now_ns; /* the next turn */
	if (c->pty.answer_len > 0)
		input_retry(c);
	child_step(c);
}

/* A pipe is readable, or at its end. */
static void
pump_cb(evutil_socket_t fd, short, void *arg)
{
	struct child_out *s = arg;

	worker_begin(s->child->w, s->child->sid);
	if (stream_fd(s) == fd)
		pump_turn(s);
	worker_end(s->child->w);
}

/* Watches what is open. */
void
pump_start(struct child *c)
{
	struct child_out *s;

	for (s = c->out; s < c->out + 2; s++)
		if (s->fd >= 0)
			event_assign(&s->ev, c->w->base, stream_fd(s),
			    EV_READ | EV_PERSIST, pump_cb, s);
	if (c->pid_dead && c->pty.fd < 0)
		return;
	pump_watching(c, true);
	pump_staged(c);
}

void
pump_finish(struct child *c)
{
	struct child_out *s;

	if (c->pty.fd >= 0)
		return;
	for (s = c->out; s < c->out + 2; s++) {
		if (s->fd >= 0 && !c->paused && c->refill_ns == 0)
			pump_turn(s);
		if (!c->paused && c->refill_ns == 0)
			stream_watch(s, true);
	}
}

/* There is no ring to move it to: each is at its end. */
void
pump_give_up(struct child *c)
{
	struct child_out *s;

	for (s = c->out; s < c->out + 2; s++)
		if (s->fd >= 0)
			stream_eof(s);
}

/* Closes both. */
void
pump_stop(struct child *c)
{
	struct child_out *s;

	if (c->pty.fd >= 0) {
		stream_watch(&c->out[0], false);
		input_close(c);
		pty_close(c);
	}
	for (s = c->out; s < c->out + 2; s++) {
		if (s->fd < 0)
			continue;
		stream_watch(s, false);
		close(s->fd);
		s->fd = -1;
	}
}

/* Watch again and see. */
void
pump_resume(struct child *c)
{
	c->paused = false;
	c->refill_ns = 0;
	c->resumed_ns = c->w->now_ns;
	pump_watching(c, true);
	pump_staged(c);
}

/* Says OUTPUT at once, or when there is some. */
void
pump_watch(struct child *c, uint64_t pos)
{
	c->watch_pos = pos;
	if (atomic_load(&c->ring.hdr->head) <= pos)
		return;
	c->watch_pos = UINT64_MAX;
	link_say(c, LINK_MASTER, SAY_OUTPUT);
}
