/* SPDX-License-Identifier: MIT */
/*
 * Between clone and exec: what runs in the child. Called by spawn_clone.c. It
 * shares the worker's memory while the worker goes on, so it makes system calls
 * of its own (raw.h: errno is the worker's), changes its own stack, its context,
 * the ring's header page and what search.h says, and nothing else.
 */
#include "worker/spawn_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "common/heritage.h"

/* What the worker ignores, which exec would hand on. */
static const int ignored_signals[] = {
    SIGPIPE, SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXFSZ};

/* The descriptors at s->stdio are the child's own, or not needed. */
CHILD_CODE static void
child_wake(struct spawn *s)
{
	atomic_store_explicit(&s->cut, 1, memory_order_release);
	RAW(SYS_futex, &s->cut,
	    FUTEX_WAKE | (spawn_is_boxed(s) ? 0 : FUTEX_PRIVATE_FLAG), 1, 0);
}

CHILD_CODE _Noreturn void
child_exit(void)
{
	for (;;)
		RAW(SYS_exit_group, 127, 0, 0, 0);
}

/* Leaves errno and stage where the worker, or its replacement, finds them. */
CHILD_CODE _Noreturn void
child_give_up(struct spawn *s, unsigned stage, long error)
{
	struct ring_header *hdr = s->args.hdr;

	SET_RELAXED(hdr->exec_stage, stage);
	atomic_store_explicit(&hdr->exec_errno, (uint32_t)-error,
	    memory_order_release);
	child_wake(s);
	child_exit();
}

/* How far it came, for whoever finds that it hangs. */
CHILD_CODE void
child_at(struct spawn *s, unsigned stage, const char *path)
{
	s->path = path;
	atomic_store_explicit(&s->args.hdr->exec_stage, stage,
	    memory_order_release);
}

/* Default dispositions for what the worker ignores. */
CHILD_CODE void
child_reset_signals(void)
{
	/* the kernel's own struct: handler, flags, restorer, mask */
	const uint64_t by_default[4] = {0};
	size_t i;

	for (i = 0; i < sizeof(ignored_signals) / sizeof(int); i++)
		RAW(SYS_rt_sigaction, ignored_signals[i], by_default, 0, 8);
}

/* psup's own processes hold many descriptors and leave no core; a command gets
 * the soft limit back that the keeper was started with. */
CHILD_CODE static void
child_give_back(int resource, uint64_t soft)
{
	uint64_t rl[2]; /* the kernel's struct rlimit64 */

	if (soft == 0 || RAW(SYS_prlimit64, 0, resource, 0, rl) != 0)
		return;
	rl[0] = soft < rl[1] ? soft : rl[1];
	(void)RAW(SYS_prlimit64, 0, resource, rl, 0);
}

/* rlimits and niceness. */
CHILD_CODE void
child_set_limits(struct spawn *s)
{
	const struct spawn_limits *l = &s->limits;
	const struct sched_param none = {0};
	uint64_t rl[2];
	long rc = 0;
	unsigned i;

	if (s->args.yields) /* as our keeper is scheduled, not as we are now */
		(void)RAW(SYS_sched_setscheduler, 0, SCHED_OTHER, &none, 0);
	child_give_back(RLIMIT_NOFILE, s->args.nofile_soft);
	child_give_back(RLIMIT_CORE, s->args.core_soft);
	for (i = 0; i < l->rl_count && rc == 0; i++) {
		rl[0] = l->rl[i].soft;
		rl[1] = l->rl[i].hard;
		rc = RAW(SYS_prlimit64, 0, l->rl[i].resource, rl, 0);
	}
	if (rc == 0 && (s->args.order->flags & CTL_START_NO_NEW_PRIVS) != 0)
		rc = RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	if (rc == 0) {
		rc = RAW(SYS_setpriority, PRIO_PROCESS, 0, l->nice, 0);
		rc = l->nice_set ? rc : 0;
	}
	if (rc < 0)
		child_give_up(s, STAGE_LIMIT, rc);
}

/* Who makes a box is not root, and dies with the keeper all the same: the
 * kernel takes that wish away from who becomes another. */
CHILD_CODE static void
child_become(struct spawn *s)
{
	const struct ctl_start *o = s->args.order;
	long rc;

	if (o->box_uid == 0)
		return;
	rc = RAW(SYS_setgroups, 0, 0, 0, 0);
	if (rc == 0)
		rc = RAW(SYS_setresgid, o->box_gid, o->box_gid, o->box_gid, 0);
	if (rc == 0)
		rc = RAW(SYS_setresuid, o->box_uid, o->box_uid, o->box_uid, 0);
	if (rc < 0)
		child_give_up(s, STAGE_GROUPS, rc);
	child_bind(s);
}

/* Into the groups that limit it. */
CHILD_CODE void
child_join_groups(struct spawn *s)
{
	unsigned i;
	long n;

	if (s->join_fd >= 0) {
		n = RAW(SYS_write, s->join_fd, "0", 1, 0);
		s->joined = n == 1;
		if (!s->joined && s->args.bounded)
			child_give_up(s, STAGE_LIMIT, n < 0 ? n : -EIO);
	}
	for (i = 0; i < s->limits.join_count; i++) {
		n = RAW(SYS_write, s->limits.join[i], "0", 1, 0);
		if (n != 1)
			child_give_up(s, STAGE_LIMIT, n < 0 ? n : -EIO);
	}
}

/* Descriptors of its own. Until then it must not close one. */
CHILD_CODE void
child_cut(struct spawn *s)
{
	struct timespec ever = {.tv_sec = 1};
	long rc = 0;

	child_at(s, STAGE_FDS, NULL);
	while (s->args.stall)
		RAW(SYS_nanosleep, &ever, 0, 0, 0);
	if (s->unshare)
		rc = RAW(SYS_close_range, SPAWN_FD_FIRST_OTHER, ~0u,
		    CLOSE_RANGE_UNSHARE, 0);
	if (rc < 0)
		child_give_up(s, STAGE_FDS, rc);
	/* hanging, it must not hold the pipes of other starts */
	if (s->stdio > SPAWN_FD_STDIO)
		RAW(SYS_close_range, SPAWN_FD_STDIO, s->stdio - 1, 0, 0);
	if (s->stdio + 3 < SPAWN_FD_KEEPER)
		RAW(SYS_close_range, s->stdio + 3, SPAWN_FD_KEEPER - 1, 0, 0);
	child_wake(s);
	if (!s->args.held)
		/* hanging, it must not keep a dead worker's channel open */
		RAW(SYS_close, HERITAGE_FD_KEEPER, 0, 0, 0);
}

/* Ends with the keeper. Before any path is looked at, which may take for ever;
 * in this order: whoever dies in between is seen by one of the two. */
CHILD_CODE void
child_bind(struct spawn *s)
{
	long rc = RAW(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);

	if (rc < 0)
		child_give_up(s, STAGE_PARENT, rc);
	if (RAW(SYS_getppid, 0, 0, 0, 0) != s->args.keeper_pid)
		child_give_up(s, STAGE_PARENT, -ESRCH);
}

/* The keeper learns the pid from the kernel, so a head says it all. */
CHILD_CODE static void
child_tell(struct spawn *s)
{
	struct ctl_head head = CTL_INIT(CTL_SPAWNED, s->args.sid,
	    struct ctl_head);
	long n;

	n = raw_syscall(SYS_sendto, HERITAGE_FD_KEEPER, (long)&head,
	    sizeof(head), MSG_DONTWAIT | MSG_NOSIGNAL, 0);
	if (n != (long)sizeof(head))
		child_give_up(s, STAGE_TELL, n < 0 ? n : -EIO);
	s->told = true;
}

/* Session, stdio, mask of files. */
CHILD_CODE void
child_stdio(struct spawn *s)
{
	long rc = RAW(SYS_setsid, 0, 0, 0, 0);
	int fd;

	if (rc < 0)
		child_give_up(s, STAGE_SETSID, rc);
	for (fd = 0; fd < 3 && rc >= 0; fd++)
		rc = RAW(SYS_dup3, s->stdio + fd, fd, 0, 0);
	if (rc < 0)
		child_give_up(s, STAGE_FDS, rc);
	RAW(SYS_umask, s->args.order->umask, 0, 0, 0);
}

/* Of a directory below one that a box may write only the name that was given
 * counts, not a link that somebody in there has put in its place. */
CHILD_CODE static long
child_chdir(const struct spawn_args *a)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS};
	long fd;

	if ((a->order->flags & CTL_START_NO_LINKS) == 0)
		return RAW(SYS_chdir, a->cwd, 0, 0, 0);
	fd = RAW(SYS_openat2, AT_FDCWD, a->cwd, &how, sizeof(how));
	return fd < 0 ? fd : RAW(SYS_fchdir, fd, 0, 0, 0);
}

CHILD_CODE int
spawn_child(void *arg)
{
	const uint64_t none = 0; /* the kernel's own set: 64 bits */
	struct spawn *s = arg;
	const struct spawn_args *a = &s->args;
	long rc;

	/* whoever finds the worker dead must find us in the header */
	if (!a->held && atomic_load(&a->hdr->pid) == 0)
		child_exit();
	child_join_groups(s);
	child_cut(s);
	child_bind(s);
	child_stdio(s);
	if ((a->order->flags & CTL_START_BOX) == 0)
		child_reset_signals();
	child_set_limits(s);
	child_become(s);
	/* from here on it may hang */
	child_at(s, STAGE_CHDIR, a->cwd);
	rc = child_chdir(a);
	if (rc < 0)
		child_give_up(s, STAGE_CHDIR, rc);
	if (a->held)
		child_tell(s);
	/* not earlier: the end of a child that is tried again would hang up */
	if (a->pty && (rc = RAW(SYS_ioctl, 0, TIOCSCTTY, 0, 0)) < 0)
		child_give_up(s, STAGE_SETSID, rc);
	RAW(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof(none));
	child_at(s, STAGE_EXEC, NULL);
	child_give_up(s, STAGE_EXEC, -search_exec(a->search));
}
