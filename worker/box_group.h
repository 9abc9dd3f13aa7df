/* SPDX-License-Identifier: MIT */
/*
 * The control groups that bound a box as a whole: in each hierarchy that can, a
 * group named after the box, in which all that runs in it is, bubblewrap and pid
 * 1 with it. Of the tree's leaves (tree.h) those of a box lie in it; of version
 * 1's memory and pids who has no limit of its own joins it.
 */
#ifndef PSUP_WORKER_BOX_GROUP_H
#define PSUP_WORKER_BOX_GROUP_H

#include "worker/child.h"
#include "worker/spawn.h"

/* The order is to make a box: its groups, with its bounds. -errno: one of them
 * cannot be; what was made is removed by tree_box_leave(). */
int box_group_make(struct child *c, const struct ctl_start *order);
/* Groups of version 1 that its child is to join; those of `own` it has by
 * itself. -errno */
int box_group_join(const struct child *c, uint64_t own,
    struct spawn_limits *ret);
/* False: something is in there still. */
bool box_group_remove(const struct worker *w, uint64_t box);
/* Where the box's group is that holds it to a limit. False: none does. */
bool box_group_path(const struct worker *w, uint64_t box, enum ctl_limit which,
    char *ret, size_t size);

#endif
