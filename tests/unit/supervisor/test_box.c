/* SPDX-License-Identifier: MIT */
/* The life of a box, in virtual time. */
#include "supervisor/box/box.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SEC UINT64_C(1000000000)

static const struct box_rules rules = {
    .setup = true,
    .make_ns = 10 * SEC,
    .setup_ns = 60 * SEC,
    .stop_ns = 5 * SEC,
    .idle_ns = 100 * SEC,
    .age_ns = 1000 * SEC,
};

static unsigned
tell(struct box *b, enum box_event event, uint64_t sec)
{
	return box_tell(b, event, &rules, sec * SEC);
}

/* A box that was wanted at 1 s and is ready at 3 s. */
static struct box
ready(void)
{
	struct box b = {0};

	cr_assert_eq(tell(&b, BOX_WANT, 1), BOX_DO_MAKE);
	cr_assert_eq(tell(&b, BOX_UP, 2), BOX_DO_SETUP);
	cr_assert_eq(tell(&b, BOX_SETUP_DONE, 3), BOX_DO_AGAIN);
	cr_assert_eq(b.state, BOX_READY);
	return b;
}

Test(box, is_made_once_for_all_that_want_it)
{
	struct box b = {0};

	cr_expect_eq(tell(&b, BOX_WANT, 1), BOX_DO_MAKE);
	cr_expect_eq(tell(&b, BOX_WANT, 1), 0);
	cr_expect_eq(tell(&b, BOX_UP, 2), BOX_DO_SETUP);
	cr_expect_eq(tell(&b, BOX_WANT, 2), 0);
	cr_expect_eq(tell(&b, BOX_SETUP_DONE, 3), BOX_DO_AGAIN);
	cr_expect_eq(tell(&b, BOX_WANT, 3), BOX_DO_ENTER);
	cr_expect_eq(tell(&b, BOX_WANT, 3), BOX_DO_ENTER);
	cr_expect_eq(b.inside, 2);
}

Test(box, without_a_setup_command_is_ready_at_the_first_word)
{
	struct box_rules plain = rules;
	struct box b = {0};

	plain.setup = false;
	cr_expect_eq(box_tell(&b, BOX_WANT, &plain, 1), BOX_DO_MAKE);
	cr_expect_eq(box_tell(&b, BOX_UP, &plain, 2), BOX_DO_AGAIN);
	cr_expect_eq(b.state, BOX_READY);
}

Test(box, that_does_not_come_up_fails_all_that_wait)
{
	struct box b = {0};

	tell(&b, BOX_WANT, 1);
	cr_expect_eq(box_due_ns(&b, &rules), 11 * SEC);
	cr_expect_eq(tell(&b, BOX_TIME, 10), 0);
	cr_expect_eq(tell(&b, BOX_TIME, 11), BOX_DO_REFUSE | BOX_DO_STOP);
	cr_expect_eq(tell(&b, BOX_WANT, 12), BOX_DO_REFUSE);
	cr_expect_eq(tell(&b, BOX_UP, 12), 0, "too late");
	cr_expect_eq(tell(&b, BOX_TIME, 16), BOX_DO_STOP, "once more");
	cr_expect_eq(tell(&b, BOX_DIED, 17), BOX_DO_AGAIN);
	cr_expect_eq(b.state, BOX_GONE);
}

Test(box, whose_bwrap_says_no_is_gone_and_refused)
{
	struct box b = {0};

	tell(&b, BOX_WANT, 1);
	cr_expect_eq(tell(&b, BOX_DIED, 1), BOX_DO_REFUSE);
	cr_expect_eq(b.state, BOX_GONE);
	cr_expect_eq(tell(&b, BOX_WANT, 2), BOX_DO_AGAIN, "in the next one");
}

Test(box, whose_setup_fails_or_hangs_lets_nobody_in)
{
	struct box bad = {0}, slow = {0}, dead = {0};

	tell(&bad, BOX_WANT, 1);
	tell(&bad, BOX_UP, 2);
	cr_expect_eq(tell(&bad, BOX_BAD, 3), BOX_DO_REFUSE | BOX_DO_STOP);
	tell(&dead, BOX_WANT, 1);
	tell(&dead, BOX_UP, 2);
	cr_expect_eq(tell(&dead, BOX_DIED, 3), BOX_DO_REFUSE);
	tell(&slow, BOX_WANT, 1);
	tell(&slow, BOX_UP, 2);
	cr_expect_eq(box_due_ns(&slow, &rules), 62 * SEC);
	cr_expect_eq(tell(&slow, BOX_TIME, 62), BOX_DO_REFUSE | BOX_DO_STOP);
	cr_expect_eq(tell(&slow, BOX_SETUP_DONE, 63), 0, "too late");
	cr_expect_eq(tell(&slow, BOX_WANT, 63), BOX_DO_REFUSE);
}

Test(box, idle_or_old_is_pruned_with_nobody_inside)
{
	struct box b = ready();

	cr_expect_eq(box_due_ns(&b, &rules), 103 * SEC, "idle");
	cr_expect_eq(tell(&b, BOX_WANT, 102), BOX_DO_ENTER);
	cr_expect_eq(box_due_ns(&b, &rules), UINT64_MAX);
	cr_expect_eq(tell(&b, BOX_TIME, 5000), 0);
	cr_expect_eq(tell(&b, BOX_LEFT, 5000), 0);
	cr_expect_eq(box_due_ns(&b, &rules), 1001 * SEC, "old");
	cr_expect_eq(tell(&b, BOX_TIME, 5000), BOX_DO_STOP);
	cr_expect_eq(tell(&b, BOX_WANT, 5000), 0, "waits for the next one");
	cr_expect_eq(tell(&b, BOX_DIED, 5001), BOX_DO_AGAIN);
	cr_expect_eq(b.state, BOX_GONE);
}

Test(box, that_drains_lets_those_inside_end)
{
	struct box b = ready();

	tell(&b, BOX_WANT, 4);
	tell(&b, BOX_WANT, 4);
	cr_expect_eq(tell(&b, BOX_DRAIN, 5), 0);
	cr_expect_eq(tell(&b, BOX_WANT, 5), 0);
	cr_expect_eq(tell(&b, BOX_LEFT, 6), 0);
	cr_expect_eq(tell(&b, BOX_LEFT, 7), BOX_DO_STOP);
	cr_expect_eq(box_due_ns(&b, &rules), 12 * SEC);
	cr_expect_eq(tell(&b, BOX_DIED, 8), BOX_DO_AGAIN);
}

Test(box, killed_from_outside_takes_those_inside_along)
{
	struct box b = ready();

	tell(&b, BOX_WANT, 4);
	cr_expect_eq(tell(&b, BOX_DIED, 5), BOX_DO_AGAIN | BOX_DO_LOST);
	cr_expect_eq(tell(&b, BOX_LEFT, 6), 0);
	cr_expect_eq(b.inside, 0);
	cr_expect_eq(b.state, BOX_GONE);
	cr_expect_eq(box_due_ns(&b, &rules), UINT64_MAX);
}

Test(box, durations_of_zero_have_no_end)
{
	struct box_rules ever = {.make_ns = 1};
	struct box b = {0};

	box_tell(&b, BOX_WANT, &ever, 1);
	box_tell(&b, BOX_UP, &ever, 1);
	cr_expect_eq(box_due_ns(&b, &ever), UINT64_MAX);
	cr_expect_eq(box_tell(&b, BOX_TIME, &ever, UINT64_MAX - 1), 0);
}

/* What the world outside knows of the box. */
struct world {
	struct box b;
	uint32_t inside;
	bool made, dead, stopped;
	uint64_t now;
};

/* May it happen? */
static bool
possible(const struct world *w, enum box_event event)
{
	if (event == BOX_LEFT)
		return w->inside > 0;
	if (event == BOX_DIED)
		return w->made && !w->dead;
	return true;
}

static void
hold(struct world *w, enum box_event event, unsigned does, enum box_state was)
{
	if (does & BOX_DO_MAKE) {
		cr_assert(!w->made, "made twice");
		w->made = true;
	}
	if (does & BOX_DO_ENTER) {
		cr_assert(event == BOX_WANT && was == BOX_READY);
		w->inside++;
	}
	if (does & BOX_DO_STOP) {
		cr_assert(w->inside == 0, "stopped over the head of somebody");
		w->stopped = true;
	}
	if (event == BOX_DIED) {
		w->dead = true;
		cr_assert_eq((does & BOX_DO_LOST) != 0, w->inside > 0);
		cr_assert((does & (BOX_DO_AGAIN | BOX_DO_REFUSE)) != 0,
		    "those who wait would wait for ever");
	}
	cr_assert_eq(w->b.inside, w->inside);
	cr_assert_eq(w->dead, w->made && w->b.state == BOX_GONE);
	/* whoever waits is waited for: something is due, or somebody inside */
	if (w->made && !w->dead && w->b.state != BOX_READY)
		cr_assert(
		    w->inside > 0 || box_due_ns(&w->b, &rules) != UINT64_MAX);
	if (event == BOX_TIME)
		cr_assert_gt(box_due_ns(&w->b, &rules), w->now);
}

Test(box, holds_in_any_order)
{
	unsigned seen[BOX_STATES][BOX_EVENTS] = {{0}};
	unsigned round, step, seed = 14;

	for (round = 0; round < 20000; round++) {
		struct world w = {.now = 1};

		for (step = 0; step < 40; step++) {
			enum box_event event =
			    (enum box_event)(rand_r(&seed) % BOX_EVENTS);
			enum box_state was = w.b.state;

			w.now += (uint64_t)(rand_r(&seed) % 40) * SEC;
			if (!possible(&w, event))
				continue;
			if (event == BOX_LEFT)
				w.inside--;
			seen[was][event]++;
			hold(&w, event, box_tell(&w.b, event, &rules, w.now),
			    was);
		}
	}
	for (enum box_state s = BOX_MAKING; s < BOX_GONE; s++)
		for (int e = 0; e < BOX_EVENTS; e++)
			cr_assert(seen[s][e] > 0 || e == BOX_LEFT,
			    "%s never met event %d", box_state_name(s), e);
	cr_assert_gt(seen[BOX_DRAINING][BOX_LEFT], 0);
}
