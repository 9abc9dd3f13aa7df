/* SPDX-License-Identifier: MIT */
/* The event log for clients: read, subscribe, acknowledge. */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/master.h"

#define PUSH_MAX   1000u
#define PUSH_QUEUE (256u << 10) /* bytes that wait for a slow subscriber */

/* The scope whose log it is; an admin's subscriptions have one of their own. */
static const char *
place_scope(const struct conn *c)
{
	const char *scope = conn_scope(c);

	return scope != NULL ? scope : "";
}

/* Whose place: the name given, else the scope. */
static void
who(struct api_call *c, char *ret, size_t size)
{
	if (val_copy(c->params, "subscriber", ret, size) == 0)
		snprintf(ret, size, "%s", place_scope(c->conn));
}

struct fill {
	struct enc *e;
	struct events *events;
	const char *scope, *name;
	bool all; /* asked for by number: acknowledged ones, too */
	uint32_t left;
};

/* Adds one event to the answer. 1: there is room for no more. */
static int
on_event(void *arg, uint64_t seq, const void *map, size_t size)
{
	struct fill *f = arg;

	if (!f->all && events_acked(f->events, f->scope, f->name, seq))
		return 0;
	enc_raw(f->e, map, size);
	return --f->left == 0;
}

/* events */
void
api_events(struct api_call *c)
{
	struct enc e = ENC_INIT;
	char name[72];
	struct fill f = {.e = &e, .events = c->m->events,
	    .scope = place_scope(c->conn), .name = name,
	    .all = val_get(c->params, "since") != NULL,
	    .left = (uint32_t)proto_int(PROTO_EVENTS, c->params, "limit",
		100)};
	uint64_t place;

	who(c, name, sizeof(name));
	place = events_place(c->m->events, f.scope, name);
	enc_map(&e);
	enc_key(&e, "events");
	enc_array(&e);
	(void)events_read(c->m->events, conn_scope(c->conn),
	    val_uint(c->params, "since", place), UINT32_MAX, on_event, &f);
	enc_end(&e);
	enc_kv_uint(&e, "overflowed",
	    events_overflowed(c->m->events, place_scope(c->conn)));
	enc_kv_uint(&e, "acknowledged", place);
	enc_end(&e);
	req_answer(c->req, &e);
	enc_fini(&e);
}

/* subscribe */
void
api_subscribe(struct api_call *c)
{
	struct subscriber *sub = conn_subscriber(c->conn);
	struct enc e = ENC_INIT;
	uint64_t place;

	who(c, sub->name, sizeof(sub->name));
	place = events_place(c->m->events, place_scope(c->conn), sub->name);
	sub->on = true;
	sub->all = val_get(c->params, "since") != NULL;
	sub->next_after = val_uint(c->params, "since", place);
	sub->safe_after = sub->next_after;
	if (c->m->events_sent > sub->next_after)
		c->m->events_sent = sub->next_after;
	enc_map(&e);
	enc_kv_uint(&e, "acknowledged", place);
	enc_kv_uint(&e, "overflowed",
	    events_overflowed(c->m->events, place_scope(c->conn)));
	enc_end(&e);
	req_answer(c->req, &e);
	enc_fini(&e);
}

/* ack */
void
api_ack(struct api_call *c)
{
	struct enc e = ENC_INIT;
	char name[72];

	who(c, name, sizeof(name));
	enc_map(&e);
	enc_kv_uint(&e, "acknowledged",
	    events_ack(c->m->events, place_scope(c->conn), name,
		val_uint(c->params, "seq", 0)));
	enc_end(&e);
	req_answer(c->req, &e);
	enc_fini(&e);
}

struct push {
	struct conn *c;
	struct subscriber *sub;
	struct events *events;
	unsigned n;
};

/* Tells one event to one subscriber, unless a poll told it. */
static int
push_one(void *arg, uint64_t seq, const void *map, size_t size)
{
	struct push *p = arg;

	p->sub->next_after = seq;
	if (p->sub->all ||
	    !events_acked(p->events, place_scope(p->c), p->sub->name, seq))
		conn_notify(p->c, "event", map, size);
	p->n++;
	return conn_queued(p->c) > PUSH_QUEUE;
}

/* Tells one connection what it does not know yet. */
static void
push_conn(struct conn *c, void *arg)
{
	struct master *m = arg;
	struct push p = {.c = c, .sub = conn_subscriber(c),
	    .events = m->events};

	if (!p.sub->on || p.sub->next_after >= events_last(m->events))
		return;
	p.sub->behind = conn_queued(c) > PUSH_QUEUE;
	if (p.sub->behind)
		return; /* api_events_more() goes on */
	(void)events_read(m->events, conn_scope(c), p.sub->next_after,
	    PUSH_MAX, push_one, &p);
	if (p.n == PUSH_MAX)
		m->events_sent = 0; /* there may be more */
	else if (p.n == 0)
		p.sub->next_after = events_last(m->events);
	else
		p.sub->behind = p.sub->next_after < events_last(m->events);
}

/* The socket has taken some: a slow subscriber hears on. */
void
api_events_more(struct conn *c, struct master *m)
{
	if (conn_subscriber(c)->behind && conn_queued(c) <= PUSH_QUEUE / 2)
		push_conn(c, m);
}

/* After the commit: subscribers are told. */
void
api_events_push(struct master *m)
{
	uint64_t last = events_last(m->events);

	if (m->events_sent >= last)
		return;
	m->events_sent = last;
	conn_each(m, push_conn, m);
	if (m->events_sent < last)
		m->again = true;
}
