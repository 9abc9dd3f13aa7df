/* SPDX-License-Identifier: MIT */
/* Walking over the sessions while they come and go. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/master.h"

static struct master m;

/* A session in the trees. */
static struct session *
add(uint64_t sid)
{
	struct session *s = session_new();

	s->id.sid.v = sid;
	s->state = STATE_QUEUED;
	s->id.scope = strdup("");
	s->id.request_key = strdup("");
	cr_assert_eq(registry_add(&m, s), 0);
	return s;
}

Test(registry, a_walk_goes_on_after_what_is_gone, .timeout = 10)
{
	struct session *s[5];
	struct sid at;
	uint64_t seen = 0;

	RB_INIT(&m.by_slug);
	RB_INIT(&m.by_key);
	rooms_init(&m);
	for (uint64_t i = 0; i < 5; i++)
		s[i] = add(10 + i);
	for (struct session *w = registry_first(&m); w != NULL;
	     w = registry_after(&m, at)) {
		at = w->id.sid;
		seen = seen * 100 + at.v;
		if (w == s[1]) {
			registry_drop(&m, s[1]);
			registry_drop(&m, s[2]);
		}
	}
	cr_assert_eq(seen, 10111314);
	registry_drop(&m, s[0]);
	registry_drop(&m, s[3]);
	registry_drop(&m, s[4]);
	cr_assert_null(registry_first(&m));
	cr_assert_null(rank_first(&m.rooms.by_name), "a room without sessions");
}

/* A session whose command has this pid. */
static struct session *
running(uint64_t sid, int32_t pid, uint32_t state)
{
	struct session *s = add(sid);

	s->state = state;
	facts_pid(&m, s, pid);
	return s;
}

Test(registry, finds_by_pid_whom_the_kernel_has_now, .timeout = 10)
{
	struct session *old, *now, *far;

	RB_INIT(&m.by_slug);
	RB_INIT(&m.by_key);
	rooms_init(&m);
	now = running(1, 70, STATE_RUNNING);
	old = running(2, 70, STATE_ENDED);
	far = running(3, 70 + (int32_t)MASTER_PIDS, STATE_RUNNING);
	cr_assert_eq(session_by_pid(&m, 70), now, "one that lives first");
	cr_assert_eq(session_by_pid(&m, 70 + (int32_t)MASTER_PIDS), far);
	cr_assert_null(session_by_pid(&m, 71));
	facts_pid(&m, now, 71);
	cr_assert_eq(session_by_pid(&m, 71), now);
	cr_assert_eq(session_by_pid(&m, 70), old, "one that ended, too");
	registry_drop(&m, old);
	cr_assert_null(session_by_pid(&m, 70));
	registry_drop(&m, now);
	registry_drop(&m, far);
	cr_assert_null(session_by_pid(&m, 71));
}
