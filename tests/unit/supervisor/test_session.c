/* SPDX-License-Identifier: MIT */
/* The table of allowed moves, and the words that come from an end. */
#include <criterion/criterion.h>
#include <signal.h>

#include "supervisor/master.h"
#include "supervisor/words/result.h"

Test(session, moves_forward_only, .timeout = 10)
{
	for (uint32_t a = 0; a < STATE_COUNT; a++)
		for (uint32_t b = 0; b <= a; b++)
			cr_assert_not(session_may_move(a, b), "%u -> %u", a, b);
	cr_assert(session_may_move(STATE_FREE, STATE_QUEUED));
	cr_assert(session_may_move(STATE_FREE, STATE_STARTING));
	cr_assert_not(session_may_move(STATE_FREE, STATE_RUNNING));
	cr_assert_not(session_may_move(STATE_QUEUED, STATE_RUNNING));
	cr_assert(session_may_move(STATE_QUEUED, STATE_ENDED));
	cr_assert(session_may_move(STATE_EXITED, STATE_ENDED));
	cr_assert_not(session_may_move(STATE_COUNT, STATE_ENDED));
	cr_assert_not(session_may_move(STATE_RUNNING, STATE_COUNT));
}

Test(session, status_follows_reason_and_code, .timeout = 10)
{
	cr_assert_eq(session_status_of(END_EXIT, 0), STATUS_COMPLETED);
	cr_assert_eq(session_status_of(END_EXIT, 3), STATUS_COMPLETED);
	cr_assert_eq(session_status_of(END_EXIT, 126), STATUS_FAILED);
	cr_assert_eq(session_status_of(END_EXIT, 127), STATUS_FAILED);
	cr_assert_eq(session_status_of(END_SIGNAL, -1), STATUS_FAILED);
	cr_assert_eq(session_status_of(END_MANUAL_CANCEL, -1), STATUS_KILLED);
	cr_assert_eq(session_status_of(END_LOST, -1), STATUS_LOST);
	cr_assert_eq(session_status_of(END_NONE, -1), STATUS_RUNNING);
}

/* The words for one end. */
static void
expect_words(struct session *s, const char *want, const char *kind)
{
	struct sbuf b = SBUF_INIT;
	const char *got = result_failure_kind(s);

	result_end_words(s, &b);
	cr_assert_not_null(strstr(b.p != NULL ? b.p : "", want),
	    "\"%s\" has no \"%s\"", b.p != NULL ? b.p : "", want);
	if (kind == NULL)
		cr_assert_null(got);
	else
		cr_assert_str_eq(got, kind);
	sbuf_fini(&b);
}

Test(session, words_of_ends, .timeout = 10)
{
	struct session s = {.state = STATE_ENDED, .facts.reason = END_EXIT,
	    .facts.exit_code = 3};

	expect_words(&s, "(Command exited with code 3)", NULL);
	s.facts.exit_code = 127;
	expect_words(&s, "Command not found", "shell-command-not-found");
	s.facts.exit_code = 126;
	expect_words(&s, "not executable", "shell-not-executable");
	s.facts.exit_code = -1;
	s.facts.reason = END_OVERALL_TIMEOUT;
	s.wish.timeout_ms = 1500;
	expect_words(&s, "timed out after 1.5 seconds.", "overall-timeout");
	expect_words(&s, "not automatically safe", "overall-timeout");
	s.facts.reason = END_NO_OUTPUT_TIMEOUT;
	expect_words(&s, "waiting for output", "no-output-timeout");
	s.facts.reason = END_SIGNAL;
	s.facts.exit_signal = SIGSEGV;
	expect_words(&s, "Command aborted by signal SIGSEGV", "signal");
	s.facts.reason = END_ABORTED;
	expect_words(&s, "given up", "aborted");
	s.facts.reason = END_LOST;
	expect_words(&s, "exit status is unknown", "lost");
}

Test(session, notes_count_exactly, .timeout = 10)
{
	struct sbuf b = SBUF_INIT;

	result_note(0, 0, NULL, &b);
	cr_assert_eq(b.len, 0);
	result_note(7, 7, NULL, &b);
	cr_assert_not_null(strstr(b.p, "7 bytes"));
	cr_assert_not_null(strstr(b.p, "cannot be recovered"));
	sbuf_fini(&b);
	result_note(10, 4, NULL, &b);
	cr_assert_not_null(strstr(b.p, "10 bytes"));
	cr_assert_not_null(strstr(b.p, "4 of them were dropped"));
	sbuf_fini(&b);
}
