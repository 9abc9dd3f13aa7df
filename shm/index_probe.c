/* SPDX-License-Identifier: MIT */
/*
 * Looks an index through before the master opens it. The walk runs in a forked
 * child, since the damage may crash it; the child opens an environment of its
 * own, so no LMDB handle ever crosses the fork. Called by index_open() alone,
 * when the master is still small.
 */
#include "shm/index_probe.h"

#include <lmdb.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/index.h"

#define PROBE_CPU_S  8u
#define KEY_MAX      511u
#define RECORDS_MAX  100000000ull
/* What the child says by its exit status. */
enum { PROBE_GOOD = 0, PROBE_DAMAGED = 3, PROBE_FAILED = 4 };

/* The head of LMDB's pages, as in its file format version 1. */
struct page_head {
	uint64_t number;
	uint16_t pad, flags;
	uint16_t lower, upper; /* of a long value: 32 bits, its pages */
};
#define PAGE_LEAF 0x02u
#define PAGE_LONG 0x04u

struct probe {
	const char *map; /* NULL: before the first record */
	uint64_t page_bytes;
	uint64_t pages; /* in use */
};

/*
 * The head of the page that `at` lies in, or false. LMDB does not tell where
 * its map begins: the first page looked at says so, the others must agree.
 */
static bool
probe_page(struct probe *p, const void *at, struct page_head *ret)
{
	const char *page = (const char *)((uintptr_t)at &
	    ~(uintptr_t)(p->page_bytes - 1));

	memcpy(ret, page, sizeof(*ret));
	if (ret->number < 2 || ret->number >= p->pages)
		return false;
	if (p->map == NULL)
		p->map = page - ret->number * p->page_bytes;
	return page - p->map == (ptrdiff_t)(ret->number * p->page_bytes);
}

/* Does a record lie in pages that say what they should? */
static bool
probe_record(struct probe *p, const MDB_val *key, const MDB_val *val)
{
	struct page_head h;
	const char *at = val->mv_data;
	volatile char last;

	if (key->mv_size == 0 || key->mv_size > KEY_MAX ||
	    !probe_page(p, key->mv_data, &h) || (h.flags & 0xf) != PAGE_LEAF ||
	    h.lower < sizeof(h) || h.lower > h.upper ||
	    h.upper > p->page_bytes)
		return false;
	if (val->mv_size == 0)
		return true;
	if (!probe_page(p, at, &h))
		return false;
	if ((h.flags & 0xf) == PAGE_LONG) {
		uint32_t count = h.lower | (uint32_t)h.upper << 16;

		if ((uintptr_t)at % p->page_bytes != sizeof(h) ||
		    count > p->pages - h.number ||
		    count != (sizeof(h) + val->mv_size + p->page_bytes - 1) /
			    p->page_bytes)
			return false;
	} else if ((uintptr_t)at % p->page_bytes + val->mv_size >
	    p->page_bytes) {
		return false;
	}
	last = at[val->mv_size - 1];
	(void)last;
	return true;
}

/* A record of the free list: a count, then that many page numbers, falling. */
static bool
probe_free(const struct probe *p, const MDB_val *val)
{
	const char *at = val->mv_data;
	size_t n, id, before = SIZE_MAX;

	if (val->mv_size < sizeof(n) || val->mv_size % sizeof(n) != 0)
		return false;
	memcpy(&n, at, sizeof(n));
	if (n > val->mv_size / sizeof(n) - 1)
		return false;
	for (size_t i = 1; i <= n; i++) {
		memcpy(&id, at + i * sizeof(id), sizeof(id));
		if (id >= before || id < 2 || id >= p->pages)
			return false;
		before = id;
	}
	return true;
}

/* Walks one tree in order. */
static bool
probe_tree(struct probe *p, MDB_txn *txn, MDB_dbi dbi)
{
	MDB_val key, val, before = { 0, NULL };
	uint64_t seen = 0;
	MDB_cursor *cur;
	MDB_stat stat;
	int rc;

	if (mdb_stat(txn, dbi, &stat) != 0 ||
	    mdb_cursor_open(txn, dbi, &cur) != 0)
		return false;
	while ((rc = mdb_cursor_get(cur, &key, &val, MDB_NEXT)) == 0) {
		if (seen++ > RECORDS_MAX || !probe_record(p, &key, &val) ||
		    (before.mv_data != NULL &&
			mdb_cmp(txn, dbi, &before, &key) >= 0) ||
		    (dbi == 0 && !probe_free(p, &val)))
			return false;
		before = key;
	}
	return rc == MDB_NOTFOUND && seen == stat.ms_entries;
}

/* Opens each named database and walks it. */
static bool
probe_trees(struct probe *p, MDB_txn *txn)
{
	static const char *const known[] = { "meta", "sessions", "specs",
		"cursors", "events", "subs", "keys" };
	MDB_dbi dbi;
	int rc;

	/* 0 is the free list, 1 the table of databases. */
	if (!probe_tree(p, txn, 0) || mdb_dbi_open(txn, NULL, 0, &dbi) != 0 ||
	    !probe_tree(p, txn, dbi))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		rc = mdb_dbi_open(txn, known[i], 0, &dbi);
		if (rc == MDB_NOTFOUND)
			continue; /* a kill between the first two commits */
		if (rc != 0 || !probe_tree(p, txn, dbi))
			return false;
	}
	return true;
}

/* LMDB did not get on: by the file, or because there was no memory? */
static int
probe_bad(void)
{
	return errno == ENOMEM ? PROBE_FAILED : PROBE_DAMAGED;
}

/* The child: opens, walks, says. */
static int
probe_child(const char *dir, uint64_t map_bytes)
{
	struct probe p;
	MDB_envinfo info;
	MDB_stat stat;
	MDB_env *env;
	MDB_txn *txn;
	int rc;

	if (mdb_env_create(&env) != 0 ||
	    mdb_env_set_maxdbs(env, INDEX_DB_COUNT) != 0 ||
	    mdb_env_set_mapsize(env, (size_t)map_bytes) != 0)
		return PROBE_FAILED;
	errno = 0;
	rc = mdb_env_open(env, dir, INDEX_ENV_FLAGS | MDB_RDONLY, 0600);
	if (rc == ENOMEM || rc == EMFILE || rc == ENFILE || rc == EACCES)
		return PROBE_FAILED;
	if (rc != 0 || mdb_env_info(env, &info) != 0 ||
	    mdb_env_stat(env, &stat) != 0 ||
	    mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) != 0)
		return probe_bad();
	p.map = NULL;
	p.page_bytes = stat.ms_psize;
	p.pages = info.me_last_pgno + 1;
	if (stat.ms_psize != (unsigned)sysconf(_SC_PAGESIZE) || p.pages < 2)
		return PROBE_DAMAGED;
	return probe_trees(&p, txn) ? PROBE_GOOD : probe_bad();
}

/* Is there anything to ask about? */
static int
probe_wanted(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;
	int n;

	n = snprintf(path, sizeof(path), "%s/data.mdb", dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	return st.st_size > 0;
}

/* Asks a child. */
int
index_probe(const char *dir, uint64_t map_bytes)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL,
		SIGALRM, SIGXCPU };
	struct rlimit cpu = { PROBE_CPU_S, PROBE_CPU_S + 1 }, core = { 0, 0 };
	int status, err;
	pid_t pid;

	err = probe_wanted(dir);
	if (err <= 0)
		return err;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
			signal(deadly[i], SIG_DFL);
		setrlimit(RLIMIT_CPU, &cpu);
		setrlimit(RLIMIT_CORE, &core);
		/* LMDB tells a failed assertion to stderr. */
		close(STDERR_FILENO);
		_exit(probe_child(dir, map_bytes));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROBE_GOOD)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROBE_FAILED)
		return -EAGAIN;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return -EAGAIN; /* not the file's fault */
	return -EBADMSG;
}

/* Removes one set-aside environment. */
static void
forget_one(int dirfd, const char *name)
{
	int fd;

	fd = openat(dirfd, name,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	unlinkat(fd, "data.mdb", 0);
	unlinkat(fd, "lock.mdb", 0);
	close(fd);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* Removes all of them. */
void
index_forget_bad(const char *runtime_dir)
{
	struct dirent *e;
	DIR *dir = opendir(runtime_dir);

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, "index.bad.", 10) == 0)
			forget_one(dirfd(dir), e->d_name);
	closedir(dir);
}
