/* SPDX-License-Identifier: MIT */
/* The table of metrics keeps the rules that scrapers hold it to. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/metrics.h"

TestSuite(metrics, .timeout = 10);

/* Does a end with b? */
static int
ends(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	return la >= lb && strcmp(a + la - lb, b) == 0;
}

Test(metrics, have_names_units_and_words)
{
	static const char *const reserved[] = {"_total", "_bucket", "_count",
	    "_sum", "_created", "_info"};

	for (size_t i = 0; i < METRIC_COUNT; i++) {
		const struct metric *m = &metrics[i];

		cr_assert_not_null(m->name, "row %zu", i);
		cr_expect(strncmp(m->name, "psup_", 5) == 0, "%s", m->name);
		cr_expect_eq(strspn(m->name, "abcdefghijklmnopqrstuvwxyz_"),
		    strlen(m->name), "%s", m->name);
		for (size_t k = 0; k < sizeof(reserved) / sizeof(*reserved);
		     k++)
			cr_expect(!ends(m->name, reserved[k]), "%s", m->name);
		cr_expect(ends(m->name, m->unit), "%s: %s", m->name, m->unit);
		cr_expect(metric_bounds_of(m->type) == NULL ||
		        strcmp(m->unit, "seconds") == 0,
		    "%s", m->name);
		cr_expect(ends(m->help, "."), "%s: %s", m->name, m->help);
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(m->name, metrics[k].name);
	}
}

Test(metrics, histograms_are_cut_upwards)
{
	for (size_t c = 0; c < METRIC_CUTS; c++) {
		const struct metric_bounds *b = &metric_bounds[c];

		cr_assert_gt(b->count, 0u);
		cr_assert_leq(b->count, METRIC_BOUNDS_MAX);
		for (size_t i = 1; i < b->count; i++)
			cr_expect_lt(b->us[i - 1], b->us[i]);
	}
	cr_expect_eq(metric_bounds_of(METRIC_HISTOGRAM_LIFE),
	    &metric_bounds[METRIC_CUT_LIFE]);
	cr_expect_null(metric_bounds_of(METRIC_COUNTER));
	cr_expect_str_eq(metric_type_name(METRIC_HISTOGRAM_WORK), "histogram");
}
