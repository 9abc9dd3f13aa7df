/* SPDX-License-Identifier: MIT */
/* Sessions per second, latency and cpu time: `sh -c true`, `true` and a static
 * program that only exits, through psup and in the raw loop, the first in Node,
 * too, at 1, 8 and 64 at once. Paths are absolute: nobody searches. */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char sh_path[4096], true_path[4096], exit_path[4160];
static const char *const sh_true[] = {sh_path, "-c", "true", NULL};
static const char *const only_true[] = {true_path, NULL};
static const char *const only_exit[] = {exit_path, NULL};

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
	return psup_starts_on(b, x, NULL, at_once);
}

struct measure
psup_starts_on(struct bench *b, const struct psup_exec *x, const char *host,
    int at_once)
{
	struct loop l = {.b = b, .args = psup_exec_args(x)};
	uint64_t start = clock_boot_ns(), all = server_cpu_ns(b, false);
	uint64_t master = server_cpu_ns(b, true);
	struct measure m = {0};

	if (l.args == NULL)
		die("no memory");
	if (host != NULL)
		psup_args_str(l.args, "host", host);
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
	m.sessions = (double)l.sessions;
	m.rate = m.sessions / ((double)(clock_boot_ns() - start) / 1e9);
	m.cpu_us = (double)(server_cpu_ns(b, false) - all) / 1e3 / m.sessions;
	m.master_us =
	    (double)(server_cpu_ns(b, true) - master) / 1e3 / m.sessions;
	m.p50_us = samples_percentile(&l.lat, 0.5);
	m.p99_us = samples_percentile(&l.lat, 0.99);
	samples_free(&l.lat);
	psup_args_free(&l.args);
	return m;
}

/* One command at one depth, in all who take part. */
struct turn_of {
	const char *const *argv;
	int at_once, procs;
	bool node;
	struct measure mine, raw, others;
};

/* Each in turn, another one first in each round. */
static void
take_turns(struct bench *b, struct turn_of *t)
{
	struct psup_exec x = PSUP_EXEC_INIT;

	x.argv = t->argv;
	x.yield_ms = -2;
	t->others.rate = -1;
	for (int i = 0; i < 3; i++) {
		switch ((b->round + i) % 3) {
		case 0:
			t->raw = raw_starts(t->argv, t->procs, t->at_once,
			    b->turn_sec);
			break;
		case 1:
			t->mine = psup_starts(b, &x, t->at_once);
			break;
		default:
			if (t->node)
				t->others = node_starts(t->at_once,
				    b->turn_sec);
		}
	}
}

/* One figure of all of them. */
static void
note(struct row *r, double mine, double raw, double node)
{
	row_psup(r, mine);
	row_raw(r, raw);
	row_node(r, node);
}

/* psup's own time on a cpu for each session, beside the raw loop's own. */
static void
note_cpu(const struct turn_of *t)
{
	struct row *r = row_get("cpu of psup per session, 64 at once", "us",
	    NULL, GOAL_ABOVE_MAX, 220);

	row_psup(r, t->mine.cpu_us);
	row_raw(r, t->raw.cpu_us);
	row_psup(row_get("  of it in the master", "us", NULL, GOAL_VALUE_MAX,
	             60),
	    t->mine.master_us);
}

/* sh -c true, at one depth, in all three. */
static void
round_at(struct bench *b, int at_once)
{
	static const char raw_is[] =
	    "starts: clone(VFORK,VM,FILES,PIDFD), 3 pipes, setsid, drain, "
	    "wait; as many processes as psup has workers, one for 1 at once; "
	    "of cpu its own and its children's until their exec";
	struct turn_of t = {.argv = sh_true, .at_once = at_once,
	    .procs = at_once == 1 ? 1 : b->workers, .node = true};
	char figure[64];

	take_turns(b, &t);
	snprintf(figure, sizeof(figure), "sh -c true, %d at once", at_once);
	note(row_get(figure, "/s", raw_is,
	         at_once == 1 ? GOAL_NONE : GOAL_RATIO_MIN, 0.85),
	    t.mine.rate, t.raw.rate, t.others.rate);
	snprintf(figure, sizeof(figure), "  latency p50, %d at once", at_once);
	note(row_get(figure, "us", raw_is,
	         at_once == 1 ? GOAL_ABOVE_MAX : GOAL_NONE, 250),
	    t.mine.p50_us, t.raw.p50_us,
	    t.others.rate < 0 ? -1 : t.others.p50_us);
	snprintf(figure, sizeof(figure), "  latency p99, %d at once", at_once);
	note(row_get(figure, "us", raw_is,
	         at_once == 1 ? GOAL_RATIO_MAX : GOAL_NONE, 2),
	    t.mine.p99_us, t.raw.p99_us,
	    t.others.rate < 0 ? -1 : t.others.p99_us);
	if (at_once == 64)
		note_cpu(&t);
}

/* Without a shell, beside the raw loop. */
static void
round_argv(struct bench *b, const char *const *argv, const char *figure,
    double goal)
{
	struct turn_of t = {.argv = argv, .at_once = 64, .procs = b->workers};

	take_turns(b, &t);
	note(row_get(figure, "/s", NULL, GOAL_RATIO_MIN, goal), t.mine.rate,
	    t.raw.rate, -1);
}

/* `true` as a shell string. */
static void
round_string(struct bench *b)
{
	struct psup_exec x = PSUP_EXEC_INIT;

	x.command = "true";
	x.yield_ms = -2;
	row_psup(row_get("'true' as a shell string, 64 at once", "/s", NULL,
	             GOAL_NONE, 0),
	    psup_starts(b, &x, 64).rate);
}

void
starts_round(struct bench *b)
{
	raw_find("sh", sh_path);
	raw_find("true", true_path);
	snprintf(exit_path, sizeof(exit_path), "%.*s/psup-bench-exit",
	    (int)(strrchr(b->self, '/') - b->self), b->self);
	round_at(b, 1);
	round_at(b, 8);
	round_at(b, 64);
	round_argv(b, only_true, "true by argv, 64 at once", 0.82);
	if (access(exit_path, X_OK) == 0) /* it is not installed */
		round_argv(b, only_exit, "static exit by argv, 64 at once",
		    0.55);
	round_string(b);
}
