/* SPDX-License-Identifier: MIT */
/*
 * The clone. A command is cloned as a child of the keeper (CLONE_PARENT), in
 * the worker's memory and descriptor table, with the worker held until exec.
 *
 * The kernel copies a descriptor table entry by entry, so a worker with many
 * sessions would pay for each of them at each spawn: 0.1 ms becomes 1.7 ms at
 * 19 000 descriptors. With CLONE_FILES nothing is copied, and the child's first
 * act, close_range(SPAWN_FD_FIRST_OTHER, ~0, CLOSE_RANGE_UNSHARE), copies just
 * the low ones. That is why its stdio lies at fixed low numbers beforehand, and
 * why nothing else may lie there.
 */
#ifndef PSUP_WORKER_SPAWN_H
#define PSUP_WORKER_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/ctl.h"
#include "common/ids.h"
#include "shm/layout.h"

enum {
	SPAWN_FD_STDIN = 4,
	SPAWN_FD_STDOUT = 5,
	SPAWN_FD_STDERR = 6,
	SPAWN_FD_FIRST_OTHER = 7
};

/* Puts /dev/null (null_fd) at 4..6. -errno. */
int spawn_reserve(int null_fd);

/* What the child does about limits before it execs. */
struct spawn_limits {
	unsigned join_count, rl_count;
	int join[2]; /* cgroup.procs it writes itself to */
	struct {
		int resource;
		uint64_t soft, hard;
	} rl[CTL_LIMITS];
	bool nice_set;
	int nice;
	bool need_leaf; /* the leaf is what holds it */
};

struct spawn_args {
	struct sid sid;
	struct ring_header *hdr; /* exec_errno and exec_stage go here */
	int32_t keeper_pid;
	bool pty;             /* stdin is to be the controlling terminal */
	uint64_t nofile_soft; /* of the command; 0: leave as it is */
	const char *cwd;
	const char *const *paths; /* NULL-terminated, tried in order */
	char *const *argv;
	char *const *direct; /* argv of paths[0], tried first; NULL: none */
	unsigned umask;
	char *const *envp;
	char **sh_argv; /* "/bin/sh", room for the path, argv[1].., NULL */
	int leaf_fd; /* control group to be in from the first moment; -1 */
	const struct spawn_limits *limits;
	bool leaf_into; /* by clone itself; else the child moves itself */
};

/*
 * Clones and returns when the child has exec'd or is dead. Its descriptors lie
 * at SPAWN_FD_*. hdr->exec_errno tells whether the exec failed, *ret_in_leaf
 * whether it is in its control group: that it is not fails nothing.
 * Errors: -errno of clone: there is no child.
 */
int spawn_clone(const struct spawn_args *args, pid_t *ret_pid, int *ret_pidfd,
    bool *ret_in_leaf);

#endif
