/* SPDX-License-Identifier: MIT */
/* The public text helpers. */
#include <criterion/criterion.h>
#include <string.h>

#include <psup/psup.h>

TestSuite(text, .timeout = 10);

Test(text, escapes_repairs_and_formats)
{
	char buf[64];
	size_t n;

	psup_escape("a\x1b[0m\n", 6, false, buf, sizeof(buf));
	cr_expect_str_eq(buf, "a\\x1b[0m\\x0a");
	n = psup_repair("a\xff", 2, buf);
	cr_expect_eq(n, 4);
	cr_expect_eq(memcmp(buf, "a\xef\xbf\xbd", 4), 0);
	n = psup_clean(NULL, "a\x1b[1mb\x1b[", 8, true, buf);
	cr_expect(n == 2 && memcmp(buf, "ab", 2) == 0);
	cr_expect_eq(psup_open_tail("a\x1b[1mb\x1b[", 8), 2);
	cr_expect_eq(psup_clean("ansi", "a\x1b[1mb", 6, false, buf), 6);
	cr_expect_eq(psup_clean("no such", "a", 1, false, buf), 0);
	psup_duration(125000, buf, sizeof(buf));
	cr_expect_str_eq(buf, "2m5s");
	cr_expect_eq(psup_signal_number("TERM"), 15);
	cr_expect_eq(psup_signal_number("nothing"), 0);
	cr_expect_str_eq(psup_signal_name(9), "SIGKILL");
	cr_expect_str_eq(psup_version(), PSUP_VERSION);
	cr_expect_str_eq(psup_key_name(0), "enter");
	cr_expect_null(psup_key_name(1000));
}
