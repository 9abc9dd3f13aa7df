/* SPDX-License-Identifier: MIT */
/*
 * LMDB frees pages and leaves in them what they held: environments of commands
 * that have long ended. Called by index_commit() after a transaction that
 * touched specs, and by index_open() for what a killed master left.
 *
 * Pages that a committed transaction freed are in no tree of the newest meta
 * page, and nobody reads by an older one: there are no other processes, no
 * snapshot is held across a write, and a tmpfs does not outlive a crash that
 * would make LMDB go back. They stay allocated, so it is zeros, no hole.
 */
#include "shm/index_state.h"

#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZEROS (64u * 1024)

/* Zeros from page `first` on. */
static bool
wipe_run(const struct index *ix, uint64_t first, uint64_t count)
{
	static const char zeros[ZEROS];
	uint64_t at = first * ix->page, left = count * ix->page;
	ssize_t n;

	while (left > 0) {
		n = pwrite(ix->fd, zeros, left < ZEROS ? (size_t)left : ZEROS,
		    (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return true;
}

/* LMDB's header of the pages of a long value, which follows it. */
struct long_page {
	uint64_t number;
	uint16_t pad, flags;
	uint32_t count;
};

void
index_wipe_note(struct index *ix, const struct MDB_val *val)
{
	struct long_page page;

	ix->secret = true;
	/* short ones lie among others: older builds' */
	if (ix->spec_runs >= INDEX_SPEC_RUNS || val->mv_size < ix->page) {
		ix->spec_runs = INDEX_SPEC_RUNS + 1;
		return;
	}
	memcpy(&page, (const char *)val->mv_data - sizeof(page), sizeof(page));
	ix->spec_run[ix->spec_runs++] =
	    (struct index_run){ page.number, page.count };
}

/* May this free page have held a spec? */
static bool
is_wanted(const struct index *ix, uint64_t page)
{
	unsigned i;

	if (ix->wipe_all || ix->spec_runs > INDEX_SPEC_RUNS)
		return true;
	for (i = 0; i < ix->spec_runs; i++)
		if (page - ix->spec_run[i].first < ix->spec_run[i].count)
			return true;
	return false;
}

/* Pages in LMDB's order, the highest first; neighbours in one go. Not one that
 * lies beyond the file, which they would make longer. */
static bool
wipe_pages(const struct index *ix, const size_t *pages, size_t count)
{
	uint64_t end = ix->allocated / ix->page;
	size_t i = 0, run;

	while (i < count) {
		if (!is_wanted(ix, pages[i])) {
			i++;
			continue;
		}
		for (run = 1; i + run < count &&
		     pages[i + run] + run == pages[i] &&
		     is_wanted(ix, pages[i + run]); run++)
			;
		if (pages[i] < end && pages[i] - run + 1 >= 2 &&
		    !wipe_run(ix, pages[i] - run + 1, run))
			return false;
		i += run;
	}
	return true;
}

/* The free list of what is committed: of the last transaction, or all. */
static bool
wipe_listed(const struct index *ix, MDB_txn *txn, MDB_cursor *cur)
{
	size_t last = mdb_txn_id(txn), *pages, count;
	MDB_cursor_op op = ix->wipe_all ? MDB_FIRST : MDB_SET;
	MDB_val key = { sizeof(last), &last }, val;
	bool done = true;
	int rc;

	while (done && (rc = mdb_cursor_get(cur, &key, &val, op)) == 0) {
		pages = NULL;
		count = 0;
		done = index_free_collect(&val, &pages, &count) &&
		    wipe_pages(ix, pages, count);
		free(pages);
		if (op == MDB_SET)
			return done;
		op = MDB_NEXT;
	}
	return done && rc == MDB_NOTFOUND;
}

void
index_wipe(struct index *ix)
{
	MDB_cursor *cur;
	MDB_txn *txn;
	bool done = false;

	if (mdb_txn_begin(ix->env, NULL, MDB_RDONLY, &txn) == 0) {
		if (mdb_cursor_open(txn, 0, &cur) == 0) {
			done = wipe_listed(ix, txn, cur);
			mdb_cursor_close(cur);
		}
		mdb_txn_abort(txn);
	}
	ix->wipe_all = !done;
	ix->secret = false;
	ix->spec_runs = 0;
}
