/* SPDX-License-Identifier: MIT */
/*
 * The end of a foreground exec: what is still to be shown, what is to be said
 * and the exit code. Called by run.c.
 */
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "run.h"

int
run_spawn_failure_code(const psup_value *details)
{
	static const char *const passing[] = {"EAGAIN", "ENOMEM", "EMFILE",
	    "ENFILE"};

	if (!psup_get_is(details, "stage", "exec"))
		return EXIT_INTERNAL; /* no fault of the program's */
	if (psup_get_is(details, "errno", "ENOENT"))
		return EXIT_NO_COMMAND;
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (psup_get_is(details, "errno", passing[i]))
			return EXIT_INTERNAL;
	return EXIT_CANNOT_RUN;
}

int
run_exit_code(const psup_value *details)
{
	char signal[32];
	int64_t code = psup_get_int(details, "exitCode", -1);

	if (psup_get_bool(details, "timedOut", false) ||
	    psup_get_bool(details, "noOutputTimedOut", false))
		return EXIT_TIMED_OUT;
	if (psup_get_copy(details, "exitSignal", signal, sizeof(signal)) > 0 &&
	    psup_signal_number(signal) > 0)
		return 128 + psup_signal_number(signal);
	if (code >= 0 && code <= 255)
		return (int)code;
	if (psup_get_is(details, "status", "running"))
		return EXIT_OK; /* it went to the background */
	return run_spawn_failure_code(details);
}

/* What a time-out has left of the command: ", none of its processes is left"
 * or how many and which are. */
static void
left_words(const psup_value *details, char *ret, size_t size)
{
	const psup_value *pids = psup_value_get(details, "remainingPids");
	int64_t left = psup_get_int(details, "remaining", -1);
	size_t n = 0, i;

	ret[0] = '\0';
	if (left == 0)
		snprintf(ret, size, "its processes were ended, 0 remain");
	if (left <= 0)
		return;
	n = (size_t)snprintf(ret, size,
	    "%lld of its processes remain:", (long long)left);
	for (i = 0; i < psup_value_count(pids) && n < size - 16; i++)
		n += (size_t)snprintf(ret + n, size - n, " %lld",
		    (long long)psup_value_int(psup_value_at(pids, i), 0));
}

void
run_say_warnings(const psup_value *details, bool pipes_said)
{
	static const char pipes[] = "no terminal could be had";
	const psup_value *list = psup_value_get(details, "warnings");
	const char *text;
	size_t len;

	for (size_t i = 0; i < psup_value_count(list); i++) {
		text = psup_value_str(psup_value_at(list, i), &len);
		if (text == NULL || (pipes_said && len >= sizeof(pipes) - 1 &&
		    memcmp(text, pipes, sizeof(pipes) - 1) == 0))
			continue;
		cli_say("warning: %.*s", (int)(len < 2000 ? len : 2000), text);
	}
}

/* Says what a shell would say, or with --json prints the answer. */
static int
finish(struct run *r)
{
	const psup_value *details = psup_reply_details(r->reply);
	const char *text;
	char left[400], word[64];
	size_t len;
	int code = run_exit_code(details);
	bool ran = psup_value_type(psup_value_get(details, "exitCode")) ==
	        PSUP_INT ||
	    psup_value_type(psup_value_get(details, "exitSignal")) == PSUP_STR;

	if (r->dropped > 0)
		cli_say("%llu bytes of output are missing (nobody read them "
		        "for too long, or memory is full); " LOG_KEEP_MORE,
		    (unsigned long long)r->dropped);
	if (r->o->quiet) {
		cli_print_json(json_of_value(psup_reply_value(r->reply)));
		return code;
	}
	run_say_warnings(details, r->no_pty);
	text = psup_reply_text(r->reply, &len);
	left_words(details, left, sizeof(left));
	if (psup_get_is(details, "status", "running")) {
		/* of what has not begun nothing else has said it */
		psup_get_copy(details, "sessionId", word, sizeof(word));
		cli_say("it goes on in the background as %s", word);
	} else if (code == EXIT_TIMED_OUT &&
	    psup_get_bool(details, "noOutputTimedOut", false))
		cli_say("ended after too long a silence; %s", left);
	else if (code == EXIT_TIMED_OUT &&
	    psup_get_bool(details, "timedOut", false))
		cli_say("timed out; %s; what it did so far may have had "
		        "effects", left);
	else if (psup_get_copy(details, "limitHit", word, sizeof(word)) > 0)
		cli_say("ended by a limit: %s", word);
	else if (!ran && r->waiting_signal == 0)
		cli_say("%.*s", len > 2000 ? 2000 : (int)len,
		    text != NULL ? text : "it could not be run");
	return code;
}

/* The end of the loop, as an exit code. */
int
run_judge(struct run *r)
{
	int code;

	if (r->out.broken)
		return 128 + SIGPIPE;
	if (r->reply != NULL)
		code = finish(r);
	else
		code = EXIT_INTERNAL;
	if (r->waiting_signal != 0)
		code = 128 + r->waiting_signal;
	else if (r->reply == NULL)
		cli_say("%s", r->error);
	if (r->reply == NULL && r->o->quiet)
		cli_print_json(cli_error_object(r->error_code, r->error_field,
		    r->error));
	if (r->out.error != 0) {
		cli_say("stdout: %s", strerror(r->out.error));
		code = EXIT_INTERNAL;
	}
	return code;
}

void
run_fetch_rest(struct run *r)
{
	static char buf[65536];
	struct psup_view_session s;
	struct psup_view_chunk chunk;
	psup_view *v;
	ssize_t n;

	if (r->o->quiet ||
	    psup_view_open(psup_runtime_dir(r->c->p), &v, NULL, 0) < 0)
		return;
	while (psup_view_find(v, r->session, &s) == 0 &&
	    r->next < s.total_bytes) {
		n = psup_view_read_output(v, s.instance, r->next, buf,
		    sizeof(buf), &chunk);
		if (n <= 0)
			break;
		r->dropped += chunk.dropped;
		r->next = chunk.next;
		if (sink_put(chunk.stream == PSUP_STDERR ? &r->err : &r->out,
		        buf, (size_t)n) < 0)
			r->dropped += (size_t)n;
	}
	psup_view_close(&v);
}
