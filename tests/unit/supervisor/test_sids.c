/* SPDX-License-Identifier: MIT */
/* The order of sessions beside a plain table of who there is. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "supervisor/session/fields.h"
#include "supervisor/session/sids.h"

#define IDS 400u

static struct session *at[IDS + 2]; /* by id; NULL: not there */

/* The next one that is there from `sid` on, in steps. */
static const struct session *
next_from(uint64_t sid, int step)
{
	while (sid > 0 && sid <= IDS && at[sid] == NULL)
		sid += (uint64_t)(int64_t)step;
	return sid > 0 && sid <= IDS ? at[sid] : NULL;
}

static void
expect_same(struct sids *o, uint64_t sid)
{
	cr_assert_eq(sids_from(o, sid), next_from(sid, 1));
	cr_assert_eq(sids_after(o, sid), next_from(sid + 1, 1));
	cr_assert_eq(sids_before(o, sid), next_from(sid - 1, -1));
}

Test(sids, are_in_order_whoever_comes_and_goes, .timeout = 30)
{
	struct sids o = {0};

	srand(7);
	for (unsigned i = 0; i < 200000; i++) {
		/* of some stretches many are there, of others few */
		uint64_t sid = 1 + (uint64_t)rand() % IDS;
		bool put = (unsigned)rand() % 8 < 1 + (sid + i / 5000) / 50 % 8;

		if (put && at[sid] == NULL) {
			at[sid] = calloc(1, sizeof(*at[sid]));
			cr_assert_eq(sids_put(&o, sid, at[sid]), 0);
		} else if (put) {
			cr_assert_eq(sids_put(&o, sid, at[sid]), -EEXIST);
		} else if (at[sid] != NULL) {
			sids_take(&o, sid);
			free(at[sid]);
			at[sid] = NULL;
		}
		expect_same(&o, sid);
		expect_same(&o, 1 + (uint64_t)rand() % IDS);
	}
	for (uint64_t sid = 1; sid <= IDS; sid++)
		if (at[sid] != NULL) {
			sids_take(&o, sid);
			free(at[sid]);
			at[sid] = NULL;
		}
	cr_assert_null(o.v, "memory of none");
	cr_assert_null(sids_from(&o, 0));
}
