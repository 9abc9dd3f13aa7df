/* SPDX-License-Identifier: MIT */
/* What the keeper says, where the master has no descriptor left; and rows of
 * its table, where a dead worker's last words come after them; and late words
 * on upgrades. */
#include <criterion/criterion.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/stats.h"
#include "supervisor/api/method.h"
#include "supervisor/gate/gate.h"

#include "lib_far.h"
#include "lib_index.h"

static struct master *m;
static int keeper; /* its end of the channel */
static struct ctl_msg msg;

static void
begin(void)
{
	int ends[2];

	far_pair(ends);
	keeper = ends[1];
	m = calloc(1, sizeof(*m));
	cr_assert_not_null(m);
	m->base = event_base_new();
	m->running = true;
	m->keeper_fd = ends[0];
	m->reconciled = true;
	starts_init(m);
	TAILQ_INIT(&m->dirty);
	TAILQ_INIT(&m->ended);
	TAILQ_INIT(&m->ends);
	rooms_init(m);
	rank_init(&m->expiring, sweep_cmp);
	pool_init(m);
	cr_assert_eq(link_open(m), 0);
	cr_assert_eq(ctl_recv(keeper, &msg), 1);
	cr_assert_eq(msg.head.type, CTL_READY);
}

static void
finish(void)
{
	link_close(m);
	close(m->keeper_fd);
	pool_fini(m);
	event_base_free(m->base);
	free(m);
	close(keeper);
}

TestSuite(link, .init = begin, .fini = finish, .timeout = 20);

/* The keeper sends a channel to a worker; the worker's end. */
static int
send_peer_of(struct wid wid)
{
	struct ctl_peer p = {.head = CTL_INIT(CTL_PEER, (struct sid){0},
	                         struct ctl_peer),
	    .wid = wid, .pid = 1, .role = HERITAGE_WORKER};
	int ends[2];

	far_pair(ends);
	cr_assert_eq(ctl_send(keeper, &p, sizeof(p), &ends[0], 1), 0);
	close(ends[0]);
	return ends[1];
}

/* To worker 3.5. */
static int
send_peer(void)
{
	return send_peer_of((struct wid){3, 5});
}

/* No descriptor can be opened, or they can again. */
static void
descriptors(bool yes)
{
	struct rlimit rl;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = yes ? rl.rlim_max : 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
}

Test(link, a_channel_that_found_no_descriptor_is_asked_for_again)
{
	struct ctl_role ask;
	int far = send_peer();

	descriptors(false);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	descriptors(true);
	cr_expect(m->running);
	cr_expect_null(pool_get(m, (struct wid){3, 5}));
	cr_assert_eq(ctl_recv(keeper, &msg), 1);
	cr_assert_eq(msg.head.type, CTL_ASK_PEER);
	memcpy(&ask, msg.bytes, sizeof(ask));
	cr_expect(wid_eq(ask.wid, (struct wid){3, 5}));
	close(far);
	far = send_peer();
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	cr_expect_not_null(pool_get(m, (struct wid){3, 5}));
	close(far);
}

/* A session that was given to worker 3.5 and waits to be heard of. */
static struct session *
given(uint32_t state)
{
	struct session *s = session_new();

	cr_assert_not_null(s);
	s->id.sid.v = 9;
	s->id.scope = strdup("");
	s->wish.command = strdup("c");
	s->id.name = strdup("c");
	s->wish.cwd = strdup("/");
	s->id.label = strdup("");
	s->id.session_key = strdup("");
	s->id.request_key = strdup("");
	s->wish.lane = strdup("");
	s->state = state;
	custody_given(&s->custody, (struct wid){3, 5}, 1);
	cr_assert_eq(registry_add(m, s), 0);
	return s;
}

/* As a new master knows it, and `known` as the one that gave it. */
static void
know(struct session *s, bool known)
{
	if (!known)
		custody_load(&s->custody, s->tries.attempt + 1);
}

#define FIRST  TURN_OF_START(1) /* its start */
#define HANDED (FIRST + 1)      /* ... and a hand-over */

Test(link, the_last_words_of_the_dead_do_not_undo_the_keepers_row)
{
	struct ctl_held row = {.head = CTL_INIT(CTL_HELD, (struct sid){9},
	                           struct ctl_held),
	    .wid = {3, 5}, .next = {4, 1}, .pid = 4711,
	    .mask = CTL_HELD_DOWN, .turn = HANDED};
	struct ctl_peer down = {.head = CTL_INIT(CTL_WORKER_DOWN,
	                            (struct sid){0}, struct ctl_peer),
	    .wid = {3, 5}, .pid = 1};
	struct ctl_running last = {.head = CTL_INIT(CTL_RUNNING,
	                               (struct sid){9}, struct ctl_running),
	    .pid = 4711, .turn = FIRST};
	struct session *s = given(STATE_RUNNING);
	int far = send_peer();

	event_base_loop(m->base, EVLOOP_NONBLOCK);
	/* the keeper's words are read first, then the worker's last ones */
	cr_assert_eq(ctl_send(far, &last, sizeof(last), NULL, 0), 0);
	cr_assert_eq(ctl_send(keeper, &row, sizeof(row), NULL, 0), 0);
	recover_on_held(m, &row);
	session_on_running(m, pool_get(m, row.wid), &last);
	cr_expect_eq(s->custody.state, CUSTODY_EXPECT,
	    "the row is forgotten");
	pool_on_down(m, &down);
	cr_expect_eq(s->state, (uint32_t)STATE_RUNNING,
	    "ended, though another worker takes it over");
	close(far);
	registry_drop(m, s);
}

/* Worker 3.5 dies, 4.1 takes its session over; what is read of both, and of the
 * keeper, comes in any order that three channels allow. */
static void
expect_heir(bool known, const char *order)
{
	static const struct wid dead = {3, 5}, heir = {4, 1};
	struct ctl_held row = {.head = CTL_INIT(CTL_HELD, (struct sid){9},
	                           struct ctl_held),
	    .wid = dead, .next = heir, .pid = 4711,
	    .mask = CTL_HELD_DOWN, .turn = HANDED};
	struct ctl_peer down = {.head = CTL_INIT(CTL_WORKER_DOWN,
	                            (struct sid){0}, struct ctl_peer),
	    .wid = dead, .pid = 1};
	struct ctl_running run = {.head = CTL_INIT(CTL_RUNNING,
	                              (struct sid){9}, struct ctl_running),
	    .pid = 4711};
	struct session *s = given(STATE_RUNNING);
	int far[2] = {send_peer(), send_peer_of(heir)};

	know(s, known);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	cr_assert(pool_get(m, dead) != NULL && pool_get(m, heir) != NULL);
	for (const char *c = order; *c != '\0'; c++) {
		run.turn = *c == 'h' ? HANDED : FIRST;
		if (*c == 'k')
			recover_on_held(m, &row);
		else
			session_on_running(m,
			    pool_get(m, *c == 'h' ? heir : dead), &run);
	}
	pool_on_down(m, &down);
	cr_expect_eq(s->state, (uint32_t)STATE_RUNNING, "%s: ended", order);
	cr_expect(s->custody.state == CUSTODY_HAS &&
		wid_eq(s->custody.who, heir), "%s: belongs to %u.%u",
	    order, s->custody.who.slot, s->custody.who.generation);
	close(far[0]);
	close(far[1]);
	TAILQ_INIT(&m->dirty); /* nothing is written here */
	registry_drop(m, s);
}

Test(link, the_last_words_of_the_dead_do_not_undo_its_heirs)
{
	/* k: the keeper's row, h: the heir speaks, d: the dead one does */
	static const char *const orders[] = {"khd", "hkd", "hdk", "dkh",
	    "kdh", "dhk", "h", "kh", "hk"};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		expect_heir(true, orders[i]);
		if (strchr(orders[i], 'k') != NULL)
			expect_heir(false, orders[i]);
	}
}

/* What an end needs of a master. */
static void
can_end_sessions(void)
{
	m->board.hdr = calloc(1, sizeof(*m->board.hdr));
	m->lanes = lanes_new();
	cr_assert(m->board.hdr != NULL && m->lanes != NULL);
	cr_assert_eq(gate_init(m), 0);
}

Test(link, an_end_counts_though_the_dead_spoke_after_its_heir)
{
	static const struct wid dead = {3, 5}, heir = {4, 1};
	struct ctl_running run = {.head = CTL_INIT(CTL_RUNNING,
	                              (struct sid){9}, struct ctl_running),
	    .pid = 4711};
	struct ctl_end end = {.head = CTL_INIT(CTL_END, (struct sid){9},
	                          struct ctl_end),
	    .exit = {.code = CLD_EXITED, .pid = 4711}, .reason = END_EXIT};
	struct session *s = given(STATE_RUNNING);
	int far[2] = {send_peer(), send_peer_of(heir)};

	can_end_sessions();
	know(s, false);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	run.turn = end.turn = HANDED;
	session_on_running(m, pool_get(m, heir), &run);
	run.turn = FIRST;
	session_on_running(m, pool_get(m, dead), &run);
	/* it is said once, and the keeper's row has not come yet */
	session_on_end(m, pool_get(m, heir), &end);
	cr_expect_eq(s->state, (uint32_t)STATE_ENDED, "goes on for ever");
	close(far[0]);
	close(far[1]);
}

/* Its RUNNING of an ended session would have the worker kill what runs. */
Test(link, an_end_by_the_keeper_comes_after_what_its_worker_said)
{
	struct ctl_running run = {.head = CTL_INIT(CTL_RUNNING,
	                              (struct sid){9}, struct ctl_running),
	    .pid = 4711, .turn = FIRST};
	struct ctl_end end = {.head = CTL_INIT(CTL_END, (struct sid){9},
	                          struct ctl_end),
	    .exit = {.code = CLD_EXITED, .status = 3, .pid = 4711},
	    .turn = FIRST};
	struct session *s = given(STATE_RUNNING);
	int far = send_peer();
	struct ctl_ended ended;

	can_end_sessions();
	m->live = 1;
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	cr_assert_eq(ctl_send(far, &run, sizeof(run), NULL, 0), 0);
	pool_on_end(m, &end);
	cr_assert_eq(s->state, (uint32_t)STATE_ENDED);
	cr_expect_eq(s->facts.reason, (uint32_t)END_EXIT);
	cr_expect_eq(s->facts.exit_code, 3);
	cr_expect_eq(s->facts.pid, 4711);
	/* nobody had it: the worker asks again, and is told so then */
	end.head.sid.v = 10;
	pool_on_end(m, &end);
	m->leaving = true; /* nothing waits for company */
	pool_turn_end(m, true);
	cr_assert_eq(ctl_recv(far, &msg), 1);
	cr_assert_eq(msg.head.type, CTL_ENDED, "%s came",
	    ctl_type_name(msg.head.type));
	memcpy(&ended, msg.bytes, sizeof(ended));
	cr_expect_eq(ended.turn, FIRST);
	cr_expect_eq(ended.exit.code, CLD_EXITED);
	cr_expect_eq(ended.exit.status, 3);
	cr_assert_eq(ctl_recv(far, &msg), -EAGAIN, "%s came, too",
	    ctl_type_name(msg.head.type));
	close(far);
}

Test(link, an_end_gives_places_back_at_once_and_is_kept_when_drained)
{
	struct session *s = given(STATE_STARTING);
	int far = send_peer();

	can_end_sessions();
	know(s, false);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	gate_restore(m, s);
	m->live = 1;
	cr_assert_eq(admission_running(m->gate.admission), 1);
	session_end_here(m, s, END_MANUAL_CANCEL, "a test");
	cr_expect_eq(admission_running(m->gate.admission), 0);
	cr_expect_eq(m->live, 0);
	cr_expect(!s->retention.in_ended && TAILQ_FIRST(&m->ends) == s);
	session_end_here(m, s, END_LOST, "once only");
	cr_expect_eq(s->facts.reason, (uint32_t)END_MANUAL_CANCEL);
	session_ends_drain(m);
	cr_expect(s->retention.in_ended && TAILQ_EMPTY(&m->ends));
	cr_expect(TAILQ_FIRST(&m->ended) == s);
	session_ends_drain(m);
	cr_expect_null(TAILQ_NEXT(s, retention.ended_link));
	close(far);
}

Test(link, a_death_is_half_told_when_the_last_worker_has_spoken)
{
	struct ctl_held row = {.head = CTL_INIT(CTL_HELD, (struct sid){9},
	                           struct ctl_held),
	    .wid = {3, 5}, .next = {4, 1}, .pid = 4711,
	    .mask = CTL_HELD_DOWN, .turn = HANDED};
	struct ctl_peer down = {.head = CTL_INIT(CTL_WORKER_DOWN,
	                            (struct sid){0}, struct ctl_peer),
	    .wid = {3, 5}, .pid = 1};
	struct session *s = given(STATE_RUNNING);

	can_end_sessions();
	m->reconciled = false;
	m->dirfd = -1;
	know(s, false);
	m->table_end = true;
	recover_on_held(m, &row);
	recover_step(m); /* as DUMP_END of another worker does */
	cr_assert(m->reconciled);
	pool_on_down(m, &down);
	cr_expect_eq(s->state, (uint32_t)STATE_RUNNING,
	    "ended, though another worker takes it over");
}

/* Worker 3.5 dies, its session goes to `next`, and that one dies unheard. */
static uint32_t
state_after(bool known, struct wid next, struct wid second)
{
	struct ctl_held row = {.head = CTL_INIT(CTL_HELD, (struct sid){9},
	                           struct ctl_held),
	    .wid = {3, 5}, .next = next, .pid = 4711,
	    .mask = CTL_HELD_DOWN, .turn = HANDED};
	struct ctl_peer down = {.head = CTL_INIT(CTL_WORKER_DOWN,
	                            (struct sid){0}, struct ctl_peer),
	    .wid = {3, 5}, .pid = 1};
	struct session *s = given(STATE_RUNNING);
	int far = send_peer();
	uint32_t state;

	know(s, known);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	recover_on_held(m, &row);
	pool_on_down(m, &down);
	cr_assert_eq(s->state, (uint32_t)STATE_RUNNING);
	close(far);
	down.wid = second;
	pool_on_down(m, &down); /* and no row came with it */
	state = s->state;
	session_ends_drain(m);
	TAILQ_INIT(&m->dirty); /* nothing is written here, nor swept */
	sweep_gone(m, s);
	registry_drop(m, s);
	return state;
}

Test(link, an_heir_that_died_unheard_leaves_no_session_behind)
{
	can_end_sessions();
	m->dirfd = -1;
	for (int known = 0; known < 2; known++) {
		cr_expect_eq(state_after(known, (struct wid){4, 1},
		                 (struct wid){4, 1}),
		    (uint32_t)STATE_ENDED, "goes on for ever");
		/* its own replacement, at the second attempt */
		cr_expect_eq(state_after(known, (struct wid){3, 6},
		                 (struct wid){3, 7}),
		    (uint32_t)STATE_ENDED, "goes on for ever");
		cr_expect_eq(state_after(known, (struct wid){4, 2},
		                 (struct wid){4, 1}),
		    (uint32_t)STATE_RUNNING, "its heir is still to come");
		cr_expect_eq(state_after(known, (struct wid){4, 1},
		                 (struct wid){2, 1}),
		    (uint32_t)STATE_RUNNING, "another one died");
	}
}

/* Worker 3.5 could not start it, 4.1 was ordered to; the master that ordered it
 * died before the first one knew, and so it says it again to the next, before
 * (f) or after (r) the other one says that it runs. */
static void
expect_stale(const char *order)
{
	static const struct wid first = {3, 5}, second = {4, 1};
	struct ctl_running run = {.head = CTL_INIT(CTL_RUNNING,
	                              (struct sid){9}, struct ctl_running),
	    .pid = 4711, .turn = TURN_OF_START(2)};
	struct ctl_failed failed = {.head = CTL_INIT(CTL_FAILED,
	                                (struct sid){9}, struct ctl_failed),
	    .error = EMFILE, .stage = STAGE_PREPARE,
	    .transient = CTL_TRY_AGAIN, .turn = FIRST};
	struct session *s = given(STATE_STARTING);
	int far[2] = {send_peer(), send_peer_of(second)};

	s->tries.attempt = 1;
	know(s, false);
	event_base_loop(m->base, EVLOOP_NONBLOCK);
	for (const char *c = order; *c != '\0'; c++) {
		if (*c == 'r')
			session_on_running(m, pool_get(m, second), &run);
		else
			session_on_failed(m, pool_get(m, first), &failed);
	}
	cr_expect_eq(s->state, (uint32_t)STATE_RUNNING, "%s: ended", order);
	cr_expect_eq(s->tries.attempt, 1, "%s: started again", order);
	cr_expect(wid_eq(s->custody.who, second),
	    "%s", order);
	pool_turn_end(m, true);
	cr_assert_eq(ctl_recv(far[0], &msg), 1, "%s", order);
	cr_expect_eq(msg.head.type, CTL_ENDED, "%s: it is not told", order);
	close(far[0]);
	close(far[1]);
	TAILQ_INIT(&m->dirty); /* nothing is written here */
	registry_drop(m, s);
}

Test(link, a_word_of_an_earlier_start_is_the_past)
{
	struct place place;

	place_make(&place);
	can_end_sessions();
	m->ix = place.ix;
	m->dirfd = -1;
	expect_stale("rf");
	expect_stale("fr");
	place_remove(&place);
}

/* The last word on an older upgrade comes after another one was asked for: that
 * one may have been in vain. */
Test(link, an_order_for_an_upgrade_is_given_again)
{
	struct ctl_upgraded told = {.head = CTL_INIT(CTL_UPGRADED,
					(struct sid){0}, struct ctl_upgraded),
	    .id = 7, .phase = CTL_UPGRADE_DONE};
	struct req r = {.m = m};

	m->upgrade_req = &r;
	m->upgrade_order = (struct ctl_upgrade){.head = CTL_INIT(CTL_UPGRADE,
						   (struct sid){0},
						   struct ctl_upgrade),
	    .id = 8};
	upgrade_told(m, &told);
	cr_assert_eq(m->upgrade_req, &r, "it waits on");
	cr_assert_eq(ctl_recv(keeper, &msg), 1);
	cr_assert_eq(msg.head.type, CTL_UPGRADE);
	cr_assert_eq(msg.size, sizeof(struct ctl_upgrade));
}
