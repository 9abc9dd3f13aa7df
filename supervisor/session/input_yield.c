/* SPDX-License-Identifier: MIT */
/* See input_yield.h. Called by api/exec_yield.c. */
#include "supervisor/session/input_yield.h"

#define MS 1000000u

bool
input_yield_seen(struct input_yield *y, bool waits, uint64_t stamp,
    uint64_t now_ns, uint64_t need_ns)
{
	if (!waits) {
		*y = (struct input_yield){0};
		return false;
	}
	if (y->since_ns == 0 || y->stamp != stamp)
		*y = (struct input_yield){.since_ns = now_ns, .stamp = stamp};
	return now_ns - y->since_ns >= need_ns;
}

/* Most commands end before the first look; who prompts does so soon. */
uint64_t
input_yield_pause_ms(const struct input_yield *y, uint64_t began_ns,
    uint64_t now_ns, uint64_t need_ns)
{
	uint64_t pause = now_ns - began_ns < 5000u * (uint64_t)MS ? 500 : 1000;
	uint64_t enough = y->since_ns + need_ns, left;

	if (y->since_ns == 0 || enough <= now_ns)
		return pause;
	left = (enough - now_ns + MS - 1) / MS;
	/* and none so shortly before that the last one would be refused */
	return left < pause + INPUT_YIELD_LEAST_MS ? left : pause;
}
