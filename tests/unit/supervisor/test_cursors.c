/* SPDX-License-Identifier: MIT */
/* Places of readers, over a real index, across restarts of its master. */
#include "supervisor/store/cursors.h"

#include "common/check.h"
#include "lib_index.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(cursors, .timeout = 20);

struct rig {
	struct place in;
	struct cursors *c;
};

static const struct sid one = { 1 }, two = { 2 };

static void
rig_start(struct rig *rig)
{
	cr_assert_eq(cursors_open(rig->in.ix, &rig->c), 0);
}

static void
rig_open(struct rig *rig)
{
	place_make(&rig->in);
	rig_start(rig);
}

/* The master is lost; what it had not committed is gone. */
static void
rig_restart(struct rig *rig, bool commit)
{
	if (commit)
		cr_assert_eq(index_commit(rig->in.ix), 0);
	cursors_close(&rig->c);
	place_reopen(&rig->in);
	rig_start(rig);
}

static void
rig_close(struct rig *rig)
{
	cursors_close(&rig->c);
	place_remove(&rig->in);
}

/* A whole poll: staged, sent, confirmed. */
static void
poll_to(struct rig *rig, struct sid sid, const char *reader, uint64_t to,
    bool tells_end)
{
	uint64_t from = cursors_get(rig->c, sid, reader).pos;
	uint64_t ack =
	    cursors_stage(rig->c, sid, reader, from, to, tells_end);

	cr_assert_neq(ack, 0);
	cr_assert(cursors_confirm(rig->c, sid, reader, ack));
}

Test(cursors, a_new_reader_begins_at_the_beginning)
{
	struct rig rig;
	struct cursor cur;

	rig_open(&rig);
	cur = cursors_get(rig.c, one, "agent");
	cr_assert_eq(cur.pos, 0);
	cr_assert_eq(cur.empty_polls, 0);
	cr_assert_not(cur.end_told);
	rig_close(&rig);
}

Test(cursors, readers_do_not_steal_from_each_other)
{
	struct rig rig;

	rig_open(&rig);
	poll_to(&rig, one, "a", 100, false);
	poll_to(&rig, one, "b", 40, false);
	poll_to(&rig, two, "a", 7, true);
	poll_to(&rig, one, "", 3, false);
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 100);
	cr_assert_eq(cursors_get(rig.c, one, "b").pos, 40);
	cr_assert_eq(cursors_get(rig.c, one, "").pos, 3);
	cr_assert_eq(cursors_get(rig.c, two, "a").pos, 7);
	cr_assert(cursors_get(rig.c, two, "a").end_told);
	cr_assert_not(cursors_get(rig.c, one, "a").end_told);
	rig_close(&rig);
}

/* Who plays with names takes nobody else's place, and a bounded part of the
 * index. */
Test(cursors, a_session_has_so_many_readers)
{
	struct rig rig;
	char name[16];
	int kept = 0;

	rig_open(&rig);
	poll_to(&rig, one, "far", 1000, false);
	poll_to(&rig, two, "other", 1, false);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%d", i);
		poll_to(&rig, one, name, 10 + (uint64_t)i, false);
	}
	rig_restart(&rig, true);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%d", i);
		kept += cursors_get(rig.c, one, name).pos != 0;
	}
	cr_assert_eq(kept, 63, "%d", kept);
	cr_assert_eq(cursors_get(rig.c, one, "far").pos, 1000);
	cr_assert_eq(cursors_get(rig.c, two, "other").pos, 1);
	rig_close(&rig);
}

Test(cursors, what_was_not_confirmed_is_delivered_again)
{
	struct rig rig;
	uint64_t ack;

	rig_open(&rig);
	ack = cursors_stage(rig.c, one, "a", 0, 50, true);
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 0);
	cursors_unstage(rig.c, one, "a", ack);
	cr_assert_not(cursors_confirm(rig.c, one, "a", ack));
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 0);
	cr_assert_not(cursors_get(rig.c, one, "a").end_told);
	/* nothing of another reader's, or twice */
	ack = cursors_stage(rig.c, one, "a", 0, 50, false);
	cr_assert_not(cursors_confirm(rig.c, one, "b", ack));
	cr_assert_not(cursors_confirm(rig.c, two, "a", ack));
	cr_assert_not(cursors_confirm(rig.c, one, "a", ack + 1));
	cr_assert_not(cursors_confirm(rig.c, one, "a", 0));
	cr_assert(cursors_confirm(rig.c, one, "a", ack));
	cr_assert_not(cursors_confirm(rig.c, one, "a", ack));
	rig_close(&rig);
}

Test(cursors, confirmations_in_any_order_never_move_back)
{
	struct rig rig;
	uint64_t first, second;

	rig_open(&rig);
	first = cursors_stage(rig.c, one, "a", 0, 50, false);
	second = cursors_stage(rig.c, one, "a", 0, 80, true);
	cr_assert_neq(first, second);
	cr_assert(cursors_confirm(rig.c, one, "a", second));
	cr_assert(cursors_confirm(rig.c, one, "a", first));
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 80);
	cr_assert(cursors_get(rig.c, one, "a").end_told);
	rig_close(&rig);
}

Test(cursors, a_restart_keeps_the_confirmed_and_forgets_the_staged)
{
	struct rig rig;
	uint64_t ack, later;

	rig_open(&rig);
	poll_to(&rig, one, "a", 100, false);
	poll_to(&rig, two, "reader \xe2\x82\xac", 9, true);
	ack = cursors_stage(rig.c, one, "a", 100, 200, true);
	rig_restart(&rig, true);
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 100);
	cr_assert_not(cursors_get(rig.c, one, "a").end_told);
	cr_assert_eq(cursors_get(rig.c, two, "reader \xe2\x82\xac").pos, 9);
	cr_assert(cursors_get(rig.c, two, "reader \xe2\x82\xac").end_told);
	/* an ack of the lost master confirms nothing here */
	later = cursors_stage(rig.c, one, "a", 100, 300, false);
	cr_assert_neq(later, ack);
	cr_assert_not(cursors_confirm(rig.c, one, "a", ack));
	cr_assert(cursors_confirm(rig.c, one, "a", later));
	/* and what was not committed was never told */
	rig_restart(&rig, false);
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 100);
	rig_close(&rig);
}

Test(cursors, empty_polls_slow_the_next_one_down)
{
	static const uint32_t want[] = { 5000, 10000, 30000, 60000, 60000 };
	struct rig rig;
	struct cursor cur;

	rig_open(&rig);
	/* output counts as the first of them: the next is 10 s */
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = round; i < NELEMS(want); i++) {
			cur = cursors_get(rig.c, one, "a");
			cr_assert_eq(cur.empty_polls, i);
			cr_assert_eq(cursors_retry_ms(&cur), want[i]);
			poll_to(&rig, one, "a", cur.pos, false);
		}
		poll_to(&rig, one, "a", cur.pos + 1, false);
	}
	rig_close(&rig);
}

Test(cursors, forget_drops_all_readers_of_one_session)
{
	struct rig rig;

	rig_open(&rig);
	poll_to(&rig, one, "a", 1, false);
	poll_to(&rig, one, "b", 2, false);
	poll_to(&rig, one, "", 3, false);
	poll_to(&rig, two, "a", 4, false);
	cursors_forget(rig.c, one);
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 0);
	cr_assert_eq(cursors_get(rig.c, two, "a").pos, 4);
	rig_restart(&rig, true);
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 0);
	cr_assert_eq(cursors_get(rig.c, one, "b").pos, 0);
	cr_assert_eq(cursors_get(rig.c, one, "").pos, 0);
	cr_assert_eq(cursors_get(rig.c, two, "a").pos, 4);
	rig_close(&rig);
}

Test(cursors, names_and_stagings_are_bounded)
{
	struct rig rig;
	char name[200], long_name[129];
	uint64_t acks[20];

	rig_open(&rig);
	poll_to(&rig, one, "mine", 1000000, false);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		poll_to(&rig, one, name, 10 + i, false);
	}
	cr_assert_eq(cursors_get(rig.c, one, "mine").pos, 1000000);
	cr_assert_eq(cursors_get(rig.c, one, "r1999").pos, 2009);
	cr_assert_eq(cursors_get(rig.c, one, "r0").pos, 0, "made room");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[128] = '\0';
	cr_assert_eq(cursors_stage(rig.c, one, long_name, 0, 1, false), 0);
	long_name[127] = '\0';
	poll_to(&rig, one, long_name, 5, false);
	for (size_t i = 0; i < NELEMS(acks); i++)
		acks[i] = cursors_stage(rig.c, two, "a", 0, i + 1, false);
	cr_assert_not(cursors_confirm(rig.c, two, "a", acks[11]));
	cr_assert(cursors_confirm(rig.c, two, "a", acks[12]));
	cr_assert(cursors_confirm(rig.c, two, "a", acks[19]));
	cr_assert_eq(cursors_get(rig.c, two, "a").pos, 20);
	rig_restart(&rig, true);
	cr_assert_eq(cursors_get(rig.c, one, "mine").pos, 1000000);
	cr_assert_eq(cursors_get(rig.c, one, long_name).pos, 5);
	rig_close(&rig);
}

Test(cursors, damaged_records_are_skipped)
{
	static const struct {
		const char *key;
		size_t key_size;
		const char *val;
		size_t val_size;
	} rows[] = {
		{ "\0\0\0", 3, "\x80", 1 },            /* no session */
		{ "\0\0\0\0\0\0\0\1x", 9, "\xc1", 1 }, /* no msgpack */
		{ "\0\0\0\0\0\0\0\1y", 9, "\x80", 1 }, /* no version */
		{ "\0\0\0\0\0\0\0\1z", 9, "\x81\xa1v\x63", 4 }, /* newer */
		{ "\0\0\0\0\0\0\0\1a\0b", 11,
		    "\x82\xa1v\x02\xa3pos\x05", 9 },   /* NUL in a name */
	};
	struct rig rig;

	rig_open(&rig);
	poll_to(&rig, one, "a", 100, false);
	for (size_t i = 0; i < NELEMS(rows); i++)
		cr_assert_eq(index_put(rig.in.ix, INDEX_CURSORS,
		                 (struct index_bytes){ rows[i].key,
		                     rows[i].key_size },
		                 (struct index_bytes){ rows[i].val,
		                     rows[i].val_size }),
		    0);
	rig_restart(&rig, true);
	cr_assert_eq(cursors_get(rig.c, one, "a").pos, 100);
	for (size_t i = 1; i < NELEMS(rows); i++)
		cr_assert_eq(cursors_get(rig.c, (struct sid){ 1 },
		                 rows[i].key + 8).pos, i == 4 ? 100 : 0);
	rig_close(&rig);
}
