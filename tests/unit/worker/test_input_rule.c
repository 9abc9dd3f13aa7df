/* SPDX-License-Identifier: MIT */
/* What waits for input and what does not, by what /proc shows of its tasks. */
#include <criterion/criterion.h>

#include "worker/input_rule.h"

TestSuite(input_rule, .timeout = 10);

#define MAIN(t)	    .tid = (t), .first = true, .state = 'S'
#define THREAD(t)   .tid = (t), .state = 'S'
#define READS(from) .sleep = {.kind = SLEEP_READ}, .source = INPUT_FROM_##from
#define IN(kind_)   .sleep = {.kind = SLEEP_##kind_}

/* Has a session of these tasks, as many as have a number, the verdict? */
static bool
waits(const struct input_task *t, uint64_t *ret_stamp)
{
	struct input_look l;

	input_look_begin(&l, 10, 20);
	while (t->tid != 0 && input_look_task(&l, t))
		t++;
	*ret_stamp = l.stamp;
	return input_look_waits(&l);
}

Test(input_rule, tells_who_waits_from_who_works)
{
	static const struct {
		const char *what;
		bool waits;
		struct input_task task[5];
	} rows[] = {
	    {"cat", true, {{MAIN(2), READS(STDIN)}}},
	    {"a shell that waits for cat", true,
		{{MAIN(2), IN(CHILD)}, {MAIN(3), READS(STDIN)}}},
	    {"cat | sort", true,
		{{MAIN(2), IN(CHILD)}, {MAIN(3), READS(STDIN)},
		    {MAIN(4), READS(PIPE)}}},
	    {"sleep | cat", false,
		{{MAIN(2), IN(CHILD)}, {MAIN(3), IN(ELSE)},
		    {MAIN(4), READS(PIPE)}}},
	    {"xargs between two children", true, {{MAIN(2), READS(STDIN)}}},
	    {"xargs -P with a child at work", false,
		{{MAIN(2), READS(STDIN)}, {MAIN(3), IN(ELSE)}}},
	    {"a child that runs", false,
		{{MAIN(2), READS(STDIN)},
		    {.tid = 3, .first = true, .state = 'R'}}},
	    {"a child in the kernel's hands", false,
		{{MAIN(2), READS(STDIN)},
		    {.tid = 3, .first = true, .state = 'D'}}},
	    {"a child that is stopped", true,
		{{MAIN(2), READS(STDIN)},
		    {.tid = 3, .first = true, .state = 'T'}}},
	    {"a zombie", true,
		{{MAIN(2), READS(STDIN)},
		    {.tid = 3, .first = true, .state = 'Z'}}},
	    {"nothing but a zombie", false,
		{{.tid = 3, .first = true, .state = 'Z'}}},
	    {"a first thread with an idle pool", true,
		{{MAIN(2), READS(STDIN)}, {THREAD(3), IN(FUTEX)},
		    {THREAD(4), IN(POLL)}}},
	    {"a reading thread", false,
		{{MAIN(2), IN(FUTEX)}, {THREAD(3), READS(STDIN)}}},
	    {"a reading thread, its first one polls", false,
		{{MAIN(2), IN(POLL)}, {THREAD(3), READS(STDIN)}}},
	    {"a server in a poll", false,
		{{MAIN(2), IN(POLL)}, {MAIN(3), READS(STDIN)}}},
	    {"a read of a file or a socket", false, {{MAIN(2), READS(ELSE)}}},
	    {"downstream alone", false, {{MAIN(2), READS(PIPE)}}},
	    {"hidden", false, {{MAIN(2), IN(UNKNOWN)}}},
	    {"a prompt on a terminal", true,
		{{MAIN(2), IN(POLL), .drives = true}}},
	    {"top", false,
		{{MAIN(2), .sleep = {.kind = SLEEP_POLL, .timed = true},
		    .drives = true}}},
	    {"ssh", false, {{MAIN(2), IN(POLL)}}},
	};
	uint64_t stamp;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(waits(rows[i].task, &stamp), rows[i].waits, "%s",
		    rows[i].what);
}

Test(input_rule, the_stamp_tells_that_something_moved)
{
	struct input_task t[] = {{MAIN(2), IN(CHILD), .start = 5, .ticks = 1},
	    {MAIN(3), READS(STDIN), .start = 6, .ticks = 2, .ran_ns = 1000},
	    {.tid = 0}};
	uint64_t first, now;
	struct input_look l;

	cr_assert(waits(t, &first));
	cr_assert(waits(t, &now));
	cr_expect_eq(now, first);
	t[0].ticks++;
	cr_assert(waits(t, &now));
	cr_expect_neq(now, first, "cpu time");
	t[0].ticks--;
	t[1].ran_ns++;
	cr_assert(waits(t, &now));
	cr_expect_neq(now, first, "it was awake meanwhile");
	t[1].ran_ns--;
	t[1].start++;
	cr_assert(waits(t, &now));
	cr_expect_neq(now, first, "another process of that number");
	t[1].start--;
	input_look_begin(&l, 11, 20);
	(void)input_look_task(&l, &t[0]);
	(void)input_look_task(&l, &t[1]);
	cr_expect_neq(l.stamp, first, "output");
	input_look_begin(&l, 10, 21);
	(void)input_look_task(&l, &t[0]);
	(void)input_look_task(&l, &t[1]);
	cr_expect_neq(l.stamp, first, "input");
}
