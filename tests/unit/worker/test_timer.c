/* SPDX-License-Identifier: MIT */
/* The heap of deadlines: whatever is set, moved or taken out, the earliest
 * comes first and each comes once. */
#include "worker/timer.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define TIMERS 500

TestSuite(timer, .timeout = 20);

Test(timer, come_in_order_after_any_moves)
{
	static struct timer t[TIMERS];
	struct timers ts;
	struct timer *due;
	uint64_t last = 0;
	size_t i, count = 0, left = 0;

	srandom(7);
	cr_assert_eq(timers_init(&ts), 0);
	cr_assert_eq(timers_reserve(&ts, TIMERS), 0);
	for (i = 0; i < 20000; i++)
		timer_set(&ts, &t[random() % TIMERS],
		    random() % 4 == 0 ? TIMER_NEVER :
		                        1 + (uint64_t)(random() % 1000));
	for (i = 0; i < TIMERS; i++)
		count += t[i].index != 0;
	cr_assert_eq(ts.count, count);
	cr_assert_null(timers_expired(&ts, 0));
	while ((due = timers_expired(&ts, 1000)) != NULL) {
		cr_assert_geq(due->due_ns, last);
		cr_assert_eq(due->index, 0);
		last = due->due_ns;
		left++;
	}
	cr_assert_eq(left, count);
	timers_fini(&ts);
}

Test(timer, a_timer_that_is_not_due_stays)
{
	struct timer a = {0}, b = {0};
	struct timers ts;

	cr_assert_eq(timers_init(&ts), 0);
	cr_assert_eq(timers_reserve(&ts, 2), 0);
	timer_set(&ts, &a, 10);
	timer_set(&ts, &b, 5);
	cr_assert_eq(timers_expired(&ts, 7), &b);
	cr_assert_null(timers_expired(&ts, 7));
	timer_set(&ts, &a, 6);
	cr_assert_eq(timers_expired(&ts, 7), &a);
	timers_fini(&ts);
}
