/* SPDX-License-Identifier: MIT */
/*
 * Contexts of starts: what a child uses until it lets go of the worker's memory.
 * Called by start.c, start_wait.c and child.c.
 */
#include <string.h>
#include <sys/mman.h>

#include "worker/spawn.h"
#include "worker/start_plan.h"

#define GUARD_BYTES 65536u

LIST_HEAD(spawn_list, spawn);
static struct spawn_list idle = LIST_HEAD_INITIALIZER(idle);
static struct spawn_list parked = LIST_HEAD_INITIALIZER(parked);
static unsigned in_use; /* but for the parked ones */

/* A stack with a guard below it; its top, or NULL. */
static char *
stack_new(void)
{
	char *base = mmap(NULL, GUARD_BYTES + SPAWN_STACK_BYTES,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1,
	    0);

	if (base == MAP_FAILED)
		return NULL;
	if (mprotect(base, GUARD_BYTES, PROT_NONE) != 0) {
		munmap(base, GUARD_BYTES + SPAWN_STACK_BYTES);
		return NULL;
	}
	return base + GUARD_BYTES + SPAWN_STACK_BYTES;
}

/* Shared, so that a porter tells from its own memory how far it is. */
static struct spawn *
context_new(void)
{
	void *p = mmap(NULL, sizeof(struct spawn), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

/* A context is never freed: there are at most SPAWN_MAX beside the parked. */
struct spawn *
spawn_take(void)
{
	struct spawn *s = LIST_FIRST(&idle);
	char *stack;

	if (in_use >= SPAWN_MAX)
		return NULL;
	if (s != NULL) {
		LIST_REMOVE(s, link);
		stack = s->stack;
	} else {
		stack = stack_new();
		s = stack != NULL ? context_new() : NULL;
		if (s == NULL) {
			if (stack != NULL)
				munmap(stack - SPAWN_STACK_BYTES - GUARD_BYTES,
				    SPAWN_STACK_BYTES + GUARD_BYTES);
			return NULL;
		}
	}
	memset(s, 0, sizeof(*s));
	s->stack = stack;
	s->join_fd = -1;
	in_use++;
	return s;
}

void
spawn_give(struct spawn *s)
{
	LIST_INSERT_HEAD(&idle, s, link);
	in_use--;
}

void
spawn_park(struct spawn *s, struct ring_writer *ring, struct start_plan *plan)
{
	spawn_lay_park(s);
	s->ring = *ring;
	ring->hdr = NULL;
	ring->fd = -1;
	s->plan = plan;
	LIST_INSERT_HEAD(&parked, s, link);
	in_use--;
}

void
spawn_unpark(void)
{
	struct spawn *s, *next;

	for (s = LIST_FIRST(&parked); s != NULL; s = next) {
		next = LIST_NEXT(s, link);
		if (!spawn_released(s))
			continue;
		LIST_REMOVE(s, link);
		ring_close(&s->ring);
		start_plan_free(s->plan);
		LIST_INSERT_HEAD(&idle, s, link);
	}
}
