/* SPDX-License-Identifier: MIT */
/*
 * The rows and lines of list and wait.
 */
#include "supervisor/words/result.h"

#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "supervisor/session/limits.h"
#include "supervisor/session/retain.h"
#include "supervisor/session/usage.h"

#define ROW_AGE_MS 1000u /* evidence of a row may be so old */

/* "<incarnation>.<sid>" */
void
result_instance(const struct session *s, struct enc *e)
{
	char buf[SESSION_INSTANCE_MAX];

	session_instance(s, buf);
	enc_kv_str(e, "instanceId", buf);
}

/* Input of which nobody knows whether it arrived. */
void
result_uncertain(struct master *m, struct session *s, struct enc *e)
{
	terminal_uncertain(m, s);
	if (s->terminal.uncertain == 0)
		return;
	enc_kv_bool(e, "stdinUncertain", true);
	enc_kv_uint(e, "stdinUncertainBytes", s->terminal.uncertain);
}

/* A terminal and its size. */
void
result_pty(struct master *m, struct session *s, struct enc *e)
{
	if (!s->terminal.pty)
		return;
	result_uncertain(m, s, e);
	enc_kv_bool(e, "pty", true);
	enc_kv_uint(e, "cols", s->terminal.cols);
	enc_kv_uint(e, "rows", s->terminal.rows);
}

/* The status word of a row: killed and lost have their own. */
static const char *
row_status(const struct session *s)
{
	return s->state == STATE_ENDED ? status_name(s->facts.status)
				       : "running";
}

/* How long it ran, or has run. */
static uint64_t
runtime_ms(const struct session *s, uint64_t now)
{
	uint64_t from = s->facts.started_ms != 0 ? s->facts.started_ms
						 : s->id.created_ms;

	if (s->state == STATE_ENDED)
		return s->facts.duration_ms;
	return now > from ? now - from : 0;
}

/* Its place, and what it waits for. */
void
result_queued(struct master *m, const struct session *s, struct enc *e)
{
	enc_kv_uint(e, "queuePosition", gate_position(m, s));
	enc_kv_str(e, "queuedFor", gate_queued_for(m, s));
}

/* What a running row has beside the common fields. */
static void
row_running(struct master *m, struct session *s, struct enc *e)
{
	struct input_state i = result_input_state(m, s, ROW_AGE_MS,
	    m->probes_left > 0);

	if (s->facts.pid > 0)
		enc_kv_int(e, "pid", s->facts.pid);
	result_input_fields(s, &i, e);
	if (s->deadline.at_ms != 0)
		enc_kv_uint(e, "deadlineAt", s->deadline.at_ms);
	if (custody_has(&s->custody))
		enc_kv_uint(e, "worker", s->custody.who.slot);
	if (s->state == STATE_QUEUED)
		result_queued(m, s, e);
}

/* What an ended row has beside the common fields. */
static void
row_ended(const struct session *s, struct enc *e)
{
	result_exit_fields(s, e);
	enc_kv_uint(e, "endedAt", s->facts.ended_ms);
}

/* Bytes of output that are not kept, without reading the ring: what has left
 * both regions, and what a full tmpfs took. */
static uint64_t
dropped_bytes(const struct session *s)
{
	uint64_t kept = (uint64_t)s->wish.head_bytes + s->wish.tail_bytes +
	    RING_MAX_SPLICE;

	return (s->output.total > kept ? s->output.total - kept : 0) +
	    s->output.dropped_nospace;
}

/* Where its client ran, as far as its own scope may know. */
static void
enc_parent(struct master *m, const struct session *s, struct enc *e)
{
	const struct session *p = s->id.parent.v != 0
	    ? session_by_sid(m, s->id.parent)
	    : NULL;

	if (p != NULL && strcmp(p->id.scope, s->id.scope) == 0)
		enc_kv_str(e, "parentSession", p->id.slug);
}

/* What takes no look at ring, keeper or /proc, and which bit each is. */
static const char *const plain[] = {"sessionId", "instanceId", "status",
    "state", "startedAt", "runtimeMs", "exited", "closed", "name"};
enum { SESSION_ID, INSTANCE_ID, STATUS, STATE, STARTED_AT, RUNTIME_MS, EXITED,
	CLOSED, NAME };
#define ROW_BEGINS ((1u << EXITED) - 1)
#define ROW_STANDS (1u << EXITED | 1u << CLOSED)

/* Which of the plain ones it is; their number: none. */
static size_t
plain_of(const struct val *name)
{
	size_t i = 0;

	while (i < NELEMS(plain) && !val_is_str(name, plain[i]))
		i++;
	return i;
}

/* May a row have it? */
static bool
is_of_row(const struct val *name)
{
	for (size_t i = 0; i < proto_detail_count; i++)
		if (proto_detail_of_row(&proto_details[i]) &&
		    val_is_str(name, proto_details[i].name))
			return true;
	return false;
}

const struct val *
result_fields_take(const struct val *names, struct result_fields *ret)
{
	*ret = (struct result_fields){.names = names};
	for (size_t i = 0; names != NULL && i < names->a.count; i++) {
		const struct val *v = &names->a.items[i];
		size_t k = plain_of(v);

		if (k < NELEMS(plain))
			ret->plain |= 1u << k;
		else if (is_of_row(v))
			ret->others = true;
		else
			return v;
	}
	return NULL;
}

/* Of the plain ones those that are wanted. */
static void
row_plain(const struct session *s, uint32_t wanted, struct enc *e)
{
	if (wanted & 1u << SESSION_ID)
		enc_kv_str(e, plain[SESSION_ID], s->id.slug);
	if (wanted & 1u << INSTANCE_ID)
		result_instance(s, e);
	if (wanted & 1u << STATUS)
		enc_kv_str(e, plain[STATUS], row_status(s));
	if (wanted & 1u << STATE)
		enc_kv_str(e, plain[STATE], state_name(s->state));
	if (wanted & 1u << STARTED_AT)
		enc_kv_uint(e, plain[STARTED_AT], s->facts.started_ms != 0
		    ? s->facts.started_ms
		    : s->id.created_ms);
	if (wanted & 1u << RUNTIME_MS)
		enc_kv_uint(e, plain[RUNTIME_MS],
		    runtime_ms(s, clock_wall_ms()));
	if (wanted & 1u << EXITED)
		enc_kv_bool(e, plain[EXITED],
		    s->state == STATE_EXITED || s->state == STATE_ENDED);
	if (wanted & 1u << CLOSED)
		enc_kv_bool(e, plain[CLOSED], s->state == STATE_ENDED);
	if (wanted & 1u << NAME)
		enc_kv_str(e, plain[NAME], s->id.name);
}

/* The same with its map still open. */
void
result_row_open(struct master *m, struct session *s,
    const struct usage_sample *u, struct enc *e)
{
	struct sbuf tail = SBUF_INIT;

	enc_map(e);
	row_plain(s, ROW_BEGINS, e);
	if (s->state == STATE_ENDED)
		row_ended(s, e);
	else
		row_running(m, s, e);
	usage_encode(s, u, e);
	session_tail(m, s, &tail, MASTER_TAIL, true); /* read just above */
	enc_kv_strn(e, "tail", tail.p != NULL ? tail.p : "", tail.len);
	enc_kv_bool(e, "truncated", dropped_bytes(s) > 0);
	enc_kv_uint(e, "droppedBytes", dropped_bytes(s));
	row_plain(s, ROW_STANDS, e);
	fields_list(s, e); /* after the tail: reading it may raise `total` */
	result_pty(m, s, e);
	limits_encode(&m->h, &s->wish.limits, e);
	retain_encode(m, s, e);
	enc_parent(m, s, e);
	sbuf_fini(&tail);
}

static bool
is_wanted(const struct val *names, const struct val *key)
{
	for (size_t i = 0; i < names->a.count; i++) {
		const struct val *n = &names->a.items[i];

		if (n->s.len == key->s.len &&
		    memcmp(n->s.ptr, key->s.ptr, n->s.len) == 0)
			return true;
	}
	return false;
}

/* What is wanted beside the plain ones, of a whole row: each once, however often
 * it was named. */
static void
row_others(struct master *m, struct session *s, const struct usage_sample *u,
    const struct result_fields *f, struct enc *e)
{
	struct codec_arena *arena = NULL;
	const struct val *row = NULL;
	struct enc whole = ENC_INIT;
	char why[80];
	size_t used;

	result_row_open(m, s, u, &whole);
	enc_end(&whole);
	if (whole.failed || codec_decode(whole.buf, whole.len,
	        &codec_limits_trusted, &used, &arena, &row, why,
	        sizeof(why)) != CODEC_OK)
		e->failed = true;
	for (size_t i = 0; row != NULL && i < row->a.count; i++) {
		const struct val *key = &row->a.items[2 * i];

		if (plain_of(key) < NELEMS(plain) || !is_wanted(f->names, key))
			continue;
		enc_keyn(e, key->s.ptr, key->s.len);
		enc_val(e, key + 1);
	}
	codec_arena_free(&arena);
	enc_fini(&whole);
}

void
result_row(struct master *m, struct session *s, const struct usage_sample *u,
    const struct result_fields *f, struct enc *e)
{
	if (f->names == NULL) {
		result_row_open(m, s, u, e);
	} else {
		enc_map(e);
		row_plain(s, f->plain, e);
		if (f->others)
			row_others(m, s, u, f, e);
	}
	enc_end(e);
}

/* ID STATUS DURATION [marker] :: NAME */
void
result_line(const struct session *s, uint64_t now_ms, struct sbuf *b)
{
	const char *status = row_status(s);
	size_t width = strlen(status);
	char dur[32], name[4 * 160];

	text_duration(runtime_ms(s, now_ms), dur, sizeof(dur));
	text_escape(s->id.name, strlen(s->id.name), false, name, sizeof(name));
	sbuf_add(b, s->id.slug);
	sbuf_add(b, " ");
	sbuf_add(b, status);
	sbuf_addn(b, "          ", width > 9 ? 1 : 10 - width);
	sbuf_add(b, dur);
	if (s->facts.reason == END_OVERALL_TIMEOUT ||
	    s->facts.reason == END_NO_OUTPUT_TIMEOUT)
		sbuf_addf(b, " [%s]", reason_name(s->facts.reason));
	if (s->state == STATE_QUEUED)
		sbuf_add(b, " [queued]");
	if (session_live(s) && s->input_wait.shown != INPUT_WAIT_NONE)
		sbuf_add(b, " [input-wait]");
	sbuf_add(b, " :: ");
	sbuf_add(b, name);
	sbuf_add(b, "\n");
}
