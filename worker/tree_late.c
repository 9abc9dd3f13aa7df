/* SPDX-License-Identifier: MIT */
/*
 * The ladder's first signal, for orphans that were forked while it was on its
 * way (tree_signal_late()). Who began in that span is told by the numbers that
 * the kernel gave out before and after it, the same with a leaf and without.
 */
#include "worker/tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/kfile.h"
#include "worker/procfs.h"

/* The last number that the kernel gave to a process; 0: not known. */
static int32_t
last_pid(void)
{
	char buf[128];
	int32_t pid = 0;
	const char *at;

	if (kfile_read(AT_FDCWD, "/proc/loadavg", buf, sizeof(buf)) < 0)
		return 0;
	at = strrchr(buf, ' ');
	if (at != NULL)
		pid = (int32_t)strtol(at + 1, NULL, 10);
	return pid > 0 ? pid : 0;
}

void
tree_span_from(struct tree_span *ret)
{
	ret->from_ns = clock_boot_ns();
	ret->from_pid = last_pid();
}

void
tree_span_to(struct tree_span *ret)
{
	ret->to_ns = clock_boot_ns();
	ret->to_pid = last_pid();
}

bool
tree_span_is_empty(const struct tree_span *span)
{
	return span->from_pid > 0 && span->from_pid == span->to_pid;
}

/* Began it in that span? By its number, for the time is told in 10 ms; by the
 * time, since numbers come again. */
static bool
is_of_span(const struct tree_span *span, const struct procfs *p)
{
	uint64_t tick = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	bool after = p->pid > span->from_pid, before = p->pid <= span->to_pid;

	return p->start >= span->from_ns / tick &&
	    p->start <= span->to_ns / tick && span->from_pid > 0 &&
	    span->to_pid > 0 &&
	    (span->from_pid <= span->to_pid ? after && before
	                                    : after || before);
}

/* Has it been told before? If not, it is from now on. */
static bool
late_is_told(struct child *c, int32_t pid)
{
	unsigned i;

	for (i = 0; i < c->first.late_count; i++)
		if (c->first.late[i] == pid)
			return true;
	if (i == CHILD_LATE_MAX)
		return true; /* the others are left to KILL */
	c->first.late[c->first.late_count++] = pid;
	return false;
}

void
tree_late_signal(struct child *c, const int32_t *pids, size_t n)
{
	struct procfs p;
	size_t i;

	for (i = 0; i < n; i++)
		if (procfs_read(pids[i], &p) &&
		    p.ppid == c->w->heritage.keeper_pid && p.pgrp != c->pid &&
		    is_of_span(&c->first.unseen, &p) &&
		    !late_is_told(c, p.pid))
			procfs_signal(&p, c->first.sig);
}
