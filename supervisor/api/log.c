/* SPDX-License-Identifier: MIT */
/*
 * log: pages of the retained output, whole, with times, or only the lines that
 * hold a text or that an expression matches. Parameters and answer; the work is
 * search/show.c's, a slice a unit.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/api/method.h"
#include "supervisor/search/show.h"
#include "supervisor/words/result.h"

#define LOG_AGE_MS 100u /* evidence of waiting may be so old */
#define BUSY_MAX 10u /* reads that met the writer, one after the other */

/* One log under way. */
struct logging {
	struct req *r;
	struct session *s; /* if it goes, the request is refused */
	enum lines_streams which;
	bool begun;
	unsigned busy;
	struct log_show l;
};

/* ----------------------------------------------------------------- answer */

/* The details of a log. */
static void
log_details(const struct log_show *l, struct session *s, const char *page,
    size_t page_len, const struct input_state *input, struct enc *e)
{
	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->id.slug);
	enc_kv_str(e, "name", s->id.name);
	enc_kv_uint(e, "total", l->total_lines);
	enc_kv_uint(e, "totalLines", l->total_lines);
	enc_kv_uint(e, "firstLine", l->first_line);
	enc_kv_uint(e, "lines", l->line_count);
	enc_kv_uint(e, "totalOutputChars", s->output.total);
	enc_kv_uint(e, "totalChars",
	    s->output.total > l->dropped ? s->output.total - l->dropped : 0);
	enc_kv_uint(e, "droppedBytes", l->dropped);
	enc_kv_bool(e, "truncated", l->dropped > 0);
	enc_key(e, "gapAt");
	if (l->gap_line >= 0)
		enc_int(e, l->gap_line);
	else
		enc_nil(e);
	enc_kv_uint(e, "mixedBytes", l->mixed);
	enc_key(e, "output");
	if (l->raw)
		enc_bin(e, l->text.p != NULL ? l->text.p : "", l->text.len);
	else
		enc_strn(e, page, page_len);
	if (l->cut)
		enc_kv_uint(e, "nextOffset", l->finds ? l->hit
			: l->first_line + l->line_count);
	if (l->finds) {
		enc_kv_uint(e, "matchedLines", l->hit_count);
		enc_kv_array(e, "lineNumbers");
		for (size_t i = 0; i < l->number_count; i++)
			enc_uint(e, l->numbers[i]);
		enc_end(e);
	}
	if (session_live(s))
		result_input_fields(s, input, e);
	else
		result_exit_fields(s, e);
}

/* What the model is told beside the lines. */
static void
add_notes(const struct log_show *l, const struct session *s, struct sbuf *b)
{
	uint64_t shown = l->line_count;
	uint64_t total = l->finds ? l->hit_count : l->total_lines;

	if (l->raw)
		sbuf_addf(b, "(%zu bytes, in details.output)", l->text.len);
	else if (b->len == 0 && l->finds)
		sbuf_addf(b, "(none of %" PRIu64 " lines)", l->total_lines);
	else if (b->len == 0 && l->have_since && l->total_lines > 0)
		sbuf_addf(b, "(no lines since then, of %" PRIu64 ")",
		    l->total_lines);
	else if (b->len == 0 && l->total_lines > 0)
		sbuf_addf(b, "(no lines there: the output has %" PRIu64
			     ", the first is 0)", l->total_lines);
	else if (b->len == 0)
		sbuf_add(b, session_live(s) ? "(no output yet)"
					    : "(no output recorded)");
	if (l->cut)
		sbuf_addf(b, "\n\n[this is all that one answer holds; pass "
			     "offset to go on]");
	else if (l->defaulted && total > shown)
		sbuf_addf(b,
		    "\n\n[showing last %" PRIu64 " of %" PRIu64
		    " %slines; pass offset/limit to page]",
		    shown, total, l->finds ? "matching " : "");
}

/* And of the session. */
static void
add_state(const struct session *s, const struct input_state *input,
    struct sbuf *b)
{
	if (!session_live(s)) {
		result_log_words(s, b);
	} else if (input->waits != INPUT_WAIT_NONE) {
		sbuf_add(b, "\n\n");
		result_waiting_words(input, b);
	}
}

/* Answers with one page. */
static void
log_answer(struct logging *lg)
{
	struct log_show *l = &lg->l;
	struct sbuf raw = SBUF_INIT, *text = l->raw ? &raw : &l->text;
	struct input_state input = result_input_state(lg->r->m, lg->s,
	    LOG_AGE_MS, true);
	struct enc e = ENC_INIT;
	size_t page_len;

	if (!l->raw && text->len > 0 && text->p[text->len - 1] == '\n')
		text->p[--text->len] = '\0';
	add_notes(l, lg->s, text);
	page_len = text->len;
	add_state(lg->s, &input, text);
	result_open(&e, text->p, text->len);
	log_details(l, lg->s, text->p != NULL ? text->p : "", page_len, &input,
	    &e);
	result_close(&e, false);
	e.failed = e.failed || text->failed;
	req_done(lg->r, &e);
	sbuf_fini(&raw);
}

/* ---------------------------------------------------------------- request */

/* Which of the streams. */
static enum lines_streams
take_stream(struct api_call *c)
{
	const struct val *stream = val_get(c->params, "stream");

	return stream == NULL ? LINES_BOTH
	    : val_is_str(stream, "stdout") ? LINES_STDOUT
	                                   : LINES_STDERR;
}

/* What is looked for; false: the refusal was sent. */
static bool
take_search(struct api_call *c, struct log_show *l)
{
	struct val_str grep = val_str(c->params, "grep");
	struct val_str regex = val_str(c->params, "regex");
	struct match_wish wish = {.regex = regex.ptr, .regex_len = regex.len,
	    .raw = true};

	l->finds = grep.ptr != NULL || regex.ptr != NULL;
	if (grep.ptr != NULL && regex.ptr != NULL)
		return req_failf(c->req, PROTO_E_INVALID_PARAMS, "regex",
		    "regex goes without grep: one of both");
	if (regex.ptr != NULL)
		return api_match_spec(c, &wish, &l->find.spec);
	if (grep.ptr == NULL)
		return true;
	l->find.grep = req_alloc(c->req, grep.len);
	l->find.grep_len = grep.len;
	if (l->find.grep == NULL)
		return false;
	memcpy(l->find.grep, grep.ptr, grep.len);
	return true;
}

/* How it is to be shown; false: the refusal was sent. */
static bool
take_form(struct api_call *c, struct log_show *l)
{
	const struct val *p = c->params;

	l->have_offset = val_get(p, "offset") != NULL;
	l->offset = val_uint(p, "offset", 0);
	l->have_limit = val_get(p, "limit") != NULL;
	l->limit = val_uint(p, "limit", 0);
	l->have_since = val_get(p, "sinceMs") != NULL;
	l->since_ms = val_uint(p, "sinceMs", 0);
	l->raw = val_bool(p, "raw", false);
	l->timestamps = val_bool(p, "timestamps", false);
	l->context = (uint64_t)proto_int(PROTO_LOG, p, "context", 0);
	if (!take_search(c, l))
		return false;
	if (l->raw && (l->timestamps || l->finds))
		return req_failf(c->req, PROTO_E_INVALID_PARAMS, "raw",
		    "raw goes without grep, regex and timestamps");
	if (l->context > 0 && !l->finds)
		return req_failf(c->req, PROTO_E_INVALID_PARAMS, "context",
		    "context says how many lines around what is found: give "
		    "grep or regex");
	l->rule = api_text_rule(c);
	return true;
}

/* The output cannot be read. */
static void
refuse_unread(struct req *r, const struct session *s, const char *fault)
{
	bool busy = strcmp(fault, "busy") == 0;

	req_refuse(r, busy ? PROTO_E_BUSY : PROTO_E_OUTPUT_LOST, s->id.slug,
	    "The retained output of session %s is %s.", s->id.slug,
	    busy ? "being overwritten: try again" : fault);
}

/* All of it is there, or it cannot be. */
static int
log_end(struct logging *lg, int rc, enum ring_verdict v)
{
	struct req *r = lg->r;
	const char *fault = "busy";

	if (rc == 0) {
		if (lg->which == LINES_BOTH)
			output_head(lg->s, lg->l.to);
		log_answer(lg);
		return 0;
	}
	if (v == RING_BUSY && ++lg->busy < BUSY_MAX)
		return 1;
	if (v != RING_BUSY)
		fault = readers_fault(r->m, lg->s);
	refuse_unread(r, lg->s, fault != NULL ? fault : "busy");
	return 0;
}

/* A slice. */
static int
log_step(struct req *r, uint64_t until)
{
	struct logging *lg = r->state;
	struct session *s = lg->s;
	enum ring_verdict v = RING_OK;
	struct ring_reader *rd = readers_of(r->m, s);
	const char *fault;
	int rc;

	if (rd == NULL && !lg->begun && lg->busy == 0) {
		fault = readers_fault(r->m, s);
		if (fault != NULL)
			refuse_unread(r, s, fault);
		else /* it has not begun to write */
			log_answer(lg);
		return 0;
	}
	if (rd == NULL)
		return log_end(lg, -1, RING_GONE);
	if (!lg->begun) {
		v = tape_begin(&lg->l.lines.tape, rd, lg->which);
		if (v != RING_OK)
			return log_end(lg, -1, v);
		lg->begun = true;
		lg->l.more = session_live(s);
	}
	rc = log_show_step(&lg->l, rd, until, &v);
	if (rc <= 0)
		return log_end(lg, rc, v);
	lg->busy = 0;
	return req_keeps(r, log_show_bytes(&lg->l));
}

/* Its session is gone. */
static void
log_wake(struct req *r, struct session *s, unsigned wake)
{
	if (wake & WAKE_GONE)
		req_refuse(r, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %s", s->id.slug);
}

static void
log_drop(struct req *r)
{
	struct logging *lg = r->state;

	log_show_fini(&lg->l);
}

/* log */
static void
log_call(struct api_call *c)
{
	struct session *s = api_session(c, API_BACKGROUND);
	struct req *r = c->req;
	struct logging *lg = r->state;

	if (s == NULL)
		return;
	if (req_watch(r, s) < 0) {
		req_nomem(r);
		return;
	}
	lg->r = r;
	lg->s = s;
	lg->which = take_stream(c);
	lg->l.gap_line = -1;
	lg->l.more = session_live(s);
	if (take_form(c, &lg->l))
		req_step(r, log_step);
}

const struct method method_LOG = {.call = log_call, .wake = log_wake,
    .drop = log_drop, .state_size = sizeof(struct logging)};
