/* SPDX-License-Identifier: MIT */
/* psup events --follow: a stream that outlives masters, with each event once,
 * and whose end is clear. */
#include "lib_scn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(events_follow);

/* A session that ended with an event. */
static const char *
ended(void)
{
	const char *id = background(STR("command", "exit 1"));

	(void)await_end(id);
	return id;
}

/* Lines of one object each, with growing numbers, each about its id. */
static void
expect_stream(const struct run *r, const char *const *ids, int n)
{
	const char *line = r->out;
	long long last = 0, seq;

	for (int i = 0; i < n; i++) {
		const char *end = strchr(line, '\n'), *at;

		expect(end != NULL && line[0] == '{' && end[-1] == '}',
		    "line %d of: %s", i, r->out);
		at = strstr(line, "\"seq\":");
		expect(at != NULL && at < end, "%s", line);
		seq = strtoll(at + strlen("\"seq\":"), NULL, 10);
		expect(seq > last, "%lld after %lld", seq, last);
		last = seq;
		at = strstr(line, ids[i]);
		expect(at != NULL && at < end, "%s is not in line %d of %s",
		    ids[i], i, r->out);
		line = end + 1;
	}
	expect(line[0] == '\0', "more than %d: %s", n, line);
}

SCENARIO(events_follow, goes_on_where_the_master_died)
{
	const char *ids[5];
	struct running *r;
	struct run *end;

	psupd();
	ids[0] = ended();
	ids[1] = ended();
	r = cli_start("events", "--follow", "--json", "--kind", "exited");
	await_run_output(r, ids[1]);
	kill_master();
	ids[2] = ended();
	await_run_output(r, ids[2]);
	kill_master();
	kill_master();
	ids[3] = ended();
	ids[4] = ended();
	await_run_output(r, ids[4]);
	kill_now(pid_of_run(r), SIGINT);
	end = await_run(r);
	expect_exit(end, 128 + SIGINT);
	expect_stream(end, ids, 5);
	expect(end->err[0] == '\0', "%s", end->err);
}

SCENARIO(events_follow, acknowledges_what_was_printed)
{
	const char *ids[3];
	struct running *r;
	struct run *end;

	psupd();
	ids[0] = ended();
	ids[1] = ended();
	r = cli_start("events", "--follow", "--json", "--kind", "exited",
	    "--ack", "--subscriber", "gw");
	await_run_output(r, ids[1]);
	kill_now(pid_of_run(r), SIGTERM);
	end = await_run(r);
	expect_exit(end, 128 + SIGTERM);
	expect_stream(end, ids, 2);
	kill_master();
	ids[2] = ended();
	r = cli_start("events", "--follow", "--json", "--kind", "exited",
	    "--ack", "--subscriber", "gw");
	await_run_output(r, ids[2]);
	kill_now(pid_of_run(r), SIGTERM);
	expect_stream(await_run(r), ids + 2, 1);
	/* nobody else has asked: it is forgotten */
	end = cli("events", "--subscriber", "gw");
	expect_out(end, "");
}

SCENARIO(events_follow, begins_where_it_is_told)
{
	const char *ids[3];
	char number[24];
	struct answer *a;
	struct running *r;

	psupd();
	for (int i = 0; i < 3; i++)
		ids[i] = ended();
	a = ask("events");
	snprintf(number, sizeof(number), "%lld",
	    (long long)psup_get_int(psup_value_at(psup_value_get(details(a),
	    "events"), 0), "seq", 0));
	r = cli_start("events", "--follow", "--json", "--kind", "exited",
	    "--since", number);
	await_run_output(r, ids[2]);
	kill_master();
	expect_ok(ask("list"));
	kill_now(pid_of_run(r), SIGINT);
	expect_stream(await_run(r), ids + 1, 2);
}

SCENARIO(events_follow, ends_with_the_server)
{
	const char *id;
	struct running *r;
	struct run *end;

	psupd();
	id = ended();
	r = cli_start("events", "--follow", "--json", "--kind", "exited");
	await_run_output(r, id);
	(void)ask("shutdown", INT("graceMs", 0));
	server_is_gone();
	end = await_run(r);
	expect_exit(end, 3);
	expect(strstr(end->err, "no server") != NULL, "%s", end->err);
}
