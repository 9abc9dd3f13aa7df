/* SPDX-License-Identifier: MIT */
/* The words of ended.h. Called by the commands that show an end. */
#include "ended.h"

#include <stdio.h>
#include <string.h>

/* Ends that are not the command's own, by exitReason. %s: what the row says
 * of it under `key`. */
static const struct reason {
	const char *reason, *words, *key;
	const char *brief; /* for a column; NULL: the same */
} reasons[] = {
	{"overall-timeout", "timed out", NULL, NULL},
	{"no-output-timeout", "timed out (silent for too long)", NULL,
	    "timed out (silent)"},
	{"oom", "out of memory", "limitHit", "out of memory"},
	{"limit", "ended by a limit", "limitHit", NULL},
	{"lost", "lost (its exit is not known)", NULL, "lost"},
	{"shutdown", "ended by the server's shutdown", NULL, "shutdown"},
	{"spawn-error", "could not be started", "errno", "not started"},
	{"lane-cleared", "not run (its lane was cleared)", NULL, "not run"},
	{"deadlock", "not run (it would have waited for itself)", NULL,
	    "not run"},
};

const char *
ended_signal(const char *name)
{
	return name + (strncmp(name, "SIG", 3) == 0 ? 3 : 0);
}

/* By its exit alone. */
static void
exit_words(const json_t *row, bool brief, char *ret, size_t size)
{
	const char *signal = ended_signal(json_text(row, "exitSignal"));
	const json_t *code = json_object_get(row, "exitCode");
	const char *status = json_text(row, "status");
	long long n = json_integer_value(code);

	if (signal[0] != '\0')
		snprintf(ret, size, "killed by %s", signal);
	else if (json_is_integer(code) && brief)
		snprintf(ret, size, "exited %lld", n);
	else if (json_is_integer(code))
		snprintf(ret, size, "%s (exit %lld)", status, n);
	else
		snprintf(ret, size, "%s", status);
}

void
ended_words(const json_t *row, bool brief, char *ret, size_t size)
{
	const char *state = json_text(row, "state"), *more;
	const char *why = json_text(row, "exitReason");

	if (strcmp(state, "queued") == 0) {
		snprintf(ret, size, "queued");
		return;
	}
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strcmp(why, reasons[i].reason) != 0)
			continue;
		more = reasons[i].key != NULL ? json_text(row, reasons[i].key)
		                              : "";
		if (brief && reasons[i].brief != NULL) {
			snprintf(ret, size, "%s", reasons[i].brief);
			return;
		}
		snprintf(ret, size, more[0] != '\0' ? "%s (%s)" : "%s",
		    reasons[i].words, more);
		return;
	}
	exit_words(row, brief, ret, size);
}
