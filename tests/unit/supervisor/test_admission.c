/* SPDX-License-Identifier: MIT */
/* Places for running sessions under virtual time: golden cases, and random
 * steps with every invariant checked. */
#include "common/config.h"
#include "supervisor/gate/psi.h"
#include "supervisor/lane/admission.c"
#include "tests/sim/lib_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(admission, .timeout = 50);

/* Every invariant: NULL, or a sentence about the first broken one. */
static const char *
admission_check(const struct admission *a)
{
	return a->level_milli > a->limits.burst * START_MILLI
	    ? "the bucket is over its rim"
	    : lanes_check(a->places);
}

static struct admission *
with(const struct admission_limits *l)
{
	struct admission *a = admission_new();

	cr_assert_not_null(a);
	cr_assert_eq(admission_configure(a, l, NULL, 0), 0);
	return a;
}

static struct sid
sid(uint64_t v)
{
	return (struct sid){v};
}

/* Enters as gate.c does: starts, or waits for what is told. */
static enum admission_why
enter(struct admission *a, uint64_t id, const char *scope, uint64_t now)
{
	enum admission_why why = admission_judge(a, scope, now);

	if (why == ADMISSION_FREE)
		cr_assert_eq(admission_start(a, sid(id), scope, true, now), 0);
	else
		cr_assert_eq(admission_wait(a, sid(id), scope, now), 0);
	cr_assert_null(admission_check(a));
	return why;
}

static void
leave(struct admission *a, uint64_t id)
{
	(void)lanes_leave(admission_lanes(a), sid(id));
}

static uint32_t
position(struct admission *a, uint64_t id)
{
	return lanes_position(admission_lanes(a), sid(id));
}

/* Lanes of scopes with sessions; that of sessions without a scope stays. */
static size_t
scopes(struct admission *a)
{
	return lanes_count(admission_lanes(a)) - 1;
}

Test(admission, bounds_all)
{
	struct admission *a = with(&(struct admission_limits){
	    .max_running = 2});

	cr_expect_eq(enter(a, 1, "", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, 2, "x", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, 3, "x", 0), ADMISSION_GLOBAL);
	cr_expect_eq(enter(a, 4, "x", 0), ADMISSION_GLOBAL);
	cr_expect_eq(position(a, 3), 1);
	cr_expect_eq(position(a, 4), 2);
	cr_expect_eq(admission_next(a, 5).v, 0);
	cr_expect_eq(admission_due(a, 5), UINT64_MAX);
	leave(a, 3);
	cr_expect_eq(position(a, 4), 1);
	leave(a, 1);
	cr_expect_eq(admission_next(a, 6).v, 4);
	cr_expect_eq(admission_next(a, 6).v, 0);
	leave(a, 1); /* twice is nothing */
	cr_expect_eq(admission_running(a), 2);
	leave(a, 2);
	leave(a, 4);
	cr_expect_eq(admission_running(a), 0);
	cr_expect_eq(scopes(a), 0);
	admission_free(&a);
}

Test(admission, bounds_scopes_and_lets_them_take_turns)
{
	const struct admission_limits limits = {.max_running = 3,
	    .scope_max_running = 2};
	const struct config_scope own = {.name = "x", .bounded = true,
	    .max_running = 1};
	struct admission *a = with(&limits);
	struct admission_view v;

	cr_expect_eq(enter(a, 11, "x", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, 12, "x", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, 13, "x", 0), ADMISSION_SCOPE);
	cr_expect_eq(enter(a, 14, "x", 0), ADMISSION_SCOPE);
	cr_expect_eq(enter(a, 31, "", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, 21, "y", 0), ADMISSION_GLOBAL);
	cr_expect_eq(enter(a, 22, "y", 0), ADMISSION_GLOBAL);
	cr_expect_eq(admission_waits_for(a, sid(13), 0), ADMISSION_SCOPE);
	leave(a, 11);
	cr_expect_eq(admission_next(a, 1).v, 21, "it came to the ring first");
	leave(a, 31);
	cr_expect_eq(admission_next(a, 1).v, 13);
	leave(a, 12);
	cr_expect_eq(admission_next(a, 1).v, 22);
	cr_assert_null(admission_check(a));
	cr_assert_eq(admission_configure(a, &limits, &own, 1), 0);
	leave(a, 21);
	cr_expect_eq(admission_next(a, 1).v, 0, "its own bound is lower now");
	admission_view(a, "x", &v);
	cr_expect(v.max == 1 && v.running == 1 && v.waiting == 1);
	admission_configure(a, &(struct admission_limits){0}, NULL, 0);
	cr_expect_eq(admission_next(a, 1).v, 14, "no bound is left");
	admission_free(&a);
}

Test(admission, holds_starts_to_a_rate)
{
	struct admission *a = with(&(struct admission_limits){.rate = 4,
	    .burst = 2});

	cr_expect_eq(enter(a, 1, "", 1000), ADMISSION_FREE);
	cr_expect_eq(enter(a, 2, "", 1000), ADMISSION_FREE);
	cr_expect_eq(enter(a, 3, "", 1000), ADMISSION_RATE);
	cr_expect_eq(enter(a, 4, "", 1100), ADMISSION_RATE);
	cr_expect_eq(admission_due(a, 1100), 1250);
	cr_expect_eq(admission_next(a, 1249).v, 0);
	cr_expect_eq(admission_next(a, 1250).v, 3);
	cr_expect_eq(admission_next(a, 1250).v, 0);
	cr_expect_eq(admission_next(a, 1500).v, 4);
	/* a long rest fills the bucket to its rim and not beyond */
	for (int i = 0; i < 4; i++)
		leave(a, (uint64_t)i + 1);
	cr_expect_eq(enter(a, 1, "", 1000000), ADMISSION_FREE);
	cr_expect_eq(enter(a, 2, "", 1000000), ADMISSION_FREE);
	cr_expect_eq(enter(a, 3, "", 1000000), ADMISSION_RATE);
	/* a clock that goes back does no harm */
	cr_expect_eq(admission_next(a, 5).v, 0);
	cr_expect_null(admission_check(a));
	admission_free(&a);
}

Test(admission, starts_nobody_under_pressure)
{
	struct admission *a = with(&(struct admission_limits){0});

	admission_set_pressure(a, true);
	cr_expect_eq(enter(a, 1, "", 0), ADMISSION_PRESSURE);
	cr_expect_eq(admission_next(a, 100000).v, 0);
	cr_expect_eq(admission_due(a, 0), UINT64_MAX);
	admission_set_pressure(a, false);
	cr_expect_eq(admission_judge(a, "", 1), ADMISSION_GLOBAL,
	    "who came first goes first");
	cr_expect_eq(admission_next(a, 1).v, 1);
	cr_expect_eq(enter(a, 2, "", 1), ADMISSION_FREE);
	admission_free(&a);
}

/* A restarted master counts what runs, beyond the bounds, too. */
Test(admission, counts_what_ran_before_it)
{
	struct admission *a = with(&(struct admission_limits){
	    .max_running = 1, .rate = 1, .burst = 1});

	for (int i = 0; i < 3; i++)
		cr_assert_eq(admission_start(a, sid((uint64_t)i + 1), "s", false,
				 0), 0);
	cr_assert_eq(admission_wait(a, sid(4), "s", 0), 0);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(admission_next(a, 0).v, 0);
		leave(a, (uint64_t)i + 1);
	}
	cr_expect_eq(admission_next(a, 0).v, 4, "the bucket was not used");
	admission_free(&a);
}

/* Random sessions of random scopes, bounds that change, a clock that jumps:
 * never over a bound, never idle while somebody could start, nothing lost. */
Test(admission, a_million_random_steps)
{
	enum { N = 300, STEPS = 1000000 };
	static bool in[N];
	static const char *const names[] = {"", "a", "b", "c", "d"};
	struct admission_limits l = {.max_running = 20,
	    .scope_max_running = 6, .rate = 50, .burst = 5};
	struct admission *a = with(&l);
	uint64_t now = 0, entered = 0, left = 0;

	srand(7);
	for (int step = 0; step < STEPS; step++) {
		int i = rand() % N, what = rand() % 100;

		now += (uint64_t)rand() % 12;
		if (what == 0) {
			l.max_running = (uint64_t)rand() % 30;
			l.scope_max_running = (uint64_t)rand() % 8;
			l.rate = (uint64_t)rand() % 100;
			l.burst = (uint64_t)rand() % 9;
			admission_configure(a, &l, NULL, 0);
		} else if (what == 1) {
			admission_set_pressure(a, rand() % 4 == 0);
		} else if (!in[i]) {
			const char *name = names[rand() % 5];
			struct sid id = sid((uint64_t)i + 1);

			in[i] = true;
			entered++;
			while (admission_next(a, now).v != 0)
				;
			if (admission_judge(a, name, now) == ADMISSION_FREE)
				admission_start(a, id, name, true, now);
			else
				admission_wait(a, id, name, now);
		} else if (what < 60) {
			left++;
			in[i] = false;
			leave(a, (uint64_t)i + 1);
		}
		while (admission_next(a, now).v != 0) {
			cr_assert(l.max_running == 0 ||
			    admission_running(a) <= l.max_running);
		}
		if (step % 64 == 0)
			cr_assert_null(admission_check(a), "step %d: %s", step,
			    admission_check(a));
		cr_assert_eq(admission_running(a) + admission_waiting(a),
		    entered - left);
	}
	for (int i = 0; i < N; i++)
		leave(a, (uint64_t)i + 1);
	cr_expect_eq(admission_running(a), 0);
	cr_expect_eq(admission_waiting(a), 0);
	cr_expect_eq(scopes(a), 0);
	admission_free(&a);
}

Test(psi, takes_what_kernels_write)
{
	uint32_t v = 7;

	cr_expect_eq(psi_parse("some avg10=12.34 avg60=0.00 avg300=0.00 "
			       "total=1\nfull avg10=1.00\n", &v), 0);
	cr_expect_eq(v, 1234);
	cr_expect_eq(psi_parse("full avg10=1.00\nsome avg10=0.5\n", &v), 0);
	cr_expect_eq(v, 50);
	cr_expect_eq(psi_parse("some avg10=100.00 ", &v), 0);
	cr_expect_eq(v, 10000);
	v = 7;
	cr_expect_lt(psi_parse("", &v), 0);
	cr_expect_lt(psi_parse("some avg10=", &v), 0);
	cr_expect_lt(psi_parse("some avg10=x.00", &v), 0);
	cr_expect_lt(psi_parse("awesome avg10=1.00", &v), 0);
	cr_expect_lt(psi_parse("some avg10=1\n", &v), 0);
	cr_expect_eq(v, 7);
	cr_expect_lt(psi_read("/nonexistent/psi", &v), 0);
}
