/* SPDX-License-Identifier: MIT */
/* Places for running sessions under virtual time: golden cases, and random
 * steps with every invariant checked. */
#include "supervisor/gate/psi.h"
#include "supervisor/lane/admission.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(admission, .timeout = 50);

static struct admission *
with(const struct admission_limits *l)
{
	struct admission *a = admission_new();

	cr_assert_not_null(a);
	admission_configure(a, l);
	return a;
}

/* Enters as gate.c does: starts, or waits for what is told. */
static enum admission_why
enter(struct admission *a, struct admission_entry *e, const char *scope,
    uint64_t now)
{
	enum admission_why why = admission_judge(a, scope, now);

	if (why == ADMISSION_FREE)
		cr_assert_eq(admission_start(a, e, scope, true, now), 0);
	else
		cr_assert_eq(admission_wait(a, e, scope), 0);
	cr_assert_null(admission_check(a));
	return why;
}

Test(admission, bounds_all)
{
	struct admission *a = with(&(struct admission_limits){
	    .max_running = 2});
	struct admission_entry e[4] = {0};

	cr_expect_eq(enter(a, &e[0], "", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, &e[1], "x", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, &e[2], "x", 0), ADMISSION_GLOBAL);
	cr_expect_eq(enter(a, &e[3], "x", 0), ADMISSION_GLOBAL);
	cr_expect_eq(admission_position(&e[2]), 1);
	cr_expect_eq(admission_position(&e[3]), 2);
	cr_expect_null(admission_next(a, 5));
	cr_expect_eq(admission_due(a, 5), UINT64_MAX);
	admission_leave(a, &e[2]);
	cr_expect_eq(admission_position(&e[3]), 1);
	admission_leave(a, &e[0]);
	cr_expect_eq(admission_next(a, 6), &e[3]);
	cr_expect_null(admission_next(a, 6));
	admission_leave(a, &e[0]); /* twice is nothing */
	cr_expect_eq(admission_running(a), 2);
	admission_leave(a, &e[1]);
	admission_leave(a, &e[3]);
	cr_expect_eq(admission_running(a), 0);
	cr_expect_eq(admission_scopes(a), 0);
	admission_free(&a);
}

Test(admission, bounds_scopes_and_lets_them_take_turns)
{
	struct admission *a = with(&(struct admission_limits){
	    .max_running = 3, .scope_max_running = 2});
	struct admission_entry x[4] = {0}, y[3] = {0}, none[1] = {0};
	struct admission_view v;

	cr_expect_eq(enter(a, &x[0], "x", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, &x[1], "x", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, &x[2], "x", 0), ADMISSION_SCOPE);
	cr_expect_eq(enter(a, &x[3], "x", 0), ADMISSION_SCOPE);
	cr_expect_eq(enter(a, &none[0], "", 0), ADMISSION_FREE);
	cr_expect_eq(enter(a, &y[0], "y", 0), ADMISSION_GLOBAL);
	cr_expect_eq(enter(a, &y[1], "y", 0), ADMISSION_GLOBAL);
	cr_expect_eq(admission_waits_for(a, &x[2], 0), ADMISSION_SCOPE);
	admission_leave(a, &x[0]);
	cr_expect_eq(admission_next(a, 1), &y[0], "it came to the ring first");
	admission_leave(a, &none[0]);
	cr_expect_eq(admission_next(a, 1), &x[2]);
	admission_leave(a, &x[1]);
	cr_expect_eq(admission_next(a, 1), &y[1]);
	cr_assert_null(admission_check(a));
	cr_assert_eq(admission_set_scope(a, "x", 1), 0);
	admission_leave(a, &y[0]);
	cr_expect_null(admission_next(a, 1), "its own bound is lower now");
	admission_view_of(a, "x", &v);
	cr_expect(v.max == 1 && v.running == 1 && v.waiting == 1);
	admission_configure(a, &(struct admission_limits){0});
	cr_expect_eq(admission_next(a, 1), &x[3], "no bound is left");
	admission_free(&a);
}

Test(admission, holds_starts_to_a_rate)
{
	struct admission *a = with(&(struct admission_limits){.rate = 4,
	    .burst = 2});
	struct admission_entry e[5] = {0};

	cr_expect_eq(enter(a, &e[0], "", 1000), ADMISSION_FREE);
	cr_expect_eq(enter(a, &e[1], "", 1000), ADMISSION_FREE);
	cr_expect_eq(enter(a, &e[2], "", 1000), ADMISSION_RATE);
	cr_expect_eq(enter(a, &e[3], "", 1100), ADMISSION_RATE);
	cr_expect_eq(admission_due(a, 1100), 1250);
	cr_expect_null(admission_next(a, 1249));
	cr_expect_eq(admission_next(a, 1250), &e[2]);
	cr_expect_null(admission_next(a, 1250));
	cr_expect_eq(admission_next(a, 1500), &e[3]);
	/* a long rest fills the bucket to its rim and not beyond */
	for (int i = 0; i < 4; i++)
		admission_leave(a, &e[i]);
	cr_expect_eq(enter(a, &e[0], "", 1000000), ADMISSION_FREE);
	cr_expect_eq(enter(a, &e[1], "", 1000000), ADMISSION_FREE);
	cr_expect_eq(enter(a, &e[2], "", 1000000), ADMISSION_RATE);
	/* a clock that goes back does no harm */
	cr_expect_null(admission_next(a, 5));
	cr_expect_null(admission_check(a));
	admission_free(&a);
}

Test(admission, starts_nobody_under_pressure)
{
	struct admission *a = with(&(struct admission_limits){0});
	struct admission_entry e[2] = {0};

	admission_set_pressure(a, true);
	cr_expect_eq(enter(a, &e[0], "", 0), ADMISSION_PRESSURE);
	cr_expect_null(admission_next(a, 100000));
	cr_expect_eq(admission_due(a, 0), UINT64_MAX);
	admission_set_pressure(a, false);
	cr_expect_eq(admission_judge(a, "", 1), ADMISSION_GLOBAL,
	    "who came first goes first");
	cr_expect_eq(admission_next(a, 1), &e[0]);
	cr_expect_eq(enter(a, &e[1], "", 1), ADMISSION_FREE);
	admission_free(&a);
}

/* A restarted master counts what runs, beyond the bounds, too. */
Test(admission, counts_what_ran_before_it)
{
	struct admission *a = with(&(struct admission_limits){
	    .max_running = 1, .rate = 1, .burst = 1});
	struct admission_entry e[4] = {0};

	for (int i = 0; i < 3; i++)
		cr_assert_eq(admission_start(a, &e[i], "s", false, 0), 0);
	cr_assert_eq(admission_wait(a, &e[3], "s"), 0);
	for (int i = 0; i < 3; i++) {
		cr_expect_null(admission_next(a, 0));
		admission_leave(a, &e[i]);
	}
	cr_expect_eq(admission_next(a, 0), &e[3], "the bucket was not used");
	admission_free(&a);
}

/* Random sessions of random scopes, bounds that change, a clock that jumps:
 * never over a bound, never idle while somebody could start, nothing lost. */
Test(admission, a_million_random_steps)
{
	enum { N = 300, STEPS = 1000000 };
	static struct admission_entry e[N];
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
			admission_configure(a, &l);
		} else if (what == 1) {
			admission_set_pressure(a, rand() % 4 == 0);
		} else if (e[i].scope == NULL) {
			const char *name = names[rand() % 5];

			entered++;
			while (admission_next(a, now) != NULL)
				;
			if (admission_judge(a, name, now) == ADMISSION_FREE)
				admission_start(a, &e[i], name, true, now);
			else
				admission_wait(a, &e[i], name);
		} else if (what < 60) {
			left++;
			admission_leave(a, &e[i]);
		}
		while (admission_next(a, now) != NULL) {
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
		admission_leave(a, &e[i]);
	cr_expect_eq(admission_running(a), 0);
	cr_expect_eq(admission_waiting(a), 0);
	cr_expect_eq(admission_scopes(a), 0);
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
