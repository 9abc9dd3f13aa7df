/* SPDX-License-Identifier: MIT */
/*
 * A streamed exec: output leaves as notifications, without losing a byte. The
 * ring is read only while the connection's out-queue is short; the worker's
 * credit follows what the socket took, so that the pipe pushes back. Lifted
 * at yield, cancel, the client's death, or after 30 s without progress.
 *
 * With stream "tail" its client shows that something goes on, and needs no byte of
 * the output for that: once a second a timer looks how far the output is, and says
 * so where there is more.
 */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "shm/state_names.h"
#include "supervisor/api/conn.h"
#include "supervisor/api/exec.h"

#define STREAM_QUEUE   (256u << 10)
#define STREAM_CHUNK   (64u << 10)
#define STREAM_TURN    4 /* chunks of one session in one turn */
#define STREAM_STALL_MS 30000u
#define TAIL_MS 1000u
#define TAIL_BYTES 400u /* of the end, for a line */
#define TAIL_LINE 200u

/* Behind some output: how far its stream is. */
struct stream_mark {
	struct sid sid;
	uint32_t msgid;
	uint64_t pos;
};

/* Orders the worker not to go beyond `pos`; UINT64_MAX: no limit. */
static void
order_credit(struct req *r, struct session *s, uint64_t pos)
{
	struct exec *x = r->state;
	struct ctl_pos c = {.head = CTL_INIT(CTL_CREDIT, s->id.sid,
				struct ctl_pos),
	    .pos = pos};

	x->credit = pos;
	pool_order(r->m, s, &c, sizeof(c), false, -1);
}

/* Tells the client which session it is. */
static void
say_session(struct req *r, struct session *s)
{
	struct enc e = ENC_INIT;
	char instance[SESSION_INSTANCE_MAX];

	session_instance(s, instance);
	enc_map(&e);
	enc_kv_uint(&e, "msgid", r->msgid);
	enc_kv_str(&e, "sessionId", s->id.slug);
	enc_kv_str(&e, "instanceId", instance);
	enc_kv_str(&e, "state",
	    s->state == STATE_QUEUED ? "queued" : "running");
	enc_key(&e, "pid");
	if (s->facts.pid > 0)
		enc_int(&e, s->facts.pid);
	else
		enc_nil(&e);
	enc_kv_bool(&e, "pty", s->terminal.pty);
	enc_end(&e);
	conn_notify(r->conn, "session", e.failed ? NULL : e.buf, e.len);
	enc_fini(&e);
}

/* 30 s in which the client took nothing. */
static void
on_stall(int, short, void *arg)
{
	struct req *r = arg;
	const struct exec *x = r->state;
	struct session *s = req_session(r);

	turn_begin(r->m);
	if (s == NULL || !session_live(s) || x->credit == UINT64_MAX)
		return;
	log_event(LOG_NOTE, "reader-stands-still", KV_SESSION(s));
	order_credit(r, s, UINT64_MAX);
}

/* Begins with the first byte. */
void
stream_begin(struct req *r, struct session *s)
{
	struct exec *x = r->state;

	x->streaming = true;
	x->credit = s->wish.tail_bytes;
	if (s->state == STATE_QUEUED)
		say_session(r, s);
}

void
stream_say_session(struct req *r, struct session *s)
{
	struct exec *x = r->state;

	if (s->facts.pid <= 0 || x->said)
		return;
	x->said = true;
	say_session(r, s);
}

/* One stretch of one stream. */
static void
say_output(struct req *r, enum ring_stream stream, uint64_t pos,
    uint64_t dropped, const char *data, size_t len)
{
	struct enc e = ENC_INIT;

	enc_map(&e);
	enc_kv_uint(&e, "msgid", r->msgid);
	enc_kv_str(&e, "stream", stream_name(stream));
	enc_kv_uint(&e, "pos", pos);
	enc_key(&e, "data");
	enc_bin(&e, data, len);
	enc_kv_uint(&e, "dropped", dropped);
	enc_end(&e);
	conn_notify(r->conn, "output", e.failed ? NULL : e.buf, e.len);
	enc_fini(&e);
}

/* Cuts a chunk where the stream changes. */
static void
say_chunk(struct req *r, const struct ring_header *raw, uint64_t pos,
    uint64_t dropped, const char *data, size_t len)
{
	while (len > 0) {
		uint64_t end, wall;
		enum ring_stream st = ring_stream_at(raw, pos, &end, &wall);
		size_t n = end > pos && end - pos < len ? (size_t)(end - pos)
							: len;

		say_output(r, st, pos, dropped, data, n);
		dropped = 0;
		pos += n;
		data += n;
		len -= n;
	}
}

/* Behind the output staged so far. */
static void
mark_pos(struct req *r, struct session *s)
{
	const struct exec *x = r->state;
	struct stream_mark k = {.sid = s->id.sid, .msgid = r->msgid,
	    .pos = x->pos};

	conn_mark(r->conn, &method_EXEC, &k, sizeof(k));
}

/* Moves what the out-queue takes. true: nothing is left to move. */
bool
stream_pump(struct req *r, struct session *s)
{
	static char buf[STREAM_CHUNK];
	struct exec *x = r->state;
	struct ring_reader *rd;
	struct ring_facts *f;
	bool dry = true;

	stream_say_session(r, s);
	rd = readers_of(r->m, s);
	f = rd != NULL ? malloc(sizeof(*f)) : NULL;
	if (f == NULL || ring_facts(rd, f) != RING_OK) {
		free(f);
		return true;
	}
	for (int i = 0; x->pos < f->head; i++) {
		uint64_t pos = x->pos, dropped = 0;
		size_t want = sizeof(buf);
		enum ring_verdict v;
		ssize_t n;

		if (conn_queued(r->conn) >= STREAM_QUEUE || i == STREAM_TURN) {
			dry = false;
			break;
		}
		/* not beyond the head of these facts: whose bytes those are,
		 * only newer facts know */
		if (want > f->head - pos)
			want = (size_t)(f->head - pos);
		n = ring_read(rd, &pos, buf, want, &dropped, &v);
		if (n <= 0 || (pos + (uint64_t)n > f->head &&
				  ring_facts(rd, f) != RING_OK))
			break;
		say_chunk(r, &f->raw, pos, dropped, buf, (size_t)n);
		x->pos = pos + (uint64_t)n;
		mark_pos(r, s);
		timer_in(r->m, &x->stall, on_stall, r, STREAM_STALL_MS);
	}
	free(f);
	if (dry)
		output_watch(r->m, s, x->pos);
	return dry;
}

/* The socket took everything up to a mark: the command may go on, if that
 * request still has its output. */
void
stream_written(struct master *m, struct conn *c, const void *what, bool lost)
{
	const struct stream_mark *k = what;
	struct req *r = lost ? NULL : conn_req(c, k->msgid);
	struct session *s = r != NULL && r->row == &method_EXEC
	    ? req_session(r)
	    : NULL;
	uint64_t pos = k->pos;
	struct exec *x;

	(void)m;
	if (s == NULL || s->id.sid.v != k->sid.v || !session_live(s))
		return;
	x = r->state;
	timer_in(r->m, &x->stall, on_stall, r, STREAM_STALL_MS);
	if (x->credit == UINT64_MAX && x->stall == NULL)
		return;
	if (x->credit == UINT64_MAX ||
	    pos + s->wish.tail_bytes >= x->credit + s->wish.tail_bytes / 4)
		order_credit(r, s, pos + s->wish.tail_bytes);
}

void
stream_room(struct req *r)
{
	const struct exec *x = r->state;

	if (x->streaming)
		req_wake(r, WAKE_ROOM);
}

/* What was staged in a turn that is not committed is sent by the next one. */
void
stream_committed(struct req *r, bool ok)
{
	struct exec *x = r->state;

	if (ok)
		x->safe = x->pos;
	else
		x->pos = x->safe;
}

/* From here on nobody waits for this reader. */
void
stream_end(struct req *r, struct session *s)
{
	struct exec *x = r->state;

	x->streaming = false;
	if (session_live(s))
		order_credit(r, s, UINT64_MAX);
}

/* ------------------------------------------------------------------- tail */

/* The last line of a text that is not blank, cut in front. */
static const char *
last_line(const char *text, size_t len, size_t *ret_len)
{
	size_t from;

	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		len--;
	from = len;
	while (from > 0 && text[from - 1] != '\n' && len - from < TAIL_LINE)
		from--;
	while (from < len && ((unsigned char)text[from] & 0xc0) == 0x80)
		from++;
	*ret_len = len - from;
	return text + from;
}

static void
say_tail(struct req *r, struct session *s)
{
	struct sbuf text = SBUF_INIT;
	struct exec *x = r->state;
	struct enc e = ENC_INIT;
	const char *line;
	size_t len;

	session_tail(r->m, s, &text, TAIL_BYTES, false);
	if (s->output.total > x->told) {
		x->told = s->output.total;
		line = last_line(text.p != NULL ? text.p : "", text.len, &len);
		enc_map(&e);
		enc_kv_uint(&e, "msgid", r->msgid);
		enc_kv_uint(&e, "bytes", s->output.total);
		enc_kv_strn(&e, "line", line, len);
		enc_end(&e);
		conn_notify(r->conn, "tail", e.failed ? NULL : e.buf, e.len);
		enc_fini(&e);
	}
	sbuf_fini(&text);
}

static void
on_tick(int, short, void *arg)
{
	struct req *r = arg;
	struct exec *x = r->state;
	struct session *s = req_session(r);

	turn_begin(r->m);
	if (r->over || s == NULL || !session_live(s))
		return;
	say_tail(r, s);
	timer_in(r->m, &x->tick, on_tick, r, TAIL_MS);
}

void
tail_begin(struct req *r, struct session *s)
{
	struct exec *x = r->state;

	x->tells = true;
	tail_session(r, s);
	if (session_live(s))
		timer_in(r->m, &x->tick, on_tick, r, TAIL_MS);
}

void
tail_session(struct req *r, struct session *s)
{
	const struct exec *x = r->state;

	if (x->tells)
		stream_say_session(r, s);
}
