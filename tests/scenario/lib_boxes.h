/* SPDX-License-Identifier: MIT */
/* What the scenarios of boxes say. */
#ifndef PSUP_LIB_BOXES_H
#define PSUP_LIB_BOXES_H

#include "lib_scn.h"

/* psup.conf: every command in a box; and these lines of [sandbox]. */
const char *conf(const char *more);
/* A server with boxes; the scenario is skipped where it can have none. */
void boxes(const char *more);
/* ... or where this says that. */
void skip_without_boxes(struct answer *a);

/* What a command says that ends with 0. */
const char *says_as(struct peer *p, const char *command);
#define says(command) says_as(NULL, command)
#define expect_says(command, want)                                         \
	do {                                                               \
		const char *said_ = says(command);                         \
		expect(strcmp(said_, want) == 0, "%s: %s", command, said_); \
	} while (0)

/* Until so many sleep in the box: who was killed has left its group a moment before
 * it is seen dead in /proc, where it stays until somebody reaps it. */
void await_sleepers(int n);

/* The bwrap that is a child of the keeper, and has one: that of a box that is dead
 * may be there still. */
pid_t bwrap_pid(void);
/* The pid 1 of its box. */
pid_t box_pid(void);

/* A command in the one box there is, which waits for a line. */
const char *waits_in_box(pid_t *ret_box);
/* It gets one, and ends with 0. */
void ends_as_told(const char *id);

/* A signal to each worker; whom SIGKILL finds gone has died of the one before. */
void signal_workers(int sig);

/* Over a directory in that process's own namespace of mounts: what never answers, as
 * long as it lives. */
void mount_dead(pid_t pid, const char *path);

#endif
