/* SPDX-License-Identifier: MIT */
/*
 * Who may connect: our own uid, or a member of the configured group. Clients do
 * not get the last descriptors, and where there is none the listener does not
 * spin.
 */
#include "supervisor/api/conn.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

#define REST_MS    100u

enum peer_kind { PEER_STRANGER, PEER_OURS, PEER_GUEST };

/* Is a group among those of the peer, as the kernel took them down when it
 * connected? */
static bool
peer_has_group(int fd, gid_t gid)
{
	static gid_t list[65536]; /* as many as there can be */
	socklen_t len = sizeof(list);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, list, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof(list[0]); i++)
		if (list[i] == gid)
			return true;
	return false;
}

/* Who is it? Our own uid; or, where a group is configured, one of its
 * members, who is nobody before showing a token. */
static enum peer_kind
peer_kind(const struct master *m, int fd, uid_t *ret_uid)
{
	gid_t group = (gid_t)m->cfg.group;
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return PEER_STRANGER;
	*ret_uid = cred.uid;
	if (cred.uid == geteuid())
		return PEER_OURS;
	if (group != 0 && (cred.gid == group || peer_has_group(fd, group)))
		return PEER_GUEST;
	return PEER_STRANGER;
}

/* Says once a second at most that connections are closed. */
static void
warn_full(struct conn_list *l)
{
	uint64_t now = clock_boot_ns();

	if (l->warned_ns != 0 && now - l->warned_ns < NSEC_PER_SEC)
		return;
	l->warned_ns = now;
	log_event(LOG_WARN, "descriptors-used-up", KV("connections", l->count),
	    KV("msg", "connections are closed or wait"));
}

/* A connection around an accepted socket. */
static void
conn_new(struct master *m, int fd, bool guest, uid_t uid)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return;
	}
	c->m = m;
	c->fd = fd;
	c->process = true;
	c->guest = guest;
	c->uid = uid;
	c->defaults.umask = -1; /* none */
	TAILQ_INIT(&c->reqs);
	TAILQ_INIT(&c->jobs);
	TAILQ_INIT(&c->marks);
	c->out = evbuffer_new();
	c->staged = evbuffer_new();
	c->ev_read = event_new(m->base, fd, EV_READ | EV_PERSIST, conn_on_read, c);
	c->ev_write = event_new(m->base, fd, EV_WRITE, conn_on_write, c);
	c->ev_gone = event_new(m->base, fd, EV_CLOSED | EV_PERSIST, conn_on_gone, c);
	if (c->out == NULL || c->staged == NULL || c->ev_read == NULL ||
	    c->ev_write == NULL || c->ev_gone == NULL ||
	    event_add(c->ev_read, NULL) < 0) {
		conn_release(c);
		return;
	}
	if (!conn_room_enter(c)) {
		warn_full(m->conns);
		conn_release(c);
		return;
	}
	TAILQ_INSERT_TAIL(&m->conns->all, c, link);
	m->conns->count++;
	SET_RELAXED(m->stats->connections, m->conns->count);
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
static bool
accept_and_drop(struct conn_list *l, int listener)
{
	int fd;

	if (l->reserve < 0) {
		l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return false;
	}
	close(l->reserve);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	warn_full(l);
	return fd >= 0;
}

/* The listener is heard again. */
static void
on_rested(int, short, void *arg)
{
	struct master *m = arg;

	turn_begin(m);
	if (event_add(m->conns->ev, NULL) < 0)
		timer_in(m, &m->conns->rest, on_rested, m, REST_MS);
}

/* Nothing helps at this moment: who connects waits in the socket's queue. A
 * listener that is readable all the while must not turn the loop. */
static void
rest(struct master *m)
{
	event_del(m->conns->ev);
	timer_in(m, &m->conns->rest, on_rested, m, REST_MS);
	warn_full(m->conns);
}

/* Somebody connects. */
static void
on_accept(int fd, short, void *arg)
{
	struct master *m = arg;
	enum peer_kind kind;
	uid_t uid;

	turn_begin(m);
	/* Whoever makes room for another leaves its number at the turn's end. */
	for (int i = 0; i < 16 && m->conns->dead == 0; i++) {
		int s = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (s < 0) {
			int error = errno;

			if (error == EINTR || error == ECONNABORTED)
				continue;
			if (error != EAGAIN &&
			    ((error != EMFILE && error != ENFILE) ||
				!accept_and_drop(m->conns, fd)))
				rest(m);
			return;
		}
		kind = peer_kind(m, s, &uid);
		if (kind == PEER_STRANGER) {
			log_event(LOG_WARN, "connection-refused",
			    KV("why", "another user's"));
			close(s);
			continue;
		}
		if (is_spare(m, s)) {
			warn_full(m->conns);
			close(s);
			continue;
		}
		conn_new(m, s, kind == PEER_GUEST, uid);
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
	TAILQ_INIT(&l->subscribers);
	TAILQ_INIT(&l->active);
	TAILQ_INIT(&l->guests);
	l->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	m->conns = l;
	l->turns = turns_new();
	if (l->turns == NULL)
		return -ENOMEM;
	(void)fcntl(HERITAGE_FD_LISTENER, F_SETFL,
	    fcntl(HERITAGE_FD_LISTENER, F_GETFL) | O_NONBLOCK);
	l->ev = event_new(m->base, HERITAGE_FD_LISTENER, EV_READ | EV_PERSIST,
	    on_accept, m);
	if (l->ev == NULL || event_add(l->ev, NULL) < 0)
		return -ENOMEM;
	return 0;
}
