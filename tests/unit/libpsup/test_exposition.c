/* SPDX-License-Identifier: MIT */
/* The text of metrics, byte by byte, in both formats. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "libpsup/exposition.h"

TestSuite(exposition, .timeout = 10);

static const struct metric counter = {.type = METRIC_COUNTER,
    .name = "psup_x_bytes", .unit = "bytes", .labels = "",
    .help = "A \\ and\na line."};
static const struct metric info = {.type = METRIC_INFO, .name = "psup_v",
    .unit = "", .labels = "version", .help = "V."};
static const struct metric histogram = {.type = METRIC_HISTOGRAM_WORK,
    .name = "psup_h_seconds", .unit = "seconds", .labels = "a",
    .help = "H."};
static const struct metric gauge = {.type = METRIC_GAUGE, .name = "psup_g",
    .unit = "", .labels = "lane", .help = "G."};

Test(exposition, is_open_metrics)
{
	const struct expo_label l[] = {{"version", "1.0"}, {NULL, NULL}};
	struct expo e = {.format = PSUP_METRICS_OPENMETRICS,
	    .created_ms = 1234567};

	expo_family(&e, &counter);
	expo_uint(&e, NULL, UINT64_MAX);
	expo_family(&e, &info);
	expo_uint(&e, l, 1);
	expo_end(&e);
	cr_assert(!e.failed);
	cr_expect_str_eq(e.text,
	    "# HELP psup_x_bytes A \\\\ and\\na line.\n"
	    "# TYPE psup_x_bytes counter\n"
	    "# UNIT psup_x_bytes bytes\n"
	    "psup_x_bytes_total 18446744073709551615\n"
	    "psup_x_bytes_created 1234.567\n"
	    "# HELP psup_v V.\n"
	    "# TYPE psup_v info\n"
	    "psup_v_info{version=\"1.0\"} 1\n"
	    "# EOF\n");
	cr_expect_eq(e.len, strlen(e.text));
	free(e.text);
}

Test(exposition, is_the_older_format)
{
	const struct expo_label l[] = {{"version", "1.0"}, {NULL, NULL}};
	struct expo e = {.format = PSUP_METRICS_TEXT, .created_ms = 1234567};

	expo_family(&e, &counter);
	expo_uint(&e, NULL, 7);
	expo_family(&e, &info);
	expo_uint(&e, l, 1);
	expo_end(&e);
	cr_expect_str_eq(e.text,
	    "# HELP psup_x_bytes_total A \\\\ and\\na line.\n"
	    "# TYPE psup_x_bytes_total counter\n"
	    "psup_x_bytes_total 7\n"
	    "# HELP psup_v_info V.\n"
	    "# TYPE psup_v_info gauge\n"
	    "psup_v_info{version=\"1.0\"} 1\n");
	free(e.text);
}

Test(exposition, sums_a_histogram_up)
{
	const struct metric_bounds b = {.us = {50, 1000, 2500000}, .count = 3};
	const uint64_t count[] = {1, 2, 0, 4};
	const struct expo_label l[] = {{"a", "b"}, {NULL, NULL}};
	struct expo e = {.format = PSUP_METRICS_TEXT};

	expo_family(&e, &histogram);
	expo_histogram(&e, l, &b, count, 61000001);
	cr_expect_str_eq(e.text,
	    "# HELP psup_h_seconds H.\n"
	    "# TYPE psup_h_seconds histogram\n"
	    "psup_h_seconds_bucket{a=\"b\",le=\"0.00005\"} 1\n"
	    "psup_h_seconds_bucket{a=\"b\",le=\"0.001\"} 3\n"
	    "psup_h_seconds_bucket{a=\"b\",le=\"2.5\"} 3\n"
	    "psup_h_seconds_bucket{a=\"b\",le=\"+Inf\"} 7\n"
	    "psup_h_seconds_sum{a=\"b\"} 61.000001\n"
	    "psup_h_seconds_count{a=\"b\"} 7\n");
	free(e.text);
}

Test(exposition, escapes_what_strangers_named)
{
	const struct expo_label l[] = {
	    {"lane", "a\"} 1\npsup_up 0\\\x1b[2J\xff\xe2\x80\xae"},
	    {NULL, NULL}};
	struct expo e = {.format = PSUP_METRICS_TEXT};

	expo_family(&e, &gauge);
	expo_uint(&e, l, 3);
	cr_expect_str_eq(e.text,
	    "# HELP psup_g G.\n"
	    "# TYPE psup_g gauge\n"
	    "psup_g{lane=\"a\\\"} 1\\\\x0apsup_up 0\\\\\\\\x1b[2J\\\\xff"
	    "\\\\xe2\\\\x80\\\\xae\"} 3\n");
	free(e.text);
}

Test(exposition, cuts_no_long_value_short_of_its_quote)
{
	char value[2000];
	const struct expo_label l[] = {{"lane", value}, {NULL, NULL}};
	struct expo e = {.format = PSUP_METRICS_TEXT};

	memset(value, 0x1b, sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	expo_family(&e, &gauge);
	expo_uint(&e, l, 3);
	cr_expect_str_eq(e.text + e.len - 5, "\"} 3\n");
	cr_expect_lt(e.len, 2000u);
	free(e.text);
}

Test(exposition, grows)
{
	struct expo e = {.format = PSUP_METRICS_TEXT};

	expo_family(&e, &gauge);
	for (int i = 0; i < 10000; i++)
		expo_seconds(&e, NULL, 1500000);
	cr_assert(!e.failed);
	cr_expect_str_eq(e.text + e.len - 11, "psup_g 1.5\n");
	cr_expect_gt(e.len, 10000u * 11);
	free(e.text);
}

Test(exposition, says_little_without_a_server)
{
	char *text;
	size_t len;

	cr_assert_eq(psup_view_metrics(NULL, PSUP_METRICS_OPENMETRICS, &text,
	    &len), 0);
	cr_expect_not_null(strstr(text, "\npsup_up 0\n"));
	cr_expect_null(strstr(text, "psup_starts"));
	cr_expect_str_eq(text + len - 6, "# EOF\n");
	free(text);
}
