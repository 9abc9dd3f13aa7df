/* SPDX-License-Identifier: MIT */
/*
 * A test's time-out ends one that hangs; it does not say how fast a machine
 * must be. Linked into every test program: none is shorter than this.
 */
#include <criterion/criterion.h>
#include <criterion/hooks.h>

#define TIMEOUT_LEAST 600

ReportHook(PRE_ALL)(struct criterion_test_set *all)
{
	FOREACH_SET(struct criterion_suite_set *suite, all->suites) {
		if (suite->suite.data != NULL &&
		    suite->suite.data->timeout < TIMEOUT_LEAST)
			suite->suite.data->timeout = TIMEOUT_LEAST;
		FOREACH_SET(struct criterion_test *test, suite->tests)
			if (test->data->timeout < TIMEOUT_LEAST)
				test->data->timeout = TIMEOUT_LEAST;
	}
}
