/* SPDX-License-Identifier: MIT */
/* See events.h. Called by link.c, result.c and loop.c. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "link.h"
#include "out.h"
#include "subscribe.h"

#define NAMED_MAX 8     /* in one answer, the rest is counted */
#define HELD_MAX 1000u  /* what nobody asks for is the server's to keep */
#define TOLD_MAX 256u   /* ends that answers told, of which events may come */
#define SESSION_SIZE 64
#define NO_LINE UINT64_MAX /* told by a line that is being made */

struct event {
	STAILQ_ENTRY(event) next;
	int64_t seq;
	bool told;
	uint64_t line_end; /* told: by the line that ends there */
	char session[SESSION_SIZE];
	char text[512];
};
static STAILQ_HEAD(, event) events = STAILQ_HEAD_INITIALIZER(events);
static size_t held;
static char told[TOLD_MAX][SESSION_SIZE];
static size_t told_next;

static void
drop_first(void)
{
	struct event *e = STAILQ_FIRST(&events);

	STAILQ_REMOVE_HEAD(&events, next);
	held--;
	free(e);
}

void
events_begin(void)
{
	while (!STAILQ_EMPTY(&events))
		drop_first();
}

/* Of a session of that name. */
static bool
was_told(const char *session)
{
	for (size_t i = 0; i < TOLD_MAX; i++)
		if (strcmp(told[i], session) == 0)
			return true;
	return false;
}

/* A line of a model's, whatever is in it. */
static void
take_text(struct event *e, const psup_value *params)
{
	psup_get_copy(params, "text", e->text, sizeof(e->text));
	for (char *c = e->text; *c != '\0'; c++)
		if (*c == '\n')
			*c = ' ';
}

void
events_note(void *, const char *name, const psup_value *params)
{
	struct event *e;

	if (strcmp(name, "event") != 0)
		return;
	e = held < HELD_MAX ? calloc(1, sizeof(*e)) : NULL;
	if (e == NULL)
		return; /* it is not acknowledged, so it comes again */
	e->seq = psup_get_int(params, "seq", 0);
	psup_get_copy(params, "sessionId", e->session, sizeof(e->session));
	subscribe_ended(e->session);
	take_text(e, params);
	/* quiet: nobody is to be told; told: it was */
	e->told = psup_get_bool(params, "quiet", false) ||
	    was_told(e->session);
	e->line_end = out_end();
	STAILQ_INSERT_TAIL(&events, e, next);
	held++;
	events_settle();
}

/* An event of it may come later, or again. */
static void
remember(const char *session)
{
	if (!was_told(session))
		snprintf(told[told_next++ % TOLD_MAX], SESSION_SIZE, "%s",
		    session);
}

void
events_end_told(const char *session)
{
	struct event *e;

	if (session[0] == '\0')
		return;
	remember(session);
	STAILQ_FOREACH(e, &events, next)
		if (!e->told && strcmp(e->session, session) == 0) {
			e->told = true;
			e->line_end = NO_LINE;
		}
}

void
events_goes_on(const char *session)
{
	for (size_t i = 0; i < TOLD_MAX; i++)
		if (strcmp(told[i], session) == 0)
			told[i][0] = '\0';
}

json_t *
events_take(void)
{
	json_t *text = NULL, *longer;
	struct event *e;
	int n = 0;

	STAILQ_FOREACH(e, &events, next) {
		if (e->told)
			continue;
		e->told = true;
		e->line_end = NO_LINE;
		remember(e->session);
		if (n++ >= NAMED_MAX)
			continue;
		longer = json_sprintf("%s\n%s",
		    text != NULL ? json_string_value(text) : "Meanwhile:",
		    e->text);
		json_decref(text);
		text = longer;
	}
	if (n > NAMED_MAX) {
		longer = json_sprintf("%s\nand %d more: list shows them.",
		    json_string_value(text), n - NAMED_MAX);
		json_decref(text);
		text = longer;
	}
	return text;
}

void
events_queued(void)
{
	struct event *e;

	STAILQ_FOREACH(e, &events, next)
		if (e->told && e->line_end == NO_LINE)
			e->line_end = out_end();
}

void
events_settle(void)
{
	const struct event *e;
	psup_args *a;
	int64_t seq = 0;

	/* in order: a number acknowledges all before it */
	while ((e = STAILQ_FIRST(&events)) != NULL && e->told &&
	    e->line_end <= out_written()) {
		seq = e->seq;
		drop_first();
	}
	if (seq == 0)
		return;
	a = psup_args_new();
	psup_args_int(a, "seq", seq);
	link_tell("ack", a);
	psup_args_free(&a);
}
