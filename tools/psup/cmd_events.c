/* SPDX-License-Identifier: MIT */
/*
 * psup events: what happened to sessions and the server: what is known now or,
 * with --follow, each as it happens. One line an event; with --json one object
 * a line.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "events_follow.h"

static int64_t since_ms; /* none from before; 0: all */

/* Local time, to the second. */
static void
when_words(int64_t ms, char *ret, size_t size)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;

	if (localtime_r(&t, &tm) == NULL ||
	    strftime(ret, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(ret, size, "-");
}

void
events_print(struct cli *c, const psup_value *event)
{
	const char *text;
	char line[1200], when[32], quiet[32] = "";
	size_t len;
	int n;

	if (psup_get_int(event, "at", 0) < since_ms)
		return;
	if (c->json) {
		cli_print_json(json_of_value(event));
		return;
	}
	text = psup_get_str(event, "text", &len);
	psup_get_copy(event, "quietReason", quiet, sizeof(quiet));
	when_words(psup_get_int(event, "at", 0), when, sizeof(when));
	n = snprintf(line, sizeof(line), "%lld %s %.*s%s%s%s",
	    (long long)psup_get_int(event, "seq", 0), when,
	    len > 1000 ? 1000 : (int)len, text != NULL ? text : "",
	    quiet[0] != '\0' ? " (quiet: " : "", quiet,
	    quiet[0] != '\0' ? ")" : "");
	cli_print_text(line, n < 0 ? 0 : (size_t)n);
	fflush(stdout);
}

int
events_acknowledge(struct cli *c, const struct events_wish *w, int64_t seq)
{
	psup_reply *reply = NULL;
	int rc;

	if (seq <= 0)
		return PSUP_OK;
	rc = psup_ack(c->p, w->subscriber, seq, &reply);
	psup_reply_free(&reply);
	return rc;
}

void
events_say_overflowed(const psup_value *answer)
{
	int64_t n = psup_get_int(answer, "overflowed", 0);

	if (n > 0)
		cli_say("%lld events were forgotten before anybody "
		        "acknowledged them ([retain] events)", (long long)n);
}

/* The events of now. */
static int
print_now(struct cli *c, const struct events_wish *w)
{
	const psup_value *events;
	psup_reply *reply;
	int64_t last = 0;
	int rc;

	rc = psup_events_of(c->p, w->kinds, w->subscriber, w->since, 1000,
	    &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	events = psup_value_get(psup_reply_value(reply), "events");
	for (size_t i = 0; i < psup_value_count(events); i++) {
		const psup_value *event = psup_value_at(events, i);

		if (!c->json)
			events_print(c, event);
		last = psup_get_int(event, "seq", last);
	}
	if (c->json)
		cli_print_json(json_of_value(psup_reply_value(reply)));
	else
		events_say_overflowed(psup_reply_value(reply));
	psup_reply_free(&reply);
	if (ferror(stdout)) /* what nobody could read is not acknowledged */
		return EXIT_INTERNAL;
	rc = w->ack ? events_acknowledge(c, w, last) : PSUP_OK;
	return rc == PSUP_OK ? EXIT_OK : cli_fail(c, rc);
}

static struct events_wish o = {.since = -1};
static bool following;

/* --kind KIND */
static void
take_kind(struct usage *u, const char *text)
{
	if (o.kind_count < EVENTS_KINDS_MAX)
		o.kinds[o.kind_count++] = text;
	else
		usage_wrong(u, "too many kinds");
}

/* --since N|WHEN */
static void
take_since(struct usage *u, const char *text)
{
	if (text[0] != '\0' && strspn(text, "0123456789") == strlen(text)) {
		o.since = usage_number(u, "--since", text, 0,
		    9007199254740991);
		return;
	}
	cli_take_moment(u, "--since", text, &since_ms);
	o.since = 0; /* acknowledged or not */
}

static int
run(struct cli *c, int, char **)
{
	int rc;

	if (since_ms != 0 && c->json && !following)
		return cli_usage(c, "--since a time goes without --json, but "
		                    "for --follow");
	if (o.kind_count == 0)
		o.kinds[0] = "all";
	c->resume = true;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	return following ? events_follow(c, &o) : print_now(c, &o);
}

static const struct opt options[] = {
	FLAG("follow", 'f', following,
	    "and each that comes, until SIGINT, SIGTERM or the server's end "
	    "(--json: one object a line)"),
	CALL("kind", 0, "KIND",
	    "all|exited|lost|started|timeout-warning|worker-restarted|lane-wait",
	    take_kind,
	    "this kind alone, and others so named: exited, lost, started, "
	    "timeout-warning, worker-restarted, lane-wait (all)"),
	CALL("since", 0, "N", "?10m|1h|1d", take_since,
	    "after sequence number N, acknowledged or not; or since a time: "
	    "a duration before now with its unit (90s, 10m, 1h30m, 2d), 14:30, "
	    "2026-11-21"),
	TEXT("subscriber", 0, "NAME", NULL, o.subscriber,
	    "a place of your own among the events"),
	FLAG("ack", 0, o.ack,
	    "acknowledge what was printed, once stdout has taken it"),
	OPT_END};

const struct command cmd_events = {
	.name = "events",
	.summary = "Print what happened: ends, warnings, replaced workers",
	.notes = "Each event has a sequence number. One that follows goes on "
	         "by it where the server's master dies, and prints none twice. "
	         "Who stores the number of the last one it has dealt with "
	         "and begins again with --since gets each exactly once; --ack "
	         "with a --subscriber leaves the storing to the server, and one "
	         "killed between printing and acknowledging gets that event "
	         "again.",
	.options = options,
	.run = run,
};
