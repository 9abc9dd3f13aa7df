/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is. Whatever a client causes is a unit: one read, one frame,
 * one slice of a long answer. Units are taken from scopes by surplus round
 * robin, within a scope from its connections: a unit runs first and its scope
 * is charged with the time it took, since nobody knows that before. Who owes
 * goes to the end and gets a quantum. Who has just become ready alternates with
 * who waits for longer, so one short request among thousands waits for one
 * unit.
 *
 * This is the order alone: no clock, no socket, time is what the caller says.
 * turn_run.c takes the units.
 */
#ifndef PSUP_TURN_H
#define PSUP_TURN_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#define TURN_NAME_MAX    56u
#define TURN_FLOWS_MAX   4096u    /* scopes told apart at a time */
#define TURN_ROUND_NS    40000000 /* all scopes once, ... */
#define TURN_SLICE_MAX_NS 1000000 /* ... a slice for each: at most this */
#define TURN_SLICE_MIN_NS 100000

struct turns;
struct turn_flow;

/* What takes turns: a connection. Part of it, from {0} on. */
struct turn_client {
	TAILQ_ENTRY(turn_client) link;
	struct turn_flow *flow; /* NULL: it is not ready */
	bool fresh;
};

/* NULL: no memory. */
struct turns *turns_new(void);
/* No client is ready any more. */
void turns_free(struct turns **t);
/* It has something to do, on account of that scope: a name of less than
 * TURN_NAME_MAX bytes. For one that is ready already: nothing. */
void turns_ready(struct turns *t, struct turn_client *c, const char *scope);
/* It has nothing more to do, or ends. */
void turns_forget(struct turns *t, struct turn_client *c);
/* Whose unit is next: it is not ready any more, and turns_charge() follows,
 * which it need not live to see. NULL: nobody is ready, and debts end. */
struct turn_client *turns_next(struct turns *t);
/* What that unit took; `more`: who had it goes on, on account of `scope`. */
void turns_charge(struct turns *t, uint64_t ns, bool more, const char *scope);
/* How long a unit may go on, as many scopes as are ready. */
uint64_t turns_slice_ns(const struct turns *t);
/* Is anybody ready? */
bool turns_wait(const struct turns *t);

#endif
