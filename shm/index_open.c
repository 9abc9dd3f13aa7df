/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes the index, and sets aside one that is no good. The master
 * opens it, after its predecessor's confirmed death, and alone: hence NOLOCK.
 */
#include "shm/index.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "shm/index_probe.h"
#include "shm/index_state.h"
#include "shm/index_walk.h"

#define STEP_BYTES    (256ull << 10) /* 0.1 ms: it is zeroed in a turn */
#define ENV_FLAGS     (MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD | MDB_NOLOCK)
#define RESERVE_PAGES 256u /* or an eighth of a small map */

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
		if (!index_room_grow(ix))
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

/* LMDB has met what cannot be in a good one, and aborts: the next master must
 * not meet it again. */
static void
on_assert(MDB_env *env, const char *words)
{
	struct index *ix = mdb_env_get_userctx(env);

	if (check_last_words != NULL)
		check_last_words(words);
	(void)index_set_aside(ix->runtime_dir);
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
		rc = mdb_env_set_userctx(ix->env, ix);
	if (rc == 0)
		rc = mdb_env_set_assert(ix->env, on_assert);
	if (rc == 0)
		rc = mdb_env_set_mapsize(ix->env, (size_t)ix->map_bytes);
	if (rc == 0)
		rc = mdb_env_open(ix->env, dir, ENV_FLAGS, 0600);
	err = index_error(rc);
	*ret_damaged = rc < 0 || rc == EINVAL;
	if (rc == 0)
		err = open_file(ix);
	if (rc == 0 && err == 0) {
		ix->wipe_all = true;
		err = open_dbs(ix);
		*ret_damaged = err == -EIO || err == -EINVAL ||
		    err == -ENOTRECOVERABLE;
	}
	if (err == 0)
		index_wipe(ix);
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

/* A file's path. False: too long. */
static bool
path_in(const char *dir, const char *name, char ret[PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s/%s", dir, name);

	return n > 0 && n < PATH_MAX;
}

/* Copies what is committed into a file of that name. */
static int
copy_env(struct index *ix, const char *path)
{
	int fd, rc;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd < 0)
		return -errno;
	rc = index_error(mdb_env_copyfd(ix->env, fd));
	close(fd);
	if (rc != 0)
		(void)unlink(path);
	return rc;
}

/* The file is gone, but for LMDB's descriptor: written anew and opened. */
static int
write_anew(struct index *ix, const char *dir)
{
	char to[PATH_MAX], temp[PATH_MAX];
	bool damaged;
	int rc;

	if (!path_in(dir, "data.new", temp) || !path_in(dir, "data.mdb", to))
		return -ENAMETOOLONG;
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (ix->read != NULL)
		mdb_txn_abort(ix->read);
	ix->read = NULL;
	ix->reading = false;
	rc = copy_env(ix, temp);
	if (rc != 0)
		return rc;
	if (rename(temp, to) != 0)
		return -errno;
	mdb_env_close(ix->env);
	ix->env = NULL;
	ix->changes++;
	ix->seen_bytes = 0;
	return open_env(dir, ix, &damaged) == 0 ? 1 : -ENOTRECOVERABLE;
}

int
index_mend(struct index *ix)
{
	char dir[PATH_MAX], path[PATH_MAX];
	struct stat ours, there;
	int n;

	if (!path_in(ix->runtime_dir, "index", dir) ||
	    !path_in(dir, "data.mdb", path))
		return -ENAMETOOLONG;
	if (fstat(ix->fd, &ours) != 0)
		return -errno;
	if ((uint64_t)ours.st_size < ix->seen_bytes)
		return -EBADMSG;
	ix->seen_bytes = (uint64_t)ours.st_size;
	if (lstat(path, &there) == 0 && there.st_dev == ours.st_dev &&
	    there.st_ino == ours.st_ino)
		return 0;
	if (ix->write != NULL || ix->replay)
		return -EAGAIN;
	n = write_anew(ix, dir);
	/* as long as the old file lives, nothing is lost but its name */
	return n < 0 && ix->env != NULL ? -EAGAIN : n;
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
	uint64_t map_max = INDEX_MAP_BYTES;
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
	(void)snprintf(ix->runtime_dir, sizeof(ix->runtime_dir), "%s",
	    runtime_dir);
	ix->map_bytes = limits->map_bytes ? limits->map_bytes : INDEX_MAP_BYTES;
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
