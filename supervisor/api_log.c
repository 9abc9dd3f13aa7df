/* SPDX-License-Identifier: MIT */
/*
 * log: pages of the retained output, whole, with times, or only the lines that
 * hold a text or that an expression matches. Lines and their numbers are the
 * same however they are shown. A search that takes longer than a slice goes on
 * in later turns, over the copy that was read at the beginning.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/text.h"
#include "supervisor/lines.h"
#include "supervisor/log_find.h"
#include "supervisor/master.h"
#include "supervisor/result.h"

#define PAGE_MAX     (8u << 20) /* bytes of output in one answer */
#define SLICE_NS     3000000u   /* of one turn, for all searches together */
#define SEARCHES_MAX 4u         /* under way: each has a copy of the output */

/* One log under way; freed with its request. */
struct logging {
	struct req *r;
	struct session *s;      /* if it goes, the request is refused */
	bool have_offset, have_limit;
	uint64_t offset, limit;
	bool have_since;
	uint64_t since_ms;      /* wall clock */
	uint64_t since_line;    /* the first one since then */
	struct retained k;
	struct lines_page pg;
	bool more;              /* output may follow */
	bool timestamps, raw;
	bool cut;               /* PAGE_MAX did not hold the page */
	bool finds;             /* a text or an expression */
	bool waits;             /* its search goes on in a later turn */
	struct log_find find;
	uint64_t context;
	uint64_t first, shown;  /* of what was found */
	struct sbuf text;
};

/* ------------------------------------------------------------------- text */

/* "2026-11-21T10:43:26.120Z", or "-". */
static void
add_time(struct sbuf *b, uint64_t wall_ms)
{
	time_t sec = (time_t)(wall_ms / 1000);
	char text[40];
	struct tm tm;

	if (wall_ms == 0 || gmtime_r(&sec, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		sbuf_add(b, "- ");
	else
		sbuf_addf(b, "%s.%03uZ ", text, (unsigned)(wall_ms % 1000));
}

/* One line, with what is to stand before it. */
static void
add_line(struct logging *l, const struct lines_walk *w, char mark)
{
	struct sbuf *b = &l->text;

	if (mark != '\0')
		sbuf_addf(b, "%" PRIu64 "%c", w->number, mark);
	if (l->timestamps)
		add_time(b, retained_time(&l->k, w->begin));
	if (!sbuf_reserve(b, 4 * (w->end - w->begin) + 1))
		return;
	b->len += lines_clean(&l->k, w, l->r->text, l->more,
	    b->p + b->len);
	b->p[b->len++] = '\n';
	b->p[b->len] = '\0';
}

/* The page, line by line. */
static void
add_lines(struct logging *l)
{
	struct lines_walk w = {.next = l->pg.begin};

	while (w.next < l->pg.end && lines_next(&l->k, &w))
		add_line(l, &w, '\0');
}

/* The page as it is. */
static void
add_page(struct logging *l)
{
	size_t len = 0;
	char *page = lines_text(&l->k, l->pg.begin, l->pg.end,
	    l->r->text, l->more, &len);

	if (page == NULL)
		l->text.failed = true;
	else
		sbuf_addn(&l->text, page, len);
	free(page);
}

/* ----------------------------------------------------- what was found */

/* Which of them are on the page: offset and limit count them. */
static void
page_of_hits(struct logging *l)
{
	uint64_t count = l->find.hit_count;
	uint64_t limit = l->have_limit ? l->limit
	    : l->have_offset ? UINT64_MAX : LINES_DEFAULT;

	if (l->have_offset) {
		l->first = l->offset < count ? l->offset : count;
		l->shown = count - l->first;
		if (l->shown > limit)
			l->shown = limit;
	} else {
		l->shown = limit < count ? limit : count;
		l->first = count - l->shown;
	}
	l->pg.defaulted = !l->have_offset && !l->have_limit;
}

/* Where the line before the one at `at` begins. */
static size_t
line_before(const struct retained *k, size_t at)
{
	bool at_gap = k->dropped > 0 && at == k->gap_at;
	size_t end = at_gap && k->data[at - 1] != '\n' ? at : at - 1;
	const char *lf = end > 0 ? memrchr(k->data, '\n', end) : NULL;
	size_t begin = lf != NULL ? (size_t)(lf - k->data) + 1 : 0;

	if (!at_gap && k->dropped > 0 && begin < k->gap_at && k->gap_at <= end)
		return k->gap_at; /* which ended a line */
	return begin;
}

/* The line up to `back` lines before the one at `at`. */
static size_t
lines_before(const struct retained *k, size_t at, uint64_t back,
    uint64_t *ret_got)
{
	uint64_t got = 0;

	for (; got < back && at > 0; got++)
		at = line_before(k, at);
	*ret_got = got;
	return at;
}

/* The lines of the page, with their numbers and what is around them. */
static void
add_hits(struct logging *l)
{
	uint64_t last = l->first + l->shown, i = l->first, until = 0;
	struct lines_walk w = {0};
	bool any = false;

	while (i < last && l->text.len < PAGE_MAX) {
		uint64_t back, from = l->find.hits[i].number > l->context
		    ? l->find.hits[i].number - l->context : 0;

		if (!any || from > until) {
			if (any && l->context > 0)
				sbuf_add(&l->text, "--\n");
			w = (struct lines_walk){.next = lines_before(&l->k,
			    l->find.hits[i].begin, l->context, &back)};
			w.number = l->find.hits[i].number - back;
		}
		any = true;
		/* up to `context` lines after the last hit within reach */
		until = l->find.hits[i].number + l->context + 1;
		while ((!w.started || w.number + 1 < until) &&
		    lines_next(&l->k, &w)) {
			bool hit = i < last && l->find.hits[i].number == w.number;

			add_line(l, &w, hit ? ':' : '-');
			if (!hit)
				continue;
			i++;
			if (l->text.len < PAGE_MAX)
				until = w.number + l->context + 1;
		}
	}
	l->cut = i < last;
	l->shown = i - l->first;
}

/* ----------------------------------------------------------------- answer */

/* Cuts the page where it is too much for one answer: at a line's end. */
static void
page_limit(struct logging *l)
{
	struct lines_page *pg = &l->pg;
	const char *lf;

	if (pg->end - pg->begin <= PAGE_MAX)
		return;
	l->cut = true;
	lf = memrchr(l->k.data + pg->begin, '\n', PAGE_MAX);
	pg->end = lf != NULL ? (size_t)(lf - l->k.data) + 1
			     : pg->begin + PAGE_MAX;
	pg->line_count = lf == NULL;
	for (size_t i = pg->begin; i < pg->end; i++)
		pg->line_count += l->k.data[i] == '\n';
}

/* The details of a log. */
static void
log_details(struct logging *l, struct enc *e)
{
	const struct lines_page *pg = &l->pg;
	struct session *s = l->s;

	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->slug);
	enc_kv_str(e, "name", s->name);
	enc_kv_uint(e, "total", pg->total_lines);
	enc_kv_uint(e, "totalLines", pg->total_lines);
	enc_kv_uint(e, "firstLine", pg->first_line);
	enc_kv_uint(e, "lines", pg->line_count);
	enc_kv_uint(e, "totalOutputChars", s->total);
	enc_kv_uint(e, "droppedBytes", l->k.dropped);
	enc_kv_bool(e, "truncated", l->k.dropped > 0);
	enc_key(e, "gapAt");
	if (pg->gap_line >= 0)
		enc_int(e, pg->gap_line);
	else
		enc_nil(e);
	enc_kv_uint(e, "mixedBytes", l->k.mixed);
	if (l->raw) {
		enc_key(e, "output");
		enc_bin(e, l->k.data + pg->begin, pg->end - pg->begin);
	}
	if (l->cut)
		enc_kv_uint(e, "nextOffset", l->finds
			? l->first + l->shown
			: pg->first_line + pg->line_count);
	if (l->finds) {
		enc_kv_uint(e, "matchedLines", l->find.hit_count);
		enc_key(e, "lineNumbers");
		enc_array(e);
		for (uint64_t i = l->first; i < l->first + l->shown; i++)
			enc_uint(e, l->find.hits[i].number);
		enc_end(e);
	}
	if (!session_live(s))
		result_exit_fields(s, e);
}

/* What the model is told beside the lines. */
static void
add_notes(struct logging *l)
{
	struct sbuf *b = &l->text;
	uint64_t shown = l->finds ? l->shown : l->pg.line_count;
	uint64_t total =
	    l->finds ? l->find.hit_count : l->pg.total_lines;

	while (b->len > 0 && b->p[b->len - 1] == '\n' &&
	    (l->timestamps || l->finds)) {
		b->p[--b->len] = '\0';
		break;
	}
	if (l->raw)
		sbuf_addf(b, "(%zu bytes, in details.output)",
		    l->pg.end - l->pg.begin);
	else if (b->len == 0 && l->finds)
		sbuf_addf(b, "(none of %" PRIu64 " lines)",
		    l->pg.total_lines);
	else if (b->len == 0)
		sbuf_add(b, session_live(l->s) ? "(no output yet)"
					       : "(no output recorded)");
	if (l->cut)
		sbuf_addf(b, "\n\n[this is all that one answer holds; pass "
			     "offset to go on]");
	else if (l->pg.defaulted && total > shown)
		sbuf_addf(b,
		    "\n\n[showing last %" PRIu64 " of %" PRIu64
		    " %slines; pass offset/limit to page]",
		    shown, total, l->finds ? "matching " : "");
}

/* Answers with one page. */
static void
log_answer(struct logging *l)
{
	struct enc e = ENC_INIT;

	enc_map(&e);
	enc_kv_strn(&e, "text", l->text.p != NULL ? l->text.p : "",
	    l->text.len);
	enc_key(&e, "details");
	enc_map(&e);
	log_details(l, &e);
	enc_end(&e);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	if (l->text.failed)
		req_failf(l->r, PROTO_E_BUSY, "", "out of memory");
	else
		req_answer(l->r, &e);
	enc_fini(&e);
}

/* Of what was found, what came too early is not shown. */
static void
skip_old_hits(struct logging *l)
{
	while (l->shown > 0 &&
	    l->find.hits[l->first].number < l->since_line) {
		l->first++;
		l->shown--;
	}
}

/* Which lines. Those before sinceMs are cut off the page; without offset and
 * limit it is all the others. */
static void
find_page(struct logging *l)
{
	uint64_t since;

	if (l->have_since) {
		l->since_line = lines_before_byte(&l->k,
		    retained_since(&l->k, l->since_ms));
		l->have_offset = l->have_offset || !l->have_limit;
	}
	lines_page(&l->k, l->have_offset, l->offset, l->have_limit, l->limit,
	    &l->pg);
	since = l->since_line;
	if (l->pg.first_line >= since)
		return;
	/* the same end, another beginning */
	if (l->pg.first_line + l->pg.line_count < since)
		since = l->pg.first_line + l->pg.line_count;
	lines_page(&l->k, true, since, true,
	    l->pg.first_line + l->pg.line_count - since, &l->pg);
}

/* Lines, and which of them; answers. */
static void
log_finish(struct logging *l)
{
	find_page(l);
	if (l->finds) {
		page_of_hits(l);
		skip_old_hits(l);
		add_hits(l);
		l->pg.line_count = l->shown;
		l->pg.first_line =
		    l->shown > 0 ? l->find.hits[l->first].number : 0;
	} else {
		page_limit(l);
		if (l->timestamps)
			add_lines(l);
		else if (!l->raw)
			add_page(l);
	}
	add_notes(l);
	log_answer(l);
}

/* ---------------------------------------------------------------- request */

/* Which of the streams; false: the refusal was sent. */
static bool
take_stream(struct api_call *c, enum lines_streams *ret)
{
	const struct val *stream = val_get(c->params, "stream");
	struct proto_problem p;

	*ret = LINES_BOTH;
	if (val_is_str(stream, "stdout")) {
		*ret = LINES_STDOUT;
	} else if (val_is_str(stream, "stderr")) {
		*ret = LINES_STDERR;
	} else if (stream != NULL) {
		proto_problem_value(&p, PROTO_E_INVALID_PARAMS, "stream",
		    stream, "stdout or stderr");
		req_fail(c->req, &p);
		return false;
	}
	return true;
}

/* What is looked for; false: the refusal was sent. */
static bool
take_search(struct api_call *c, struct logging *l)
{
	struct val_str grep = val_str(c->params, "grep");
	struct val_str regex = val_str(c->params, "regex");
	struct match_wish wish = {.regex = regex.ptr, .regex_len = regex.len,
	    .raw = true};
	struct proto_problem p;
	char expected[160];
	const char *why = "";
	size_t at = 0;
	int rc = 0;

	l->finds = grep.ptr != NULL || regex.ptr != NULL;
	if (grep.ptr != NULL && regex.ptr != NULL) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "regex",
		    "regex goes without grep: one of both");
		return false;
	}
	if (regex.ptr != NULL) {
		rc = match_spec_new(&wish, &l->find.spec, &at, &why);
	} else if (grep.ptr != NULL) {
		l->find.grep = malloc(grep.len + 1);
		l->find.grep_len = grep.len;
		if (l->find.grep != NULL)
			memcpy(l->find.grep, grep.ptr, grep.len);
		else
			rc = -ENOMEM;
	}
	if (rc == -ENOMEM) {
		req_failf(c->req, PROTO_E_BUSY, "", "out of memory");
	} else if (rc < 0) {
		snprintf(expected, sizeof(expected),
		    "a regular expression, but at byte %zu: %s", at, why);
		proto_problem_value(&p, PROTO_E_INVALID_PARAMS, "regex",
		    val_get(c->params, "regex"), expected);
		req_fail(c->req, &p);
	}
	return rc == 0;
}

/* How it is to be shown; false: the refusal was sent. */
static bool
take_form(struct api_call *c, struct logging *l)
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
	if (l->raw && (l->timestamps || l->finds)) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "raw",
		    "raw goes without grep, regex and timestamps");
		return false;
	}
	if (l->context > 0 && !l->finds) {
		req_failf(c->req, PROTO_E_INVALID_PARAMS, "context",
		    "context says how many lines around what is found: give "
		    "grep or regex");
		return false;
	}
	return api_text_rule(c);
}

/* The output cannot be read. */
static void
refuse_unread(struct req *r, const struct session *s, const char *fault)
{
	bool busy = strcmp(fault, "busy") == 0;

	req_refuse(r, busy ? PROTO_E_BUSY : PROTO_E_OUTPUT_LOST, s->slug,
	    "The retained output of session %s is %s.", s->slug,
	    busy ? "being overwritten: try again" : fault);
}

/* A copy of what is retained; false: the refusal was sent. */
static bool
read_output(struct logging *l, enum lines_streams which)
{
	struct session *s = l->s;
	struct master *m = l->r->m;
	struct ring_reader *rd = s->state != STATE_QUEUED
	    ? readers_get(m, s->sid)
	    : NULL;
	enum ring_verdict v = RING_OK;
	const char *fault = NULL;

	if (rd != NULL)
		v = retained_read(rd, 0, 0, which, &l->k);
	if (rd == NULL || (v != RING_OK && v != RING_OVERRUN))
		fault = readers_fault(m, s);
	if (fault != NULL) {
		refuse_unread(l->r, s, fault);
		return false;
	}
	if (which == LINES_BOTH && l->k.to > s->total)
		s->total = l->k.to;
	l->more = session_live(s);
	return true;
}

/* The search is to go on in a later turn; false: the refusal was sent. */
static bool
wait_for_turn(struct logging *l)
{
	struct master *m = l->r->m;

	if (l->waits)
		return true;
	if (m->searches >= SEARCHES_MAX) {
		req_refuse(l->r, PROTO_E_BUSY, l->s->slug,
		    "%u searches by regular expressions are under way: try "
		    "again", SEARCHES_MAX);
		return false;
	}
	if (req_watch(l->r, l->s) < 0) {
		req_failf(l->r, PROTO_E_BUSY, "", "out of memory");
		return false;
	}
	l->waits = true;
	m->searches++;
	return true;
}

/* Searches, for a slice; answers once all of it was searched. A text is found
 * fast enough to need no slices. */
static void
log_run(struct logging *l)
{
	uint32_t n = l->r->m->searches > 0 ? l->r->m->searches : 1;
	uint64_t until = l->find.grep != NULL ? UINT64_MAX
	    : clock_boot_ns() + SLICE_NS / n;
	int rc = l->finds ? log_find_step(&l->find, until) : 1;

	if (rc < 0)
		l->text.failed = true;
	if (rc != 0)
		log_finish(l);
	else if (wait_for_turn(l))
		req_timer(l->r, 0);
}

/* A search may go on. */
void
api_log_wake(struct req *r, struct session *s, unsigned wake)
{
	if (wake & WAKE_GONE)
		req_refuse(r, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %s", s->slug);
	else if (wake & WAKE_TIMER)
		log_run(r->log);
}

void
api_log_forget(struct req *r)
{
	struct logging *l = r->log;

	r->log = NULL;
	if (l->waits)
		r->m->searches--;
	log_find_fini(&l->find);
	sbuf_fini(&l->text);
	retained_free(&l->k);
	free(l);
}

/* log */
void
api_log(struct api_call *c)
{
	struct session *s = api_session(c, true);
	enum lines_streams which;
	struct logging *l;

	if (s == NULL || !take_stream(c, &which))
		return;
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		req_failf(c->req, PROTO_E_BUSY, "", "out of memory");
		return;
	}
	l->r = c->req;
	l->s = s;
	c->req->log = l;
	if (!take_form(c, l) || !read_output(l, which))
		return;
	l->find.k = &l->k;
	l->find.rule = c->req->text;
	l->find.more = l->more;
	log_run(l);
}
