/* SPDX-License-Identifier: MIT */
/* Arrays that grow: what is refused changes nothing. */
#include <criterion/criterion.h>

#include "common/grow.h"

Test(grow, by_doubling_from_the_first)
{
	uint16_t *list = NULL;
	size_t cap = 0;

	cr_assert(GROW(list, cap, 1, 16));
	cr_expect_eq(cap, 16);
	list[15] = 7;
	cr_assert(GROW(list, cap, 16, 16));
	cr_expect_eq(cap, 16);
	cr_assert(GROW(list, cap, 70, 16));
	cr_expect_eq(cap, 128);
	cr_expect_eq(list[15], 7);
	free(list);
}

Test(grow, refuses_what_no_size_holds)
{
	uint64_t *list = NULL, *was;
	size_t cap = 0;

	cr_assert(GROW(list, cap, 3, 4));
	was = list;
	cr_expect_not(GROW(list, cap, SIZE_MAX, 4));
	cr_expect_not(GROW(list, cap, SIZE_MAX / 8 + 1, 4));
	cr_expect_eq(list, was);
	cr_expect_eq(cap, 4);
	free(list);
}
