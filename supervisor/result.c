/* SPDX-License-Identifier: MIT */
/*
 * The words and fields of answers. Names, status words and numbers are what
 * gateways already know; see docs/protocol.md. Called by session.c for exit
 * events and by the api_ files.
 */
#include "supervisor/input_wait.h"
#include "supervisor/limits.h"
#include "supervisor/result.h"
#include "supervisor/retain.h"
#include "supervisor/usage.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/text.h"
#include "shm/state_names.h"
#include "supervisor/lines.h"

#define ROW_AGE_MS 1000u /* evidence of a row may be so old */

/* The status word of an answer. */
const char *
result_status(const struct session *s)
{
	if (s->state != STATE_ENDED)
		return "running";
	return s->status == STATUS_COMPLETED ? "completed" : "failed";
}

/* Why it counts as failed. */
const char *
result_failure_kind(const struct session *s)
{
	switch (s->reason) {
	case END_NONE:
		return NULL;
	case END_EXIT:
		return s->exit_code == 127 ? "shell-command-not-found"
		    : s->exit_code == 126  ? "shell-not-executable"
					   : NULL;
	case END_SIGNAL:
		return "signal";
	case END_OVERALL_TIMEOUT:
	case END_NO_OUTPUT_TIMEOUT:
	case END_OOM:
	case END_LIMIT:
	case END_LOST:
	case END_LANE_CLEARED:
	case END_DEADLOCK:
		return reason_name(s->reason);
	case END_MANUAL_CANCEL:
	case END_ABORTED:
	case END_SHUTDOWN:
		return "aborted";
	default:
		return "runtime-error";
	}
}

static const char guidance[] =
    " The command was ended, but side effects outside it may already have "
    "happened. Check the state before running it again; a retry is not "
    "automatically safe.";

/* Milliseconds as seconds without a needless fraction. */
static void
add_seconds(struct sbuf *b, uint64_t ms)
{
	unsigned rest = (unsigned)(ms % 1000), digits = 3;

	for (; rest != 0 && rest % 10 == 0; digits--)
		rest /= 10;
	sbuf_addf(b, "%" PRIu64, ms / 1000);
	if (rest != 0)
		sbuf_addf(b, ".%0*u", (int)digits, rest);
}

/* Ended because its handling crashed the workers (keeper_procs.c). */
static bool
is_quarantined(const struct session *s)
{
	return s->reason == END_LOST && abs(s->error) == EOWNERDEAD;
}

/* Why a spawn failed, in words. */
static void
add_spawn_error(const struct session *s, struct sbuf *b)
{
	int e = s->error < 0 ? -s->error : s->error;
	const char *what = s->stage == STAGE_CHDIR ? s->cwd
	    : s->stage == STAGE_SPILL && s->spill_path != NULL
	    ? s->spill_path
	    : s->name;
	char shown[400];

	text_escape(what, strlen(what), false, shown, sizeof(shown));
	sbuf_addf(b, "The command could not be started: %s: %s (%s at %s)",
	    shown, strerror(e), err_name(e), stage_name(s->stage));
}

/* What a time-out has left, as far as that is known for sure. */
static void
add_left(const struct session *s, struct sbuf *b)
{
	if (s->remaining > 0)
		sbuf_addf(b, " %u of its processes could not be ended and "
			     "still run.",
		    (unsigned)s->remaining);
	else if (s->in_leaf)
		sbuf_add(b, " Nothing of it is left running.");
}

/* How it ended, for the end of the text; nothing for exit 0. */
void
result_end_words(const struct session *s, struct sbuf *b)
{
	switch (s->reason) {
	case END_EXIT:
		if (s->exit_code == 127)
			sbuf_add(b, "Command not found ");
		else if (s->exit_code == 126)
			sbuf_add(b,
			    "Command not executable (permission denied) ");
		if (s->exit_code != 0)
			sbuf_addf(b, "(Command exited with code %d)",
			    (int)s->exit_code);
		break;
	case END_OVERALL_TIMEOUT:
		sbuf_add(b, "Command timed out after ");
		add_seconds(b, s->timeout_ms);
		sbuf_add(b, " seconds.");
		add_left(s, b);
		sbuf_add(b, guidance);
		sbuf_add(b, " For long work raise timeout, or use background "
			    "or yieldMs instead of a trailing &.");
		break;
	case END_NO_OUTPUT_TIMEOUT:
		sbuf_add(b, "Command timed out waiting for output (silent for ");
		add_seconds(b, s->no_output_timeout_ms);
		sbuf_add(b, " seconds).");
		add_left(s, b);
		sbuf_add(b, guidance);
		break;
	case END_SIGNAL:
		sbuf_addf(b, "Command aborted by signal %s",
		    text_signal_name(s->exit_signal));
		if (s->exit_signal == SIGKILL)
			sbuf_add(b, " (perhaps the kernel's out-of-memory "
				    "killer)");
		break;
	case END_MANUAL_CANCEL:
		sbuf_add(b, "Command was ended on request");
		break;
	case END_ABORTED:
		sbuf_add(b, "Command was ended: its request was given up");
		break;
	case END_SHUTDOWN:
		sbuf_add(b, "Command was ended by the server's shutdown");
		break;
	case END_SPAWN_ERROR:
		add_spawn_error(s, b);
		break;
	case END_LOST:
		if (is_quarantined(s)) {
			sbuf_addf(b, "Command ended: three workers in a row "
				     "crashed while they handled it.");
			sbuf_add(b, guidance);
			break;
		}
		sbuf_add(b, "Command lost: the supervisor was killed; its exit "
			    "status is unknown.");
		sbuf_add(b, guidance);
		break;
	case END_OOM:
		sbuf_add(b, "Command ended by the out-of-memory killer");
		break;
	case END_LIMIT:
		sbuf_add(b, "Command ended by a resource limit");
		break;
	case END_LANE_CLEARED:
		sbuf_addf(b, "Command lane \"%s\" was cleared: the command was "
			     "not run",
		    s->lane);
		break;
	case END_DEADLOCK:
		if (s->gate_deadlock) {
			sbuf_add(b, "Command not run: every place "
				    "(max_running) is held by what waits for "
				    "it");
			break;
		}
		sbuf_addf(b, "Command not run: lane \"%s\" is held only by what "
			     "waits for it",
		    s->lane);
		break;
	default:
		break;
	}
}

/* How it ended, for poll. */
void
result_exit_words(const struct session *s, struct sbuf *b)
{
	if (s->exit_signal != 0)
		sbuf_addf(b, "Process exited with signal %s.",
		    text_signal_name(s->exit_signal));
	else if (s->exit_code >= 0)
		sbuf_addf(b, "Process exited with code %d.",
		    (int)s->exit_code);
	else if (s->reason == END_SPAWN_ERROR)
		add_spawn_error(s, b);
	else
		sbuf_add(b, "Process exited with unknown exit code.");
	if (s->reason == END_OVERALL_TIMEOUT ||
	    s->reason == END_NO_OUTPUT_TIMEOUT || s->reason == END_LOST) {
		sbuf_add(b, "\n\n");
		result_end_words(s, b);
	}
}

/* What is missing, exactly. */
void
result_note(uint64_t omitted, uint64_t dropped, struct sbuf *b)
{
	if (dropped >= omitted && dropped > 0)
		sbuf_addf(b,
		    "[%" PRIu64 " bytes of earlier output were dropped at the "
		    "retention cap and cannot be recovered]\n\n",
		    dropped);
	else if (omitted > 0 && dropped > 0)
		sbuf_addf(b,
		    "[%" PRIu64 " bytes of earlier output are left out here; "
		    "%" PRIu64 " of them were dropped at the retention cap, "
		    "log shows the others]\n\n",
		    omitted, dropped);
	else if (omitted > 0)
		sbuf_addf(b,
		    "[%" PRIu64 " bytes of earlier output are left out here; "
		    "log with offset and limit shows them]\n\n",
		    omitted);
}

/* exitReason: what ended it, in the words gateways know. */
const char *
result_exit_reason(const struct session *s)
{
	return reason_name(s->reason == END_ABORTED ? END_MANUAL_CANCEL
						    : s->reason);
}

/* Who is left of a session that was ended by force. */
void
result_remaining(const struct session *s, struct enc *e)
{
	enc_kv_uint(e, "remaining", s->remaining);
	enc_key(e, "remainingPids");
	enc_array(e);
	for (size_t i = 0; i < s->remaining && i < CTL_END_PIDS; i++)
		if (s->remaining_pids[i] > 0)
			enc_int(e, s->remaining_pids[i]);
	enc_end(e);
}

/* Who still holds the output of an ended session. */
static void
enc_holders(const struct session *s, struct enc *e)
{
	const char *p = s->holder_list != NULL ? s->holder_list : "", *name;
	char *end;
	long pid;

	enc_kv_uint(e, "holders", s->holders);
	if (s->holders == 0)
		return;
	enc_key(e, "holderList");
	enc_array(e);
	for (; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n') {
		pid = strtol(p, &end, 10);
		if (end == p || *end != ' ')
			break;
		name = end + 1;
		enc_map(e);
		enc_kv_int(e, "pid", pid);
		enc_kv_strn(e, "name", name, strcspn(name, "\n"));
		enc_end(e);
		p = name;
	}
	enc_end(e);
}

/* How a forced end went. */
static void
enc_ladder(const struct session *s, struct enc *e)
{
	enc_key(e, "ladder");
	enc_map(e);
	enc_kv_uint(e, "ms", s->ladder_ms);
	enc_kv_bool(e, "killed", s->killed);
	enc_end(e);
}

/* Was it ended by force, so that nothing of it should run on? */
bool
result_was_forced(const struct session *s)
{
	return s->pid > 0 &&
	    (s->reason == END_OVERALL_TIMEOUT ||
		s->reason == END_NO_OUTPUT_TIMEOUT ||
		s->reason == END_MANUAL_CANCEL || s->reason == END_ABORTED ||
		s->reason == END_SHUTDOWN);
}

/* The exit fields of details. */
void
result_exit_fields(const struct session *s, struct enc *e)
{
	enc_key(e, "exitCode");
	if (s->exit_code >= 0)
		enc_int(e, s->exit_code);
	else
		enc_nil(e);
	enc_key(e, "exitSignal");
	if (s->exit_signal != 0)
		enc_str(e, text_signal_name(s->exit_signal));
	else
		enc_nil(e);
	enc_kv_str(e, "exitReason", result_exit_reason(s));
	enc_kv_bool(e, "timedOut",
	    s->reason == END_OVERALL_TIMEOUT ||
		s->reason == END_NO_OUTPUT_TIMEOUT);
	enc_kv_bool(e, "noOutputTimedOut", s->reason == END_NO_OUTPUT_TIMEOUT);
	if (result_was_forced(s)) {
		result_remaining(s, e);
		enc_ladder(s, e);
	}
	enc_holders(s, e);
	if (is_quarantined(s))
		enc_kv_bool(e, "quarantined", true);
	if (s->reason == END_SPAWN_ERROR) {
		enc_kv_str(e, "errno", err_name(s->error));
		enc_kv_str(e, "stage", stage_name(s->stage));
	}
}

/* May it be written to? */
bool
result_stdin_writable(const struct session *s)
{
	return session_live(s) && s->state != STATE_EXITED && s->stdin_pipe &&
	    !s->stdin_closed && !s->spool_eof;
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
	    now >= s->input_ms + INPUT_WAIT_QUIET_MS)
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
	uint64_t now = clock_wall_ms(), since = s->started_ms, last = 0;

	*ret_idle_ms = 0;
	*ret_last_ms = 0;
	if (s->state != STATE_RUNNING && s->state != STATE_EXITED)
		return s->waits_now = INPUT_WAIT_NONE;
	r = readers_get(m, s->sid);
	if (r != NULL && ring_glance(r, &f) == RING_OK) {
		last = f.last_output_ms;
		s->total = f.head > s->total ? f.head : s->total;
		if (f.stdin_state == STDIN_CLOSED)
			s->stdin_closed = true;
	}
	if (last > since)
		since = last;
	*ret_last_ms = last;
	*ret_idle_ms = now > since ? now - since : 0;
	s->waits_now = judge_input_wait(m, s, max_age_ms, may_look,
	    *ret_idle_ms, now);
	return s->waits_now;
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

/* "<incarnation>.<sid>" */
static void
enc_instance(struct master *m, const struct session *s, struct enc *e)
{
	char buf[SESSION_INSTANCE_MAX];

	session_instance(m, s, buf);
	enc_kv_str(e, "instanceId", buf);
}

/* A key whose value is nil where the text is empty. */
static void
enc_opt(struct enc *e, const char *key, const char *v)
{
	if (v[0] == '\0')
		return;
	enc_kv_str(e, key, v);
}

/* Input of which nobody knows whether it arrived. */
void
result_uncertain(struct master *m, struct session *s, struct enc *e)
{
	terminal_uncertain(m, s);
	if (s->stdin_uncertain == 0)
		return;
	enc_kv_bool(e, "stdinUncertain", true);
	enc_kv_uint(e, "stdinUncertainBytes", s->stdin_uncertain);
}

/* A terminal and its size. */
void
result_pty(struct master *m, struct session *s, struct enc *e)
{
	if (!s->pty)
		return;
	result_uncertain(m, s, e);
	enc_kv_bool(e, "pty", true);
	enc_kv_uint(e, "cols", s->cols);
	enc_kv_uint(e, "rows", s->rows);
}

/* The status word of a row: killed and lost have their own. */
static const char *
row_status(const struct session *s)
{
	return s->state == STATE_ENDED ? status_name(s->status) : "running";
}

/* How long it ran, or has run. */
static uint64_t
runtime_ms(const struct session *s, uint64_t now)
{
	uint64_t from = s->started_ms != 0 ? s->started_ms : s->created_ms;

	if (s->state == STATE_ENDED)
		return s->duration_ms;
	return now > from ? now - from : 0;
}

/* Its place, and what it waits for. */
static void
row_queued(struct master *m, const struct session *s, struct enc *e)
{
	enc_kv_uint(e, "queuePosition", gate_position(m, s));
	enc_kv_str(e, "queuedFor", gate_queued_for(m, s));
}

/* What a running row has beside the common fields. */
static void
row_running(struct master *m, struct session *s, struct enc *e)
{
	uint64_t idle, last;
	bool may_look = m->probes_left > 0;
	enum input_wait waits = result_input_wait(m, s, ROW_AGE_MS, may_look,
	    &idle, &last);

	enc_key(e, "pid");
	if (s->pid > 0)
		enc_int(e, s->pid);
	else
		enc_nil(e);
	enc_kv_bool(e, "stdinWritable", result_stdin_writable(s));
	result_waiting_fields(waits, e);
	enc_kv_uint(e, "idleMs", idle);
	enc_key(e, "lastOutputAt");
	if (last != 0)
		enc_uint(e, last);
	else
		enc_nil(e);
	if (s->deadline_ms != 0)
		enc_kv_uint(e, "deadlineAt", s->deadline_ms);
	if (s->has_worker)
		enc_kv_uint(e, "worker", s->worker.slot);
	if (s->state == STATE_QUEUED)
		row_queued(m, s, e);
}

/* What an ended row has beside the common fields. */
static void
row_ended(const struct session *s, struct enc *e)
{
	result_exit_fields(s, e);
	enc_kv_uint(e, "endedAt", s->ended_ms);
}

/* Bytes of output that are not kept, without reading the ring: what has left
 * both regions, and what a full tmpfs took. */
static uint64_t
dropped_bytes(const struct session *s)
{
	uint64_t kept = (uint64_t)s->head_bytes + s->tail_bytes +
	    RING_MAX_SPLICE;

	return (s->total > kept ? s->total - kept : 0) + s->dropped_nospace;
}

/* Where its client ran, as far as its own scope may know. */
static void
enc_parent(struct master *m, const struct session *s, struct enc *e)
{
	const struct session *p = s->parent.v != 0
	    ? session_by_sid(m, s->parent)
	    : NULL;

	if (p != NULL && strcmp(p->scope, s->scope) == 0)
		enc_kv_str(e, "parentSession", p->slug);
}

/* One row of list. */
void
result_row(struct master *m, struct session *s, bool usage, struct enc *e)
{
	result_row_open(m, s, usage, e);
	enc_end(e);
}

/* The same with its map still open. */
void
result_row_open(struct master *m, struct session *s, bool usage,
    struct enc *e)
{
	struct sbuf tail = SBUF_INIT;

	enc_map(e);
	enc_kv_str(e, "sessionId", s->slug);
	enc_instance(m, s, e);
	enc_kv_str(e, "status", row_status(s));
	enc_kv_str(e, "state", state_name(s->state));
	enc_kv_uint(e, "startedAt",
	    s->started_ms != 0 ? s->started_ms : s->created_ms);
	enc_kv_uint(e, "runtimeMs", runtime_ms(s, clock_wall_ms()));
	enc_kv_str(e, "cwd", s->cwd);
	enc_kv_str(e, "command", s->command);
	enc_kv_str(e, "name", s->name);
	if (s->state == STATE_ENDED)
		row_ended(s, e);
	else
		row_running(m, s, e);
	usage_encode(m, s, usage, e);
	session_tail(m, s, &tail, MASTER_TAIL, true); /* read just above */
	enc_kv_strn(e, "tail", tail.p != NULL ? tail.p : "", tail.len);
	enc_kv_bool(e, "truncated", dropped_bytes(s) > 0);
	enc_kv_uint(e, "droppedBytes", dropped_bytes(s));
	enc_kv_uint(e, "totalOutputChars", s->total);
	enc_kv_bool(e, "exited",
	    s->state == STATE_EXITED || s->state == STATE_ENDED);
	enc_kv_bool(e, "closed", s->state == STATE_ENDED);
	enc_kv_bool(e, "backgrounded", s->backgrounded);
	result_pty(m, s, e);
	enc_kv_bool(e, "notifyOnExit", s->notify);
	enc_kv_bool(e, "exitNotified", s->exit_notified);
	enc_opt(e, "scopeKey", s->scope);
	enc_opt(e, "sessionKey", s->session_key);
	limits_encode(&m->h, &s->limits, e);
	retain_encode(m, s, e);
	enc_opt(e, "lane", s->lane);
	enc_parent(m, s, e);
	enc_opt(e, "label", s->label);
	if (s->tags != NULL) {
		enc_key(e, "tags");
		enc_raw(e, s->tags, s->tags_bytes);
	}
	sbuf_fini(&tail);
}

/* ID STATUS DURATION [marker] :: NAME */
void
result_line(const struct session *s, uint64_t now_ms, struct sbuf *b)
{
	char dur[32], name[4 * 160];

	text_duration(runtime_ms(s, now_ms), dur, sizeof(dur));
	text_escape(s->name, strlen(s->name), false, name, sizeof(name));
	sbuf_addf(b, "%s %-9s %s", s->slug, row_status(s), dur);
	if (s->reason == END_OVERALL_TIMEOUT ||
	    s->reason == END_NO_OUTPUT_TIMEOUT)
		sbuf_addf(b, " [%s]", reason_name(s->reason));
	if (s->state == STATE_QUEUED)
		sbuf_add(b, " [queued]");
	if (session_live(s) && s->waits_now != INPUT_WAIT_NONE)
		sbuf_add(b, " [input-wait]");
	sbuf_addf(b, " :: %s\n", name);
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

/* Retained output as text. */
void
output_read(struct master *m, struct session *s, size_t max,
    enum text_rule rule, struct output *ret)
{
	struct ring_reader *r;
	struct retained k;
	enum ring_verdict v;
	size_t at = 0;

	*ret = (struct output){0};
	/* its worker counted: most commands that end say nothing at all */
	if (s->state == STATE_QUEUED || (s->state == STATE_ENDED &&
		s->total == 0 && s->reason != END_LOST))
		return;
	r = readers_get(m, s->sid);
	v = r != NULL ? retained_read(r, 0, 0, LINES_BOTH, &k) : RING_GONE;
	if (v != RING_OK && v != RING_OVERRUN) {
		ret->fault = readers_fault(m, s);
		return;
	}
	if (k.to > s->total)
		s->total = k.to;
	if (k.gap_at < k.len)
		at = k.gap_at;
	if (k.len - at > max)
		at = text_resync(k.data, k.len, k.len - max);
	else
		at += text_skip_partial(k.data + at, k.len - at);
	ret->omitted = k.to - (k.len - at);
	ret->dropped = k.dropped;
	sbuf_add_output(&ret->text, rule, k.data + at, k.len - at,
	    session_live(s));
	retained_free(&k);
}

/* Why there are pipes and no terminal. */
static void
add_pty_warning(const struct session *s, struct sbuf *b)
{
	sbuf_addf(b, "no terminal could be had (%s); the command ran with "
		     "pipes",
	    err_name(s->pty_error));
}

/* The fields that both kinds of an exec answer begin with. */
static void
exec_common(struct master *m, struct session *s, const char *warnings,
    struct enc *e)
{
	struct sbuf b = SBUF_INIT;

	enc_kv_str(e, "status", result_status(s));
	enc_kv_str(e, "sessionId", s->slug);
	enc_instance(m, s, e);
	enc_kv_str(e, "name", s->name);
	enc_kv_str(e, "state", state_name(s->state));
	enc_kv_str(e, "cwd", s->cwd);
	enc_key(e, "pid");
	if (s->pid > 0)
		enc_int(e, s->pid);
	else
		enc_nil(e);
	enc_kv_uint(e, "startedAt",
	    s->started_ms != 0 ? s->started_ms : s->created_ms);
	limits_encode(&m->h, &s->limits, e);
	retain_encode(m, s, e);
	result_pty(m, s, e);
	if (warnings[0] != '\0' || s->pty_error != 0) {
		enc_key(e, "warnings");
		enc_array(e);
		if (warnings[0] != '\0')
			enc_str(e, warnings);
		if (s->pty_error != 0) {
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
	if (s->pty_error == 0)
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
	result_note(o->omitted, o->dropped, b);
	result_fault_words(o->fault, b);
	if (o->text.len > 0)
		sbuf_addn(b, o->text.p, o->text.len);
	result_end_words(s, &how);
	if (o->text.len == 0 && o->fault == NULL && s->reason != END_SPAWN_ERROR)
		sbuf_add(b, "(no output)");
	if (how.len > 0) {
		while (b->len > 0 && b->p[b->len - 1] == '\n')
			b->p[--b->len] = '\0';
		sbuf_addf(b, "%s%s", b->len > 0 ? "\n\n" : "", how.p);
	}
	sbuf_fini(&how);
}

/* The answer of an exec whose session ended. */
void
result_exec_ended(struct master *m, struct session *s, enum text_rule rule,
    const char *warnings, struct enc *e)
{
	const char *kind = result_failure_kind(s);
	struct sbuf text = SBUF_INIT;
	struct output o;

	output_read(m, s, m->cfg.max_output_chars, rule, &o);
	ended_text(s, &o, warnings, &text);
	enc_map(e);
	enc_kv_strn(e, "text", text.p != NULL ? text.p : "", text.len);
	enc_key(e, "details");
	enc_map(e);
	exec_common(m, s, warnings, e);
	result_exit_fields(s, e);
	if (kind != NULL)
		enc_kv_str(e, "failureKind", kind);
	enc_kv_uint(e, "durationMs", s->duration_ms);
	enc_kv_uint(e, "endedAt", s->ended_ms);
	enc_kv_strn(e, "aggregated", o.text.p != NULL ? o.text.p : "",
	    o.text.len);
	enc_kv_bool(e, "truncated", o.omitted > 0);
	enc_kv_uint(e, "droppedBytes", o.dropped);
	result_fault(o.fault, e);
	enc_kv_uint(e, "totalOutputChars", s->total);
	usage_encode(m, s, false, e);
	enc_end(e);
	enc_kv_bool(e, "isError", s->status != STATUS_COMPLETED);
	enc_end(e);
	sbuf_fini(&text);
	sbuf_fini(&o.text);
}

/* That it waits, where, and for what. */
static void
add_queued(struct master *m, const struct session *s, struct sbuf *b)
{
	sbuf_addf(b, "Command queued (session %s, ", s->slug);
	if (s->lane[0] != '\0')
		sbuf_addf(b, "lane %s, ", s->lane);
	sbuf_addf(b, "place %u", gate_position(m, s));
	if (admission_is_waiting(&s->gate))
		sbuf_addf(b, ", for %s", gate_queued_for(m, s));
	sbuf_add(b, ").");
}

/* The answer of an exec whose session goes on in the background. */
void
result_exec_running(struct master *m, struct session *s, const char *warnings,
    struct enc *e)
{
	struct sbuf text = SBUF_INIT, tail = SBUF_INIT;

	add_warnings(s, warnings, &text);
	if (s->state == STATE_QUEUED)
		add_queued(m, s, &text);
	else if (s->pid > 0)
		sbuf_addf(&text, "Command still running (session %s, pid %d).",
		    s->slug, (int)s->pid);
	else
		sbuf_addf(&text, "Command still running (session %s, pid n/a).",
		    s->slug);
	sbuf_add(&text, s->notify
		? " An exit event will tell when it ends; use process (list, "
		  "poll, log, write, kill, clear, remove) to follow it."
		: " No exit event will come; use process poll with a timeout "
		  "to follow it.");
	session_tail(m, s, &tail, MASTER_TAIL, false);
	enc_map(e);
	enc_kv_strn(e, "text", text.p != NULL ? text.p : "", text.len);
	enc_key(e, "details");
	enc_map(e);
	exec_common(m, s, warnings, e);
	if (s->state == STATE_QUEUED)
		row_queued(m, s, e);
	enc_kv_strn(e, "tail", tail.p != NULL ? tail.p : "", tail.len);
	enc_kv_uint(e, "totalOutputChars", s->total);
	enc_end(e);
	enc_kv_bool(e, "isError", false);
	enc_end(e);
	sbuf_fini(&text);
	sbuf_fini(&tail);
}

/* Exec completed (nova-gulf, code 0) :: <end of the output> */
void
result_event_text(struct master *m, struct session *s, struct sbuf *b)
{
	struct sbuf tail = SBUF_INIT;
	char fold[200];

	sbuf_addf(b, "Exec %s (%s, ", result_status(s), s->slug);
	if (s->exit_signal != 0)
		sbuf_addf(b, "signal %s)", text_signal_name(s->exit_signal));
	else if (s->exit_code >= 0)
		sbuf_addf(b, "code %d)", (int)s->exit_code);
	else
		sbuf_addf(b, "%s)", reason_name(s->reason));
	session_tail(m, s, &tail, 400, false);
	if (tail.len > 0) {
		text_fold(tail.p, tail.len, 180, fold, sizeof(fold));
		if (fold[0] != '\0')
			sbuf_addf(b, " :: %s", fold);
	}
	if (s->reason == END_OVERALL_TIMEOUT ||
	    s->reason == END_NO_OUTPUT_TIMEOUT) {
		sbuf_add(b, " ");
		result_end_words(s, b);
	}
	sbuf_fini(&tail);
}
