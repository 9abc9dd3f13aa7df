/* SPDX-License-Identifier: MIT */
/*
 * The index over LMDB, and the only home of lmdb.h. The master opens it, after
 * its predecessor's confirmed death, and alone: hence NOLOCK, and no read
 * transaction is ever held across a write (freed pages are reused at once).
 *
 * data.mdb is allocated ahead of use. The last RESERVE_PAGES of what is
 * allocated are for deletes, so that a full index can be emptied. How much a
 * transaction will take is estimated from above; where the estimate is wrong,
 * LMDB's own error ends that transaction and no other.
 */
#include "shm/index.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "shm/index_journal.h"
#include "shm/index_probe.h"
#include "shm/index_sum.h"
#include "shm/index_walk.h"

#define MAP_BYTES     (1024ull << 20)
#define STEP_BYTES    (8ull << 20)
#define ENV_FLAGS     (MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD | MDB_NOLOCK)
#define RESERVE_PAGES 256u /* or an eighth of a small map */
#define KEY_MAX       511u
/* Pages one small change may touch: two trees, split at every level. */
#define CHANGE_PAGES 12u

static const char *const db_names[] = {
	[INDEX_META] = "meta",
	[INDEX_SESSIONS] = "sessions",
	[INDEX_SPECS] = "specs",
	[INDEX_CURSORS] = "cursors",
	[INDEX_EVENTS] = "events",
	[INDEX_SUBS] = "subs",
	[INDEX_KEYS] = "keys",
	[INDEX_TOKENS] = "tokens",
	[INDEX_DRAINS] = "drains",
};
static_assert(NELEMS(db_names) == INDEX_DB_COUNT, "a name per database");

struct index {
	MDB_env *env;
	MDB_dbi dbi[INDEX_DB_COUNT];
	MDB_txn *write;     /* NULL: none open */
	MDB_txn *read;      /* made once, then reset and renewed */
	bool reading;       /* `read` is renewed */
	int dead;           /* the open write transaction failed with this */
	int fd;             /* data.mdb; LMDB's */
	uint64_t allocated; /* bytes of it */
	uint64_t map_bytes, step_bytes;
	uint64_t page;      /* bytes */
	uint64_t reserve;   /* pages that only deletes may take */
	uint64_t changes;   /* ever: a scan's cursor is good while it stands */
	struct journal journal; /* since the last commit */
	bool replay;        /* that one failed: begin with the journal */

	/* the open write transaction */
	uint64_t used_pages;  /* before it */
	uint64_t last_txn;
	uint64_t free_pages;  /* inside used_pages; counted where it matters */
	uint64_t free_run;    /* the most of them in a row */
	bool free_counted;
	uint64_t puts, put_bytes, big_pages;
};

/* LMDB's error as ours. */
static int
index_error(int rc)
{
	if (rc >= 0)
		return rc == EDQUOT ? -ENOSPC : -rc;
	switch (rc) {
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_MAP_FULL:
	case MDB_TXN_FULL:
	case MDB_CURSOR_FULL:
	case MDB_PAGE_FULL:
		return -ENOSPC;
	case MDB_BAD_VALSIZE:
		return -EINVAL;
	case MDB_PANIC: /* it lost its meta page: to be opened anew */
		return -ENOTRECOVERABLE;
	default:
		return -EIO;
	}
}

/* ------------------------------------------------------------------ room */

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

/* Allocates one more step of data.mdb. False: no more. */
static bool
room_grow(struct index *ix)
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

/* Appends the page numbers of one record of the free list. */
static bool
free_collect(const MDB_val *val, size_t **pages, size_t *count)
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
		if (id >= ix->last_txn || !free_collect(&val, &pages, &count))
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

/* Is there room for a put of `bytes`, beyond the pages that are kept back? */
static bool
room_for(struct index *ix, size_t bytes, uint64_t kept)
{
	uint64_t big = bytes > ix->page / 4 ? bytes / ix->page + 2 : 0;
	uint64_t need = room_spent(ix) + big + CHANGE_PAGES + kept;
	uint64_t end = ix->allocated / ix->page;

	for (;;) {
		if (ix->used_pages + need <= end)
			return true;
		if (!room_grow(ix))
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

/* ---------------------------------------------------------- transactions */

/* Lets go of the snapshot: always before a write begins. */
static void
read_end(struct index *ix)
{
	if (!ix->reading)
		return;
	mdb_txn_reset(ix->read);
	ix->reading = false;
}

static int write_begin(struct index *ix);

/* Aborts a transaction that a passing error (memory, I/O) has broken: the next
 * one begins with its journal. One for which there was no room stays, until
 * what found none is taken back. */
static void
write_give_up(struct index *ix)
{
	if (ix->write == NULL || ix->dead == 0 || ix->dead == -ENOSPC ||
	    ix->journal.lost)
		return;
	mdb_txn_abort(ix->write);
	ix->write = NULL;
	ix->changes++;
	ix->replay = true;
}

/* The transaction to read in: the open write, else a snapshot. */
static int
read_txn(struct index *ix, MDB_txn **ret)
{
	int rc = 0;

	write_give_up(ix);
	if (ix->write == NULL && ix->replay) {
		rc = write_begin(ix);
		if (rc != 0)
			return rc;
	}
	if (ix->write != NULL) {
		*ret = ix->write;
		return ix->dead;
	}
	if (!ix->reading) {
		if (ix->read == NULL)
			rc = mdb_txn_begin(ix->env, NULL, MDB_RDONLY,
			    &ix->read);
		else
			rc = mdb_txn_renew(ix->read);
		if (rc != 0)
			return index_error(rc);
		ix->reading = true;
	}
	*ret = ix->read;
	return 0;
}

/* Opens a write transaction. */
static int
write_open(struct index *ix)
{
	MDB_envinfo info;
	int rc;

	read_end(ix);
	rc = mdb_env_info(ix->env, &info);
	if (rc == 0)
		rc = mdb_txn_begin(ix->env, NULL, 0, &ix->write);
	if (rc != 0) {
		ix->write = NULL;
		return index_error(rc);
	}
	ix->changes++;
	ix->dead = 0;
	ix->used_pages = info.me_last_pgno + 1;
	ix->last_txn = info.me_last_txnid;
	ix->free_counted = false;
	ix->puts = ix->put_bytes = ix->big_pages = 0;
	return 0;
}

/* Records what a change did; an error that kills the transaction stays. */
static int
write_done(struct index *ix, int rc, size_t bytes)
{
	ix->changes++;
	ix->puts++;
	if (bytes > ix->page / 4)
		ix->big_pages += bytes / ix->page + 2;
	else
		ix->put_bytes += bytes;
	if (rc == 0)
		return 0;
	if (rc != MDB_NOTFOUND && rc != MDB_BAD_VALSIZE)
		ix->dead = index_error(rc);
	return index_error(rc);
}

/* LMDB's view of our bytes; it does not write through it. */
static MDB_val
val_of(struct index_bytes b)
{
	return (MDB_val){ .mv_size = b.size,
		.mv_data = (void *)(uintptr_t)b.data };
}

/* Stores key and value with their sum. */
static int
put_summed(struct index *ix, enum index_db db, MDB_val *k,
    const struct index_bytes *val)
{
	uint64_t sum = index_sum(k->mv_data, k->mv_size, val->data, val->size);
	MDB_val v = { .mv_size = val->size + INDEX_SUM_BYTES };
	int rc = mdb_put(ix->write, ix->dbi[db], k, &v, MDB_RESERVE);

	if (rc == 0) {
		if (val->size > 0)
			memcpy(v.mv_data, val->data, val->size);
		memcpy((char *)v.mv_data + val->size, &sum, sizeof(sum));
	}
	return rc;
}

/* The value before its sum; empty where that is not its sum. */
static struct index_bytes
summed(const MDB_val *k, const MDB_val *v)
{
	size_t size = v->mv_size;
	uint64_t sum;

	if (size < INDEX_SUM_BYTES)
		return (struct index_bytes){ "", 0 };
	size -= INDEX_SUM_BYTES;
	memcpy(&sum, (const char *)v->mv_data + size, sizeof(sum));
	if (sum != index_sum(k->mv_data, k->mv_size, v->mv_data, size))
		return (struct index_bytes){ "", 0 };
	return (struct index_bytes){ v->mv_data, size };
}

/* One change of the journal, once more. */
static int
replay_one(void *arg, enum index_db db, struct index_bytes key,
    const struct index_bytes *val)
{
	struct index *ix = arg;
	MDB_val k = val_of(key);
	int rc;

	if (val == NULL) {
		rc = mdb_del(ix->write, ix->dbi[db], &k, NULL);
		return write_done(ix, rc == MDB_NOTFOUND ? 0 : rc, 0);
	}
	return write_done(ix, put_summed(ix, db, &k, val),
	    key.size + val->size + INDEX_SUM_BYTES);
}

/* Opens the turn's write transaction where none is open; after a failed
 * commit it begins with what that one had. */
static int
write_begin(struct index *ix)
{
	int rc;

	write_give_up(ix);
	if (ix->write != NULL)
		return ix->dead;
	rc = write_open(ix);
	if (rc != 0 || !ix->replay)
		return rc;
	rc = journal_each(&ix->journal, replay_one, ix);
	if (rc == 0) {
		ix->replay = false;
		return 0;
	}
	mdb_txn_abort(ix->write);
	ix->write = NULL;
	/* what had room once and has none now never will */
	return rc == -ENOSPC ? -ENOTRECOVERABLE : rc;
}

/* Stores a record, where so many pages stay free. */
static int
put_keeping(struct index *ix, enum index_db db, struct index_bytes key,
    struct index_bytes val, uint64_t kept)
{
	MDB_val k = val_of(key);
	int err;

	if (key.size == 0 || key.size > KEY_MAX || val.size > UINT32_MAX / 2)
		return -EINVAL;
	err = write_begin(ix);
	if (err != 0)
		return err;
	if (!room_for(ix, key.size + val.size + INDEX_SUM_BYTES, kept) ||
	    (kept == ix->reserve && FAULT_FAILS("index.full")))
		return -ENOSPC;
	err = write_done(ix, put_summed(ix, db, &k, &val),
	    key.size + val.size + INDEX_SUM_BYTES);
	if (err == 0)
		journal_add(&ix->journal, db, key, &val);
	return err;
}

/* Stores a record. */
int
index_put(struct index *ix, enum index_db db, struct index_bytes key,
    struct index_bytes val)
{
	return put_keeping(ix, db, key, val, ix->reserve);
}

/* Stores what must be told: the first half of the reserve is for it. */
int
index_put_last(struct index *ix, enum index_db db, struct index_bytes key,
    struct index_bytes val)
{
	return put_keeping(ix, db, key, val, ix->reserve / 2);
}

/* Finds a record. */
int
index_get(struct index *ix, enum index_db db, struct index_bytes key,
    struct index_bytes *ret_val)
{
	MDB_val k = val_of(key), v;
	MDB_txn *txn;
	int err;

	if (key.size == 0 || key.size > KEY_MAX)
		return -EINVAL;
	err = read_txn(ix, &txn);
	if (err == 0)
		err = index_error(mdb_get(txn, ix->dbi[db], &k, &v));
	if (err == 0)
		*ret_val = summed(&k, &v);
	return err;
}

/* Deletes a record; the reserve is for this. */
int
index_del(struct index *ix, enum index_db db, struct index_bytes key)
{
	MDB_val k = val_of(key);
	int err;

	if (key.size == 0 || key.size > KEY_MAX)
		return -EINVAL;
	err = write_begin(ix);
	if (err != 0)
		return err;
	err = write_done(ix, mdb_del(ix->write, ix->dbi[db], &k, NULL), 0);
	if (err == -ENOENT)
		return 0;
	if (err == 0)
		journal_add(&ix->journal, db, key, NULL);
	return err;
}

/* Ends the turn's transaction. */
int
index_commit(struct index *ix)
{
	MDB_txn *txn;
	int rc = 0;

	if (ix->write == NULL && ix->replay)
		rc = write_begin(ix);
	txn = ix->write;
	if (txn == NULL)
		return rc;
	ix->write = NULL;
	ix->changes++;
	rc = ix->dead;
	if (rc == 0 && FAULT_FAILS("index.commit"))
		rc = -EIO;
	if (rc == 0)
		rc = index_error(mdb_txn_commit(txn));
	else
		mdb_txn_abort(txn);
	if (rc == 0)
		journal_clear(&ix->journal);
	else if (!ix->journal.lost)
		ix->replay = true;
	else
		rc = -ENOTRECOVERABLE;
	return rc;
}

/* ------------------------------------------------------------------ scan */

/* Where a scan stands: a cursor, good until something changes, and the key
 * shown last, to find the place again. */
struct scan {
	struct index *ix;
	enum index_db db;
	MDB_cursor *cur;
	uint64_t changes;
	unsigned char last[KEY_MAX];
	size_t last_size;
	bool shown; /* `last` was shown, not just asked for */
};

/* Opens the cursor and goes to the first record not shown yet. */
static int
scan_seek(struct scan *s, MDB_val *key, MDB_val *val)
{
	MDB_txn *txn = NULL;
	int rc;

	rc = read_txn(s->ix, &txn);
	if (rc != 0)
		return rc;
	rc = mdb_cursor_open(txn, s->ix->dbi[s->db], &s->cur);
	if (rc != 0)
		return index_error(rc);
	s->changes = s->ix->changes;
	if (s->last_size == 0)
		return index_error(mdb_cursor_get(s->cur, key, val, MDB_FIRST));
	*key = (MDB_val){ s->last_size, s->last };
	rc = mdb_cursor_get(s->cur, key, val, MDB_SET_RANGE);
	if (rc == 0 && s->shown && key->mv_size == s->last_size &&
	    memcmp(key->mv_data, s->last, s->last_size) == 0)
		rc = mdb_cursor_get(s->cur, key, val, MDB_NEXT);
	return index_error(rc);
}

/* The next record, whatever the callback deleted. */
static int
scan_next(struct scan *s, MDB_val *key, MDB_val *val)
{
	if (s->cur != NULL && s->changes == s->ix->changes)
		return index_error(mdb_cursor_get(s->cur, key, val, MDB_NEXT));
	if (s->cur != NULL)
		mdb_cursor_close(s->cur);
	s->cur = NULL;
	return scan_seek(s, key, val);
}

/* Shows the records from a key on. */
int
index_scan(struct index *ix, enum index_db db, struct index_bytes from,
    index_scan_fn *fn, void *arg)
{
	struct scan s = { .ix = ix, .db = db };
	MDB_val key = { 0 }, val = { 0 };
	int err, said = 0;

	if (from.size > KEY_MAX)
		return -EINVAL;
	if (from.size > 0)
		memcpy(s.last, from.data, from.size);
	s.last_size = from.size;
	while ((err = scan_next(&s, &key, &val)) == 0) {
		if (key.mv_size == 0 || key.mv_size > KEY_MAX) {
			err = -EIO;
			break;
		}
		memcpy(s.last, key.mv_data, key.mv_size);
		s.last_size = key.mv_size;
		s.shown = true;
		said = fn(arg,
		    (struct index_bytes){ key.mv_data, key.mv_size },
		    summed(&key, &val));
		if (said != 0)
			break;
	}
	if (s.cur != NULL)
		mdb_cursor_close(s.cur);
	if (said != 0)
		return said;
	return err == -ENOENT ? 0 : err;
}

/* ------------------------------------------------------------------ open */

/* Makes LMDB's own descriptor close-on-exec and allocates the first step. */
static int
open_file(struct index *ix)
{
	MDB_stat stat;
	MDB_envinfo info;
	struct stat st;
	uint64_t used;
	int rc;

	rc = mdb_env_get_fd(ix->env, &ix->fd);
	if (rc == 0)
		rc = mdb_env_stat(ix->env, &stat);
	if (rc == 0)
		rc = mdb_env_info(ix->env, &info);
	if (rc != 0)
		return index_error(rc);
	if (fcntl(ix->fd, F_SETFD, FD_CLOEXEC) != 0 || fstat(ix->fd, &st) != 0)
		return -errno;
	ix->page = stat.ms_psize;
	ix->reserve = ix->map_bytes / ix->page / 8;
	if (ix->reserve > RESERVE_PAGES)
		ix->reserve = RESERVE_PAGES;
	/* The file may have holes where an allocation was cut short: allocate
	 * what is there once more, it costs nothing where pages exist. */
	/* LMDB never maps less than there is. */
	if (info.me_mapsize > ix->map_bytes)
		ix->map_bytes = info.me_mapsize;
	used = (info.me_last_pgno + 1) * ix->page;
	ix->allocated = (uint64_t)st.st_size;
	if (ix->allocated > ix->map_bytes)
		ix->allocated = ix->map_bytes;
	if (posix_fallocate(ix->fd, 0, (off_t)ix->allocated) != 0 ||
	    ix->allocated < used)
		ix->allocated = used;
	/* A full tmpfs is told by the first put; deletes may still do. */
	while (ix->allocated < ix->map_bytes &&
	    ix->allocated < used + ix->reserve * ix->page)
		if (!room_grow(ix))
			break;
	return 0;
}

/* Opens every database, in one transaction. */
static int
open_dbs(struct index *ix)
{
	MDB_txn *txn;
	int rc;

	rc = mdb_txn_begin(ix->env, NULL, 0, &txn);
	if (rc != 0)
		return index_error(rc);
	for (unsigned i = 0; rc == 0 && i < INDEX_DB_COUNT; i++)
		rc = mdb_dbi_open(txn, db_names[i], MDB_CREATE, &ix->dbi[i]);
	if (rc != 0) {
		mdb_txn_abort(txn);
		return index_error(rc);
	}
	return index_error(mdb_txn_commit(txn));
}

/* Opens the environment. *ret_damaged: it is not a good one. */
static int
open_env(const char *dir, struct index *ix, bool *ret_damaged)
{
	int rc, err;

	*ret_damaged = false;
	errno = 0;
	rc = mdb_env_create(&ix->env);
	if (rc != 0)
		return index_error(rc);
	rc = mdb_env_set_maxdbs(ix->env, INDEX_DB_COUNT);
	if (rc == 0)
		rc = mdb_env_set_mapsize(ix->env, (size_t)ix->map_bytes);
	if (rc == 0)
		rc = mdb_env_open(ix->env, dir, ENV_FLAGS, 0600);
	err = index_error(rc);
	*ret_damaged = rc < 0 || rc == EINVAL;
	if (rc == 0)
		err = open_file(ix);
	if (rc == 0 && err == 0) {
		err = open_dbs(ix);
		*ret_damaged = err == -EIO || err == -EINVAL;
	}
	if (err != 0) {
		if (errno == ENOMEM) {
			*ret_damaged = false; /* LMDB may call it so */
			err = -ENOMEM;
		}
		mdb_env_close(ix->env);
		ix->env = NULL;
	}
	return err;
}

/* Renames index/ away; an environment set aside earlier makes room. */
static int
set_aside(const char *runtime_dir, const char *dir)
{
	char bad[PATH_MAX];
	int n;

	index_forget_bad(runtime_dir);
	n = snprintf(bad, sizeof(bad), "%s.bad.%llu", dir,
	    (unsigned long long)clock_wall_ms());
	if (n < 0 || (size_t)n >= sizeof(bad))
		return -ENAMETOOLONG;
	return rename(dir, bad) == 0 ? 0 : -errno;
}

int
index_set_aside(const char *runtime_dir)
{
	char dir[PATH_MAX];
	int n;

	n = snprintf(dir, sizeof(dir), "%s/index", runtime_dir);
	if (n < 0 || (size_t)n >= sizeof(dir))
		return -ENAMETOOLONG;
	return set_aside(runtime_dir, dir);
}

/* Opens with the default sizes. */
int
index_open(const char *runtime_dir, struct index **ret, bool *ret_set_aside)
{
	static const struct index_limits defaults;

	return index_open_limited(runtime_dir, &defaults, ret, ret_set_aside);
}

/* Opens; an environment that is no good is set aside, once. */
int
index_open_limited(const char *runtime_dir, const struct index_limits *limits,
    struct index **ret, bool *ret_set_aside)
{
	static const struct index_names names = {db_names, INDEX_DB_COUNT};
	uint64_t map_max = MAP_BYTES;
	struct index *ix;
	char dir[PATH_MAX];
	bool damaged = false, aside = false;
	int n, err;

	n = snprintf(dir, sizeof(dir), "%s/index", runtime_dir);
	if (n < 0 || (size_t)n >= sizeof(dir))
		return -ENAMETOOLONG;
	ix = calloc(1, sizeof(*ix));
	if (ix == NULL)
		return -ENOMEM;
	ix->map_bytes = limits->map_bytes ? limits->map_bytes : MAP_BYTES;
	ix->step_bytes = limits->step_bytes ? limits->step_bytes : STEP_BYTES;
	if (map_max < ix->map_bytes)
		map_max = ix->map_bytes;
	for (;;) {
		err = mkdir(dir, 0700) == 0 || errno == EEXIST ? 0 : -errno;
		if (err == 0)
			err = index_probe(dir, map_max, &names);
		damaged = err == -EBADMSG;
		if (err == 0)
			err = open_env(dir, ix, &damaged);
		if (err == 0 || !damaged || aside)
			break;
		err = set_aside(runtime_dir, dir);
		if (err != 0)
			break;
		aside = true;
	}
	if (err != 0) {
		free(ix);
		return err;
	}
	*ret = ix;
	*ret_set_aside = aside;
	return 0;
}

/* Drops what was not committed, closes. */
void
index_close(struct index **ix)
{
	struct index *i = *ix;

	if (i == NULL)
		return;
	if (i->write != NULL)
		mdb_txn_abort(i->write);
	if (i->read != NULL)
		mdb_txn_abort(i->read);
	journal_free(&i->journal);
	mdb_env_close(i->env);
	free(i);
	*ix = NULL;
}

/* What the file takes. */
uint64_t
index_bytes_used(const struct index *ix)
{
	struct stat st;

	if (fstat(ix->fd, &st) != 0)
		return ix->allocated;
	return (uint64_t)st.st_blocks * 512u;
}
