/* SPDX-License-Identifier: MIT */
/*
 * Reading: list, poll, log, wait. A poll that waits is woken by the worker's
 * word or the session's end, never by a clock that ticks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "supervisor/lines.h"
#include "supervisor/master.h"
#include "supervisor/result.h"
#include "supervisor/usage.h"

#define USAGE_ROWS 1000u /* of one list; a sample takes 30 us */

/* ------------------------------------------------------------------ list */

/* Newest start first. */
static int
by_start(const void *a, const void *b)
{
	const struct session *x = *(struct session *const *)a;
	const struct session *y = *(struct session *const *)b;
	uint64_t p = x->started_ms != 0 ? x->started_ms : x->created_ms;
	uint64_t q = y->started_ms != 0 ? y->started_ms : y->created_ms;

	if (p != q)
		return p < q ? 1 : -1;
	return x->sid.v < y->sid.v ? 1 : x->sid.v > y->sid.v ? -1 : 0;
}

/* The sessions a call may see, sorted. */
static struct session **
list_collect(struct api_call *c, bool all, size_t *ret_n)
{
	const char *scope = conn_scope(c->conn);
	struct session **v, *s;
	size_t n = 0;

	v = calloc(c->m->live + c->m->counts[STATE_ENDED] + 1u,
	    sizeof(struct session *));
	if (v == NULL)
		return NULL;
	for (s = registry_first(c->m); s != NULL; s = registry_next(s)) {
		if (s->hidden || (!s->backgrounded && !all))
			continue;
		if (scope != NULL && strcmp(scope, s->scope) != 0)
			continue;
		v[n++] = s;
	}
	qsort(v, n, sizeof(struct session *), by_start);
	*ret_n = n;
	return v;
}

/* list */
void
api_list(struct api_call *c)
{
	bool all = val_bool(c->params, "all", false) &&
	    conn_scope(c->conn) == NULL;
	bool usage = val_bool(c->params, "usage", false);
	uint64_t limit = val_uint(c->params, "limit", UINT64_MAX);
	uint64_t now = clock_wall_ms();
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	struct session **v;
	size_t n = 0;

	v = list_collect(c, all, &n);
	if (v == NULL) {
		req_failf(c->req, PROTO_E_BUSY, "", "out of memory");
		return;
	}
	if (n > limit)
		n = (size_t)limit;
	enc_map(&e);
	enc_key(&e, "details");
	enc_map(&e);
	enc_kv_str(&e, "status", "completed");
	enc_key(&e, "sessions");
	enc_array(&e);
	for (size_t i = 0; i < n; i++) {
		result_row(c->m, v[i], usage && i < USAGE_ROWS, &e);
		result_line(v[i], now, &text);
	}
	enc_end(&e);
	enc_end(&e);
	if (n == 0)
		sbuf_add(&text, "No running or recent sessions.");
	else if (text.len > 0)
		text.p[--text.len] = '\0';
	enc_kv_strn(&e, "text", text.p != NULL ? text.p : "", text.len);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	req_answer(c->req, &e);
	enc_fini(&e);
	sbuf_fini(&text);
	free(v);
}

/* ------------------------------------------------------------------ poll */

/* What one poll delivers. */
struct delivery {
	struct retained k;
	bool have;       /* k is filled */
	uint64_t from;   /* the cursor */
	uint64_t next;   /* where the next one begins */
	uint64_t dropped; /* gone for good, between from and the output */
	uint64_t omitted; /* left out here, log still shows them */
	size_t at, len;  /* of k.data */
};

/* Takes at most `max` bytes: of a poll the newest, of a since read the
 * oldest. */
static void
delivery_cut(struct req *r, struct delivery *d)
{
	struct retained *k = &d->k;
	size_t max = (size_t)r->max_bytes;

	d->at = 0;
	d->len = k->len;
	d->dropped = k->dropped;
	d->next = k->to;
	if (r->have_since) {
		if (d->len > max) {
			d->len = text_cut_back(k->data, k->len, max);
			if (d->len == 0)
				d->len = max;
			if (k->gap_at < k->len && k->gap_at > d->len)
				d->dropped = 0; /* the gap comes later */
			d->next = k->from + d->len;
			if (k->gap_at > 0 && k->gap_at < d->len)
				d->next += k->dropped;
		}
		return;
	}
	if (d->len > max) {
		d->at = d->len - max;
		d->at += text_skip_partial(k->data + d->at, k->len - d->at);
		d->omitted = d->at;
		d->len -= d->at;
	}
}

/* Keeps a sequence that is not whole yet for the next poll. */
static void
delivery_whole(struct session *s, struct delivery *d)
{
	size_t n;

	if (!session_live(s) || d->next != d->k.to)
		return;
	n = text_unfinished(d->k.data + d->at, d->len);
	d->len -= n;
	d->next -= n;
}

/* Reads from the cursor on. */
static void
delivery_read(struct req *r, struct session *s, struct delivery *d)
{
	struct ring_reader *rd = s->state != STATE_QUEUED
	    ? readers_get(r->m, s->sid)
	    : NULL;
	enum ring_verdict v;

	d->next = d->from;
	if (rd == NULL)
		return;
	v = retained_read(rd, d->from, 0, LINES_BOTH, &d->k);
	if (v != RING_OK && v != RING_OVERRUN)
		return;
	d->have = true;
	if (d->k.to > s->total)
		s->total = d->k.to;
	delivery_cut(r, d);
	if (!r->raw)
		delivery_whole(s, d);
}

/* Who reads: the reader's name, else the scope. */
static void
reader_name(struct api_call *c, struct session *s, char *ret, size_t size)
{
	char name[72];

	if (val_copy(c->params, "reader", name, sizeof(name)) > 0)
		snprintf(ret, size, "r:%.66s", name);
	else
		snprintf(ret, size, "s:%.47s", s->scope);
}

/* The words of a poll. */
static void
poll_text(struct req *r, struct session *s, const struct delivery *d,
    const struct sbuf *out, bool waits, uint64_t idle, struct sbuf *b)
{
	char dur[32];

	(void)r;
	result_note(d->omitted + d->dropped, d->dropped, b);
	if (out->len > 0)
		sbuf_addn(b, out->p, out->len);
	else if (session_live(s))
		sbuf_add(b, "(no new output)");
	while (b->len > 0 && b->p[b->len - 1] == '\n')
		b->p[--b->len] = '\0';
	if (b->len > 0)
		sbuf_add(b, "\n\n");
	if (!session_live(s)) {
		result_exit_words(s, b);
	} else if (waits) {
		text_duration(idle, dur, sizeof(dur));
		sbuf_addf(b,
		    "No new output for %s; this session may be waiting for "
		    "input. Use process write to provide it.",
		    dur);
	} else {
		sbuf_add(b, s->state == STATE_QUEUED ? "Still queued."
						     : "Process still running.");
	}
}

/* The details of a poll. */
static void
poll_details(struct req *r, struct session *s, const struct delivery *d,
    const struct sbuf *out, uint64_t ack, bool waits, uint64_t idle,
    struct enc *e)
{
	struct cursor cur = cursors_get(r->m->cursors, s->sid, r->reader);

	if (out->len > 0)
		cur.empty_polls = 0;
	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->slug);
	enc_kv_str(e, "name", s->name);
	enc_key(e, "output");
	if (r->raw)
		enc_bin(e, d->have ? d->k.data + d->at : "", d->len);
	else
		enc_strn(e, out->p != NULL ? out->p : "", out->len);
	enc_kv_uint(e, "next", d->next);
	enc_kv_uint(e, "dropped", d->dropped);
	enc_kv_uint(e, "omitted", d->omitted);
	enc_kv_bool(e, "exited",
	    s->state == STATE_EXITED || !session_live(s));
	enc_kv_bool(e, "closed", !session_live(s));
	enc_kv_uint(e, "totalOutputChars", s->total);
	enc_kv_bool(e, "stdinWritable", result_stdin_writable(s));
	if (ack != 0) {
		char buf[24];

		snprintf(buf, sizeof(buf), "%" PRIu64, ack);
		enc_kv_str(e, "ack", buf);
	}
	usage_encode(r->m, s, r->usage, e);
	if (session_live(s)) {
		enc_kv_bool(e, "waitingForInput", waits);
		enc_kv_uint(e, "idleMs", idle);
		enc_kv_uint(e, "retryInMs", cursors_retry_ms(&cur));
	} else {
		struct output o;

		result_exit_fields(s, e);
		output_read(r->m, s, r->m->cfg.max_output_chars, &o);
		enc_kv_strn(e, "aggregated", o.text.p != NULL ? o.text.p : "",
		    o.text.len);
		enc_kv_bool(e, "truncated", o.omitted > 0);
		enc_kv_uint(e, "droppedBytes", o.dropped);
		enc_kv_uint(e, "durationMs", s->duration_ms);
		sbuf_fini(&o.text);
	}
}

/* The cursor moves, and a reader that was told the end needs no event. */
void
api_poll_delivered(struct master *m, struct sid sid, const char *reader,
    uint64_t ack)
{
	struct session *s = session_by_sid(m, sid);
	bool told = cursors_get(m->cursors, sid, reader).end_told;

	if (s == NULL || !cursors_confirm(m->cursors, sid, reader, ack))
		return;
	if (!told && cursors_get(m->cursors, sid, reader).end_told)
		events_ack_session(m->events, s->scope, sid);
}

/* Answers a poll with what was read. */
static void
poll_answer(struct req *r, struct session *s, struct delivery *d)
{
	struct sbuf out = SBUF_INIT, text = SBUF_INIT;
	struct enc e = ENC_INIT;
	uint64_t ack = 0, idle, last;
	bool waits = result_waits_for_input(r->m, s, &idle, &last);
	bool ended = !session_live(s), explicit_ack = r->explicit_ack;
	struct master *m = r->m;
	struct conn *conn = r->conn;
	char reader[72];

	if (d->have)
		sbuf_add_repaired(&out, d->k.data + d->at, d->len);
	if (!r->have_since)
		ack = cursors_stage(m->cursors, s->sid, r->reader, d->from,
		    d->next, ended);
	poll_text(r, s, d, &out, waits, idle, &text);
	enc_map(&e);
	enc_kv_strn(&e, "text", text.p != NULL ? text.p : "", text.len);
	enc_key(&e, "details");
	enc_map(&e);
	poll_details(r, s, d, &out, ack, waits, idle, &e);
	enc_end(&e);
	enc_kv_bool(&e, "isError", ended && s->status != STATUS_COMPLETED);
	enc_end(&e);
	snprintf(reader, sizeof(reader), "%s", r->reader);
	req_answer(r, &e);
	if (ack != 0 && !explicit_ack)
		conn_mark_cursor(conn, s->sid, reader, ack);
	enc_fini(&e);
	sbuf_fini(&out);
	sbuf_fini(&text);
}

/* Answers if there is anything to say, or no time left. */
static void
poll_try(struct req *r, struct session *s, bool final)
{
	struct ctl_pos w = {.head = CTL_INIT(CTL_WATCH, s->sid,
				struct ctl_pos)};
	struct delivery d = {0};
	struct cursor cur = {0};

	if (!r->have_since)
		cur = cursors_get(r->m->cursors, s->sid, r->reader);
	d.from = r->have_since ? r->since : cur.pos;
	delivery_read(r, s, &d);
	if (final || !session_live(s) || d.len > 0 || d.dropped > 0) {
		poll_answer(r, s, &d);
	} else if (s->has_worker && s->state != STATE_QUEUED &&
	    (!s->watching || s->watch_pos > d.k.to)) {
		s->watching = true;
		w.pos = d.have ? d.k.to : d.from;
		s->watch_pos = w.pos;
		pool_order(r->m, s, &w, sizeof(w), false, -1);
	}
	if (d.have)
		retained_free(&d.k);
}

/* A waiting poll is woken. */
void
api_poll_wake(struct req *r, struct session *s, unsigned wake)
{
	if (s == NULL)
		return;
	if (wake & WAKE_GONE)
		req_refuse(r, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %s", s->slug);
	else
		poll_try(r, s, (wake & WAKE_TIMER) != 0);
}

/* poll */
void
api_poll(struct api_call *c)
{
	struct session *s = api_session(c, true);
	struct req *r = c->req;
	uint64_t timeout;
	char ack[32];

	if (s == NULL)
		return;
	reader_name(c, s, r->reader, sizeof(r->reader));
	r->have_since = val_get(c->params, "since") != NULL;
	r->since = val_uint(c->params, "since", 0);
	r->raw = val_bool(c->params, "raw", false);
	r->usage = val_bool(c->params, "usage", false);
	r->max_bytes = (uint64_t)proto_int(PROTO_POLL, c->params, "maxBytes",
	    (int64_t)c->m->cfg.pending_max_output_chars);
	if (val_copy(c->params, "ack", ack, sizeof(ack)) > 0) {
		r->explicit_ack = true;
		if (strcmp(ack, "explicit") != 0)
			api_poll_delivered(c->m, s->sid, r->reader,
			    strtoull(ack, NULL, 10));
	}
	timeout = (uint64_t)proto_int(PROTO_POLL, c->params, "timeout", 0);
	if (timeout == 0 || req_watch(r, s) < 0) {
		poll_try(r, s, true);
		return;
	}
	req_timer(r, timeout);
	poll_try(r, s, false);
}

/* ------------------------------------------------------------------- log */

/* The details of a log. */
static void
log_details(struct session *s, const struct retained *k,
    const struct lines_page *pg, struct enc *e)
{
	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->slug);
	enc_kv_str(e, "name", s->name);
	enc_kv_uint(e, "total", pg->total_lines);
	enc_kv_uint(e, "totalLines", pg->total_lines);
	enc_kv_uint(e, "firstLine", pg->first_line);
	enc_kv_uint(e, "lines", pg->line_count);
	enc_kv_uint(e, "totalOutputChars", s->total);
	enc_kv_uint(e, "droppedBytes", k->dropped);
	enc_kv_bool(e, "truncated", k->dropped > 0);
	enc_key(e, "gapAt");
	if (pg->gap_line >= 0)
		enc_int(e, pg->gap_line);
	else
		enc_nil(e);
	enc_kv_uint(e, "mixedBytes", k->mixed);
	if (!session_live(s))
		result_exit_fields(s, e);
}

/* Answers a log with one page. */
static void
log_answer(struct req *r, struct session *s, const struct retained *k,
    const struct lines_page *pg)
{
	size_t len = 0;
	char *page = lines_text(k, pg->begin, pg->end, &len);
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;

	if (page != NULL && len > 0)
		sbuf_addn(&text, page, len);
	else
		sbuf_add(&text, session_live(s) ? "(no output yet)"
						: "(no output recorded)");
	if (pg->defaulted && pg->total_lines > pg->line_count)
		sbuf_addf(&text,
		    "\n\n[showing last %" PRIu64 " of %" PRIu64
		    " lines; pass offset/limit to page]",
		    pg->line_count, pg->total_lines);
	enc_map(&e);
	enc_kv_strn(&e, "text", text.p != NULL ? text.p : "", text.len);
	enc_key(&e, "details");
	enc_map(&e);
	log_details(s, k, pg, &e);
	enc_end(&e);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	req_answer(r, &e);
	enc_fini(&e);
	sbuf_fini(&text);
	free(page);
}

/* log */
void
api_log(struct api_call *c)
{
	const struct val *stream = val_get(c->params, "stream");
	enum lines_streams which = LINES_BOTH;
	struct session *s = api_session(c, true);
	struct retained k = {0};
	struct lines_page pg;
	struct ring_reader *rd;
	enum ring_verdict v = RING_OK;

	if (s == NULL)
		return;
	if (val_is_str(stream, "stdout"))
		which = LINES_STDOUT;
	else if (val_is_str(stream, "stderr"))
		which = LINES_STDERR;
	else if (stream != NULL) {
		struct proto_problem p;

		proto_problem_value(&p, PROTO_E_INVALID_PARAMS, "stream",
		    stream, "stdout or stderr");
		req_fail(c->req, &p);
		return;
	}
	rd = s->state != STATE_QUEUED ? readers_get(c->m, s->sid) : NULL;
	if (rd != NULL)
		v = retained_read(rd, 0, 0, which, &k);
	if (v == RING_CORRUPT || v == RING_BUSY) {
		req_refuse(c->req,
		    v == RING_BUSY ? PROTO_E_BUSY : PROTO_E_INTERNAL, s->slug,
		    "The output of session %s is %s.", s->slug,
		    v == RING_BUSY ? "being overwritten: try again"
				   : "damaged");
		return;
	}
	if (which == LINES_BOTH && k.to > s->total)
		s->total = k.to;
	lines_page(&k, val_get(c->params, "offset") != NULL,
	    val_uint(c->params, "offset", 0),
	    val_get(c->params, "limit") != NULL,
	    val_uint(c->params, "limit", 0), &pg);
	log_answer(c->req, s, &k, &pg);
	retained_free(&k);
}

/* ------------------------------------------------------------------ wait */

/* Answers a wait. */
static void
wait_answer(struct req *r, bool met)
{
	uint64_t now = clock_wall_ms();
	struct sbuf text = SBUF_INIT;
	struct enc e = ENC_INIT;
	struct watch *w;

	enc_map(&e);
	enc_key(&e, "details");
	enc_map(&e);
	enc_kv_str(&e, "status", met ? "completed" : "running");
	enc_kv_str(&e, "met", met ? "exit" : "timeout");
	enc_key(&e, "sessions");
	enc_array(&e);
	LIST_FOREACH(w, &r->watches, of_req) {
		result_row(r->m, w->s, false, &e);
		result_line(w->s, now, &text);
	}
	enc_end(&e);
	enc_end(&e);
	enc_kv_strn(&e, "text", text.p != NULL ? text.p : "", text.len);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	req_answer(r, &e);
	enc_fini(&e);
	sbuf_fini(&text);
}

/* Is what it waits for there? */
static bool
wait_met(struct req *r, const struct session *gone)
{
	struct watch *w;

	LIST_FOREACH(w, &r->watches, of_req) {
		bool over = w->s == gone || !session_live(w->s);

		if (over && r->any)
			return true;
		if (!over && !r->any)
			return false;
	}
	return !r->any;
}

/* A session of a wait has ended, or time is up. */
void
api_wait_wake(struct req *r, struct session *s, unsigned wake)
{
	if (wake & (WAKE_STATE | WAKE_GONE | WAKE_TIMER)) {
		bool met = wait_met(r, wake & WAKE_GONE ? s : NULL);

		if (met || (wake & WAKE_TIMER))
			wait_answer(r, met);
	}
}

/* Has the wait watch one session by its name. */
static bool
wait_add(struct api_call *c, const char *name, size_t len)
{
	char id[80];
	struct session *s = NULL;

	if (len < sizeof(id)) {
		memcpy(id, name, len);
		id[len] = '\0';
		s = session_find(c->m, conn_scope(c->conn), id);
	}
	if (s == NULL) {
		req_refuse(c->req, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %.*s", (int)(len < 64 ? len : 64),
		    name);
		return false;
	}
	if (req_watch(c->req, s) < 0) {
		req_failf(c->req, PROTO_E_BUSY, "", "out of memory");
		return false;
	}
	return true;
}

/* wait */
void
api_wait(struct api_call *c)
{
	const struct val *mode = val_get(c->params, "mode");
	const struct val *ids = val_get(c->params, "sessionIds");
	struct val_str one = val_str(c->params, "sessionId");
	struct req *r = c->req;

	if (mode != NULL && !val_is_str(mode, "any") &&
	    !val_is_str(mode, "all")) {
		struct proto_problem p;

		proto_problem_value(&p, PROTO_E_INVALID_PARAMS, "mode", mode,
		    "any or all");
		req_fail(r, &p);
		return;
	}
	if (one.ptr == NULL && ids == NULL) {
		req_failf(r, PROTO_E_INVALID_PARAMS, "sessionId",
		    "sessionId or sessionIds is required");
		return;
	}
	r->any = val_is_str(mode, "any");
	for (size_t i = ids != NULL ? ids->a.count : 0; i-- > 0;)
		if (!wait_add(c, ids->a.items[i].s.ptr, ids->a.items[i].s.len))
			return;
	if (one.ptr != NULL && !wait_add(c, one.ptr, one.len))
		return;
	if (wait_met(r, NULL)) {
		wait_answer(r, true);
		return;
	}
	req_timer(r,
	    (uint64_t)proto_int(PROTO_WAIT, c->params, "timeout", 30000));
}
