/* SPDX-License-Identifier: MIT */
/*
 * Contexts of starts: what a child uses until it lets go of the worker's memory.
 * Called by start.c, start_wait.c and child.c.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "common/check.h"
#include "shm/lent_map.h"

#include "worker/limits.h"
#include "worker/spawn.h"
#include "worker/start_plan.h"

#define GUARD_BYTES 65536u
#define OWN_BYTES   4096u /* of the context, which ends its stack */
#define PLAN_BYTES  65536u /* of what is to be exec'd in a box; else no lodge */
#define ALL_BYTES                                                              \
	(GUARD_BYTES + SPAWN_STACK_BYTES + OWN_BYTES + PLAN_BYTES)

_Static_assert(sizeof(struct spawn) <= OWN_BYTES, "a context");

LIST_HEAD(spawn_list, spawn);
static struct spawn_list idle = LIST_HEAD_INITIALIZER(idle);
static struct spawn_list parked = LIST_HEAD_INITIALIZER(parked);
static unsigned in_use; /* but for the parked ones */
static char *arena;     /* of the first SPAWN_MAX, which lodges have */
static unsigned made;   /* in there */
static uint64_t starts;

static char *
map_shared(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	(void)madvise(at, bytes, MADV_DONTFORK);
	return at;
}

/* With a stack before it, and a guard before that. Shared, so that a porter tells
 * from its own memory how far it is. */
static struct spawn *
context_new(void)
{
	char *base;

	if (arena == NULL)
		arena = map_shared(ALL_BYTES * (size_t)SPAWN_MAX);
	if (arena == NULL)
		return NULL;
	base = made < SPAWN_MAX ? arena + made * (size_t)ALL_BYTES
				: map_shared(ALL_BYTES);
	if (base == NULL || mprotect(base, GUARD_BYTES, PROT_NONE) != 0)
		return NULL; /* there are few of them, and it comes again */
	made += made < SPAWN_MAX;
	return (struct spawn *)(base + GUARD_BYTES + SPAWN_STACK_BYTES);
}

/* What a porter has, beside what there is of everything but sessions: each of
 * theirs that it had would be copied, and torn down at its end. */
void
spawn_lend(struct spawn *s, bool yes)
{
	(void)madvise(s->stack - SPAWN_STACK_BYTES,
	    SPAWN_STACK_BYTES + OWN_BYTES + PLAN_BYTES,
	    yes ? MADV_DOFORK : MADV_DONTFORK);
	lent_map_forked(s->args.hdr, yes);
}

void
spawn_lend_all(bool yes)
{
	(void)madvise(arena, ALL_BYTES * (size_t)SPAWN_MAX,
	    yes ? MADV_DOFORK : MADV_DONTFORK);
}

size_t
spawn_lend_plan(struct spawn *s, const struct start_plan *plan)
{
	struct start_plan *own;

	if ((char *)s < arena ||
	    (char *)s >= arena + ALL_BYTES * (size_t)SPAWN_MAX)
		return 0;
	own = start_plan_copy(plan, (char *)s + OWN_BYTES, PLAN_BYTES);
	if (own == NULL)
		return 0;
	own->search.trying = &s->path;
	s->args.order = &own->order;
	s->args.search = &own->search;
	s->args.cwd = own->cwd;
	return (size_t)(own->blob + own->order.blob_bytes - (char *)own);
}

/* A context is never freed: there are at most SPAWN_MAX beside the parked. */
struct spawn *
spawn_take(void)
{
	struct spawn *s = LIST_FIRST(&idle);

	if (in_use >= SPAWN_MAX)
		return NULL;
	if (s != NULL)
		LIST_REMOVE(s, link);
	else if ((s = context_new()) == NULL)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->stack = (char *)s;
	s->join_fd = -1;
	s->serial = ++starts;
	in_use++;
	return s;
}

/* Nobody uses it any more. What was lent is nothing for whoever comes next: of
 * lodges one of another box may be. */
static void
rest(struct spawn *s)
{
	/* bounded, since a porter shares this */
	explicit_bzero((char *)s + OWN_BYTES, MIN(s->lent, PLAN_BYTES));
	s->lent = 0;
	limits_close(&s->limits);
	if (s->join_fd >= 0)
		close(s->join_fd);
	LIST_INSERT_HEAD(&idle, s, link);
}

void
spawn_give(struct spawn *s)
{
	rest(s);
	in_use--;
}

void
spawn_park(struct spawn *s, struct ring_writer *ring, struct start_plan *plan)
{
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
		rest(s);
	}
}
