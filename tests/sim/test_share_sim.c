/* SPDX-License-Identifier: MIT */
/*
 * Shares, a million random steps of scopes that come and go, run and keep what
 * has ended. After each: the sum is never above the limit; a scope within its
 * share has lost nothing to another one; who is refused would have come over
 * its share, or nobody over it had anything left to give. PSUP_SIM_SEED
 * repeats a run.
 */
#include "supervisor/share/share.h"

#include "lib_check.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS  1000000u
#define SCOPES 50u
#define THINGS 64u /* ended ones of a scope */
#define R      SHARE_OUTPUT

TestSuite(share_sim, .timeout = 60);

struct actor {
	struct share_scope scope;
	uint64_t live;           /* of what it uses: nothing takes it back */
	uint64_t ended[THINGS];  /* oldest last */
	uint32_t count;
};

struct world {
	struct shares sh;
	struct actor a[SCOPES];
	struct actor *asker;     /* of the ask under way */
	uint64_t n;              /* what it asks for */
	uint64_t seed, step, said;
	uint32_t taken;          /* things, in this ask */
	uint64_t yes, no, paid;
};

/* Ends the test, saying where. */
static void
broken(const struct world *w, const char *why)
{
	cr_assert_fail("seed %" PRIu64 ", step %" PRIu64 ": %s", w->said, w->step,
	    why);
}

static uint64_t
roll(struct world *w, uint64_t sides)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (w->seed >> 33) % sides;
}

static uint64_t
used(const struct actor *a)
{
	return a->scope.used[R];
}

/* Its part of the limit, counted here by hand. */
static uint64_t
fair(const struct world *w, const struct actor *asker)
{
	uint64_t using = 0;

	for (uint32_t i = 0; i < SCOPES; i++)
		using += used(&w->a[i]) != 0 || &w->a[i] == asker;
	return (w->sh.row[R].limit - w->sh.row[R].limit / 8) / using;
}

/* The module wants a thing back: is it the right scope that pays? */
static bool
on_reclaim(void *arg, struct share_scope *payer)
{
	struct world *w = arg;
	struct actor *a = RANK_OWNER(payer, struct actor, scope);
	uint64_t part = fair(w, w->asker);

	if (a != w->asker && used(a) <= part)
		broken(w, "a scope within its share is to pay");
	if (a == w->asker && used(a) + w->n <= part)
		broken(w, "the asker is to pay, and is within its share");
	if (a != w->asker && used(w->asker) + w->n > part)
		broken(w, "another is to pay for one that is over its share");
	for (uint32_t i = 0; i < SCOPES && a != w->asker; i++)
		if (w->a[i].count > 0 && &w->a[i] != w->asker &&
		    used(&w->a[i]) > used(a))
			broken(w, "there is a heavier one");
	if (a->count == 0)
		return false;
	w->taken++;
	w->paid++;
	payer->loose[R] -= a->ended[a->count - 1];
	share_give(&w->sh, payer, R, a->ended[--a->count]);
	return true;
}

/* Was the refusal right? */
static void
judge_refusal(const struct world *w, uint64_t before)
{
	const struct share_row *row = &w->sh.row[R];
	uint64_t part = fair(w, w->asker);

	if (before + w->n <= row->limit - row->limit / 8)
		broken(w, "refused, though there was room");
	if (w->taken >= SHARE_MOST)
		return;
	if (used(w->asker) + w->n > part) {
		if (w->taken > 0)
			broken(w, "it has paid, and is refused");
		if (w->asker->live + w->n <= part)
			broken(w, "refused, though it could pay for itself");
		return;
	}
	if (row->used + w->n <= row->limit)
		broken(w, "refused within its share, though it fits");
	for (uint32_t i = 0; i < SCOPES; i++)
		if (w->a[i].count > 0 && &w->a[i] != w->asker &&
		    used(&w->a[i]) > part)
			broken(w, "refused, though one over its share could "
			    "have paid");
}

/* Somebody wants to run something. */
static void
step_ask(struct world *w, struct actor *a)
{
	uint64_t before = w->sh.row[R].used;

	w->asker = a;
	w->n = 1 + roll(w, roll(w, 20) == 0 ? 30000 : 300);
	w->taken = 0;
	if (!share_may(&w->sh, &a->scope, R, w->n)) {
		w->no++;
		judge_refusal(w, before);
		return;
	}
	w->yes++;
	share_take(&w->sh, &a->scope, R, w->n);
	a->live += w->n;
	if (w->sh.row[R].used > w->sh.row[R].limit)
		broken(w, "more is lent than there is");
}

/* A part of what runs ends, and leaves less than was lent for it. */
static void
step_end(struct world *w, struct actor *a)
{
	uint64_t n = a->live < 200 ? a->live : 1 + roll(w, a->live);
	uint64_t left = n / (1 + roll(w, 8));

	if (a->count == THINGS || left == 0)
		left = 0;
	else
		a->ended[a->count++] = left;
	a->scope.loose[R] += left;
	a->live -= n;
	share_give(&w->sh, &a->scope, R, n - left);
}

/* It reads and clears everything, and its commands end. */
static void
step_go(struct world *w, struct actor *a)
{
	share_give(&w->sh, &a->scope, R, used(a));
	a->live = 0;
	a->count = 0;
	a->scope.loose[R] = 0;
}

Test(share_sim, nobody_pays_who_is_within_its_share)
{
	const char *env = getenv("PSUP_SIM_SEED"), *why;
	static struct world w;

	w.said = w.seed = env != NULL ? strtoull(env, NULL, 10) : 20261122;
	share_init(&w.sh);
	share_set_limit(&w.sh, R, 100000);
	share_set_reclaim(&w.sh, R, on_reclaim, &w);
	for (w.step = 0; w.step < STEPS; w.step++) {
		/* few are busy at once, and one of them most of the time */
		uint64_t crowd = 1 + (w.step / 5000) % SCOPES;
		struct actor *a = &w.a[roll(&w, 3) == 0 ? roll(&w, crowd) : 0];
		uint64_t what = roll(&w, 1000);

		/* now and then hardly anything ends, and all of it is lent */
		if (what < (w.step / 3000 % 2 == 0 ? 600u : 950u))
			step_ask(&w, a);
		else if (what < 998)
			step_end(&w, a);
		else
			step_go(&w, a);
		if (w.step % 97 == 0 && (why = share_check(&w.sh)) != NULL)
			broken(&w, why);
	}
	printf("asks granted %" PRIu64 ", refused %" PRIu64
	    ", things taken back %" PRIu64 "\n", w.yes, w.no, w.paid);
	cr_expect(w.yes > STEPS / 10 && w.no > STEPS / 1000 &&
	    w.paid > STEPS / 1000, "the run says nothing");
}
