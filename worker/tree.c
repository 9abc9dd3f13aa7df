/* SPDX-License-Identifier: MIT */
/*
 * Who is in a session's leaf, and signals to all of them (tree.h); where there
 * is no leaf, tree_proc.c knows. Called by ladder.c.
 */
#include "worker/tree_leaves.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/clock.h"
#include "common/fault.h"
#include "worker/procfs.h"

#define KILL_ALL_NS NSEC_PER_SEC
#define LEAF_KILL_NS (50 * NSEC_PER_MSEC)

/* The session's leaf, open, or -1: there is none. */
static int
session_leaf(const struct child *c)
{
	const struct tree *t = c->w->tree;

	if (c->leaf == 0 || t->dirfd < 0)
		return -1;
	return tree_leaf_open(t, (struct leaf){c->box, c->leaf});
}

/* Who holds the output. Where nobody may look (another user's processes), all
 * members count. */
size_t
tree_holders(struct child *c, struct ctl_holder *ret, size_t max)
{
	struct tree *t = c->w->tree;
	size_t i, named = 0, n = tree_left(c, t->pids, TREE_PIDS_MAX);
	size_t listed = n < TREE_PIDS_MAX ? n : TREE_PIDS_MAX;
	size_t holding = tree_output_holders(c, t->pids, listed);

	if (holding > 0)
		n = listed = holding;
	memset(ret, 0, max * sizeof(*ret));
	for (i = 0; i < listed && named < max; i++) {
		if (!procfs_name(t->pids[i], ret[named].name,
		        sizeof(ret[named].name)))
			continue;
		ret[named++].pid = t->pids[i];
	}
	return n;
}

int
tree_path(const struct child *c, char *ret, size_t size)
{
	char name[CGROUP_LEAF_MAX];

	if (c->leaf == 0)
		return -ENOENT;
	cgroup_leaf_name(c->box, c->leaf, name);
	snprintf(ret, size, "%s/%s",
	    c->w->heritage.group[HERITAGE_GROUP_TREE], name);
	return 0;
}

/* The group that a process is in, or 0. */
static pid_t
group_of(pid_t pid)
{
	pid_t g = getpgid(pid);

	return g > 0 ? g : 0;
}

/* Everything in it. Where the kernel does not do that at once, what forks
 * meanwhile is killed in the next pass. */
static void
leaf_kill(int leaf)
{
	uint64_t end = clock_boot_ns() + LEAF_KILL_NS;

	while (cgroup_kill(leaf) > 0 && clock_boot_ns() < end &&
	    faccessat(leaf, "cgroup.kill", W_OK, 0) != 0)
		;
}

/* Signals the members of a leaf one by one. */
static void
leaf_signal(struct child *c, int leaf, int sig, struct tree_span *ret)
{
	struct tree *t = c->w->tree;
	char part[sizeof(t->group) + CGROUP_LEAF_MAX + 1];
	char name[CGROUP_LEAF_MAX];
	size_t i, n;

	cgroup_leaf_name(c->box, c->leaf, name);
	snprintf(part, sizeof(part), "%s/%s", t->group, name);
	if (sig == SIGKILL) {
		leaf_kill(leaf);
		return;
	}
	if (ret != NULL)
		tree_span_from(ret);
	n = cgroup_pids(leaf, t->pids, TREE_PIDS_MAX);
	FAULT("stop.amid-signal");
	if (ret != NULL)
		tree_span_to(ret);
	for (i = 0; i < n && i < TREE_PIDS_MAX; i++)
		if (t->pids[i] != c->pid && group_of(t->pids[i]) != c->pid)
			(void)cgroup_signal(t->pids[i], part, sig);
}

/* One signal to all that the group's signal does not reach. */
void
tree_signal(struct child *c, int sig, struct tree_span *ret)
{
	int leaf = session_leaf(c);

	if (leaf < 0) {
		tree_procs_signal(c->w->tree->procs, c, sig, ret);
		return;
	}
	leaf_signal(c, leaf, sig, ret);
	close(leaf);
}

void
tree_signal_late(struct child *c)
{
	struct tree *t = c->w->tree;
	size_t n;

	if (c->first.sig == 0 || tree_span_is_empty(&c->first.unseen))
		return;
	n = tree_left(c, t->pids, TREE_PIDS_MAX);
	tree_late_signal(c, t->pids, n < TREE_PIDS_MAX ? n : TREE_PIDS_MAX);
}

/* The last rung. */
bool
tree_kill(struct child *c, uint64_t hurry_ns)
{
	struct tree_procs *procs = c->w->tree->procs;
	int leaf = session_leaf(c);

	if (leaf >= 0) {
		leaf_signal(c, leaf, SIGKILL, NULL);
		close(leaf);
		return true;
	}
	if (!c->freezing) {
		c->freezing = true;
		c->frozen_ns = clock_boot_ns();
		return false; /* one look then serves all that wait for it */
	}
	if (!tree_procs_freeze(procs, c) && clock_boot_ns() < hurry_ns)
		return false;
	tree_procs_kill(procs, c);
	c->freezing = false;
	return true;
}

/* Who is left. */
size_t
tree_left(struct child *c, int32_t *ret_pids, size_t max)
{
	int leaf = session_leaf(c);
	size_t n;

	if (leaf < 0)
		return tree_procs_left(c->w->tree->procs, c, ret_pids, max);
	n = cgroup_pids(leaf, ret_pids, max);
	close(leaf);
	return n;
}

size_t
tree_staying(struct child *c, int32_t *ret_pids, size_t max)
{
	struct tree *t = c->w->tree;
	size_t i, kept = 0, n = tree_left(c, t->pids, TREE_PIDS_MAX);
	size_t listed = n < TREE_PIDS_MAX ? n : TREE_PIDS_MAX;
	struct procfs_stat st;

	for (i = 0; i < listed; i++) {
		if (procfs_stat(t->pids[i], &st) == 0 && procfs_is_dying(&st))
			n--;
		else if (kept < max)
			ret_pids[kept++] = t->pids[i];
	}
	return n;
}

size_t
tree_forked(struct child *c, int32_t *ret_pids, size_t max)
{
	return c->leaf != 0 ? tree_left(c, ret_pids, max)
			    : procfs_children(c->pid, ret_pids, max);
}

/* A look into a leaf is cheap; one at all of /proc should take but a tenth of
 * our time, only that after KILL there is not much of it left. */
uint64_t
tree_pause_ns(const struct child *c, unsigned looks)
{
	unsigned shift = c->state >= CHILD_ENDED ? 10 : 5;
	uint64_t pause = NSEC_PER_MSEC << (looks < shift ? looks : shift);
	uint64_t most = (c->killed ? 50 : 250) * NSEC_PER_MSEC;
	uint64_t cost = 0;

	if (c->leaf == 0)
		cost = 10 * tree_procs_cost_ns(c->w->tree->procs);
	if (cost > most)
		cost = most;
	return pause > cost ? pause : cost;
}

/* Everything of everybody. */
void
tree_kill_all(struct worker *w)
{
	struct tree *t = w->tree;
	uint64_t end = clock_boot_ns() + KILL_ALL_NS;
	size_t n;

	do {
		n = t->dirfd >= 0 ? cgroup_kill(t->dirfd)
				  : tree_procs_kill_marked(t->procs,
					w->heritage.incarnation);
		if (n > 0)
			clock_nap(2 * NSEC_PER_MSEC);
	} while (n > 0 && clock_boot_ns() < end);
}
