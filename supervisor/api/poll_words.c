/* SPDX-License-Identifier: MIT */
/* What a poll says. Called by poll.c, which decides when. */
#include <inttypes.h>
#include <stdio.h>

#include "supervisor/api/polling.h"
#include "supervisor/session/retain.h"
#include "supervisor/session/usage.h"

#define POLL_AGE_MS 100u /* evidence of waiting may be so old */

/* The words around the output. */
static void
poll_text(const struct session *s, const struct delivery *d,
    const struct input_state *input, struct output_answer *a)
{
	bool live = session_live(s);

	result_note(d->omitted + d->dropped, d->dropped, NULL, &a->before);
	result_fault_words(d->fault, &a->before);
	a->none = live && d->fault == NULL ? "(no new output)" : "";
	if (!live)
		result_exit_words(s, &a->after);
	else if (input->waits != INPUT_WAIT_NONE)
		result_waiting_words(input, &a->after);
	else
		sbuf_add(&a->after, s->state == STATE_QUEUED
			? "Still queued."
			: "Process still running.");
}

/* All that is retained, which may be what is delivered. */
static void
aggregated(struct req *r, struct session *s, const struct delivery *d,
    struct output_answer *a)
{
	size_t max = r->m->cfg.max_output_chars;
	struct output o = {0};

	if (d->have && d->from == 0 && d->omitted == 0 && d->k.len <= max &&
	    d->k.to == s->output.total)
		output_of(s, &d->k, max, &o);
	else
		output_read(r->m, s, max, &o);
	enc_kv_bool(&a->e, "truncated", o.omitted > 0);
	enc_kv_uint(&a->e, "droppedBytes", o.dropped);
	a->parts[1] = (struct output_part){.key = "aggregated", .data = o.data,
	    .len = o.len};
	a->kept[1] = o.k;
}

/* When the bytes came, by the stretches that the ring has noted: as many as its
 * header has room for. */
static void
enc_times(struct master *m, struct session *s, const struct delivery *d,
    struct enc *e)
{
	struct ring_reader *rd = readers_of(m, s);
	uint64_t pos = d->next - d->len, end, wall_ms;
	struct ring_facts f;

	enc_kv_array(e, "times");
	if (!d->have || rd == NULL || ring_facts(rd, &f) != RING_OK)
		pos = d->next;
	for (; pos < d->next; pos = end > pos ? end : d->next) {
		(void)ring_stream_at(&f.raw, pos, &end, &wall_ms);
		enc_array(e);
		enc_uint(e, pos);
		enc_uint(e, wall_ms);
		enc_end(e);
	}
	enc_end(e);
}

/* The fields that are small. */
static void
poll_details(struct req *r, struct session *s, const struct delivery *d,
    uint64_t ack, const struct input_state *input, struct enc *e)
{
	const struct polling *p = r->state;
	struct cursor cur = cursors_get(r->m->cursors, s->id.sid, p->reader);

	if (d->len > 0)
		cur.empty_polls = 0;
	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->id.slug);
	enc_kv_str(e, "name", s->id.name);
	if (p->wish.raw) {
		enc_key(e, "output");
		enc_bin(e, d->have ? d->k.data + d->at : "", d->len);
	}
	enc_kv_uint(e, "next", d->next);
	enc_kv_uint(e, "dropped", d->dropped);
	enc_kv_uint(e, "omitted", d->omitted);
	result_fault(d->fault, e);
	enc_kv_bool(e, "exited",
	    s->state == STATE_EXITED || !session_live(s));
	enc_kv_bool(e, "closed", !session_live(s));
	result_pty(r->m, s, e);
	enc_kv_uint(e, "totalOutputChars", s->output.total);
	if (ack != 0) {
		char buf[24];

		snprintf(buf, sizeof(buf), "%" PRIu64, ack);
		enc_kv_str(e, "ack", buf);
	}
	if (p->times)
		enc_times(r->m, s, d, e);
	usage_encode(s, p->usage, e);
	spill_encode(r->m, s, e);
	if (session_live(s)) {
		result_input_fields(s, input, e);
		enc_kv_uint(e, "retryInMs", cursors_retry_ms(&cur));
	} else {
		enc_kv_bool(e, "stdinWritable", false);
		result_exit_fields(s, e);
		enc_kv_uint(e, "durationMs", s->facts.duration_ms);
	}
}

void
poll_words(struct req *r, struct session *s, const struct delivery *d,
    uint64_t ack)
{
	struct input_state input = result_input_state(r->m, s, POLL_AGE_MS,
	    true);
	struct polling *p = r->state;
	struct output_answer *a = &p->a;

	a->rule = p->wish.text;
	a->is_error = !session_live(s) && s->facts.status != STATUS_COMPLETED;
	poll_text(s, d, &input, a);
	result_open_details(&a->e);
	poll_details(r, s, d, ack, &input, &a->e);
	a->parts[0] = (struct output_part){.key = p->wish.raw ? NULL : "output",
	    .data = d->have ? d->k.data + d->at : "", .len = d->len};
	/* who reads by position has the rest already */
	if (!session_live(s) || (!p->wish.have_since && !p->wish.raw))
		aggregated(r, s, d, a);
}
