/* SPDX-License-Identifier: MIT */
/*
 * The index over LMDB: what is put into it, found in it and deleted. The turn's
 * write transaction, made again from the journal where its commit failed;
 * snapshots to read in, never held across a write, because without locks freed
 * pages are reused at once.
 */
#include "shm/index.h"

#include <errno.h>
#include <lmdb.h>
#include <string.h>

#include "common/fault.h"
#include "shm/index_state.h"
#include "shm/index_sum.h"


int
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
	case MDB_CORRUPTED: /* somebody wrote to the file */
	case MDB_PAGE_NOTFOUND:
	case MDB_INVALID:
	case MDB_MAP_RESIZED: /* so says a meta page; nobody else resizes it */
	case MDB_INCOMPATIBLE:
	case MDB_BAD_DBI:
		return -ENOTRECOVERABLE;
	default:
		return -EIO;
	}
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
	ix->wipe_all |= ix->spec_put; /* it may have written half */
	ix->changes++;
	ix->replay = true;
}

int
index_read_txn(struct index *ix, MDB_txn **ret)
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

/* What a value takes. A spec has pages of its own, two at least: LMDB moves
 * small ones about within pages, and single pages are reused in memory as they
 * are, so that others' gaps would show what a spec held. */
static size_t
stored_size(const struct index *ix, enum index_db db, size_t size)
{
	if (db == INDEX_SPECS && size < ix->page)
		size = ix->page;
	return size + INDEX_SUM_BYTES;
}

/* Stores key and value with their sum. */
static int
put_summed(struct index *ix, enum index_db db, MDB_val *k,
    const struct index_bytes *val)
{
	MDB_val v = { .mv_size = stored_size(ix, db, val->size) };
	size_t size = v.mv_size - INDEX_SUM_BYTES;
	int rc = mdb_put(ix->write, ix->dbi[db], k, &v, MDB_RESERVE);
	uint64_t sum;

	if (rc == 0) {
		if (val->size > 0)
			memcpy(v.mv_data, val->data, val->size);
		memset((char *)v.mv_data + val->size, 0, size - val->size);
		sum = index_sum(k->mv_data, k->mv_size, v.mv_data, size);
		memcpy((char *)v.mv_data + size, &sum, sizeof(sum));
	}
	return rc;
}

/* What a change does to a spec that is there. */
static void
note_spec(struct index *ix, enum index_db db, MDB_val *k)
{
	MDB_val v;

	if (db != INDEX_SPECS)
		return;
	ix->spec_put = true;
	if (mdb_get(ix->write, ix->dbi[db], k, &v) == 0)
		index_wipe_note(ix, &v);
}

struct index_bytes
index_summed(const MDB_val *k, const MDB_val *v)
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

	note_spec(ix, db, &k);
	if (val == NULL) {
		rc = mdb_del(ix->write, ix->dbi[db], &k, NULL);
		return write_done(ix, rc == MDB_NOTFOUND ? 0 : rc, 0);
	}
	return write_done(ix, put_summed(ix, db, &k, val),
	    key.size + stored_size(ix, db, val->size));
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

	if (key.size == 0 || key.size > INDEX_KEY_MAX || val.size > UINT32_MAX / 2)
		return -EINVAL;
	err = write_begin(ix);
	if (err != 0)
		return err;
	if (!index_room_for(ix, key.size + stored_size(ix, db, val.size),
		kept) ||
	    (kept == ix->reserve && FAULT_FAILS("index.full")))
		return -ENOSPC;
	note_spec(ix, db, &k);
	err = write_done(ix, put_summed(ix, db, &k, &val),
	    key.size + stored_size(ix, db, val.size));
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

	if (key.size == 0 || key.size > INDEX_KEY_MAX)
		return -EINVAL;
	err = index_read_txn(ix, &txn);
	if (err == 0)
		err = index_error(mdb_get(txn, ix->dbi[db], &k, &v));
	if (err == 0)
		*ret_val = index_summed(&k, &v);
	return err;
}

/* Deletes a record; the reserve is for this. */
int
index_del(struct index *ix, enum index_db db, struct index_bytes key)
{
	MDB_val k = val_of(key);
	int err;

	if (key.size == 0 || key.size > INDEX_KEY_MAX)
		return -EINVAL;
	err = write_begin(ix);
	if (err != 0)
		return err;
	note_spec(ix, db, &k);
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
	ix->secret |= ix->wipe_all;
	if (rc == 0 && FAULT_FAILS("index.commit"))
		rc = -EIO;
	if (rc == 0)
		rc = index_error(mdb_txn_commit(txn));
	else
		mdb_txn_abort(txn);
	FAULT("index.before-wipe");
	if (rc != 0)
		ix->wipe_all |= ix->secret || ix->spec_put; /* the same */
	else if (ix->secret)
		index_wipe(ix);
	ix->spec_put = false;
	if (rc == 0)
		journal_clear(&ix->journal);
	else if (!ix->journal.lost)
		ix->replay = true;
	else
		rc = -ENOTRECOVERABLE;
	return rc;
}
