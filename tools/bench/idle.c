/* SPDX-License-Identifier: MIT */
/* What idle sessions take, and what reading costs while many are there. */
#include "bench.h"

#include <poll.h>

#define IDLE        200
#define MANY        1000
#define BOARD_SLOT  512 /* allocated in advance: not seen in the difference */

static const char *const sleeper[] = {"sleep", "100000", NULL};

/* What the runtime directory takes once nothing changes any more: forgotten
 * sessions leave a little later than their answer comes. */
static uint64_t
settled_shared_bytes(const struct bench *b)
{
	uint64_t last = server_shared_bytes(b);

	for (int same = 0, tries = 0; same < 10 && tries < 300; tries++) {
		uint64_t now;

		poll(NULL, 0, 20);
		now = server_shared_bytes(b);
		same = now == last ? same + 1 : 0;
		last = now;
	}
	return last;
}

/* The first sessions also fill what later ones use again: measured after
 * the same number has come and gone once. */
static void
measure_memory(struct bench *b)
{
	static char ids[IDLE][48];
	uint64_t private_before, shared_before;
	double private_each, shared_each;

	server_background(b, sleeper, IDLE, ids);
	server_remove(b, ids, IDLE);
	shared_before = settled_shared_bytes(b);
	private_before = server_private_bytes(b);
	server_background(b, sleeper, IDLE, ids);
	shared_each = ((double)settled_shared_bytes(b) -
	    (double)shared_before) / IDLE + BOARD_SLOT;
	private_each = ((double)server_private_bytes(b) -
	    (double)private_before) / IDLE;
	row_psup(row_get("idle session, private, all processes", "KiB", NULL,
	             GOAL_VALUE_MAX, 8),
	    private_each > 0 ? private_each / 1024 : 0);
	row_psup(row_get("idle session, shared", "KiB", NULL, GOAL_VALUE_MAX,
	             24),
	    shared_each / 1024);
	server_remove(b, ids, IDLE);
}

/* From a cold start, once: what the very first ones cost. */
static void
measure_cold(struct bench *b)
{
	static char ids[IDLE][48];
	uint64_t before = server_private_bytes(b);

	server_background(b, sleeper, IDLE, ids);
	row_psup(row_get("idle session, private, never warm", "KiB", NULL,
	             GOAL_VALUE_MAX, 8),
	    (double)(server_private_bytes(b) - before) / IDLE / 1024);
	server_remove(b, ids, IDLE);
}

static void
measure_reading(struct bench *b)
{
	static char ids[MANY][48];
	struct samples list = {0}, poll = {0};

	server_background(b, sleeper, MANY, ids);
	for (int i = 0; i < (b->quick ? 30 : 100); i++) {
		uint64_t start = clock_boot_ns();
		psup_reply *r = NULL;
		size_t n;

		need(b, psup_list(b->client, false, &r), "list");
		samples_add(&list, (double)(clock_boot_ns() - start) / 1e3);
		n = psup_value_count(psup_value_get(psup_reply_details(r),
		    "sessions"));
		if (n < MANY)
			die("list shows %zu of %d", n, MANY);
		psup_reply_free(&r);
	}
	for (int i = 0; i < (b->quick ? 300 : 1000); i++) {
		uint64_t start = clock_boot_ns();
		psup_reply *r = NULL;

		need(b, psup_poll(b->client, ids[i % MANY], 0, -1, NULL, &r),
		    "poll");
		samples_add(&poll, (double)(clock_boot_ns() - start) / 1e3);
		psup_reply_free(&r);
	}
	row_psup(row_get("list of 1000, p50", "ms", NULL, GOAL_VALUE_MAX, 5),
	    samples_percentile(&list, 0.5) / 1e3);
	row_psup(row_get("list of 1000, p99", "ms", NULL, GOAL_NONE, 0),
	    samples_percentile(&list, 0.99) / 1e3);
	row_psup(row_get("poll among 1000, p50", "us", NULL, GOAL_NONE, 0),
	    samples_percentile(&poll, 0.5));
	row_psup(row_get("poll among 1000, p99", "us", NULL, GOAL_NONE, 0),
	    samples_percentile(&poll, 0.99));
	samples_free(&list);
	samples_free(&poll);
	server_remove(b, ids, MANY);
}

void
idle_round(struct bench *b)
{
	static bool cold_done;

	if (!cold_done && b->only != NULL)
		measure_cold(b);
	cold_done = true;
	measure_memory(b);
	measure_reading(b);
}
