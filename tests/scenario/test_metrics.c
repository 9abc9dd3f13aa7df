/* SPDX-License-Identifier: MIT */
/*
 * What psup metrics tells is what happened: starts, ends by reason, bytes;
 * exactly, also after the master died, and never less than before.
 */
#include "lib_scn.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(metrics);

/* The value of a sample in the older format, or NaN. */
static double
value_in(const char *text, const char *sample)
{
	size_t len = strlen(sample);

	for (const char *line = text; line != NULL && line[0] != '\0';) {
		if (strncmp(line, sample, len) == 0 && line[len] == ' ')
			return strtod(line + len + 1, NULL);
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return (double)NAN;
}

static const char *
scrape(void)
{
	struct run *r = cli("metrics", "--format", "text");

	expect_exit(r, 0);
	return r->out;
}

static void
expect_value(const char *text, const char *sample, double want)
{
	double got = value_in(text, sample);

	expect(got == want, "%s is %g, not %g", sample, got, want);
}

/* Every counter and every bucket that was there is there, and no smaller. */
static void
expect_no_less(const char *before, const char *after)
{
	unsigned n = 0;

	for (const char *line = before; line[0] != '\0';
	     line = strchr(line, '\n') + 1) {
		const char *blank = strchr(line, ' ');
		size_t len = (size_t)(blank - line);
		char sample[300];
		double was, is;

		if (line[0] == '#' || len >= sizeof(sample))
			continue;
		memcpy(sample, line, len);
		sample[len] = '\0';
		if (strstr(sample, "_total") == NULL &&
		    strstr(sample, "_bucket") == NULL &&
		    strstr(sample, "_sum") == NULL &&
		    strstr(sample, "_count") == NULL)
			continue;
		was = strtod(blank, NULL);
		is = value_in(after, sample);
		expect(is >= was, "%s was %g, is %g", sample, was, is);
		n++;
	}
	expect(n > 100, "only %u samples compared", n);
}

/* Each a session of its own, all of them over. */
static void
run_some(int n, const char *script)
{
	for (int i = 0; i < n; i++)
		(void)await_end(background(PUPPET(script)));
}

SCENARIO(metrics, are_what_happened)
{
	const char *text, *id, *queued;

	psupd(.conf = "[lane \"narrow\"]\nwidth = 1\n");
	run_some(3, "bytes 1000");
	run_some(2, "exit 9");
	id = background(PUPPET("hang"));
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	(void)ask("exec", LIST("argv", "/no/such/program"));
	id = background(PUPPET("print x; hang"), STR("lane", "narrow"));
	await_output(id, "x");
	queued = background(PUPPET("print y; hang"), STR("lane", "narrow"));
	(void)ask("poll", STR("sessionId", id));
	text = scrape();
	expect_value(text, "psup_up", 1);
	expect_value(text, "psup_sessions_accepted_total", 9);
	expect_value(text, "psup_starts_total", 7);
	expect_value(text, "psup_exits_total{reason=\"exit\"}", 5);
	expect_value(text, "psup_exits_total{reason=\"manual-cancel\"}", 1);
	expect_value(text, "psup_exits_total{reason=\"spawn-error\"}", 1);
	expect_value(text, "psup_exits_total{reason=\"lost\"}", 0);
	expect_value(text, "psup_spawn_failures_total", 1);
	expect_value(text, "psup_spawn_seconds_count", 7);
	expect_value(text, "psup_sessions{state=\"running\"}", 1);
	expect_value(text, "psup_sessions{state=\"queued\"}", 1);
	expect_value(text, "psup_output_bytes_total", 3002);
	expect_value(text, "psup_lane_width{lane=\"narrow\"}", 1);
	expect_value(text, "psup_lane_active{lane=\"narrow\"}", 1);
	expect_value(text, "psup_lane_queued{lane=\"narrow\"}", 1);
	expect_value(text, "psup_lane_wait_seconds_count", 1);
	expect(value_in(text, "psup_poll_seconds_count") >= 1, "no poll");
	expect(value_in(text, "psup_process_open_fds{process=\"keeper\"}") != 0,
	    "no descriptors");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	await_output(queued, "y");
	(void)ask("kill", STR("sessionId", queued), INT("graceMs", 0));
	text = scrape();
	expect_value(text, "psup_starts_total", 8);
	expect_value(text, "psup_lane_wait_seconds_count", 2);
}

SCENARIO(metrics, outlive_master_and_workers)
{
	const char *before, *after, *id;

	psupd();
	run_some(4, "bytes 500");
	id = background(PUPPET("bytes 100000; print done; hang"));
	await_output(id, "done");
	before = scrape();
	for (int i = 0; i < 3; i++) {
		kill_master();
		expect_ok(ask("list")); /* the next one answers */
		after = scrape();
		expect_no_less(before, after);
		before = after;
		kill_worker_of(id);
		after = scrape();
		expect_no_less(before, after);
		before = after;
	}
	run_some(2, "bytes 500");
	after = scrape();
	expect_no_less(before, after);
	expect_value(after, "psup_sessions_accepted_total", 7);
	expect_value(after, "psup_starts_total", 7);
	expect_value(after, "psup_exits_total{reason=\"exit\"}", 6);
	expect_value(after, "psup_exits_total{reason=\"lost\"}", 0);
	expect_value(after, "psup_output_bytes_total", 6 * 500 + 100005);
	expect_value(after, "psup_sessions_taken_over_total", 3);
	expect_value(after, "psup_process_restarts_total{process=\"master\"}",
	    3);
	expect_value(after, "psup_recovery_seconds_count{process=\"master\"}",
	    3);
	expect_value(after, "psup_recovery_seconds_count{process=\"worker\"}",
	    3);
}

SCENARIO(metrics, are_told_while_the_master_is_stopped)
{
	const char *text, *id;
	pid_t master;

	psupd();
	run_some(2, "print x");
	id = background(PUPPET("print going; sleep 100000; hang"));
	await_output(id, "going");
	master = master_pid();
	kill_now(master, SIGSTOP);
	text = scrape();
	kill_now(master, SIGCONT);
	expect_value(text, "psup_starts_total", 3);
	expect_value(text, "psup_process_up{process=\"master\"}", 1);
}

SCENARIO(metrics, of_a_dead_server_say_so)
{
	const char *text;

	psupd(.first = true);
	run_some(2, "print x");
	kill_now(keeper_pid(), SIGKILL);
	server_was_killed();
	(void)await_former_server();
	text = scrape();
	expect_value(text, "psup_up", 0);
	expect_value(text, "psup_starts_total", 2);
	expect_value(text, "psup_process_up{process=\"keeper\"}", 0);
	expect_value(text, "psup_process_up{process=\"master\"}", 0);
	/* the next server counts anew */
	psupd();
	run_some(1, "print x");
	text = scrape();
	expect_value(text, "psup_up", 1);
	expect_value(text, "psup_starts_total", 1);
	expect_value(text, "psup_exits_total{reason=\"exit\"}", 1);
}

/* A lane's name may be anything of up to 31 bytes. */
SCENARIO(metrics, show_hostile_lanes_escaped_and_summed_up)
{
	const char *text;

	psupd(.conf = "[lane \"od\\d\"]\nwidth = 3\n");
	for (int i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "se\"\\ss:%d", i);
		(void)background(PUPPET("hang"), STR("lane", name));
	}
	(void)background(PUPPET("hang"), STR("lane", "plain"));
	text = scrape();
	expect_value(text, "psup_lane_active{lane=\"se\\\"\\\\ss:*\"}", 5);
	expect_value(text, "psup_lanes{lane=\"se\\\"\\\\ss:*\"}", 5);
	expect_value(text, "psup_lane_active{lane=\"*\"}", 1);
	expect_value(text, "psup_lane_width{lane=\"od\\\\d\"}", 3);
}
