/* SPDX-License-Identifier: MIT */
/* A worker's leaves and what it looks through; for tree.c and tree_leaves.c
 * alone. */
#ifndef PSUP_WORKER_TREE_LEAVES_H
#define PSUP_WORKER_TREE_LEAVES_H

#include "worker/tree.h"

#define LEAVES_IDLE_MAX 1024u /* kept for later */
#define LEAVES_BUSY_MAX 4096u /* remembered because something lives there */
#define LEAVES_OPEN_MAX 64u   /* kept open */
#define TREE_PIDS_MAX   512u  /* signalled one by one in one pass */

struct tree {
	int dirfd;      /* psup-INCARNATION; -1: no leaves */
	bool v2;
	char group[32]; /* "/psup-INCARNATION" */
	uint32_t next;  /* number of the next new leaf */
	bool used;      /* a leaf was taken since tree_rest() */
	struct leaf {
		uint64_t box; /* in whose group it is; 0: in none */
		uint64_t id;  /* 0: that group itself */
	} idle[LEAVES_IDLE_MAX];
	size_t idle_count;
	struct open_leaf {
		uint64_t id; /* 0: none */
		int dir;
		int events; /* cgroup.events; -1: version 1 */
	} open[LEAVES_OPEN_MAX];   /* at their number's remainder */
	struct busy {
		struct leaf leaf;
		bool spent;
	} busy[LEAVES_BUSY_MAX]; /* a queue: something outlived its session */
	size_t busy_head, busy_count;
	struct tree_procs *procs;
	int32_t pids[TREE_PIDS_MAX];
};

/* A leaf's directory, open, or -1. */
int tree_leaf_open(const struct tree *t, struct leaf l);

#endif
