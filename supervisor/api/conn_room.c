/* SPDX-License-Identifier: MIT */
/*
 * What a connection counts with, and whom it may keep out: nobody. It counts
 * with its scope; before a hello with its user, the owner, too: what somebody
 * sends who has not said who he is takes nothing from the admins' scope. Where
 * connections are used up, the one of the heaviest scope over its share that
 * has been idle for longest is closed; the last ones are the owner's.
 *
 * Another user's has few connections, little time and short messages before its
 * hello. Called by accept.c, conn*.c and request.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "supervisor/api/conn.h"

#define GUESTS_MAX  64u   /* of one other user, before hello */
#define GUEST_MS    5000u /* to its hello */
#define OWNER_SPARE 32u   /* connections that only the owner gets */

/* How many there may be: descriptors, but for those that the work of others
 * needs, readers of rings above all. */
uint64_t
conn_room_limit(const struct master *m)
{
	uint64_t owner = m->nofile / 8 < OWNER_SPARE ? m->nofile / 8
						     : OWNER_SPARE;
	uint64_t spare = m->nofile / 8 < CONN_SPARE ? m->nofile / 8
						    : CONN_SPARE;

	return m->nofile - m->nofile / 4 - spare - owner;
}

/* Forgets that it is idle. */
static void
busy(struct conn *c)
{
	if (!c->idle)
		return;
	TAILQ_REMOVE(&c->room->idle, c, idle_link);
	c->room->share.loose[SHARE_CONNECTIONS]--;
	c->idle = false;
}

/* Whether it is idle, and since when, has changed: without a request under way
 * and events to tell, it may be closed for another's sake. */
void
conn_room_idle(struct conn *c)
{
	bool idle = !c->dead && c->nreqs == 0 && !c->sub.on;

	if (idle == c->idle || c->room == NULL)
		return;
	if (!idle) {
		busy(c);
		return;
	}
	c->idle = true;
	c->room->share.loose[SHARE_CONNECTIONS]++;
	TAILQ_INSERT_TAIL(&c->room->idle, c, idle_link);
}

/* Takes the longest idle one of the payer's, but not the one that asks. */
bool
conn_room_reclaim(void *arg, struct share_scope *payer)
{
	struct room *room = RANK_OWNER(payer, struct room, share);
	struct conn *c = TAILQ_FIRST(&room->idle);

	if (c != NULL && c == ((struct master *)arg)->conns->in_hand)
		c = TAILQ_NEXT(c, idle_link);
	if (c == NULL)
		return false;
	log_event(LOG_DEBUG, "connection-closed",
	    KV("why", "its scope has more than its share, and it was idle"));
	conn_kill(c);
	return true;
}

/* ---------------------------------------------------------------- memory */

/* What a connection takes for itself: its struct, events, a small buffer. */
#define CONN_MEMORY 8192u

#define LARGEST_OF  64u /* connections looked at for one that gives back */

/* It counts with this much memory from now on: `large` of it a long message or
 * answers that nobody takes, `lent` of it its requests' or its execs'. */
static void
set_memory(struct conn *c, uint64_t n, uint64_t large, uint64_t lent)
{
	struct shares *sh = &c->m->rooms.shares;
	struct room *room = c->room;
	bool gives = large != 0 || lent != 0;

	if (n > c->memory)
		share_take(sh, &room->share, SHARE_MEMORY, n - c->memory);
	else if (n < c->memory)
		share_give(sh, &room->share, SHARE_MEMORY, c->memory - n);
	room->conn_memory += n - c->memory;
	room->share.loose[SHARE_MEMORY] += large - c->large;
	if (gives != c->gives) {
		if (gives)
			TAILQ_INSERT_TAIL(&room->large, c, large_link);
		else
			TAILQ_REMOVE(&room->large, c, large_link);
	}
	c->memory = n;
	c->large = large;
	c->gives = gives;
}

/* Its socket is full: so much of its answers lies here. */
static uint64_t
untaken(const struct conn *c)
{
	return event_pending(c->ev_write, EV_WRITE, NULL) ? conn_queued(c) : 0;
}

void
conn_room_count(struct conn *c)
{
	if (c->room != NULL)
		set_memory(c, CONN_MEMORY + c->in_cap + conn_queued(c) +
		    c->lent + defaults_bytes(&c->defaults),
		    (c->in_cap > CONN_INPUT ? c->in_cap : 0) + untaken(c),
		    c->lent + defaults_bytes(&c->defaults));
}

bool
conn_room_grow(struct conn *c, size_t n)
{
	struct proto_problem why;

	if (room_ask(c->room, SHARE_MEMORY, n, &why) == 0)
		return true;
	frame_give_up(c, &why);
	return false;
}

/* Its scope's connections hold more than its share: nothing new is begun. */
bool
conn_room_starves(const struct conn *c)
{
	const struct share_row *row = &c->m->rooms.shares.row[SHARE_MEMORY];

	return c->room != NULL && row->used > row->limit - row->limit / 8 &&
	    c->room->conn_memory > share_fair(&c->m->rooms.shares,
		&c->room->share, SHARE_MEMORY);
}

/* The request of the connection to which most is lent ends. */
static void
refuse_largest(struct conn *c)
{
	struct req *r, *most = TAILQ_FIRST(&c->reqs);
	struct proto_problem why;

	TAILQ_FOREACH(r, &c->reqs, link)
		if (r->lent > most->lent)
			most = r;
	room_refuse(c->room, SHARE_MEMORY, 0, &why);
	req_fail(most, &why);
}

/* Is its message long and not whole, or does nobody take its answers? */
static bool
may_go(const struct conn *c)
{
	return (c->partial && c->in_cap > CONN_INPUT) || untaken(c) > 0;
}

/* Was all handled that is in a large buffer? */
static bool
is_spent(const struct conn *c)
{
	return c->in_len == c->in_at && c->in_cap > CONN_INPUT;
}

/* What it would give back. What is lent to requests only another scope gets, and
 * what is kept for execs, too, once no connection of the scope is idle. */
static uint64_t
gives(const struct conn *c, bool others)
{
	return may_go(c)      ? c->memory
	    : is_spent(c)     ? c->in_cap
	    : !others         ? 0
	    : c->lent > 0     ? c->lent
	    : TAILQ_EMPTY(&c->room->idle) ? defaults_bytes(&c->defaults)
					  : 0;
}

static void
give_back(struct conn *c)
{
	if (may_go(c)) {
		log_event(LOG_NOTE, "connection-closed",
		    KV("why", c->partial ? "its scope has more memory than its "
		                           "share, and its message is not whole"
		                         : "its scope has more memory than its "
		                           "share, and its answers are unread"),
		    KV("bytes", c->memory));
		conn_kill(c);
	} else if (is_spent(c)) {
		conn_in_free(c);
	} else if (c->lent > 0) {
		refuse_largest(c);
	} else {
		defaults_lose(&c->defaults);
		conn_room_count(c);
	}
}

/* The connection of the payer's that gives most does, of some of them; but not
 * the one that asks: what is in hand points to it. */
static bool
drop_largest(const struct master *m, struct room *room)
{
	bool others = &room->share != m->rooms.shares.asker;
	struct conn *c, *first = NULL, *most = NULL;

	for (unsigned i = 0; i < LARGEST_OF &&
	     (c = TAILQ_FIRST(&room->large)) != first; i++) {
		first = first == NULL ? c : first;
		TAILQ_REMOVE(&room->large, c, large_link);
		TAILQ_INSERT_TAIL(&room->large, c, large_link);
		if (c != m->conns->in_hand && gives(c, others) >
		        (most != NULL ? gives(most, others) : 0))
			most = c;
	}
	if (most != NULL)
		give_back(most);
	return most != NULL;
}

bool
conn_room_free(void *arg, struct share_scope *payer)
{
	return drop_largest(arg, RANK_OWNER(payer, struct room, share)) ||
	    conn_room_reclaim(arg, payer) || sweep_reclaim(arg, payer);
}

/* ----------------------------------------------------------- connections */

/* Counts the connection in this room from now on. */
static void
move(struct conn *c, struct room *room)
{
	struct shares *sh = &c->m->rooms.shares;

	busy(c);
	if (c->room != NULL) {
		share_give(sh, &c->room->share, SHARE_CONNECTIONS, 1);
		set_memory(c, 0, 0, 0);
	}
	room_release(&c->room);
	c->room = room;
	if (room == NULL)
		return;
	share_take(sh, &room->share, SHARE_CONNECTIONS, 1);
	conn_room_count(c);
	conn_room_idle(c);
}

/* Guests that said no hello in time. */
static void
on_guests(int, short, void *arg)
{
	struct master *m = arg;
	uint64_t now = clock_boot_ns();
	struct conn *c;

	turn_begin(m);
	while ((c = TAILQ_FIRST(&m->conns->guests)) != NULL &&
	    now - c->since_ns >= GUEST_MS * NSEC_PER_MSEC) {
		log_event(LOG_NOTE, "connection-closed",
		    KV("why", "another user's, and no hello in time"));
		conn_kill(c);
	}
	if (c != NULL)
		timer_in(m, &m->conns->guest_timer, on_guests, m,
		    GUEST_MS + 1 - (now - c->since_ns) / NSEC_PER_MSEC);
}

/* A guest waits for its hello. */
static void
guest_wait(struct conn *c)
{
	struct conn_list *l = c->m->conns;

	c->since_ns = clock_boot_ns();
	c->unsaid = true;
	if (TAILQ_EMPTY(&l->guests))
		timer_in(c->m, &l->guest_timer, on_guests, c->m, GUEST_MS + 1);
	TAILQ_INSERT_TAIL(&l->guests, c, guest_link);
}

/* It has said hello, or is gone. */
static void
guest_over(struct conn *c)
{
	if (c->unsaid)
		TAILQ_REMOVE(&c->m->conns->guests, c, guest_link);
	c->unsaid = false;
}

bool
conn_room_enter(struct conn *c)
{
	struct share_row *row = &c->m->rooms.shares.row[SHARE_CONNECTIONS];
	struct room *room;
	char name[sizeof(room->name)];

	/* no scope's name begins so */
	snprintf(name, sizeof(name), "\001%u", c->uid);
	room = room_hold(c->m, name);
	if (room == NULL)
		return false;
	if ((c->guest && room_used(room, SHARE_CONNECTIONS) >= GUESTS_MAX) ||
	    (room_ask(room, SHARE_CONNECTIONS, 1, NULL) < 0 &&
		(c->guest || row->used >= row->limit + OWNER_SPARE))) {
		c->m->rooms.refused[SHARE_CONNECTIONS]++;
		room_release(&room);
		return false;
	}
	move(c, room);
	if (c->guest)
		guest_wait(c);
	return true;
}

int
conn_room_hello(struct conn *c, const char *scope, struct proto_problem *why)
{
	struct room *room = room_hold(c->m, scope);
	int r = 0;

	if (room == NULL)
		return proto_problem_set(why, PROTO_E_BUSY, "",
		    "out of memory");
	if (room != c->room)
		r = room_ask(room, SHARE_CONNECTIONS, 1, why);
	if (r < 0) {
		room_release(&room);
		return r;
	}
	guest_over(c);
	move(c, room);
	return 0;
}

void
conn_room_leave(struct conn *c)
{
	guest_over(c);
	move(c, NULL);
}
