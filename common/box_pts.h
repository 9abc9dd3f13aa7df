/* SPDX-License-Identifier: MIT */
/*
 * Terminals of a box, as seen from outside of it. Called by workers and the
 * master, neither of which may wait for a file system.
 */
#ifndef PSUP_BOX_PTS_H
#define PSUP_BOX_PTS_H

#include <stdint.h>

/*
 * Opens /dev/pts/... of the box whose pid 1 that is. Whatever somebody in there
 * has mounted or linked on the way: nothing but a devpts is opened, and no other file
 * system is asked for anything, since who answers there is the box's. -ESRCH: it is
 * no devpts; -errno.
 */
int box_pts_open(int32_t pid, const char *path, int flags);

#endif
