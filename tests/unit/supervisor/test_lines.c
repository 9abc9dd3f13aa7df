/* SPDX-License-Identifier: MIT */
/* Retained output, whole and as the lines of log, over real rings on a tmpfs. */
#include "supervisor/search/pending.h"
#include "supervisor/search/show.h"

#include "common/check.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(lines, .timeout = 20);

/* A ring with a pipe into it, and a reader. */
struct rig {
	char dir[64];
	int dirfd, pipe[2];
	struct ring_writer w;
	struct ring_reader r;
};

static const struct sid rig_sid = { 7 };

static void
rig_open(struct rig *rig, uint32_t head_bytes, uint32_t tail_bytes)
{
	struct ring_geometry geo = { head_bytes, tail_bytes };

	strcpy(rig->dir, "/dev/shm/psup-lines-XXXXXX");
	cr_assert_not_null(mkdtemp(rig->dir));
	rig->dirfd = open(rig->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(rig->dirfd, 0);
	cr_assert_eq(mkdirat(rig->dirfd, "rings", 0700), 0);
	cr_assert_eq(pipe2(rig->pipe, O_CLOEXEC | O_NONBLOCK), 0);
	cr_assert_eq(ring_create(rig->dirfd, rig_sid, 1, &geo, &rig->w), 0);
	cr_assert_eq(ring_reader_open(rig->dirfd, rig_sid, &rig->r), 0);
}

static void
rig_close(struct rig *rig)
{
	char cmd[80];

	ring_reader_close(&rig->r);
	ring_close(&rig->w);
	close(rig->pipe[0]);
	close(rig->pipe[1]);
	close(rig->dirfd);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", rig->dir);
	cr_assert_eq(system(cmd), 0);
}

/* Output of a command, as the worker moves it. */
static void
put(struct rig *rig, enum ring_stream stream, const char *data, size_t len)
{
	while (len > 0) {
		size_t n = len < 4096 ? len : 4096;

		cr_assert_eq(write(rig->pipe[1], data, n), (ssize_t)n);
		data += n;
		len -= n;
		while (n > 0) {
			ssize_t moved = ring_splice(&rig->w, rig->pipe[0],
			    stream, n, 1000);

			cr_assert_gt(moved, 0);
			n -= (size_t)moved;
		}
	}
}

static void
puts_to(struct rig *rig, enum ring_stream stream, const char *text)
{
	put(rig, stream, text, strlen(text));
}

/* `count` lines "line <n>\n" of 12 bytes each. */
static void
put_lines(struct rig *rig, unsigned first, unsigned count)
{
	char line[32];

	for (unsigned i = first; i < first + count; i++) {
		snprintf(line, sizeof(line), "line %06u\n", i);
		puts_to(rig, RING_STDOUT, line);
	}
}

/* What `log` shows, in the smallest of slices; -1: not given. */
static void
show(struct rig *rig, int64_t offset, int64_t limit, struct log_show *ret)
{
	enum ring_verdict v = RING_OK;
	int rc;

	*ret = (struct log_show){ .rule = TEXT_PLAIN, .gap_line = -1,
		.have_offset = offset >= 0, .offset = (uint64_t)offset,
		.have_limit = limit >= 0, .limit = (uint64_t)limit };
	cr_assert_eq(tape_begin(&ret->lines.tape, &rig->r, LINES_BOTH),
	    RING_OK);
	do
		rc = log_show_step(ret, &rig->r, 0, &v);
	while (rc > 0);
	cr_assert_eq(rc, 0);
	sbuf_add(&ret->text, "");
	if (ret->text.len > 0 && ret->text.p[ret->text.len - 1] == '\n')
		ret->text.p[--ret->text.len] = '\0';
}

/* A page of a text; what it says of itself is valid, its text is not. */
static struct log_show
page_of(const char *data, int64_t offset, int64_t limit, const char *want)
{
	struct log_show l;
	struct rig rig;

	rig_open(&rig, 4096, 4096);
	puts_to(&rig, RING_STDOUT, data);
	show(&rig, offset, limit, &l);
	cr_assert_str_eq(l.text.p, want);
	log_show_fini(&l);
	rig_close(&rig);
	return l;
}

/* ------------------------------------------------------------------- pages */

Test(lines, a_trailing_empty_line_does_not_count)
{
	cr_assert_eq(page_of("", -1, -1, "").total_lines, 0);
	cr_assert_eq(page_of("\n", -1, -1, "").total_lines, 1);
	cr_assert_eq(page_of("a", -1, -1, "a").total_lines, 1);
	cr_assert_eq(page_of("a\n", -1, -1, "a").total_lines, 1);
	cr_assert_eq(page_of("a\n\n", -1, -1, "a\n").total_lines, 2);
	cr_assert_eq(page_of("a\nb", -1, -1, "a\nb").total_lines, 2);
	cr_assert_eq(page_of("\n\n\n", 1, 1, "").total_lines, 3);
}

Test(lines, crlf_counts_as_lf_and_a_lone_cr_stays)
{
	cr_assert_eq(page_of("a\r\nb\r\n", -1, -1, "a\nb").total_lines, 2);
	cr_assert_eq(page_of("a\rb\r\r\nc\r", -1, -1, "a\rb\r\nc\r")
	                 .total_lines,
	    2);
	page_of("\r\n\r\n", -1, -1, "\n");
	page_of("\r", -1, -1, "\r");
}

Test(lines, offset_and_limit)
{
	static const struct {
		int64_t offset, limit;
		const char *want;
		uint64_t first, count;
	} rows[] = {
		{ -1, -1, "a\nb\nc\nd\ne", 0, 5 },
		{ 0, -1, "a\nb\nc\nd\ne", 0, 5 },
		{ 2, -1, "c\nd\ne", 2, 3 },
		{ 4, -1, "e", 4, 1 },
		{ 5, -1, "", 5, 0 },
		{ 900, -1, "", 5, 0 },
		{ 900, 3, "", 5, 0 },
		{ -1, 0, "", 5, 0 },
		{ -1, 1, "e", 4, 1 },
		{ -1, 2, "d\ne", 3, 2 },
		{ -1, 99, "a\nb\nc\nd\ne", 0, 5 },
		{ 1, 2, "b\nc", 1, 2 },
		{ 3, 9, "d\ne", 3, 2 },
		{ 2, 0, "", 2, 0 },
		{ INT64_MAX, INT64_MAX, "", 5, 0 },
		{ 1, INT64_MAX, "b\nc\nd\ne", 1, 4 },
	};

	for (size_t i = 0; i < NELEMS(rows); i++) {
		const char *forms[] = { "a\nb\nc\nd\ne\n", "a\nb\nc\nd\ne",
			"a\r\nb\r\nc\r\nd\r\ne\r\n" };

		for (size_t f = 0; f < NELEMS(forms); f++) {
			struct log_show p = page_of(forms[f],
			    rows[i].offset, rows[i].limit, rows[i].want);

			cr_assert_eq(p.total_lines, 5);
			cr_assert_eq(p.first_line, rows[i].first);
			cr_assert_eq(p.line_count, rows[i].count);
			cr_assert_eq(p.defaulted, rows[i].offset < 0 &&
			        rows[i].limit < 0);
			cr_assert_eq(p.gap_line, -1);
		}
	}
}

Test(lines, two_hundred_by_default)
{
	struct log_show l;
	struct rig rig;

	rig_open(&rig, 4096, 4096);
	for (int i = 0; i < 301; i++)
		puts_to(&rig, RING_STDOUT, i == 101 ? "x\r\n" : "yy\n");
	show(&rig, -1, -1, &l);
	cr_assert(l.defaulted);
	cr_assert_eq(l.total_lines, 301);
	cr_assert_eq(l.first_line, 101);
	cr_assert_eq(l.line_count, 200);
	cr_assert_eq(l.text.len, 199 * 3 + 1);
	cr_assert_eq(l.text.p[0], 'x');
	log_show_fini(&l);
	show(&rig, 0, -1, &l);
	cr_assert_eq(l.line_count, 301, "an offset alone: to the end");
	log_show_fini(&l);
	rig_close(&rig);
}

/* Every page of random texts, with a hole or without one, against splitting by
 * hand. */
Test(lines, pages_agree_with_splitting)
{
	unsigned rng = 4711;

	for (int round = 0; round < 60; round++) {
		char data[64], want[128], *at;
		size_t len = (size_t)(rng >> 8) % 30, gap, starts[64];
		size_t lines = 0;
		struct log_show p;
		struct rig rig;

		for (size_t i = 0; i < len; i++) {
			rng = rng * 1664525u + 1013904223u;
			data[i] = (rng >> 16) % 4 == 0 ? '\n' : 'a';
		}
		rng = rng * 1664525u + 1013904223u;
		gap = round % 3 == 0 || len == 0 ? len : (rng >> 10) % len;
		rig_open(&rig, 4096, 4096);
		put(&rig, RING_STDOUT, data, gap);
		if (gap < len) {
			cr_assert_eq(write(rig.pipe[1], "lost!", 5), 5);
			cr_assert_eq(ring_discard(&rig.w, rig.pipe[0],
			    RING_STDOUT, 5), 5);
		}
		put(&rig, RING_STDOUT, data + gap, len - gap);
		for (size_t i = 0; i < len; i++)
			if (i == 0 || i == gap || data[i - 1] == '\n')
				starts[lines++] = i;
		starts[lines] = len;
		for (uint64_t o = 0; o <= lines + 1; o++) {
			for (uint64_t l = 0; l <= lines + 1; l++) {
				uint64_t a = o < lines ? o : lines;
				uint64_t b = a + l < lines ? a + l : lines;

				at = want;
				for (uint64_t i = a; i < b; i++) {
					size_t n = starts[i + 1] - starts[i];

					at = mempcpy(at, data + starts[i], n);
					if (at[-1] != '\n')
						*at++ = '\n';
				}
				at[at > want ? -1 : 0] = '\0';
				show(&rig, (int64_t)o, (int64_t)l, &p);
				cr_assert_eq(p.total_lines, lines);
				cr_assert_str_eq(p.text.p, want);
				log_show_fini(&p);
			}
		}
		rig_close(&rig);
	}
}

/* ------------------------------------------------------------- whole reads */

Test(lines, an_empty_ring_is_read)
{
	struct rig rig;
	struct retained r;

	rig_open(&rig, 100, 4096);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.len, 0);
	cr_assert_eq(r.to, 0);
	retained_free(&r);
	retained_free(&r);
	rig_close(&rig);
}

Test(lines, reads_from_a_position_on)
{
	struct rig rig;
	struct retained r;

	rig_open(&rig, 100, 4096);
	put_lines(&rig, 0, 20);
	cr_assert_eq(retained_read(&rig.r, 12, 0, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.from, 12);
	cr_assert_eq(r.to, 240);
	cr_assert_eq(r.len, 228);
	cr_assert_eq(r.gap_at, r.len);
	cr_assert_eq(r.dropped, 0);
	cr_assert_eq(r.mixed, 0);
	cr_assert_arr_eq(r.data, "line 000001\nline 000002\n", 24);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 240, 0, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.len, 0);
	cr_assert_eq(r.from, 240);
	cr_assert_eq(r.to, 240);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 999, 0, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.to, 240, "a cursor from beyond comes back");
	retained_free(&r);
	rig_close(&rig);
}

Test(lines, the_last_bytes_only_count_nothing_as_dropped)
{
	struct rig rig;
	struct retained r;

	rig_open(&rig, 100, 4096);
	put_lines(&rig, 0, 20);
	cr_assert_eq(retained_read(&rig.r, 0, 24, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.len, 24);
	cr_assert_eq(r.from, 216);
	cr_assert_eq(r.to, 240);
	cr_assert_eq(r.dropped, 0);
	cr_assert_arr_eq(r.data, "line 000018\n", 12);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 230, 24, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.from, 230);
	cr_assert_eq(r.len, 10);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 0, 9999, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.len, 240);
	retained_free(&r);
	rig_close(&rig);
}

Test(lines, the_gap_is_exact_and_ends_a_line)
{
	struct rig rig;
	struct retained r;
	struct log_show p;
	uint64_t total = 12 * 10000, missing;

	rig_open(&rig, 100, 4096);
	put_lines(&rig, 0, 10000);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_BOTH, &r),
	    RING_OVERRUN);
	cr_assert_eq(r.from, 0);
	cr_assert_eq(r.to, total);
	cr_assert_eq(r.gap_at, 100);
	cr_assert_geq(r.len, 100 + 4096);
	cr_assert_eq(r.len + r.dropped, total);
	missing = r.dropped;
	show(&rig, 7, 3, &p);
	cr_assert_eq(p.gap_line, 8, "96 bytes are 8 lines, and 4 of one");
	cr_assert_eq(strncmp(p.text.p, "line 000007\nline\n", 17), 0, "%s",
	    p.text.p);
	/* what follows is the rest of some line, at its exact position */
	cr_assert_eq(p.text.len - 17, 11 - (100 + missing) % 12);
	log_show_fini(&p);
	retained_free(&r);
	/* from inside the gap: only what is after it, told */
	cr_assert_eq(retained_read(&rig.r, 150, 0, LINES_BOTH, &r),
	    RING_OVERRUN);
	cr_assert_eq(r.gap_at, 0);
	cr_assert_eq(r.from, 100 + missing);
	cr_assert_eq(r.dropped, missing - 50);
	retained_free(&r);
	/* the tail alone knows no gap */
	cr_assert_eq(retained_read(&rig.r, 0, 2000, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.len, 2000);
	cr_assert_eq(r.from, total - 2000);
	cr_assert_eq(r.gone, missing, "it does of what is lost in all");
	retained_free(&r);
	/* more than the tail: some of the head, and the gap */
	cr_assert_eq(retained_read(&rig.r, 0, total - missing - 60,
	                 LINES_BOTH, &r),
	    RING_OVERRUN);
	cr_assert_eq(r.from, 60);
	cr_assert_eq(r.gap_at, 40);
	cr_assert_eq(r.dropped, missing);
	retained_free(&r);
	rig_close(&rig);
}

/* So many of these five texts at once. */
static void
put_much(struct rig *rig, enum ring_stream to, const char *const text[5],
    int count)
{
	struct sbuf all = {0};

	for (; count >= 0; count--)
		sbuf_add(&all, text[rand() % 5]);
	put(rig, to, all.p, all.len);
	sbuf_fini(&all);
}

/* A poll's cut of all and of the newest alone. Returns what was not read. */
static uint64_t
expect_same_cut(struct rig *rig, uint64_t from, size_t max, bool text)
{
	struct retained all, some;
	uint64_t omitted;
	size_t cut;

	cr_assert_leq(retained_read(&rig->r, from, 0, LINES_BOTH, &all),
	    RING_OVERRUN);
	cr_assert_leq(retained_read_newest(&rig->r, from, max +
	                  (text ? 65536 : 0), &some), RING_OVERRUN);
	cr_assert_leq(some.len, 2 * (max + (text ? 65536 : 0)));
	cut = pending_cut(&all, max, text);
	cr_assert_eq(pending_cut(&some, max, text) + some.omitted, cut);
	cr_assert_eq(some.len, all.len, "%zu, %zu", some.len, all.len);
	cr_assert_eq(memcmp(some.data, all.data, all.len), 0);
	cr_assert_eq(some.dropped, all.dropped, "%llu, %llu",
	    (unsigned long long)some.dropped, (unsigned long long)all.dropped);
	cr_assert_eq(some.to, all.to);
	omitted = some.omitted;
	retained_free(&all);
	retained_free(&some);
	return omitted;
}

/* What a poll leaves out need not be read: the same bytes come, and the same is
 * said of the others, wherever the streams change and whatever is lost. */
Test(lines, the_newest_of_each_stream_is_what_a_cut_leaves)
{
	static const char *const text[] = {"\xe2\x82\xac", "\033[31mred\033[0m",
	    "word ", "\n", "0123456789012345678901234567890123456789"};

	uint64_t omitted = 0;

	srand(7);
	for (int n = 0; n < 60; n++) {
		struct rig rig;
		uint32_t head = n % 3 == 0 ? 0 : 5000;
		int writes = rand() % 300;

		rig_open(&rig, head, n % 2 == 0 ? 200000 : 1 << 20);
		for (int i = 0; i < writes; i++) {
			enum ring_stream to = rand() % 8 == 0 ? RING_STDERR
			                                      : RING_STDOUT;

			if (n % 5 == 0) {
				put_much(&rig, to, text, rand() % 2000);
				continue;
			}
			for (int k = rand() % 100; k >= 0; k--)
				puts_to(&rig, to, text[rand() % 5]);
		}
		for (int i = 0; i < 20; i++) {
			uint64_t from = (uint64_t)(rand() % (writes * 500 + 1));

			omitted += expect_same_cut(&rig, from,
			    1 + (size_t)rand() % 9000, i % 2 == 0);
		}
		rig_close(&rig);
	}
	cr_assert_gt(omitted, 1000000);
}

Test(lines, without_a_head_region_the_gap_is_at_the_front)
{
	struct rig rig;
	struct retained r;

	rig_open(&rig, 0, 4096);
	put_lines(&rig, 0, 10000);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_BOTH, &r),
	    RING_OVERRUN);
	cr_assert_eq(r.gap_at, 0);
	cr_assert_eq(r.from, r.dropped);
	cr_assert_eq(r.from + r.len, r.to);
	retained_free(&r);
	rig_close(&rig);
}

Test(lines, a_hole_is_counted_like_a_gap)
{
	struct rig rig;
	struct retained r;
	struct log_show p;

	rig_open(&rig, 100, 4096);
	puts_to(&rig, RING_STDOUT, "one\ntw");
	cr_assert_eq(write(rig.pipe[1], "lost lost\n", 10), 10);
	cr_assert_eq(ring_discard(&rig.w, rig.pipe[0], RING_STDOUT, 10), 10);
	puts_to(&rig, RING_STDOUT, "o\nthree\n");
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_BOTH, &r),
	    RING_OVERRUN);
	cr_assert_eq(r.dropped, 10);
	cr_assert_eq(r.gap_at, 6);
	cr_assert_eq(r.to, 24);
	cr_assert_eq(r.len, 14);
	show(&rig, -1, -1, &p);
	cr_assert_eq(p.total_lines, 4);
	cr_assert_eq(p.gap_line, 1);
	cr_assert_str_eq(p.text.p, "one\ntw\no\nthree");
	log_show_fini(&p);
	retained_free(&r);
	/* the last bytes, across the hole and behind it */
	cr_assert_eq(retained_read(&rig.r, 0, 10, LINES_BOTH, &r),
	    RING_OVERRUN);
	cr_assert_eq(r.len, 10);
	cr_assert_eq(r.from, 4);
	cr_assert_eq(r.gap_at, 2);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 0, 8, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.len, 8);
	cr_assert_eq(r.from, 16);
	cr_assert_eq(r.gone, 10);
	retained_free(&r);
	rig_close(&rig);
}

Test(lines, a_hole_at_the_end_is_told_once)
{
	struct rig rig;
	struct retained r;

	rig_open(&rig, 100, 4096);
	puts_to(&rig, RING_STDOUT, "one");
	cr_assert_eq(write(rig.pipe[1], "lost", 4), 4);
	cr_assert_eq(ring_discard(&rig.w, rig.pipe[0], RING_STDOUT, 4), 4);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_BOTH, &r),
	    RING_OVERRUN);
	cr_assert_eq(r.len, 3);
	cr_assert_eq(r.dropped, 4);
	cr_assert_eq(r.to, 7);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 7, 0, LINES_BOTH, &r), RING_OK);
	cr_assert_eq(r.dropped, 0);
	retained_free(&r);
	rig_close(&rig);
}

Test(lines, streams_apart)
{
	struct rig rig;
	struct retained r;

	rig_open(&rig, 4096, 4096);
	puts_to(&rig, RING_STDOUT, "out 1\n");
	puts_to(&rig, RING_STDERR, "err 1\n");
	puts_to(&rig, RING_STDOUT, "out 2\n");
	puts_to(&rig, RING_STDERR, "err 2\n");
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_BOTH, &r), RING_OK);
	cr_assert_arr_eq(r.data, "out 1\nerr 1\nout 2\nerr 2\n", 24);
	cr_assert_eq(r.mixed, 0);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_STDOUT, &r), RING_OK);
	cr_assert_eq(r.len, 12);
	cr_assert_arr_eq(r.data, "out 1\nout 2\n", 12);
	cr_assert_eq(r.from, 0);
	cr_assert_eq(r.to, 24, "read up to there, whatever was kept");
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_STDERR, &r), RING_OK);
	cr_assert_arr_eq(r.data, "err 1\nerr 2\n", 12);
	cr_assert_eq(r.from, 6);
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 0, 8, LINES_STDERR, &r), RING_OK);
	cr_assert_eq(r.len, 8);
	cr_assert_arr_eq(r.data, "1\nerr 2\n", 8);
	cr_assert_eq(r.from, 10, "position of the first byte kept");
	retained_free(&r);
	cr_assert_eq(retained_read(&rig.r, 18, 0, LINES_STDOUT, &r), RING_OK);
	cr_assert_eq(r.len, 0);
	cr_assert_eq(r.to, 24);
	retained_free(&r);
	rig_close(&rig);
}

Test(lines, what_the_log_forgot_is_mixed_and_in_both)
{
	struct rig rig;
	struct retained out, err;
	const unsigned n = 3 * RING_SEGMENTS;

	rig_open(&rig, 20000, 4096);
	for (unsigned i = 0; i < n; i++)
		puts_to(&rig, i % 2 ? RING_STDERR : RING_STDOUT,
		    i % 2 ? "E" : "O");
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_STDOUT, &out), RING_OK);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_STDERR, &err), RING_OK);
	cr_assert_gt(out.mixed, 0);
	cr_assert_eq(out.mixed, err.mixed);
	cr_assert_eq(out.len + err.len, n + out.mixed);
	for (size_t i = out.mixed; i < out.len; i++)
		cr_assert_eq(out.data[i], 'O');
	for (size_t i = err.mixed; i < err.len; i++)
		cr_assert_eq(err.data[i], 'E');
	retained_free(&out);
	retained_free(&err);
	rig_close(&rig);
}

Test(lines, a_ring_that_is_gone_says_so)
{
	struct rig rig;
	struct retained r;
	char path[160];

	rig_open(&rig, 100, 4096);
	puts_to(&rig, RING_STDOUT, "x");
	snprintf(path, sizeof(path), "rm -rf '%s/rings'", rig.dir);
	cr_assert_eq(system(path), 0);
	cr_assert_eq(retained_read(&rig.r, 0, 0, LINES_BOTH, &r), RING_GONE);
	cr_assert_null(r.data);
	cr_assert_eq(r.len, 0);
	rig_close(&rig);
}

