/* SPDX-License-Identifier: MIT */
/*
 * Client connections: accept, frames in, answers out. Everything a client
 * sends is bounded: 64 requests under way, 1 MiB of unread answers, a share
 * of bytes a turn; beyond it we stop reading, never refuse. Answers are
 * staged during a turn and move to the socket after its commit.
 */
#include "supervisor/conn.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "shm/stats.h"

#define CONN_REQUESTS 64u
#define CONN_OUT_MAX  (1u << 20)
#define CONN_READ     (64u << 10) /* bytes read in one turn */
#define CONN_FRAMES   32u         /* frames handled in one turn */
#define CONN_SPARE    64u         /* descriptors that clients do not get */

struct conn_list {
	TAILQ_HEAD(, conn) all, active;
	size_t count;
	struct event *ev;
	int reserve; /* given up for a moment where accept finds no number */
	uint64_t warned_ns;
};

/* Puts the connection on the list of those that the turn's end looks at. */
static void
conn_activate(struct conn *c)
{
	if (c->active)
		return;
	c->active = true;
	TAILQ_INSERT_TAIL(&c->m->conns->active, c, active_link);
}

/* How many connections are open. */
size_t
conn_count(const struct master *m)
{
	return m->conns != NULL ? m->conns->count : 0;
}

/* NULL: admin. */
const char *
conn_scope(const struct conn *c)
{
	return c->scoped ? c->scope : NULL;
}

/* May it use process? */
bool
conn_process(const struct conn *c)
{
	return c->process;
}

/* Bytes that wait to be written. */
size_t
conn_queued(const struct conn *c)
{
	return evbuffer_get_length(c->out) + evbuffer_get_length(c->staged);
}

/* The subscriber of this connection. */
struct subscriber *
conn_subscriber(struct conn *c)
{
	return &c->sub;
}

/* Calls fn for every connection that lives. */
void
conn_each(struct master *m, void (*fn)(struct conn *, void *), void *arg)
{
	struct conn *c;

	TAILQ_FOREACH(c, &m->conns->all, link)
		if (!c->dead)
			fn(c, arg);
}

/* Binds scope and rights, once and before anything else. */
int
conn_set_hello(struct conn *c, const char *scope, bool process,
    const char *client)
{
	if (c->hello || c->requests > 1)
		return -EALREADY;
	c->hello = true;
	c->process = process;
	if (scope != NULL) {
		c->scoped = true;
		strlcpy(c->scope, scope, sizeof(c->scope));
	}
	strlcpy(c->client, client, sizeof(c->client));
	return 0;
}

/* A place in the byte stream at which something is due. */
static void
mark_add(struct conn *c, struct mark mk)
{
	struct mark *n = malloc(sizeof(*n));

	if (n == NULL)
		return; /* the cursor is delivered again, the credit later */
	*n = mk;
	n->at = c->out_total + evbuffer_get_length(c->staged);
	n->staged = true;
	TAILQ_INSERT_TAIL(&c->marks, n, link);
	conn_activate(c);
}

/* After the bytes staged so far: the cursor is confirmed. */
void
conn_mark_cursor(struct conn *c, struct sid sid, const char *reader,
    uint64_t ack)
{
	struct mark mk = {.kind = MARK_CURSOR, .sid = sid, .v = ack};

	strlcpy(mk.reader, reader, sizeof(mk.reader));
	mark_add(c, mk);
}

/* After the bytes staged so far: the stream's position is out. */
void
conn_mark_stream(struct conn *c, uint32_t msgid, uint64_t pos)
{
	mark_add(c, (struct mark){.kind = MARK_STREAM, .msgid = msgid,
	    .v = pos});
}

/* The request of that id that is under way. */
struct req *
conn_req(struct conn *c, uint32_t msgid)
{
	struct req *r;

	TAILQ_FOREACH(r, &c->reqs, link)
		if (r->msgid == msgid)
			return r;
	return NULL;
}

/* What is due at a mark. */
static void
mark_fire(struct conn *c, struct mark *mk)
{
	struct req *r;

	switch (mk->kind) {
	case MARK_CURSOR:
		api_poll_delivered(c->m, mk->sid, mk->reader, mk->v);
		c->m->again = true;
		break;
	case MARK_STREAM:
		r = conn_req(c, mk->msgid);
		if (r != NULL)
			stream_written(r, mk->v);
		c->m->again = true;
		break;
	}
}

/* Drops marks; cursors go back. */
static void
marks_drop(struct conn *c, bool staged_only)
{
	struct mark *mk, *next;

	TAILQ_FOREACH_SAFE(mk, &c->marks, link, next) {
		if (staged_only && !mk->staged)
			continue;
		if (mk->kind == MARK_CURSOR)
			cursors_unstage(c->m->cursors, mk->sid, mk->reader,
			    mk->v);
		TAILQ_REMOVE(&c->marks, mk, link);
		free(mk);
	}
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

/* Stages [1, msgid, nil, result]. */
void
conn_answer(struct conn *c, uint32_t msgid, const void *result, size_t size)
{
	unsigned char h[8] = {0x94, 0x01};
	size_t n = 2 + put_msgid(h + 2, msgid);

	if (c->dead)
		return;
	h[n++] = 0xc0;
	evbuffer_add(c->staged, h, n);
	evbuffer_add(c->staged, result, size);
	answered(c, msgid);
}

/* Puts [1, msgid, error, nil] into a buffer. */
static void
put_failure(struct evbuffer *to, uint32_t msgid, const struct proto_problem *p)
{
	unsigned char h[8] = {0x94, 0x01};
	size_t n = 2 + put_msgid(h + 2, msgid);
	struct enc e = ENC_INIT;

	proto_encode_problem(&e, p);
	evbuffer_add(to, h, n);
	if (e.failed)
		evbuffer_add(to, "\xc3", 1); /* true: an error without words */
	else
		evbuffer_add(to, e.buf, e.len);
	evbuffer_add(to, "\xc0", 1);
	enc_fini(&e);
}

/* Stages an error. */
void
conn_fail(struct conn *c, uint32_t msgid, const struct proto_problem *p)
{
	if (c->dead)
		return;
	put_failure(c->staged, msgid, p);
	answered(c, msgid);
}

/* Stages [2, method, [map]]. */
void
conn_notify(struct conn *c, const char *method, const void *map, size_t size)
{
	struct enc e = ENC_INIT;

	if (c->dead)
		return;
	enc_str(&e, method);
	if (!e.failed) {
		evbuffer_add(c->staged, "\x93\x02", 2);
		evbuffer_add(c->staged, e.buf, e.len);
		evbuffer_add(c->staged, "\x91", 1);
		evbuffer_add(c->staged, map, size);
	}
	enc_fini(&e);
	conn_activate(c);
}

/* Its peer is gone, or it is to be closed: requests end, memory goes at the
 * end of the turn. */
void
conn_kill(struct conn *c)
{
	struct req *r;

	if (c->dead)
		return;
	c->dead = true;
	marks_drop(c, false);
	while ((r = TAILQ_FIRST(&c->reqs)) != NULL)
		req_abandon(r, false);
	event_del(c->ev_read);
	event_del(c->ev_write);
	event_del(c->ev_gone);
	conn_activate(c);
}

/* Ends a connection from our side. */
void
conn_drop(struct conn *c)
{
	conn_kill(c);
}

/* Frees a dead connection. */
static void
conn_free(struct conn *c)
{
	struct conn_list *l = c->m->conns;

	TAILQ_REMOVE(&l->all, c, link);
	if (c->active)
		TAILQ_REMOVE(&l->active, c, active_link);
	l->count--;
	atomic_store_explicit(&c->m->stats->connections, l->count,
	    memory_order_relaxed);
	event_free(c->ev_read);
	event_free(c->ev_write);
	event_free(c->ev_more);
	event_free(c->ev_gone);
	close(c->fd);
	evbuffer_free(c->out);
	evbuffer_free(c->staged);
	free(c->in);
	free(c);
}

/* Is there room for another request? */
static bool
conn_may_read(const struct conn *c)
{
	return !c->dead && !c->closing && c->nreqs < CONN_REQUESTS &&
	    conn_queued(c) < CONN_OUT_MAX;
}

/* Goes on with what is buffered, in the next turn. */
static void
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
static void
on_more(int fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (!c->dead)
		conn_frames(c);
}

/* The peer of a connection that is not read has gone. */
static void
on_gone(int fd, short what, void *arg)
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
static void
on_read(int fd, short what, void *arg)
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

/* Fires the marks that have been reached. */
static void
marks_reach(struct conn *c)
{
	struct mark *mk;

	while ((mk = TAILQ_FIRST(&c->marks)) != NULL && !mk->staged &&
	    mk->at <= c->written) {
		TAILQ_REMOVE(&c->marks, mk, link);
		mark_fire(c, mk);
		free(mk);
	}
}

/* Writes what the socket takes. */
static void
conn_flush(struct conn *c)
{
	size_t before = evbuffer_get_length(c->out);

	while (evbuffer_get_length(c->out) > 0) {
		int n = evbuffer_write(c->out, c->fd);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			conn_kill(c);
			return;
		}
		c->written += (size_t)n;
	}
	marks_reach(c);
	if (evbuffer_get_length(c->out) > 0)
		event_add(c->ev_write, NULL);
	else if (c->closing)
		conn_kill(c);
	if (before > evbuffer_get_length(c->out) && !c->dead) {
		struct req *r, *next;

		TAILQ_FOREACH_SAFE(r, &c->reqs, link, next)
			if (r->streaming)
				req_wake(r, req_session(r), WAKE_ROOM);
		api_events_more(c, c->m);
		if (c->stalled && conn_may_read(c)) {
			c->stalled = false;
			conn_more(c);
		}
	}
}

/* The socket takes more. */
static void
on_write(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	conn_flush(arg);
}

/* A commit failed: what this turn answered becomes an error. */
static void
conn_undo(struct conn *c)
{
	struct proto_problem p;

	evbuffer_drain(c->staged, evbuffer_get_length(c->staged));
	marks_drop(c, true);
	proto_problem_set(&p, PROTO_E_NO_SPACE, "",
	    "no space: the index could not be written");
	for (size_t i = 0; i < c->answered_count; i++)
		put_failure(c->staged, c->answered[i], &p);
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
		c->answered_count = 0;
		c->sub.safe_after = c->sub.next_after;
		TAILQ_FOREACH(r, &c->reqs, link) {
			if (committed)
				r->stream_safe = r->stream_pos;
			else
				r->stream_pos = r->stream_safe;
		}
		TAILQ_FOREACH(mk, &c->marks, link)
			mk->staged = false;
		c->out_total += evbuffer_get_length(c->staged);
		evbuffer_add_buffer(c->out, c->staged);
		conn_flush(c);
	}
	if (!TAILQ_EMPTY(&m->conns->active))
		m->again = true;
}

/* Is the peer ours? */
static bool
peer_is_ours(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	    cred.uid == geteuid();
}

/* A connection around an accepted socket. */
static void
conn_new(struct master *m, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return;
	}
	c->m = m;
	c->fd = fd;
	c->process = true;
	TAILQ_INIT(&c->reqs);
	TAILQ_INIT(&c->marks);
	c->out = evbuffer_new();
	c->staged = evbuffer_new();
	c->ev_read = event_new(m->base, fd, EV_READ | EV_PERSIST, on_read, c);
	c->ev_write = event_new(m->base, fd, EV_WRITE, on_write, c);
	c->ev_more = evtimer_new(m->base, on_more, c);
	c->ev_gone = event_new(m->base, fd, EV_CLOSED | EV_PERSIST, on_gone, c);
	CHECK(c->out != NULL && c->staged != NULL && c->ev_read != NULL &&
	    c->ev_write != NULL && c->ev_more != NULL && c->ev_gone != NULL);
	TAILQ_INSERT_TAIL(&m->conns->all, c, link);
	m->conns->count++;
	atomic_store_explicit(&m->stats->connections, m->conns->count,
	    memory_order_relaxed);
	event_add(c->ev_read, NULL);
}

/* Says once a second at most that connections are closed. */
static void
warn_full(struct conn_list *l)
{
	uint64_t now = clock_boot_ns();

	if (l->warned_ns != 0 && now - l->warned_ns < NSEC_PER_SEC)
		return;
	l->warned_ns = now;
	log_warn("connections are closed: no descriptor is left, %zu are open",
	    l->count);
}

/* Is this one of the last numbers? Those are kept for rings, spools and
 * workers: clients must not take what the work of others needs. */
static bool
is_spare(const struct master *m, int fd)
{
	uint64_t spare = m->nofile / 8 < CONN_SPARE ? m->nofile / 8
						    : CONN_SPARE;

	return (uint64_t)fd + spare >= m->nofile;
}

/* No descriptor number is left: the one in reserve takes the connection and
 * closes it, so that the listener does not spin. */
static void
accept_and_drop(struct conn_list *l, int listener)
{
	int fd;

	if (l->reserve < 0)
		return;
	close(l->reserve);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	warn_full(l);
}

/* Somebody connects. */
static void
on_accept(int fd, short what, void *arg)
{
	struct master *m = arg;

	(void)what;
	for (int i = 0; i < 16; i++) {
		int s = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (s < 0) {
			if (errno == EMFILE || errno == ENFILE)
				accept_and_drop(m->conns, fd);
			if (errno != EINTR && errno != ECONNABORTED)
				return;
			continue;
		}
		if (!peer_is_ours(s)) {
			log_warn("a connection of another user was closed");
			close(s);
			continue;
		}
		if (is_spare(m, s)) {
			warn_full(m->conns);
			close(s);
			continue;
		}
		conn_new(m, s);
	}
}

/* Accepts from now on. */
int
conn_listen(struct master *m)
{
	struct conn_list *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -ENOMEM;
	TAILQ_INIT(&l->all);
	TAILQ_INIT(&l->active);
	l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	m->conns = l;
	(void)fcntl(HERITAGE_FD_LISTENER, F_SETFL,
	    fcntl(HERITAGE_FD_LISTENER, F_GETFL) | O_NONBLOCK);
	l->ev = event_new(m->base, HERITAGE_FD_LISTENER, EV_READ | EV_PERSIST,
	    on_accept, m);
	if (l->ev == NULL || event_add(l->ev, NULL) < 0)
		return -ENOMEM;
	return 0;
}

/* Closes every connection and stops accepting. */
void
conn_close_all(struct master *m)
{
	struct conn *c;

	if (m->conns == NULL)
		return;
	m->running = false; /* nobody's command ends because we do */
	while ((c = TAILQ_FIRST(&m->conns->all)) != NULL) {
		struct req *r;

		c->dead = true;
		marks_drop(c, false);
		while ((r = TAILQ_FIRST(&c->reqs)) != NULL)
			req_free(r);
		conn_free(c);
	}
	if (m->conns->ev != NULL)
		event_free(m->conns->ev);
	if (m->conns->reserve >= 0)
		close(m->conns->reserve);
	free(m->conns);
	m->conns = NULL;
}
