/* SPDX-License-Identifier: MIT */
/* The board: counts, generations, what readers refuse, the seqlock. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include "common/abi.h"
#include "lib_rings.h"
#include "shm/board.h"

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

TestSuite(board, .init = setup, .fini = teardown, .timeout = 20);

static struct board_slot
slot(uint64_t sid, uint32_t state)
{
	struct board_slot s = { .sid = sid, .state = state };

	strcpy(s.slug, "amber-otter");
	return s;
}

Test(board, is_allocated_in_full_and_private)
{
	struct stat st;

	cr_assert_eq(board_create(place.fd, 0, 1), -EINVAL);
	cr_assert_eq(board_create(place.fd, 100, 1), 0);
	cr_assert_eq(fstatat(place.fd, "board", &st, 0), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	cr_assert_eq(st.st_size, 8192 + 100 * 512);
	cr_assert_geq(st.st_blocks * 512, st.st_size);
	cr_assert_eq(fstatat(place.fd, "board.new", &st, 0), -1);
	cr_assert_eq(board_create(place.fd, 10, 2), 0, "anew");
}

Test(board, keeps_counts_and_generations)
{
	struct board m, r;
	struct board_slot s, got;

	cr_assert_eq(board_attach(place.fd, false, &r), -ENOENT);
	cr_assert_eq(board_create(place.fd, 4, 1), 0);
	cr_assert_eq(board_attach(place.fd, true, &m), 0);
	cr_assert_eq(board_attach(place.fd, false, &r), 0);
	cr_assert_eq(board_get(&r, 0, &got), 0);
	s = slot(1, STATE_QUEUED);
	board_put(&m, 0, &s);
	cr_assert_eq(board_get(&r, 0, &got), 1);
	cr_assert_eq(got.generation, 1);
	cr_assert_str_eq(got.slug, "amber-otter");
	s.state = STATE_RUNNING;
	board_put(&m, 0, &s);
	s = slot(2, STATE_RUNNING);
	board_put(&m, 3, &s);
	cr_assert_eq(board_get(&r, 0, &got), 1);
	cr_assert_eq(got.generation, 1, "the same session");
	cr_assert_eq(m.hdr->counts[STATE_QUEUED], 0u);
	cr_assert_eq(m.hdr->counts[STATE_RUNNING], 2u);
	cr_assert_eq(m.hdr->slots_high, 4u);
	s = slot(9, STATE_ENDED);
	board_put(&m, 0, &s);
	cr_assert_eq(board_get(&r, 0, &got), 1);
	cr_assert_eq(got.generation, 2, "another session");
	board_clear(&m, 3);
	board_clear(&m, 3);
	cr_assert_eq(board_get(&r, 3, &got), 0);
	cr_assert_eq(m.hdr->counts[STATE_RUNNING], 0u);
	cr_assert_eq(m.hdr->counts[STATE_ENDED], 1u);
	cr_assert_eq(board_get(&r, 4, &got), -EINVAL);
	board_detach(&r);
	board_detach(&m);
}

Test(board, repairs_what_a_killed_writer_left)
{
	struct board m, r;
	struct board_slot s = slot(1, STATE_RUNNING), got;

	cr_assert_eq(board_create(place.fd, 4, 1), 0);
	cr_assert_eq(board_attach(place.fd, true, &m), 0);
	board_put(&m, 0, &s);
	board_put(&m, 1, &s);
	((struct board_slot *)(void *)((char *)m.hdr + 8192))->seq |= 1;
	m.hdr->counts[STATE_QUEUED] = 77;
	cr_assert_eq(board_attach(place.fd, false, &r), 0);
	cr_assert_eq(board_get(&r, 0, &got), -EBUSY);
	board_detach(&m);
	cr_assert_eq(board_attach(place.fd, true, &m), 0);
	cr_assert_eq(board_get(&r, 0, &got), 0);
	cr_assert_eq(board_get(&r, 1, &got), 1);
	cr_assert_eq(m.hdr->counts[STATE_QUEUED], 0u);
	cr_assert_eq(m.hdr->counts[STATE_RUNNING], 1u);
	board_detach(&r);
	board_detach(&m);
}

Test(board, copies_lanes)
{
	struct board m;
	struct board_lane l = { .width = 8, .active = 2, .name = "subagent" },
	    got;

	cr_assert_eq(board_create(place.fd, 4, 1), 0);
	cr_assert_eq(board_attach(place.fd, true, &m), 0);
	cr_assert_eq(board_get_lane(&m, 5, &got), 0);
	board_put_lane(&m, 5, &l);
	cr_assert_eq(board_get_lane(&m, 5, &got), 1);
	cr_assert_str_eq(got.name, "subagent");
	cr_assert_eq(got.width, 8);
	cr_assert_eq(board_get_lane(&m, BOARD_LANES, &got), -EINVAL);
	board_detach(&m);
}

Test(board, refuses_a_file_that_is_none)
{
	struct board m, other;
	struct board_slot s = slot(1, STATE_RUNNING), got;
	struct board_slot *raw;

	cr_assert_eq(board_create(place.fd, 4, 1), 0);
	cr_assert_eq(board_attach(place.fd, true, &m), 0);
	m.hdr->stamp = ABI_STAMP(abi_table[ABI_BOARD].version + 1,
	    abi_table[ABI_BOARD].version + 1);
	cr_assert_eq(board_attach(place.fd, false, &other), -EPROTO);
	m.hdr->stamp = abi_stamp(ABI_BOARD);
	m.hdr->slot_count = 5;
	cr_assert_eq(board_attach(place.fd, false, &other), -EBADMSG);
	m.hdr->slot_count = 0x800004;
	cr_assert_eq(board_attach(place.fd, false, &other), -EBADMSG);
	m.hdr->slot_count = 4;
	m.hdr->magic = 1;
	cr_assert_eq(board_attach(place.fd, false, &other), -EBADMSG);
	m.hdr->magic = BOARD_MAGIC;
	/* a hostile slot: strings without end, a state that is none */
	board_put(&m, 0, &s);
	raw = (struct board_slot *)(void *)((char *)m.hdr + 8192);
	memset(raw->slug, 'x', sizeof(*raw) - offsetof(struct board_slot,
	    slug));
	cr_assert_eq(board_get(&m, 0, &got), 1);
	cr_assert_eq(strlen(got.slug), sizeof(got.slug) - 1);
	cr_assert_eq(strlen(got.command), sizeof(got.command) - 1);
	raw->state = 99;
	cr_assert_eq(board_get(&m, 0, &got), -EBADMSG);
	board_detach(&m);
}

static _Atomic int stop;

/* The master: every word of a slot says the same number. */
static void *
write_slots(void *arg)
{
	struct board *m = arg;
	struct board_slot s = slot(0, STATE_RUNNING);

	for (uint64_t n = 1; !stop; n++) {
		s.sid = s.created_ms = s.started_ms = s.total = n;
		memset(s.command, (int)('a' + n % 26), sizeof(s.command) - 1);
		board_put(m, 0, &s);
	}
	return NULL;
}

Test(board, never_shows_half_a_slot)
{
	unsigned got_it = 0, busy = 0;
	struct board m, r;
	struct board_slot s;
	pthread_t writer;

	cr_assert_eq(board_create(place.fd, 1, 1), 0);
	cr_assert_eq(board_attach(place.fd, true, &m), 0);
	cr_assert_eq(board_attach(place.fd, false, &r), 0);
	cr_assert_eq(pthread_create(&writer, NULL, write_slots, &m), 0);
	while (got_it < 2000) {
		int rc = board_get(&r, 0, &s);

		if (rc == -EBUSY) {
			busy++;
			sched_yield();
			continue;
		}
		if (rc == 0)
			continue;
		got_it++;
		cr_assert_eq(rc, 1);
		cr_assert(s.sid == s.total && s.sid == s.created_ms);
		for (size_t i = 0; i < sizeof(s.command) - 1; i++)
			cr_assert_eq(s.command[i], (char)('a' + s.sid % 26));
	}
	stop = 1;
	pthread_join(writer, NULL);
	board_detach(&r);
	board_detach(&m);
}
