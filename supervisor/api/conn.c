/* SPDX-License-Identifier: MIT */
/*
 * Client connections: who they are, what they may do, and their end. accept.c
 * makes them, conn_in.c reads them, conn_out.c writes to them.
 */
#include "supervisor/api/conn.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"

/* Puts the connection on the list of those that the turn's end looks at. */
void
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

/* Sees it every scope? */
bool
conn_is_admin(const struct conn *c)
{
	return !c->scoped && !c->denied && (c->admin ||
	    (!c->guest && c->m->cfg.admin == CONFIG_ADMIN_UID));
}

const char *
conn_account(const struct conn *c, char buf[TURN_NAME_MAX])
{
	if (c->scoped)
		return c->scope;
	if (c->requests > 0 && conn_is_admin(c))
		return "";
	/* no scope's name begins so */
	snprintf(buf, TURN_NAME_MAX, "\1%u", c->uid);
	return buf;
}

void
conn_ready(struct conn *c)
{
	char buf[TURN_NAME_MAX];

	if (!c->dead)
		turns_ready(c->m->conns->turns, &c->turn,
		    conn_account(c, buf));
}

/* May it call this method? */
bool
conn_may_call(const struct conn *c, enum proto_method method,
    struct proto_problem *why)
{
	if (method == PROTO_HELLO && !c->denied)
		return true;
	if (!c->scoped && !conn_is_admin(c)) {
		proto_problem_set(why, PROTO_E_FORBIDDEN, "",
		    "%s: nothing is allowed here before a hello with a token "
		    "that is valid",
		    proto_method_name(method));
		return false;
	}
	if (proto_method_kind(method) == PROTO_ADMIN && !conn_is_admin(c)) {
		proto_problem_set(why, PROTO_E_FORBIDDEN, "",
		    "%s needs an admin connection", proto_method_name(method));
		return false;
	}
	return true;
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

void
conn_subscribe(struct conn *c)
{
	if (!c->sub.on)
		TAILQ_INSERT_TAIL(&c->m->conns->subscribers, c,
		    subscriber_link);
	c->sub.on = true;
}

void
conn_each_subscriber(struct master *m,
    void (*fn)(struct conn *, void *), void *arg)
{
	struct conn *c;

	TAILQ_FOREACH(c, &m->conns->subscribers, subscriber_link)
		if (!c->dead)
			fn(c, arg);
}

/* Binds scope and rights, once and before anything else. */
int
conn_set_hello(struct conn *c, const struct hello *h,
    struct proto_problem *why)
{
	int r;

	if (c->hello || c->requests > 1) {
		proto_problem_set(why, PROTO_E_FORBIDDEN, "",
		    "hello comes once, before anything else");
		defaults_free(h->defaults);
		return -EALREADY;
	}
	r = conn_room_hello(c, h->scope != NULL ? h->scope : "", why);
	if (r < 0)
		defaults_free(h->defaults);
	else
		r = conn_keep(c, h->defaults, why);
	if (r < 0) {
		conn_deny(c);
		return r;
	}
	c->hello = true;
	c->process = h->process;
	c->admin = h->admin;
	if (h->scope != NULL) {
		c->scoped = true;
		strlcpy(c->scope, h->scope, sizeof(c->scope));
	}
	if (h->token_id != NULL)
		strlcpy(c->token_id, h->token_id, sizeof(c->token_id));
	strlcpy(c->client, h->client, sizeof(c->client));
	return 0;
}

/* Its hello was refused: it must not go on as an admin. */
void
conn_deny(struct conn *c)
{
	if (c->hello)
		return; /* a second one changes nothing */
	c->denied = c->closing = true;
}

/* Another user's? */
bool
conn_is_guest(const struct conn *c)
{
	return c->guest;
}

/* Closes the connections that showed this token: they see nothing more. */
void
conn_drop_token(struct master *m, const char *token_id)
{
	struct conn *c;

	TAILQ_FOREACH(c, &m->conns->all, link)
		if (!c->dead && strcmp(c->token_id, token_id) == 0)
			conn_kill(c);
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

/* Its peer is gone, or it is to be closed: requests end, memory goes at the
 * end of the turn. */
void
conn_kill(struct conn *c)
{
	struct req *r;

	if (c->dead)
		return;
	c->dead = true;
	c->m->conns->dead++;
	turns_forget(c->m->conns->turns, &c->turn);
	conn_room_leave(c);
	conn_marks_drop(c, false);
	while ((r = TAILQ_FIRST(&c->reqs)) != NULL)
		req_abandon(r, false);
	event_del(c->ev_read);
	event_del(c->ev_write);
	event_del(c->ev_gone);
	conn_activate(c);
}

/* Frees what a connection has, as far as it was made. */
void
conn_release(struct conn *c)
{
	timer_free(&c->ev_read);
	timer_free(&c->ev_write);
	timer_free(&c->ev_gone);
	close(c->fd);
	if (c->out != NULL)
		evbuffer_free(c->out);
	if (c->staged != NULL)
		evbuffer_free(c->staged);
	free(c->in);
	defaults_free(&c->defaults);
	free(c);
}

/* Frees a dead connection. */
void
conn_free(struct conn *c)
{
	struct conn_list *l = c->m->conns;

	TAILQ_REMOVE(&l->all, c, link);
	if (c->active)
		TAILQ_REMOVE(&l->active, c, active_link);
	l->count--;
	l->dead -= c->dead;
	SET_RELAXED(c->m->stats->connections, l->count);
	if (c->sub.on) {
		TAILQ_REMOVE(&l->subscribers, c, subscriber_link);
		api_events_recount(c->m);
	}
	conn_release(c);
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
		turns_forget(m->conns->turns, &c->turn);
		conn_room_leave(c);
		conn_marks_drop(c, false);
		while ((r = TAILQ_FIRST(&c->reqs)) != NULL)
			req_end(r);
		conn_free(c);
	}
	timer_free(&m->conns->ev);
	timer_free(&m->conns->rest);
	timer_free(&m->conns->starved);
	timer_free(&m->conns->guest_timer);
	if (m->conns->reserve >= 0)
		close(m->conns->reserve);
	turns_free(&m->conns->turns);
	free(m->conns);
	m->conns = NULL;
}
