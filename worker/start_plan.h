/* SPDX-License-Identifier: MIT */
/*
 * A START as the master sends it, copied and then checked: nothing in it is
 * believed before. What becomes of it is start.c's business.
 */
#ifndef PSUP_WORKER_START_PLAN_H
#define PSUP_WORKER_START_PLAN_H

#include <stdint.h>

#include "common/ctl.h"
#include "worker/search.h"

/* A checked START, kept until the command runs or is given up. */
struct start_plan {
	struct ctl_start order;
	char *blob;         /* NUL-terminated strings; the pointers lie here */
	char **words; /* "/bin/sh", argv, NULL, envp, NULL, shells' argv */
	char *cwd, *spill; /* NULL: no such file */
	char **argv, **envp;
	struct search search;
	unsigned tries;
	uint64_t began_ns; /* the order came */
	int child_end[3]; /* stdin, stdout, stderr of the command; -1 */
	int box_fd;       /* pidfd of its box's pid 1; -1 */
};

/* Copies, then checks the copy. Errors: -EPROTO, -ENOMEM, -errno; what was
 * taken so far is start_plan_free()'s. */
int start_plan_make(struct start_plan *plan, const struct ctl_msg *msg);
/* A copy that needs nothing of it, of `room` bytes at `at`; NULL: it is larger. */
struct start_plan *start_plan_copy(const struct start_plan *plan, void *at,
    size_t room);
/* Closes the command's ends of what it was to be given. */
void start_plan_hang_up(struct start_plan *plan);
/* Closes and frees; NULL is none. */
void start_plan_free(struct start_plan *plan);

#endif
