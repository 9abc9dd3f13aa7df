/* SPDX-License-Identifier: MIT */
/*
 * How a session ended, as status words, reasons and the fields of details.
 * Names and numbers are what gateways already know; see docs/protocol.md.
 */
#include "supervisor/words/result.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/text.h"
#include "shm/state_names.h"

/* The status word of an answer. */
const char *
result_status(const struct session *s)
{
	if (s->state != STATE_ENDED)
		return "running";
	return s->facts.status == STATUS_COMPLETED ? "completed" : "failed";
}

bool
result_lost_with_box(const struct session *s)
{
	return s->facts.reason == END_LOST && s->wish.host == HOST_SANDBOX &&
	    s->facts.exit_signal == SIGKILL;
}

/* Why it counts as failed. */
const char *
result_failure_kind(const struct session *s)
{
	switch (s->facts.reason) {
	case END_NONE:
		return NULL;
	case END_LOST:
		return result_lost_with_box(s) ? "sandbox" : reason_name(END_LOST);
	case END_SPAWN_ERROR:
		return s->facts.stage >= STAGE_BOX ? "sandbox"
						   : "runtime-error";
	case END_EXIT:
		return s->facts.exit_code == 127 ? "shell-command-not-found"
		    : s->facts.exit_code == 126  ? "shell-not-executable"
					   : NULL;
	case END_SIGNAL:
		return "signal";
	case END_OVERALL_TIMEOUT:
	case END_NO_OUTPUT_TIMEOUT:
	case END_OOM:
	case END_LIMIT:
	case END_LANE_CLEARED:
	case END_DEADLOCK:
		return reason_name(s->facts.reason);
	case END_MANUAL_CANCEL:
	case END_ABORTED:
	case END_SHUTDOWN:
		return "aborted";
	default:
		return "runtime-error";
	}
}

/* Was it the box? exitReason has no word of its own for that. */
bool
result_is_sandbox_failure(const struct session *s)
{
	const char *kind = result_failure_kind(s);

	return kind != NULL && strcmp(kind, "sandbox") == 0;
}

bool
result_is_quarantined(const struct session *s)
{
	return s->facts.reason == END_LOST && abs(s->facts.error) == EOWNERDEAD;
}

const char *
result_limit_hit(const struct session *s)
{
	int sig = s->facts.exit_signal != 0 ? s->facts.exit_signal
					    : s->facts.exit_code - 128;

	if (s->facts.reason == END_OOM)
		return "memoryBytes";
	if (s->facts.reason != END_LIMIT)
		return NULL;
	return sig == SIGXCPU ? "cpuSeconds"
	    : sig == SIGXFSZ  ? "fileSizeBytes"
			      : "pids";
}

/* exitReason: what ended it, in the words gateways know. */
const char *
result_exit_reason(const struct session *s)
{
	return reason_name(s->facts.reason == END_ABORTED ? END_MANUAL_CANCEL
						    : s->facts.reason);
}

/* Who is left of a session that was ended by force. */
void
result_remaining(const struct session *s, struct enc *e)
{
	enc_kv_uint(e, "remaining", s->facts.remaining);
	enc_kv_array(e, "remainingPids");
	for (size_t i = 0; i < s->facts.remaining && i < CTL_END_PIDS; i++)
		if (s->facts.remaining_pids[i] > 0)
			enc_int(e, s->facts.remaining_pids[i]);
	enc_end(e);
}

/* Who still holds the output of an ended session. */
static void
enc_holders(const struct session *s, struct enc *e)
{
	const char *p = s->facts.holder_list != NULL ? s->facts.holder_list
						     : "",
		   *name;
	char *end;
	long pid;

	enc_kv_uint(e, "holders", s->facts.holders);
	if (s->facts.holders == 0)
		return;
	enc_kv_array(e, "holderList");
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
	enc_kv_map(e, "ladder");
	enc_kv_uint(e, "ms", s->facts.ladder_ms);
	enc_kv_bool(e, "killed", s->facts.killed);
	enc_end(e);
}

/* Was it ended by force, so that nothing of it should run on? */
bool
result_was_forced(const struct session *s)
{
	return s->facts.pid > 0 &&
	    (s->facts.reason == END_OVERALL_TIMEOUT ||
		s->facts.reason == END_NO_OUTPUT_TIMEOUT ||
		s->facts.reason == END_MANUAL_CANCEL ||
		s->facts.reason == END_ABORTED ||
		s->facts.reason == END_SHUTDOWN);
}

/* The exit fields of details. */
void
result_exit_fields(const struct session *s, struct enc *e)
{
	if (s->facts.exit_code >= 0)
		enc_kv_int(e, "exitCode", s->facts.exit_code);
	if (s->facts.exit_signal != 0)
		enc_kv_str(
		    e, "exitSignal", text_signal_name(s->facts.exit_signal));
	enc_kv_str(e, "exitReason", result_exit_reason(s));
	if (result_is_sandbox_failure(s))
		enc_kv_str(e, "failureKind", result_failure_kind(s));
	if (result_limit_hit(s) != NULL)
		enc_kv_str(e, "limitHit", result_limit_hit(s));
	enc_kv_bool(e, "timedOut",
	    s->facts.reason == END_OVERALL_TIMEOUT ||
		s->facts.reason == END_NO_OUTPUT_TIMEOUT);
	enc_kv_bool(
	    e, "noOutputTimedOut", s->facts.reason == END_NO_OUTPUT_TIMEOUT);
	if (result_was_forced(s)) {
		result_remaining(s, e);
		enc_ladder(s, e);
	}
	enc_holders(s, e);
	if (result_is_quarantined(s))
		enc_kv_bool(e, "quarantined", true);
	if (s->facts.reason == END_SPAWN_ERROR) {
		enc_kv_str(e, "errno", err_name(s->facts.error));
		enc_kv_str(e, "stage", stage_name(s->facts.stage));
		if (s->facts.hung_at != NULL && s->facts.hung_at[0] == '/')
			enc_kv_str(e, "hungAt", s->facts.hung_at);
	}
}
