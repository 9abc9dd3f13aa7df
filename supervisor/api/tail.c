/* SPDX-License-Identifier: MIT */
/*
 * An exec with stream "tail": its client shows that something goes on, and needs
 * no byte of the output for that. Once a second its timer looks how far the
 * output is, and says so where there is more.
 */
#include <string.h>

#include "supervisor/api/conn.h"
#include "supervisor/api/exec.h"

#define TICK_MS 1000u
#define LOOK_BYTES 400u /* of the end, for a line */
#define LINE_BYTES 200u

/* The last line of a text that is not blank, cut in front. */
static const char *
last_line(const char *text, size_t len, size_t *ret_len)
{
	size_t from;

	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		len--;
	from = len;
	while (from > 0 && text[from - 1] != '\n' && len - from < LINE_BYTES)
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

	session_tail(r->m, s, &text, LOOK_BYTES, false);
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
on_tick(int fd, short what, void *arg)
{
	struct req *r = arg;
	struct exec *x = r->state;
	struct session *s = req_session(r);

	(void)fd;
	(void)what;
	turn_begin(r->m);
	if (r->over || s == NULL || !session_live(s))
		return;
	say_tail(r, s);
	timer_in(r->m, &x->tick, on_tick, r, TICK_MS);
}

void
tail_begin(struct req *r, struct session *s)
{
	struct exec *x = r->state;

	x->tells = true;
	tail_session(r, s);
	if (session_live(s))
		timer_in(r->m, &x->tick, on_tick, r, TICK_MS);
}

void
tail_session(struct req *r, struct session *s)
{
	const struct exec *x = r->state;

	if (x->tells)
		stream_say_session(r, s);
}
