/* SPDX-License-Identifier: MIT */
/*
 * The clone. A command is cloned as a child of the keeper (CLONE_PARENT), in
 * the worker's memory and descriptor table. The worker goes on, and a later
 * start waits only until the child has a table of its own ("cut"): chdir and
 * exec may lie on a file system that never answers, and that is nobody's
 * business but the session's.
 *
 * The kernel copies a descriptor table entry by entry, so a worker with many
 * sessions would pay for each of them at each spawn: 0.1 ms becomes 1.7 ms at
 * 19 000 descriptors. With CLONE_FILES nothing is copied, and the child's
 * close_range(SPAWN_FD_FIRST_OTHER, ~0, CLOSE_RANGE_UNSHARE) copies just the
 * low ones. That is why its stdio lies at fixed low numbers beforehand, and
 * why nothing else may lie there but that of other starts, which the child
 * closes then. It stays there until the child has cut itself off; with three
 * that have not, a start is tried again a little later: on a busy machine a
 * child may have no processor for seconds, and [limits] start_ms bounds that.
 *
 * The kernel writes the child's pid into the ring's header before the child
 * runs (CLONE_PARENT_SETTID), so that whoever finds the worker dead finds the
 * child, and says when the child has let go of the worker's memory, by exec or
 * exit (CLONE_CHILD_CLEARTID). Until then the context with its stack, and all
 * that it points to, stay as they are.
 *
 * Where the kernel or a tool around us refuses that, or the keeper does not
 * read headers, the worker is held until the exec (CLONE_VFORK), and the child
 * itself tells the keeper its pid (CTL_SPAWNED).
 */
#ifndef PSUP_WORKER_SPAWN_H
#define PSUP_WORKER_SPAWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/ctl.h"
#include "common/ids.h"
#include "shm/ring.h"
#include "worker/search.h"

struct sock_fprog;
struct start_plan;

#define SPAWN_MAX CTL_STARTS_MAX /* contexts in use at once */

enum {
	SPAWN_LAYS = 3,
	SPAWN_FD_STDIO = 4,  /* a command's, and those of others behind it */
	SPAWN_FD_KEEPER = SPAWN_FD_STDIO + 3 * SPAWN_LAYS, /* its pidfd:
	                      * readable once it is dead */
	SPAWN_FD_FIRST_OTHER
};

/* Puts /dev/null (null_fd, which stays open) at 4..12, the keeper's pidfd at 13.
 * -errno. */
int spawn_reserve(int null_fd, int32_t keeper_pid);

/*
 * One of three places for the stdio of the start that follows.
 * Errors: -EBUSY: of none it is sure yet that its child has descriptors of its
 * own. -ETIME: nor will it be: the three were killed, and do not die: the
 * descriptors are not ours any more, and the worker must end.
 */
int spawn_place(void);

/*
 * Lays a command's stdio at that place, for the spawn_clone() that follows and
 * takes it away again; -1: /dev/null. -errno: there is no spawn_clone().
 */
int spawn_lay(const int fds[3]);

/* Takes away what lies there, if its child needs it no more. Once a turn: as
 * long as it lies there nobody sees the end of that command's output. */
void spawn_look(void);
/* After -ETIME: whose child that is. */
struct sid spawn_uncut(void);

/* What the child does about limits before it execs. */
struct spawn_limits {
	unsigned join_count, rl_count;
	int join[2]; /* cgroup.procs it writes itself to */
	struct {
		int resource;
		uint64_t soft, hard;
	} rl[CTL_LIMITS];
	bool nice_set; /* by a limit; else one that cannot be had is no matter */
	int nice;
};

/* What is pointed to lives until the context is released. */
struct spawn_args {
	struct sid sid;
	struct ring_header *hdr; /* pid, exec_errno and exec_stage go here */
	int32_t keeper_pid;
	bool held;            /* the worker waits until the exec */
	const struct ctl_start *order; /* what the child reads by itself */
	bool pty;             /* stdin is to be the controlling terminal */
	uint64_t nofile_soft; /* of the command; 0: leave as it is */
	uint64_t core_soft;   /* the same */
	const char *cwd;
	const struct search *search; /* what it execs */
	int leaf_fd; /* control group to be in from the first moment; -1 */
	bool leaf_into; /* by clone itself; else the child moves itself */
	bool bounded;   /* by its leaf or the group above: it runs nowhere else */
	bool yields;          /* the worker does (SCHED_BATCH), and hands it on */
	int box_fd;     /* pidfd of the box's pid 1; -1: outside */
	int namespaces; /* ... of which these are entered */
	int ring_fd;    /* the file of hdr */
	bool stall, no_pid; /* tests: never cut; the kernel writes no pid */
};

/* A start: from spawn_take() until it is released and given back. In memory that
 * a porter shares, which shares nothing else with us. */
struct spawn {
	struct spawn_args args;
	struct spawn_limits limits;
	_Atomic uint32_t cut;     /* the child has its own descriptors */
	_Atomic int32_t inexec;   /* the kernel: 0 once it let go of our memory */
	const char *volatile path; /* what the child is looking at; NULL: none */
	int stdio;    /* the first of its three descriptors, as spawn_lay() put */
	bool unshare; /* cloned with CLONE_FILES */
	int join_fd;  /* cgroup.procs the child writes itself to; -1. This, and
	               * those of `limits`, are open until it is given back */
	bool joined;  /* by the child */
	bool told;    /* by the child, where the worker is held: SPAWNED */
	char *stack;  /* its top */
	size_t lent;  /* bytes of what args points to that lie in it, so that a
	               * lodge has them; 0: none do */
	uint64_t serial; /* of the start that has it */
	const struct sock_fprog *filter; /* of a box's commands */
	/* what must outlive the session of a child that cannot die */
	struct ring_writer ring;
	struct start_plan *plan;
	LIST_ENTRY(spawn) link; /* idle, or parked */
};

/* A context, cleared; NULL: SPAWN_MAX are in use, or no memory. */
struct spawn *spawn_take(void);
/* Around the clone of its porter, or of a lodge. */
void spawn_lend(struct spawn *s, bool yes);
void spawn_lend_all(bool yes);
/* Has it what is in the plan, too, so that a lodge has it? The bytes; 0: no, and it
 * is as it was. */
size_t spawn_lend_plan(struct spawn *s, const struct start_plan *plan);
/* Back with a released one. */
void spawn_give(struct spawn *s);
/* The session is over, the child cannot be killed: s, its ring and its plan are
 * kept until it lets go. Takes both over. */
void spawn_park(struct spawn *s, struct ring_writer *ring,
    struct start_plan *plan);
/* Its child, which may have no descriptors of its own yet, was killed in vain. */
void spawn_lay_give_up(const struct spawn *s);
/* Frees what is parked and released. */
void spawn_unpark(void);

/* May a worker go on while its child is before its exec? Not where that was
 * refused once. */
bool spawn_is_free(void);

/*
 * Clones with s->args and s->limits, after spawn_lay(). It is over once
 * spawn_released(), and then hdr->exec_errno tells whether the exec failed.
 * *ret_in_leaf says whether it is in its control group, or will be unless
 * s->joined says otherwise then: that it is not fails what is bounded, and no other.
 * Errors: there is no child: -EAGAIN where another way of cloning is to be
 * tried, or -errno of the clone.
 */
int spawn_clone(struct spawn *s, pid_t *ret_pid, int *ret_pidfd,
    bool *ret_in_leaf);

/* Has the child exec'd, or exited? */
static inline bool
spawn_released(const struct spawn *s)
{
	return atomic_load_explicit(&s->inexec, memory_order_acquire) == 0;
}

/* Is it cloned by a porter, whose pid and pidfd spawn_clone() answers with? */
static inline bool
spawn_is_boxed(const struct spawn *s)
{
	return s->args.box_fd >= 0;
}

/* Its porter is dead, whatever it did: it holds nothing of ours. */
void spawn_porter_died(struct spawn *s);

/* The child: spawn.c. On a stack of its own, in the worker's memory. */
int spawn_child(void *spawn);
/* The porter: porter.c. In memory of its own. */
int spawn_porter(void *spawn);
#define SPAWN_STACK_BYTES (128u * 1024u) /* below spawn.stack */

#endif
