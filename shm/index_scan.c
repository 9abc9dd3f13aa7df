/* SPDX-License-Identifier: MIT */
/*
 * One record of the index after the other, while whoever is shown them may put
 * and delete others.
 */
#include "shm/index_state.h"

#include <errno.h>
#include <lmdb.h>
#include <string.h>

/* Where a scan stands: a cursor, good until something changes, and the key
 * shown last, to find the place again. */
struct scan {
	struct index *ix;
	enum index_db db;
	MDB_cursor *cur;
	uint64_t changes;
	unsigned char last[INDEX_KEY_MAX];
	size_t last_size;
	bool shown; /* `last` was shown, not just asked for */
};

/* Opens the cursor and goes to the first record not shown yet. */
static int
scan_seek(struct scan *s, MDB_val *key, MDB_val *val)
{
	MDB_txn *txn = NULL;
	int rc;

	rc = index_read_txn(s->ix, &txn);
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

	if (from.size > INDEX_KEY_MAX)
		return -EINVAL;
	if (from.size > 0)
		memcpy(s.last, from.data, from.size);
	s.last_size = from.size;
	while ((err = scan_next(&s, &key, &val)) == 0) {
		if (key.mv_size == 0 || key.mv_size > INDEX_KEY_MAX) {
			err = -EIO;
			break;
		}
		memcpy(s.last, key.mv_data, key.mv_size);
		s.last_size = key.mv_size;
		s.shown = true;
		said = fn(arg,
		    (struct index_bytes){ key.mv_data, key.mv_size },
		    index_summed(&key, &val));
		if (said != 0)
			break;
	}
	if (s.cur != NULL)
		mdb_cursor_close(s.cur);
	if (said != 0)
		return said;
	return err == -ENOENT ? 0 : err;
}
