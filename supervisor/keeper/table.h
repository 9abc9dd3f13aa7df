/* SPDX-License-Identifier: MIT */
/*
 * The keeper's table: session -> pid, descriptors, exit. A row lives from the
 * worker's HOLD to its CLOSED. Memory is taken once, in table_new(); nothing
 * here does a system call afterwards (descriptors are numbers to it).
 *
 * Every row has an owner, the slot of the worker that babysits it, and is on
 * that slot's list; a row that its owner must be told something about is also
 * on the slot's to-do list, first in first out. What must be told is a set of
 * flags, not a queue of messages: it is told as it is when there is room.
 */
#ifndef PSUP_SUPERVISOR_KEEPER_TABLE_H
#define PSUP_SUPERVISOR_KEEPER_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ctl.h"
#include "ids.h"

#define TABLE_OWNERS 40u /* worker slots, the standby's included */
#define TABLE_FDS    4u /* kinds; a session has CTL_FD_SESSION at most */

enum row_todo {
	ROW_GIVE = 1, /* the owner does not have it yet */
	ROW_TELL = 2, /* the owner asked for the exit and was not answered */
};

struct row {
	struct sid sid;
	struct wid spawner; /* the worker that sent HOLD */
	struct wid prev;    /* the last one that died with it; generation 0:
	                     * none did */
	uint32_t owner;     /* slot of the one that has it now */
	uint32_t todo;      /* enum row_todo */
	int32_t pid;        /* 0: not spawned yet */
	int fds[TABLE_FDS]; /* in CTL_FD_* bit order; -1: not held */
	uint64_t held_ns;    /* boot: nothing was cloned before */
	uint64_t spawned_ns; /* boot */
	uint64_t looked_ns;  /* the last look at its header, pids.c */
	bool by_header;      /* nobody will send SPAWNED */
	uint32_t crashes;    /* workers in a row that died of it */
	uint64_t turn;       /* supervisor/custody.h; of an older worker's HOLD
	                      * it counts hand-overs alone */
	struct ctl_exit exit; /* exit.code 0: not known to have exited */
	TAILQ_ENTRY(row) owned_link;
	TAILQ_ENTRY(row) todo_link;
	TAILQ_ENTRY(row) nameless_link;
	uint32_t index;
	uint32_t sid_next, pid_next; /* hash chains; index + 1 */
	bool used;
};

struct table;

/* A table for up to `max` rows, or NULL where there is no memory. */
struct table *table_new(uint32_t max);
void table_free(struct table *t);

/* A new row without pid and descriptors, owned by by.slot. NULL: the sid is 0
 * or has a row, the slot is out of range, or the table is full. */
struct row *table_add(struct table *t, struct sid sid, struct wid by);
/* Forgets the row; its descriptors are the caller's to close before. */
void table_remove(struct table *t, struct row *r);

struct row *table_find(const struct table *t, struct sid sid);
/* The row whose command is `pid`, exited or not; NULL: none. */
struct row *table_find_pid(const struct table *t, int32_t pid);
/* Sets the pid of a row that has none. */
void table_set_pid(struct table *t, struct row *r, int32_t pid);

/* The rows that have no pid, oldest first; NULL: no more. */
struct row *table_next_nameless(const struct table *t, const struct row *r);

/* Moves the row to another slot's list, to-do flags and all. */
void table_set_owner(struct table *t, struct row *r, uint32_t slot);
struct row *table_first_owned(const struct table *t, uint32_t slot);
uint32_t table_owned(const struct table *t, uint32_t slot);

void table_mark(struct table *t, struct row *r, uint32_t todo);
void table_unmark(struct table *t, struct row *r, uint32_t todo);
/* The row of this slot that has waited longest to be told; NULL: none. */
struct row *table_first_todo(const struct table *t, uint32_t slot);

/* CTL_FD_* of what the row holds. */
uint32_t row_mask(const struct row *r);

uint32_t table_count(const struct table *t);
/* Rows at this index and beyond were never used. */
uint32_t table_high(const struct table *t);
/* NULL: no row there. */
struct row *table_at(const struct table *t, uint32_t index);

#endif
