/* SPDX-License-Identifier: MIT */
/*
 * Processes as /proc shows them. Nothing here holds a process: its number may
 * have come to mean another one since, which is told by its start.
 *
 * Who ends while it is read has no text any more (-ESRCH), later no files
 * (-ENOENT); a zombie has a stat, and neither memory nor descriptors.
 */
#ifndef PSUP_PROCFS_H
#define PSUP_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One file of a process ("stat", "task/7/children"), as kfile_read() and
 * kfile_write() do it. */
ssize_t procfs_file(int32_t pid, const char *file, char *ret, size_t size);
int procfs_write(int32_t pid, const char *file, const char *text);
/* The number behind `key` at the beginning of a line. False: there is none. */
bool procfs_number(int32_t pid, const char *file, const char *key,
    uint64_t *ret);

/* What /proc/PID/stat says that is of use to somebody. */
struct procfs_stat {
	int32_t pid, ppid, pgrp, sid;
	int32_t tty_pgrp;   /* its terminal's foreground; -1: none */
	char state;
	char name[16];      /* whatever the process calls itself */
	unsigned flags;     /* the kernel's PF_ */
	uint64_t ticks;     /* on a processor, with waited-for children */
	uint64_t start;     /* in ticks since boot */
	uint64_t size;      /* bytes of memory; 0: it has none (any more) */
	int64_t rss_pages;
	uint64_t env_end;   /* 0: not known (yet) */
	uint64_t pending;   /* signals: 1 << number - 1 */
};

/* Pure: takes the text apart. False: that is no stat. */
bool procfs_parse(const char *text, struct procfs_stat *ret);
/* 0 or -errno. A zombie has one, too. */
int procfs_stat(int32_t pid, struct procfs_stat *ret);
/* The same of one that has not ended. False: it has, or is out of reach. */
bool procfs_alive(int32_t pid, struct procfs_stat *ret);
bool procfs_has_ended(const struct procfs_stat *s);
/* Pure: was it killed, and lacks but a processor to be gone? What is killed in an
 * uninterruptible sleep may be there for ever. */
bool procfs_is_dying(const struct procfs_stat *s);

/* The children of a process, some (300 or so) at a time. 0 or -errno: -ENOENT
 * also from a kernel that lists none. Those that end or are reaped meanwhile may
 * hide others. */
struct procfs_walk {
	int fd; /* -1: it is over */
	bool pause; /* each() may set it: no more of them now */
	size_t have;
	char text[2048];
};
int procfs_walk_begin(struct procfs_walk *w, int32_t pid);
/* Calls each() for some more; false: it returned false, or those were all. */
bool procfs_walk_some(struct procfs_walk *w,
    bool (*each)(void *arg, int32_t child), void *arg);
/* The same for all of them. */
int procfs_each_child(int32_t pid, bool (*each)(void *arg, int32_t child),
    void *arg);
/* The first `max` of them: how many. */
size_t procfs_children(int32_t pid, int32_t *ret, size_t max);
/* The next process of an open /proc; 0: there are no more, or `proc` is
 * NULL. */
int32_t procfs_next(DIR *proc);

/* How many descriptors it has open; -1: not known. */
int64_t procfs_count_fds(int32_t pid);

#endif
