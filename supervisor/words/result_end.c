/* SPDX-License-Identifier: MIT */
/* How a session ended, in words for a model; see result_exit.c for the
 * fields. */
#include "supervisor/words/result.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/text.h"
#include "shm/state_names.h"

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

/* Why a spawn failed, in words. */
static void
add_spawn_error(const struct session *s, struct sbuf *b)
{
	int e = s->facts.error < 0 ? -s->facts.error : s->facts.error;
	const char *what = s->facts.hung_at != NULL &&
		s->facts.hung_at[0] != '\0'
	    ? s->facts.hung_at
	    : s->facts.stage == STAGE_CHDIR ? s->wish.cwd
	    : s->facts.stage == STAGE_SPILL && s->wish.spill_path != NULL
	    ? s->wish.spill_path
	    : s->id.name;
	char shown[400];

	text_escape(what, strlen(what), false, shown, sizeof(shown));
	sbuf_add(b, "The command could not be started: ");
	if (s->facts.stage == STAGE_BOX && s->facts.hung_at != NULL &&
	    s->facts.hung_at[0] != '\0') {
		sbuf_add(b, s->facts.hung_at);
		return;
	}
	if (e == ETIMEDOUT)
		sbuf_addf(b, "start timed out at %s %s",
		    stage_name(s->facts.stage), shown);
	else
		sbuf_addf(b, "%s: %s (%s at %s)", shown, strerror(e),
		    err_name(e), stage_name(s->facts.stage));
}

/* What a time-out has left, as far as that is known for sure. */
static void
add_left(const struct session *s, struct sbuf *b)
{
	if (s->facts.remaining > 0)
		sbuf_addf(b, " %u of its processes could not be ended and "
			     "still run.",
		    (unsigned)s->facts.remaining);
	else if (s->facts.in_leaf)
		sbuf_add(b, " Nothing of it is left running.");
}

/* What a kill or remove has ended, whatever it made of the signal. */
static void
add_stopped(const struct session *s, const char *who, struct sbuf *b)
{
	int sig = s->facts.exit_signal != 0 ? s->facts.exit_signal
	    : s->ending.signal != 0   ? s->ending.signal
				      : SIGTERM;

	if (s->facts.pid <= 0) {
		sbuf_addf(b, "%s stopped by request before it ran.", who);
		return;
	}
	sbuf_addf(b, "%s stopped by request (signal %s).", who,
	    text_signal_name(sig));
	if (s->facts.exit_signal == 0 && s->facts.exit_code >= 0)
		sbuf_addf(
		    b, " It exited with code %d.", (int)s->facts.exit_code);
}

/* It had none of its own: its box has, for all that is in it. */
static const char *
of_box(const struct session *s, enum ctl_limit which)
{
	return s->wish.host == HOST_SANDBOX &&
		(s->wish.limits.mask & 1u << which) == 0 &&
		(which == CTL_LIMIT_MEMORY ||
		    strcmp(result_limit_hit(s), "pids") == 0)
	    ? " of its sandbox"
	    : "";
}

/* How it ended, for the end of the text; nothing for exit 0. */
void
result_end_words(const struct session *s, struct sbuf *b)
{
	switch (s->facts.reason) {
	case END_EXIT:
		if (s->facts.exit_code == 127)
			sbuf_add(b, "Command not found ");
		else if (s->facts.exit_code == 126)
			sbuf_add(b,
			    "Command not executable (permission denied) ");
		if (s->facts.exit_code != 0)
			sbuf_addf(b, "(Command exited with code %d)",
			    (int)s->facts.exit_code);
		break;
	case END_OVERALL_TIMEOUT:
		sbuf_add(b, "Command timed out after ");
		add_seconds(b, s->wish.timeout_ms);
		sbuf_add(b, " seconds.");
		add_left(s, b);
		sbuf_add(b, guidance);
		sbuf_add(b, " For long work raise timeout, or use background "
			    "or yieldMs instead of a trailing &.");
		break;
	case END_NO_OUTPUT_TIMEOUT:
		sbuf_add(b, "Command timed out waiting for output (silent for ");
		add_seconds(b, s->wish.no_output_timeout_ms);
		sbuf_add(b, " seconds).");
		add_left(s, b);
		sbuf_add(b, guidance);
		break;
	case END_SIGNAL:
		sbuf_addf(b, "Command aborted by signal %s",
		    text_signal_name(s->facts.exit_signal));
		if (s->facts.exit_signal == SIGKILL)
			sbuf_add(b, " (perhaps the kernel's out-of-memory "
				    "killer)");
		break;
	case END_MANUAL_CANCEL:
		add_stopped(s, "Command", b);
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
		if (result_is_quarantined(s)) {
			sbuf_addf(b, "Command ended: three workers in a row "
				     "crashed while they handled it.");
			sbuf_add(b, guidance);
			break;
		}
		if (result_lost_with_box(s)) {
			sbuf_add(b, "Command lost: its box ended while it "
				    "ran.");
			sbuf_add(b, guidance);
			break;
		}
		sbuf_add(b, "Command lost: the supervisor was killed; its exit "
			    "status is unknown.");
		sbuf_add(b, guidance);
		break;
	case END_OOM:
		sbuf_addf(b, "Command ended: out of memory (limit %s%s)",
		    result_limit_hit(s), of_box(s, CTL_LIMIT_MEMORY));
		break;
	case END_LIMIT:
		sbuf_addf(b, "Command ended by the limit %s%s",
		    result_limit_hit(s), of_box(s, CTL_LIMIT_PIDS));
		break;
	case END_LANE_CLEARED:
		sbuf_addf(b, "Command lane \"%s\" was cleared: the command was "
			     "not run",
		    s->wish.lane);
		break;
	case END_DEADLOCK:
		if (s->queued.deadlock) {
			sbuf_add(b, "Command not run: every place "
				    "(max_running) is held by what waits for "
				    "it");
			break;
		}
		sbuf_addf(b, "Command not run: lane \"%s\" is held only by what "
			     "waits for it",
		    s->wish.lane);
		break;
	default:
		break;
	}
}

/* Is the exit alone not what happened? */
static bool
needs_reason(const struct session *s)
{
	switch (s->facts.reason) {
	case END_OVERALL_TIMEOUT:
	case END_NO_OUTPUT_TIMEOUT:
	case END_LOST:
	case END_OOM:
	case END_LIMIT:
	case END_ABORTED:
	case END_SHUTDOWN:
	case END_LANE_CLEARED:
	case END_DEADLOCK:
		return true;
	default:
		return false;
	}
}

/* How it ended, for poll. */
void
result_exit_words(const struct session *s, struct sbuf *b)
{
	if (s->facts.reason == END_MANUAL_CANCEL)
		add_stopped(s, "Process", b);
	else if (s->facts.exit_signal != 0)
		sbuf_addf(b, "Process exited with signal %s.",
		    text_signal_name(s->facts.exit_signal));
	else if (s->facts.exit_code >= 0)
		sbuf_addf(b, "Process exited with code %d.",
		    (int)s->facts.exit_code);
	else if (s->facts.reason == END_SPAWN_ERROR)
		add_spawn_error(s, b);
	else
		sbuf_add(b, "Process exited with unknown exit code.");
	if (!needs_reason(s))
		return;
	sbuf_add(b, "\n\n");
	result_end_words(s, b);
}

/* For log, whose lines say what it made of an exit of its own. */
void
result_log_words(const struct session *s, struct sbuf *b)
{
	struct sbuf how = SBUF_INIT;

	if (s->facts.reason == END_MANUAL_CANCEL)
		add_stopped(s, "Process", &how);
	else if (needs_reason(s))
		result_end_words(s, &how);
	if (how.len > 0)
		sbuf_addf(b, "\n\n%s", how.p);
	sbuf_fini(&how);
}
