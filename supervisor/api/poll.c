/* SPDX-License-Identifier: MIT */
/*
 * poll. One that waits is woken by the worker's word or the session's end,
 * never by a clock that ticks. Its words: poll_words.c.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "shm/stats.h"
#include "supervisor/api/polling.h"
#include "supervisor/session/usage.h"
#include "supervisor/words/result.h"

#define MOMENT_MS  25u   /* output waits so long for an end that follows it */
#define HELD_MS    1000u /* another answer to the same reader takes so long */
#define SAMPLE_NS  (NSEC_PER_MSEC / 2) /* of its usage, in the first unit */

/* Behind an answer: its cursor, which outlives the request. */
struct cursor_mark {
	struct sid sid;
	uint64_t ack;
	char reader[72];
};

/* Who reads: the reader's name, else the scope. */
static void
reader_name(struct api_call *c, struct session *s, char *ret, size_t size)
{
	char name[72];

	if (val_copy(c->params, "reader", name, sizeof(name)) > 0)
		snprintf(ret, size, "r:%.66s", name);
	else
		snprintf(ret, size, "s:%.47s", s->id.scope);
}

/* Polls of this reader that were held may go on, in the next turn. */
static void
release_held(struct session *s, const char *reader)
{
	const struct polling *p;
	struct watch *w;

	LIST_FOREACH(w, &s->watches, of_session) {
		if (w->req->row != &method_POLL)
			continue;
		p = w->req->state;
		if (p->held_ns != 0 && strcmp(p->reader, reader) == 0)
			req_timer(w->req, 0);
	}
}

/* The cursor moves, and a reader that was told the end needs no event. */
static void
delivered(struct master *m, struct sid sid, const char *reader, uint64_t ack)
{
	struct session *s = session_by_sid(m, sid);
	bool told = cursors_get(m->cursors, sid, reader).end_told;

	if (s == NULL || !cursors_confirm(m->cursors, sid, reader, ack))
		return;
	if (!told && cursors_get(m->cursors, sid, reader).end_told) {
		events_ack_session(m->events, s->id.scope, sid);
		sweep_read(m, s);
	}
	release_held(s, reader);
}

/* An answer has reached its reader, or was lost: the next poll delivers what it
 * held again. */
static void
poll_written(struct master *m, struct conn *, const void *what, bool lost)
{
	const struct cursor_mark *k = what;
	struct session *s = session_by_sid(m, k->sid);

	if (!lost) {
		delivered(m, k->sid, k->reader, k->ack);
		return;
	}
	cursors_unstage(m->cursors, k->sid, k->reader, k->ack);
	if (s != NULL)
		release_held(s, k->reader);
}

/* All is in the answer. Behind it: its cursor moves once that is out. */
static void
poll_answered(struct req *r)
{
	struct polling *p = r->state;
	struct cursor_mark k = {.sid = p->sid, .ack = p->ack};
	struct session *s = session_by_sid(r->m, p->sid);
	bool failed = p->a.e.failed;

	if (p->ended && p->wish.have_since && !failed && s != NULL)
		sweep_read(r->m, s);
	stats_observe(&r->m->stats->poll, METRIC_CUT_WORK,
	    (clock_boot_ns() - p->due_ns) / NSEC_PER_USEC);
	req_answer(r, &p->a.e);
	if (failed || p->ack == 0)
		return;
	memcpy(k.reader, p->reader, sizeof(k.reader));
	if (!p->explicit_ack)
		conn_mark(r->conn, &method_POLL, &k, sizeof(k));
	p->ack = 0;
}

/* A slice of the answer. */
static int
poll_step(struct req *r, uint64_t until)
{
	struct polling *p = r->state;

	if (!output_answer_some(&p->a, until))
		return req_keeps(r, output_answer_bytes(&p->a));
	poll_answered(r);
	return 0;
}

/* Answers a poll with what was read, which is its own from here on. */
static void
poll_answer(struct req *r, struct session *s, struct delivery *d)
{
	struct polling *p = r->state;

	p->answers = true;
	p->ended = !session_live(s);
	if (!p->wish.have_since)
		p->ack = cursors_stage(r->m->cursors, s->id.sid, p->reader,
		    d->from, d->next, p->ended);
	if (!p->explicit_ack)
		cursors_writing(r->m->cursors, s->id.sid, p->reader, p->ack);
	poll_words(r, s, d, p->ack);
	p->a.kept[0] = d->k;
	d->have = false;
	if (poll_step(r, r->m->unit_until_ns) > 0)
		req_step(r, poll_step);
}

/* Milliseconds until a moment, 0 if it is over. */
static uint64_t
ms_until(uint64_t when_ns)
{
	uint64_t now = clock_boot_ns();

	return now >= when_ns
	    ? 0
	    : (when_ns - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
}

/* An answer to the same reader is being written. What it holds is neither
 * delivered twice nor skipped, so this poll waits until it is out, or lost. */
static void
poll_hold(struct req *r, struct session *s)
{
	struct polling *p = r->state;
	uint64_t until = clock_boot_ns() + HELD_MS * NSEC_PER_MSEC;

	if (p->held_ns == 0 && req_watch(r, s) == 0)
		p->held_ns = until > p->deadline_ns ? until : p->deadline_ns;
	if (ms_until(p->held_ns) > 0)
		req_timer(r, ms_until(p->held_ns));
	else
		req_refuse(r, PROTO_E_BUSY, s->id.slug,
		    "Another poll of this reader of session %s is being "
		    "answered, and its client does not take the answer: try "
		    "again, or give another reader.", s->id.slug);
}

static void poll_try(struct req *r, struct session *s, bool final);

/* Goes on with the sample of what is to be answered. */
static int
poll_sample(struct req *r, uint64_t until)
{
	struct polling *p = r->state;
	struct session *s = session_by_sid(r->m, p->sid);

	if (s == NULL) {
		req_refuse(r, PROTO_E_NOT_FOUND, NULL,
		    "The session was removed");
		return 0;
	}
	if (!usage_sample(r->m, s, p->usage, until))
		return 1;
	poll_try(r, s, true);
	return 0;
}

/* A job's last line and its end come in one answer: output gives the end a
 * moment. Who reads by position asks for output alone. */
static bool
awaits_end(struct req *r)
{
	struct polling *p = r->state;
	uint64_t until = clock_boot_ns() + MOMENT_MS * NSEC_PER_MSEC;

	if (p->wish.have_since)
		return false;
	if (p->moment_ns == 0)
		p->moment_ns = until < p->deadline_ns ? until : p->deadline_ns;
	if (ms_until(p->moment_ns) == 0)
		return false;
	req_timer(r, ms_until(p->moment_ns));
	return true;
}

/* Answers if there is anything to say, or no time left. */
static void
poll_try(struct req *r, struct session *s, bool final)
{
	const struct polling *p = r->state;
	struct delivery d = {0};
	struct cursor cur = {0};

	if (!p->wish.have_since &&
	    cursors_busy(r->m->cursors, s->id.sid, p->reader)) {
		poll_hold(r, s);
		return;
	}
	if (!p->wish.have_since)
		cur = cursors_get(r->m->cursors, s->id.sid, p->reader);
	d.from = p->wish.have_since ? p->since : cur.pos;
	delivery_read(r->m, s, &p->wish, &d);
	if (!final && session_live(s) && d.len > 0 && awaits_end(r)) {
		/* its end or the timer wakes it */
	} else if (final || !session_live(s) || d.len > 0 || d.dropped > 0 ||
	    d.fault != NULL) {
		if (p->usage != NULL && !usage_sample(r->m, s, p->usage,
		    clock_boot_ns() + SAMPLE_NS))
			req_step(r, poll_sample);
		else
			poll_answer(r, s, &d);
	} else {
		output_watch(r->m, s, d.have ? d.k.to : d.from);
	}
	if (d.have)
		retained_free(&d.k);
}

/* A waiting poll is woken. */
static void
poll_wake(struct req *r, struct session *s, unsigned wake)
{
	struct polling *p = r->state;
	uint64_t left = ms_until(p->deadline_ns);

	if (s == NULL || p->answers)
		return;
	p->due_ns = clock_boot_ns();
	if (wake & WAKE_GONE) {
		req_refuse(r, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %s", s->id.slug);
		return;
	}
	if ((wake & WAKE_TIMER) != 0 && left > 0)
		req_timer(r, left); /* it was held, or woken too early */
	poll_try(r, s, left == 0);
}

/* Whether ack is what it can be; else that was answered. */
static bool
ack_is_one(struct api_call *c, const char *ack)
{
	if (strcmp(ack, "explicit") == 0 ||
	    (ack[0] != '\0' && ack[strspn(ack, "0123456789")] == '\0'))
		return true;
	return req_invalid(c->req, "ack", val_get(c->params, "ack"),
	    "explicit, or details.ack of an answer");
}

/* poll */
static void
poll_call(struct api_call *c)
{
	struct session *s = api_session(c, API_BACKGROUND);
	struct req *r = c->req;
	struct polling *p = r->state;
	uint64_t timeout;
	char ack[32];

	if (s == NULL)
		return;
	p->wish.text = api_text_rule(c);
	if (val_copy(c->params, "ack", ack, sizeof(ack)) > 0 &&
	    !ack_is_one(c, ack))
		return;
	reader_name(c, s, p->reader, sizeof(p->reader));
	p->wish.have_since = val_get(c->params, "since") != NULL;
	p->since = val_uint(c->params, "since", 0);
	p->wish.raw = val_bool(c->params, "raw", false);
	p->times = p->wish.have_since && p->wish.raw &&
	    val_bool(c->params, "times", false);
	p->sid = s->id.sid;
	if (val_bool(c->params, "usage", false) &&
	    (p->usage = calloc(1, sizeof(*p->usage))) == NULL) {
		req_failf(r, PROTO_E_BUSY, "", "out of memory");
		return;
	}
	p->wish.max_bytes = (uint64_t)proto_int(PROTO_POLL, c->params, "maxBytes",
	    (int64_t)c->m->cfg.pending_max_output_chars);
	if (ack[0] != '\0') {
		p->explicit_ack = true;
		if (strcmp(ack, "explicit") != 0)
			delivered(c->m, s->id.sid, p->reader,
			    strtoull(ack, NULL, 10));
	}
	timeout = (uint64_t)proto_int(PROTO_POLL, c->params, "timeout", 0);
	p->due_ns = clock_boot_ns();
	p->deadline_ns = p->due_ns + timeout * NSEC_PER_MSEC;
	if (timeout == 0 || req_watch(r, s) < 0) {
		poll_try(r, s, true);
		return;
	}
	req_timer(r, timeout);
	poll_try(r, s, false);
}

static void
poll_drop(struct req *r)
{
	struct polling *p = r->state;
	struct session *s = session_by_sid(r->m, p->sid);

	if (p->ack != 0) { /* it was not answered: the next one is told */
		cursors_unstage(r->m->cursors, p->sid, p->reader, p->ack);
		if (s != NULL)
			release_held(s, p->reader);
	}
	output_answer_fini(&p->a);
	free(p->usage);
}

const struct method method_POLL = {.call = poll_call, .wake = poll_wake,
    .drop = poll_drop, .written = poll_written,
    .state_size = sizeof(struct polling)};
