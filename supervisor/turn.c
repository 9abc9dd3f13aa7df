/* SPDX-License-Identifier: MIT */
/* Surplus round robin over scopes, then over connections. See turn.h. */
#include "supervisor/turn.h"

#include <sys/tree.h>

#include <stdlib.h>
#include <string.h>

TAILQ_HEAD(client_queue, turn_client);

/* A scope that is ready, or was while somebody else has been ever since. */
struct turn_flow {
	RB_ENTRY(turn_flow) by_name;
	TAILQ_ENTRY(turn_flow) link;
	char name[TURN_NAME_MAX];
	int64_t credit_ns; /* below 0: it owes */
	uint64_t left_at_ns; /* of used_ns, when it had no more to do */
	bool queued, fresh;
	bool old_next; /* of its clients */
	struct client_queue fresh_clients, clients;
};
TAILQ_HEAD(flow_queue, turn_flow);
RB_HEAD(flow_tree, turn_flow);

struct turns {
	struct flow_tree flows;
	size_t count;  /* of flows */
	size_t queued; /* of them, ready */
	struct flow_queue fresh, old;
	int64_t lead_ns; /* what fresh flows had before the old ones, if both waited */
	uint64_t used_ns; /* by all units ever */
	struct turn_client *in_hand;
	struct turn_flow *charged; /* whose unit it is */
	bool charged_fresh;
	bool again;     /* who is in hand became ready meanwhile */
	struct turn_flow rest; /* for those that found no flow of their own */
};

static int
flow_cmp(const struct turn_flow *a, const struct turn_flow *b)
{
	return strcmp(a->name, b->name);
}

RB_GENERATE_INTERNAL(flow_tree, turn_flow, by_name, flow_cmp,
    static __attribute__((unused)))

static void
flow_init(struct turn_flow *f)
{
	f->credit_ns = 1; /* one unit, before it has to wait */
	TAILQ_INIT(&f->fresh_clients);
	TAILQ_INIT(&f->clients);
}

struct turns *
turns_new(void)
{
	struct turns *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	RB_INIT(&t->flows);
	TAILQ_INIT(&t->fresh);
	TAILQ_INIT(&t->old);
	flow_init(&t->rest);
	return t;
}

/* Frees the flows that nobody waits in: what they owed is forgiven. */
static void
forgive(struct turns *t)
{
	struct turn_flow *f, *next;

	RB_FOREACH_SAFE(f, flow_tree, &t->flows, next) {
		if (f->queued || f == t->charged)
			continue;
		RB_REMOVE(flow_tree, &t->flows, f);
		t->count--;
		free(f);
	}
}

void
turns_free(struct turns **pt)
{
	struct turn_flow *f, *next;

	if (*pt == NULL)
		return;
	RB_FOREACH_SAFE(f, flow_tree, &(*pt)->flows, next) {
		RB_REMOVE(flow_tree, &(*pt)->flows, f);
		free(f); /* a master that leaves has clients waiting */
	}
	free(*pt);
	*pt = NULL;
}

/* The flow of that name; without memory, the one for the rest. */
static struct turn_flow *
flow_get(struct turns *t, const char *name)
{
	struct turn_flow key, *f;

	strlcpy(key.name, name, sizeof(key.name));
	f = RB_FIND(flow_tree, &t->flows, &key);
	if (f != NULL)
		return f;
	if (t->count == TURN_FLOWS_MAX)
		forgive(t);
	f = t->count < TURN_FLOWS_MAX ? calloc(1, sizeof(*f)) : NULL;
	if (f == NULL)
		return &t->rest;
	memcpy(f->name, key.name, sizeof(f->name));
	flow_init(f);
	f->left_at_ns = t->used_ns;
	RB_INSERT(flow_tree, &t->flows, f);
	t->count++;
	return f;
}

/* Puts a flow into the queue of those that are ready. */
static void
flow_queue(struct turns *t, struct turn_flow *f, bool fresh)
{
	f->queued = true;
	f->fresh = fresh;
	t->queued++;
	TAILQ_INSERT_TAIL(fresh ? &t->fresh : &t->old, f, link);
}

static void
flow_leave(struct turns *t, struct turn_flow *f)
{
	TAILQ_REMOVE(f->fresh ? &t->fresh : &t->old, f, link);
	f->queued = false;
	f->left_at_ns = t->used_ns;
	t->queued--;
}

uint64_t
turns_slice_ns(const struct turns *t)
{
	uint64_t slice = TURN_ROUND_NS / (t->queued > 0 ? t->queued : 1);

	if (slice > TURN_SLICE_MAX_NS)
		return TURN_SLICE_MAX_NS;
	return slice < TURN_SLICE_MIN_NS ? TURN_SLICE_MIN_NS : slice;
}

/* A flow becomes ready. While it had nothing to do others were served: what it
 * owes is less by its share of that. If it still owes it goes to the end. */
static void
flow_enter(struct turns *t, struct turn_flow *f)
{
	int64_t slice = (int64_t)turns_slice_ns(t);
	int64_t share = (int64_t)((t->used_ns - f->left_at_ns) /
	    (t->queued + 1));

	if (f->credit_ns <= slice - share)
		f->credit_ns += share;
	else if (f->credit_ns < slice)
		f->credit_ns = slice;
	flow_queue(t, f, f->credit_ns > 0);
	if (!f->fresh)
		f->credit_ns += slice;
}

/* Who owes goes to the end, and gets a quantum: that was its turn. */
static void
send_back(struct turns *t, struct turn_flow *f)
{
	if (!f->fresh && t->lead_ns > 0)
		t->lead_ns = 0;
	if (t->queued == 1)
		f->credit_ns = 0; /* nobody else is kept waiting */
	f->credit_ns += (int64_t)turns_slice_ns(t);
	flow_leave(t, f);
	flow_queue(t, f, false);
}

/* Puts a client into its flow. */
static void
put(struct turns *t, struct turn_client *c, const char *scope, bool fresh)
{
	struct turn_flow *f = flow_get(t, scope);

	c->flow = f;
	c->fresh = fresh;
	TAILQ_INSERT_TAIL(fresh ? &f->fresh_clients : &f->clients, c, link);
	if (!f->queued)
		flow_enter(t, f);
}

void
turns_ready(struct turns *t, struct turn_client *c, const char *scope)
{
	if (c == t->in_hand)
		t->again = true;
	else if (c->flow == NULL)
		put(t, c, scope, true);
}

void
turns_forget(struct turns *t, struct turn_client *c)
{
	struct turn_flow *f = c->flow;

	if (c == t->in_hand)
		t->in_hand = NULL;
	if (f == NULL)
		return;
	TAILQ_REMOVE(c->fresh ? &f->fresh_clients : &f->clients, c, link);
	c->flow = NULL;
}

bool
turns_wait(const struct turns *t)
{
	return t->queued > 0;
}

/* Those that have just become ready, and the others, for as long each: by units
 * 500 of a scope's, of 2 us, would let as many of half a millisecond pass. A flow
 * stays first until it owes, or has nothing more to do. */
static struct turn_flow *
pick_flow(struct turns *t)
{
	struct turn_flow *a = TAILQ_FIRST(&t->fresh), *b = TAILQ_FIRST(&t->old);

	return a != NULL && (b == NULL || t->lead_ns <= 0) ? a : b;
}

static struct turn_client *
pick_client(struct turn_flow *f)
{
	struct turn_client *a = TAILQ_FIRST(&f->fresh_clients);
	struct turn_client *b = TAILQ_FIRST(&f->clients);

	return a != NULL && (b == NULL || !f->old_next) ? a : b;
}

struct turn_client *
turns_next(struct turns *t)
{
	struct turn_flow *f;
	struct turn_client *c = NULL;

	while (c == NULL && (f = pick_flow(t)) != NULL) {
		c = pick_client(f);
		if (c == NULL) {
			flow_leave(t, f);
		} else if (f->credit_ns <= 0) {
			c = NULL;
			send_back(t, f);
		}
	}
	if (c == NULL) {
		t->rest.credit_ns = 1;
		forgive(t);
		return NULL;
	}
	TAILQ_REMOVE(c->fresh ? &f->fresh_clients : &f->clients, c, link);
	c->flow = NULL;
	t->charged_fresh = f->fresh;
	f->old_next = c->fresh;
	t->charged = f;
	t->in_hand = c;
	t->again = false;
	return c;
}

/* A slice at most: who was behind for long is not first for as long. */
static int64_t
not_below(int64_t lead_ns)
{
	return lead_ns > -TURN_SLICE_MAX_NS ? lead_ns : -TURN_SLICE_MAX_NS;
}

void
turns_charge(struct turns *t, uint64_t ns, bool more, const char *scope)
{
	struct turn_client *c = t->in_hand;

	t->used_ns += ns;
	t->charged->credit_ns -= (int64_t)ns;
	if (!t->charged_fresh)
		t->lead_ns = not_below(t->lead_ns - (int64_t)ns);
	else if (!TAILQ_EMPTY(&t->old))
		t->lead_ns = -not_below(-t->lead_ns - (int64_t)ns);
	t->charged = NULL;
	t->in_hand = NULL;
	if (c != NULL && (more || t->again))
		put(t, c, scope, false);
}
