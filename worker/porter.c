/* SPDX-License-Identifier: MIT */
/*
 * Into a box (docs/architecture.md, Boxes). A porter is cloned for the worker as
 * a child of the keeper, with the worker's descriptors, but in memory that is
 * not the worker's (lodge.h): what a box does to those inside, stopping them or
 * having the kernel kill them for their memory, must not reach the worker. It
 * enters the box's namespaces, in which only its children are seen, clones the
 * command, a child of the keeper too, and waits for its exec. Called by
 * spawn_clone.c; the rules of spawn.c hold here.
 *
 * Its death says that nothing is cloned any more: spawn.inexec where it got
 * that far, its pidfd in any case.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/fault.h"
#include "worker/clone3.h"
#include "worker/lodge.h"
#include "worker/spawn_child.h"

#define CAPABILITIES 64 /* more than there are */

/* Whoever the box's owner is, without a capability, now or by any exec. */
CHILD_CODE static void
child_disarm(struct spawn *s)
{
	const struct ctl_start *o = s->args.order;
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
	long rc = 0;
	int i;

	/* while it may: who was root loses that right with his uid */
	for (i = 0; i < CAPABILITIES; i++)
		if (RAW(SYS_prctl, PR_CAPBSET_DROP, i, 0, 0) == -EINVAL)
			break; /* that one, and all beyond, there are not */
	if (o->box_uid != 0) {
		rc = RAW(SYS_setresgid, o->box_gid, o->box_gid, o->box_gid, 0);
		if (rc == 0)
			rc = RAW(SYS_setresuid, o->box_uid, o->box_uid,
			    o->box_uid, 0);
	}
	if (rc == 0)
		rc = RAW(SYS_capset, &head, none, 0, 0);
	if (rc == 0)
		rc = RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	if (rc == 0) /* the credentials have changed for the last time */
		rc = RAW(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0);
	if (rc < 0)
		child_give_up(s, STAGE_GROUPS, rc);
}

/* Ends with the keeper, whose pid is 0 in here: its pidfd tells. */
CHILD_CODE static void
child_bind_inside(struct spawn *s)
{
	struct pollfd keeper = {.fd = SPAWN_FD_KEEPER, .events = POLLIN};
	struct timespec now = {0};
	long rc = RAW(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);

	if (rc == 0)
		rc = raw_syscall(SYS_ppoll, (long)&keeper, 1, (long)&now, 0,
		    sizeof(uint64_t));
	if (rc != 0)
		child_give_up(s, STAGE_PARENT, rc < 0 ? rc : -ESRCH);
}

/* The command, in the porter's memory while that waits. */
CHILD_CODE static int
boxed_child(void *arg)
{
	const uint64_t none = 0;
	struct spawn *s = arg;
	const struct spawn_args *a = &s->args;
	long rc;

	if (atomic_load(&a->hdr->pid) == 0)
		child_exit();
	child_stdio(s);
	child_reset_signals();
	child_set_limits(s);
	child_disarm(s);
	child_at(s, STAGE_CHDIR, a->cwd);
	rc = RAW(SYS_chdir, a->cwd, 0, 0, 0);
	if (rc < 0)
		child_give_up(s, STAGE_CHDIR, rc);
	child_bind_inside(s);
	if (a->pty && (rc = RAW(SYS_ioctl, 0, TIOCSCTTY, 0, 0)) < 0)
		child_give_up(s, STAGE_SETSID, rc);
	RAW(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof(none));
	rc = RAW(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, s->filter, 0);
	if (rc < 0)
		child_give_up(s, STAGE_SECCOMP, rc);
	child_at(s, STAGE_EXEC, NULL);
	child_give_up(s, STAGE_EXEC, -search_exec(a->search));
}

/* Its own groups would come along. */
CHILD_CODE static void
porter_enter(struct spawn *s)
{
	long rc = 0;

	child_at(s, STAGE_GROUPS, NULL);
	if (s->args.order->box_uid != 0)
		rc = RAW(SYS_setgroups, 0, 0, 0, 0);
	if (rc < 0)
		child_give_up(s, STAGE_GROUPS, rc);
	child_at(s, STAGE_SETNS, NULL);
	rc = RAW(SYS_setns, s->args.box_fd, s->args.namespaces, 0, 0);
	if (rc < 0)
		child_give_up(s, STAGE_SETNS, rc);
	/* that took the death signal away, and may have made us readable */
	rc = RAW(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0);
	if (rc < 0)
		child_give_up(s, STAGE_SETNS, rc);
	child_bind(s);
}

/* The kernel writes its pid into the header before it runs. */
CHILD_CODE static long
porter_clone(struct spawn *s)
{
	/* the porter stands in the upper half */
	struct clone_args args = {.flags = CLONE_VM | CLONE_VFORK |
					   CLONE_PARENT | CLONE_CLEAR_SIGHAND |
					   CLONE_PARENT_SETTID,
	    .parent_tid = (uintptr_t)&s->args.hdr->pid,
	    .stack = (uintptr_t)(s->stack - SPAWN_STACK_BYTES),
	    .stack_size = SPAWN_STACK_BYTES / 2};

	return clone3_start(&args, boxed_child, s);
}

CHILD_CODE int
spawn_porter(void *arg)
{
	struct spawn *s = arg;
	long rc;

	/* whoever looked before it was in the header starts it elsewhere */
	if (s->lent && lodge_is_orphan())
		child_exit();
	FAULT("porter.before-groups");
	child_join_groups(s);
	child_bind(s);
	porter_enter(s);
	child_cut(s);
	FAULT("porter.before-clone");
	rc = porter_clone(s);
	FAULT("porter.after-clone");
	if (rc < 0)
		child_give_up(s, STAGE_CLONE, rc);
	atomic_store_explicit(&s->inexec, 0, memory_order_release);
	child_exit();
}
