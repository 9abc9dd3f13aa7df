/* SPDX-License-Identifier: MIT */
/*
 * Input: write into the spool of a session, bounded. A command that does not
 * read blocks nobody.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/api/input.h"
#include "supervisor/words/result.h"

/* ----------------------------------------------------------------- write */

void
input_drop(struct req *r)
{
	struct input *in = r->state;

	free(in->data);
	free(in->cuts);
	sbuf_fini(&in->warnings);
}

void
input_refused(const struct req *r, struct enc *e)
{
	const struct input *in = r->state;

	enc_kv_uint(e, "accepted", in->accepted);
}

/* Bytes of the queue that the command has not taken; the ring's header knows
 * best. */
static uint64_t
input_queued(struct master *m, struct session *s)
{
	struct ring_reader *rd;
	struct ring_facts *f;

	if (s->input.spool_end == s->input.consumed)
		return 0;
	rd = readers_of(m, s);
	f = rd != NULL ? malloc(sizeof(*f)) : NULL;
	if (f != NULL && ring_facts(rd, f) == RING_OK)
		stdin_consumed(s, f->consumed);
	free(f);
	return s->input.spool_end - s->input.consumed;
}

/* What the queue still takes. */
static uint64_t
stdin_room(struct master *m, struct session *s)
{
	uint64_t queued = input_queued(m, s);

	return m->cfg.stdin_queue > queued ? m->cfg.stdin_queue - queued : 0;
}

/* Into the spool, for which its queue has room. -EDQUOT: the scope has none
 * left; -errno. */
static int
append(struct master *m, struct session *s, const char *data, size_t n)
{
	if (n > 0 && room_ask(s->share.room, SHARE_WAITING, n, NULL) < 0)
		return -EDQUOT;
	return stdin_append(m, s, data, n);
}

/* Appends what fits of the rest. 0 or -errno. */
static int
write_some(struct req *r, struct session *s)
{
	struct input *in = r->state;
	uint64_t room = stdin_room(r->m, s);
	size_t n = in->data_len - in->accepted;
	int e;

	if (n > room)
		n = (size_t)room;
	e = append(r->m, s, in->data + in->accepted, n);
	if (e == 0)
		in->accepted += n;
	return e;
}

int
input_put(struct master *m, struct session *s, const char *data, size_t n)
{
	int e;

	if (n > stdin_room(m, s))
		return -ENOBUFS;
	e = append(m, s, data, n);
	if (e == 0)
		stdin_fed(m, s);
	return e;
}

void
input_refuse(struct req *r, struct session *s, size_t n, int error)
{
	const struct input *in = r->state;
	struct proto_problem why;

	if (error == -EDQUOT &&
	    room_ask(s->share.room, SHARE_WAITING, n, &why) < 0)
		req_refuse_share(r, s->id.slug, &why);
	else
		req_refuse(r, PROTO_E_NO_SPACE, s->id.slug,
		    "no space for stdin: %s, %zu bytes accepted",
		    strerror(-error), in->accepted);
}

void
input_details(struct req *r, struct session *s, struct enc *e)
{
	const struct input *in = r->state;

	enc_kv_str(e, "status", "running");
	enc_kv_str(e, "sessionId", s->id.slug);
	enc_kv_str(e, "name", s->id.name);
	enc_kv_uint(e, "accepted", in->accepted);
	enc_kv_uint(e, "queued", input_queued(r->m, s));
	enc_kv_uint(e, "position", s->input.spool_end);
	enc_kv_bool(e, "stdinWritable", result_stdin_writable(s));
	result_uncertain(r->m, s, e);
}

/* Everything was accepted. */
static void
write_answer(struct req *r, struct session *s)
{
	const struct input *in = r->state;
	struct enc e = ENC_INIT;
	char text[160];

	snprintf(text, sizeof(text), "Wrote %zu bytes to session %s%s.",
	    in->accepted, s->id.slug, !in->eof ? ""
		: s->terminal.pty	? " (end of file sent)"
				: " (stdin closed)");
	result_open(&e, text, strlen(text));
	input_details(r, s, &e);
	result_close(&e, false);
	req_done(r, &e);
}

/* Takes what fits; answers when all is in, on errors, or when time is up. */
static void
write_try(struct req *r, struct session *s, bool final)
{
	struct input *in = r->state;
	uint64_t before = s->input.spool_end;
	struct proto_problem why;
	int e;

	if (!result_stdin_writable(s)) {
		req_refuse(r, PROTO_E_STDIN_CLOSED, s->id.slug,
		    "Session %s stdin is not writable.", s->id.slug);
		return;
	}
	if (s->terminal.pty && terminal_refuses(r->m, s,
			  in->data + in->accepted, in->data_len - in->accepted,
			  &why)) {
		req_refuse(r, why.code, s->id.slug, "%s", why.message);
		return;
	}
	e = write_some(r, s);
	if (e == 0 && in->accepted == in->data_len && in->eof) {
		if (s->terminal.pty)
			e = terminal_eof(r->m, s);
		else
			stdin_eof(s);
		session_touch(r->m, s);
	}
	if (s->input.spool_end != before || s->input.spool_eof)
		stdin_fed(r->m, s);
	if (e < 0)
		input_refuse(r, s, in->data_len - in->accepted, e);
	else if (in->accepted == in->data_len)
		write_answer(r, s);
	else if (final)
		req_refuse(r, PROTO_E_STDIN_FULL, s->id.slug,
		    "stdin of session %s is full, %zu bytes accepted",
		    s->id.slug, in->accepted);
	else
		stdin_watch(r->m, s);
}

/* A waiting write is woken. */
static void
write_wake(struct req *r, struct session *s, unsigned wake)
{
	if (s == NULL)
		return;
	if (wake & WAKE_GONE)
		req_refuse(r, PROTO_E_NOT_RUNNING, NULL,
		    "No active session found for %s", s->id.slug);
	else if (wake & (WAKE_STDIN | WAKE_STATE | WAKE_TIMER))
		write_try(r, s, (wake & WAKE_TIMER) != 0);
}

/* The running session a call names; NULL: the refusal is sent. */
struct session *
api_running(struct api_call *c)
{
	struct session *s = api_session(c, API_OWN);

	if (s == NULL)
		return NULL;
	if (!session_live(s)) {
		req_refuse(c->req, PROTO_E_NOT_RUNNING, s->id.slug,
		    "No active session found for %s", s->id.slug);
		return NULL;
	}
	return s;
}

struct session *
input_session(struct api_call *c)
{
	struct session *s = api_running(c);

	if (s != NULL && s->state == STATE_EXITED) {
		req_refuse(c->req, PROTO_E_FINALIZING, s->id.slug,
		    "Session %s is finalizing.", s->id.slug);
		return NULL;
	}
	return s;
}

/* A write that says where it begins: what an earlier one of its kind put in
 * counts as accepted. False: it was answered. */
static bool
write_seek(struct req *r, struct session *s, uint64_t pos)
{
	struct input *in = r->state;
	uint64_t had;

	if (pos > s->input.spool_end)
		return req_failf(r, PROTO_E_INVALID_PARAMS, "position",
		    "position: %" PRIu64 ": expected at most %" PRIu64
		    ", what session %s has accepted so far", pos,
		    s->input.spool_end, s->id.slug);
	had = s->input.spool_end - pos;
	in->accepted = had < in->data_len ? (size_t)had : in->data_len;
	/* the end of a terminal's input is a byte or two of it: ^D */
	if (in->accepted < in->data_len || !in->eof ||
	    !(s->terminal.pty ? had > in->data_len : s->input.spool_eof))
		return true;
	write_answer(r, s);
	return false;
}

/* write */
static void
write_call(struct api_call *c)
{
	struct session *s = input_session(c);
	struct val_str data = val_str(c->params, "data");
	struct req *r = c->req;
	struct input *in = r->state;
	uint64_t timeout;

	if (s == NULL)
		return;
	in->eof = val_bool(c->params, "eof", false);
	in->data_len = data.ptr != NULL ? data.len : 0;
	in->data = req_alloc(r, in->data_len);
	if (in->data == NULL)
		return;
	if (in->data_len > 0)
		memcpy(in->data, data.ptr, in->data_len);
	if (val_get(c->params, "position") != NULL &&
	    !write_seek(r, s,
		(uint64_t)val_int(c->params, "position", 0)))
		return;
	timeout = (uint64_t)proto_int(PROTO_WRITE, c->params, "timeout", 0);
	if (timeout == 0 || req_watch(r, s) < 0) {
		write_try(r, s, true);
		return;
	}
	req_timer(r, timeout);
	write_try(r, s, false);
}

const struct method method_WRITE = {.call = write_call, .wake = write_wake,
    .drop = input_drop, .refused = input_refused,
    .state_size = sizeof(struct input)};
