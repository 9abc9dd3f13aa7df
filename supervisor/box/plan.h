/* SPDX-License-Identifier: MIT */
/*
 * What a box is made of: the directories it shows, and bwrap's arguments for
 * them. Pure: paths come in as the caller has found them.
 */
#ifndef PSUP_SUPERVISOR_BOX_PLAN_H
#define PSUP_SUPERVISOR_BOX_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/box_bind.h"

#define BOX_ARGS  256
#define BOX_TMPFS 4 /* /tmp, /dev/shm, /run, /var */

/* A directory of the root beside /usr: /bin, /lib64, ... */
struct box_root {
	const char *path;
	const char *link; /* what it is a link to; NULL: a directory */
};

struct box_plan {
	const char *bwrap, *program; /* on the host */
	const char *workspace;	     /* shown as /workspace */
	const char *agent;	     /* ... as /agent, read-only; NULL: none */
	const struct box_root *roots;
	size_t root_count;
	/* checked; their host side is what was checked, without links */
	const struct box_bind *binds;
	size_t bind_count;
	bool host_network;
	/* Where this bwrap knows them: no user namespaces inside, and sizes of
	 * the box's own file systems, `tmpfs_bytes` all of them together. */
	bool disable_userns, sizes;
	uint64_t tmpfs_bytes; /* 0: no bound */
	int info_fd, ready_fd;
};

struct box_argv {
	const char *arg[BOX_ARGS]; /* a NULL follows the last one */
	size_t count;
	char numbers[2][12], bytes[BOX_TMPFS][24];
};

/* The texts of `plan` are not copied. */
void box_plan_argv(const struct box_plan *plan, struct box_argv *ret);

#endif
