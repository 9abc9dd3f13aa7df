/* SPDX-License-Identifier: MIT */
/* Orders to workers: they leave after the commit, and a failed one loses none
 * that the next will stand for. */
#include <criterion/criterion.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_far.h"

static struct master m;
static int far; /* the worker's end */
static struct ctl_msg msg;

/* A master with one worker, played by the test. */
static void
begin(void)
{
	far = far_worker(&m);
}

static void
finish(void)
{
	pool_fini(&m);
	if (m.late_timer != NULL)
		event_free(m.late_timer);
	event_base_free(m.base);
	close(far);
}

TestSuite(pool, .init = begin, .fini = finish, .timeout = 10);

/* Stages a message that says nothing but its type. */
static void
order(unsigned type, uint64_t sid, bool committed_only)
{
	struct ctl_ended t = {.head = CTL_INIT((uint16_t)type, (struct sid){sid},
				  struct ctl_ended)};

	if (type != CTL_ENDED)
		t.head.size = sizeof(t.head);
	pool_order_to(&m.workers[0], t.head.sid, &t, t.head.size,
	    committed_only, -1);
}

/* The next message is of this type and session. */
static void
expect_next(unsigned type, uint64_t sid)
{
	cr_assert_eq(ctl_recv(far, &msg), 1, "nothing came");
	cr_assert_eq(msg.head.type, type, "%s came",
	    ctl_type_name(msg.head.type));
	cr_assert_eq(msg.head.sid.v, sid);
}

static void
expect_nothing(void)
{
	cr_assert_eq(ctl_recv(far, &msg), -EAGAIN, "%s came",
	    ctl_type_name(msg.head.type));
}

Test(pool, nothing_leaves_before_the_turn_ends)
{
	order(CTL_ENDED, 1, true);
	order(CTL_READY, 2, false);
	expect_nothing();
	pool_turn_end(&m, true);
	expect_next(CTL_ENDED, 1);
	expect_next(CTL_READY, 2);
	expect_nothing();
}

Test(pool, a_failed_commit_keeps_what_depends_on_it)
{
	order(CTL_ENDED, 1, true);
	order(CTL_READY, 1, false); /* must not overtake */
	order(CTL_READY, 2, false);
	pool_turn_end(&m, false);
	expect_next(CTL_READY, 2);
	expect_nothing();
	pool_turn_end(&m, false);
	expect_nothing();
	pool_turn_end(&m, true);
	expect_next(CTL_ENDED, 1);
	expect_next(CTL_READY, 1);
	expect_nothing();
}

Test(pool, what_is_taken_back_is_never_ordered)
{
	order(CTL_ENDED, 1, true);
	order(CTL_ENDED, 2, true);
	pool_turn_end(&m, false);
	pool_drop_orders(&m, (struct sid){1});
	pool_turn_end(&m, true);
	expect_next(CTL_ENDED, 2);
	expect_nothing();
}

/* ENDED, which may wait; the keeper has places for so many sessions. */
static void
late(uint64_t sid, uint32_t places)
{
	struct ctl_ended t = {.head = CTL_INIT(CTL_ENDED, (struct sid){sid},
				  struct ctl_ended)};

	m.h.max_sessions = places;
	pool_order_late(&m.workers[0], t.head.sid, &t, sizeof(t));
}

Test(pool, what_may_wait_leaves_before_the_next)
{
	late(1, 1000);
	pool_turn_end(&m, true);
	expect_nothing();
	late(2, 1000);
	order(CTL_READY, 3, false);
	pool_turn_end(&m, true);
	expect_next(CTL_ENDED, 1);
	expect_next(CTL_ENDED, 2);
	expect_next(CTL_READY, 3);
	expect_nothing();
}

Test(pool, what_may_wait_leaves_by_itself_in_the_end)
{
	late(1, 1000);
	pool_turn_end(&m, true);
	expect_nothing();
	cr_assert_eq(event_base_loop(m.base, EVLOOP_ONCE), 0);
	pool_turn_end(&m, true);
	expect_next(CTL_ENDED, 1);
	expect_nothing();
}

/* What another worker waits for is no company. */
Test(pool, nobody_waits_for_anothers_time)
{
	struct ctl_ended t = {.head = CTL_INIT(CTL_ENDED, (struct sid){2},
				 struct ctl_ended)};
	int ends[2], first = far;

	far_pair(ends);
	pool_on_peer(&m, &(struct ctl_peer){.wid = {1, 1}, .pid = 1,
	    .role = HERITAGE_WORKER}, ends[0]);
	late(1, 1000);
	pool_turn_end(&m, true);
	pool_order_late(&m.workers[1], t.head.sid, &t, sizeof(t));
	pool_turn_end(&m, true);
	m.workers[1].late_ns = m.workers[0].late_ns + NSEC_PER_MSEC / 2;
	cr_assert_eq(event_base_loop(m.base, EVLOOP_ONCE), 0);
	pool_turn_end(&m, true);
	expect_next(CTL_ENDED, 1);
	far = ends[1];
	expect_next(CTL_ENDED, 2);
	close(ends[1]);
	far = first;
}

Test(pool, nothing_waits_where_places_are_few)
{
	late(1, 100);
	pool_turn_end(&m, true);
	expect_next(CTL_ENDED, 1);
	expect_nothing();
}
