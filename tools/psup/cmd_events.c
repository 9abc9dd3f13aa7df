/* SPDX-License-Identifier: MIT */
/*
 * psup events: what happened to sessions and the server: what is known now or,
 * with --follow, each as it happens. One line an event; with --json one object
 * a line.
 */
#include <stdio.h>

#include "cli.h"

struct following {
	struct cli *c;
	int64_t printed; /* sequence number of the last one */
};

/* One event, for a person or a program. */
static void
print_event(struct cli *c, const psup_value *event)
{
	const char *text;
	char line[1200];
	size_t len;
	int n;

	if (c->json) {
		cli_print_json(json_of_value(event));
		return;
	}
	text = psup_get_str(event, "text", &len);
	n = snprintf(line, sizeof(line), "%lld %.*s",
	    (long long)psup_get_int(event, "seq", 0),
	    len > 1000 ? 1000 : (int)len, text != NULL ? text : "");
	cli_print_text(line, n < 0 ? 0 : (size_t)n);
	fflush(stdout);
}

/* Notifications of a subscription. */
static void
on_note(void *arg, const char *name, const psup_value *params)
{
	struct following *f = arg;

	if (name[0] != 'e')
		return; /* not an event */
	print_event(f->c, params);
	f->printed = psup_get_int(params, "seq", f->printed);
}

/* Acknowledges up to a number, where there is anything to acknowledge. */
static int
acknowledge(struct cli *c, const char *subscriber, int64_t seq)
{
	psup_reply *reply = NULL;
	int rc;

	if (seq <= 0)
		return PSUP_OK;
	rc = psup_ack(c->p, subscriber, seq, &reply);
	psup_reply_free(&reply);
	return rc;
}

#define KINDS_MAX 16

/* What was asked for. */
struct wish {
	const char *subscriber;
	const char *kinds[KINDS_MAX + 1]; /* NULL at end */
	size_t kind_count;
	int64_t since;
	bool ack;
};

/* Until the connection ends, or somebody ends us. */
static int
follow(struct cli *c, const struct wish *w)
{
	struct following f = {.c = c};
	psup_reply *reply = NULL;
	int64_t acked = 0;
	int rc;

	psup_on_note(c->p, on_note, &f);
	rc = psup_subscribe_to(c->p, w->kinds, w->subscriber, w->since, &reply);
	psup_reply_free(&reply);
	while (rc == PSUP_OK) {
		if (w->ack && f.printed > acked) {
			acked = f.printed;
			rc = acknowledge(c, w->subscriber, acked);
		}
		if (rc == PSUP_OK && f.printed == acked)
			rc = psup_turn(c->p, -1);
		else if (rc == PSUP_OK && !w->ack)
			acked = f.printed;
	}
	return cli_fail(c, rc);
}

/* The events of now. */
static int
print_now(struct cli *c, const struct wish *w)
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
			print_event(c, event);
		last = psup_get_int(event, "seq", last);
	}
	if (c->json)
		cli_print_json(json_of_value(psup_reply_value(reply)));
	psup_reply_free(&reply);
	rc = w->ack ? acknowledge(c, w->subscriber, last) : PSUP_OK;
	return rc == PSUP_OK ? EXIT_OK : cli_fail(c, rc);
}

static struct wish o = {.since = -1};
static bool following;

/* --kind KIND */
static void
take_kind(struct cli *c, const char *text)
{
	if (o.kind_count < KINDS_MAX)
		o.kinds[o.kind_count++] = text;
	else
		cli_usage(c, "too many kinds");
}

static int
run(struct cli *c, int argc, char **argv)
{
	int rc;

	(void)argc;
	(void)argv;
	if (o.kind_count == 0)
		o.kinds[0] = "all";
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	return following ? follow(c, &o) : print_now(c, &o);
}

static const struct opt options[] = {
	FLAG("follow", 'f', following,
	    "and each that comes (--json: one object a line)"),
	CALL("kind", 0, "KIND",
	    "all|exited|lost|started|timeout-warning|worker-restarted|lane-wait",
	    take_kind,
	    "this kind alone, and others so named: exited, lost, started, "
	    "timeout-warning, worker-restarted, lane-wait (all)"),
	NUMBER("since", 0, "N", o.since, 0, 9007199254740991,
	    "after sequence number N, acknowledged or not"),
	TEXT("subscriber", 0, "NAME", NULL, o.subscriber,
	    "a place of your own among the events"),
	FLAG("ack", 0, o.ack, "acknowledge what was printed"),
	OPT_END};

const struct command cmd_events = {
	.name = "events",
	.wants = "it takes no argument",
	.summary = "Print what happened: ends, warnings, replaced workers",
	.options = options,
	.run = run,
};
