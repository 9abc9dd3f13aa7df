/* SPDX-License-Identifier: MIT */
/*
 * Who has a session, in orders of steps that seeds draw (lib_custody.h). The
 * machine must be right in each, and a machine with one move less, or one more,
 * must be wrong in one of them. PSUP_SIM_SEED=N tells one order step by step;
 * PSUP_SIM_ORDERS plays so many (10 million with tests/long/custody).
 */
#include "lib_custody.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#define ORDERS  30000u
#define FAILING 8u   /* one of so many is of those in which execs fail */
#define PASSING 2u   /* and of those in which ENDs go by the keeper */
#define MUTANT  600u /* orders that a mutant is given here */
#define AT_ONCE 16u   /* so many are found in these */

TestSuite(custody_sim, .timeout = 3600);

static uint64_t
number(const char *name, uint64_t other)
{
	const char *v = getenv(name);

	return v != NULL ? strtoull(v, NULL, 0) : other;
}

static uint64_t
of_a_kind(uint64_t s)
{
	return s + (s % FAILING == 0 ? SIM_EXECS_FAIL : 0) +
	    (s / FAILING % PASSING == 0 ? SIM_ENDS_PASSED : 0);
}

Test(custody_sim, no_order_is_bad)
{
	uint64_t seed = number("PSUP_SIM_SEED", 0);
	uint64_t n = number("PSUP_SIM_ORDERS", ORDERS), steps = 0;
	uint64_t first = number("PSUP_SIM_FIRST", 1);

	sim_trace = seed != 0;
	sim_without = (uint32_t)number("PSUP_SIM_WITHOUT", 0);
	if (seed != 0) {
		first = seed;
		n = 1;
	}
	for (uint64_t s = first; s < first + n; s++) {
		bool good = sim_play(seed != 0 ? s : of_a_kind(s));

		steps += W.steps;
		cr_assert(good, "PSUP_SIM_SEED=%" PRIu64 ", step %" PRIu64
		    ": %s", W.seed, W.steps, sim_why);
	}
	cr_log_info("orders %" PRIu64 " to %" PRIu64 ": %" PRIu64 " steps", first,
	    first + n - 1, steps);
}

/* Each was bad before there was the rule, and is without it; one where there is no
 * later one, either. */
Test(custody_sim, orders_that_were_bad_once)
{
	static const struct {
		uint64_t seed;
		enum rule rule;
		uint32_t also; /* 1 << rule */
	} was[] = {{4270955, RULE_CLOSED_RINGS, 0},
	    {5142982, RULE_READ_OTHERS, 0},
	    {5412483, RULE_READ_OTHERS, 1u << RULE_CLOSED_FIRST},
	    {6850079, RULE_UNHELD, 0}, {9060127, RULE_ROW_OF_ITS_OWN, 0},
	    {9480830, RULE_FAILED_FIRST, 0},
	    {SIM_EXECS_FAIL + 203248, RULE_CLOSED_FIRST, 0}};

	for (size_t i = 0; i < sizeof(was) / sizeof(was[0]); i++) {
		sim_without = 1u << was[i].rule | was[i].also;
		cr_expect(!sim_play(was[i].seed), "%" PRIu64 " needs no rule",
		    was[i].seed);
		sim_without = 0;
		cr_expect(sim_play(was[i].seed), "%" PRIu64 ": %s", W.seed,
		    sim_why);
	}
}

/* The first bad order with this mutant, or 0. */
static uint64_t
first_bad(struct mutant m, uint64_t orders)
{
	uint64_t s = 1;

	mutant_swap(&m);
	while (s <= orders && sim_play(s) && sim_play(s + SIM_EXECS_FAIL))
		s++;
	mutant_swap(&m);
	return s <= orders ? s : 0;
}

Test(custody_sim, every_mutant_is_caught)
{
	uint64_t orders = number("PSUP_SIM_ORDERS", 0);
	uint32_t i, caught = 0;
	struct mutant m;

	for (i = 0; mutant_at(i, &m); i++) {
		uint64_t s = first_bad(m, orders != 0 ? orders : MUTANT);

		caught += s != 0;
		if (orders == 0)
			continue;
		cr_log_info("state %u, event %u, answer %u: order %" PRIu64,
		    m.state, m.event, m.answer, s);
		cr_expect(s != 0, "nothing is wrong without state %u, event %u",
		    m.state, m.event);
	}
	cr_assert_geq(caught, orders != 0 ? i : AT_ONCE, "%u of %u", caught, i);
}
