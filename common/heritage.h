/* SPDX-License-Identifier: MIT */
/*
 * Everything a master or a worker receives from the keeper at its start: four
 * descriptors at fixed numbers and this one struct. There is no other door.
 *
 * The struct travels in a sealed memfd at HERITAGE_FD_INFO; the program checks
 * size and stamp (abi.h) before it believes anything, and closes the memfd. It
 * grows at its end alone.
 */
#ifndef PSUP_HERITAGE_H
#define PSUP_HERITAGE_H

#include <stdint.h>

#include "ctl.h"
#include "ids.h"


enum {
	HERITAGE_FD_KEEPER = 3,   /* SOCK_SEQPACKET to the keeper (ctl.h) */
	HERITAGE_FD_LISTENER = 4, /* master only: the listening socket */
	HERITAGE_FD_INFO = 5,     /* sealed memfd with struct heritage */
	HERITAGE_FD_FIRST_FREE = 6
};

/* Groups of the keeper's making, each a directory named psup-INCARNATION. */
enum heritage_group {
	HERITAGE_GROUP_TREE,   /* leaves hold commands with all they start */
	HERITAGE_GROUP_MEMORY, /* version 1, so the next: leaves limit */
	HERITAGE_GROUP_PIDS,
	HERITAGE_GROUPS
};
#define HERITAGE_GROUP_MAX 512u
#define HERITAGE_OWN_WEIGHT 932 /* of nice -10, which our autogroups have */

enum {
	HERITAGE_TREE_V2 = 16,  /* flags: TREE is version 2 */
	HERITAGE_TREE_INTO = 1, /* a command can be cloned into a leaf */
	HERITAGE_TREE_KILL = 2, /* TREE has cgroup.kill */
	HERITAGE_TREE_LIMIT_MEMORY = 4, /* TREE has memory.max */
	HERITAGE_TREE_LIMIT_PIDS = 8,   /* TREE has pids.max */
	HERITAGE_TREE_LIMIT_CPU = 64,   /* TREE can bound processors */
	HERITAGE_TREE_AFTER_US = 128,   /* we have HERITAGE_OWN_WEIGHT of
	                                 * processors, TREE has 100 */
	HERITAGE_INDEX_BAD = 32 /* master only: three died over the index */
};

enum heritage_role {
	HERITAGE_MASTER = 1,
	HERITAGE_WORKER = 2,
	HERITAGE_STANDBY = 3 /* a worker that gets no new sessions yet */
};

struct heritage {
	uint32_t size; /* sizeof(struct heritage) */
	uint32_t stamp; /* ABI_HERITAGE */
	uint32_t role;         /* enum heritage_role */
	int32_t keeper_pid;    /* a command's getppid() must equal it */
	struct wid wid;        /* workers; the master has slot 0, own generation */
	uint64_t incarnation;  /* of the keeper: random, never 0 */
	uint32_t workers;      /* active workers wanted (without the standby) */
	uint32_t max_sessions; /* what the keeper's descriptors allow at once */
	uint32_t log_level;    /* LOG_PACK() of level and format */
	uint32_t flags;        /* HERITAGE_TREE_* */
	uint64_t nofile_soft;  /* RLIMIT_NOFILE as the keeper found it: commands
	                        * get it back; a program that uses select(2)
	                        * counts on a low one */
	char runtime_dir[108];  /* absolute, NUL-terminated */
	char config_path[1024]; /* absolute, or empty: none */
	char group[HERITAGE_GROUPS][HERITAGE_GROUP_MAX]; /* empty: none */
	uint64_t core_soft; /* RLIMIT_CORE as the keeper found it: ours is 0,
	                     * commands get it back */
};

/* What holds a session to a limit here. */
enum heritage_by {
	HERITAGE_BY_NOTHING,
	HERITAGE_BY_RLIMIT, /* each process by itself */
	HERITAGE_BY_V1,     /* a group of its own in that hierarchy */
	HERITAGE_BY_TREE    /* its leaf of the tree group */
};
enum heritage_by heritage_limit_by(const struct heritage *h,
    enum ctl_limit which);

/* Reads and checks HERITAGE_FD_INFO and closes it.
 * Errors: -EPROTO (wrong size or version), -errno of the read. */
int heritage_receive(struct heritage *ret);
/* The keeper's side: a sealed memfd, close-on-exec, holding *h, or -errno. */
int heritage_seal(const struct heritage *h);

#endif
