/* SPDX-License-Identifier: MIT */
/*
 * The workers: who is there, what they say, and which one is to get the next
 * session. What they are told: pool_orders.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <unistd.h>

#include "common/check.h"
#include "common/log.h"
#include "supervisor/master.h"

/* Messages of one worker taken in one turn: the others get their share. */
#define POOL_BURST 16
#define POOL_LEAST 4 /* in a turn that others have filled */

static struct ctl_msg inbox; /* 64 KiB: too large for the stack */

/* No worker is there yet. */
void
pool_init(struct master *m)
{
	for (size_t i = 0; i < MASTER_WORKERS; i++) {
		struct worker *w = &m->workers[i];

		w->m = m;
		w->fd = -1;
		STAILQ_INIT(&w->staged);
		STAILQ_INIT(&w->out);
		TAILQ_INIT(&w->spares);
	}
}

/* Closes the channel of a worker: events first, then the descriptor. */
static void
worker_close(struct worker *w)
{
	timer_free(&w->ev);
	timer_free(&w->ev_write);
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	w->late_ns = 0;
	pool_orders_free(w);
}

/* Forgets all workers. */
void
pool_fini(struct master *m)
{
	for (size_t i = 0; i < MASTER_WORKERS; i++) {
		worker_close(&m->workers[i]);
		spares_drop(m, &m->workers[i]);
	}
}

/* The worker of that incarnation, or NULL. */
struct worker *
pool_get(struct master *m, struct wid wid)
{
	if (wid.slot >= MASTER_WORKERS || !m->workers[wid.slot].present ||
	    !wid_eq(m->workers[wid.slot].wid, wid))
		return NULL;
	return &m->workers[wid.slot];
}

/* One message of a worker. */
static void
worker_message(struct worker *w, const struct ctl_msg *msg)
{
	struct master *m = w->m;
	struct session *s;

	switch (msg->head.type) {
	case CTL_RUNNING:
		session_on_running(m, w, (const void *)msg->bytes);
		break;
	case CTL_FAILED:
		session_on_failed(m, w, (const void *)msg->bytes);
		break;
	case CTL_EXITED:
		session_on_exited(m, w, (const void *)msg->bytes);
		break;
	case CTL_END:
		session_on_end(m, w, (const void *)msg->bytes);
		break;
	case CTL_LEFT:
		session_on_left(m, w, (const void *)msg->bytes);
		break;
	case CTL_OUTPUT:
		s = session_by_sid(m, msg->head.sid);
		if (s == NULL || !wid_eq(s->custody.who, w->wid))
			break;
		output_unwatched(s);
		session_wake(m, s, WAKE_OUTPUT);
		break;
	case CTL_STDIN_AT: {
		const struct ctl_stdin *in = (const void *)msg->bytes;

		s = session_by_sid(m, msg->head.sid);
		if (s == NULL || !wid_eq(s->custody.who, w->wid))
			break;
		stdin_unwatched(s);
		stdin_consumed(s, in->pos);
		if (in->eof != 0 && !s->input.closed) {
			stdin_closed(s);
			session_touch(m, s);
		}
		session_wake(m, s, WAKE_STDIN);
		break;
	}
	case CTL_INPUT:
		session_on_input(m, w, (const void *)msg->bytes);
		break;
	case CTL_NO_SPACE:
		s = session_by_sid(m, msg->head.sid);
		if (s != NULL && wid_eq(s->custody.who, w->wid) &&
		    output_no_space(s))
			log_event(LOG_WARN, "output-dropped", KV_SESSION(s),
			    KV("why", "the tmpfs is full"));
		break;
	case CTL_DUMP_END:
		w->dump_done = true;
		recover_step(m);
		break;
	default:
		log_event(LOG_WARN, "message-refused", KV_WORKER(w),
		    KV("message", ctl_type_name(msg->head.type)));
	}
}

/* Takes up to `max` messages. 1: there may be more, 0: none, -1: EOF. */
static int
worker_read(struct worker *w, unsigned max)
{
	for (unsigned i = 0; i < max; i++) {
		int r = ctl_recv(w->fd, &inbox);

		if (r == -EAGAIN)
			return 0;
		if (r == -EPROTO || r == -EMFILE || r == -EINTR) {
			if (r == -EPROTO)
				ADD_RELAXED(w->m->stats->malformed, 1);
			continue;
		}
		if (r <= 0)
			return -1;
		for (size_t k = 0; k < inbox.nfds; k++)
			close(inbox.fds[k]);
		worker_message(w, &inbox);
	}
	return 1;
}

/* A worker's channel is readable. At EOF it is left alone until WORKER_DOWN
 * says that it is dead for sure. */
static void
on_worker(int, short, void *arg)
{
	struct worker *w = arg;

	turn_begin(w->m);
	if (worker_read(w, turn_is_full(w->m) ? POOL_LEAST : POOL_BURST) < 0)
		event_del(w->ev);
}

/* A worker and its channel. */
void
pool_on_peer(struct master *m, const struct ctl_peer *msg, int fd)
{
	struct worker *w;

	if (msg->wid.slot >= MASTER_WORKERS) {
		log_event(LOG_WARN, "message-refused", KV_WORKER(msg),
		    KV("message", ctl_type_name(msg->head.type)),
		    KV("why", "no such slot"));
		close(fd);
		return;
	}
	w = &m->workers[msg->wid.slot];
	worker_close(w);
	if (!wid_eq(w->wid, msg->wid))
		spares_drop(m, w);
	w->present = true;
	w->dump_done = false;
	w->wid = msg->wid;
	w->pid = msg->pid;
	w->role = msg->role;
	w->live = w->quick = w->slow = 0;
	w->fd = fd;
	w->ev = event_new(m->base, fd, EV_READ | EV_PERSIST, on_worker, w);
	w->ev_write = event_new(m->base, fd, EV_WRITE, pool_on_room, w);
	CHECK(w->ev != NULL && w->ev_write != NULL);
	event_add(w->ev, NULL);
	log_event(LOG_NOTE, "worker-up", KV_WORKER(w), KV("role_pid", w->pid));
}

/* It is dead for sure. What it still said is read first; HELD rows came just
 * before this message. */
void
pool_on_down(struct master *m, const struct ctl_peer *msg)
{
	struct worker *w = pool_get(m, msg->wid);
	struct session *s;
	struct sid at;

	if (w != NULL) {
		while (worker_read(w, POOL_BURST) > 0)
			;
		worker_close(w);
		spares_drop(m, w);
		w->present = false;
	}
	log_event(LOG_NOTE, "worker-down", KV_WORKER(msg));
	for (s = registry_first(m); s != NULL; s = registry_after(m, at)) {
		at = s->id.sid;
		recover_down(m, s, msg->wid, sid_eq(msg->in_hand, s->id.sid));
	}
	news_worker_down(m, msg, m->going_on);
	m->going_on = 0;
	recover_step(m);
}

/* What its worker said before is read first. Where that is not known the worker
 * says it again. */
bool
pool_on_end(struct master *m, const struct ctl_end *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);
	struct worker *w = s != NULL ? pool_get(m, s->custody.who) : NULL;

	if (w == NULL)
		return true;
	while (worker_read(w, POOL_LEAST) > 0)
		if (turn_is_full(m))
			return false;
	session_on_end(m, w, msg);
	return true;
}

/* Is it dead already, though its DOWN is still to come? The page says whom the
 * keeper has in that slot, and before the heir hears of a death that there is
 * nobody. */
bool
pool_is_gone(const struct master *m, struct wid wid)
{
	const struct stats_page *p;
	uint32_t generation;

	if (m->pages == NULL || wid.generation == 0 ||
	    wid.slot >= MASTER_WORKERS)
		return false;
	p = &m->pages[STATS_PAGE_OF_WORKER(wid.slot)];
	generation = atomic_load(&p->generation);
	return generation > wid.generation ||
	    (generation == wid.generation && atomic_load(&p->pid) == 0);
}

/* Does this worker take new sessions? Its role is the keeper's word. */
static uint32_t
worker_role(struct master *m, const struct worker *w)
{
	const struct stats_page *p = m->pages != NULL
	    ? &m->pages[STATS_PAGE_OF_WORKER(w->wid.slot)]
	    : NULL;
	uint32_t role = p != NULL
	    ? RELAXED(p->role)
	    : 0;

	if (role == HERITAGE_WORKER || role == HERITAGE_STANDBY)
		return role;
	return w->role;
}

/* How many may be asked for a start: the active ones, else the standbys. */
uint32_t
pool_size(struct master *m)
{
	uint32_t n[2] = {0, 0};

	for (size_t i = 0; i < MASTER_WORKERS; i++)
		if (m->workers[i].present && m->workers[i].fd >= 0)
			n[worker_role(m, &m->workers[i]) ==
			    HERITAGE_STANDBY]++;
	return n[0] > 0 ? n[0] : n[1];
}

/* Slots in `avoid` are not asked. */
struct worker *
pool_choose(struct master *m, uint32_t avoid,
    bool (*may)(const struct worker *))
{
	struct worker *best[2] = {NULL, NULL};
	bool active = false;

	for (size_t i = 0; i < MASTER_WORKERS; i++) {
		struct worker *w = &m->workers[i], **at;

		if (!w->present || w->fd < 0 || (avoid >> (i % 32) & 1) != 0)
			continue;
		at = &best[worker_role(m, w) == HERITAGE_STANDBY];
		active |= at == &best[0];
		if ((*at == NULL || w->live < (*at)->live) &&
		    (may == NULL || may(w)))
			*at = w;
	}
	return best[!active];
}

/* Has every worker that is there told what it has? */
bool
pool_dumps_done(const struct master *m)
{
	for (size_t i = 0; i < MASTER_WORKERS; i++)
		if (m->workers[i].present && m->workers[i].fd >= 0 &&
		    !m->workers[i].dump_done)
			return false;
	return true;
}
