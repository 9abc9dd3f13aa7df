/* SPDX-License-Identifier: MIT */
/*
 * What a keeper hands to its successor, the same process after an exec: one
 * sealed memfd at HERITAGE_FD_INFO, and descriptors that stay where they are.
 * save.c writes it, restore.c reads it.
 *
 *     +------+----------------------+--------+---------+--------
 *     | head | sections             | core   | procs   | rows
 *     +------+----------------------+--------+---------+--------
 *
 * A section says how long its records are. A record grows at its end alone: a
 * reader takes of it what it knows, and what it has more is 0. Sections that a
 * reader does not know are none of its business. So an older and a newer build
 * read each other's state; the stamp (abi.h) says where that ends.
 *
 * It is written in a quiet moment: master and all workers ready, every death
 * told. Numbers of descriptors are the keeper's own.
 */
#ifndef PSUP_SUPERVISOR_KEEPER_UPGRADE_SAVE_H
#define PSUP_SUPERVISOR_KEEPER_UPGRADE_SAVE_H

#include "supervisor/keeper/state.h"

#define SAVE_MAGIC     0x65746174736b7370ull
#define SAVE_BYTES_MAX (64u << 20)
#define SAVE_SECTIONS  16u

struct save_head {
	uint64_t magic;
	uint32_t stamp;      /* ABI_STATE */
	uint32_t head_bytes; /* the sections begin here */
	uint64_t bytes;      /* of all */
	uint64_t sum;        /* of all behind the head: save_sum() */
	uint32_t sections;
	uint32_t pad;
};

enum save_kind { SAVE_CORE = 1, SAVE_PROC, SAVE_ROW, SAVE_UPGRADE };

struct save_section {
	uint32_t kind;         /* enum save_kind */
	uint32_t record_bytes;
	uint32_t count;
	uint32_t pad;
	uint64_t at;           /* of the first record */
};

enum { SAVE_LOG_LEVEL = 1, SAVE_LOG_FORMAT = 2 };

/* One: the keeper itself. */
struct save_core {
	uint64_t incarnation;
	uint64_t nofile_soft;
	uint32_t workers, max_sessions, group_flags, orphans;
	int32_t dir, lock, listener;
	int32_t group_lock[HERITAGE_GROUPS];
	int32_t program[PROGRAMS];
	uint32_t had_children, log_level /* LOG_PACK() */, any_fs, hangup_ends, detached;
	uint32_t oom_adj;        /* child_oom_score_adj */
	uint32_t listener_passed;
	uint32_t log_given; /* SAVE_LOG_*: by the command line */
	uint64_t grace_ms;
	uint64_t gid;            /* server.group */
	char runtime_dir[RUNDIR_PATH_MAX];
	char config_path[1024];
	char group[HERITAGE_GROUPS][HERITAGE_GROUP_MAX];
	char path[PROGRAMS][PATH_MAX];
	uint64_t core_soft; /* 0: by another build */
};

/* The master, then the worker slots in order. */
struct save_proc {
	uint32_t role;
	struct wid wid;
	int32_t pid, pidfd, chan;
	uint32_t todo, linked;
	uint32_t fault_points; /* three a death by its own fault */
	uint32_t restarts, pad;
	uint64_t started_ns;
};

/* A session. */
struct save_row {
	struct sid sid;
	struct wid spawner, prev;
	uint32_t owner, todo;
	int32_t pid;
	int32_t fds[TABLE_FDS];
	uint32_t crashes;
	uint64_t spawned_ns;
	/* the exit, where it is known */
	int32_t code, status;
	uint32_t maxrss_kib, pad;
	uint64_t utime_us, stime_us, io_blocks, wall_ms;
	uint64_t held_ns;   /* 0: by another build */
	uint32_t by_header, pad2;
	uint64_t turn;      /* 0: by another build */
};

/* One: the upgrade whose last step this is. */
struct save_upgrade {
	uint64_t id, began_ns;
	uint32_t sessions, replaced;
	char from[ABI_BUILD_MAX], to[ABI_BUILD_MAX];
};

/* FNV-1a, over what a kill cannot tear but a mistake can. */
uint64_t save_sum(const unsigned char *p, size_t n);

/* The state of this moment in a sealed memfd, close-on-exec; or -errno. */
int save_state(const struct keeper *k);

/*
 * Reads a state from `fd` into *k, which is zero but for opt. With `check` the
 * descriptors are numbers to it: nothing is known of them and nothing changes.
 * 0, or -errno and why.
 */
int restore_state(struct keeper *k, int fd, bool check, char *why,
    size_t size);

#endif
