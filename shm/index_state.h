/* SPDX-License-Identifier: MIT */
/*
 * What the index's own files share: the state of the one that is open. Only
 * index*.c include this.
 *
 *     index.c         transactions: put, get, delete, commit
 *     index_scan.c    one record after the other
 *     index_open.c    open, close, set aside
 *     index_room.c    data.mdb allocated ahead, the pages that are free
 *     index_wipe.c    free pages that held a secret, overwritten
 *     index_journal.c the changes since the last commit
 *     index_probe.c   is one on disk good?
 *     index_walk.c    every page of its file
 */
#ifndef PSUP_SHM_INDEX_STATE_H
#define PSUP_SHM_INDEX_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/index.h"
#include "shm/index_journal.h"

struct MDB_env;
struct MDB_txn;
struct MDB_val;

#define INDEX_KEY_MAX   511u /* LMDB's */
#define INDEX_SPEC_RUNS 64u

/* Pages in a row. */
struct index_run {
	uint64_t first;
	uint32_t count;
};

struct index {
	struct MDB_env *env;
	char runtime_dir[PATH_MAX];
	unsigned dbi[INDEX_DB_COUNT]; /* MDB_dbi */
	struct MDB_txn *write;  /* NULL: none open */
	struct MDB_txn *read;   /* made once, then reset and renewed */
	bool reading;       /* `read` is renewed */
	int dead;           /* the open write transaction failed with this */
	int fd;             /* data.mdb; LMDB's */
	uint64_t allocated; /* bytes of it */
	uint64_t seen_bytes; /* it never gets smaller by itself */
	uint64_t map_bytes, step_bytes;
	uint64_t page;      /* bytes */
	uint64_t reserve;   /* pages that only deletes may take */
	uint64_t changes;   /* ever: a scan's cursor is good while it stands */
	struct journal journal; /* since the last commit */
	bool replay;        /* that one failed: begin with the journal */
	bool secret;        /* the open transaction frees pages with specs: */
	struct index_run spec_run[INDEX_SPEC_RUNS];
	unsigned spec_runs; /* beyond INDEX_SPEC_RUNS: any of its pages may */
	bool spec_put;      /* it has put one: what it wrote holds it */
	bool wipe_all;      /* free pages of before may hold some, too */

	/* the open write transaction */
	uint64_t used_pages;  /* before it */
	uint64_t last_txn;
	uint64_t free_pages;  /* inside used_pages; counted where it matters */
	uint64_t free_run;    /* the most of them in a row */
	bool free_counted;
	uint64_t puts, put_bytes, big_pages;
};

/* ---------------------------------------------------------------- index.c */
/* LMDB's error as ours. */
int index_error(int rc);
/* The transaction to read in: the open write, else a snapshot. */
int index_read_txn(struct index *ix, struct MDB_txn **ret);
/* The value before its sum; empty where that is not its sum. */
struct index_bytes index_summed(const struct MDB_val *k,
    const struct MDB_val *v);

/* ----------------------------------------------------------- index_room.c */
/* Allocates one more step of data.mdb. False: no more. */
bool index_room_grow(struct index *ix);
/* Is there room for a put of `bytes`, beyond the pages that are kept back? */
bool index_room_for(struct index *ix, size_t bytes, uint64_t kept);
/* Appends the page numbers of one record of LMDB's free list to an array that
 * the caller frees. False: no memory. */
bool index_free_collect(const struct MDB_val *val, size_t **pages,
    size_t *count);

/* ----------------------------------------------------------- index_wipe.c */
/* The open transaction deletes or replaces a spec, whose value lies there. */
void index_wipe_note(struct index *ix, const struct MDB_val *val);
/* After a commit: overwrites the pages with specs that it freed, or with
 * wipe_all every free one. What could not be is done with the next. */
void index_wipe(struct index *ix);

#endif
