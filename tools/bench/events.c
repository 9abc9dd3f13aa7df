/* SPDX-License-Identifier: MIT */
/* From a command's last instant to the event at a subscriber, and from nothing
 * to the first command's answer. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

struct wanted {
	uint64_t from_ns; /* older stamps are of other sessions */
	uint64_t stamp_ns, seen_ns;
};

/* "Exec completed (nova-gulf, code 0) :: 123456789" */
static void
on_event(void *arg, const char *name, const psup_value *params)
{
	struct wanted *w = arg;
	const psup_value *e = psup_value_type(params) == PSUP_ARRAY
	    ? psup_value_at(params, 0)
	    : params;
	uint64_t now = clock_boot_ns(), ns;
	char text[512], *stamp;

	if (strcmp(name, "event") != 0 || !psup_get_is(e, "kind", "exited"))
		return;
	psup_get_copy(e, "text", text, sizeof(text));
	stamp = strstr(text, ":: ");
	ns = stamp == NULL ? 0 : strtoull(stamp + 3, NULL, 10);
	if (ns < w->from_ns || ns > now)
		return;
	w->stamp_ns = ns;
	w->seen_ns = now;
}

static void
measure_events(struct bench *b)
{
	const char *argv[] = {b->self, "--child", "stamp", NULL};
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct samples mine = {0}, raw = {0};
	struct wanted w = {.from_ns = UINT64_MAX};
	psup *subscriber;
	psup_reply *r = NULL;
	int n = b->quick ? 50 : 200;

	server_settle(b);
	o.runtime_dir = b->dir;
	if (psup_new(&subscriber) != PSUP_OK ||
	    psup_connect(subscriber, &o) != PSUP_OK)
		die("subscriber: no connection");
	psup_on_note(subscriber, on_event, &w);
	if (psup_subscribe(subscriber, "bench", -1, &r) !=
	    PSUP_OK)
		die("subscribe: %s", psup_error_message(subscriber));
	psup_reply_free(&r);
	for (int i = 0; i < n; i++) {
		char ids[1][48];

		w = (struct wanted){.from_ns = clock_boot_ns()};
		server_background(b, argv, 1, ids);
		while (w.seen_ns == 0)
			turn(subscriber);
		samples_add(&mine, (double)(w.seen_ns - w.stamp_ns) / 1e3);
		server_remove(b, ids, 1);
	}
	psup_free(&subscriber);
	raw_exits(argv, n, &raw);
	for (int i = 0; i < 2; i++) {
		struct row *row = row_get(i == 0 ? "exit to event, p50"
		                                 : "exit to event, p99",
		    "us", "exit to event: a waitid that returns",
		    i == 0 ? GOAL_VALUE_MAX : GOAL_RATIO_MAX, i == 0 ? 200 : 2);

		row_psup(row, samples_percentile(&mine, i == 0 ? 0.5 : 0.99));
		row_raw(row, samples_percentile(&raw, i == 0 ? 0.5 : 0.99));
	}
	samples_free(&mine);
	samples_free(&raw);
}

/* Another server, from nothing to the end of its first command. */
static void
measure_start(void)
{
	struct bench other = {0};
	struct psup_exec x = PSUP_EXEC_INIT;
	uint64_t start = clock_boot_ns();
	psup_reply *r = NULL;

	x.command = "true";
	x.yield_ms = -2;
	server_start(&other);
	need(&other, psup_exec(other.client, &x, &r), "exec");
	row_psup(row_get("server start to first command done", "ms", NULL,
	             GOAL_VALUE_MAX, 50),
	    (double)(clock_boot_ns() - start) / 1e6);
	psup_reply_free(&r);
	server_stop(&other);
}

void
events_round(struct bench *b)
{
	measure_events(b);
	measure_start();
}
