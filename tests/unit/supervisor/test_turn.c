/* SPDX-License-Identifier: MIT */
/* Whose turn it is, in virtual time: no clock, no socket. */
#include "common/check.h"
#include "supervisor/turn.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(turn, .timeout = 120);

#define MS        UINT64_C(1000000)
#define TURN_NS   (4 * MS) /* of units, between two commits */
#define COMMIT_NS (MS / 3)

/* A connection: how much work lies before it. */
struct peer {
	struct turn_client turn; /* first: a client is its peer */
	char scope[TURN_NAME_MAX];
	uint64_t left_ns, used_ns, units;
};

static void
name_it(struct peer *p, const char *kind, unsigned n)
{
	*p = (struct peer){0};
	(void)snprintf(p->scope, sizeof(p->scope), "%s%u", kind, n);
}

static void
give(struct turns *t, struct peer *p, uint64_t ns)
{
	p->left_ns += ns;
	turns_ready(t, &p->turn, p->scope);
}

/* One unit of at most a slice, or of all there is where it cannot be cut. What
 * it took; NULL in *ret: nobody was ready. */
static uint64_t
unit(struct turns *t, bool sliced, struct peer **ret)
{
	struct peer *p = (struct peer *)turns_next(t);
	uint64_t n;

	*ret = p;
	if (p == NULL)
		return 0;
	n = sliced && p->left_ns > turns_slice_ns(t) ? turns_slice_ns(t)
						     : p->left_ns;
	p->left_ns -= n;
	p->used_ns += n;
	p->units++;
	turns_charge(t, n, p->left_ns > 0, p->scope);
	return n;
}

/* ------------------------------------------------------------- the model */

static uint64_t random_state;

static uint64_t
chance(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

/* `scopes` that always have a request of 36 ms, and one that asks for 0.3 ms,
 * takes the answer (sent after the turn's commit) and asks again a while later:
 * its longest wait, over so many of its requests. */
static uint64_t
worst_wait(unsigned scopes, unsigned arrivals)
{
	struct turns *t = turns_new();
	struct peer *hogs = calloc(scopes, sizeof(*hogs)), asker, *p;
	uint64_t now = 0, asked = 0, worst = 0, next = 20 * MS, done = 0;
	bool waits = false;

	random_state = 88172645463325252u;
	for (unsigned i = 0; i < scopes; i++) {
		name_it(&hogs[i], "hog", i);
		give(t, &hogs[i], 36 * MS);
	}
	name_it(&asker, "asker", 0);
	while (done < arrivals) {
		uint64_t end = now + TURN_NS;

		if (!waits && now >= next) {
			waits = true;
			asked = next;
			give(t, &asker, 3 * MS / 10);
		}
		while (now < end) {
			now += unit(t, true, &p);
			cr_assert_not_null(p);
			if (p != &asker && p->left_ns == 0)
				give(t, p, 36 * MS);
		}
		now += COMMIT_NS;
		if (!waits || asker.left_ns > 0)
			continue;
		waits = false;
		done++;
		if (now - asked > worst)
			worst = now - asked;
		next = now + chance(40 * MS);
	}
	for (unsigned i = 0; i < scopes; i++)
		turns_forget(t, &hogs[i].turn);
	turns_free(&t);
	free(hogs);
	return worst;
}

Test(turn, a_million_requests_among_50_busy_scopes_wait_less_than_100_ms)
{
	uint64_t worst = worst_wait(50, 1000000);

	fprintf(stderr, "worst wait among 50 scopes: %.1f ms\n",
	    (double)worst / MS);
	cr_assert_lt(worst, 100 * MS);
}

Test(turn, among_200_busy_scopes_the_worst_wait_is_less_than_140_ms)
{
	uint64_t worst = worst_wait(200, 20000);

	fprintf(stderr, "worst wait among 200 scopes: %.1f ms\n",
	    (double)worst / MS);
	cr_assert_lt(worst, 140 * MS);
}

/* A scope whose many connections bring 2 us each comes back now and then. Who
 * comes after it, beside scopes that are always busy, waits for the time that it
 * has left, and not for as many units of theirs as it brings. */
Test(turn, units_of_a_few_microseconds_do_not_hold_up_who_comes_after_them)
{
	enum { CROWD = 1000, HOGS = 4 };
	struct turns *t = turns_new();
	struct peer crowd[CROWD], hogs[HOGS], asker, *p;
	uint64_t now = 0, asked, worst = 0;

	for (unsigned i = 0; i < HOGS; i++) {
		name_it(&hogs[i], "hog", i);
		give(t, &hogs[i], 1000000 * MS);
	}
	for (unsigned i = 0; i < CROWD; i++)
		name_it(&crowd[i], "crowd", 0);
	name_it(&asker, "asker", 0);
	for (unsigned round = 0; round < 20; round++) {
		for (asked = now; now < asked + 100 * MS;)
			now += unit(t, true, &p);
		for (unsigned i = 0; i < CROWD; i++)
			give(t, &crowd[i], 2000);
		give(t, &asker, MS / 10);
		asked = now;
		for (p = NULL; p != &asker;)
			now += unit(t, true, &p);
		if (now - asked > worst)
			worst = now - asked;
	}
	fprintf(stderr, "worst wait after a crowd: %.1f ms\n",
	    (double)worst / MS);
	cr_assert_lt(worst, 4 * MS);
	for (unsigned i = 0; i < CROWD; i++)
		turns_forget(t, &crowd[i].turn);
	for (unsigned i = 0; i < HOGS; i++)
		turns_forget(t, &hogs[i].turn);
	turns_free(&t);
}

/* ------------------------------------------------------------- the rules */

Test(turn, scopes_share_time_however_many_connections_and_however_long_units)
{
	struct turns *t = turns_new();
	struct peer many[100], few[2], *p;
	uint64_t sum = 0;

	for (unsigned i = 0; i < 100; i++) {
		name_it(&many[i], "many", 0);
		give(t, &many[i], 1000000 * MS);
	}
	for (unsigned i = 0; i < 2; i++) {
		name_it(&few[i], "few", i);
		give(t, &few[i], MS / 50); /* short units, one by one */
	}
	for (uint64_t n = 0; n < 9000 * MS;) {
		n += unit(t, true, &p);
		if (p == &few[0] || p == &few[1])
			give(t, p, MS / 50);
	}
	for (unsigned i = 0; i < 100; i++)
		sum += many[i].used_ns;
	cr_assert_gt(sum, 2900 * MS);
	cr_assert_lt(sum, 3100 * MS);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_gt(few[i].used_ns, 2900 * MS);
		cr_assert_lt(few[i].used_ns, 3100 * MS);
	}
	/* and among its connections, each its part */
	for (unsigned i = 0; i < 100; i++)
		cr_assert_lt(many[i].used_ns, sum / 50, "%u %lu %lu",i,many[i].used_ns, many[i].units);
	for (unsigned i = 0; i < 100; i++)
		turns_forget(t, &many[i].turn);
	for (unsigned i = 0; i < 2; i++)
		turns_forget(t, &few[i].turn);
	turns_free(&t);
}

Test(turn, who_has_just_come_waits_for_one_unit)
{
	struct turns *t = turns_new();
	struct peer *hogs = calloc(600, sizeof(*hogs)), one, *p;
	unsigned waited = 0;

	for (unsigned i = 0; i < 600; i++) {
		name_it(&hogs[i], "hog", i % 3);
		give(t, &hogs[i], 100 * MS);
	}
	for (unsigned i = 0; i < 2000; i++)
		(void)unit(t, true, &p);
	/* another scope's, ... */
	name_it(&one, "one", 0);
	give(t, &one, MS / 10);
	for (p = NULL; p != &one; waited++)
		(void)unit(t, true, &p);
	cr_assert_leq(waited, 2);
	/* ... and in a scope of its own hogs: once that one has its turn */
	name_it(&one, "hog", 0);
	give(t, &one, MS / 10);
	for (waited = 0, p = NULL; p != &one; waited++)
		(void)unit(t, true, &p);
	cr_assert_leq(waited, 8);
	for (unsigned i = 0; i < 600; i++)
		turns_forget(t, &hogs[i].turn);
	turns_free(&t);
	free(hogs);
}

Test(turn, who_took_too_long_waits_until_it_has_paid)
{
	struct turns *t = turns_new();
	struct peer whole, sliced, *p;
	uint64_t others = 0;

	name_it(&whole, "whole", 0);
	name_it(&sliced, "sliced", 0);
	give(t, &whole, 50 * MS);
	(void)unit(t, false, &p); /* cannot be cut */
	cr_assert_eq(p, &whole);
	give(t, &whole, MS);
	give(t, &sliced, 1000 * MS);
	while (p != &whole || whole.left_ns > 0)
		others += unit(t, true, &p);
	cr_assert_gt(others, 45 * MS);
	cr_assert_lt(others, 60 * MS);
	turns_forget(t, &sliced.turn);
	turns_free(&t);
}

Test(turn, debts_end_when_nobody_is_ready)
{
	struct turns *t = turns_new();
	struct peer whole, sliced, *p;

	name_it(&whole, "whole", 0);
	name_it(&sliced, "sliced", 0);
	give(t, &whole, 50 * MS);
	(void)unit(t, false, &p);
	cr_assert(turns_next(t) == NULL);
	cr_assert(!turns_wait(t));
	give(t, &sliced, 1000 * MS);
	give(t, &whole, MS / 2);
	(void)unit(t, true, &p);
	(void)unit(t, true, &p);
	cr_assert_eq(whole.left_ns, 0);
	turns_forget(t, &sliced.turn);
	turns_free(&t);
}

Test(turn, who_ends_in_its_own_unit_is_not_given_another)
{
	struct turns *t = turns_new();
	struct turn_client *c;
	struct peer a, b;

	name_it(&a, "a", 0);
	name_it(&b, "b", 0);
	turns_ready(t, &a.turn, "a");
	turns_ready(t, &b.turn, "b");
	turns_ready(t, &b.turn, "b");
	c = turns_next(t);
	cr_assert_eq(c, &a.turn);
	turns_ready(t, c, "a"); /* its own unit brings it more to do, ... */
	turns_forget(t, c);     /* ... and its end */
	turns_charge(t, MS, true, "a");
	cr_assert_eq(turns_next(t), &b.turn);
	turns_charge(t, MS, false, "b");
	cr_assert(turns_next(t) == NULL);
	/* what comes up in one's own unit is not just come */
	turns_ready(t, &a.turn, "a");
	c = turns_next(t);
	turns_ready(t, c, "a");
	turns_charge(t, MS / 10, false, "a");
	cr_assert(turns_wait(t));
	cr_assert(!a.turn.fresh);
	turns_forget(t, &a.turn);
	cr_assert(turns_next(t) == NULL);
	turns_free(&t);
}

Test(turn, slices_are_shorter_the_more_scopes_there_are)
{
	static const struct { unsigned scopes; uint64_t ns; } want[] = {
	    {1, MS}, {40, MS}, {50, 8 * MS / 10}, {200, MS / 5},
	    {400, MS / 10}, {1000, MS / 10}};

	for (size_t w = 0; w < sizeof(want) / sizeof(want[0]); w++) {
		struct turns *t = turns_new();
		struct peer *p = calloc(want[w].scopes, sizeof(*p));

		for (unsigned i = 0; i < want[w].scopes; i++) {
			name_it(&p[i], "s", i);
			give(t, &p[i], MS);
		}
		cr_assert_eq(turns_slice_ns(t), want[w].ns);
		for (unsigned i = 0; i < want[w].scopes; i++)
			turns_forget(t, &p[i].turn);
		cr_assert(turns_next(t) == NULL);
		turns_free(&t);
		free(p);
	}
}

Test(turn, more_scopes_than_are_told_apart_are_served_all_the_same)
{
	enum { N = TURN_FLOWS_MAX + 500 };
	struct turns *t = turns_new();
	struct peer *v = calloc(N, sizeof(*v)), *p;

	for (unsigned i = 0; i < N; i++) {
		name_it(&v[i], "s", i);
		give(t, &v[i], MS / 10);
	}
	for (unsigned i = 0; i < N; i++)
		(void)unit(t, true, &p);
	for (unsigned i = 0; i < N; i++)
		cr_assert_eq(v[i].left_ns, 0);
	cr_assert(turns_next(t) == NULL);
	/* and afterwards there is room again */
	for (unsigned i = 0; i < N; i++) {
		name_it(&v[i], "t", i);
		give(t, &v[i], MS / 10);
		(void)unit(t, true, &p);
		cr_assert_eq(p, &v[i]);
	}
	turns_free(&t);
	free(v);
}

/* A master that leaves for another build does so in the middle of its work. */
Test(turn, what_still_waits_is_freed)
{
	struct peer v[100];
	size_t before = 0;

	for (unsigned round = 0; round < 50; round++) {
		struct turns *t = turns_new();

		for (unsigned i = 0; i < NELEMS(v); i++) {
			name_it(&v[i], "s", i);
			give(t, &v[i], MS);
		}
		turns_free(&t);
		if (round == 0) /* the allocator has kept some by now */
			before = mallinfo2().uordblks;
	}
	cr_assert_lt(mallinfo2().uordblks, before + 50000);
}
