/* SPDX-License-Identifier: MIT */
/*
 * What comes in on a connection: frames, a bounded share a turn. Beyond 64
 * requests under way or 1 MiB of unread answers we stop reading, never refuse.
 */
#include "supervisor/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"

#define CONN_OUT_MAX (1u << 20)
#define CONN_READ    (64u << 10) /* bytes read in one turn */
#define CONN_FRAMES  32u         /* frames handled in one turn */

/* Is there room for another request? */
bool
conn_may_read(const struct conn *c)
{
	return !c->dead && !c->closing && c->nreqs < CONN_REQUESTS &&
	    conn_queued(c) < CONN_OUT_MAX;
}

/* Goes on with what is buffered, in the next turn. */
void
conn_more(struct conn *c)
{
	static const struct timeval now = {0, 0};

	if (!c->dead)
		evtimer_add(c->ev_more, &now);
}

/* A request has ended: there may be room again. */
void
conn_req_gone(struct conn *c)
{
	CHECK(c->nreqs > 0);
	c->nreqs--;
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

/* Handles buffered frames, a bounded number; stops where there is no room. */
static void
conn_frames(struct conn *c)
{
	size_t at = 0;
	unsigned n = 0;

	while (at < c->in_len && n < CONN_FRAMES) {
		size_t used;

		if (!conn_may_read(c)) {
			c->stalled = true;
			break;
		}
		used = frame_handle(c, c->in + at, c->in_len - at);
		if (used == 0)
			break;
		at += used;
		n++;
	}
	if (at > 0) {
		memmove(c->in, c->in + at, c->in_len - at);
		c->in_len -= at;
	}
	if (c->dead)
		return;
	if (c->stalled || c->closing)
		conn_pause(c);
	else if (n == CONN_FRAMES && c->in_len > 0)
		conn_more(c);
	else if (!event_pending(c->ev_read, EV_READ, NULL))
		conn_resume(c);
	if (c->in_len == 0 && c->in_cap > CONN_READ) {
		free(c->in);
		c->in = NULL;
		c->in_cap = 0;
	}
}

/* The buffered rest of the turn before. */
void
conn_on_more(int fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (!c->dead)
		conn_frames(c);
}

/* The peer of a connection that is not read has gone. */
void
conn_on_gone(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	conn_kill(arg);
}

/* Makes room for one more read. */
static bool
in_room(struct conn *c)
{
	size_t cap = c->in_cap != 0 ? c->in_cap : 4096;
	size_t limit = c->m->cfg.frame_bytes + CONN_READ;
	char *p;

	if (c->in_cap - c->in_len >= 2048)
		return true;
	while (cap - c->in_len < 4096 && cap < limit * 2)
		cap *= 2;
	p = realloc(c->in, cap);
	if (p == NULL)
		return false;
	c->in = p;
	c->in_cap = cap;
	return true;
}

/* The socket is readable. */
void
conn_on_read(int fd, short what, void *arg)
{
	struct conn *c = arg;
	size_t room;
	ssize_t n;

	(void)what;
	if (c->dead)
		return;
	if (!in_room(c)) {
		conn_kill(c);
		return;
	}
	room = c->in_cap - c->in_len;
	n = read(fd, c->in + c->in_len, room < CONN_READ ? room : CONN_READ);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_kill(c);
		return;
	}
	c->in_len += (size_t)n;
	if ((size_t)n == room && c->in_cap < CONN_READ)
		(void)in_room(c);
	conn_frames(c);
}
