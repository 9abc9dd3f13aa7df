/* SPDX-License-Identifier: MIT */
/*
 * The worker's side of a clone: contexts, the clone itself, and who waits until
 * the child has descriptors of its own. Called by start.c and start_wait.c.
 */
#include "worker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "worker/box.h"
#include "worker/clone3.h"
#include "worker/start_plan.h"

#define GUARD_BYTES 65536u

#define CUT_STEP_NS (10 * NSEC_PER_MSEC)
#define CUT_KILL_NS (2 * NSEC_PER_SEC) /* then the child is killed */
#define CUT_LAST_NS (3 * NSEC_PER_SEC) /* then the worker ends */

LIST_HEAD(spawn_list, spawn);
static struct spawn_list idle = LIST_HEAD_INITIALIZER(idle);
static struct spawn_list parked = LIST_HEAD_INITIALIZER(parked);
static unsigned in_use; /* but for the parked ones */

/* Where close_range is not allowed, the table is copied as of old. */
static bool no_unshare;
/* Where clone3 is not, the worker is held. */
static bool no_free;
/* A child has cut itself off once, so the others will. */
static bool knows_unshare;

static int null = -1;     /* what lies at SPAWN_FD_* otherwise */
static bool laid[3];      /* something else does */
static struct spawn *uncut; /* whose child may still share them */
static int uncut_pidfd = -1;

/* Puts /dev/null where a command's stdio will lie. */
int
spawn_reserve(int null_fd, int32_t keeper_pid)
{
	int fd = (int)syscall(SYS_pidfd_open, keeper_pid, 0);
	int keeper = fd < 0 ? null_fd : fd; /* no kernel for boxes */
	int rc = dup3(keeper, SPAWN_FD_KEEPER, O_CLOEXEC) < 0 ? -errno : 0;

	if (fd >= 0 && fd != SPAWN_FD_KEEPER)
		close(fd);
	if (rc < 0)
		return rc;

	null = null_fd;
	for (fd = SPAWN_FD_STDIN; fd <= SPAWN_FD_STDERR; fd++)
		if (dup3(null_fd, fd, O_CLOEXEC) < 0)
			return -errno;
	return 0;
}

/* Takes a command's stdio away again. */
static void
unlay(void)
{
	int i;

	for (i = 0; i < 3; i++)
		if (laid[i])
			laid[i] = dup3(null, SPAWN_FD_STDIN + i, O_CLOEXEC) < 0;
}

bool
spawn_is_free(void)
{
	return !no_free && !no_unshare;
}

/* Has the child descriptors of its own, or is it gone? */
static bool
is_cut(const struct spawn *s)
{
	return atomic_load_explicit(&s->cut, memory_order_acquire) != 0 ||
	    spawn_released(s);
}

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
	if (s == uncut)
		uncut_pidfd = -1; /* closed; it was killed */
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

/* By clone3; with `into` into the leaf by the clone itself: nothing it starts
 * was ever elsewhere. A pid, or -errno. */
static long
clone_new(struct spawn *s, uint64_t flags, bool into, int *pidfd)
{
	struct clone_args args;

	memset(&args, 0, sizeof(args));
	args.flags = flags;
	args.pidfd = (uintptr_t)pidfd;
	args.stack = (uintptr_t)(s->stack - SPAWN_STACK_BYTES);
	args.stack_size = SPAWN_STACK_BYTES;
	if (into) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)s->args.leaf_fd;
	}
	if (spawn_is_boxed(s)) {
		args.flags |= CLONE_CLEAR_SIGHAND | CLONE_PARENT_SETTID;
		args.parent_tid = (uintptr_t)&s->args.hdr->porter;
		return clone3_start(&args, spawn_porter, s);
	}
	if (!s->args.held) {
		args.flags |= CLONE_CLEAR_SIGHAND | CLONE_CHILD_CLEARTID;
		if (!s->args.no_pid)
			args.flags |= CLONE_PARENT_SETTID;
		args.parent_tid = (uintptr_t)&s->args.hdr->pid;
		args.child_tid = (uintptr_t)&s->inexec;
	}
	return clone3_start(&args, spawn_child, s);
}

/* One clone with all signals blocked: a handler of the worker must not run on
 * the child's behalf. */
static long
clone_once(struct spawn *s, int *ret_pidfd, bool *ret_into)
{
	uint64_t flags = CLONE_PARENT | CLONE_PIDFD |
	    (spawn_is_boxed(s) ? 0 : CLONE_VM);
	bool into = s->args.leaf_fd >= 0 && s->args.leaf_into;
	sigset_t all, before;
	long pid = -1;

	if (s->unshare)
		flags |= CLONE_FILES;
	if (s->args.held)
		flags |= CLONE_VFORK;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (into)
		pid = clone_new(s, flags, true, ret_pidfd);
	*ret_into = pid >= 0;
	if (pid < 0 && !s->args.held)
		pid = clone_new(s, flags, false, ret_pidfd);
	if (pid < 0 && s->args.held) {
		pid = clone(spawn_child, s->stack, (int)flags, s, ret_pidfd);
		pid = pid < 0 ? -errno : pid;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

void
spawn_porter_died(struct spawn *s)
{
	atomic_store_explicit(&s->inexec, 0, memory_order_release);
}

/* A porter may die before it says anything. */
static void
look_at_porter(struct spawn *s, int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	if (spawn_is_boxed(s) && poll(&p, 1, 0) == 1)
		spawn_porter_died(s);
}

/* Waits until the child has descriptors of its own, or is gone. */
static int
await_cut(struct spawn *s, int pidfd)
{
	const long private = spawn_is_boxed(s) ? 0 : FUTEX_PRIVATE_FLAG;
	const struct timespec step = {.tv_nsec = (long)CUT_STEP_NS};
	uint64_t began = clock_boot_ns(), waited;
	bool killed = false;

	while (!is_cut(s)) {
		(void)syscall(SYS_futex, &s->cut,
		    FUTEX_WAIT | private, 0, &step, NULL, 0);
		look_at_porter(s, pidfd);
		waited = clock_boot_ns() - began;
		if (waited > CUT_LAST_NS)
			return -ETIME;
		if (waited > CUT_KILL_NS && !killed) {
			killed = true;
			if (FAULT_FAILS("spawn.no-death"))
				continue;
			(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL,
			    NULL, 0);
		}
	}
	return 0;
}

struct sid
spawn_uncut(void)
{
	return uncut != NULL ? uncut->args.sid : (struct sid){0};
}

void
spawn_look(void)
{
	if (uncut == NULL || !is_cut(uncut))
		return;
	uncut = NULL;
	unlay();
}

/* The low descriptors are one command's at a time. */
int
spawn_lay(const int fds[3])
{
	int i, rc;

	if (uncut != NULL) {
		rc = await_cut(uncut, uncut_pidfd);
		if (rc < 0)
			return rc;
		uncut = NULL;
	}
	/* what the one before had there goes with that */
	for (i = 0; i < 3; i++) {
		if (fds[i] < 0 && !laid[i])
			continue;
		if (dup3(fds[i] < 0 ? null : fds[i], SPAWN_FD_STDIN + i,
		        O_CLOEXEC) < 0) {
			rc = -errno;
			unlay();
			return rc;
		}
		laid[i] = fds[i] >= 0;
	}
	return 0;
}

/* Is it a refusal of this way of cloning, not a want? */
static bool
is_refusal(long error)
{
	return error == ENOSYS || error == EPERM || error == EINVAL;
}

/* Did the child find that it may not unshare its descriptors? */
static bool
unshare_refused(const struct spawn *s)
{
	const struct ring_header *hdr = s->args.hdr;

	return s->unshare && is_refusal(atomic_load(&hdr->exec_errno)) &&
	    atomic_load(&hdr->exec_stage) == STAGE_FDS;
}

/* Need nobody wait for the cut now? All that the child still uses of the
 * shared descriptors lies at SPAWN_FD_*, and stays there. */
static bool
may_wait(const struct spawn *s)
{
	return !s->args.held && s->unshare && knows_unshare &&
	    s->join_fd < 0 && s->limits.join_count == 0;
}

/* The child runs; so does the worker, as soon as that may be. */
static int
after_clone(struct spawn *s, int pidfd)
{
	struct ring_header *hdr = s->args.hdr;
	int rc = 0;

	if (may_wait(s)) {
		uncut = s;
		uncut_pidfd = pidfd;
		return 0;
	}
	if (!s->args.held)
		rc = await_cut(s, pidfd);
	else
		atomic_store(&s->inexec, 0);
	if (rc == 0 && unshare_refused(s)) {
		/* it exited before it did anything; the keeper reaps it */
		no_unshare = true;
		while (!spawn_released(s)) {
			look_at_porter(s, pidfd);
			sched_yield();
		}
		return -EAGAIN;
	}
	if (rc == 0 && s->unshare && atomic_load(&s->cut) != 0)
		knows_unshare = true;
	if (rc == 0 && s->args.held && !s->told &&
	    atomic_load(&hdr->exec_errno) == 0) {
		/* killed by somebody before the keeper could know of it */
		atomic_store(&hdr->exec_stage, STAGE_CLONE);
		atomic_store(&hdr->exec_errno, EAGAIN);
	}
	return rc;
}

/* Where clone cannot place the child, the child moves itself; the file to write
 * to is opened here, since the child's table is about to be cut. */
int
spawn_clone(struct spawn *s, pid_t *ret_pid, int *ret_pidfd, bool *ret_in_leaf)
{
	struct ring_header *hdr = s->args.hdr;
	bool into = false;
	int pidfd = -1, rc;
	long pid;

	if (spawn_is_boxed(s) && (s->args.held || no_free || no_unshare))
		return -ENOSYS;
	s->unshare = !no_unshare;
	if (s->args.leaf_fd >= 0 && !s->args.leaf_into)
		s->join_fd = openat(s->args.leaf_fd, "cgroup.procs",
		    O_WRONLY | O_CLOEXEC);
	atomic_store(&hdr->exec_errno, 0);
	atomic_store(&hdr->exec_stage, STAGE_NONE);
	atomic_store(&s->inexec, 1);
	/* also makes the page be there: the kernel does not wait for it */
	atomic_store(&hdr->pid, 0);
	if (spawn_is_boxed(s)) {
		atomic_store(&hdr->porter, 0);
		s->args.namespaces = box_namespaces(s->args.order);
	}
	pid = clone_once(s, &pidfd, &into);
	if (pid < 0 && !s->args.held && !spawn_is_boxed(s) && is_refusal(-pid)) {
		no_free = true;
		pid = -EAGAIN;
	}
	rc = pid < 0 ? (int)pid : after_clone(s, pidfd);
	if (uncut == NULL && rc != -ETIME)
		unlay();
	if (s->join_fd >= 0)
		close(s->join_fd);
	if (rc < 0) {
		if (pidfd >= 0)
			close(pidfd);
		return rc;
	}
	*ret_pid = (pid_t)pid;
	*ret_pidfd = pidfd;
	*ret_in_leaf = into || s->joined;
	return 0;
}
