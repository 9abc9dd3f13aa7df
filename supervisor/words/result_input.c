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

enum input_wait
result_input_wait(struct master *m, struct session *s, uint64_t max_age_ms,
    bool may_look, uint64_t *ret_idle_ms, uint64_t *ret_last_ms)
{
	struct ring_glance f;
	struct ring_reader *r;
	uint64_t now = clock_wall_ms(), since = s->facts.started_ms, last = 0;

	*ret_idle_ms = 0;
	*ret_last_ms = 0;
	if (s->state != STATE_RUNNING && s->state != STATE_EXITED)
		return input_wait_show(s, INPUT_WAIT_NONE);
	r = readers_get(m, s->id.sid);
	if (r != NULL && ring_glance(r, &f) == RING_OK) {
		last = f.last_output_ms;
		output_head(s, f.head);
		if (f.stdin_state == STDIN_CLOSED)
			stdin_closed(s);
	}
	if (last > since)
		since = last;
	*ret_last_ms = last;
	*ret_idle_ms = now > since ? now - since : 0;
	return input_wait_show(s, judge_input_wait(m, s, max_age_ms, may_look,
	    *ret_idle_ms, now));
}

void
result_waiting_fields(enum input_wait w, struct enc *e)
{
	enc_kv_bool(e, "waitingForInput", w != INPUT_WAIT_NONE);
	if (w != INPUT_WAIT_NONE)
		enc_kv_str(e, "waitReason", input_wait_name(w));
	else
		enc_kv_nil(e, "waitReason");
}

void
result_waiting_words(enum input_wait w, uint64_t idle_ms, struct sbuf *b)
{
	char dur[32];

	text_duration(idle_ms, dur, sizeof(dur));
	if (w == INPUT_WAIT_IDLE)
		sbuf_addf(b, "No new output for %s; this session may be "
			     "waiting for input.", dur);
	else
		sbuf_addf(b, "This session is waiting for input: one of its "
			     "processes reads %s.",
		    w == INPUT_WAIT_TTY ? "the terminal" : "stdin");
	sbuf_add(b, " Use process write, send-keys, submit, or paste to "
		    "provide input.");
}
