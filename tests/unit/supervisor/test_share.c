/* SPDX-License-Identifier: MIT */
/* Who may have more of what all share, and who pays for it: single cases. */
#include "supervisor/share/share.h"
#include "tests/sim/lib_check.h"

#include <criterion/criterion.h>

TestSuite(share, .timeout = 50);

#define R SHARE_OUTPUT

/* What a scope could give back, in things of 10. */
struct holder {
	struct share_scope scope;
	uint32_t ended;
};

static bool
give_back(void *arg, struct share_scope *payer)
{
	struct holder *h = RANK_OWNER(payer, struct holder, scope);

	if (h->ended == 0)
		return false;
	h->ended--;
	payer->loose[R] -= 10;
	share_give(arg, payer, R, 10);
	return true;
}

static void
begin(struct shares *sh, uint64_t limit)
{
	share_init(sh);
	share_set_limit(sh, R, limit);
	share_set_reclaim(sh, R, give_back, sh);
}

/* Has so much, of which so many things of 10 have ended. */
static void
has(struct shares *sh, struct holder *h, uint64_t n, uint32_t ended)
{
	share_take(sh, &h->scope, R, n);
	h->ended = ended;
	h->scope.loose[R] = 10 * ended;
	cr_assert_null(share_check(sh));
}

Test(share, uses_what_is_free_and_leaves_an_eighth)
{
	struct shares sh;
	struct holder hog = {0}, other = {0};

	begin(&sh, 800);
	has(&sh, &hog, 690, 0);
	cr_expect(share_may(&sh, &hog.scope, R, 10));
	cr_expect(!share_may(&sh, &hog.scope, R, 11), "the last eighth is not its own");
	has(&sh, &hog, 10, 0);
	cr_expect(share_may(&sh, &other.scope, R, 100));
	cr_expect(!share_may(&sh, &other.scope, R, 101));
}

Test(share, who_is_over_pays_for_itself)
{
	struct shares sh;
	struct holder hog = {0}, other = {0};

	begin(&sh, 800);
	has(&sh, &other, 100, 10);
	has(&sh, &hog, 600, 5);
	cr_expect(share_may(&sh, &hog.scope, R, 30));
	cr_expect_eq(hog.ended, 2);
	cr_expect(!share_may(&sh, &hog.scope, R, 60));
	cr_expect_eq(hog.ended, 2, "it would not do");
	cr_expect_eq(other.ended, 10);
}

Test(share, the_heaviest_pays_first)
{
	struct shares sh;
	struct holder a = {0}, b = {0}, c = {0}, new = {0};

	begin(&sh, 800);
	has(&sh, &a, 420, 10);
	has(&sh, &b, 350, 10);
	has(&sh, &c, 30, 3);
	cr_expect(share_may(&sh, &new.scope, R, 20));
	/* a down to b's height, then in turn, until 700 are not passed */
	cr_expect_eq(a.scope.used[R] + b.scope.used[R], 650);
	cr_expect_lt(a.scope.used[R], 340);
	cr_expect_lt(b.scope.used[R], 340);
	cr_expect_eq(c.ended, 3, "within its share");
	cr_assert_null(share_check(&sh));
}

Test(share, who_has_nothing_to_give_is_passed_over)
{
	struct shares sh;
	struct holder a = {0}, b = {0}, new = {0};

	begin(&sh, 800);
	has(&sh, &a, 420, 0);
	has(&sh, &b, 380, 3);
	cr_expect(share_may(&sh, &new.scope, R, 20));
	cr_expect_eq(b.ended, 0);
	cr_expect(!share_may(&sh, &new.scope, R, 31));
}

Test(share, more_than_a_share_is_never_asked_of_others)
{
	struct shares sh;
	struct holder hog = {0}, new = {0};

	begin(&sh, 800);
	has(&sh, &hog, 800, 80);
	cr_expect(!share_may(&sh, &new.scope, R, 351));
	cr_expect_eq(hog.ended, 80);
	cr_expect(share_may(&sh, &new.scope, R, 350));
	cr_expect_eq(hog.ended, 45, "no more than has to be");
}

/* Fifty of whom each runs as much as it may, and none of it ends. */
Test(share, who_comes_finds_a_part_where_nobody_can_pay)
{
	struct shares sh;
	struct holder hogs[50] = {0}, new[8] = {0};
	bool more = true;

	begin(&sh, 80000);
	while (more) {
		more = false;
		for (int i = 0; i < 50; i++)
			if (share_may(&sh, &hogs[i].scope, R, 10)) {
				has(&sh, &hogs[i], 10, 0);
				more = true;
			}
	}
	for (int i = 0; i < 8; i++) {
		cr_expect(share_may(&sh, &new[i].scope, R, 1000), "%d", i);
		has(&sh, &new[i], 1000, 0);
	}
}

Test(share, one_ask_takes_a_unit_where_there_is_room_anyhow)
{
	struct shares sh;
	struct holder hog = {0}, new = {0};

	begin(&sh, 80000);
	has(&sh, &hog, 79000, 7900);
	cr_expect(share_may(&sh, &new.scope, R, 1));
	cr_expect_eq(hog.ended, 7900 - SHARE_UNIT);
	cr_expect(!share_may(&sh, &new.scope, R, 1000 + 10 * SHARE_MOST +
	    10 * SHARE_UNIT + 1));
	cr_expect_eq(hog.ended, 7900 - SHARE_UNIT - SHARE_MOST);
}

Test(share, a_squeeze_takes_from_the_heaviest_or_from_who_asks)
{
	struct shares sh;
	struct holder a = {0}, b = {0};

	begin(&sh, 1000000);
	has(&sh, &a, 300, 1);
	has(&sh, &b, 100, 2);
	cr_expect(share_squeeze(&sh, &b.scope, R));
	cr_expect_eq(a.ended, 0);
	cr_expect(share_squeeze(&sh, &b.scope, R), "its own");
	cr_expect_eq(b.ended, 1);
	cr_expect(!share_squeeze(&sh, &a.scope, R), "b is within its part");
	cr_expect(share_squeeze(&sh, NULL, R));
	cr_expect(!share_squeeze(&sh, NULL, R));
}

Test(share, a_lower_limit_takes_nothing_from_anybody)
{
	struct shares sh;
	struct holder a = {0};

	begin(&sh, 1000);
	has(&sh, &a, 500, 50);
	share_set_limit(&sh, R, 100);
	cr_expect_eq(a.scope.used[R], 500);
	cr_expect(!share_may(&sh, &a.scope, R, 89));
	cr_expect_eq(a.ended, 50);
	cr_expect(share_may(&sh, &a.scope, R, 10));
	cr_expect_leq(a.scope.used[R], 90);
}
