/* SPDX-License-Identifier: MIT */
/*
 * The worker's side of a clone: the clone itself, and the places for stdio that a
 * child shares until it has descriptors of its own. Called by start.c and
 * start_wait.c.
 */
#include "worker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "worker/box.h"
#include "worker/clone3.h"
#include "worker/lodge.h"

#define CUT_WAIT_NS (10 * NSEC_PER_MSEC) /* all for one child, once */

/* Where close_range is not allowed, the table is copied as of old. */
static bool no_unshare;
/* Where clone3 is not, the worker is held. */
static bool no_free;

static int null = -1; /* what lies there otherwise */
/* Where stdio is laid: in the way of a child that comes to its turn late is the
 * next start but one. */
static struct lay {
	bool laid[3];        /* something but null is there */
	struct spawn *uncut; /* whose child may still share them */
	bool waited;         /* for that child: it has had its moment */
	bool given_up;       /* it was killed, and does not die */
} lays[SPAWN_LAYS];
static unsigned at; /* the last one used */

/* Is it a refusal of this way of cloning, not a want? */
static bool
is_refusal(long error)
{
	return error == ENOSYS || error == EPERM || error == EINVAL;
}

/* Puts /dev/null where a command's stdio will lie. That close_range may unshare is
 * found out on what is open nowhere. */
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
	no_unshare = syscall(SYS_close_range, ~0u, ~0u,
	    CLOSE_RANGE_UNSHARE) != 0 && is_refusal(errno);
	for (fd = SPAWN_FD_STDIO; fd < SPAWN_FD_KEEPER; fd++)
		if (dup3(null_fd, fd, O_CLOEXEC) < 0)
			return -errno;
	return 0;
}

/* Its first number. */
static int
lay_fd(const struct lay *l)
{
	return SPAWN_FD_STDIO + 3 * (int)(l - lays);
}

/* Takes a command's stdio away again. */
static void
unlay(struct lay *l)
{
	int i;

	for (i = 0; i < 3; i++)
		if (l->laid[i])
			l->laid[i] = dup3(null, lay_fd(l) + i, O_CLOEXEC) < 0;
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

void
spawn_lay_give_up(const struct spawn *s)
{
	unsigned i;

	for (i = 0; i < SPAWN_LAYS; i++)
		if (lays[i].uncut == s)
			lays[i].given_up = true;
}

/* Where no lodge does, it gets a copy of our memory for itself. */
static long
clone_porter(struct spawn *s, struct clone_args *args)
{
	long pid = lodge_clone(s, args);

	if (pid != -ENOSYS)
		return pid;
	args->flags &= ~(uint64_t)CLONE_VM;
	spawn_lend(s, true);
	pid = clone3_start(args, spawn_porter, s);
	spawn_lend(s, false);
	return pid;
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
		return clone_porter(s, &args);
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
	uint64_t flags = CLONE_PARENT | CLONE_PIDFD | CLONE_VM;
	bool into = s->args.leaf_fd >= 0 && s->args.leaf_into;
	/* a group that is full is no way out of it */
	bool elsewhere = !into || !s->args.bounded;
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
	if (pid < 0 && elsewhere && !s->args.held)
		pid = clone_new(s, flags, false, ret_pidfd);
	if (pid < 0 && elsewhere && s->args.held) {
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

/* A moment for the child in the way, which most often has no processor yet. */
static void
await_cut(struct lay *l)
{
	const long private = spawn_is_boxed(l->uncut) ? 0 : FUTEX_PRIVATE_FLAG;
	const struct timespec moment = {.tv_nsec = (long)CUT_WAIT_NS};

	if (l->waited)
		return;
	l->waited = true;
	(void)syscall(SYS_futex, &l->uncut->cut, FUTEX_WAIT | private, 0,
	    &moment, NULL, 0);
}

struct sid
spawn_uncut(void)
{
	return lays[at].uncut != NULL ? lays[at].uncut->args.sid
				      : (struct sid){0};
}

void
spawn_look(void)
{
	struct lay *l;

	for (l = lays; l < lays + SPAWN_LAYS; l++) {
		if (l->uncut == NULL || !is_cut(l->uncut))
			continue;
		l->uncut = NULL;
		unlay(l);
	}
}

/* Round about: after those that are not free comes the oldest. */
int
spawn_place(void)
{
	bool given_up = true;
	int i;

	for (i = 0; i < SPAWN_LAYS; i++, at = (at + 1) % SPAWN_LAYS) {
		if (lays[at].uncut == NULL || is_cut(lays[at].uncut))
			break;
		given_up = given_up && lays[at].given_up;
	}
	if (i == SPAWN_LAYS) {
		at = (at + 1) % SPAWN_LAYS;
		await_cut(&lays[at]);
		if (!is_cut(lays[at].uncut))
			return given_up ? -ETIME : -EBUSY;
	}
	lays[at].uncut = NULL;
	return 0;
}

/* The low descriptors are one command's at a time. */
int
spawn_lay(const int fds[3])
{
	struct lay *l = &lays[at];
	int i, rc;

	/* what the one before had there goes with that */
	for (i = 0; i < 3; i++) {
		if (fds[i] < 0 && !l->laid[i])
			continue;
		if (dup3(fds[i] < 0 ? null : fds[i], lay_fd(l) + i,
		        O_CLOEXEC) < 0) {
			rc = -errno;
			unlay(l);
			return rc;
		}
		l->laid[i] = fds[i] >= 0;
	}
	return 0;
}

/* The child runs. All that it still uses of the shared descriptors lies low, and
 * stays there until it has its own; one that was held has, and more. */
static void
after_clone(struct spawn *s)
{
	struct ring_header *hdr = s->args.hdr;

	if (!s->args.held) {
		lays[at].uncut = s;
		lays[at].waited = lays[at].given_up = false;
		return;
	}
	atomic_store(&s->inexec, 0);
	if (!s->told && atomic_load(&hdr->exec_errno) == 0) {
		/* killed by somebody before the keeper could know of it */
		atomic_store(&hdr->exec_stage, STAGE_CLONE);
		atomic_store(&hdr->exec_errno, EAGAIN);
	}
}

/* Where clone cannot place the child, the child moves itself; the file to write
 * to is opened here, since the child's table is about to be cut. */
int
spawn_clone(struct spawn *s, pid_t *ret_pid, int *ret_pidfd, bool *ret_in_leaf)
{
	struct ring_header *hdr = s->args.hdr;
	bool into = false;
	int pidfd = -1;
	long pid;

	if (spawn_is_boxed(s) && (s->args.held || no_free || no_unshare))
		return -ENOSYS;
	s->stdio = lay_fd(&lays[at]);
	s->unshare = !no_unshare;
	if (s->args.leaf_fd >= 0 && !s->args.leaf_into)
		s->join_fd = openat(s->args.leaf_fd, "cgroup.procs",
		    O_WRONLY | O_CLOEXEC);
	if (s->args.bounded && !s->args.leaf_into && s->join_fd < 0)
		return -errno;
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
	if (pid >= 0)
		after_clone(s);
	if (lays[at].uncut == NULL)
		unlay(&lays[at]);
	if (pid < 0)
		return (int)pid;
	*ret_pid = (pid_t)pid;
	*ret_pidfd = pidfd;
	*ret_in_leaf = into ||
	    (s->args.held ? s->joined : s->join_fd >= 0);
	return 0;
}
