/* SPDX-License-Identifier: MIT */
/* Times as people write them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

#include "tools/psup/moment.h"

/* 2026-11-21 12:00:00 UTC */
#define NOW INT64_C(1795262400000)

static void
in_utc(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
}

static void
in_another_zone(void)
{
	setenv("TZ", "XXX-2", 1); /* two hours ahead */
	tzset();
}

TestSuite(moment, .timeout = 10, .init = in_utc);

Test(moment, is_a_duration_or_a_time)
{
	static const struct {
		const char *text;
		int64_t ago_ms;
	} rows[] = {
		{"0", 0}, {"90", 90000}, {"1.5", 1500}, {"250ms", 250},
		{"10m", 600000}, {"1h30m", 5400000}, {"2d", 172800000},
		{"1w", 604800000}, {"1.5h", 5400000},
		{"12:00", 0}, {"11:59:30", 30000},
		{"12:01", 86400000 - 60000}, /* yesterday's */
		{"2026-11-21", 43200000}, {"2026-11-21 11:00", 3600000},
		{"2026-11-21T11:00:00Z", 3600000},
		{"2026-11-21T11:00:00.123Z", 3599877},
		{"2026-11-21T11:59:59.5Z", 500}, {"11:59:59.99999", 1},
		{"2026-11-21t11:59:59z", 1000}, {"@1795262399", 1000},
	};
	int64_t ms;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ms = -1;
		cr_expect(moment_parse(rows[i].text, NOW, &ms), "%s",
		    rows[i].text);
		cr_expect_eq(NOW - ms, rows[i].ago_ms, "%s: %lld ms ago",
		    rows[i].text, (long long)(NOW - ms));
	}
}

Test(moment, without_z_is_local, .init = in_another_zone)
{
	int64_t ms;

	cr_assert(moment_parse("2026-11-21 14:00", NOW, &ms));
	cr_expect_eq(ms, NOW);
	cr_assert(moment_parse("2026-11-21T12:00Z", NOW, &ms));
	cr_expect_eq(ms, NOW);
	cr_assert(moment_parse("13:59", NOW, &ms));
	cr_expect_eq(ms, NOW - 60000);
}

Test(moment, is_nothing_else)
{
	static const char *const rows[] = {"", "x", "-5", "1y", "10 m",
	    "m", "25:00", "12:60", "2026-13-01", "2026-02-30", "2026-11-21x",
	    "2026-11-21 12", "@", "@1h", "1..5", "1e9",
	    "99999999999999999999999999999", "5000000w", "nan", "12:00Z "};
	int64_t ms = 77;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_not(moment_parse(rows[i], NOW, &ms), "%s", rows[i]);
}
