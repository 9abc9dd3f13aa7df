/* SPDX-License-Identifier: MIT */
/* A box as a worker sees it: the process that is its pid 1, of a container, too. */
#ifndef PSUP_WORKER_BOX_H
#define PSUP_WORKER_BOX_H

#include "common/ctl.h"

/* A pidfd of the pid 1 that the order names, if it is that one still. -ESRCH:
 * it is not; -errno. */
int box_open(const struct ctl_start *order, int *ret_pidfd);

/* The namespaces of it to enter: not that of users where it is ours already, for
 * nobody goes where he is. */
int box_namespaces(const struct ctl_start *order);

/* The end of a new terminal of the box that the terminal's master holds. It is
 * the box's own, so that `tty` has a name in there. -errno. */
int box_ptmx(const struct ctl_start *order, int pidfd);

#endif
