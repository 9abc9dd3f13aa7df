/* SPDX-License-Identifier: MIT */
/* Whose start is next: few at once, scopes by turns, and what hangs leaves its
 * place. The workers are sockets that nobody reads. */
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib_far.h"

#define MANY 400

static struct master m;
static struct session *all[MANY];
static size_t count;
static int far;

static void
begin(void)
{
	far = far_worker(&m);
}

static void
finish(void)
{
	for (size_t i = 0; i < count; i++) {
		starts_over(&m, all[i]);
		spec_free(&all[i]->record.spec);
		room_release(&all[i]->share.room);
		free(all[i]);
	}
	timer_free(&m.starts.timer);
	rooms_fini(&m);
	pool_fini(&m);
	event_base_free(m.base);
	close(far);
}

TestSuite(starts, .init = begin, .fini = finish, .timeout = 20);

/* So many of the scope want to start. */
static void
come(const char *scope, size_t n)
{
	static const char blob[] = "/\0x\0/bin/x";
	static char none[] = "";

	for (; n > 0; n--) {
		struct session *s = calloc(1, sizeof(*s));

		cr_assert(s != NULL && count < MANY);
		s->id.sid.v = count + 1;
		s->id.scope = s->id.request_key = none;
		s->state = STATE_STARTING;
		s->share.room = room_hold(&m, scope);
		s->record.spec = calloc(1, sizeof(*s->record.spec));
		cr_assert(s->share.room != NULL && s->record.spec != NULL);
		s->record.spec->argc = s->record.spec->path_count = 1;
		s->record.spec->blob = malloc(sizeof(blob));
		cr_assert_not_null(s->record.spec->blob);
		memcpy(s->record.spec->blob, blob, sizeof(blob));
		s->record.spec->blob_bytes = sizeof(blob);
		all[count++] = s;
		starts_enter(&m, s);
	}
}

/* Of a scope, in that state. */
static size_t
are(const char *scope, enum start_is is)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += strcmp(all[i]->share.room->name, scope) == 0 &&
		    all[i]->start.is == is;
	return n;
}

/* The oldest that is under way runs. */
static void
one_runs(void)
{
	struct session *s = TAILQ_FIRST(&m.starts.quick);

	cr_assert_not_null(s);
	starts_over(&m, s);
	starts_pump(&m);
}

/* Time passes, and nothing of what is under way begins. */
static void
hang(void)
{
	struct session *s;

	TAILQ_FOREACH(s, &m.starts.quick, start.link)
		s->start.ordered_ns = 0;
	starts_pump(&m);
}

Test(starts, few_at_once_and_in_order)
{
	come("a", 20);
	cr_assert_eq(are("a", START_QUICK), 0, "before the turn's end");
	starts_pump(&m);
	cr_assert_eq(are("a", START_QUICK), STARTS_QUICK);
	for (size_t i = 0; i < 20; i++)
		cr_assert_eq(all[i]->start.is == START_QUICK,
		    i < STARTS_QUICK);
	one_runs();
	cr_assert_eq(are("a", START_QUICK), STARTS_QUICK);
	cr_assert_eq(all[STARTS_QUICK]->start.is, START_QUICK);
	cr_assert_eq(m.workers[0].quick, STARTS_QUICK);
}

/* An older worker does not know what NO_LINKS asks of it: not for its eyes. */
Test(starts, without_links_are_not_for_older_workers)
{
	static struct ctl_msg msg;
	size_t seen = 0;

	come("a", 2);
	all[1]->record.spec->flags = CTL_START_NO_LINKS;
	starts_pump(&m);
	pool_turn_end(&m, true);
	while (ctl_recv(far, &msg) > 0) {
		if (msg.head.type != CTL_START)
			continue;
		cr_assert_eq(msg.head.reader,
		    msg.head.sid.v == 1 ? CTL_READER : CTL_READER_NO_LINKS);
		seen++;
	}
	cr_assert_eq(seen, 2);
}

Test(starts, scopes_take_turns)
{
	come("crowd", 100);
	starts_pump(&m);
	come("one", 2);
	one_runs();
	one_runs();
	cr_assert_geq(are("one", START_QUICK), 1, "it stands behind a crowd");
	one_runs();
	one_runs();
	cr_assert_eq(are("one", START_QUICK), 2);
}

Test(starts, what_hangs_leaves_its_place_and_a_share_to_others)
{
	const size_t all_slow = CTL_STARTS_MAX - STARTS_QUICK;

	come("hog", 200);
	starts_pump(&m);
	for (int i = 0; i < 20; i++)
		hang();
	/* what was under way when it reached its share stays so */
	cr_assert_geq(are("hog", START_SLOW), all_slow / 2);
	cr_assert_leq(are("hog", START_SLOW), all_slow / 2 + STARTS_QUICK);
	cr_assert_eq(are("hog", START_QUICK), 0);
	come("other", 1);
	starts_pump(&m);
	cr_assert_eq(are("other", START_QUICK), 1);
	/* a second hog has half of the rest, and nobody is ever shut out by
	 * these two */
	come("pig", 100);
	for (int i = 0; i < 20; i++)
		hang();
	cr_assert_leq(are("pig", START_SLOW),
	    all_slow / 4 + 1 + STARTS_QUICK);
	come("third", 1);
	starts_pump(&m);
	cr_assert_eq(are("third", START_QUICK), 1);
	/* where its own end, others of its own may begin */
	for (size_t i = 0; i < 60 && are("hog", START_QUICK) == 0; i++) {
		starts_over(&m, all[i]);
		hang();
	}
	cr_assert_geq(are("hog", START_QUICK), 1);
}

Test(starts, that_are_over_leave_nothing)
{
	come("a", 20);
	starts_pump(&m);
	hang();
	for (size_t i = 0; i < count; i++)
		starts_over(&m, all[i]);
	cr_assert(m.starts.slow == 0 && m.workers[0].slow == 0 &&
	    m.workers[0].quick == 0 && TAILQ_EMPTY(&m.starts.quick) &&
	    TAILQ_EMPTY(&m.starts.rooms));
}
