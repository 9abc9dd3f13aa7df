/* SPDX-License-Identifier: MIT */
/* Bytes per second: one child and a hundred, in blocks of several sizes,
 * through psup, a raw splice loop and a raw read loop. */
#include "bench.h"

#include <stdio.h>

#define CHILDREN_MAX 100

static const struct load {
	const char *figure, *block;
	int children;
	unsigned mib; /* of all children together; a quarter with --quick */
	enum goal goal;
} loads[] = {
    {"1 child, 64 KiB writes", "65536", 1, 768, GOAL_RATIO_MIN},
    {"1 child, 4 KiB writes", "4096", 1, 256, GOAL_RATIO_MIN},
    {"1 child, 100 B writes", "100", 1, 24, GOAL_RATIO_MIN},
    {"100 children, 4 KiB writes", "4096", 100, 400, GOAL_NONE},
    {"100 children, 100 B writes", "100", 100, 50, GOAL_NONE},
};

/* Waits until the last of them has ended; every byte must be counted. */
static void
await_all(struct bench *b, char (*ids)[48], int n, uint64_t bytes_each)
{
	const char *names[CHILDREN_MAX];
	psup_reply *r = NULL;
	const psup_value *rows;

	for (int i = 0; i < n; i++)
		names[i] = ids[i];
	need(b, psup_wait(b->client, names, (size_t)n, false, 120000, &r),
	    "wait");
	rows = psup_value_get(psup_reply_details(r), "sessions");
	for (size_t i = 0; i < psup_value_count(rows); i++) {
		int64_t total = psup_get_int(psup_value_at(rows, i),
		    "totalOutputChars", -1);

		if (total >= 0 && (uint64_t)total != bytes_each)
			die("%llu bytes written, %lld counted",
			    (unsigned long long)bytes_each, (long long)total);
	}
	psup_reply_free(&r);
}

static double
psup_output(struct bench *b, const char *const *argv, uint64_t bytes_each,
    int children)
{
	static char ids[CHILDREN_MAX][48];
	uint64_t start = clock_boot_ns();
	double sec;

	server_background(b, argv, children, ids);
	await_all(b, ids, children, bytes_each);
	sec = (double)(clock_boot_ns() - start) / 1e9;
	server_remove(b, ids, children);
	return (double)bytes_each * children / 1e6 / sec;
}

void
output_round(struct bench *b)
{
	static const char raw_is[] =
	    "output: splice from the pipe into a ring file of the same size";

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		const struct load *l = &loads[i];
		uint64_t each = ((uint64_t)l->mib << 20) /
		    (unsigned)l->children / (b->quick ? 4 : 1);
		int procs = l->children == 1 ? 1 : b->workers;
		char total[32], figure[64];
		const char *argv[] = {b->self, "--child", "write", l->block,
		    total, NULL};
		double mine;
		struct row *r;

		snprintf(total, sizeof(total), "%llu",
		    (unsigned long long)each);
		r = row_get(l->figure, "MB/s", raw_is, l->goal, 0.7);
		row_raw(r, raw_output(argv, each, l->children, procs,
		               RAW_SPLICE));
		mine = psup_output(b, argv, each, l->children);
		row_psup(r, mine);
		snprintf(figure, sizeof(figure), "  beside a raw read loop, "
		    "%s %s", l->children == 1 ? "1x" : "100x", l->block);
		r = row_get(figure, "MB/s", NULL, GOAL_NONE, 0);
		row_psup(r, mine);
		row_raw(r, raw_output(argv, each, l->children, procs,
		               RAW_READ));
	}
}
