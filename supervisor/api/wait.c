/* SPDX-License-Identifier: MIT */
/*
 * wait: its parameters and its answer. When it is answered: waits.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "supervisor/api/waits.h"
#include "supervisor/turn.h"
#include "supervisor/words/result.h"

static const char *const met_names[] = {
    [MET_EXIT] = "exit", [MET_TEXT] = "text", [MET_REGEX] = "regex",
    [MET_IDLE] = "idle", [MET_BYTES] = "bytes", [MET_INPUT] = "input"};

/* ------------------------------------------------------------------ answer */

/* The words after a session's line. */
static void
met_words(const struct waited *w, struct sbuf *text)
{
	char shown[200];

	if (w->met != MET_TEXT && w->met != MET_REGEX) {
		if (w->met == MET_NOT && w->of->timed_out)
			sbuf_add(text, "  met: timeout, it goes on\n");
		else if (w->met != MET_NOT && w->met != MET_EXIT)
			sbuf_addf(text, "  met: %s\n", met_names[w->met]);
		return;
	}
	text_escape(w->matched != NULL ? w->matched : "",
	    w->matched != NULL ? strlen(w->matched) : 0, false, shown,
	    sizeof(shown));
	sbuf_addf(text, "  met: %s at position %" PRIu64 ": \"%s\"\n",
	    met_names[w->met], w->at, shown);
}

/* One session of the answer. */
static void
add_row(struct waits *ws, const struct waited *w, uint64_t now)
{
	struct master *m = ws->r->m;
	struct sbuf *text = &ws->text;
	struct enc *e = &ws->e;
	bool found = w->met == MET_TEXT || w->met == MET_REGEX;

	if (w->s != NULL) {
		result_row_open(m, w->s, NULL, e);
		result_line(w->s, now, text);
	} else {
		enc_map(e);
		enc_kv_str(e, "sessionId", w->slug);
		sbuf_addf(text, "%s is gone\n", w->slug);
	}
	enc_key(e, "met");
	if (w->met != MET_NOT)
		enc_str(e, met_names[w->met]);
	else if (ws->timed_out)
		enc_str(e, "timeout");
	else
		enc_nil(e);
	if (w->s != NULL) {
		enc_kv_uint(e, "next", found ? w->end
			: ws->spec != NULL   ? w->pos
					     : w->s->output.total);
		enc_kv_uint(e, "dropped", w->dropped);
	}
	if (found) {
		enc_kv_uint(e, "at", w->at);
		enc_kv_str(e, "matched", w->matched != NULL ? w->matched : "");
	}
	enc_end(e);
	met_words(w, text);
}

/* The word for all of them. */
static const char *
met_of(const struct waits *ws)
{
	enum met met = MET_NOT;

	if (!waits_enough(ws))
		return "timeout";
	for (uint32_t i = 0; i < ws->count; i++) {
		if (ws->v[i].met == MET_NOT || ws->v[i].met == met)
			continue;
		if (met != MET_NOT)
			return "several";
		met = ws->v[i].met;
	}
	return met_names[met];
}

/* Some more rows. 1: there are more. */
static int
answer_step(struct req *r, uint64_t until)
{
	struct waits *ws = r->state;
	uint64_t now = clock_wall_ms();

	r->m->probes_left = ws->probes;
	for (uint32_t i = 0; ws->rows < ws->count && i < WAITS_UNIT &&
	     (i == 0 || clock_boot_ns() < until); i++)
		add_row(ws, &ws->v[ws->rows++], now);
	ws->probes = r->m->probes_left;
	if (ws->rows < ws->count)
		return 1;
	enc_end(&ws->e);
	result_close_text(&ws->e, &ws->text);
	req_answer(r, &ws->e);
	return 0;
}

void
wait_answer(struct waits *ws)
{
	struct enc *e = &ws->e;

	ws->answers = true;
	ws->probes = RESULT_PROBES;
	result_open_details(e);
	enc_kv_str(e, "status", waits_enough(ws) ? "completed" : "running");
	enc_kv_str(e, "met", met_of(ws));
	enc_kv_array(e, "sessions");
	if (answer_step(ws->r, clock_boot_ns() + TURN_SLICE_MAX_NS) > 0)
		req_step(ws->r, answer_step);
}

static void
wait_wake(struct req *r, struct session *s, unsigned wake)
{
	waits_wake(r->state, s, wake);
}

static void
wait_drop(struct req *r)
{
	waits_fini(r->state);
}

/* -------------------------------------------------------------- parameters */

/* What is looked for in output; false: the refusal is sent. */
static bool
take_spec(struct api_call *c, struct waits *ws)
{
	struct val_str text = val_str(c->params, "text");
	struct val_str regex = val_str(c->params, "regex");
	struct match_wish wish = {.text = text.ptr, .text_len = text.len,
	    .regex = regex.ptr, .regex_len = regex.len,
	    .raw = val_bool(c->params, "raw", false)};
	struct proto_problem p;
	const char *field = regex.ptr != NULL ? "regex" : "text";

	if (text.ptr == NULL && regex.ptr == NULL)
		return true;
	if (!api_match_spec(c, &wish, &ws->spec))
		return false;
	if (match_spec_cost(ws->spec) * ws->count > WAITS_BYTES)
		return req_invalid(c->req, field, val_get(c->params, field),
		    "a smaller one for so many sessions");
	if (req_lend(c->req, match_spec_cost(ws->spec) * ws->count, &p) < 0)
		return req_fail(c->req, &p);
	return true;
}

/* Adds one session by its name; false: the refusal is sent. */
static bool
add_session(struct api_call *c, struct waits *ws, const char *name,
    size_t len)
{
	struct waited *w = &ws->v[ws->count];
	int64_t since = proto_int(PROTO_WAIT, c->params, "since", 0);
	struct session *s = NULL;
	char id[80];
	int rc;

	if (len < sizeof(id)) {
		memcpy(id, name, len);
		id[len] = '\0';
		s = session_find(c->m, conn_scope(c->conn), id);
	}
	if (s == NULL)
		return req_refuse(c->req, PROTO_E_NOT_FOUND, NULL,
		    "No session found for %.*s", (int)(len < 64 ? len : 64),
		    name);
	rc = req_watch_many(c->req, s);
	if (rc != 0)
		return rc > 0 || req_nomem(c->req);
	w->of = ws;
	w->s = s;
	snprintf(w->slug, sizeof(w->slug), "%s", s->id.slug);
	w->from_end = since < 0;
	w->since = w->pos = since < 0 ? 0 : (uint64_t)since;
	ws->count++;
	return true;
}

/* All sessions of the call; false: the refusal is sent. */
static bool
add_sessions(struct api_call *c, struct waits *ws)
{
	const struct val *ids = val_get(c->params, "sessionIds");
	struct val_str one = val_str(c->params, "sessionId");

	if (one.ptr != NULL && !add_session(c, ws, one.ptr, one.len))
		return false;
	for (size_t i = 0; ids != NULL && i < ids->a.count; i++)
		if (!add_session(c, ws, ids->a.items[i].s.ptr,
			ids->a.items[i].s.len))
			return false;
	return true;
}

/* Memory for looking through output. */
static bool
add_matches(struct api_call *c, struct waits *ws)
{
	for (uint32_t i = 0; ws->spec != NULL && i < ws->count; i++) {
		ws->v[i].match = match_new(ws->spec);
		if (ws->v[i].match == NULL)
			return req_nomem(c->req);
	}
	return true;
}

/* wait */
static void
wait_call(struct api_call *c)
{
	const struct val *mode = val_get(c->params, "mode");
	const struct val *ids = val_get(c->params, "sessionIds");
	size_t count = (ids != NULL ? ids->a.count : 0) + 1;
	struct req *r = c->req;
	struct waits *ws = r->state;

	if (val_str(c->params, "sessionId").ptr == NULL && count == 1) {
		req_failf(r, PROTO_E_INVALID_PARAMS, "sessionId",
		    "sessionId or sessionIds is required");
		return;
	}
	ws->v = req_alloc(r, count * sizeof(ws->v[0]));
	if (ws->v == NULL)
		return;
	memset(ws->v, 0, count * sizeof(ws->v[0]));
	ws->r = r;
	TAILQ_INIT(&ws->scans);
	ws->tick_at = UINT64_MAX;
	ws->any = val_is_str(mode, "any");
	ws->idle_ms = val_uint(c->params, "idleMs", 0);
	ws->bytes = val_uint(c->params, "bytes", 0);
	ws->input = val_bool(c->params, "input", false);
	if (!add_sessions(c, ws) || !take_spec(c, ws) || !add_matches(c, ws))
		return;
	req_timer(r,
	    (uint64_t)proto_int(PROTO_WAIT, c->params, "timeout", 30000));
	waits_begin(ws);
}

const struct method method_WAIT = {.call = wait_call, .wake = wait_wake,
    .drop = wait_drop, .state_size = sizeof(struct waits)};
