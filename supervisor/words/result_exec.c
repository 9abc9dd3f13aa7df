/* SPDX-License-Identifier: MIT */
/*
 * The frame of every answer, those of exec, and the text of an exit event.
 */
#include "supervisor/words/result.h"

#include <inttypes.h>
#include <string.h>

#include "common/check.h"
#include "common/err.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "supervisor/search/lines.h"
#include "supervisor/session/input_wait.h"
#include "supervisor/session/limits.h"
#include "supervisor/session/retain.h"
#include "supervisor/session/usage.h"

void
result_open(struct enc *e, const char *text, size_t len)
{
	enc_map(e);
	enc_kv_strn(e, "text", text != NULL ? text : "", len);
	enc_key(e, "details");
	enc_map(e);
}

void
result_close(struct enc *e, bool is_error)
{
	enc_end(e);
	enc_kv_bool(e, "isError", is_error);
	enc_end(e);
}

void
result_open_details(struct enc *e)
{
	enc_map(e);
	enc_key(e, "details");
	enc_map(e);
}

void
result_close_text(struct enc *e, const struct sbuf *text)
{
	enc_end(e);
	enc_kv_strn(e, "text", text->p != NULL ? text->p : "", text->len);
	enc_kv_bool(e, "isError", false);
	enc_end(e);
	e->failed = e->failed || text->failed;
}

void
result_note(uint64_t omitted, uint64_t dropped, const char *session,
    struct sbuf *b)
{
	const char *of = session != NULL ? " of session " : "";

	session = session != NULL ? session : "";
	if (dropped >= omitted && dropped > 0)
		sbuf_addf(b,
		    "[%" PRIu64 " bytes of earlier output were dropped at the "
		    "retention cap and cannot be recovered]\n\n",
		    dropped);
	else if (omitted > 0 && dropped > 0)
		sbuf_addf(b,
		    "[%" PRIu64 " bytes of earlier output are left out here; "
		    "%" PRIu64 " of them were dropped at the retention cap, "
		    "log%s%s shows the others]\n\n",
		    omitted, dropped, of, session);
	else if (omitted > 0)
		sbuf_addf(b,
		    "[%" PRIu64 " bytes of earlier output are left out here; "
		    "log%s%s with offset and limit shows them]\n\n",
		    omitted, of, session);
}

/* Why there is no output, in words. */
void
result_fault_words(const char *fault, struct sbuf *b)
{
	if (fault != NULL)
		sbuf_addf(b, "[the retained output of this session is %s%s]\n\n",
		    fault,
		    strcmp(fault, "busy") == 0 ? ": try again"
					       : " and cannot be shown");
}

/* The same as a field. */
void
result_fault(const char *fault, struct enc *e)
{
	if (fault != NULL)
		enc_kv_str(e, "outputState", fault);
}

void
output_text(const struct session *s, const struct retained *k, size_t max,
    enum text_rule rule, struct output *ret)
{
	size_t at = 0;

	if (k->gap_at < k->len)
		at = k->gap_at;
	if (k->len - at > max)
		at = text_resync(k->data, k->len, k->len - max);
	else
		at += text_skip_partial(k->data + at, k->len - at);
	ret->omitted = k->to - (k->len - at);
	ret->dropped = k->gone;
	sbuf_add_output(&ret->text, rule, k->data + at, k->len - at,
	    session_live(s));
}

/* Retained output as text. */
void
output_read(struct master *m, struct session *s, size_t max,
    enum text_rule rule, struct output *ret)
{
	struct ring_reader *r;
	struct retained k;
	enum ring_verdict v;

	*ret = (struct output){0};
	/* its worker counted: most commands that end say nothing at all */
	if (s->state == STATE_QUEUED || (s->state == STATE_ENDED &&
		s->output.total == 0 && s->facts.reason != END_LOST))
		return;
	r = readers_get(m, s->id.sid);
	/* of a cut sequence at its beginning there is enough before it */
	v = r != NULL ? retained_read(r, 0, max + 2 * TEXT_SEQUENCE_MAX,
			    LINES_BOTH, &k)
		      : RING_GONE;
	if (v != RING_OK && v != RING_OVERRUN) {
		ret->fault = readers_fault(m, s);
		return;
	}
	output_head(s, k.to);
	output_text(s, &k, max, rule, ret);
	retained_free(&k);
}

/* Why there are pipes and no terminal. */
static void
add_pty_warning(const struct session *s, struct sbuf *b)
{
	sbuf_addf(b, "no terminal could be had (%s); the command ran with "
		     "pipes",
	    err_name(s->terminal.pty_error));
}

/* The fields that both kinds of an exec answer begin with. */
static void
exec_common(struct master *m, struct session *s, const char *warnings,
    struct enc *e)
{
	struct sbuf b = SBUF_INIT;

	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->id.slug);
	result_instance(s, e);
	enc_kv_str(e, "name", s->id.name);
	enc_kv_str(e, "state", state_name(s->state));
	enc_kv_str(e, "cwd", s->wish.cwd);
	if (s->facts.pid > 0)
		enc_kv_int(e, "pid", s->facts.pid);
	enc_kv_uint(e, "startedAt",
	    s->facts.started_ms != 0 ? s->facts.started_ms : s->id.created_ms);
	limits_encode(&m->h, &s->wish.limits, e);
	retain_encode(m, s, e);
	result_pty(m, s, e);
	if (warnings[0] != '\0' || s->terminal.pty_error != 0) {
		enc_key(e, "warnings");
		enc_array(e);
		if (warnings[0] != '\0')
			enc_str(e, warnings);
		if (s->terminal.pty_error != 0) {
			add_pty_warning(s, &b);
			enc_strn(e, b.p != NULL ? b.p : "", b.len);
		}
		enc_end(e);
	}
	sbuf_fini(&b);
}

/* The same in the text. */
static void
add_warnings(const struct session *s, const char *warnings, struct sbuf *b)
{
	if (warnings[0] != '\0')
		sbuf_addf(b, "Warning: %s\n\n", warnings);
	if (s->terminal.pty_error == 0)
		return;
	sbuf_add(b, "Warning: ");
	add_pty_warning(s, b);
	sbuf_add(b, "\n\n");
}

/* The words of an ended exec. */
static void
ended_text(const struct session *s, const struct output *o,
    const char *warnings, struct sbuf *b)
{
	struct sbuf how = SBUF_INIT;

	add_warnings(s, warnings, b);
	result_note(o->omitted, o->dropped, s->id.slug, b);
	result_fault_words(o->fault, b);
	if (o->text.len > 0)
		sbuf_addn(b, o->text.p, o->text.len);
	result_end_words(s, &how);
	if (o->text.len == 0 && o->fault == NULL &&
	    s->facts.reason != END_SPAWN_ERROR)
		sbuf_add(b, "(no output)");
	if (how.len > 0) {
		while (b->len > 0 && b->p[b->len - 1] == '\n')
			b->p[--b->len] = '\0';
		sbuf_addf(b, "%s%s", b->len > 0 ? "\n\n" : "", how.p);
	}
	sbuf_fini(&how);
}

/* The answer of an exec whose session ended. True: log shows more. */
bool
result_exec_ended(struct master *m, struct session *s, enum text_rule rule,
    const char *warnings, struct enc *e)
{
	const char *kind = result_failure_kind(s);
	struct sbuf text = SBUF_INIT;
	struct output o;

	output_read(m, s, m->cfg.max_output_chars, rule, &o);
	ended_text(s, &o, warnings, &text);
	result_open(e, text.p, text.len);
	exec_common(m, s, warnings, e);
	result_exit_fields(s, e);
	/* exec alone says so where there is none */
	if (s->facts.exit_code < 0)
		enc_kv_nil(e, "exitCode");
	if (s->facts.exit_signal == 0)
		enc_kv_nil(e, "exitSignal");
	if (kind != NULL && !result_is_sandbox_failure(s))
		enc_kv_str(e, "failureKind", kind);
	enc_kv_uint(e, "durationMs", s->facts.duration_ms);
	enc_kv_uint(e, "endedAt", s->facts.ended_ms);
	enc_kv_strn(e, "aggregated", o.text.p != NULL ? o.text.p : "",
	    o.text.len);
	enc_kv_bool(e, "truncated", o.omitted > 0);
	enc_kv_uint(e, "droppedBytes", o.dropped);
	result_fault(o.fault, e);
	enc_kv_uint(e, "totalOutputChars", s->output.total);
	usage_encode(s, NULL, e);
	result_close(e, s->facts.status != STATUS_COMPLETED);
	sbuf_fini(&text);
	sbuf_fini(&o.text);
	return o.omitted > o.dropped;
}

/* That it waits, where, and for what. */
static void
add_queued(struct master *m, const struct session *s, struct sbuf *b)
{
	const char *what = gate_queued_for(m, s);

	sbuf_addf(b, "Command queued (session %s, ", s->id.slug);
	if (s->wish.lane[0] != '\0')
		sbuf_addf(b, "lane %s, ", s->wish.lane);
	sbuf_addf(b, "place %u", gate_position(m, s));
	if (strcmp(what, "lane") != 0)
		sbuf_addf(b, ", for %s", what);
	sbuf_add(b, ").");
}

/* What a client may do with a session that runs. */
static const struct {
	const char *action;
	bool input, pty; /* it takes input; it has a terminal */
} actions[] = {
	{"list", false, false}, {"poll", false, false}, {"log", false, false},
	{"wait", false, false}, {"write", true, false},
	{"send-keys", true, true}, {"submit", true, true},
	{"paste", true, true}, {"screen", false, true},
	{"resize", false, true}, {"kill", false, false},
	{"remove", false, false},
};

/* Each that fits it. */
static void
follow_up(const struct session *s, void (*say)(void *to, const char *action),
    void *to)
{
	bool input = s->wish.stdin_pipe && !s->input.closed &&
	    !s->input.spool_eof;

	for (size_t i = 0; i < NELEMS(actions); i++)
		if ((input || !actions[i].input) &&
		    (s->terminal.pty || !actions[i].pty))
			say(to, actions[i].action);
}

static void
add_action(void *to, const char *action)
{
	struct sbuf *b = to;

	if (b->len > 0 && b->p[b->len - 1] != '(')
		sbuf_add(b, ", ");
	sbuf_add(b, action);
}

static void
enc_action(void *to, const char *action)
{
	enc_str(to, action);
}

/* How a model gets it to go on. */
#define INPUT_WAIT_WORDS                                                       \
	"seems to wait for input: process write, submit or send-keys to "      \
	"answer, write with eof to end its input, kill to stop"

/* The answer of an exec whose session goes on in the background. */
void
result_exec_running(struct master *m, struct session *s,
    enum input_wait waits, const char *warnings, struct enc *e)
{
	struct sbuf text = SBUF_INIT, tail = SBUF_INIT;

	add_warnings(s, warnings, &text);
	if (s->state == STATE_QUEUED)
		add_queued(m, s, &text);
	else if (s->facts.pid > 0)
		sbuf_addf(&text, "Command still running (session %s, pid %d).",
		    s->id.slug, (int)s->facts.pid);
	else
		sbuf_addf(&text, "Command still running (session %s, pid n/a).",
		    s->id.slug);
	if (waits != INPUT_WAIT_NONE)
		sbuf_add(&text, " It " INPUT_WAIT_WORDS ".");
	sbuf_add(&text,
	    s->wish.notify ? " An exit event will tell when it ends;"
			   : " No exit event will come;");
	sbuf_add(&text, " use process (");
	follow_up(s, add_action, &text);
	sbuf_add(&text, s->wish.notify ? ") to follow it."
				  : ") to follow it, poll with a timeout.");
	session_tail(m, s, &tail, MASTER_TAIL, false);
	result_open(e, text.p, text.len);
	exec_common(m, s, warnings, e);
	if (s->state == STATE_QUEUED)
		result_queued(m, s, e);
	enc_kv_strn(e, "tail", tail.p != NULL ? tail.p : "", tail.len);
	enc_kv_uint(e, "totalOutputChars", s->output.total);
	if (waits != INPUT_WAIT_NONE) {
		enc_kv_bool(e, "waitingForInput", true);
		enc_kv_str(e, "waitReason", input_wait_name(waits));
	}
	enc_key(e, "followUp");
	enc_array(e);
	follow_up(s, enc_action, e);
	enc_end(e);
	result_close(e, false);
	sbuf_fini(&text);
	sbuf_fini(&tail);
}

void
result_not_run(const char *cwd, struct enc *e)
{
	enc_kv_str(e, "failureKind", "runtime-error");
	enc_kv_nil(e, "exitCode");
	enc_kv_nil(e, "exitSignal");
	enc_kv_uint(e, "durationMs", 0);
	enc_kv_str(e, "aggregated", "");
	enc_kv_bool(e, "timedOut", false);
	enc_kv_bool(e, "noOutputTimedOut", false);
	enc_kv_str(e, "cwd", cwd);
}

/* Exec completed (nova-gulf, code 0) :: <end of the output> */
void
result_event_text(struct master *m, struct session *s, struct sbuf *b)
{
	struct sbuf tail = SBUF_INIT;
	char fold[200];

	sbuf_addf(b, "Exec %s (%s, ", result_status(s), s->id.slug);
	if (s->facts.exit_signal != 0)
		sbuf_addf(
		    b, "signal %s)", text_signal_name(s->facts.exit_signal));
	else if (s->facts.exit_code >= 0)
		sbuf_addf(b, "code %d)", (int)s->facts.exit_code);
	else
		sbuf_addf(b, "%s)", reason_name(s->facts.reason));
	session_tail(m, s, &tail, 400, false);
	if (tail.len > 0) {
		text_fold(tail.p, tail.len, 180, fold, sizeof(fold));
		if (fold[0] != '\0')
			sbuf_addf(b, " :: %s", fold);
	}
	if (s->facts.reason == END_OVERALL_TIMEOUT ||
	    s->facts.reason == END_NO_OUTPUT_TIMEOUT ||
	    result_limit_hit(s) != NULL) {
		sbuf_add(b, " ");
		result_end_words(s, b);
	}
	sbuf_fini(&tail);
}
