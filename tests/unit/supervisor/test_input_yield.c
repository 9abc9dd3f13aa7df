/* SPDX-License-Identifier: MIT */
/* When a foreground call yields to input, in virtual time. */
#include <criterion/criterion.h>

#include "supervisor/session/input_yield.h"

TestSuite(input_yield, .timeout = 10);

#define MS   UINT64_C(1000000)
#define NEED (2000 * MS)

/* When one that begins to wait at `from_ms` is answered; 0: never. */
static uint64_t
yields_at(uint64_t from_ms, uint64_t moves_at_ms)
{
	struct input_yield y = {0};
	uint64_t at = 0;

	while (at < 60000) {
		at += input_yield_pause_ms(&y, 1, 1 + at * MS, NEED);
		if (input_yield_seen(&y, at >= from_ms,
			at >= moves_at_ms ? 2 : 1, 1 + at * MS, NEED))
			return at;
	}
	return 0;
}

Test(input_yield, answers_within_4_s_who_waits_within_1_s)
{
	cr_expect_eq(yields_at(0, UINT64_MAX), 2500);
	cr_expect_eq(yields_at(400, UINT64_MAX), 2500);
	cr_expect_eq(yields_at(501, UINT64_MAX), 3000);
	cr_expect_leq(yields_at(1500, UINT64_MAX), 4000);
	cr_expect_eq(yields_at(20001, UINT64_MAX), 23000);
}

Test(input_yield, what_moved_meanwhile_begins_anew)
{
	cr_expect_eq(yields_at(0, 2400), 4500);
}

Test(input_yield, who_does_something_in_between_does_not_wait)
{
	struct input_yield y = {0};

	for (uint64_t at = 500 * MS; at < 60000 * MS; at += 500 * MS)
		cr_expect_not(
		    input_yield_seen(&y, at % (2000 * MS) != 0, 7, at, NEED));
}

Test(input_yield, two_looks_are_needed_however_short_the_time)
{
	struct input_yield y = {0};

	cr_expect_not(input_yield_seen(&y, true, 7, 5 * MS, 1));
	cr_expect(input_yield_seen(&y, true, 7, 6 * MS, 1));
}

/* The last look comes when the time is over, and none is refused for having
 * come just after another (input_wait_ask). */
Test(input_yield, looks_when_it_has_waited_long_enough)
{
	for (uint64_t after = 1; after < 2000; after++) {
		struct input_yield y = {.since_ns = 10000 * MS};
		uint64_t now = y.since_ns + after * MS;
		uint64_t pause = input_yield_pause_ms(&y, 1, now, NEED);

		cr_expect(after + pause == 2000 ||
			after + pause + INPUT_YIELD_LEAST_MS <= 2000,
		    "%d ms after: %d", (int)after, (int)pause);
	}
}
