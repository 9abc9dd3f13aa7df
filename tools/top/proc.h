/* SPDX-License-Identifier: MIT */
/* One process as /proc shows it. Reads; every size is bounded. */
#ifndef TOP_PROC_H
#define TOP_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One line of /proc/PID/stat. */
struct proc_stat {
	char name[32];  /* whatever the process calls itself */
	char state;
	int parent;
	uint64_t ticks; /* processor time, with that of waited-for children */
	uint64_t born;  /* in ticks: with the pid it is one process */
	int64_t rss_pages;
	bool foreground; /* of its terminal */
};

/* A small file as a string. Its length, or -1. */
ssize_t proc_slurp(const char *path, char *dst, size_t size);
/* Pure: takes the text apart; the name in it may hold anything. */
bool proc_parse_stat(const char *text, struct proc_stat *ret);
bool proc_stat(int pid, struct proc_stat *ret);
/* Appends its children, up to `max` in all. */
void proc_children(int pid, int *pids, size_t *count, size_t max);
/* A process that has not ended. What /proc hides stays 0. */
bool proc_exists(int pid, struct proc_stat *ret);
/* What its descriptor is: "pipe:[123]", "/dev/pts/4". */
bool proc_fd(int pid, unsigned long fd, char *dst, size_t size);
/* Does it wait for what `link` is, as one of its descriptors? */
bool proc_reads(int pid, bool foreground, const char *link);

#endif
