/* SPDX-License-Identifier: MIT */
/* What the kernel's words for a sleep mean. */
#include <criterion/criterion.h>

#include "common/sleep.h"

Test(sleep, knows_the_names_of_several_kernels, .timeout = 10)
{
	cr_expect_eq(sleep_by_wchan("anon_pipe_read"), SLEEP_READ);
	cr_expect_eq(sleep_by_wchan("pipe_read"), SLEEP_READ);
	cr_expect_eq(sleep_by_wchan("pipe_wait_readable"), SLEEP_READ);
	cr_expect_eq(sleep_by_wchan("n_tty_read"), SLEEP_READ);
	cr_expect_eq(sleep_by_wchan("wait_woken"), SLEEP_READ);
	cr_expect_eq(
	    sleep_by_wchan("poll_schedule_timeout.constprop.0"), SLEEP_POLL);
	cr_expect_eq(sleep_by_wchan("do_epoll_wait"), SLEEP_POLL);
	cr_expect_eq(sleep_by_wchan("ep_poll"), SLEEP_POLL);
	cr_expect_eq(sleep_by_wchan("do_select"), SLEEP_POLL);
	cr_expect_eq(sleep_by_wchan("do_wait"), SLEEP_CHILD);
	cr_expect_eq(sleep_by_wchan("futex_wait_queue"), SLEEP_FUTEX);
	cr_expect_eq(sleep_by_wchan("futex_do_wait"), SLEEP_FUTEX);
	cr_expect_eq(sleep_by_wchan("sigsuspend"), SLEEP_SIGNAL);
	cr_expect_eq(sleep_by_wchan("__do_sys_pause"), SLEEP_SIGNAL);
	cr_expect_eq(sleep_by_wchan("hrtimer_nanosleep"), SLEEP_ELSE);
	cr_expect_eq(sleep_by_wchan("pipe_write"), SLEEP_ELSE);
	cr_expect_eq(sleep_by_wchan("0"), SLEEP_UNKNOWN);
	cr_expect_eq(sleep_by_wchan(""), SLEEP_UNKNOWN);
}

Test(sleep, running_or_no_call_is_something_else, .timeout = 10)
{
	cr_expect_eq(sleep_by_syscall("running\n").kind, SLEEP_ELSE);
	cr_expect_eq(sleep_by_syscall("-1 0x7ffc 0x7f\n").kind, SLEEP_ELSE);
	cr_expect_eq(sleep_by_syscall("").kind, SLEEP_ELSE);
	cr_expect_eq(
	    sleep_by_syscall("0").kind, sleep_by_syscall("0 0x0").kind);
}

#ifdef __x86_64__
Test(sleep, tells_by_the_system_call, .timeout = 10)
{
	struct sleep s = sleep_by_syscall("0 0x1f 0x7f 0x1000\n");

	cr_expect_eq(s.kind, SLEEP_READ);
	cr_expect_eq(s.fd, 31);
	cr_expect_eq(sleep_by_syscall("61 0x5 0x1\n").kind, SLEEP_CHILD);
	cr_expect_eq(sleep_by_syscall("202 0x5 0x1\n").kind, SLEEP_FUTEX);
	cr_expect_eq(sleep_by_syscall("34 0x5 0x1\n").kind, SLEEP_SIGNAL);
	cr_expect_eq(sleep_by_syscall("130 0x5 0x1\n").kind, SLEEP_SIGNAL);
	cr_expect_eq(sleep_by_syscall("230 0x5 0x1\n").kind, SLEEP_ELSE);
}

Test(sleep, tells_whether_a_poll_ends_and_what_it_is_for, .timeout = 10)
{
	static const struct {
		const char *text;
		bool timed, alone;
	} rows[] = {
	    {"7 0x7ffd 0x1 0xffffffff 0x0 0x0 0x0\n", false, true},
	    {"7 0x7ffd 0x1 0xffffffffffffffff 0x0 0x0 0x0\n", false, true},
	    {"7 0x7ffd 0x2 0xffffffff 0x0 0x0 0x0\n", false, false},
	    {"7 0x7ffd 0x1 0x3e8 0x0 0x0 0x0\n", true, true},
	    {"7 0x7ffd 0x1 0x0 0x0 0x0 0x0\n", true, true},
	    {"270 0x1 0x7ffe 0x0 0x0 0x0 0x7ffe\n", false, true},
	    {"270 0x4 0x7ffe 0x0 0x0 0x0 0x7ffe\n", false, false},
	    {"270 0x1 0x7ffe 0x0 0x0 0x7ff1 0x7ffe\n", true, true},
	    {"271 0x7ffe 0x1 0x0 0x0 0x8 0x0\n", false, true},
	    {"281 0xd 0x7ffe 0x400 0xffffffff 0x0 0x8\n", false, false},
	    {"281 0xd 0x7ffe 0x400 0x64 0x0 0x8\n", true, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sleep s = sleep_by_syscall(rows[i].text);

		cr_expect_eq(s.kind, SLEEP_POLL, "%s", rows[i].text);
		cr_expect_eq(s.timed, rows[i].timed, "%s", rows[i].text);
		cr_expect_eq(s.alone, rows[i].alone, "%s", rows[i].text);
	}
}
#endif
