/* SPDX-License-Identifier: MIT */
/* The event log for clients: read, subscribe, acknowledge. */
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "supervisor/api/method.h"

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

/* The kinds a call is about; false: the refusal is sent. */
static bool
kinds_of(struct api_call *c, uint32_t *ret)
{
	const struct val *v = val_get(c->params, "kinds");
	uint32_t kinds = 0;

	if (v == NULL) {
		*ret = EVENT_ENDS;
		return true;
	}
	for (size_t i = 0; i < v->a.count; i++) {
		const struct val *item = &v->a.items[i];
		int kind = event_kind_of(item->s.ptr, item->s.len);

		if (val_is_str(item, "all"))
			kinds = EVENT_ALL;
		else if (kind >= 0)
			kinds |= EVENT_BIT(kind);
		else
			return req_invalid(c->req, "kinds", item,
			    "all, or some of " EVENT_KIND_NAMES);
	}
	*ret = kinds;
	return true;
}

/* Adds what a connection wants to hear of. */
static void
add_kinds(struct conn *c, void *arg)
{
	*(uint32_t *)arg |= conn_subscriber(c)->kinds;
}

/* The news that anybody wants, now that somebody came or went. */
void
api_events_recount(struct master *m)
{
	m->kinds_wanted = (uint32_t)m->cfg.event_kinds | EVENT_ENDS;
	if (m->conns != NULL)
		conn_each_subscriber(m, add_kinds, &m->kinds_wanted);
}

/* A piece of news for the log, if anybody wants its kind. */
void
api_event_news(struct master *m, enum event_kind kind, struct session *s,
    const char *text, const char *key, uint64_t value)
{
	char instance[SESSION_INSTANCE_MAX] = "";
	struct event_in in = {.kind = event_kind_name(kind), .text = text,
	    .instance_id = instance, .exit_code = -1,
	    .at_ms = clock_wall_ms(), .more = {{key, value}}};

	if ((m->kinds_wanted & EVENT_BIT(kind)) == 0)
		return;
	if (s != NULL) {
		session_instance(s, instance);
		in.scope = s->id.scope;
		in.sid = s->id.sid;
		in.slug = s->id.slug;
		in.session_key = s->id.session_key;
	}
	if (events_append(m->events, &in) < 0)
		log_event(LOG_WARN, "event-not-written", KV("kind", in.kind));
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
static void
events_call(struct api_call *c)
{
	struct enc e = ENC_INIT;
	char name[72];
	struct fill f = {.e = &e, .events = c->m->events,
	    .scope = place_scope(c->conn), .name = name,
	    .all = val_get(c->params, "since") != NULL,
	    .left = (uint32_t)proto_int(PROTO_EVENTS, c->params, "limit",
		100)};
	uint64_t place;
	uint32_t kinds = 0;

	if (!kinds_of(c, &kinds))
		return;
	who(c, name, sizeof(name));
	place = events_place(c->m->events, f.scope, name);
	enc_map(&e);
	enc_kv_array(&e, "events");
	(void)events_read(c->m->events, conn_scope(c->conn),
	    val_uint(c->params, "since", place), kinds, UINT32_MAX, on_event,
	    &f);
	enc_end(&e);
	enc_kv_uint(&e, "overflowed",
	    events_overflowed(c->m->events, place_scope(c->conn)));
	enc_kv_uint(&e, "acknowledged", place);
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_EVENTS = {.call = events_call};

/* subscribe */
static void
subscribe_call(struct api_call *c)
{
	struct subscriber *sub = conn_subscriber(c->conn);
	struct enc e = ENC_INIT;
	uint64_t place;
	uint32_t kinds = 0;

	if (!kinds_of(c, &kinds))
		return;
	who(c, sub->name, sizeof(sub->name));
	place = events_place(c->m->events, place_scope(c->conn), sub->name);
	conn_subscribe(c->conn);
	sub->kinds = kinds;
	api_events_recount(c->m);
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
	req_done(c->req, &e);
}

const struct method method_SUBSCRIBE = {.call = subscribe_call};

/* ack */
static void
ack_call(struct api_call *c)
{
	struct enc e = ENC_INIT;
	char name[72];

	who(c, name, sizeof(name));
	enc_map(&e);
	enc_kv_uint(&e, "acknowledged",
	    events_ack(c->m->events, place_scope(c->conn), name,
		val_uint(c->params, "seq", 0)));
	enc_end(&e);
	req_done(c->req, &e);
}

const struct method method_ACK = {.call = ack_call};

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

	if (p.sub->next_after >= events_last(m->events))
		return;
	p.sub->behind = conn_queued(c) > PUSH_QUEUE;
	if (p.sub->behind)
		return; /* api_events_more() goes on */
	if (events_read(m->events, conn_scope(c), p.sub->next_after,
		p.sub->kinds, PUSH_MAX, push_one, &p) < 0) {
		m->events_unread = true; /* turn_end() has it tried again */
		m->events_sent = 0;
	} else if (p.n == PUSH_MAX)
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
	m->events_unread = false;
	conn_each_subscriber(m, push_conn, m);
	if (m->events_sent < last && !m->events_unread)
		m->again = true;
}
