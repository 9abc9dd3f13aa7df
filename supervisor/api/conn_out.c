/* SPDX-License-Identifier: MIT */
/*
 * What goes out on a connection: answers and notifications are staged during a
 * turn and move to the socket after its commit; marks say what is due once the
 * bytes before them are written.
 */
#include "supervisor/api/conn.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/reserve.h"

#define LONG_ANSWER 65536u /* bytes: it is not copied any more */
#define SEND_MAX    262144u /* bytes, of one connection at a time */

void
conn_mark(struct conn *c, const struct method *row, const void *what,
    size_t size)
{
	struct mark *mk = reserve_malloc(sizeof(*mk) + size);

	if (mk == NULL)
		return; /* the cursor is delivered again, the credit later */
	mk->at = c->out_total + evbuffer_get_length(c->staged);
	mk->staged = true;
	mk->row = row;
	memcpy(mk->what, what, size);
	TAILQ_INSERT_TAIL(&c->marks, mk, link);
	conn_activate(c);
}

/* What was behind it is out, or lost. */
static void
mark_fire(struct conn *c, struct mark *mk, bool lost)
{
	TAILQ_REMOVE(&c->marks, mk, link);
	mk->row->written(c->m, c, mk->what, lost);
	free(mk);
}

void
conn_marks_drop(struct conn *c, bool staged_only)
{
	struct mark *mk, *next;

	TAILQ_FOREACH_SAFE(mk, &c->marks, link, next)
		if (mk->staged || !staged_only)
			mark_fire(c, mk, true);
}

/* Remembers which request was answered in this turn. */
static void
answered(struct conn *c, uint32_t msgid)
{
	if (c->answered_count < CONN_REQUESTS * 2)
		c->answered[c->answered_count++] = msgid;
	conn_activate(c);
}

/* A msgid as msgpack. */
static size_t
put_msgid(unsigned char *p, uint32_t v)
{
	p[0] = 0xce;
	p[1] = (unsigned char)(v >> 24);
	p[2] = (unsigned char)(v >> 16);
	p[3] = (unsigned char)(v >> 8);
	p[4] = (unsigned char)v;
	return 5;
}

/* Room for what is staged in pieces. Without it the connection ends with this
 * turn: half an answer would be worse, and its client asks again. */
static bool
has_room(struct conn *c, size_t n)
{
	if (!c->torn && evbuffer_expand(c->staged, n) == 0)
		return true;
	c->torn = true;
	conn_activate(c);
	return false;
}

static void
on_sent(const void *, size_t, void *arg)
{
	free(arg);
}

/* Stages what was encoded; of a long one the memory itself. */
static void
put_encoded(struct conn *c, struct enc *e)
{
	if (e->len < LONG_ANSWER)
		evbuffer_add(c->staged, e->buf, e->len);
	else if (evbuffer_add_reference(c->staged, e->buf, e->len, on_sent,
		     e->buf) == 0)
		*e = (struct enc)ENC_INIT;
	else
		c->torn = true;
}

/* Stages [1, msgid, nil, result]. */
void
conn_answer(struct conn *c, uint32_t msgid, struct enc *result)
{
	unsigned char h[8] = {0x94, 0x01};
	size_t n = 2 + put_msgid(h + 2, msgid);

	if (c->dead)
		return;
	if (!has_room(c, n + 1 +
		(result->len < LONG_ANSWER ? result->len : 0)))
		return;
	h[n++] = 0xc0;
	evbuffer_add(c->staged, h, n);
	put_encoded(c, result);
	answered(c, msgid);
}

/* Stages [1, msgid, error, nil]. */
static void
put_failure(struct conn *c, uint32_t msgid, const struct proto_problem *p)
{
	struct evbuffer *to = c->staged;
	unsigned char h[8] = {0x94, 0x01};
	size_t n = 2 + put_msgid(h + 2, msgid);
	struct enc e = ENC_INIT;

	proto_encode_problem(&e, p);
	if (has_room(c, n + e.len + 2)) {
		evbuffer_add(to, h, n);
		if (e.failed) /* true: an error without words */
			evbuffer_add(to, "\xc3", 1);
		else
			evbuffer_add(to, e.buf, e.len);
		evbuffer_add(to, "\xc0", 1);
	}
	enc_fini(&e);
}

/* Stages an error. */
void
conn_fail(struct conn *c, uint32_t msgid, const struct proto_problem *p)
{
	if (c->dead)
		return;
	put_failure(c, msgid, p);
	answered(c, msgid);
}

/* Stages [2, method, [map]]; NULL: there was no memory for it. */
void
conn_notify(struct conn *c, const char *method, const void *map, size_t size)
{
	struct enc e = ENC_INIT;

	if (c->dead)
		return;
	enc_str(&e, method);
	if (e.failed || map == NULL) {
		c->torn = true;
	} else if (has_room(c, e.len + size + 3)) {
		evbuffer_add(c->staged, "\x93\x02", 2);
		evbuffer_add(c->staged, e.buf, e.len);
		evbuffer_add(c->staged, "\x91", 1);
		evbuffer_add(c->staged, map, size);
	}
	enc_fini(&e);
	conn_activate(c);
}

/* Fires the marks that have been reached. */
static void
marks_reach(struct conn *c)
{
	struct mark *mk;

	/* The analyzer takes what was removed for the first that is left. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	while ((mk = TAILQ_FIRST(&c->marks)) != NULL && !mk->staged &&
	    mk->at <= c->written) {
		mark_fire(c, mk, false);
		c->m->again = true;
	}
}

/* Some of it is out: who waits for that goes on. */
static void
has_sent(struct conn *c)
{
	struct req *r, *next;

	TAILQ_FOREACH_SAFE(r, &c->reqs, link, next)
		if (r->row->room != NULL)
			r->row->room(r);
	api_events_more(c, c->m);
	if (!TAILQ_EMPTY(&c->jobs))
		conn_ready(c);
	if (c->stalled && conn_may_read(c)) {
		c->stalled = false;
		conn_more(c);
	}
}

/* Writes what the socket takes, but no more at a time than others may wait
 * for: the rest is a unit of its own. */
static void
conn_flush(struct conn *c)
{
	size_t left = SEND_MAX;
	bool full = false;

	while (left > 0 && !full && evbuffer_get_length(c->out) > 0) {
		int n = evbuffer_write_atmost(c->out, c->fd,
		    (ev_ssize_t)left);

		if (n < 0 && errno == EINTR)
			continue;
		full = n < 0 && errno == EAGAIN;
		if (n <= 0 && !full) {
			conn_kill(c);
			return;
		}
		c->written += full ? 0 : (size_t)n;
		left -= full ? 0 : (size_t)n;
	}
	marks_reach(c);
	if (evbuffer_get_length(c->out) == 0) {
		if (c->closing)
			conn_kill(c);
	} else if (full) {
		event_add(c->ev_write, NULL);
	} else {
		c->sends = true;
		conn_ready(c);
	}
	conn_room_count(c);
	if (left < SEND_MAX && !c->dead)
		has_sent(c);
}

bool
conn_send_more(struct conn *c)
{
	if (!c->sends)
		return false;
	c->sends = false;
	conn_flush(c);
	return true;
}

/* The socket takes more. */
void
conn_on_write(int, short, void *arg)
{
	struct conn *c = arg;

	turn_begin(c->m);
	c->sends = true;
	conn_ready(c);
}

/* A commit failed: what this turn answered becomes an error. */
static void
conn_undo(struct conn *c)
{
	struct proto_problem p;

	evbuffer_drain(c->staged, evbuffer_get_length(c->staged));
	conn_marks_drop(c, true);
	proto_problem_set(&p, PROTO_E_NO_SPACE, "",
	    "no space: the index could not be written");
	for (size_t i = 0; i < c->answered_count; i++)
		put_failure(c, c->answered[i], &p);
	if (c->sub.next_after > c->sub.safe_after) {
		c->sub.next_after = c->sub.safe_after;
		c->m->events_sent = 0;
	}
}

/* After the commit: what was staged moves to the socket. */
void
conn_turn_end(struct master *m, bool committed)
{
	struct conn *c;
	size_t n = 0;

	TAILQ_FOREACH(c, &m->conns->active, active_link)
		n++;
	while (n-- > 0 && (c = TAILQ_FIRST(&m->conns->active)) != NULL) {
		struct mark *mk;
		struct req *r;

		TAILQ_REMOVE(&m->conns->active, c, active_link);
		c->active = false;
		if (c->dead) {
			conn_free(c);
			continue;
		}
		if (!committed)
			conn_undo(c);
		if (c->torn) {
			log_event(LOG_WARN, "connection-closed",
			    KV("why", "no memory for an answer"));
			conn_kill(c);
			continue;
		}
		c->answered_count = 0;
		c->sub.safe_after = c->sub.next_after;
		TAILQ_FOREACH(r, &c->reqs, link)
			if (r->row->committed != NULL)
				r->row->committed(r, committed);
		TAILQ_FOREACH(mk, &c->marks, link)
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
			mk->staged = false; /* as in marks_reach() */
		c->out_total += evbuffer_get_length(c->staged);
		evbuffer_add_buffer(c->out, c->staged);
		conn_room_count(c);
		if (!c->sends && !event_pending(c->ev_write, EV_WRITE, NULL))
			conn_flush(c);
	}
	if (!TAILQ_EMPTY(&m->conns->active))
		m->again = true;
}
