/* SPDX-License-Identifier: MIT */
/* The index: transactions, scans, growth, full, damaged, after a kill. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_rings.h"
#include "common/check.h"
#include "shm/index.h"
#include "shm/index_state.h"
#include "shm/index_walk.h"

static struct place place;

static void
setup(void)
{
	place_make(&place);
}

static void
teardown(void)
{
	place_remove(&place);
}

TestSuite(index, .init = setup, .fini = teardown, .timeout = 40);

static struct index *
open_index(uint64_t map, uint64_t step, bool want_aside)
{
	const struct index_limits limits = { map, step };
	struct index *ix = NULL;
	bool aside = !want_aside;

	cr_assert_eq(index_open_limited(place.path, &limits, &ix, &aside), 0);
	cr_assert_eq(aside, want_aside);
	return ix;
}

static int
put(struct index *ix, enum index_db db, uint64_t n, size_t size)
{
	struct index_key64 k = index_key64(n);
	static char val[1 << 20];

	memset(val, (int)(n % 251), size);
	return index_put(ix, db, (struct index_bytes){ &k, 8 },
	    (struct index_bytes){ val, size });
}

static int
get(struct index *ix, enum index_db db, uint64_t n, struct index_bytes *ret)
{
	struct index_key64 k = index_key64(n);

	return index_get(ix, db, (struct index_bytes){ &k, 8 }, ret);
}

static int
del(struct index *ix, enum index_db db, uint64_t n)
{
	struct index_key64 k = index_key64(n);

	return index_del(ix, db, (struct index_bytes){ &k, 8 });
}

Test(index, reads_its_own_writes_and_keeps_them)
{
	struct index *ix = open_index(0, 0, false);
	struct index_bytes v;

	cr_assert_eq(index_commit(ix), 0);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 1, &v), -ENOENT);
	cr_assert_eq(put(ix, INDEX_SESSIONS, 1, 300), 0);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 1, &v), 0);
	cr_assert_eq(v.size, 300);
	cr_assert_eq(index_commit(ix), 0);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 1, &v), 0);
	cr_assert_eq(del(ix, INDEX_SESSIONS, 2), 0);
	cr_assert_eq(put(ix, INDEX_SESSIONS, 1, 10), 0);
	index_close(&ix); /* not committed */
	cr_assert_null(ix);
	ix = open_index(0, 0, false);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 1, &v), 0);
	cr_assert_eq(v.size, 300);
	cr_assert_eq(get(ix, INDEX_EVENTS, 1, &v), -ENOENT);
	index_close(&ix);
}

Test(index, is_private_close_on_exec_and_allocated_ahead)
{
	struct index *ix = open_index(0, 0, false);
	char path[128], link[64], want[128];
	struct stat st;
	ssize_t n;
	int seen = 0;

	snprintf(want, sizeof(want), "%s/index/data.mdb", place.path);
	cr_assert_eq(stat(want, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	cr_assert_geq(st.st_blocks * 512, 1 << 20);
	cr_assert_geq(index_bytes_used(ix), 1u << 20);
	for (int fd = 0; fd < 100; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, sizeof(path) - 1);
		if (n < 0)
			continue;
		path[n] = '\0';
		if (strncmp(path, place.path, strlen(place.path)) != 0 ||
		    strstr(path, "/index/") == NULL)
			continue;
		seen++;
		cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC, "%s", path);
	}
	cr_assert_geq(seen, 1);
	index_close(&ix);
}

Test(index, refuses_keys_of_no_or_too_great_length)
{
	struct index *ix = open_index(0, 0, false);
	char key[512] = "k";
	struct index_bytes v = { "v", 1 };

	cr_assert_eq(index_put(ix, INDEX_META, (struct index_bytes){ key, 0 },
	    v), -EINVAL);
	cr_assert_eq(index_put(ix, INDEX_META, (struct index_bytes){ key, 512 },
	    v), -EINVAL);
	cr_assert_eq(index_put(ix, INDEX_META, (struct index_bytes){ key, 511 },
	    v), 0);
	cr_assert_eq(index_commit(ix), 0);
	cr_assert_eq(index_get(ix, INDEX_META, (struct index_bytes){ key, 511 },
	    &v), 0);
	index_close(&ix);
}

struct walk {
	struct index *ix;
	uint64_t next, step;
	bool delete;
	unsigned seen;
};

static int
visit(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct walk *w = arg;
	struct index_key64 want = index_key64(w->next);

	cr_assert_eq(key.size, 8);
	cr_assert_eq(memcmp(key.data, &want, 8), 0);
	cr_assert_eq(val.size, 40);
	w->next += w->step;
	w->seen++;
	if (w->delete && w->seen % 2 == 0)
		return index_del(w->ix, INDEX_EVENTS, key);
	return w->seen == 700 ? -ENOENT : 0;
}

static void
scan_and_delete(struct index *ix)
{
	struct walk w = { .ix = ix, .next = 100, .step = 1, .delete = true };
	struct index_key64 from = index_key64(100);

	cr_assert_eq(index_scan(ix, INDEX_EVENTS,
	    (struct index_bytes){ &from, 8 }, visit, &w), 0);
	cr_assert_eq(w.seen, 900);
	w = (struct walk){ .ix = ix, .next = 100, .step = 2 };
	cr_assert_eq(index_scan(ix, INDEX_EVENTS,
	    (struct index_bytes){ &from, 8 }, visit, &w), 0);
	cr_assert_eq(w.seen, 450);
}

Test(index, scans_while_the_callback_deletes)
{
	struct index *ix = open_index(0, 0, false);
	struct walk w = { .ix = ix, .next = 0, .step = 1 };

	cr_assert_eq(index_scan(ix, INDEX_EVENTS, (struct index_bytes){ 0 },
	    visit, &w), 0);
	for (uint64_t i = 0; i < 1000; i++)
		cr_assert_eq(put(ix, INDEX_EVENTS, i, 40), 0);
	cr_assert_eq(index_scan(ix, INDEX_EVENTS, (struct index_bytes){ 0 },
	    visit, &w), -ENOENT, "the callback's own answer");
	cr_assert_eq(index_commit(ix), 0);
	/* from a snapshot, which the first delete ends */
	scan_and_delete(ix);
	index_close(&ix);
	ix = open_index(0, 0, false);
	for (uint64_t i = 0; i < 1000; i++)
		cr_assert_eq(put(ix, INDEX_EVENTS, i, 40), 0);
	/* inside the open transaction */
	scan_and_delete(ix);
	cr_assert_eq(index_commit(ix), 0);
	index_close(&ix);
}

Test(index, grows_by_steps)
{
	struct index *ix = open_index(64u << 20, 1u << 20, false);
	uint64_t before = index_bytes_used(ix);
	struct index_bytes v;

	for (uint64_t i = 0; i < 20; i++) {
		cr_assert_eq(put(ix, INDEX_SPECS, i, 300000), 0);
		if (i % 3 == 0)
			cr_assert_eq(index_commit(ix), 0);
	}
	cr_assert_eq(index_commit(ix), 0);
	cr_assert_geq(index_bytes_used(ix), before + 20 * 300000 - (2u << 20));
	for (uint64_t i = 0; i < 20; i++) {
		cr_assert_eq(get(ix, INDEX_SPECS, i, &v), 0);
		cr_assert_eq(v.size, 300000);
		cr_assert_eq(((const char *)v.data)[299999], (char)i);
	}
	index_close(&ix);
}

/* What is allocated is zeroed by the kernel meanwhile, in its user's turn. */
Test(index, allocates_little_at_a_time)
{
	struct index *ix = open_index(0, 0, false);
	uint64_t first = index_bytes_used(ix), before = first;

	for (uint64_t i = 0; i < 3000; i++) {
		cr_assert_eq(put(ix, INDEX_SESSIONS, i, 1000), 0);
		cr_assert_leq(index_bytes_used(ix) - before, 256u << 10);
		before = index_bytes_used(ix);
		if (i % 16 == 15)
			cr_assert_eq(index_commit(ix), 0);
	}
	cr_assert_geq(before, first + (2u << 20));
	index_close(&ix);
}

/* Fills it until a put is refused, then empties and fills it again. */
static void
fill_and_empty(struct index *ix, size_t size, bool one_txn)
{
	for (int round = 0; round < 3; round++) {
		uint64_t n = 0;
		struct index_bytes v;
		int err;

		while ((err = put(ix, INDEX_SESSIONS, n, size)) == 0) {
			n++;
			if (!one_txn)
				cr_assert_eq(index_commit(ix), 0);
			cr_assert_lt(n, 1000000);
		}
		cr_assert_eq(err, -ENOSPC, "%d", err);
		cr_assert_gt(n, 20, "round %d: %llu", round,
		    (unsigned long long)n);
		cr_assert_eq(del(ix, INDEX_SESSIONS, 0), 0,
		    "the open transaction is good for deletes");
		cr_assert_eq(index_commit(ix), 0);
		cr_assert_eq(get(ix, INDEX_SESSIONS, n - 1, &v), 0);
		for (uint64_t i = 1; i < n; i++) {
			cr_assert_eq(del(ix, INDEX_SESSIONS, i), 0);
			cr_assert_eq(index_commit(ix), 0);
		}
	}
}

Test(index, lets_deletes_through_when_the_map_is_full)
{
	struct index *ix = open_index(2u << 20, 1u << 20, false);

	fill_and_empty(ix, 300, false);
	fill_and_empty(ix, 300, true);
	fill_and_empty(ix, 20000, false);
	index_close(&ix);
}

Test(index, works_in_a_map_of_a_mebibyte)
{
	struct index *ix = open_index(1u << 20, 1u << 20, false);

	fill_and_empty(ix, 100, false);
	index_close(&ix);
}

Test(index, sets_garbage_aside)
{
	char dir[80], path[128];
	struct index *ix;
	struct index_bytes v;
	FILE *f;

	snprintf(dir, sizeof(dir), "%s/index", place.path);
	snprintf(path, sizeof(path), "%s/data.mdb", dir);
	cr_assert_eq(mkdir(dir, 0700), 0);
	for (unsigned seed = 1; seed < 6; seed++) {
		srandom(seed);
		f = fopen(path, "w");
		cr_assert_not_null(f);
		for (unsigned i = 0; i < seed * 5000; i++)
			fputc((int)(random() & 255), f);
		fclose(f);
		ix = open_index(0, 0, true);
		cr_assert_eq(get(ix, INDEX_META, 1, &v), -ENOENT);
		cr_assert_eq(put(ix, INDEX_META, 1, 10), 0);
		cr_assert_eq(index_commit(ix), 0);
		index_close(&ix);
	}
}

/* $PSUP_SEED, or this. */
static void
seed(unsigned otherwise)
{
	const char *env = getenv("PSUP_SEED");
	unsigned s = env != NULL ? (unsigned)strtoul(env, NULL, 10)
				 : otherwise;

	fprintf(stderr, "seed %u\n", s);
	srandom(s);
}

/* The file, mapped, as the probe sees it. */
static int
walk(void)
{
	static const char *const all[] = { "meta", "sessions", "specs",
		"cursors", "events", "subs", "keys", "tokens", "drains" };
	static const struct index_names names = { all, INDEX_DB_COUNT };
	char path[128];
	struct stat st;
	void *map;
	int fd, r;

	snprintf(path, sizeof(path), "%s/index/data.mdb", place.path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0 && fstat(fd, &st) == 0);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	r = index_walk(map, (size_t)st.st_size, 1ull << 30, &names);
	munmap(map, (size_t)st.st_size);
	close(fd);
	return r;
}

/* Random transactions: values of a few bytes to a few pages, again and again
 * under the same keys, longer and shorter; some commits, some ends without. */
static void
write_at_random(struct index *ix, unsigned n)
{
	static const size_t sizes[] = { 0, 30, 400, 1990, 2100, 9000, 40000 };

	while (n-- > 0) {
		enum index_db db = (enum index_db)(random() % INDEX_DB_COUNT);
		uint64_t key = (uint64_t)random() %
		    (random() % 2 ? 40u : 3000u);
		int r = random() % 3 == 0
		    ? del(ix, db, key)
		    : put(ix, db, key, sizes[random() % 7] +
			      (size_t)random() % 9);

		cr_assert(r == 0 || r == -ENOENT, "%d", r);
		if (random() % 20 == 0)
			cr_assert_eq(index_commit(ix), 0);
	}
}

/* Whatever is written by the rules is found whole: a good index that is set
 * aside is as bad as a damaged one that is not. */
Test(index, is_whole_after_every_commit)
{
	struct index *ix = open_index(0, 1u << 20, false);

	seed(20262);
	for (unsigned round = 0; round < 400; round++) {
		write_at_random(ix, 100);
		cr_assert_eq(index_commit(ix), 0);
		cr_assert_eq(walk(), 0, "round %u", round);
		if (round % 50 == 49) {
			write_at_random(ix, 30);
			index_close(&ix); /* what is not committed is gone */
			cr_assert_eq(walk(), 0, "round %u", round);
			ix = open_index(0, 1u << 20, false);
		}
	}
	for (enum index_db db = 0; db < INDEX_DB_COUNT; db++)
		for (uint64_t i = 0; i < 3000; i++)
			(void)del(ix, db, i);
	cr_assert_eq(index_commit(ix), 0);
	cr_assert_eq(walk(), 0);
	index_close(&ix);
}

/* Overwrites a few words, or half a page or a whole one. */
static void
damage(const char *path, off_t pages)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	char junk[4096];
	int n = 1 << random() % 7;

	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)random();
	if (random() % 3 == 0) {
		n = random() % 2 ? 2048 : 4096;
		cr_assert_eq(pwrite(fd, junk, (size_t)n,
		    random() % pages * 4096), n);
	} else {
		while (n-- > 0) {
			off_t at = random() % (pages * 512) * 8;
			static const char zeros[8];

			cr_assert_eq(pwrite(fd,
			    random() % 4 == 0 ? zeros : junk + n * 8, 8, at),
			    8);
		}
	}
	close(fd);
}

/* Overwrites pages of a good file at random: whatever opens must be usable,
 * whatever is not must be set aside. */
Test(index, survives_damaged_pages)
{
	const struct index_limits limits = { 0, 1u << 20 };
	unsigned asides = 0, rounds = 150;
	char path[128];
	struct index *ix;
	struct index_bytes v;
	bool aside;

	snprintf(path, sizeof(path), "%s/index/data.mdb", place.path);
	seed(20261);
	for (unsigned round = 0; round < rounds; round++) {
		ix = NULL;
		cr_assert_eq(index_open_limited(place.path, &limits, &ix,
		    &aside), 0);
		asides += aside;
		for (uint64_t i = 0; i < 500; i++) {
			cr_assert_eq(put(ix, INDEX_SESSIONS, i,
			    i % 50 == 0 ? 9000 : 200), 0);
			if (i % 100 == 0)
				cr_assert_eq(index_commit(ix), 0);
		}
		cr_assert_eq(index_commit(ix), 0);
		for (uint64_t i = 0; i < 500; i++)
			cr_assert_eq(get(ix, INDEX_SESSIONS, i, &v), 0);
		for (uint64_t i = round % 2; i < 500; i += 2)
			cr_assert_eq(del(ix, INDEX_SESSIONS, i), 0);
		cr_assert_eq(index_commit(ix), 0);
		index_close(&ix);
		/* now and then where the meta pages are */
		damage(path, round % 4 == 0 ? 2 : 60);
	}
	cr_assert_gt(asides, rounds / 10, "%u", asides);
}

/* Garbage over the meta pages of an open index is nothing that passes. */
Test(index, says_that_its_meta_pages_were_overwritten)
{
	char path[128];
	struct index *ix;
	bool aside;
	int fd, rc;
	long junk;

	snprintf(path, sizeof(path), "%s/index/data.mdb", place.path);
	seed(20281);
	for (unsigned round = 0; round < 8; round++) {
		cr_assert_eq(index_open(place.path, &ix, &aside), 0);
		cr_assert_eq(put(ix, INDEX_SESSIONS, 1, 200), 0);
		cr_assert_eq(index_commit(ix), 0);
		fd = open(path, O_RDWR | O_CLOEXEC);
		cr_assert_geq(fd, 0);
		for (off_t at = 0; at < 8192; at += 4) {
			junk = random() << 1; /* all bits of four bytes */
			cr_assert_eq(pwrite(fd, &junk, 4, at), 4);
		}
		close(fd);
		rc = put(ix, INDEX_SESSIONS, 2, 200);
		if (rc == 0)
			rc = index_commit(ix);
		cr_assert_eq(rc, -ENOTRECOVERABLE, "%s", strerror(-rc));
		index_close(&ix);
	}
}

/* A program of this test file: writes pairs until it is killed. */
static void
writer_until_killed(int ready)
{
	struct index *ix;
	bool aside;

	if (index_open(place.path, &ix, &aside) != 0 || aside)
		_exit(1);
	for (uint64_t n = 0;; n++) {
		/* both or neither */
		if (put(ix, INDEX_SESSIONS, n % 97, 8 + n % 3000) != 0 ||
		    put(ix, INDEX_KEYS, n % 97, 8 + n % 3000) != 0 ||
		    index_commit(ix) != 0)
			_exit(2);
		if (n == 10 && write(ready, "x", 1) != 1)
			_exit(3);
	}
}

Test(index, opens_after_a_kill_with_whole_transactions)
{
	struct index *ix;
	struct index_bytes a;
	int ready[2], status;
	size_t size;
	char c;

	for (int round = 0; round < 10; round++) {
		pid_t pid;

		cr_assert_eq(pipe(ready), 0);
		pid = fork();
		if (pid == 0)
			writer_until_killed(ready[1]);
		close(ready[1]);
		cr_assert_eq(read(ready[0], &c, 1), 1);
		close(ready[0]);
		usleep((useconds_t)(random() % 5000)); /* a random moment */
		kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFSIGNALED(status));
		ix = open_index(0, 0, false);
		for (uint64_t n = 0; n < 97; n++) {
			if (get(ix, INDEX_SESSIONS, n, &a) != 0)
				continue;
			size = a.size;
			cr_assert_eq(get(ix, INDEX_KEYS, n, &a), 0);
			cr_assert_eq(a.size, size);
		}
		index_close(&ix);
	}
}

/* Writes of this process to files fail, or do again. */
static void
files_may_grow(bool yes)
{
	struct rlimit rl;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &rl), 0);
	rl.rlim_cur = yes ? rl.rlim_max : 0;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &rl), 0);
}

Test(index, a_commit_that_fails_takes_nothing_away)
{
	struct index *ix = open_index(0, 0, false);
	struct index_bytes v;

	for (uint64_t i = 1; i <= 40; i++)
		cr_assert_eq(put(ix, INDEX_SESSIONS, i, 300), 0);
	cr_assert_eq(index_commit(ix), 0);
	cr_assert_eq(put(ix, INDEX_EVENTS, 7, 5000), 0);
	cr_assert_eq(del(ix, INDEX_SESSIONS, 3), 0);
	cr_assert_eq(put(ix, INDEX_SESSIONS, 4, 1), 0);
	files_may_grow(false);
	cr_assert_eq(index_commit(ix), -EFBIG);
	/* read as if it were there, added to, and not lost by a second one */
	cr_assert_eq(get(ix, INDEX_EVENTS, 7, &v), 0);
	cr_assert_eq(v.size, 5000);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 3, &v), -ENOENT);
	cr_assert_eq(put(ix, INDEX_CURSORS, 9, 10), 0);
	cr_assert_eq(del(ix, INDEX_SESSIONS, 5), 0);
	cr_assert_eq(index_commit(ix), -EFBIG);
	cr_assert_eq(index_commit(ix), -EFBIG);
	files_may_grow(true);
	cr_assert_eq(index_commit(ix), 0);
	index_close(&ix);
	ix = open_index(0, 0, false);
	cr_assert_eq(get(ix, INDEX_EVENTS, 7, &v), 0);
	cr_assert_eq(v.size, 5000);
	cr_assert_eq(get(ix, INDEX_CURSORS, 9, &v), 0);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 3, &v), -ENOENT);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 4, &v), 0);
	cr_assert_eq(v.size, 1);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 5, &v), -ENOENT);
	cr_assert_eq(get(ix, INDEX_SESSIONS, 6, &v), 0);
	index_close(&ix);
}

Test(index, what_must_be_told_finds_room_where_the_rest_does_not)
{
	struct index *ix = open_index(2 << 20, 1 << 20, false);
	struct index_key64 k;
	uint64_t n = 0;
	int told = 0, r;

	/* a turn a record, as a server that runs full does */
	do {
		r = put(ix, INDEX_SESSIONS, ++n, 1000);
		cr_assert_eq(index_commit(ix), 0);
	} while (r == 0);
	cr_assert_eq(r, -ENOSPC);
	cr_assert_gt(n, 100);
	for (; told < 100; told++) {
		k = index_key64((uint64_t)told);
		r = index_put_last(ix, INDEX_EVENTS,
		    (struct index_bytes){ &k, 8 },
		    (struct index_bytes){ "the end", 8 });
		cr_assert_eq(index_commit(ix), 0);
		if (r != 0)
			break;
	}
	cr_expect_eq(told, 100, "only %d", told);
	/* and deletes do, still */
	for (uint64_t i = 1; i < n; i++)
		cr_assert_eq(del(ix, INDEX_SESSIONS, i), 0);
	cr_assert_eq(index_commit(ix), 0);
	/* (LMDB keeps what one transaction freed for the next but one) */
	cr_assert_eq(del(ix, INDEX_EVENTS, 0), 0);
	cr_assert_eq(index_commit(ix), 0);
	cr_assert_eq(put(ix, INDEX_SESSIONS, 1, 1000), 0);
	cr_assert_eq(index_commit(ix), 0);
	index_close(&ix);
}

/* How often a text stands in data.mdb. */
static unsigned
found_in_file(const char *text)
{
	static char buf[16u << 20];
	size_t len = strlen(text);
	unsigned n = 0;
	ssize_t have;
	int fd = openat(place.fd, "index/data.mdb", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	have = read(fd, buf, sizeof(buf));
	close(fd);
	cr_assert(have > 0 && (size_t)have < sizeof(buf));
	for (const char *p = buf, *end = buf + have;
	     (p = memmem(p, (size_t)(end - p), text, len)) != NULL; p += len)
		n++;
	return n;
}

/* A spec with a secret at its end. */
static void
put_secret(struct index *ix, uint64_t n, size_t size)
{
	static char val[400000];
	struct index_key64 k = index_key64(n);

	cr_assert_leq(size, sizeof(val));
	memset(val, 'x', size);
	memcpy(val + size - 9, "s3cr3t-42", 9);
	cr_assert_eq(index_put(ix, INDEX_SPECS, (struct index_bytes){&k, 8},
	    (struct index_bytes){val, size}), 0);
}

/* LMDB only unlinks; every copy that it made on its way must be gone, too. */
Test(index, what_a_spec_held_is_gone_with_it)
{
	static const size_t sizes[] = {30, 700, 1900, 5000, 70000, 400000};
	struct index *ix = open_index(0, 1u << 20, false);

	for (uint64_t i = 0; i < 60; i++) {
		put_secret(ix, i, sizes[i % NELEMS(sizes)] - i % 7);
		if (i % 3 == 0)
			cr_assert_eq(index_commit(ix), 0);
	}
	cr_assert_eq(index_commit(ix), 0);
	/* one copy each: what was moved about is wiped already */
	cr_assert_eq(found_in_file("s3cr3t-42"), 60u);
	for (uint64_t i = 0; i < 60; i++) {
		cr_assert_eq(del(ix, INDEX_SPECS, i * 7 % 60), 0);
		if (i % 2 == 0)
			cr_assert_eq(put(ix, INDEX_SESSIONS, i, 300), 0);
		if (i % 4 == 3) {
			cr_assert_eq(index_commit(ix), 0);
			cr_assert_eq(found_in_file("s3cr3t-42"), 59 - i);
			cr_assert_eq(walk(), 0);
		}
	}
	cr_assert_eq(found_in_file("s3cr3t-42"), 0u);
	index_close(&ix);
}

/* A master killed between commit and wiping leaves it to the next one. */
Test(index, what_was_not_wiped_is_at_the_next_open)
{
	struct index *ix = open_index(0, 1u << 20, false);

	put_secret(ix, 1, 9000);
	put_secret(ix, 2, 900);
	cr_assert_eq(index_commit(ix), 0);
	cr_assert_eq(del(ix, INDEX_SPECS, 1), 0);
	cr_assert_eq(del(ix, INDEX_SPECS, 2), 0);
	ix->secret = false; /* as if it had died there */
	cr_assert_eq(index_commit(ix), 0);
	index_close(&ix);
	cr_assert_gt(found_in_file("s3cr3t-42"), 0u);
	ix = open_index(0, 1u << 20, false);
	cr_assert_eq(found_in_file("s3cr3t-42"), 0u);
	cr_assert_eq(walk(), 0);
	index_close(&ix);
}
