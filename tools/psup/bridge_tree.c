/* SPDX-License-Identifier: MIT */
/*
 * The tree below psup bridge. Both of its processes are child subreapers, so
 * whatever a descendant does (setsid, a double fork), it stays below them and
 * /proc shows it. Called by cmd_bridge.c.
 */
#include "bridge.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/grow.h"
#include "common/procfs.h"

#define LOOK_MS 10 /* between two looks at what is left */

struct process {
	pid_t pid, parent;
	bool ours;
};

/* All processes of one look. */
struct look {
	struct process *list;
	size_t count, cap;
};

/* The parent of a process that is not dead, or 0. */
static pid_t
parent_of(pid_t pid)
{
	struct procfs_stat st;

	return procfs_alive(pid, &st) ? st.ppid : 0;
}

/* Adds one process. */
static bool
look_add(struct look *l, pid_t pid)
{
	if (!GROW(l->list, l->cap, l->count + 1, 256))
		return false;
	l->list[l->count++] = (struct process){pid, parent_of(pid), false};
	return true;
}

static int
by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* All of /proc, and which of it is below us. */
static void
look_around(struct look *l)
{
	DIR *d = opendir("/proc");
	pid_t self = getpid();
	bool more = true;
	pid_t pid;

	while ((pid = procfs_next(d)) != 0 && look_add(l, pid))
		;
	if (d != NULL)
		closedir(d);
	if (l->count > 0)
		qsort(l->list, l->count, sizeof(*l->list), by_pid);
	while (more) {
		more = false;
		for (size_t i = 0; i < l->count; i++) {
			struct process *p = &l->list[i], *up;
			struct process key = {.pid = p->parent};

			if (p->ours || p->parent == 0)
				continue;
			up = bsearch(&key, l->list, l->count,
			    sizeof(*l->list), by_pid);
			p->ours = p->parent == self ||
			    (up != NULL && up->ours);
			more = more || p->ours;
		}
	}
}

/* Signals the process that was seen, and no other that has its number now:
 * with a descriptor in hand it still has the same parent, or ours. */
static void
signal_seen(const struct process *p, int sig)
{
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	pid_t parent;

	if (fd < 0)
		return;
	parent = parent_of(p->pid);
	if (parent == p->parent || parent == getpid())
		(void)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	close(fd);
}

size_t
bridge_signal_tree(int sig)
{
	struct look l = {0};
	size_t n = 0;

	look_around(&l);
	for (size_t i = 0; i < l.count; i++) {
		if (!l.list[i].ours)
			continue;
		n++;
		signal_seen(&l.list[i], sig);
	}
	free(l.list);
	return n;
}

bool
bridge_reap(pid_t pid, int *ret_status)
{
	bool met = false;
	int status;
	pid_t got;

	while ((got = waitpid(-1, &status, WNOHANG)) > 0) {
		if (got != pid)
			continue;
		*ret_status = status;
		met = true;
	}
	return met;
}

bool
bridge_has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool
bridge_end_tree(int64_t ms, pid_t pid, int *ret_status)
{
	int64_t until = (int64_t)clock_boot_ms() + ms;
	bool met = false;

	while (bridge_has_children() && (int64_t)clock_boot_ms() < until) {
		(void)bridge_signal_tree(SIGKILL);
		met = bridge_reap(pid, ret_status) || met;
		if (bridge_has_children())
			poll(NULL, 0, LOOK_MS);
	}
	return met;
}

int
bridge_code_of(int status)
{
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
