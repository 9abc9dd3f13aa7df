/* SPDX-License-Identifier: MIT */
/* The ring: positions, regions, gaps, segments, recovery of a quiet one. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/abi.h"
#include "lib_rings.h"
#include "shm/ring_math.h"

static const struct ring_geometry tiny = { 10, 4096 };
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
	place_remove(&place);
}

TestSuite(ring, .init = setup, .fini = teardown, .timeout = 20);

static void
make(const struct ring_geometry *geo, struct ring_writer *w,
    struct ring_reader *r)
{
	cr_assert_eq(ring_create(place.fd, one, 7, geo, w), 0);
	cr_assert_eq(ring_reader_open(place.fd, one, r), 0);
}

Test(ring, is_created_once_private_and_close_on_exec)
{
	struct ring_writer w, again;
	struct stat st;

	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &w), 0);
	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &again), -EEXIST);
	cr_assert_eq(fstat(w.fd, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	cr_assert_eq(st.st_size, SHM_PAGE);
	cr_assert(fcntl(w.fd, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(ring_pos(&w), 0);
	ring_close(&w);
}

Test(ring, refuses_a_geometry_out_of_range)
{
	const struct ring_geometry bad[] = { { 0, 4095 }, { 0, 0 },
		{ (1u << 30) + 1, 4096 }, { 0, (1u << 30) + 1 } };
	struct ring_writer w;

	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(ring_create(place.fd, one, 7, &bad[i], &w),
		    -EINVAL);
}

Test(ring, leaves_nothing_where_it_cannot_create)
{
	struct ring_writer w;

	cr_assert_eq(unlinkat(place.fd, "rings", AT_REMOVEDIR), 0);
	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &w), -ENOENT);
}

Test(ring, says_empty_and_eof_of_the_pipe)
{
	struct ring_writer w;

	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &w), 0);
	cr_assert_eq(ring_splice(&w, place.pipe[0], RING_STDOUT, 10, 1),
	    -EAGAIN);
	close(place.pipe[1]);
	cr_assert_eq(ring_splice(&w, place.pipe[0], RING_STDOUT, 10, 1), 0);
	cr_assert_eq(w.hdr->reserve, 0u);
	ring_close(&w);
}

/* From a socket the kernel splices into no file. */
Test(ring, takes_what_cannot_be_spliced_for_no_end)
{
	struct ring_writer w;
	struct ring_reader r;
	uint64_t pos = 0, got;
	int ends[2], pipe_in = place.pipe[0], pipe_out = place.pipe[1];

	make(&tiny, &w, &r);
	cr_assert_eq(socketpair(AF_UNIX,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	place.pipe[0] = ends[0];
	place.pipe[1] = ends[1];
	cr_assert_eq(ring_splice(&w, ends[0], RING_STDOUT, 10, 1), -EAGAIN);
	cr_assert_eq(w.hdr->reserve, 0u);
	feed(&place, &w, RING_STDOUT, 10 + w.tail_cap, 5);
	cr_assert_eq(check_all(&r, &pos, &got), 0);
	cr_assert_eq(got, 10 + w.tail_cap);
	cr_assert_eq(write(ends[1], "lost", 4), 4);
	cr_assert_eq(ring_discard(&w, ends[0], RING_STDOUT, 10), 4);
	cr_assert_eq(w.hdr->dropped_nospace, 4);
	cr_assert_eq(ring_pos(&w), got + 4);
	close(ends[1]);
	cr_assert_eq(ring_splice(&w, ends[0], RING_STDOUT, 10, 1), 0);
	close(ends[0]);
	place.pipe[0] = pipe_in;
	place.pipe[1] = pipe_out;
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, gives_back_every_byte_while_nothing_is_overwritten)
{
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	uint64_t pos = 0, got;

	make(&tiny, &w, &r);
	feed(&place, &w, RING_STDOUT, 10 + w.tail_cap, 5);
	cr_assert_eq(check_all(&r, &pos, &got), 0);
	cr_assert_eq(got, 10 + w.tail_cap);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(f.head, got);
	cr_assert_eq(f.oldest_tail, 10);
	cr_assert_eq(f.dropped, 0);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, glances_at_what_a_list_shows)
{
	struct ring_writer w;
	struct ring_reader r;
	struct ring_glance g;

	make(&tiny, &w, &r);
	cr_assert_eq(ring_glance(&r, &g), RING_OK);
	cr_assert_eq(g.head, 0);
	cr_assert_eq(g.last_output_ms, 0);
	feed(&place, &w, RING_STDOUT, 777, 5);
	w.hdr->last_output_ms = 12345;
	w.hdr->stdin_state = STDIN_CLOSED;
	cr_assert_eq(ring_glance(&r, &g), RING_OK);
	cr_assert_eq(g.head, 777);
	cr_assert_eq(g.last_output_ms, 12345);
	cr_assert_eq(g.stdin_state, STDIN_CLOSED);
	w.hdr->head = 776; /* a position never goes back */
	cr_assert_eq(ring_glance(&r, &g), RING_CORRUPT);
	w.hdr->head = 777;
	w.hdr->sid.v++; /* it has become another's */
	cr_assert_eq(ring_glance(&r, &g), RING_GONE);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, counts_the_gap_exactly_at_every_length)
{
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	uint64_t T, total = 0, step = 777;

	make(&tiny, &w, &r);
	T = w.tail_cap;
	while (total < 5 * T) {
		uint64_t pos = 0, got, lost;

		feed(&place, &w, RING_STDOUT, step, 5);
		total += step;
		step = step * 7 % 9001 + 1;
		lost = total > 10 + T ? total - 10 - T : 0;
		cr_assert_eq(check_all(&r, &pos, &got), lost);
		cr_assert_eq(pos, total);
		cr_assert_eq(got, total - lost);
		cr_assert_eq(ring_facts(&r, &f), RING_OK);
		cr_assert_eq(f.dropped, lost);
		cr_assert_eq(f.head, total);
		cr_assert_geq(total - f.oldest_tail,
		    total - 10 < 4096 ? total - 10 : 4096);
	}
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, works_without_a_head_region_and_exactly_at_the_wrap)
{
	const struct ring_geometry none = { 0, 4096 };
	struct ring_writer w;
	struct ring_reader r;
	uint64_t pos = 0, got;

	make(&none, &w, &r);
	feed(&place, &w, RING_STDOUT, w.tail_cap, 5);
	feed(&place, &w, RING_STDERR, 1, 5);
	feed(&place, &w, RING_STDOUT, w.tail_cap - 1, 5);
	cr_assert_eq(check_all(&r, &pos, &got), w.tail_cap);
	cr_assert_eq(got, w.tail_cap);
	cr_assert_eq(pos, 2 * w.tail_cap);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, seats_a_reader_that_fell_behind_once)
{
	struct ring_writer w;
	struct ring_reader r;
	enum ring_verdict v;
	uint64_t pos = 4, dropped;
	char buf[100];

	make(&tiny, &w, &r);
	feed(&place, &w, RING_STDOUT, 3 * w.tail_cap, 5);
	cr_assert_eq(ring_read(&r, &pos, buf, 100, &dropped, &v), 6);
	cr_assert_eq(v, RING_OK);
	pos += 6;
	cr_assert_eq(ring_read(&r, &pos, buf, 100, &dropped, &v), 100);
	cr_assert_eq(v, RING_OVERRUN);
	cr_assert_eq(dropped, 2 * w.tail_cap - 10);
	cr_assert_eq(pos, 2 * w.tail_cap);
	pos += 100;
	cr_assert_eq(ring_read(&r, &pos, buf, 100, &dropped, &v), 100);
	cr_assert_eq(v, RING_OK);
	cr_assert_eq(dropped, 0);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, has_no_news_for_a_cursor_from_the_future)
{
	struct ring_writer w;
	struct ring_reader r;
	enum ring_verdict v;
	uint64_t pos = 1000, dropped;
	char buf[10];

	make(&tiny, &w, &r);
	feed(&place, &w, RING_STDOUT, 20, 5);
	cr_assert_eq(ring_read(&r, &pos, buf, 10, &dropped, &v), 0);
	cr_assert_eq(v, RING_OK);
	cr_assert_eq(pos, 1000);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, tells_the_streams_apart)
{
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	uint64_t end, wall;

	make(&tiny, &w, &r);
	feed(&place, &w, RING_STDOUT, 5, 1000);
	feed(&place, &w, RING_STDOUT, 5, 1009); /* merges */
	feed(&place, &w, RING_STDERR, 7, 1009);
	feed(&place, &w, RING_STDERR, 1, 1019); /* 10 ms: a new one */
	feed(&place, &w, RING_STDOUT, 2, 1019);
	cr_assert_eq(w.hdr->seg_count, 4u);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(ring_stream_at(&f.raw, 0, &end, &wall), RING_STDOUT);
	cr_assert(end == 10 && wall == 1000);
	cr_assert_eq(ring_stream_at(&f.raw, 9, &end, &wall), RING_STDOUT);
	cr_assert_eq(ring_stream_at(&f.raw, 10, &end, &wall), RING_STDERR);
	cr_assert(end == 17 && wall == 1009);
	cr_assert_eq(ring_stream_at(&f.raw, 17, &end, &wall), RING_STDERR);
	cr_assert(end == 18 && wall == 1019);
	cr_assert_eq(ring_stream_at(&f.raw, 19, &end, &wall), RING_STDOUT);
	cr_assert_eq(end, 20);
	cr_assert_eq(ring_stream_at(&f.raw, 20, &end, &wall), RING_MIXED);
	cr_assert(end > 20 && wall == 0);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, calls_mixed_what_is_older_than_the_log)
{
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	uint64_t end, wall, pos;

	make(&tiny, &w, &r);
	for (unsigned i = 0; i < 500; i++)
		feed(&place, &w, i % 2 ? RING_STDERR : RING_STDOUT, 2, i);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(ring_stream_at(&f.raw, 0, &end, &wall), RING_MIXED);
	cr_assert(end > 600 && end < 606 && wall == 0);
	for (pos = end; pos < 1000; pos++) {
		cr_assert_eq(ring_stream_at(&f.raw, pos, &end, &wall),
		    pos / 2 % 2 ? RING_STDERR : RING_STDOUT);
		cr_assert_eq(end, pos / 2 * 2 + 2);
		cr_assert_eq(wall, pos / 2);
	}
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, recovers_a_splice_that_was_not_published)
{
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	uint64_t end, wall, pos = 0, got;

	make(&tiny, &w, &r);
	feed(&place, &w, RING_STDERR, 100, 1);
	/* as if killed right after the splice */
	w.hdr->head = 60;
	w.hdr->reserve = 60 + RING_MAX_SPLICE;
	w.hdr->segments[0].end_stream = 60 << 2 | RING_STDERR;
	w.hdr->stream = RING_STDOUT;
	ring_close(&w);
	cr_assert_eq(ring_recover(place.fd, one, &w), 0);
	cr_assert_eq(w.hdr->head, 100u);
	cr_assert_eq(w.hdr->reserve, 100u);
	feed(&place, &w, RING_STDERR, 50, 2);
	cr_assert_eq(check_all(&r, &pos, &got), 0);
	cr_assert_eq(got, 150);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(ring_stream_at(&f.raw, 59, &end, &wall), RING_STDERR);
	cr_assert_eq(ring_stream_at(&f.raw, 60, &end, &wall), RING_STDOUT);
	cr_assert_eq(end, 100);
	cr_assert_eq(ring_stream_at(&f.raw, 100, &end, &wall), RING_STDERR);
	ring_reader_close(&r);
	ring_close(&w);
}

Test(ring, refuses_to_recover_what_no_kill_can_leave)
{
	struct ring_writer w;
	struct ring_header good;

	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &w), 0);
	feed(&place, &w, RING_STDOUT, 100, 1);
	memcpy(&good, w.hdr, sizeof(good));
#define REFUSED(change)                                                        \
	do {                                                                   \
		struct ring_writer copy;                                       \
		w.hdr->change;                                                 \
		cr_expect_eq(ring_recover(place.fd, one, &copy), -EBADMSG,     \
		    #change);                                                  \
		memcpy(w.hdr, &good, sizeof(good));                            \
	} while (0)
	REFUSED(magic = 0);
	REFUSED(stamp = ABI_STAMP(abi_table[ABI_RING].version + 1,
	    abi_table[ABI_RING].version + 1));
	REFUSED(stamp = abi_table[ABI_RING].oldest - 1u);
	REFUSED(header_bytes = 1);
	REFUSED(sid.v = 2);
	REFUSED(tail_bytes = 1);
	REFUSED(head_bytes = UINT32_MAX);
	REFUSED(off[0] = -1);
	REFUSED(off[0] = 0);
	REFUSED(off[0] = INT64_MAX);
	REFUSED(lap = UINT64_MAX);
	REFUSED(lap = 1);
	REFUSED(head = 101);
	REFUSED(reserve = 99);
	REFUSED(reserve = UINT64_MAX);
	REFUSED(stream = 2);
	REFUSED(stream = 0x200);
	REFUSED(seg_count = 0);
	REFUSED(segments[0].end_stream = 101 << 2);
	REFUSED(segments[0].end_stream = 100 << 2 | 3);
	REFUSED(hole_to = 101);
	REFUSED(spool_off = -1);
#undef REFUSED
	cr_assert_eq(ftruncate(w.fd, 100), 0);
	{
		struct ring_writer copy;

		cr_assert_eq(ring_recover(place.fd, one, &copy), -EBADMSG);
	}
	close(w.fd);
}

Test(ring, says_gone_corrupt_and_missing)
{
	struct ring_writer w;
	struct ring_reader r, other;
	struct ring_facts f;
	enum ring_verdict v;
	uint64_t pos = 0, dropped;
	char buf[10];

	cr_assert_eq(ring_reader_open(place.fd, one, &r), -ENOENT);
	make(&tiny, &w, &r);
	feed(&place, &w, RING_STDOUT, 5000, 1);
	w.hdr->head = 10; /* goes back: a head was seen beyond */
	cr_assert_eq(ring_read(&r, &pos, buf, 10, &dropped, &v), 10);
	w.hdr->head = 5;
	cr_assert_eq(ring_read(&r, &pos, buf, 10, &dropped, &v), -1);
	cr_assert_eq(v, RING_CORRUPT);
	cr_assert_eq(ring_facts(&r, &f), RING_CORRUPT);
	w.hdr->head = 5000;
	cr_assert_eq(ring_read(&r, &pos, buf, 10, &dropped, &v), 10);
	cr_assert_eq(ftruncate(w.fd, SHM_PAGE + 3), 0);
	pos = 0;
	cr_assert_eq(ring_read(&r, &pos, buf, 10, &dropped, &v), -1);
	cr_assert_eq(v, RING_CORRUPT);
	w.hdr->magic = 1;
	cr_assert_eq(ring_reader_open(place.fd, one, &other), -EBADMSG);
	w.hdr->magic = RING_MAGIC;
	cr_assert_eq(unlinkat(place.fd, "rings/0000000000000001", 0), 0);
	cr_assert_eq(ring_facts(&r, &f), RING_GONE);
	ring_reader_close(&r);
	ring_close(&w);
}

static void
expect_size(const struct ring_resize *z, uint64_t pos, unsigned cols,
    unsigned rows)
{
	cr_expect_eq(z->pos, pos);
	cr_expect_eq(z->cols, cols);
	cr_expect_eq(z->rows, rows);
}

Test(ring, knows_which_size_the_terminal_had)
{
	struct ring_resize z[RING_SIZES];
	struct ring_writer w;
	struct ring_reader r;
	struct ring_facts f;
	size_t n;

	make(&tiny, &w, &r);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(ring_sizes(&f.raw, z), 0);
	ring_note_size(&w, 0, 120, 30, 1000);
	ring_note_size(&w, 0, 90, 30, 1001);    /* instead of it */
	ring_note_size(&w, 5, 90, 30, 1002);    /* nothing new */
	ring_note_size(&w, 7, 0, 30, 1003);     /* no size */
	ring_note_size(&w, 7, 1001, 30, 1003);  /* none that is noted */
	ring_note_size(&w, 9, 1000, 1000, 1004);
	ring_note_size(&w, 8, 1, 1, 1005);      /* positions only grow */
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	cr_assert_eq(ring_sizes(&f.raw, z), 2);
	expect_size(&z[0], 0, 90, 30);
	cr_expect_eq(z[0].wall_ms, 1001);
	expect_size(&z[1], 9, 1, 1);
	for (unsigned i = 2; i < 100; i++)
		ring_note_size(&w, 10 * i, i, 2 * i, 2000 + i);
	cr_assert_eq(ring_facts(&r, &f), RING_OK);
	n = ring_sizes(&f.raw, z);
	cr_assert_eq(n, RING_SIZES - 1); /* one is the writer's */
	expect_size(&z[0], 0, 90, 30);
	cr_expect_not(z[0].after_more);
	expect_size(&z[1], 780, 78, 156);
	cr_expect(z[1].after_more);
	expect_size(&z[n - 1], 990, 99, 198);
	cr_expect_not(z[n - 1].after_more);
	cr_expect_eq(z[n - 1].wall_ms, 2099);
	ring_reader_close(&r);
	ring_close(&w);
}
