/* SPDX-License-Identifier: MIT */
/*
 * Room in data.mdb, which is allocated ahead of use. The last pages of what is
 * allocated are kept back for deletes, so that a full index can be emptied. How
 * much a transaction will take is estimated from above; where the estimate is
 * wrong, LMDB's own error ends that transaction and no other.
 */
#include "shm/index_state.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* Pages one small change may touch: two trees, split at every level. */
#define CHANGE_PAGES 12u

/*
 * How much to allocate next: a step, an eighth of one where the file system
 * has no more, or 0. Asked first, because an allocation that fails half way
 * takes everything for a moment, and a worker would find the tmpfs full.
 */
static uint64_t
room_step(const struct index *ix)
{
	uint64_t left = UINT64_MAX;
	struct statvfs fs;

	if (fstatvfs(ix->fd, &fs) == 0 && fs.f_blocks > 0)
		left = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (left > ix->step_bytes)
		return ix->step_bytes;
	return left > ix->step_bytes / 8 ? ix->step_bytes / 8 : 0;
}

bool
index_room_grow(struct index *ix)
{
	uint64_t step = room_step(ix);
	int err;

	if (step > ix->map_bytes - ix->allocated)
		step = ix->map_bytes - ix->allocated;
	if (step == 0)
		return false;
	do
		err = posix_fallocate(ix->fd, (off_t)ix->allocated,
		    (off_t)step);
	while (err == EINTR);
	if (err != 0)
		return false;
	ix->allocated += step;
	return true;
}

/* Pages that the open transaction may have taken, estimated from above: it
 * cannot copy more small pages than there are, plus what it adds. */
static uint64_t
room_spent(const struct index *ix)
{
	uint64_t small = ix->puts * CHANGE_PAGES;
	uint64_t most = ix->used_pages + 2 * ix->put_bytes / ix->page + 16;

	return ix->big_pages + (small < most ? small : most);
}

/* Orders page numbers. */
static int
compare_pages(const void *a, const void *b)
{
	size_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

bool
index_free_collect(const MDB_val *val, size_t **pages, size_t *count)
{
	size_t n, *more;

	if (val->mv_size < sizeof(n))
		return true;
	memcpy(&n, val->mv_data, sizeof(n));
	if (n == 0 || n > val->mv_size / sizeof(n) - 1)
		return true;
	more = reallocarray(*pages, *count + n, sizeof(n));
	if (more == NULL)
		return false;
	memcpy(more + *count, (const char *)val->mv_data + sizeof(n),
	    n * sizeof(n));
	*pages = more;
	*count += n;
	return true;
}

/* Sets free_pages and free_run from the free list of a snapshot. */
static void
free_walk(struct index *ix, MDB_cursor *cur)
{
	size_t *pages = NULL, count = 0, run = 0, id;
	MDB_val key, val;

	while (mdb_cursor_get(cur, &key, &val, MDB_NEXT) == 0) {
		if (key.mv_size != sizeof(id))
			break;
		memcpy(&id, key.mv_data, sizeof(id));
		/* LMDB keeps what the last transaction freed for one more. */
		if (id >= ix->last_txn || !index_free_collect(&val, &pages, &count))
			break;
	}
	ix->free_pages = count;
	if (count > 0)
		qsort(pages, count, sizeof(*pages), compare_pages);
	for (size_t i = 0; i < count; i++) {
		run = i > 0 && pages[i] == pages[i - 1] + 1 ? run + 1 : 1;
		if (run > ix->free_run)
			ix->free_run = run;
	}
	free(pages);
}

/*
 * Looks at LMDB's free list, once a transaction and only where room is short.
 * LMDB shows it to read transactions only; the snapshot is the state that the
 * open write transaction began with, and is let go before that one can commit.
 */
static void
room_count_free(struct index *ix)
{
	MDB_cursor *cur;
	MDB_txn *txn;

	ix->free_counted = true;
	ix->free_pages = ix->free_run = 0;
	if (mdb_txn_begin(ix->env, NULL, MDB_RDONLY, &txn) != 0)
		return;
	if (mdb_cursor_open(txn, 0, &cur) == 0) {
		free_walk(ix, cur);
		mdb_cursor_close(cur);
	}
	mdb_txn_abort(txn);
}

bool
index_room_for(struct index *ix, size_t bytes, uint64_t kept)
{
	uint64_t big = bytes > ix->page / 4 ? bytes / ix->page + 2 : 0;
	uint64_t need = room_spent(ix) + big + CHANGE_PAGES + kept;
	uint64_t end = ix->allocated / ix->page;

	for (;;) {
		if (ix->used_pages + need <= end)
			return true;
		if (!index_room_grow(ix))
			break;
		end = ix->allocated / ix->page;
	}
	if (!ix->free_counted)
		room_count_free(ix);
	/* A long value wants neighbours. */
	if (big > 0 && ix->big_pages + big > ix->free_run)
		return false;
	return ix->used_pages + need <= end + ix->free_pages;
}
