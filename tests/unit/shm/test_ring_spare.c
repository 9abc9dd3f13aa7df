/* SPDX-License-Identifier: MIT */
/* A forgotten session's ring becomes another's. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/rundir.h"
#include "lib_rings.h"

static const struct ring_geometry tiny = { 10, 4096 };
static const struct ring_geometry other = { 10, 8192 };
static const struct sid one = { 1 }, two = { 2 };
static struct place place;
static struct ring_writer w;
static struct ring_reader r;
static char from[RUNDIR_NAME_MAX];

/* A ring that had output, and a reader that still has it open. */
static void
setup(void)
{
	place_make(&place);
	cr_assert_eq(ring_create(place.fd, one, 7, &tiny, &w), 0);
	feed(&place, &w, RING_STDOUT, 3000, 5);
	w.hdr->pid = 4711;
	w.hdr->closed_ms = 99;
	cr_assert_eq(ring_reader_open(place.fd, one, &r), 0);
	rundir_ring_name(one, from);
}

static void
teardown(void)
{
	ring_reader_close(&r);
	ring_close(&w);
	place_remove(&place);
}

TestSuite(ring_spare, .init = setup, .fini = teardown, .timeout = 20);

Test(ring_spare, is_as_one_just_made)
{
	struct ring_reader now;
	struct ring_facts f;
	char buf[100];
	enum ring_verdict v;
	uint64_t pos = 0, dropped;
	struct stat st;

	cr_assert_eq(ring_recycle(place.fd, from, two, 8, &tiny, &w), 0);
	cr_assert_neq(fstatat(place.fd, from, &st, 0), 0);
	cr_assert_eq(fstat(w.fd, &st), 0);
	cr_assert_eq(st.st_size, SHM_PAGE, "the old output is gone");
	cr_assert_eq(w.blocks, SHM_PAGE);
	cr_assert_eq(ring_reader_open(place.fd, two, &now), 0);
	cr_assert_eq(ring_facts(&now, &f), RING_OK);
	cr_assert_eq(f.head, 0);
	cr_assert_eq(f.raw.pid, 0);
	cr_assert_eq(f.raw.closed_ms, 0);
	cr_assert_eq(f.raw.incarnation, 8);
	cr_assert_eq(ring_read(&now, &pos, buf, sizeof(buf), &dropped, &v), 0,
	    "nothing of what was in it");
	feed(&place, &w, RING_STDERR, 50, 9);
	cr_assert_eq(ring_read(&now, &pos, buf, sizeof(buf), &dropped, &v), 50);
	cr_assert_eq(ring_pos(&w), 50);
	ring_reader_close(&now);
}

Test(ring_spare, is_gone_for_who_read_the_old_one)
{
	struct ring_facts f;
	struct ring_glance g;
	enum ring_verdict v;
	uint64_t pos = 0, dropped;
	char buf[100];

	cr_assert_eq(ring_recycle(place.fd, from, two, 8, &tiny, &w), 0);
	feed(&place, &w, RING_STDOUT, 3500, 5);
	cr_assert_eq(ring_facts(&r, &f), RING_GONE);
	cr_assert_eq(ring_glance(&r, &g), RING_GONE);
	cr_assert_eq(ring_read(&r, &pos, buf, sizeof(buf), &dropped, &v), -1);
	cr_assert_eq(v, RING_GONE);
}

Test(ring_spare, is_refused_where_it_does_not_fit)
{
	cr_assert_eq(ring_recycle(place.fd, from, two, 8, &other, &w), -EBADMSG);
	w.hdr->magic = 0;
	cr_assert_eq(ring_recycle(place.fd, from, two, 8, &tiny, &w), -EBADMSG);
}

Test(ring_spare, is_refused_where_its_file_is_gone)
{
	cr_assert_eq(unlinkat(place.fd, from, 0), 0);
	cr_assert_eq(ring_recycle(place.fd, from, two, 8, &tiny, &w), -ENOENT);
}
