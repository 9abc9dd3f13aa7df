/* SPDX-License-Identifier: MIT */
/*
 * The index: the truth that a restarted master reads. LMDB in index/ of the
 * runtime directory; index*.c are the only home of lmdb.h, the master its only
 * user. NOSYNC | NOTLS | NORDAHEAD | NOLOCK, no WRITEMAP; data.mdb allocated in
 * steps of 8 MiB before use, so that a full tmpfs is an error, not a SIGBUS.
 *
 * One write transaction per loop turn: index_put/index_del begin it where none
 * is open, index_commit ends it. Reads see the open transaction.
 */
#ifndef PSUP_SHM_INDEX_H
#define PSUP_SHM_INDEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

struct index; /* opaque; one per process */

enum index_db {
	INDEX_META,     /* "next", "incarnation", "layout", ... -> value */
	INDEX_SESSIONS, /* instance id, 8 bytes big-endian -> record */
	INDEX_SPECS,    /* instance id -> what START needs, env included; gone
	                 * once the session started, from freed pages, too */
	INDEX_CURSORS,  /* instance id + reader name -> position */
	INDEX_EVENTS,   /* sequence number, 8 bytes big-endian -> event */
	INDEX_SUBS,     /* scope NUL subscriber -> acknowledged sequence */
	INDEX_KEYS,     /* scope NUL request key -> instance id */
	INDEX_TOKENS,   /* SHA-256 of a scope token -> {scope, label, ...} */
	INDEX_DRAINS,   /* scope that takes no new sessions -> 1 */
	INDEX_DB_COUNT
};

/* A byte string that is not owned. Valid until the next index call. */
struct index_bytes {
	const void *data;
	size_t size;
};

/* Opens, creating where needed. One that does not open is set aside as
 * index.bad.<wall ms> and a new one made; *ret_set_aside says so.
 * Errors: -ENOSPC, -errno. */
int index_open(const char *runtime_dir, struct index **ret,
    bool *ret_set_aside);
/* The most that an index of the default size can ever hold. */
#define INDEX_MAP_BYTES (1024ull << 20)
/* The same with other sizes than the defaults (0: the default). */
struct index_limits {
	uint64_t map_bytes;  /* INDEX_MAP_BYTES */
	uint64_t step_bytes; /* allocated at a time; 256 KiB */
};
int index_open_limited(const char *runtime_dir,
    const struct index_limits *limits, struct index **ret,
    bool *ret_set_aside);
void index_close(struct index **ix);
/* Sets aside one that is closed: what is in it is not for this build. */
int index_set_aside(const char *runtime_dir);

/* Keys: 1..511 bytes, else -EINVAL. -ENOSPC: map or tmpfs is full even after
 * growing; the open transaction is still usable for deletes. A spec of less
 * than a page reads with zeros behind it. */
int index_put(struct index *ix, enum index_db db, struct index_bytes key,
    struct index_bytes val);
/* The same for what cannot be refused, the end of what runs: it may take half
 * of what is kept back for deletes. */
int index_put_last(struct index *ix, enum index_db db, struct index_bytes key,
    struct index_bytes val);
/* 0; -ENOENT. A value whose sum is wrong reads as one without bytes, here and
 * in a scan. */
int index_get(struct index *ix, enum index_db db, struct index_bytes key,
    struct index_bytes *ret_val);
/* 0, also where there was none */
int index_del(struct index *ix, enum index_db db, struct index_bytes key);

/* Calls fn for every record with key >= from, in order, until it returns
 * non-zero, which is returned. fn may delete the record it is shown through
 * index_del, and nothing else. */
typedef int index_scan_fn(void *arg, struct index_bytes key,
    struct index_bytes val);
int index_scan(struct index *ix, enum index_db db, struct index_bytes from,
    index_scan_fn *fn, void *arg);

/* Ends the open transaction, if any. On an error nothing since the last commit
 * is on record and the caller must not send what depends on it; but it is
 * remembered, is what is read, and goes with the next commit that works.
 * Errors: -ENOSPC, -EIO, -errno; -ENOTRECOVERABLE: there was no memory to
 * remember it, and a restart alone makes caller and index agree again. */
int index_commit(struct index *ix);

/* Looks at the file of an index in use, between two turns. Deleted: it is
 * written anew, whole, and 1 is returned. Cut short: -EBADMSG, and this master
 * must end, since its successor sets the index aside. 0; -EAGAIN: not now, a
 * transaction is open; -ENOTRECOVERABLE: as in index_commit(). */
int index_mend(struct index *ix);

/* Bytes the environment takes on the tmpfs. */
uint64_t index_bytes_used(const struct index *ix);

/* Key of an instance id or a sequence number. */
struct index_key64 {
	unsigned char b[8];
};
static inline struct index_key64
index_key64(uint64_t v)
{
	struct index_key64 k;

	for (int i = 7; i >= 0; i--, v >>= 8)
		k.b[i] = (unsigned char)v;
	return k;
}

#endif
