/* SPDX-License-Identifier: MIT */
/*
 * What comes in on a connection: a read and a frame a unit, in turns with the
 * jobs of its requests. Beyond 64 requests under way or 1 MiB of unread answers
 * we stop reading, never refuse.
 */
#include "supervisor/api/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"

#define CONN_OUT_MAX (1u << 20)
#define CONN_READ    (64u << 10) /* bytes of one read */
#define STARVED_MS   100u

bool
conn_takes_answers(const struct conn *c)
{
	return conn_queued(c) < CONN_OUT_MAX;
}

/* Is there room for another request? */
bool
conn_may_read(const struct conn *c)
{
	return !c->dead && !c->closing && c->nreqs < CONN_REQUESTS &&
	    conn_takes_answers(c) &&
	    (c->partial || !conn_room_starves(c));
}

void
conn_more(struct conn *c)
{
	c->input = true;
	conn_ready(c);
}

/* A request has ended: there may be room again. */
void
conn_req_gone(struct conn *c)
{
	CHECK(c->nreqs > 0);
	c->nreqs--;
	conn_room_idle(c);
	if (c->stalled && conn_may_read(c)) {
		c->stalled = false;
		conn_more(c);
	}
}

/* Reads no more for now. That its peer goes away must be seen all the same:
 * commands of its requests end with it. */
static void
conn_pause(struct conn *c)
{
	event_del(c->ev_read);
	event_add(c->ev_gone, NULL);
}

/* Reads again. */
static void
conn_resume(struct conn *c)
{
	event_del(c->ev_gone);
	event_add(c->ev_read, NULL);
}

/* The peer of a connection that is not read has gone. */
void
conn_on_gone(int, short, void *arg)
{
	struct conn *c = arg;

	turn_begin(c->m);
	conn_kill(c);
}

/* For those that are not read because their scope holds too much: is there
 * room again? */
static void
on_starved(int, short, void *arg)
{
	struct master *m = arg;
	struct conn *c;

	turn_begin(m);
	TAILQ_FOREACH(c, &m->conns->all, link)
		if (c->stalled) {
			c->stalled = false;
			conn_more(c);
		}
}

/* Makes room for one more read: the one place where it grows. */
static bool
in_room(struct conn *c)
{
	size_t cap = c->in_cap != 0 ? c->in_cap : CONN_INPUT;
	size_t limit = conn_frame_max(c) + CONN_READ;
	char *p;

	if (c->in_at > 0) {
		memmove(c->in, c->in + c->in_at, c->in_len - c->in_at);
		c->in_len -= c->in_at;
		c->in_at = 0;
	}
	if (c->in_cap - c->in_len >= 2048)
		return true;
	while (cap - c->in_len < 4096 && cap < limit * 2)
		cap *= 2;
	if (cap > CONN_INPUT && !conn_room_grow(c, cap - c->in_cap))
		return false;
	p = realloc(c->in, cap);
	if (p == NULL)
		return false;
	c->in = p;
	c->in_cap = cap;
	conn_room_count(c);
	return true;
}

/* All of it was handled: a large buffer is not kept. */
static void
in_empty(struct conn *c)
{
	c->in_at = c->in_len = 0;
	if (c->in_cap > CONN_READ)
		conn_in_free(c);
}

void
conn_in_free(struct conn *c)
{
	free(c->in);
	c->in = NULL;
	c->in_cap = 0;
	conn_room_count(c);
}

/* The socket is readable. Once is enough to know. */
void
conn_on_read(int, short, void *arg)
{
	struct conn *c = arg;

	turn_begin(c->m);
	if (c->input)
		event_del(c->ev_read);
	conn_more(c);
}

/* One read. true: something came. */
static bool
in_read(struct conn *c)
{
	size_t room;
	ssize_t n;

	if (!in_room(c)) {
		if (!c->closing)
			conn_kill(c);
		return false;
	}
	room = c->in_cap - c->in_len;
	n = read(c->fd, c->in + c->in_len, room < CONN_READ ? room : CONN_READ);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (!event_pending(c->ev_read, EV_READ, NULL))
			conn_resume(c);
		return false;
	}
	if (n <= 0) {
		conn_kill(c);
		return false;
	}
	c->in_len += (size_t)n;
	if ((size_t)n == room && c->in_cap < CONN_READ)
		(void)in_room(c);
	c->partial = false;
	return true;
}

/* A read where there is no whole frame, then a frame. true: there may be more
 * to do. */
static bool
in_unit(struct conn *c)
{
	size_t used;

	if (c->closing || !conn_may_read(c)) {
		c->stalled = !c->closing;
		conn_pause(c);
		if (c->stalled && conn_room_starves(c))
			timer_in(c->m, &c->m->conns->starved, on_starved,
			    c->m, STARVED_MS);
		return false;
	}
	if ((c->in_at == c->in_len || c->partial) && !in_read(c))
		return false;
	used = frame_handle(c, c->in + c->in_at, c->in_len - c->in_at);
	if (c->dead)
		return false;
	c->in_at += used;
	c->partial = used == 0 && !c->closing;
	if (c->in_at == c->in_len)
		in_empty(c);
	if ((c->in_at < c->in_len && !c->partial) || c->closing)
		return true;
	return !event_pending(c->ev_read, EV_READ, NULL);
}

/* The next job that may go on. */
static struct req *
next_job(const struct conn *c)
{
	struct req *r;

	TAILQ_FOREACH(r, &c->jobs, job_link)
		if (req_may(r))
			break;
	return r;
}

bool
conn_unit(struct conn *c, uint64_t until)
{
	struct req *r = next_job(c);

	c->m->conns->in_hand = c;
	if (conn_send_more(c))
		;
	else if (r != NULL && (c->job_next || !c->input)) {
		c->job_next = false;
		req_unit(r, until);
	} else if (c->input) {
		c->job_next = true;
		c->input = false; /* what happens meanwhile sets it again */
		if (in_unit(c))
			c->input = true;
	}
	c->m->conns->in_hand = NULL;
	return !c->dead && (c->sends || c->input || next_job(c) != NULL);
}
