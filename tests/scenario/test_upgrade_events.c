/* SPDX-License-Identifier: MIT */
/*
 * Who listens while another build takes over: a gateway with libpsup, as
 * docs/gateways.md has it (take, note, acknowledge), and psup events --follow.
 * Both are there before it and have to go on after it by themselves; sessions
 * end before, in its middle and after it.
 */
#include "lib_upgrade.h"

#include <psup/psup.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EACH     20 /* sessions that end around one upgrade */
#define UPGRADES 4
#define ALL      (1 + UPGRADES * (EACH + 1))

TestSuite(upgrade_events);

static struct {
	psup *p;
	int connects;
	int64_t taken; /* sequence number of the last one */
	int64_t told;  /* acknowledged, as the server answered */
	size_t count;
	char ids[ALL + 1][48];
} gateway;

static void
on_note(void *arg, const char *name, const psup_value *params)
{
	int64_t seq = psup_get_int(params, "seq", 0);

	(void)arg;
	if (strcmp(name, "event") != 0)
		return;
	if (seq <= gateway.taken) {
		/* what was not acknowledged comes again to a new connection */
		expect(seq > gateway.told, "%lld came again",
		    (long long)seq);
		return;
	}
	expect(psup_get_is(params, "kind", "exited"));
	expect(gateway.count < ALL, "one too many");
	gateway.taken = seq;
	psup_get_copy(params, "sessionId", gateway.ids[gateway.count++],
	    sizeof(gateway.ids[0]));
}

/* Connected and subscribed; a lost connection is made again. */
static bool
gateway_is_there(void)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_reply *r = NULL;
	int rc;

	if (psup_is_connected(gateway.p))
		return true;
	o.runtime_dir = runtime_dir();
	if (psup_connect(gateway.p, &o) != PSUP_OK)
		return false;
	rc = psup_subscribe(gateway.p, "gateway", -1, &r);
	if (rc == PSUP_OK) {
		expect(psup_get_int(psup_reply_value(r), "overflowed", 0) == 0);
		gateway.connects++;
	}
	psup_reply_free(&r);
	return rc == PSUP_OK;
}

static void
gateway_acknowledge(void)
{
	int64_t seq = gateway.taken; /* more may come with the answer */
	psup_reply *r = NULL;

	if (gateway.told == seq)
		return;
	if (psup_ack(gateway.p, "gateway", seq, &r) == PSUP_OK)
		gateway.told = seq;
	psup_reply_free(&r);
}

/* Its loop, until it has so many events. */
static void
gateway_until(size_t count)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	while (gateway.count < count) {
		expect(now_ms() < until, "%zu events of %zu", gateway.count,
		    count);
		if (gateway_is_there() && psup_turn(gateway.p, 10) == PSUP_OK)
			gateway_acknowledge();
	}
}

/* The session that line n of the stream is about; the lines' numbers grow. */
static void
expect_line(const char **text, int64_t *seq, const char *id)
{
	const char *end = strchr(*text, '\n'), *at;
	int64_t n;

	expect(end != NULL, "no line for %s", id);
	at = strstr(*text, "\"seq\":");
	expect(at != NULL && at < end, "%s", *text);
	n = strtoll(at + strlen("\"seq\":"), NULL, 10);
	expect(n > *seq, "%lld after %lld", (long long)n, (long long)*seq);
	*seq = n;
	at = strstr(*text, id);
	expect(at != NULL && at < end && at[strlen(id)] == '"', "%s, not: %s",
	    id, *text);
	*text = end + 1;
}

SCENARIO(upgrade_events, each_comes_once_to_who_listens_all_the_while)
{
	const char *ids[ALL], *text;
	char command[64];
	struct running *follow, *up;
	struct run *r;
	size_t n = 0;
	int64_t seq = 0;

	psupd(.workers = 2);
	expect(psup_new(&gateway.p) == PSUP_OK);
	psup_on_note(gateway.p, on_note, NULL);
	follow = cli_start("events", "--follow", "--json", "--kind", "exited");
	ids[n++] = background(STR("command", "exit 1"));
	/* what all that have asked acknowledged is forgotten: it asks first */
	await_run_output(follow, ids[0]);
	gateway_until(n);
	for (int u = 0; u < UPGRADES; u++) {
		for (int i = 0; i < EACH; i++) {
			snprintf(command, sizeof(command),
			    "sleep 0.%03d; exit 1", 20 * i);
			ids[n++] = background(STR("command", command));
		}
		up = cli_start("upgrade", build_dir(u % 2 == 0 ? "next" : NULL));
		gateway_until(n);
		r = await_run(up);
		expect(r->code == 0, "%s%s", r->out, r->err);
		connect_again();
		ids[n++] = background(STR("command", "exit 1"));
		gateway_until(n);
	}
	expect(n == ALL && gateway.connects >= 1 + UPGRADES, "%d connections",
	    gateway.connects);
	for (size_t i = 0; i < n; i++) {
		int times = 0;

		for (size_t k = 0; k < n; k++)
			times += strcmp(ids[i], gateway.ids[k]) == 0;
		expect(times == 1, "%s: %d events", ids[i], times);
	}
	await_run_output(follow, ids[n - 1]);
	kill_now(pid_of_run(follow), SIGINT);
	r = await_run(follow);
	expect_exit(r, 128 + SIGINT);
	expect(r->err[0] == '\0', "%s", r->err);
	text = r->out;
	for (size_t i = 0; i < n; i++)
		expect_line(&text, &seq, gateway.ids[i]);
	expect(text[0] == '\0', "more: %s", text);
	/* and all of them are acknowledged */
	gateway_acknowledge();
	expect_out(cli("events", "--subscriber", "gateway"), "");
	psup_free(&gateway.p);
}
