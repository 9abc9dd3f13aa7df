/* SPDX-License-Identifier: MIT */
/*
 * A full tmpfs: what is refused, what is counted, what comes back. Mounts a
 * tiny tmpfs in a mount namespace of its own; says so where it may not.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_rings.h"
#include "shm/board.h"
#include "shm/index.h"
#include "shm/spool.h"
#include "shm/stats.h"

static const struct sid one = { 1 };
static struct place place;

static void
setup(void)
{
	place_make(&place);
}

static void
teardown(void)
{
	umount2(place.path, MNT_DETACH);
	place_remove(&place);
}

TestSuite(full, .init = setup, .fini = teardown, .timeout = 20);

/* Puts a tmpfs of that many KiB over the test's directory. */
static void
mount_small(unsigned kib)
{
	char options[64];

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		int err = errno;

		place_remove(&place); /* a skipped test has no .fini */
		place.fd = place.pipe[0] = place.pipe[1] = -1;
		cr_skip_test("no mount namespace for this user: %s",
		    strerror(err));
	}
	snprintf(options, sizeof(options), "size=%uk,mode=0700", kib);
	cr_assert_eq(mount("tmpfs", place.path, "tmpfs", 0, options), 0);
	close(place.fd);
	place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(mkdirat(place.fd, "rings", 0700), 0);
	cr_assert_eq(mkdirat(place.fd, "spool", 0700), 0);
}

/* Takes all that is left. */
static void
take_all(const char *name)
{
	static char page[4096];
	int fd = openat(place.fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	while (write(fd, page, sizeof(page)) > 0)
		;
	close(fd);
}

/* Puts bytes of the stream at `pos` into the pipe. */
static void
pour(uint64_t pos, size_t n)
{
	static unsigned char buf[65536];

	for (size_t i = 0; i < n; i++)
		buf[i] = byte_at(pos + i);
	cr_assert_eq(write(place.pipe[1], buf, n), (ssize_t)n);
}

Test(full, ring_is_refused_whole)
{
	const struct ring_geometry geo = { 20000, 200000 };
	struct ring_writer w;

	mount_small(64);
	take_all("filler");
	cr_assert_eq(ring_create(place.fd, one, 7, &geo, &w), -ENOSPC);
	cr_assert_eq(faccessat(place.fd, "rings/0000000000000001", F_OK, 0),
	    -1);
}

Test(full, board_and_stats_are_refused_whole)
{
	struct stats_page *pages;
	struct stat st;

	mount_small(64);
	cr_assert_eq(board_create(place.fd, 1000, 1), -ENOSPC);
	cr_assert_eq(stats_create(place.fd, &pages), -ENOSPC);
	cr_assert_eq(fstatat(place.fd, "board.new", &st, 0), -1);
	cr_assert_eq(fstatat(place.fd, "stats.new", &st, 0), -1);
}

Test(full, spool_takes_all_or_nothing)
{
	static char data[200000];
	struct stat st;
	int fd;

	mount_small(128);
	fd = spool_open_append(place.fd, one);
	cr_assert_eq(spool_append(fd, 0, data, 1000), 0);
	cr_assert_eq(spool_append(fd, 1000, data, sizeof(data)), -ENOSPC);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_size, 1000);
	cr_assert_eq(spool_append(fd, 1000, data, 50000), 0);
	close(fd);
}

Test(full, output_is_dropped_and_counted_to_the_byte)
{
	const struct ring_geometry geo = { 100, 200000 };
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	uint64_t kept, pos = 0, got, hole_end, end, wall;
	ssize_t n;

	mount_small(32);
	cr_assert_eq(ring_create(place.fd, one, 7, &geo, &w), 0);
	cr_assert_eq(ring_reader_open(place.fd, one, &r), 0);
	pour(0, 60000);
	kept = 0;
	while ((n = ring_splice(&w, place.pipe[0], RING_STDOUT, 60000, 1)) > 0)
		kept += (uint64_t)n;
	cr_assert_eq(n, -ENOSPC);
	cr_assert(kept > 20000 && kept < 60000);
	cr_assert_eq(ring_pos(&w), kept);
	/* the rest is still in the pipe */
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDERR, 1000), 1000);
	n = ring_discard(&w, place.pipe[0], RING_STDERR, 100000);
	cr_assert_eq(n, (ssize_t)(60000 - kept - 1000));
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDERR, 1), -EAGAIN);
	hole_end = 60000;
	cr_assert_eq(check_all(&r, &pos, &got), hole_end - kept);
	cr_assert_eq(got, kept);
	cr_assert_eq(pos, hole_end);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(f.dropped, hole_end - kept);
	cr_assert_eq(f.raw.dropped_nospace, hole_end - kept);
	cr_assert_eq(ring_stream_at(&f.raw, kept, &end, &wall), RING_STDERR);
	cr_assert_eq(end, hole_end);
	ring_reader_close(&r);
	ring_close(&w);
}

/* The same without a full tmpfs: it does not matter to ring_discard. */
Test(full, holes_join_and_are_forgotten_when_overwritten)
{
	const struct ring_geometry geo = { 10, 4096 };
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	uint64_t pos = 0, got, T;

	cr_assert_eq(ring_create(place.fd, one, 7, &geo, &w), 0);
	cr_assert_eq(ring_reader_open(place.fd, one, &r), 0);
	T = w.tail_cap;
	feed(&place, &w, RING_STDOUT, 100, 1);
	pour(100, 50);
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDOUT, 99), 50);
	feed(&place, &w, RING_STDOUT, 200, 1);
	cr_assert_eq(check_all(&r, &pos, &got), 50);
	cr_assert_eq(got, 300);
	pour(350, 40);
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDOUT, 99), 40);
	/* what lay between the two holes is given up */
	cr_assert_eq(w.hdr->hole_from, 100u);
	cr_assert_eq(w.hdr->hole_to, 390u);
	cr_assert_eq(w.hdr->dropped_nospace, 290u);
	feed(&place, &w, RING_STDOUT, 10, 1);
	pos = 0;
	cr_assert_eq(check_all(&r, &pos, &got), 290);
	cr_assert_eq(got, 110);
	/* a lap later nothing of it is in sight */
	feed(&place, &w, RING_STDOUT, T, 1);
	pos = 0;
	cr_assert_eq(check_all(&r, &pos, &got), 390);
	cr_assert_eq(got, T + 10);
	pour(ring_pos(&w), 60);
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDOUT, 99), 60);
	cr_assert_eq(w.hdr->hole_from, T + 400);
	cr_assert_eq(w.hdr->dropped_nospace, 350u);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(f.head, T + 460);
	cr_assert_eq(f.dropped, 450 + 60, "%llu",
	    (unsigned long long)f.dropped);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(full, hole_may_cross_head_region_and_wrap)
{
	const struct ring_geometry geo = { 10, 4096 };
	struct ring_writer w;
	struct ring_reader r;
	uint64_t pos = 0, got, T;

	cr_assert_eq(ring_create(place.fd, one, 7, &geo, &w), 0);
	cr_assert_eq(ring_reader_open(place.fd, one, &r), 0);
	T = w.tail_cap;
	feed(&place, &w, RING_STDOUT, 4, 1);
	pour(4, 20);
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDOUT, 99), 20);
	feed(&place, &w, RING_STDOUT, 76, 1);
	cr_assert_eq(check_all(&r, &pos, &got), 20);
	cr_assert_eq(got, 80);
	feed(&place, &w, RING_STDOUT, T + 10 - 100 - 30, 1);
	pour(ring_pos(&w), 100);
	/* up to the wrap, then beyond it */
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDOUT, 100), 30);
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDOUT, 100), 70);
	feed(&place, &w, RING_STDOUT, 500, 1);
	pos = 0;
	cr_assert_eq(check_all(&r, &pos, &got), T + 80 - 4);
	cr_assert_eq(got, 504);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(full, hole_that_a_kill_interrupted_is_counted_once)
{
	const struct ring_geometry geo = { 10, 4096 };
	struct ring_header before, after;
	struct ring_writer w;

	cr_assert_eq(ring_create(place.fd, one, 7, &geo, &w), 0);
	feed(&place, &w, RING_STDOUT, 100, 1);
	memcpy(&before, w.hdr, sizeof(before));
	pour(100, 50);
	cr_assert_eq(ring_discard(&w, place.pipe[0], RING_STDERR, 99), 50);
	memcpy(&after, w.hdr, sizeof(after));
	/* as after each store of the discard, in their order */
	for (int step = 0; step < 6; step++) {
		memcpy(w.hdr, &before, sizeof(before));
		w.hdr->stream = RING_STDERR | RING_DISCARD;
		w.hdr->reserve = 199;
		w.hdr->off[0] = after.off[0];
		if (step > 0)
			w.hdr->hole_from = after.hole_from;
		if (step > 1)
			w.hdr->hole_to = after.hole_to;
		if (step > 2)
			w.hdr->dropped_nospace = after.dropped_nospace;
		if (step > 3)
			memcpy(w.hdr->segments, after.segments,
			    sizeof(after.segments));
		if (step > 4)
			w.hdr->seg_count = after.seg_count;
		ring_close(&w);
		cr_assert_eq(ring_recover(place.fd, one, &w), 0);
		cr_assert_eq(w.hdr->head, 150u);
		cr_assert_eq(w.hdr->hole_from, 100u);
		cr_assert_eq(w.hdr->hole_to, 150u);
		cr_assert_eq(w.hdr->dropped_nospace, 50u);
		cr_assert_eq(w.hdr->seg_count, 2u);
		cr_assert_eq(w.hdr->stream, (uint32_t)RING_STDERR);
		cr_assert_eq(w.hdr->segments[1].end_stream,
		    150u << 2 | RING_STDERR);
	}
	ring_close(&w);
}

Test(full, index_says_no_space_and_still_deletes)
{
	const struct index_limits limits = { 64u << 20, 1u << 20 };
	struct index_key64 k;
	static char val[3000];
	struct index *ix;
	uint64_t n = 0;
	bool aside;
	int err = 0;

	mount_small(4096);
	cr_assert_eq(index_open_limited(place.path, &limits, &ix, &aside), 0);
	take_all("filler");
	while (err == 0) {
		k = index_key64(n);
		err = index_put(ix, INDEX_SESSIONS,
		    (struct index_bytes){ &k, 8 },
		    (struct index_bytes){ val, sizeof(val) });
		if (err == 0) {
			cr_assert_eq(index_commit(ix), 0);
			n++;
		}
	}
	cr_assert_eq(err, -ENOSPC);
	for (uint64_t i = 0; i < n; i++) {
		k = index_key64(i);
		cr_assert_eq(index_del(ix, INDEX_SESSIONS,
		    (struct index_bytes){ &k, 8 }), 0);
		cr_assert_eq(index_commit(ix), 0);
	}
	cr_assert_eq(unlinkat(place.fd, "filler", 0), 0);
	cr_assert_eq(index_put(ix, INDEX_SESSIONS, (struct index_bytes){ &k, 8 },
	    (struct index_bytes){ val, sizeof(val) }), 0);
	cr_assert_eq(index_commit(ix), 0);
	index_close(&ix);
}
