/* SPDX-License-Identifier: MIT */
/* Sessions per second and latency: `sh -c true` and `true` through psup, in
 * the raw loop and in Node, at 1, 8 and 64 at once. */
#include "bench.h"

#include <stdio.h>

static const char *const sh_true[] = {"sh", "-c", "true", NULL};
static const char *const only_true[] = {"true", NULL};

struct loop {
	struct bench *b;
	psup_args *args;
	struct samples lat;
	uint64_t until_ns, sessions, failed;
	struct flight {
		struct loop *l;
		uint64_t sent_ns;
	} flights[64];
};

static void on_ended(void *arg, int status, psup_reply *r);

static void
send_one(struct flight *f)
{
	f->sent_ns = clock_boot_ns();
	need(f->l->b, psup_send(f->l->b->client, "exec", f->l->args, on_ended,
	                  f, NULL), "exec");
}

static void
on_ended(void *arg, int status, psup_reply *r)
{
	struct flight *f = arg;
	struct loop *l = f->l;
	uint64_t now = clock_boot_ns();

	if (status != PSUP_OK ||
	    psup_get_int(psup_reply_details(r), "exitCode", -1) != 0)
		l->failed++;
	psup_reply_free(&r);
	l->sessions++;
	samples_add(&l->lat, (double)(now - f->sent_ns) / 1e3);
	if (now < l->until_ns)
		send_one(f);
}

/* The closed loop through libpsup, on one connection. */
struct measure
psup_starts(struct bench *b, const struct psup_exec *x, int at_once)
{
	struct loop l = {.b = b, .args = psup_exec_args(x)};
	uint64_t start = clock_boot_ns();
	struct measure m = {0};

	if (l.args == NULL)
		die("no memory");
	l.until_ns = start + (uint64_t)(b->turn_sec * 1e9);
	for (int i = 0; i < at_once; i++) {
		l.flights[i].l = &l;
		send_one(&l.flights[i]);
	}
	while (psup_pending(b->client) > 0)
		turn(b->client);
	if (l.failed > 0)
		die("%llu of %llu sessions failed",
		    (unsigned long long)l.failed,
		    (unsigned long long)l.sessions);
	m.rate = (double)l.sessions / ((double)(clock_boot_ns() - start) / 1e9);
	m.p50_us = samples_percentile(&l.lat, 0.5);
	m.p99_us = samples_percentile(&l.lat, 0.99);
	samples_free(&l.lat);
	psup_args_free(&l.args);
	return m;
}

/* psup's own time on a cpu for each session of the loop. */
static void
note_cpu(struct bench *b, uint64_t all, uint64_t master,
    const struct measure *m)
{
	double n = m->rate * b->turn_sec;

	row_psup(row_get("cpu of psup per session, 64 at once", "us", NULL,
	             GOAL_NONE, 0),
	    (double)(server_cpu_ns(b, false) - all) / 1e3 / n);
	row_psup(row_get("  of it in the master", "us", NULL, GOAL_NONE, 0),
	    (double)(server_cpu_ns(b, true) - master) / 1e3 / n);
}

/* sh -c true, at one depth, in all three. */
static void
round_at(struct bench *b, int at_once)
{
	static const char raw_is[] =
	    "starts: clone(VFORK,VM,FILES,PIDFD), 3 pipes, setsid, drain, "
	    "wait; as many processes as psup has workers, one for 1 at once";
	int procs = at_once == 1 ? 1 : b->workers;
	struct psup_exec x = PSUP_EXEC_INIT;
	struct measure raw, node, mine;
	uint64_t all, master;
	char figure[3][64];

	snprintf(figure[0], 64, "sh -c true, %d at once", at_once);
	snprintf(figure[1], 64, "  latency p50");
	snprintf(figure[2], 64, "  latency p99");
	for (int i = 1; i < 3; i++)
		snprintf(figure[i], 64, "  latency %s, %d at once",
		    i == 1 ? "p50" : "p99", at_once);
	x.argv = sh_true;
	x.yield_ms = -2;
	raw = raw_starts(sh_true, procs, at_once, b->turn_sec);
	all = server_cpu_ns(b, false);
	master = server_cpu_ns(b, true);
	mine = psup_starts(b, &x, at_once);
	node = node_starts(at_once, b->turn_sec);
	for (int i = 0; i < 3; i++) {
		struct row *r = row_get(figure[i], i == 0 ? "/s" : "us",
		    raw_is, i == 0 && at_once == 64 ? GOAL_RATIO_MIN
		                                    : GOAL_NONE, 0.7);

		row_psup(r, i == 0 ? mine.rate : i == 1 ? mine.p50_us
		                                        : mine.p99_us);
		row_raw(r, i == 0 ? raw.rate : i == 1 ? raw.p50_us
		                                      : raw.p99_us);
		row_node(r, node.rate < 0 ? -1 : i == 0 ? node.rate
		         : i == 1 ? node.p50_us : node.p99_us);
	}
	if (at_once == 64)
		note_cpu(b, all, master, &mine);
}

/* `true` as argv beside the raw loop, and as a shell string. */
static void
round_direct(struct bench *b)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	struct measure raw = raw_starts(only_true, b->workers, 64,
	    b->turn_sec);
	struct row *r = row_get("true by argv, 64 at once", "/s", NULL,
	    GOAL_NONE, 0);

	x.argv = only_true;
	x.yield_ms = -2;
	row_psup(r, psup_starts(b, &x, 64).rate);
	row_raw(r, raw.rate);
	x.argv = NULL;
	x.command = "true";
	row_psup(row_get("'true' as a shell string, 64 at once", "/s", NULL,
	             GOAL_NONE, 0),
	    psup_starts(b, &x, 64).rate);
}

void
starts_round(struct bench *b)
{
	round_at(b, 1);
	round_at(b, 8);
	round_at(b, 64);
	round_direct(b);
}
