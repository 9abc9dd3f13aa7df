/* SPDX-License-Identifier: MIT */
/* What a start, a list, a poll and a turn cost beside many sessions that live
 * or are kept: on two servers in turn, one of which has none. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MOST	    10000
#define PER_SESSION 4 /* descriptors of the keeper, about */

static char (*ids)[48];

/* ------------------------------------------------------------- the servers */

/* The longest turn of a loop in processor time, ever, in ms: of the process
 * that is named, or of any. */
static double
longest_turn_ms(const struct bench *b, const char *process)
{
	static const char name[] = "psup_process_longest_turn_cpu_seconds{";
	char *text = NULL, of[64] = "";
	psup_view *v = NULL;
	double most = 0;
	size_t len;

	if (psup_view_open(b->dir, &v, NULL, 0) < 0 ||
	    psup_view_metrics(v, PSUP_METRICS_TEXT, &text, &len) < 0)
		die("no metrics");
	if (process != NULL)
		snprintf(of, sizeof(of), "process=\"%s\"", process);
	for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
		const char *end = strchr(at, '}'), *in = strstr(at, of);

		if (end != NULL && in != NULL && in < end &&
		    strtod(end + 1, NULL) > most)
			most = strtod(end + 1, NULL);
	}
	free(text);
	psup_view_close(&v);
	return most * 1e3;
}

/* As many as there are descriptors for. */
static int
may_live(int n)
{
	struct rlimit l;
	int most = n;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_max != RLIM_INFINITY)
		most = (int)(l.rlim_max / PER_SESSION);
	return most < n ? most : n;
}

/* A server that had `from` sessions of argv now has n. */
static void
fill(struct bench *full, const char *const *argv, int from, int n)
{
	server_background(full, argv, n - from, ids + from);
	server_settle(full);
}

/* ------------------------------------------------------------------ starts */

/* A start on both, in short turns, so that what disturbs disturbs both. */
static void
measure_starts(
    struct bench *none, struct bench *full, const char *beside, double goal)
{
	static const char raw_is[] =
	    "cpu of a start: the same on a server that "
	    "has no other sessions";
	static const char *const only_true[] = {"/bin/true", NULL};
	struct psup_exec x = PSUP_EXEC_INIT;
	struct samples us[2] = {{0}}, master[2] = {{0}};
	char figure[64];
	struct row *r;

	x.argv = only_true;
	x.yield_ms = -2;
	none->turn_sec = full->turn_sec = 0.25;
	for (int i = 0; i < 12; i++) {
		bool at_full = (i & 1) ^ (i >> 1 & 1);
		struct measure m = psup_starts(at_full ? full : none, &x, 8);

		samples_add(&us[at_full], m.cpu_us);
		samples_add(&master[at_full], m.master_us);
	}
	snprintf(figure, sizeof(figure), "cpu of a start, %s", beside);
	r = row_get(
	    figure, "us", raw_is, goal > 0 ? GOAL_RATIO_MAX : GOAL_NONE, goal);
	row_psup(r, samples_percentile(&us[1], 0.5));
	row_raw(r, samples_percentile(&us[0], 0.5));
	snprintf(figure, sizeof(figure), "  in the master, %s", beside);
	r = row_get(figure, "us", raw_is, GOAL_NONE, 0);
	row_psup(r, samples_percentile(&master[1], 0.5));
	row_raw(r, samples_percentile(&master[0], 0.5));
	for (int i = 0; i < 2; i++) {
		samples_free(&us[i]);
		samples_free(&master[i]);
	}
}

/* ------------------------------------------------------------------- calls */

/* One list; its time in us. */
static double
list_once(struct bench *b, const char *const *fields)
{
	psup_args *a = psup_args_new();
	uint64_t start = clock_boot_ns();
	psup_reply *r = NULL;
	double us;

	if (a == NULL)
		die("no memory");
	if (fields != NULL) {
		psup_args_list_begin(a, "fields");
		for (; *fields != NULL; fields++)
			psup_args_str(a, NULL, *fields);
		psup_args_list_end(a);
	}
	need(b, psup_call(b->client, "list", a, 30000, &r), "list");
	us = (double)(clock_boot_ns() - start) / 1e3;
	if (psup_value_count(
		psup_value_get(psup_reply_details(r), "sessions")) < MOST)
		die("list shows fewer than %d", MOST);
	psup_reply_free(&r);
	psup_args_free(&a);
	return us;
}

static void
measure_list(struct bench *b)
{
	static const char *const few[] = {"sessionId", "state", NULL};
	struct samples some = {0}, all = {0};

	for (int i = 0; i < 20; i++) {
		samples_add(&some, list_once(b, few));
		samples_add(&all, list_once(b, NULL));
	}
	row_psup(row_get("list of 10000, id and state, p50", "ms", NULL,
		     GOAL_VALUE_MAX, 5),
	    samples_percentile(&some, 0.5) / 1e3);
	row_psup(row_get("list of 10000, all fields, p50", "ms", NULL,
		     GOAL_VALUE_MAX, 25),
	    samples_percentile(&all, 0.5) / 1e3);
	row_psup(row_get("  longest turn of the master, cpu", "ms", NULL,
		     GOAL_VALUE_MAX, 1),
	    longest_turn_ms(b, "master"));
	samples_free(&some);
	samples_free(&all);
}

static void
measure_poll(struct bench *b)
{
	static const char trip[] =
	    "poll among 10000: a request and an answer of as many bytes "
	    "between two processes that do nothing else";
	struct samples poll = {0}, raw = {0};

	raw_trips(2000, &raw);
	for (int i = 0; i < 2000; i++) {
		uint64_t start = clock_boot_ns();
		psup_reply *r = NULL;

		need(b, psup_poll(b->client, ids[i * 7 % MOST], 0, 0, NULL, &r),
		    "poll");
		samples_add(&poll, (double)(clock_boot_ns() - start) / 1e3);
		psup_reply_free(&r);
	}
	for (int i = 0; i < 2; i++) {
		double share = i == 0 ? 0.5 : 0.99;
		struct row *row = row_get(i == 0 ? "poll among 10000, p50"
		                                 : "poll among 10000, p99",
		    "us", trip, GOAL_VALUE_MAX, i == 0 ? 75 : 150);

		row_psup(row, samples_percentile(&poll, share));
		row_raw(row, samples_percentile(&raw, share));
	}
	samples_free(&poll);
	samples_free(&raw);
}

/* ------------------------------------------------------------------- round */

static void
round_kept(struct bench *none)
{
	static const char *const says[] = {
	    "/bin/echo", "a line of output", NULL};
	struct bench full = {0};

	server_start(&full);
	fill(&full, says, 0, 1000);
	measure_starts(none, &full, "1000 kept", 0);
	fill(&full, says, 1000, MOST);
	measure_starts(none, &full, "10000 kept", 1.1);
	measure_list(&full);
	measure_poll(&full);
	server_stop(&full);
}

static void
round_live(struct bench *none)
{
	static const char *const sleeper[] = {"sleep", "100000", NULL};
	int n = may_live(4000), few = may_live(1000);
	char beside[64];
	struct bench full = {0};

	server_start(&full);
	fill(&full, sleeper, 0, few);
	snprintf(beside, sizeof(beside), "%d live", few);
	measure_starts(none, &full, beside, 0);
	fill(&full, sleeper, few, n);
	snprintf(beside, sizeof(beside), "%d live", n);
	measure_starts(none, &full, beside, 1.15);
	snprintf(beside, sizeof(beside), "longest turn of a loop, %d live", n);
	row_psup(row_get(beside, "ms", NULL, GOAL_VALUE_MAX, 1),
	    longest_turn_ms(&full, NULL));
	server_stop(&full);
}

void
many_round(struct bench *)
{
	struct bench none = {0};

	ids = calloc(MOST, sizeof(*ids));
	if (ids == NULL)
		die("no memory");
	server_start(&none);
	round_kept(&none);
	round_live(&none);
	server_stop(&none);
	free(ids);
}
