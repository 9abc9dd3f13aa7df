/* SPDX-License-Identifier: MIT */
/*
 * What keeper and workers do with control groups: find their own one in a
 * hierarchy of either version, list and kill what is in a group and below,
 * remove it. Version 2 may be mounted anywhere, also beside version 1; a
 * hierarchy that can kill need not be one that can limit.
 */
#ifndef PSUP_CGROUP_H
#define PSUP_CGROUP_H

#include <stddef.h>
#include <stdint.h>

#define CGROUP_PATH_MAX 512u

/* The directory of a session's leaf below the tree's, by what its ring's header
 * says: slot, generation and number of the worker that made it, in the group of
 * its box; box 0: in none. Leaf 0: the box's group itself. */
#define CGROUP_LEAF_MAX 48u
void cgroup_leaf_name(uint64_t box, uint64_t leaf, char ret[CGROUP_LEAF_MAX]);

enum cgroup_hierarchy {
	CGROUP_UNIFIED, /* version 2 */
	CGROUP_PIDS,    /* version 1, so the next two */
	CGROUP_FREEZER,
	CGROUP_MEMORY,
	CGROUP_HIERARCHIES
};

/* The directory of this process's own group.
 * Errors: -ENOENT (no such hierarchy here, or it is out of sight),
 * -ENAMETOOLONG, -errno. */
int cgroup_own_path(enum cgroup_hierarchy which, char *ret, size_t size);

/* Processes in the group and below, zombies not among them: how many, the
 * first `max` of them in ret_pids. A group that is gone has none. */
size_t cgroup_pids(int dirfd, int32_t *ret_pids, size_t max);

/* Sends a signal to one process, if it is in a group whose path contains
 * `part` ("/a/b") as whole components; by pidfd, so that it is the one whose
 * group was looked at. Errors: -ESRCH, -errno. */
int cgroup_signal(int32_t pid, const char *part, int sig);

/* SIGKILL to everything in it and below: by cgroup.kill where there is one,
 * else one by one. Returns how many were there. */
size_t cgroup_kill(int dirfd);

/* Removes the group and the empty ones below. Errors: -EBUSY, -errno. */
int cgroup_remove(int parent, const char *name);

#endif
