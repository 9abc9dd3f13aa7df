/* SPDX-License-Identifier: MIT */
/*
 * Input as a person at a terminal gives it: send-keys, submit, paste; and the
 * terminal's size. What bytes a key is, common/keys.c knows; they go the way of
 * write, into the session's queue, but whole: half an escape sequence would be
 * another key.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/keys.h"
#include "common/text.h"
#include "supervisor/api/input.h"
#include "supervisor/words/result.h"

#define WARNINGS_MAX 32u /* of one answer; the others are counted */

/* ---------------------------------------------------------------- answers */

/* The warnings of a request, which are lines: as an array into e, or as lines
 * of b. */
static void
add_warnings(const struct input *in, struct enc *e, struct sbuf *b)
{
	const char *w = in->warnings.p != NULL ? in->warnings.p : "", *end;

	if (b != NULL && *w != '\0')
		sbuf_add(b, "\nWarnings:");
	for (; *w != '\0'; w = *end != '\0' ? end + 1 : end) {
		end = strchrnul(w, '\n');
		if (b != NULL)
			sbuf_addf(b, "\n- %.*s", (int)(end - w), w);
		else
			enc_strn(e, w, (size_t)(end - w));
	}
}

/* Everything is queued; `what` says so. */
static void
answer(struct req *r, struct session *s, const char *what)
{
	const struct input *in = r->state;
	struct enc e = ENC_INIT;
	struct sbuf text = SBUF_INIT;

	sbuf_add(&text, what);
	add_warnings(in, NULL, &text);
	result_open(&e, text.p, text.len);
	input_details(r, s, &e);
	if (r->row == &method_SEND_KEYS) {
		enc_kv_array(&e, "warnings");
		add_warnings(in, &e, NULL);
		enc_end(&e);
	}
	result_close(&e, false);
	e.failed = e.failed || text.failed || in->warnings.failed;
	sbuf_fini(&text);
	req_done(r, &e);
}

/* Queues the bytes up to `end`, whole. False: the request is answered. */
static bool
put(struct req *r, struct session *s, size_t end)
{
	struct input *in = r->state;
	struct proto_problem why;
	int e;

	if (!result_stdin_writable(s))
		return req_refuse(r, PROTO_E_STDIN_CLOSED, s->id.slug,
		    "Session %s stdin is not writable.", s->id.slug);
	if (s->terminal.pty && terminal_refuses(r->m, s,
			  in->data + in->accepted, end - in->accepted, &why))
		return req_refuse(r, why.code, s->id.slug, "%s", why.message);
	e = input_put(r->m, s, in->data + in->accepted, end - in->accepted);
	if (e == 0)
		in->accepted = end;
	else if (e == -ENOBUFS && end - in->accepted > r->m->cfg.stdin_queue)
		req_refuse(r, PROTO_E_STDIN_FULL, s->id.slug,
		    "%zu bytes at once are more than the %ju that a stdin "
		    "queue holds: send less, or use write; %zu bytes accepted",
		    end - in->accepted, (uintmax_t)r->m->cfg.stdin_queue,
		    in->accepted);
	else if (e == -ENOBUFS)
		req_refuse(r, PROTO_E_STDIN_FULL, s->id.slug,
		    "stdin of session %s is full, %zu bytes accepted",
		    s->id.slug, in->accepted);
	else
		input_refuse(r, s, end - in->accepted, e);
	return e == 0;
}

/* Room for what will be sent. False: the request is answered. */
static bool
reserve(struct req *r, size_t bytes, size_t cuts)
{
	struct input *in = r->state;

	in->data = req_alloc(r, bytes);
	if (in->data == NULL)
		return false;
	in->cuts = req_alloc(r, cuts * sizeof(*in->cuts));
	return in->cuts != NULL;
}

/* -------------------------------------------------------------- send-keys */

/* Keys on their way into a request. */
struct composing {
	struct input *in;
	size_t cuts;
	unsigned warnings;
};

/* One more line for the answer, or one more that is only counted. */
static void
warn(struct composing *k, const char *text)
{
	if (k->warnings < WARNINGS_MAX)
		sbuf_addf(&k->in->warnings, "%s%s", k->warnings > 0 ? "\n" : "",
		    text);
	k->warnings++;
}

/* `n` more bytes, put behind the others already, are a key. */
static void
cut(struct composing *k, size_t n)
{
	if (n == 0)
		return;
	k->in->data_len += n;
	k->in->cuts[k->cuts++] = k->in->data_len;
}

/* The items of a list of texts; none where it is absent. */
static size_t
items_of(const struct api_call *c, const char *name, const struct val **ret)
{
	const struct val *v = val_get(c->params, name);

	*ret = v != NULL ? v->a.items : NULL;
	return v != NULL ? v->a.count : 0;
}

/* Bytes given in hex. */
static void
compose_hex(struct composing *k, const struct val *items, size_t count)
{
	char shown[64], text[100];
	unsigned char byte;
	size_t i;

	for (i = 0; i < count; i++) {
		if (key_hex(items[i].s.ptr, items[i].s.len, &byte) == 0) {
			k->in->data[k->in->data_len] = (char)byte;
			cut(k, 1);
			continue;
		}
		(void)text_escape(items[i].s.ptr, items[i].s.len, false, shown,
		    sizeof(shown));
		(void)snprintf(text, sizeof(text), "Invalid hex byte: %s",
		    shown);
		warn(k, text);
	}
}

/* Key tokens. */
static void
compose_keys(struct composing *k, const struct val *items, size_t count,
    enum cursor_mode mode)
{
	char text[160];
	size_t i;

	for (i = 0; i < count; i++) {
		cut(k, key_encode(items[i].s.ptr, items[i].s.len, mode,
		    k->in->data + k->in->data_len, text, sizeof(text)));
		if (text[0] != '\0')
			warn(k, text);
	}
}

/* Everything that the call sends, into data and cuts. False: the request
 * is answered. */
static bool
compose(struct api_call *c, enum cursor_mode mode)
{
	struct input *in = c->req->state;
	struct composing k = { .in = in };
	struct val_str literal = val_str(c->params, "literal");
	const struct val *hex, *keys;
	size_t nhex = items_of(c, "hex", &hex);
	size_t nkeys = items_of(c, "keys", &keys), bytes, i;
	char text[40];

	bytes = literal.len + nhex + nkeys * KEY_BYTES;
	for (i = 0; i < nkeys; i++)
		bytes += keys[i].s.len;
	if (!reserve(c->req, bytes, 1 + nhex + nkeys))
		return false;
	if (literal.len > 0)
		memcpy(in->data, literal.ptr, literal.len);
	cut(&k, literal.len);
	compose_hex(&k, hex, nhex);
	compose_keys(&k, keys, nkeys, mode);
	if (k.warnings > WARNINGS_MAX) {
		(void)snprintf(text, sizeof(text), "\n%u more warnings",
		    k.warnings - WARNINGS_MAX);
		sbuf_add(&in->warnings, text);
	}
	return true;
}

/* Is there a key whose bytes depend on the cursor mode? */
static bool
needs_mode(const struct api_call *c)
{
	const struct val *keys;
	size_t i, n = items_of(c, "keys", &keys);

	for (i = 0; i < n; i++)
		if (key_needs_mode(keys[i].s.ptr, keys[i].s.len))
			return true;
	return false;
}

/* The next key, or all of them; then the answer, or the next one's time. */
static void
next(struct req *r, struct session *s)
{
	struct input *in = r->state;
	char text[120];

	if (!put(r, s, in->delay_ms > 0 ? in->cuts[in->cut_at++]
					: in->data_len))
		return;
	if (in->accepted < in->data_len) {
		req_timer(r, in->delay_ms);
		return;
	}
	(void)snprintf(text, sizeof(text), "Sent %zu bytes to session %s.",
	    in->accepted, s->id.slug);
	answer(r, s, text);
}

/* The next key's time has come, or the session's end. */
static void
send_keys_wake(struct req *r, struct session *s, unsigned wake)
{
	if (s == NULL)
		return;
	if ((wake & WAKE_GONE) || !session_live(s))
		req_refuse(r, PROTO_E_NOT_RUNNING,
		    wake & WAKE_GONE ? NULL : s->id.slug,
		    "No active session found for %s", s->id.slug);
	else if ((wake & WAKE_TIMER) || !result_stdin_writable(s))
		next(r, s);
}

/* send-keys */
static void
send_keys_call(struct api_call *c)
{
	struct session *s = input_session(c);
	struct req *r = c->req;
	struct input *in = r->state;
	enum cursor_mode mode;
	const char *w;

	if (s == NULL)
		return;
	mode = session_cursor_mode(c->m, s);
	if (mode == CURSOR_UNKNOWN && !val_bool(c->params, "force", false) &&
	    needs_mode(c)) {
		req_refuse(r, PROTO_E_CURSOR_MODE, s->id.slug,
		    "Session %s cursor key mode is not known yet. Poll or log "
		    "until startup output appears, then retry send-keys, or "
		    "use force.", s->id.slug);
		return;
	}
	if (!compose(c, mode))
		return;
	if (in->data_len == 0) {
		w = in->warnings.p != NULL ? in->warnings.p : "";
		req_refuse(r, PROTO_E_INVALID_PARAMS, s->id.slug,
		    "No key data provided.%s%.*s", *w != '\0' ? " " : "",
		    (int)strcspn(w, "\n"), w);
		return;
	}
	in->delay_ms = (uint64_t)proto_int(PROTO_SEND_KEYS, c->params,
	    "delayMs", 0);
	if (in->delay_ms > 0 && req_watch(r, s) < 0)
		req_nomem(r);
	else
		next(r, s);
}

const struct method method_SEND_KEYS = {.call = send_keys_call,
    .wake = send_keys_wake, .drop = input_drop, .refused = input_refused,
    .state_size = sizeof(struct input)};

/* ---------------------------------------------------------- submit, paste */

/* submit */
static void
submit_call(struct api_call *c)
{
	struct session *s = input_session(c);
	struct val_str data = val_str(c->params, "data");
	struct req *r = c->req;
	struct input *in = r->state;
	char text[240];

	if (s == NULL || !reserve(r, data.len + 1, 0))
		return;
	if (data.len > 0)
		memcpy(in->data, data.ptr, data.len);
	in->data[data.len] = '\r';
	if (!put(r, s, data.len + 1))
		return;
	if (data.len > 0)
		(void)snprintf(text, sizeof(text),
		    "Submitted session %s (sent %zu bytes and CR).", s->id.slug,
		    data.len);
	else
		(void)snprintf(text, sizeof(text),
		    "Submitted session %s (sent CR).", s->id.slug);
	if (!s->terminal.pty)
		(void)strlcat(text, " It has no terminal: a line ends by a "
		    "newline there, which write sends.", sizeof(text));
	answer(r, s, text);
}

const struct method method_SUBMIT = {.call = submit_call, .drop = input_drop,
    .refused = input_refused, .state_size = sizeof(struct input)};

/* paste */
static void
paste_call(struct api_call *c)
{
	bool bracketed = val_bool(c->params, "bracketed", true);
	struct session *s = input_session(c);
	struct val_str pasted = val_str(c->params, "text");
	struct req *r = c->req;
	struct input *in = r->state;
	char text[120];
	size_t n;

	if (s == NULL)
		return;
	if (pasted.len == 0 && !bracketed) {
		req_refuse(r, PROTO_E_INVALID_PARAMS, s->id.slug,
		    "No paste text provided.");
		return;
	}
	if (!reserve(r, KEYS_PASTE_BYTES(pasted.len), 0))
		return;
	n = keys_paste(pasted.ptr, pasted.len, bracketed, in->data);
	if (!put(r, s, n))
		return;
	(void)snprintf(text, sizeof(text), "Pasted %zu bytes to session %s.",
	    pasted.len, s->id.slug);
	answer(r, s, text);
}

const struct method method_PASTE = {.call = paste_call, .drop = input_drop,
    .refused = input_refused, .state_size = sizeof(struct input)};

/* ---------------------------------------------------------------- resize */

/* resize */
static void
resize_call(struct api_call *c)
{
	struct session *s = api_running(c);
	struct req *r = c->req;
	struct enc e = ENC_INIT;
	char text[120];

	if (s == NULL)
		return;
	if (!s->terminal.pty) {
		req_refuse(r, PROTO_E_NO_TERMINAL, s->id.slug,
		    "Session %s has no terminal.", s->id.slug);
		return;
	}
	terminal_resize(c->m, s,
	    (uint32_t)proto_int(PROTO_RESIZE, c->params, "cols", 120),
	    (uint32_t)proto_int(PROTO_RESIZE, c->params, "rows", 30));
	snprintf(text, sizeof(text), "Terminal of session %s is %u x %u.",
	    s->id.slug, s->terminal.cols, s->terminal.rows);
	result_open(&e, text, strlen(text));
	enc_kv_str(&e, "status", "running");
	enc_kv_str(&e, "sessionId", s->id.slug);
	enc_kv_uint(&e, "cols", s->terminal.cols);
	enc_kv_uint(&e, "rows", s->terminal.rows);
	result_close(&e, false);
	req_done(r, &e);
}

const struct method method_RESIZE = {.call = resize_call};
