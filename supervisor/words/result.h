/* SPDX-License-Identifier: MIT */
/*
 * What is said about a session: the words for a model, the fields of details,
 * rows of list. Decides nothing and changes nothing.
 */
#ifndef PSUP_SUPERVISOR_WORDS_RESULT_H
#define PSUP_SUPERVISOR_WORDS_RESULT_H

#include "supervisor/master.h"
#include "supervisor/words/output_answer.h"

/* completed, failed or running, for details.status. */
const char *result_status(const struct session *s);
/* failureKind, or NULL where nothing failed. */
const char *result_failure_kind(const struct session *s);
/* Is that the sandbox? result_exit_fields() says it then, else exec alone. */
bool result_is_sandbox_failure(const struct session *s);
/* Its box ended while it ran: the signal that killed it is known. */
bool result_lost_with_box(const struct session *s);
/* Ended because its handling crashed the workers (keeper/procs.c). */
bool result_is_quarantined(const struct session *s);
/* The limit that ended it, as the worker has judged (worker/limits.c); NULL:
 * none did. */
const char *result_limit_hit(const struct session *s);
/* exitReason. */
const char *result_exit_reason(const struct session *s);
/* Words after the output: how it ended ("" for exit 0). */
void result_end_words(const struct session *s, struct sbuf *b);
/* "Process exited with code 1." for poll. */
void result_exit_words(const struct session *s, struct sbuf *b);
/* What log says of an end that was not the command's own; else nothing. */
void result_log_words(const struct session *s, struct sbuf *b);
/* "[12 bytes of earlier output ...]" where some are not shown; session: whose,
 * for a reader who may not know, or NULL. */
void result_note(uint64_t omitted, uint64_t dropped, const char *session,
    struct sbuf *b);
/* exitCode, exitSignal (where there are), exitReason, timedOut,
 * noOutputTimedOut. */
void result_exit_fields(const struct session *s, struct enc *e);
/* By a kill, a time-out, a cancel or the shutdown, once it ran? */
bool result_was_forced(const struct session *s);
/* remaining, remainingPids: what a forced end has left alive. */
void result_remaining(const struct session *s, struct enc *e);
/* stdinUncertain, stdinUncertainBytes; nothing where all is certain. */
void result_uncertain(struct master *m, struct session *s, struct enc *e);
/* The same, and the terminal's size; nothing where there are pipes. */
void result_pty(struct master *m, struct session *s, struct enc *e);
/* instanceId: "<incarnation>.<sid>". */
void result_instance(const struct session *s, struct enc *e);
/* queuePosition, queuedFor: its place, and what it waits for. */
void result_queued(struct master *m, const struct session *s, struct enc *e);
/* Rows of one answer may cost so many looks into /proc (m->probes_left). */
#define RESULT_PROBES 16u
/* One row of list, wait; `u`: what it uses where it runs, or NULL. */
struct usage_sample;
/* Of a row these alone. */
struct result_fields {
	const struct val *names; /* NULL: all */
	uint32_t plain;          /* of these, those that cost little */
	bool others;             /* there are others */
};
/* Takes a list of names, or NULL, which is to live as long. NULL, or the first
 * that no row has. */
const struct val *result_fields_take(const struct val *names,
    struct result_fields *ret);
void result_row(struct master *m, struct session *s,
    const struct usage_sample *u, const struct result_fields *f, struct enc *e);
/* A whole one, its map left open for more fields. */
void result_row_open(struct master *m, struct session *s,
    const struct usage_sample *u, struct enc *e);
/* The line of list's text. */
void result_line(const struct session *s, uint64_t now_ms, struct sbuf *b);
/* Is it waiting for input, and since when is it silent? */
struct input_state {
	enum input_wait waits;
	uint64_t idle_ms,
	    last_ms; /* last_ms: wall; of output, else its start */
};
/* By evidence that is no older than max_age_ms, or by silence. `may_look`:
 * input_wait.h. */
struct input_state result_input_state(struct master *m, struct session *s,
    uint64_t max_age_ms, bool may_look);
/* stdinWritable, waitingForInput, waitReason, idleMs, lastOutputAt. */
void result_input_fields(const struct session *s, const struct input_state *i,
    struct enc *e);
/* The hint for a model. */
void result_waiting_words(const struct input_state *i, struct sbuf *b);
bool result_stdin_writable(const struct session *s);

/* {text, details {...}, isError}: the begin and the end of an answer, and what
 * is put between them is in details. text: NULL is "". */
void result_open(struct enc *e, const char *text, size_t len);
void result_close(struct enc *e, bool is_error);
/* The same of an answer whose text is made along with its rows: it comes last,
 * and the answer is no error. */
void result_open_details(struct enc *e);
void result_close_text(struct enc *e, const struct sbuf *text);
/* The answer of an exec whose session ended, all but its output; warnings may be
 * NULL. True: log shows more than it. */
bool result_exec_ended(struct master *m, struct session *s,
    const char *warnings, struct output_answer *a);
/* That of one whose session goes on. `waits`: it is answered before its time,
 * since it seems to wait for that. */
void result_exec_running(struct master *m, struct session *s,
    enum input_wait waits, const char *warnings, struct enc *e);
/* The fields of an exec that was refused, beside why. */
void result_not_run(const char *cwd, struct enc *e);
void result_event_text(struct master *m, struct session *s, struct sbuf *b);

/* A row of list with all fields, and its line. */
void row_list(struct master *m, struct session *s, uint64_t now_ms,
    struct enc *e, struct sbuf *text);

/* Why there is no output (readers_fault): into the text and the details;
 * nothing for NULL. */
void result_fault_words(const char *fault, struct sbuf *b);
void result_fault(const char *fault, struct enc *e);

#endif
