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
	enc_kv_map(e, "details");
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
	enc_kv_map(e, "details");
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
		enc_kv_array(e, "warnings");
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

/* The words of an ended exec, around its output. */
static void
ended_words(const struct session *s, const struct output *o,
    const char *warnings, struct output_answer *a)
{
	add_warnings(s, warnings, &a->before);
	result_note(o->omitted, o->dropped, s->id.slug, &a->before);
	result_fault_words(o->fault, &a->before);
	a->none = o->fault == NULL && s->facts.reason != END_SPAWN_ERROR
	    ? "(no output)"
	    : "";
	result_end_words(s, &a->after);
}

/* The answer of an exec whose session ended, begun. True: log shows more. */
bool
result_exec_ended(struct master *m, struct session *s, const char *warnings,
    struct output_answer *a)
{
	const char *kind = result_failure_kind(s);
	struct enc *e = &a->e;
	struct output o;

	warnings = warnings != NULL ? warnings : "";
	output_read(m, s, m->cfg.max_output_chars, &o);
	ended_words(s, &o, warnings, a);
	result_open_details(e);
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
	enc_kv_bool(e, "truncated", o.omitted > 0);
	enc_kv_uint(e, "droppedBytes", o.dropped);
	result_fault(o.fault, e);
	enc_kv_uint(e, "totalOutputChars", s->output.total);
	usage_encode(s, NULL, e);
	a->parts[0] = (struct output_part){"aggregated", o.data, o.len, 0, 0};
	a->kept[0] = o.k;
	a->is_error = s->facts.status != STATUS_COMPLETED;
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
	enc_kv_array(e, "followUp");
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
