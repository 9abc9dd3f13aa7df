/* SPDX-License-Identifier: MIT */
/*
 * The channel to the keeper: peers, deaths, the table, reload and the end.
 * EOF means that the keeper is gone, and then so are we.
 */
#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/master.h"

#define MESSAGES_A_TURN 16 /* of the keeper: an END is 30 us with its record */
#define MESSAGES_LEAST	4

static struct ctl_msg inbox; /* 64 KiB: too large for the stack */
static bool put_off;	     /* what is in it is to be taken once more */

/* A worker's role has changed. */
static void
on_role(struct master *m, const struct ctl_role *msg)
{
	struct worker *w = pool_get(m, msg->wid);

	if (w != NULL)
		w->role = msg->role;
}

/* The keeper ends everything: nothing new starts. */
static void
on_stopping(struct master *m)
{
	log_event(LOG_NOTE, "keeper-stops");
	m->stopping = true;
	(void)boxes_drain(m, NULL); /* each ends with the last who is in it */
}

/* What is logged from now on, and how. */
static void
on_log(const struct ctl_log *msg)
{
	log_set(msg->how);
}

/* One message of the keeper. */
static void
keeper_message(struct master *m, struct ctl_msg *msg)
{
	switch (msg->head.type) {
	case CTL_PEER:
		if (msg->nfds < 1)
			break;
		pool_on_peer(m, (const void *)msg->bytes, msg->fds[0]);
		msg->fds[0] = -1;
		break;
	case CTL_WORKER_DOWN:
		pool_on_down(m, (const void *)msg->bytes);
		break;
	case CTL_END:
		put_off = !pool_on_end(m, (const void *)msg->bytes);
		break;
	case CTL_HELD:
		recover_on_held(m, (const void *)msg->bytes);
		break;
	case CTL_TABLE_END:
		m->table_end = true;
		recover_step(m);
		break;
	case CTL_ROLE:
		on_role(m, (const void *)msg->bytes);
		break;
	case CTL_RELOAD:
		master_reload(m);
		break;
	case CTL_LOG:
		on_log((const void *)msg->bytes);
		break;
	case CTL_UPGRADED:
		upgrade_told(m, (const void *)msg->bytes);
		break;
	case CTL_LEAVE:
		m->leaving = true;
		m->running = false;
		break;
	case CTL_STOPPING:
		on_stopping(m);
		break;
	default:
		log_event(LOG_WARN, "message-refused", KV("role", "keeper"),
		    KV("message", ctl_type_name(msg->head.type)));
	}
}

/* A message came whose descriptor found no number here. That can only be a
 * worker's channel: room is made, and it is asked for again. */
static void
on_lost(struct master *m, const struct ctl_msg *msg)
{
	struct ctl_role ask = {.head = CTL_INIT(CTL_ASK_PEER,
				   (struct sid){0}, struct ctl_role)};
	int r = -EPROTO;

	if (msg->size == sizeof(struct ctl_peer) &&
	    msg->head.type == CTL_PEER) {
		ask.wid = ((const struct ctl_peer *)(const void *)msg->bytes)
			      ->wid;
		log_event(LOG_WARN, "channel-asked-again", KV_WORKER(&ask),
		    KV("why", "no descriptor for it"));
		readers_close(m);
		r = link_send(m, &ask, sizeof(ask));
	}
	if (r == 0)
		return;
	log_event(LOG_ERROR, "message-lost", KV("role", "keeper"));
	m->running = false;
	m->failed = true;
}

/* The next message, or the one that was put off. */
static int
next_message(const struct master *m)
{
	if (!put_off)
		return ctl_recv(m->keeper_fd, &inbox);
	put_off = false;
	return 1;
}

/* The keeper's channel is readable, or a message was put off until this turn. */
static void
on_keeper(int, short, void *arg)
{
	struct master *m = arg;
	int most = turn_is_full(m) ? MESSAGES_LEAST : MESSAGES_A_TURN;

	turn_begin(m);
	for (int i = 0; i < most; i++) {
		int r = next_message(m);

		if (r == -EAGAIN)
			return;
		if (r == -EMFILE) {
			on_lost(m, &inbox);
			return;
		}
		if (r == -EPROTO || r == -EINTR) {
			log_event(LOG_WARN, "message-lost",
			    KV("role", "keeper"), KV("error", strerror(-r)));
			continue;
		}
		if (r <= 0) {
			log_event(LOG_NOTE, "keeper-is-gone");
			m->running = false;
			return;
		}
		keeper_message(m, &inbox);
		for (; inbox.nfds > 0; inbox.nfds--)
			if (inbox.fds[inbox.nfds - 1] >= 0)
				close(inbox.fds[inbox.nfds - 1]);
		if (put_off) {
			timer_in(m, &m->link_timer, on_keeper, m, 0);
			return;
		}
	}
}

/* Listens to the keeper and tells it that we are ready. */
int
link_open(struct master *m)
{
	struct ctl_head ready = CTL_INIT(CTL_READY, (struct sid){0},
	    struct ctl_head);

	m->keeper_ev = event_new(m->base, m->keeper_fd, EV_READ | EV_PERSIST,
	    on_keeper, m);
	if (m->keeper_ev == NULL || event_add(m->keeper_ev, NULL) < 0)
		return -ENOMEM;
	return link_send(m, &ready, sizeof(ready));
}

/* Stops listening to the keeper. */
void
link_close(struct master *m)
{
	timer_free(&m->keeper_ev);
	timer_free(&m->link_timer);
}

/* One message to the keeper. */
int
link_send(struct master *m, const void *msg, size_t size)
{
	return ctl_send(m->keeper_fd, msg, size, NULL, 0);
}
