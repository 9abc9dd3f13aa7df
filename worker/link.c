/* SPDX-License-Identifier: MIT */
/*
 * The outgoing half of both channels: which message a bit stands for and how
 * it is made from the session. Called by everything in worker/. Does not
 * receive: that is recv.c.
 */
#include "worker/link.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/fault.h"

union link_msg {
	struct ctl_head head;
	struct ctl_running running;
	struct ctl_exited exited;
	struct ctl_turn turn;
	struct ctl_pos pos;
	struct ctl_stdin in;
	struct ctl_input input;
	struct ctl_end end;
	struct ctl_left left;
	struct ctl_failed failed;
	struct ctl_fds fds;
	struct ctl_pid pid;
};

/* CLOSED: for the turn that was closed, which another may have followed. */
static void
make_closed(const struct child *c, union link_msg *ret)
{
	ret->turn = (struct ctl_turn){.turn = c->closing};
}

/* What a process that reads the session's stdin has open. */
static uint64_t
stdin_node(const struct child *c)
{
	struct stat st;

	if (c->in.fd < 0)
		return 0;
	if (c->pty.fd >= 0)
		return UINT64_C(1) + atomic_load(&c->ring.hdr->pty_index);
	return fstat(c->in.fd, &st) == 0 ? st.st_ino : 0;
}

/* RUNNING: pid and times. How it exited the keeper may know alone; who is still to
 * ask the keeper says so with the exit: "exited" by itself is one more record. */
static void
make_running(const struct child *c, union link_msg *ret)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t started_ns = atomic_load(&hdr->started_ns);
	uint64_t deadline_ns = atomic_load(&hdr->deadline_ns);

	ret->running = (struct ctl_running){.pid = c->pid,
	    .exited = c->exited_ns != 0,
	    .pty = (atomic_load(&hdr->pty_flags) & PTY_OPEN) != 0,
	    .pty_error = atomic_load(&hdr->pty_error),
	    .stdin_node = stdin_node(c),
	    .started_ms = atomic_load(&hdr->started_ms),
	    .starting = c->state == CHILD_SPAWNING,
	    .turn = c->hand_turn};
	if (deadline_ns > started_ns)
		ret->running.deadline_ms = ret->running.started_ms +
		    (deadline_ns - started_ns) / 1000000u;
}

/* EXITED: what the keeper told us. */
static void
make_exited(const struct child *c, union link_msg *ret)
{
	ret->exited = (struct ctl_exited){.exit = c->exit, .turn = c->hand_turn};
}

/* OUTPUT: where the head is now. */
static void
make_output(const struct child *c, union link_msg *ret)
{
	ret->pos = (struct ctl_pos){.pos = atomic_load(&c->ring.hdr->head)};
}

/* STDIN_AT: how much the command was given. */
static void
make_stdin_at(const struct child *c, union link_msg *ret)
{
	ret->in = (struct ctl_stdin){.eof = c->in.fd < 0,
	    .pos = (uint64_t)atomic_load(&c->ring.hdr->spool_off)};
}

/* INPUT: what was found when the master asked. */
static void
make_input(const struct child *c, union link_msg *ret)
{
	ret->input = (struct ctl_input){.waits = c->in.waits, .stamp = c->in.stamp};
}

/* END: the frozen record. */
static void
make_end(const struct child *c, union link_msg *ret)
{
	ret->end = c->end;
	ret->end.turn = c->hand_turn;
	FAULT("end.before-send");
}

/* LEFT: the same record, as far as that goes on. */
static void
make_left(const struct child *c, union link_msg *ret)
{
	ret->left = (struct ctl_left){.holders = c->end.holders,
	    .remaining = c->end.remaining, .named = c->end.named};
	memcpy(ret->left.remaining_pids, c->end.remaining_pids,
	    sizeof(ret->left.remaining_pids));
	memcpy(ret->left.holder, c->end.holder, sizeof(ret->left.holder));
}

/* FAILED: errno and stage. */
static void
make_failed(const struct child *c, union link_msg *ret)
{
	ret->failed = c->failed;
	ret->failed.turn = c->hand_turn;
}

/* ASK_EXIT: the keeper need not look for the pid. */
static void
make_ask_exit(const struct child *c, union link_msg *ret)
{
	ret->pid = (struct ctl_pid){.pid = c->pid};
}

/* DROP: everything at EOF that the keeper does not know of. */
static void
make_drop(const struct child *c, union link_msg *ret)
{
	ret->fds = (struct ctl_fds){.mask = c->drop_mask};
}

struct link_row {
	unsigned bit;
	uint16_t type;
	size_t size;
	/* all but the head; NULL: there is no more */
	void (*make)(const struct child *c, union link_msg *ret);
};
#define ROW(bit, type, of, make) {bit, type, sizeof(struct of), make}

/* In the order in which a session's bits are sent; bit 0 ends a row. */
static const struct link_row rows[LINK_COUNT][10] = {
    [LINK_KEEPER] =
        {
            ROW(TELL_END, CTL_END, ctl_end, make_end),
            ROW(TELL_ASK_EXIT, CTL_ASK_EXIT, ctl_pid, make_ask_exit),
            ROW(TELL_DROP, CTL_DROP, ctl_fds, make_drop),
            ROW(TELL_CLOSED, CTL_CLOSED, ctl_turn, make_closed),
        },
    [LINK_MASTER] =
        {
            ROW(SAY_RUNNING, CTL_RUNNING, ctl_running, make_running),
            ROW(SAY_EXITED, CTL_EXITED, ctl_exited, make_exited),
            ROW(SAY_NO_SPACE, CTL_NO_SPACE, ctl_head, NULL),
            ROW(SAY_OUTPUT, CTL_OUTPUT, ctl_pos, make_output),
            ROW(SAY_STDIN_AT, CTL_STDIN_AT, ctl_stdin, make_stdin_at),
            ROW(SAY_INPUT, CTL_INPUT, ctl_input, make_input),
            ROW(SAY_END, CTL_END, ctl_end, make_end),
            ROW(SAY_LEFT, CTL_LEFT, ctl_left, make_left),
            ROW(SAY_FAILED, CTL_FAILED, ctl_failed, make_failed),
        },
};

void
link_init(struct worker *w, enum link_to to)
{
	w->link[to].fd = -1;
	TAILQ_INIT(&w->link[to].queue);
}

/* There is room again. */
static void
link_write_cb(evutil_socket_t fd, short, void *arg)
{
	struct worker *w = arg;
	enum link_to to;

	worker_begin(w, (struct sid){0});
	for (to = 0; to < LINK_COUNT; to++)
		if (w->link[to].fd == fd) {
			w->link[to].writing = false;
			link_flush(w, to);
			/* a FAILED may have waited for its CLOSED */
			w->link[LINK_MASTER].due |= to == LINK_KEEPER;
		}
	worker_end(w);
}

/* Takes over fd and watches it. */
int
link_open(struct worker *w, enum link_to to, int fd, event_callback_fn cb)
{
	struct link *l = &w->link[to];

	CHECK(l->fd < 0);
	l->fd = fd;
	l->writing = l->dump_end = false;
	event_assign(&l->read_ev, w->base, fd, EV_READ | EV_PERSIST, cb, w);
	event_assign(&l->write_ev, w->base, fd, EV_WRITE, link_write_cb, w);
	if (event_add(&l->read_ev, NULL) != 0) {
		l->fd = -1;
		return -ENOMEM;
	}
	return 0;
}

/* Nobody listens any more: unsay everything, close. */
void
link_close(struct worker *w, enum link_to to)
{
	struct link *l = &w->link[to];
	struct child *c;

	if (l->fd < 0)
		return;
	event_del(&l->read_ev);
	event_del(&l->write_ev);
	close(l->fd);
	l->fd = -1;
	l->writing = l->dump_end = false;
	l->late_ns = 0;
	while ((c = TAILQ_FIRST(&l->queue)) != NULL) {
		TAILQ_REMOVE(&l->queue, c, say[to]);
		c->queued[to] = false;
		c->want[to] = 0;
		child_settle(c);
	}
}

/* Waits for room. Where even that fails the next link_say tries again. */
static void
link_wait(struct link *l)
{
	l->writing = event_add(&l->write_ev, NULL) == 0;
}

/* Sends one message of one session. */
static int
link_send(struct worker *w, enum link_to to, struct child *c,
    const struct link_row *row)
{
	union link_msg msg;
	int rc;

	memset(&msg, 0, sizeof(msg));
	if (row->make != NULL)
		row->make(c, &msg);
	msg.head = (struct ctl_head)CTL_INIT(row->type, c->sid, struct ctl_head);
	msg.head.size = (uint32_t)row->size;
	rc = ctl_send(w->link[to].fd, &msg, msg.head.size, NULL, 0);
	if (rc < 0)
		return rc;
	c->want[to] &= ~row->bit;
	if (row->type == CTL_END)
		FAULT("end.after-send");
	if (row->type == CTL_CLOSED)
		FAULT("end.after-closed");
	if (row->type == CTL_RUNNING)
		FAULT("spawn.after-running");
	if (row->type == CTL_DROP)
		c->drop_mask = 0;
	return 0;
}

/* The keeper must have forgotten a session that was not spawned when the master
 * has it started elsewhere: were we killed between the two, it would find the
 * other one's command by the ring and hand it over. */
static bool
keeper_has_heard(struct worker *w, const struct child *c)
{
	if ((c->want[LINK_KEEPER] & TELL_CLOSED) != 0)
		link_flush(w, LINK_KEEPER);
	return (c->want[LINK_KEEPER] & TELL_CLOSED) == 0;
}

/* Sends all bits of one session, in order. -EBUSY: the keeper's channel is full,
 * link_write_cb() goes on. */
static int
link_send_all(struct worker *w, enum link_to to, struct child *c)
{
	const unsigned all = SAY_RUNNING | SAY_EXITED | SAY_END;
	const struct link_row *row;
	int rc;

	if (to == LINK_MASTER && c->end_alone &&
	    (c->want[to] & all) == (SAY_RUNNING | SAY_END))
		c->want[to] &= ~(unsigned)SAY_RUNNING;
	for (row = rows[to]; row->bit != 0; row++) {
		if ((c->want[to] & row->bit) == 0)
			continue;
		if (row->type == CTL_FAILED && !keeper_has_heard(w, c))
			return -EBUSY;
		rc = link_send(w, to, c, row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Sends until the queue is empty, the channel full, or the turn long, if another
 * one follows. A peer that is gone is noticed by the reader. */
void
link_flush(struct worker *w, enum link_to to)
{
	struct link *l = &w->link[to];
	struct child *c;
	struct ctl_head end =
	    CTL_INIT(CTL_DUMP_END, (struct sid){0}, struct ctl_head);
	uint64_t until = clock_boot_ns() + WORKER_TURN_NS / 2;
	int rc = 0;

	l->late_ns = 0;
	if (l->fd < 0 || (l->writing && !w->leaving))
		return;
	while ((c = TAILQ_FIRST(&l->queue)) != NULL) {
		rc = w->leaving || clock_boot_ns() < until
		    ? link_send_all(w, to, c) : -EAGAIN;
		if (rc < 0)
			break;
		TAILQ_REMOVE(&l->queue, c, say[to]);
		c->queued[to] = false;
		child_settle(c);
	}
	if (rc == 0 && l->dump_end)
		rc = ctl_send(l->fd, &end, sizeof(end), NULL, 0);
	l->dump_end = l->dump_end && rc != 0;
	if (rc == -EAGAIN || rc == -ENOBUFS || rc == -ENOMEM)
		link_wait(l);
}

void
link_turn_end(struct worker *w)
{
	enum link_to to;

	for (to = 0; to < LINK_COUNT; to++) {
		struct link *l = &w->link[to];

		if (l->due || w->leaving ||
		    (l->late_ns != 0 && l->late_ns <= clock_boot_ns()))
			link_flush(w, to);
		l->due = false;
	}
}

/* Marks. False: nobody listens. */
static bool
mark(struct child *c, enum link_to to, unsigned bits)
{
	struct worker *w = c->w;

	if (w->link[to].fd < 0)
		return false;
	c->want[to] |= bits;
	if (!c->queued[to]) {
		TAILQ_INSERT_TAIL(&w->link[to].queue, c, say[to]);
		c->queued[to] = true;
	}
	return true;
}

void
link_say_late(struct child *c, enum link_to to, unsigned bits)
{
	struct link *l = &c->w->link[to];

	if (mark(c, to, bits) && l->late_ns == 0)
		l->late_ns = worker_late_ns(c->w);
}

uint64_t
link_due_ns(const struct worker *w, uint64_t latest)
{
	enum link_to to;

	for (to = 0; to < LINK_COUNT; to++)
		if (w->link[to].late_ns != 0 && w->link[to].late_ns < latest)
			latest = w->link[to].late_ns;
	return latest;
}

/* Marks, to be sent. */
void
link_say(struct child *c, enum link_to to, unsigned bits)
{
	struct worker *w = c->w;

	if (!mark(c, to, bits))
		return;
	/* where sessions arrive one after the other the master hears that they
	 * run after the last one; what else there is does not wait */
	if (to != LINK_MASTER || !w->taking ||
	    (bits & ~(unsigned)(SAY_RUNNING | SAY_EXITED)) != 0)
		w->link[to].due = true;
}

/* Takes the session out of both queues. */
void
link_forget(struct child *c)
{
	enum link_to to;

	for (to = 0; to < LINK_COUNT; to++) {
		if (!c->queued[to])
			continue;
		TAILQ_REMOVE(&c->w->link[to].queue, c, say[to]);
		c->queued[to] = false;
		c->want[to] = 0;
	}
}
