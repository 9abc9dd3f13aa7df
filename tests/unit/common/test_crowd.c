/* SPDX-License-Identifier: MIT */
/* Who counts as young, and the pause that follows. */
#include "common/crowd.h"

#include <criterion/criterion.h>

#define MS UINT64_C(1000000)

/* Sessions that enter at one moment. */
static void
enter(struct crowd *c, uint64_t at, uint64_t *slots, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		crowd_enter(c, at, &slots[i]);
}

Test(crowd, few_wait_for_nobody)
{
	struct crowd c = {0};
	uint64_t slot[2] = {0};

	cr_assert_eq(crowd_pause_ns(&c, 5000 * MS), 0);
	enter(&c, 5000 * MS, slot, 2);
	cr_assert_eq(crowd_pause_ns(&c, 5000 * MS), 0);
}

Test(crowd, more_gather_for_longer_up_to_a_bound)
{
	struct crowd c = {0};
	uint64_t slot[500] = {0}, few;

	enter(&c, 5000 * MS, slot, 4);
	few = crowd_pause_ns(&c, 5000 * MS);
	cr_assert_gt(few, 0);
	enter(&c, 5001 * MS, slot + 4, 8);
	cr_assert_gt(crowd_pause_ns(&c, 5001 * MS), few);
	enter(&c, 5001 * MS, slot + 12, 488);
	cr_assert_eq(crowd_pause_ns(&c, 5001 * MS), CROWD_PAUSE_NS);
}

Test(crowd, who_ends_or_grows_old_counts_no_more)
{
	struct crowd c = {0};
	uint64_t slot[64] = {0}, old[8] = {0};

	enter(&c, 5000 * MS, old, 8);
	enter(&c, 5060 * MS, slot, 64);
	cr_assert_eq(c.count, 72);
	for (unsigned i = 0; i < 64; i++)
		crowd_leave(&c, &slot[i]);
	cr_assert_eq(c.count, 8);
	cr_assert_gt(crowd_pause_ns(&c, 5060 * MS), 0);
	cr_assert_eq(crowd_pause_ns(&c, 5140 * MS), 0, "8 that live on");
	cr_assert_eq(c.count, 0);
	for (unsigned i = 0; i < 8; i++)
		crowd_leave(&c, &old[i]);
	cr_assert_eq(c.count, 0, "they had left");
	enter(&c, UINT64_C(1) << 62, slot, 3);
	cr_assert_eq(c.count, 3, "after any time");
}

Test(crowd, entering_twice_counts_once)
{
	struct crowd c = {0};
	uint64_t slot = 0;

	crowd_enter(&c, 5000 * MS, &slot);
	crowd_enter(&c, 5020 * MS, &slot);
	cr_assert_eq(c.count, 1);
	crowd_leave(&c, &slot);
	crowd_leave(&c, &slot);
	cr_assert_eq(c.count, 0);
}
