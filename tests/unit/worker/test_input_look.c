/* SPDX-License-Identifier: MIT */
/* A worker that is asked whether a command goes on by input alone. */
#include "lib_puppet.h"

#include <signal.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/procfs.h"

#define LOOK_PAUSE_NS (20 * NSEC_PER_MSEC)
#define BUSY_NS	      (600 * NSEC_PER_MSEC) /* so long nothing must be seen */

static struct puppet p;

static void
begin(void)
{
	puppet_init(&p);
	puppet_worker(&p, NULL);
}

static void
finish(void)
{
	puppet_fini(&p);
}

TestSuite(input_look, .init = begin, .fini = finish, .timeout = 60);

static struct psession *
start(const char *sh, bool tty)
{
	struct psession *s =
	    puppet_start(&p, &(struct order){.sh = sh,
				 .flags = CTL_START_STDIN_OPEN |
					  (tty ? (unsigned)CTL_START_PTY : 0u),
				 .cols = 80,
				 .rows = 24});

	UNTIL(&p, s->running);
	return s;
}

/* What one look says. */
static uint32_t
look(struct psession *s)
{
	uint64_t next = clock_boot_ns() + LOOK_PAUSE_NS;

	UNTIL(&p, clock_boot_ns() >= next);
	puppet_look_input(&p, s);
	UNTIL(&p, s->input_told);
	return s->input.waits;
}

static void
end(struct psession *s)
{
	puppet_kill(&p, s, SIGKILL, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);
}

/* Until it is seen to wait; and then it stays so. */
static void
expect_waits(struct psession *s, uint32_t waits)
{
	uint64_t stamp;

	UNTIL(&p, look(s) != CTL_INPUT_NONE);
	cr_expect_eq(s->input.waits, waits);
	UNTIL(&p, (stamp = s->input.stamp,
		      look(s) == waits && s->input.stamp == stamp));
}

static void
expect_busy(struct psession *s, const char *sh)
{
	uint64_t until = clock_boot_ns() + BUSY_NS;

	while (clock_boot_ns() < until)
		cr_expect_eq(look(s), CTL_INPUT_NONE, "%s", sh);
}

Test(input_look, sees_who_reads_its_stdin)
{
	static const char *const commands[] = {
	    "exec cat", "read x", "(sh -c cat); true", "cat | sort | uniq"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct psession *s = start(commands[i], false);

		expect_waits(s, CTL_INPUT_STDIN);
		end(s);
	}
}

Test(input_look, does_not_take_work_for_it)
{
	static const char *const commands[] = {"exec sleep 1000",
	    "sleep 1000 & cat", "sleep 1000 | cat", "x=$(sleep 1000)",
	    "while :; do :; done", "cat </dev/zero >/dev/null",
	    "exec 3<&0 </dev/null; sleep 1000"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct psession *s = start(commands[i], false);

		expect_busy(s, commands[i]);
		end(s);
	}
}

Test(input_look, sees_who_reads_its_terminal)
{
	static const char *const commands[] = {
	    "exec cat", "read x", "stty -icanon; exec cat", "read x </dev/tty"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct psession *s = start(commands[i], true);

		expect_waits(s, CTL_INPUT_TTY);
		end(s);
	}
}

Test(input_look, a_word_that_it_reads_moves_the_stamp)
{
	struct psession *s = start("exec cat >/dev/null", false);
	uint64_t stamp;

	expect_waits(s, CTL_INPUT_STDIN);
	stamp = s->input.stamp;
	puppet_write(&p, s, "x\n", 2);
	expect_waits(s, CTL_INPUT_STDIN);
	cr_expect_neq(s->input.stamp, stamp);
	end(s);
}

Test(input_look, of_one_without_stdin_nothing_is_seen)
{
	struct psession *s =
	    puppet_start(&p, &(struct order){.sh = "exec sleep 1000"});

	UNTIL(&p, s->running);
	cr_expect_eq(look(s), CTL_INPUT_NONE);
	end(s);
}

/* What the worker has computed so far. */
static uint64_t
worker_ran_ns(void)
{
	char text[128];

	cr_assert_gt(procfs_file(p.worker, "schedstat", text, sizeof(text)), 0);
	return strtoull(text, NULL, 10);
}

/* The looks of one that has many tasks, asked for one after the other: the
 * worker has time for others. */
Test(input_look, looks_take_an_eighth_of_the_time)
{
	struct psession *s = start("i=0; while [ $((i += 1)) -lt 50 ]; do "
	    "sh -c 'kill -STOP $$' & done; exec cat", false);
	uint64_t began, ran;

	expect_waits(s, CTL_INPUT_STDIN);
	began = clock_boot_ns();
	ran = worker_ran_ns();
	for (int i = 0; i < 30; i++) {
		puppet_look_input(&p, s);
		UNTIL(&p, s->input_told);
		cr_expect_eq(s->input.waits, CTL_INPUT_STDIN);
	}
	ran = worker_ran_ns() - ran;
	cr_expect_leq(4 * ran, clock_boot_ns() - began, "%d us of work",
	    (int)(ran / NSEC_PER_USEC));
	end(s);
}

/* It is asked again before it could say anything: one look answers both. */
Test(input_look, one_that_is_due_is_not_asked_for_twice)
{
	struct psession *s = start("exec cat", false);

	expect_waits(s, CTL_INPUT_STDIN);
	for (int i = 0; i < 20; i++)
		puppet_look_input(&p, s);
	UNTIL(&p, s->input_told);
	cr_expect_eq(look(s), CTL_INPUT_STDIN);
	end(s);
}
