/* SPDX-License-Identifier: MIT */
/*
 * What is said about a session: the words for a model, the fields of details,
 * rows of list. Decides nothing and changes nothing.
 */
#ifndef PSUP_RESULT_H
#define PSUP_RESULT_H

#include "supervisor/master.h"

/* completed, failed or running, for details.status. */
const char *result_status(const struct session *s);
/* failureKind, or NULL where nothing failed. */
const char *result_failure_kind(const struct session *s);
/* exitReason. */
const char *result_exit_reason(const struct session *s);
/* Words after the output: how it ended ("" for exit 0). */
void result_end_words(const struct session *s, struct sbuf *b);
/* "Process exited with code 1." for poll. */
void result_exit_words(const struct session *s, struct sbuf *b);
/* "[12 bytes of earlier output ...]" where some are not shown. */
void result_note(uint64_t omitted, uint64_t dropped, struct sbuf *b);
/* exitCode, exitSignal, exitReason, timedOut, noOutputTimedOut. */
void result_exit_fields(const struct session *s, struct enc *e);
/* remaining, remainingPids: what a forced end has left alive. */
void result_remaining(const struct session *s, struct enc *e);
/* One row of list, wait; `usage`: with a sample where it runs. */
void result_row(struct master *m, struct session *s, bool usage,
    struct enc *e);
/* The line of list's text. */
void result_line(const struct session *s, uint64_t now_ms, struct sbuf *b);
/* stdin writable and silent for long. */
bool result_waits_for_input(struct master *m, struct session *s,
    uint64_t *ret_idle_ms, uint64_t *ret_last_ms);
bool result_stdin_writable(const struct session *s);

/* Whole answers: {text, details, isError}. */
void result_exec_ended(struct master *m, struct session *s,
    const char *warnings, struct enc *e);
void result_exec_running(struct master *m, struct session *s,
    const char *warnings, struct enc *e);
void result_event_text(struct master *m, struct session *s, struct sbuf *b);

/* Retained output as text, its last `max` bytes. */
struct output {
	struct sbuf text;
	uint64_t omitted; /* bytes of the session not in text */
	uint64_t dropped; /* of these gone for good */
};
void output_read(struct master *m, struct session *s, size_t max,
    struct output *ret);

#endif
