/* SPDX-License-Identifier: MIT */
/*
 * A person at the terminal of a session that others may watch, too. Output is
 * read by position with long polls, so a stopped or slow client costs the
 * server nothing, libpsup asks a restarted master for the next byte, and what
 * was overwritten meanwhile is counted. One poll(2) loop; nothing in it blocks.
 * Called by cmd_attach.c.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "attach.h"
#include "common/clock.h"

#define POLL_WAIT_MS  20000
#define POLL_BYTES    262144
#define HELD_BYTES    65536u /* not shown yet: then no more is asked for */
#define REDRAW_MS     100   /* between two sizes, so that both are seen */

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP,
    SIGCONT, SIGWINCH};

/* ------------------------------------------------------------------ output */

/* term_out()'s way to the sink. */
static int
show(void *arg, const char *data, size_t len)
{
	return sink_put(arg, data, len);
}

/* Bytes of which the last `live` are new. */
static void
take_bytes(struct attach *a, const char *data, size_t len, size_t live)
{
	int rc;

	a->screen.replay = true;
	rc = term_out(&a->screen, data, len - live, show, &a->out);
	a->screen.replay = false;
	if (rc == 0)
		rc = term_out(&a->screen, data + (len - live), live, show,
		    &a->out);
	if (rc != 0)
		a->missed += len;
}

void
attach_fail(struct attach *a, int rc)
{
	a->failed = rc;
	a->over = true;
}

/* The output of one poll. True: that was the last of it. */
static bool
take_output(struct attach *a, const psup_value *details)
{
	uint64_t next, dropped;
	const char *data;
	size_t len, live = 0;

	data = psup_get_str(details, "output", &len);
	if (data == NULL)
		return true;
	next = (uint64_t)psup_get_int(details, "next", (int64_t)a->next);
	dropped = (uint64_t)psup_get_int(details, "dropped", 0);
	if (next > a->replay_to)
		live = next - a->replay_to < len ? (size_t)(next - a->replay_to)
		                                 : len;
	if (dropped > 0) {
		if (next > a->seen)
			a->missed += dropped;
		a->redraw = true;
	}
	if (next > a->seen)
		a->seen = next;
	take_bytes(a, data, len, live);
	a->next = next;
	if (a->redraw && a->next >= a->replay_to && a->redraw_ns == 0) {
		a->redraw = false;
		a->redraw_ns = clock_boot_ns() + REDRAW_MS * 1000000ull;
		attach_tty_resize(a, 1);
	}
	return len == 0 && !psup_get_is(details, "status", "running");
}

/* The answer of a poll. */
static void
on_polled(void *arg, int status, psup_reply *reply)
{
	struct attach *a = arg;

	a->polling = false;
	if (a->again) {
		a->again = false;
	} else if (status != PSUP_OK) {
		attach_fail(a, status);
	} else if (take_output(a, psup_reply_details(reply))) {
		a->over = true;
		a->last = reply;
		return;
	}
	psup_reply_free(&reply);
}

/* Asks for what comes next, where our own terminal is ready for it. */
static void
ask_output(struct attach *a)
{
	psup_args *args;
	int rc;

	if (a->polling || a->over || sink_pending(&a->out) > HELD_BYTES)
		return;
	args = psup_args_new();
	if (args == NULL)
		return;
	psup_args_str(args, "sessionId", a->id);
	psup_args_int(args, "since", (int64_t)a->next);
	psup_args_int(args, "timeout", POLL_WAIT_MS);
	psup_args_int(args, "maxBytes", POLL_BYTES);
	psup_args_bool(args, "raw", true);
	rc = psup_send(a->c->p, "poll", args, on_polled, a, &a->poll_id);
	psup_args_free(&args);
	a->polling = rc == PSUP_OK;
	if (rc != PSUP_OK)
		attach_fail(a, rc);
}

/* ----------------------------------------------------------------- signals */

/* All is drawn again: we were stopped, and whoever had our terminal meanwhile has
 * changed it; or the hint stood on it. */
static void
go_on(struct attach *a)
{
	attach_tty_leave(a);
	attach_tty_enter(a);
	if (a->next > a->replay_to)
		a->replay_to = a->next;
	a->next = 0;
	a->again = a->polling;
	if (a->polling)
		(void)psup_cancel(a->c->p, a->poll_id);
	attach_tty_resize(a, 0);
}

/* Takes what the signalfd has. */
static void
take_signals(struct attach *a)
{
	struct signalfd_siginfo info;

	while (read(a->signal_fd, &info, sizeof(info)) ==
	    (ssize_t)sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGWINCH:
			attach_tty_resize(a, 0);
			break;
		case SIGTSTP:
			attach_tty_leave(a);
			raise(SIGSTOP);
			break;
		case SIGCONT:
			go_on(a);
			break;
		default:
			attach_leave(a, (int)info.ssi_signo);
			break;
		}
	}
}

/* -------------------------------------------------------------------- loop */

/* How long poll(2) may sleep. */
static int
wait_ms(const struct attach *a)
{
	uint64_t due = a->redraw_ns, now = clock_boot_ns();

	if (a->leave_ns != 0 && (due == 0 || a->leave_ns < due))
		due = a->leave_ns;
	if (a->hint_ns != 0 && (due == 0 || a->hint_ns < due))
		due = a->hint_ns;
	if (due == 0)
		return -1;
	return due > now ? (int)((due - now) / 1000000u) + 1 : 0;
}

/* The hint goes; who has another size than we is not asked to draw anew. */
static void
end_hint(struct attach *a)
{
	if (a->screen.state != 0) { /* within a sequence of the session's */
		a->hint_ns += REDRAW_MS * 1000000ull;
		return;
	}
	attach_tty_hint_off(a);
	if (a->o->fixed_size || a->o->read_only)
		go_on(a);
	else
		attach_tty_resize(a, 0);
}

/* Waits for whatever comes first, and handles it. */
static void
turn(struct attach *a)
{
	enum { SERVER, SIGNALS, INPUT, OUTPUT, COUNT };
	struct pollfd pfd[COUNT];

	for (int i = 0; i < COUNT; i++)
		pfd[i] = (struct pollfd){.fd = -1};
	pfd[SIGNALS] = (struct pollfd){a->signal_fd, POLLIN, 0};
	if (psup_is_connected(a->c->p))
		pfd[SERVER] = (struct pollfd){psup_fd(a->c->p),
		    psup_fd_events(a->c->p), 0};
	if (a->in_open && (a->in_tty || a->in_len < sizeof(a->in) / 2))
		pfd[INPUT] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	if (sink_pending(&a->out) > 0)
		pfd[OUTPUT] = (struct pollfd){a->out.fd, POLLOUT, 0};
	if (poll(pfd, COUNT, wait_ms(a)) < 0)
		return; /* EINTR */
	if (pfd[OUTPUT].revents != 0)
		sink_flush(&a->out);
	if (pfd[SIGNALS].revents != 0)
		take_signals(a);
	if (pfd[INPUT].revents != 0)
		attach_keys_read(a);
	if (pfd[SERVER].revents != 0)
		psup_dispatch(a->c->p);
	if (a->redraw_ns != 0 && clock_boot_ns() >= a->redraw_ns) {
		a->redraw_ns = 0;
		attach_tty_resize(a, 0);
	}
	if (a->hint_ns != 0 && clock_boot_ns() >= a->hint_ns)
		end_hint(a);
}

/* Until it is over, for us or for the session. */
static void
loop(struct attach *a)
{
	for (;;) {
		sink_flush(&a->out);
		if (a->out.broken || a->out.error != 0)
			return;
		if (a->over && sink_pending(&a->out) == 0)
			return;
		if (a->leave_ns != 0 &&
		    (a->in_len == 0 || clock_boot_ns() >= a->leave_ns))
			return;
		attach_tty_hint(a);
		ask_output(a);
		attach_keys_send(a);
		turn(a);
	}
}

/* ------------------------------------------------------------------ the end */

/* Says how it ended; the exit code. */
static int
judge(struct attach *a)
{
	const psup_value *details = psup_reply_details(a->last);
	const char *text;
	size_t len = 0;

	if (a->missed > 0)
		cli_say("%llu bytes of output were not shown: they were no "
		        "longer kept",
		    (unsigned long long)a->missed);
	if (a->unsure > 0)
		cli_say("up to %llu bytes that were typed while the server "
		        "was away may be lost",
		    (unsigned long long)a->unsure);
	if (a->failed != PSUP_OK)
		return cli_fail(a->c, a->failed);
	if (a->out.broken)
		return 128 + SIGPIPE;
	if (a->out.error != 0) {
		cli_say("stdout: %s", strerror(a->out.error));
		return EXIT_INTERNAL;
	}
	if (!a->over) {
		cli_say("detached from %s; it goes on", a->id);
		return a->by_signal != 0 ? 128 + a->by_signal : EXIT_OK;
	}
	text = psup_reply_text(a->last, &len);
	if (len > 500)
		len = 500;
	if (psup_get_str(details, "output", NULL) == NULL) {
		cli_say("%.*s", (int)len, text != NULL ? text : "");
		return EXIT_FAILED; /* removed */
	}
	cli_say("session %s: %.*s", a->id, (int)len, text != NULL ? text : "");
	return run_exit_code(details);
}

/* Is it a terminal that is there? The exit code where not, else -1. */
static int
look(struct attach *a)
{
	const psup_value *details;
	psup_reply *reply;
	psup_args *args = psup_args_new();
	int rc, code = -1;

	psup_args_str(args, "sessionId", a->id);
	psup_args_int(args, "since", 0);
	psup_args_int(args, "maxBytes", 1);
	rc = psup_call(a->c->p, "poll", args, -1, &reply);
	psup_args_free(&args);
	if (rc != PSUP_OK)
		return cli_fail(a->c, rc);
	details = psup_reply_details(reply);
	if (psup_get_str(details, "output", NULL) == NULL)
		return cli_answer(a->c, &reply);
	a->replay_to = (uint64_t)psup_get_int(details, "totalOutputChars", 0);
	if (!psup_get_is(details, "status", "running")) {
		cli_say("session %s has ended; psup log %s shows its output",
		    a->id, a->id);
		code = EXIT_FAILED;
	} else if (!psup_get_bool(details, "pty", false)) {
		cli_say("session %s has pipes, no terminal; psup log -f %s "
		        "follows it, psup write %s feeds it",
		    a->id, a->id, a->id);
		code = EXIT_FAILED;
	}
	psup_reply_free(&reply);
	return code;
}

int
attach_run(struct cli *c, const char *id, const struct attach_options *o)
{
	static struct attach a;
	int code;

	a = (struct attach){.c = c, .o = o, .id = id, .signal_fd = -1,
	    .in_pos = -1, .in_open = true, .hint = true};
	code = look(&a);
	if (code >= 0)
		return code;
	a.in_tty = isatty(STDIN_FILENO) == 1;
	if (a.in_tty && tcgetpgrp(STDIN_FILENO) != getpgrp())
		a.in_tty = a.in_open = false; /* in the background */
	sink_open(&a.out, STDOUT_FILENO);
	a.signal_fd = run_signals(handled, sizeof(handled) / sizeof(handled[0]),
	    NULL);
	if (a.signal_fd < 0) {
		cli_say("no descriptor left");
		return EXIT_INTERNAL;
	}
	attach_tty_enter(&a);
	attach_tty_resize(&a, 0);
	loop(&a);
	attach_tty_leave(&a);
	code = judge(&a);
	psup_close(c->p); /* answers that are still to come are of no use */
	psup_reply_free(&a.last);
	sink_close(&a.out);
	close(a.signal_fd);
	return code;
}
