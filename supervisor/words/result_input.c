/* SPDX-License-Identifier: MIT */
/*
 * Whether a session waits for input: evidence first, then silence.
 */
#include "supervisor/words/result.h"

#include "common/clock.h"
#include "common/text.h"
#include "supervisor/session/input_wait.h"

/* May it be written to? */
bool
result_stdin_writable(const struct session *s)
{
	return session_live(s) && s->state != STATE_EXITED &&
	    s->wish.stdin_pipe && !s->input.closed && !s->input.spool_eof;
}

/* Evidence first, then the rule of silence. */
static enum input_wait
judge_input_wait(struct master *m, struct session *s, uint64_t max_age_ms,
    bool may_look, uint64_t idle, uint64_t now)
{
	enum input_wait found = INPUT_WAIT_NONE;

	if (!result_stdin_writable(s))
		return INPUT_WAIT_NONE;
	if (idle >= INPUT_WAIT_QUIET_MS &&
	    now >= s->input.fed_ms + INPUT_WAIT_QUIET_MS)
		found = input_wait_look(m, s, max_age_ms, may_look);
	if (found == INPUT_WAIT_NONE && idle >= m->cfg.input_wait_idle_ms)
		found = INPUT_WAIT_IDLE;
	return found;
}

struct input_state
result_input_state(struct master *m, struct session *s, uint64_t max_age_ms,
    bool may_look)
{
	struct input_state i = {INPUT_WAIT_NONE, 0,
	    s->facts.started_ms != 0 ? s->facts.started_ms : s->id.created_ms};
	struct ring_glance f;
	struct ring_reader *r;
	uint64_t now = clock_wall_ms();

	(void)input_wait_show(s, INPUT_WAIT_NONE);
	if (s->state != STATE_RUNNING && s->state != STATE_EXITED)
		return i;
	r = readers_get(m, s->id.sid);
	if (r != NULL && ring_glance(r, &f) == RING_OK) {
		if (f.last_output_ms > i.last_ms)
			i.last_ms = f.last_output_ms;
		output_head(s, f.head);
		if (f.stdin_state == STDIN_CLOSED)
			stdin_closed(s);
	}
	i.idle_ms = now > i.last_ms ? now - i.last_ms : 0;
	i.waits = input_wait_show(s, judge_input_wait(m, s, max_age_ms,
	    may_look, i.idle_ms, now));
	return i;
}

void
result_input_fields(const struct session *s, const struct input_state *i,
    struct enc *e)
{
	enc_kv_bool(e, "stdinWritable", result_stdin_writable(s));
	enc_kv_bool(e, "waitingForInput", i->waits != INPUT_WAIT_NONE);
	if (i->waits != INPUT_WAIT_NONE)
		enc_kv_str(e, "waitReason", input_wait_name(i->waits));
	enc_kv_uint(e, "idleMs", i->idle_ms);
	enc_kv_uint(e, "lastOutputAt", i->last_ms);
}

void
result_waiting_words(const struct input_state *i, struct sbuf *b)
{
	char dur[32];

	text_duration(i->idle_ms, dur, sizeof(dur));
	if (i->waits == INPUT_WAIT_IDLE)
		sbuf_addf(b, "No new output for %s; this session may be "
			     "waiting for input.", dur);
	else
		sbuf_addf(b, "This session is waiting for input: one of its "
			     "processes reads %s.",
		    i->waits == INPUT_WAIT_TTY ? "the terminal" : "stdin");
	sbuf_add(b, " Use process write, send-keys, submit, or paste to "
		    "provide input.");
}
