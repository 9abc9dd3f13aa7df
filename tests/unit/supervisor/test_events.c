/* SPDX-License-Identifier: MIT */
/* The event log over a real index, across restarts of its master. */
#include "supervisor/store/events.h"

#include "common/check.h"
#include "lib_index.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(events, .timeout = 60);

struct rig {
	struct place in;
	struct events *ev;
	uint64_t keep;
};

static void
rig_start(struct rig *rig)
{
	cr_assert_eq(events_open(rig->in.ix, rig->keep, &rig->ev), 0);
}

static void
rig_open(struct rig *rig, uint64_t keep)
{
	place_make(&rig->in);
	rig->keep = keep;
	rig_start(rig);
}

/* The master is lost; what it had not committed is gone. */
static void
rig_restart(struct rig *rig, bool commit)
{
	if (commit)
		cr_assert_eq(index_commit(rig->in.ix), 0);
	events_close(&rig->ev);
	place_reopen(&rig->in);
	rig_start(rig);
}

static void
rig_close(struct rig *rig)
{
	events_close(&rig->ev);
	place_remove(&rig->in);
}

static int64_t
append(struct rig *rig, const char *scope, uint64_t sid)
{
	const struct event_in in = { .scope = scope, .sid = { sid },
		.kind = "exited", .slug = "nova-gulf", .text = "done",
		.status = "completed", .exit_reason = "exit",
		.exit_code = 0, .at_ms = 5 };

	return events_append(rig->ev, &in);
}

static int
note_seq(void *arg, uint64_t seq, const void *map, size_t size)
{
	char *list = arg;

	cr_assert_gt(size, 10);
	cr_assert_not_null(map);
	snprintf(list + strlen(list), 2000 - strlen(list), "%s%llu",
	    list[0] == '\0' ? "" : " ", (unsigned long long)seq);
	return 0;
}

/* The numbers that a read gives, as text. */
static const char *
seqs(struct rig *rig, const char *scope, uint64_t since, uint32_t limit)
{
	static char list[2000];

	list[0] = '\0';
	cr_assert_eq(events_read(rig->ev, scope, since, EVENT_ALL, limit, note_seq,
	                 list),
	    0);
	return list;
}

/* Records that are in the index. */
static int
count_one(void *arg, struct index_bytes key, struct index_bytes val)
{
	(void)key;
	(void)val;
	++*(size_t *)arg;
	return 0;
}

static size_t
records(struct rig *rig)
{
	size_t n = 0;

	cr_assert_eq(index_scan(rig->in.ix, INDEX_EVENTS,
	                 (struct index_bytes){ "\0", 1 }, count_one, &n),
	    0);
	return n;
}

/* ----------------------------------------------------------------- reading */

Test(events, numbers_only_grow_and_scopes_are_apart)
{
	struct rig rig;

	rig_open(&rig, 100);
	cr_assert_eq(events_last(rig.ev), 0);
	cr_assert_eq(append(&rig, "a", 1), 1);
	cr_assert_eq(append(&rig, "b", 2), 2);
	cr_assert_eq(append(&rig, "a", 3), 3);
	cr_assert_eq(append(&rig, "", 4), 4);
	cr_assert_eq(events_last(rig.ev), 4);
	cr_assert_str_eq(seqs(&rig, "a", 0, 100), "1 3");
	cr_assert_str_eq(seqs(&rig, "a", 1, 100), "3");
	cr_assert_str_eq(seqs(&rig, "a", 3, 100), "");
	cr_assert_str_eq(seqs(&rig, "b", 0, 100), "2");
	cr_assert_str_eq(seqs(&rig, "c", 0, 100), "");
	cr_assert_str_eq(seqs(&rig, NULL, 0, 100), "1 2 3 4");
	cr_assert_str_eq(seqs(&rig, "", 2, 1), "3");
	cr_assert_str_eq(seqs(&rig, NULL, 0, 0), "");
	cr_assert_str_eq(seqs(&rig, NULL, UINT64_MAX, 10), "");
	rig_close(&rig);
}

static int
check_map(void *arg, uint64_t seq, const void *map, size_t size)
{
	struct codec_arena *arena;
	const struct val *v;
	char why[80], text[80];
	size_t used;

	cr_assert_eq(codec_decode(map, size, &codec_limits_default, &used,
	                 &arena, &v, why, sizeof(why)),
	    CODEC_OK);
	cr_assert_eq(used, size);
	cr_assert_eq(val_uint(v, "seq", 0), seq);
	cr_assert(val_is_str(val_get(v, "kind"), "exited"));
	cr_assert(val_is_str(val_get(v, "sessionId"), "warm-reef"));
	cr_assert(val_is_str(val_get(v, "scope"), "a"));
	cr_assert(val_is_str(val_get(v, "sessionKey"), "chat"));
	cr_assert(val_is_str(val_get(v, "exitSignal"), "SIGKILL"));
	cr_assert(val_is_str(val_get(v, "exitReason"), "signal"));
	cr_assert(val_is_str(val_get(v, "status"), "failed"));
	cr_assert_eq(val_get(v, "exitCode")->type, VAL_NIL);
	cr_assert_eq(val_uint(v, "at", 0), 123456789);
	val_copy(v, "instanceId", text, sizeof(text));
	cr_assert_str_eq(text, seq == 1 ? "00000000000000ab" : "own");
	val_copy(v, "text", text, sizeof(text));
	cr_assert_str_eq(text, "Exec failed :: \u20ac");
	codec_arena_free(&arena);
	return ++*(int *)arg == 2 ? 42 : 0;
}

Test(events, the_map_is_the_notification)
{
	struct rig rig;
	struct event_in in = { .scope = "a", .sid = { 0xab },
		.kind = "exited", .slug = "warm-reef", .session_key = "chat",
		.text = "Exec failed :: \u20ac", .status = "failed",
		.exit_signal = "SIGKILL", .exit_reason = "signal",
		.exit_code = -1, .at_ms = 123456789 };
	int seen = 0;

	rig_open(&rig, 100);
	cr_assert_eq(events_append(rig.ev, &in), 1);
	in.instance_id = "own";
	cr_assert_eq(events_append(rig.ev, &in), 2);
	cr_assert_eq(events_append(rig.ev, &in), 3);
	cr_assert_eq(events_read(rig.ev, "a", 0, EVENT_ALL, 9, check_map, &seen), 42);
	cr_assert_eq(seen, 2, "what fn returns ends the read");
	rig_close(&rig);
}

struct acking {
	struct rig *rig;
	uint64_t seen;
};

static int
ack_each(void *arg, uint64_t seq, const void *map, size_t size)
{
	struct acking *a = arg;

	(void)map;
	(void)size;
	a->seen++;
	cr_assert_eq(events_ack(a->rig->ev, "a", NULL, seq), seq);
	return 0;
}

Test(events, a_reader_may_acknowledge_as_it_reads)
{
	struct rig rig;
	struct acking a = { &rig, 0 };

	rig_open(&rig, 100);
	for (uint64_t i = 1; i <= 50; i++)
		append(&rig, "a", i);
	cr_assert_eq(events_read(rig.ev, "a", 0, EVENT_ALL, 100, ack_each, &a), 0);
	cr_assert_eq(a.seen, 50);
	cr_assert_eq(records(&rig), 0);
	rig_close(&rig);
}

/* ----------------------------------------------------------- acknowledging */

Test(events, all_subscribers_of_the_scope_must_have_it)
{
	struct rig rig;

	rig_open(&rig, 100);
	cr_assert_eq(events_place(rig.ev, "a", "a"), 0);
	cr_assert_eq(events_place(rig.ev, "a", "logger"), 0);
	append(&rig, "a", 1);
	append(&rig, "a", 2);
	append(&rig, "a", 3);
	cr_assert_eq(events_ack(rig.ev, "a", "a", 2), 2);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "1 2 3");
	cr_assert_eq(events_ack(rig.ev, "a", "logger", 1), 1);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "2 3");
	cr_assert_eq(events_ack(rig.ev, "a", "logger", 3), 3);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "3");
	cr_assert_eq(events_ack(rig.ev, "a", "", 3), 3, "the same as a");
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "");
	cr_assert_eq(records(&rig), 0);
	cr_assert_eq(events_overflowed(rig.ev, "a"), 0);
	rig_close(&rig);
}

Test(events, a_place_never_moves_back_nor_beyond_the_newest)
{
	struct rig rig;

	rig_open(&rig, 100);
	append(&rig, "a", 1);
	append(&rig, "a", 2);
	cr_assert_eq(events_ack(rig.ev, "a", "x", 2), 2);
	cr_assert_eq(events_ack(rig.ev, "a", "x", 1), 2);
	cr_assert_eq(events_ack(rig.ev, "a", "x", 999), 2);
	append(&rig, "a", 3);
	cr_assert_str_eq(seqs(&rig, "a", events_place(rig.ev, "a", "x"), 9),
	    "3");
	rig_close(&rig);
}

Test(events, administrators_count_only_where_nobody_else_does)
{
	struct rig rig;

	rig_open(&rig, 100);
	events_place(rig.ev, "a", "a");
	events_place(rig.ev, NULL, "ops");
	append(&rig, "a", 1);
	append(&rig, "b", 2);
	append(&rig, "", 3);
	cr_assert_eq(events_ack(rig.ev, "", "ops", 3), 3);
	cr_assert_str_eq(seqs(&rig, NULL, 0, 10), "1");
	append(&rig, "a", 4);
	cr_assert_eq(events_ack(rig.ev, "a", "a", 4), 4);
	cr_assert_str_eq(seqs(&rig, NULL, 0, 10), "");
	/* a second administrator: both must have it */
	events_place(rig.ev, NULL, "night");
	append(&rig, "b", 5);
	events_ack(rig.ev, NULL, "ops", 5);
	cr_assert_str_eq(seqs(&rig, NULL, 0, 10), "5");
	events_ack(rig.ev, NULL, "night", 5);
	cr_assert_str_eq(seqs(&rig, NULL, 0, 10), "");
	rig_close(&rig);
}

Test(events, a_terminal_poll_acknowledges)
{
	struct rig rig;

	rig_open(&rig, 100);
	/* nobody ever subscribed: the poll is enough */
	append(&rig, "a", 1);
	append(&rig, "a", 2);
	events_ack_session(rig.ev, "b", (struct sid){ 1 });
	events_ack_session(rig.ev, "a", (struct sid){ 9 });
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "1 2");
	events_ack_session(rig.ev, "a", (struct sid){ 2 });
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "1");
	/* the scope's own subscriber: out of order, too */
	events_place(rig.ev, "a", "a");
	append(&rig, "a", 3);
	append(&rig, "a", 4);
	events_ack_session(rig.ev, "a", (struct sid){ 3 });
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "1 4");
	cr_assert(events_acked(rig.ev, "a", "a", 3));
	cr_assert_not(events_acked(rig.ev, "a", "a", 4));
	rig_close(&rig);
}

Test(events, others_still_get_what_a_poll_told)
{
	struct rig rig;

	rig_open(&rig, 100);
	events_place(rig.ev, "a", "a");
	events_place(rig.ev, "a", "logger");
	append(&rig, "a", 1);
	append(&rig, "a", 2);
	events_ack_session(rig.ev, "a", (struct sid){ 2 });
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "1 2");
	cr_assert(events_acked(rig.ev, "a", "a", 2));
	cr_assert_not(events_acked(rig.ev, "a", "a", 1));
	cr_assert_not(events_acked(rig.ev, "a", "logger", 2));
	rig_restart(&rig, true);
	cr_assert(events_acked(rig.ev, "a", "a", 2), "also after a restart");
	cr_assert_not(events_acked(rig.ev, "a", "logger", 2));
	events_ack(rig.ev, "a", "logger", 2);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "1");
	cr_assert(events_acked(rig.ev, "a", "logger", 1));
	rig_close(&rig);
}

/* ------------------------------------------------------------------ bounds */

Test(events, the_bound_is_per_scope_and_overflow_is_counted)
{
	struct rig rig;

	rig_open(&rig, 3);
	append(&rig, "b", 100);
	for (uint64_t i = 1; i <= 10; i++)
		append(&rig, "a", i);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "9 10 11");
	cr_assert_str_eq(seqs(&rig, "b", 0, 10), "1");
	cr_assert_eq(events_overflowed(rig.ev, "a"), 7);
	cr_assert_eq(events_overflowed(rig.ev, "b"), 0);
	cr_assert_eq(records(&rig), 4);
	events_set_keep(rig.ev, 2);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "10 11");
	rig.keep = 1;
	rig_restart(&rig, true);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "11");
	cr_assert_eq(events_overflowed(rig.ev, "a"), 9);
	cr_assert_eq(events_overflowed(rig.ev, NULL), 9);
	events_set_keep(rig.ev, 0);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "11", "at least one");
	rig_close(&rig);
}

Test(events, names_and_subscribers_are_bounded)
{
	struct rig rig;
	char name[300];

	rig_open(&rig, 10);
	memset(name, 'x', sizeof(name));
	name[128] = '\0';
	cr_assert_eq(append(&rig, name, 1), -ENAMETOOLONG);
	cr_assert_eq(events_place(rig.ev, name, "a"), 0);
	cr_assert_eq(events_place(rig.ev, "a", name), 0);
	cr_assert_eq(events_last(rig.ev), 0);
	append(&rig, "a", 1);
	append(&rig, "a", 2);
	cr_assert_eq(events_ack(rig.ev, "a", "mine", 2), 2);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		events_place(rig.ev, "a", name);
	}
	cr_assert_eq(events_place(rig.ev, "a", "mine"), 2);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- restarts */

Test(events, everything_is_back_after_a_restart)
{
	struct rig rig;

	rig_open(&rig, 100);
	events_place(rig.ev, "a", "a");
	events_place(rig.ev, NULL, "");
	append(&rig, "a", 1);
	append(&rig, "b", 2);
	append(&rig, "a", 3);
	events_ack(rig.ev, "a", "a", 1);
	rig_restart(&rig, true);
	cr_assert_eq(events_last(rig.ev), 3);
	cr_assert_eq(events_place(rig.ev, "a", "a"), 1);
	cr_assert_str_eq(seqs(&rig, NULL, 0, 10), "2 3");
	/* the numbers go on even where nothing is left */
	events_ack(rig.ev, "a", "a", 3);
	events_ack(rig.ev, NULL, NULL, 3);
	cr_assert_eq(records(&rig), 0);
	rig_restart(&rig, true);
	cr_assert_eq(append(&rig, "b", 4), 4);
	/* what was not committed was told to nobody */
	rig_restart(&rig, false);
	cr_assert_eq(events_last(rig.ev), 3);
	cr_assert_str_eq(seqs(&rig, NULL, 0, 10), "");
	rig_close(&rig);
}

Test(events, numbers_survive_when_polls_told_everything)
{
	struct rig rig;

	rig_open(&rig, 100);
	append(&rig, "a", 1);
	append(&rig, "a", 2);
	events_ack_session(rig.ev, "a", (struct sid){ 1 });
	events_ack_session(rig.ev, "a", (struct sid){ 2 });
	cr_assert_eq(records(&rig), 0);
	rig_restart(&rig, true);
	cr_assert_eq(append(&rig, "a", 3), 3);
	rig_close(&rig);
}

Test(events, damaged_records_are_skipped)
{
	static const struct {
		enum index_db db;
		const char *key;
		size_t key_size;
		const char *val;
		size_t val_size;
	} rows[] = {
		{ INDEX_EVENTS, "\0\0\0\0\0\0\0\7", 8, "\xc1", 1 },
		{ INDEX_EVENTS, "\0\0\0\0\0\0\0\x8", 8, "\x81\xa1v\x63", 4 },
		{ INDEX_EVENTS, "\0\7", 2, "\x81\xa1v\x02", 4 },
		{ INDEX_SUBS, "no-nul", 6, "\x82\xa1v\x02\xa1n\x05", 7 },
		{ INDEX_SUBS, "a\0x\0y", 5, "\x82\xa1v\x02\xa1n\x05", 7 },
		{ INDEX_SUBS, "a\0z", 3, "", 0 },
		{ INDEX_META, "events-overflow\0a", 17, "\x05", 1 },
		{ INDEX_META, "events-last", 11, "x", 1 },
	};
	struct rig rig;

	rig_open(&rig, 100);
	append(&rig, "a", 1);
	append(&rig, "a", 2);
	for (size_t i = 0; i < NELEMS(rows); i++)
		cr_assert_eq(index_put(rig.in.ix, rows[i].db,
		                 (struct index_bytes){ rows[i].key,
		                     rows[i].key_size },
		                 (struct index_bytes){ rows[i].val,
		                     rows[i].val_size }),
		    0);
	rig_restart(&rig, true);
	cr_assert_eq(events_overflowed(rig.ev, "a"), 0);
	cr_assert_eq(events_place(rig.ev, "a", "z"), 0);
	cr_assert_str_eq(seqs(&rig, "a", 0, 10), "1 2");
	cr_assert_eq(append(&rig, "a", 3), 9, "their numbers are used up");
	rig_close(&rig);
}

Test(events, many_scopes_do_not_slow_each_other)
{
	struct rig rig;
	char scope[32];

	rig_open(&rig, 100);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(scope, sizeof(scope), "s%u", i % 200);
		cr_assert_eq(append(&rig, scope, i + 1), i + 1);
	}
	cr_assert_str_eq(seqs(&rig, "s7", 19000, 10),
	    "19008 19208 19408 19608 19808");
	for (unsigned i = 0; i < 200; i++) {
		snprintf(scope, sizeof(scope), "s%u", i);
		events_ack(rig.ev, scope, NULL, UINT64_MAX);
	}
	cr_assert_eq(records(&rig), 0);
	rig_close(&rig);
}

Test(events, idle_scopes_make_room)
{
	struct rig rig;
	char scope[32];

	rig_open(&rig, 10);
	append(&rig, "kept", 1);
	events_place(rig.ev, "kept", "a");
	for (unsigned i = 0; i < 70000; i++) {
		snprintf(scope, sizeof(scope), "s%u", i);
		cr_assert_eq(append(&rig, scope, 1), i + 2);
		cr_assert_eq(events_ack(rig.ev, scope, NULL, i + 2), i + 2);
	}
	cr_assert_str_eq(seqs(&rig, "kept", 0, 10), "1");
	cr_assert_eq(events_place(rig.ev, "s69999", NULL), 70001);
	cr_assert_eq(records(&rig), 1);
	rig_restart(&rig, true);
	cr_assert_str_eq(seqs(&rig, NULL, 0, 10), "1");
	rig_close(&rig);
}

/* ------------------------------------------------------------------- kinds */

static int64_t
append_kind(struct rig *rig, const char *kind, uint64_t sid)
{
	const struct event_in in = { .scope = "a", .sid = { sid },
		.kind = kind, .slug = "nova-gulf", .text = "news",
		.exit_code = -1, .more = { { "pid", 7 } } };

	return events_append(rig->ev, &in);
}

static const char *
seqs_of(struct rig *rig, uint32_t kinds)
{
	static char list[2000];

	list[0] = '\0';
	cr_assert_eq(events_read(rig->ev, "a", 0, kinds, 100, note_seq,
	                 list),
	    0);
	return list;
}

Test(events, news_have_numbers_of_the_same_row_and_a_bound_of_their_own)
{
	struct rig rig;

	rig_open(&rig, 2);
	cr_assert_eq(append(&rig, "a", 1), 1);
	for (uint64_t i = 2; i < 6; i++)
		cr_assert_eq(append_kind(&rig, "started", i), (int64_t)i);
	cr_assert_eq(append_kind(&rig, "lost", 6), 6);
	for (int again = 0; again < 2; again++) {
		cr_assert_str_eq(seqs_of(&rig, EVENT_ENDS), "1 6");
		cr_assert_str_eq(seqs_of(&rig, EVENT_BIT(EVENT_STARTED)),
		    "4 5");
		cr_assert_str_eq(seqs_of(&rig, EVENT_ALL), "1 4 5 6");
		cr_assert_str_eq(seqs_of(&rig, EVENT_BIT(EVENT_LANE_WAIT)), "");
		cr_assert_eq(events_overflowed(rig.ev, "a"), 0);
		rig_restart(&rig, true);
	}
	cr_assert_eq(append_kind(&rig, "exited", 7), 7);
	cr_assert_str_eq(seqs_of(&rig, EVENT_ALL), "4 5 6 7");
	cr_assert_eq(events_overflowed(rig.ev, "a"), 1);
	/* an acknowledgement is of every number up to there */
	cr_assert_eq(events_place(rig.ev, "a", "x"), 0);
	cr_assert_eq(events_ack(rig.ev, "a", "x", 6), 6);
	cr_assert_str_eq(seqs_of(&rig, EVENT_ALL), "7");
	cr_assert_eq(records(&rig), 1);
	rig_close(&rig);
}

Test(events, a_poll_tells_an_end_and_no_news)
{
	struct rig rig;

	rig_open(&rig, 10);
	cr_assert_eq(append_kind(&rig, "started", 5), 1);
	cr_assert_eq(append_kind(&rig, "exited", 5), 2);
	events_ack_session(rig.ev, "a", (struct sid){ 5 });
	cr_assert_str_eq(seqs_of(&rig, EVENT_ALL), "1");
	rig_close(&rig);
}
