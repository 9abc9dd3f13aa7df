/* SPDX-License-Identifier: MIT */
/* What the kernel's names for a sleep mean. */
#include <criterion/criterion.h>

#include "supervisor/session/input_wait.h"

Test(input_wait, knows_the_names_of_several_kernels, .timeout = 10)
{
	cr_expect_eq(input_wait_sleep("anon_pipe_read"), SLEEP_READ);
	cr_expect_eq(input_wait_sleep("pipe_read"), SLEEP_READ);
	cr_expect_eq(input_wait_sleep("pipe_wait_readable"), SLEEP_READ);
	cr_expect_eq(input_wait_sleep("n_tty_read"), SLEEP_READ);
	cr_expect_eq(input_wait_sleep("wait_woken"), SLEEP_READ);
	cr_expect_eq(
	    input_wait_sleep("poll_schedule_timeout.constprop.0"),
	    SLEEP_POLL);
	cr_expect_eq(input_wait_sleep("do_epoll_wait"), SLEEP_POLL);
	cr_expect_eq(input_wait_sleep("ep_poll"), SLEEP_POLL);
	cr_expect_eq(input_wait_sleep("do_select"), SLEEP_POLL);
	cr_expect_eq(input_wait_sleep("hrtimer_nanosleep"), SLEEP_ELSE);
	cr_expect_eq(input_wait_sleep("do_wait"), SLEEP_ELSE);
	cr_expect_eq(input_wait_sleep("pipe_write"), SLEEP_ELSE);
	cr_expect_eq(input_wait_sleep("0"), SLEEP_UNKNOWN);
	cr_expect_eq(input_wait_sleep(""), SLEEP_UNKNOWN);
}
