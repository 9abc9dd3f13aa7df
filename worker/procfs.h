/* SPDX-License-Identifier: MIT */
/*
 * One process as /proc shows it. A number may have come to mean another
 * process since it was read: who is to be signalled is compared by its start.
 */
#ifndef PSUP_WORKER_PROCFS_H
#define PSUP_WORKER_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/procfs.h"

/* What /proc says of one process. */
struct procfs {
	int32_t pid, ppid, pgrp, sid;
	char name[16];
	uint64_t start; /* clock ticks since boot */
	uint64_t mark_incarnation, mark_sid;
	bool read; /* the mark was looked for */
};

/* What the links in /proc/PID/fd say that lead to certain files. */
struct procfs_links {
	char name[2][40];
	size_t count;
};

/* All but the mark. False: gone, or a zombie. */
bool procfs_read(int32_t pid, struct procfs *ret);
/* Its mark, if it counts (common/mark.h). */
void procfs_read_mark(struct procfs *p, int32_t keeper_pid);
/* Does it have one of these open? */
bool procfs_has_open(int32_t pid, const struct procfs_links *want);
/* What it is called. False: it is gone. */
bool procfs_name(int32_t pid, char *ret, size_t size);
/* Is it, alive or a zombie, still what was cloned, before its first exec?
 * False also where it cannot be seen. */
bool procfs_before_exec(int32_t pid);
/* Signals it, if it still is the one that was read. */
void procfs_signal(const struct procfs *p, int sig);

#endif
