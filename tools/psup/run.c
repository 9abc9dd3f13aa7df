/* SPDX-License-Identifier: MIT */
/*
 * A command in the foreground: output, input, signals and the exit code go
 * through as if it were a child of this shell. One poll(2) loop; nothing in it
 * blocks. Called by cmd_exec.c.
 *
 * Lossless: while our own reader is slow the connection is not read, and the
 * server then slows the command.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "color.h"
#include "common/clock.h"
#include "run.h"

#define HELD_BYTES   524288u /* output we hold before the server must wait */
#define STOP_WAIT_NS 3000000000ull /* for the command to have stopped */
#define LEAVE_NS     5000000000ull /* after a signal that no master takes */
#define AGAIN_NS     2000000000ull /* a second Ctrl-C within this escalates */
#define TTY_CHECK_MS 300   /* are we in the foreground again? */

/* The last one where the command has a terminal. */
static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP,
    SIGWINCH};

/* ------------------------------------------------------------------ output */

/* A piece of output. */
static void
take_output(struct run *r, const psup_value *params)
{
	const char *data;
	size_t len;
	bool to_err;

	data = psup_get_str(params, "data", &len);
	if (data == NULL)
		return;
	r->next = (uint64_t)psup_get_int(params, "pos", 0) + len;
	r->dropped += (uint64_t)psup_get_int(params, "dropped", 0);
	to_err = psup_get_is(params, "stream", "stderr");
	progress_output(&r->progress, data, len,
	    !r->o->quiet && (to_err ? r->err_tty : r->out_tty));
	if (r->o->quiet)
		return;
	if ((to_err ? sink_put(&r->err, data, len)
	            : run_tty_show(r, data, len)) < 0)
		r->dropped += len;
}

static void send_signal(struct run *r, int sig);

/* Notifications of our exec. */
static void
on_note(void *arg, const char *name, const psup_value *params)
{
	struct run *r = arg;
	int sig = r->waiting_signal;

	if ((uint32_t)psup_get_int(params, "msgid", -1) != r->exec_id)
		return;
	if (strcmp(name, "output") == 0) {
		take_output(r, params);
	} else if (strcmp(name, "session") == 0) {
		psup_get_copy(params, "sessionId", r->session,
		    sizeof(r->session));
		r->running = psup_get_is(params, "state", "running");
		if (r->running && r->o->pty && !r->no_pty &&
		    !psup_get_bool(params, "pty", true)) {
			/* Ctrl-C is ours again */
			run_tty_close(r);
			r->no_pty = true;
			cli_say("no terminal could be had; the command runs "
			        "with pipes");
		}
		if (r->running)
			run_tty_resize(r);
		if (r->running && sig != 0) {
			r->waiting_signal = 0;
			send_signal(r, sig);
		}
	}
	if (sink_pending(&r->out) + sink_pending(&r->err) > HELD_BYTES)
		psup_pause(r->c->p, true);
}

/* Keeps the handle's error for the end. */
static void
note_error(struct run *r)
{
	snprintf(r->error, sizeof(r->error), "%s", psup_error_message(r->c->p));
	snprintf(r->error_code, sizeof(r->error_code), "%s",
	    psup_error_code(r->c->p));
	snprintf(r->error_field, sizeof(r->error_field), "%s",
	    psup_error_field(r->c->p));
}

/* The answer of the exec. */
static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct run *r = arg;

	r->answered = true;
	r->status = status;
	r->reply = reply;
	progress_hide(&r->progress);
	if (psup_resumed(r->c->p) > 0)
		run_fetch_rest(r);
	if (status != PSUP_OK)
		note_error(r);
}

/* ----------------------------------------------------------------- signals */

static void kill_next(struct run *r);

/* The answer to a kill; what it says shows in the exec's own. */
static void
on_killed(void *arg, int, psup_reply *reply)
{
	struct run *r = arg;

	psup_reply_free(&reply);
	psup_args_free(&r->kills[0]);
	memmove(r->kills, r->kills + 1, sizeof(r->kills) - sizeof(r->kills[0]));
	r->kills[KILLS - 1] = NULL;
	kill_next(r);
}

/* One at a time: the server knows a kill that is asked for again by being the
 * last one. */
static void
kill_next(struct run *r)
{
	if (r->kills[0] != NULL && psup_send(r->c->p, "kill", r->kills[0],
	        on_killed, r, NULL) != PSUP_OK)
		psup_args_free(&r->kills[0]);
}

/* One kill request; grace_ms < 0: just the signal. */
static void
send_kill(struct run *r, const char *signal, int grace_ms)
{
	psup_args *a = psup_args_new();
	size_t n = 0;

	while (n < KILLS && r->kills[n] != NULL)
		n++;
	if (a == NULL || n == KILLS) {
		psup_args_free(&a);
		return;
	}
	psup_args_str(a, "sessionId", r->session);
	psup_args_str(a, "signal", signal);
	psup_args_bool(a, "wait", false);
	psup_args_int(a, "killId", 1 + (int64_t)arc4random_uniform(INT32_MAX));
	if (grace_ms < 0)
		psup_args_bool(a, "escalate", false);
	else
		psup_args_int(a, "graceMs", grace_ms);
	r->kills[n] = a;
	if (n == 0)
		kill_next(r);
}

/* Where no master takes it, the next one will; but nobody need wait for that. */
static void
note_leave(struct run *r, int sig)
{
	if (sig != SIGINT && sig != SIGTERM && sig != SIGHUP && sig != SIGQUIT)
		return;
	if (r->leave_count++ == 0)
		r->leave_ns = clock_boot_ns() + LEAVE_NS;
	r->leave_signal = sig;
}

/* Was it told twice to end, or once and long ago, while no master was there? One
 * that has died may have had the signal in hand. */
static bool
leaves(struct run *r)
{
	if (!psup_is_resuming(r->c->p)) {
		if (r->kills[0] == NULL && r->waiting_signal == 0)
			r->leave_count = 0;
		return false;
	}
	if (r->leave_count == 0 ||
	    (r->leave_count < 2 && clock_boot_ns() < r->leave_ns))
		return false;
	r->waiting_signal = r->leave_signal;
	cli_say("no master answers; its command ends when one is there");
	return true;
}

/* Hands a signal on; a second and third Ctrl-C within 2 s mean it. */
static void
send_signal(struct run *r, int sig)
{
	note_leave(r, sig);
	if (r->session[0] == '\0' || !r->running) {
		/* Nothing runs yet: the request is given up. */
		r->waiting_signal = sig;
		psup_cancel(r->c->p, r->exec_id);
		return;
	}
	if (sig == SIGINT && r->ints == 2)
		send_kill(r, "TERM", 5000);
	else if (sig == SIGINT && r->ints > 2)
		send_kill(r, "KILL", 0);
	else
		send_kill(r, psup_signal_name(sig), -1);
}

/* Ctrl-Z: the command stops, then we; both go on together. */
static void
suspend(struct run *r)
{
	uint64_t until = clock_boot_ns() + STOP_WAIT_NS;

	progress_hide(&r->progress);
	if (r->running)
		send_kill(r, "STOP", -1);
	while (r->running && r->kills[0] != NULL && clock_boot_ns() < until)
		if (psup_turn(r->c->p, 1000) != PSUP_OK)
			break;
	run_tty_close(r);
	raise(SIGSTOP);
	run_tty_open(r);
	run_tty_resize(r);
	if (r->running)
		send_kill(r, "CONT", -1);
}

/* Takes what the signalfd has. */
static void
take_signals(struct run *r)
{
	struct signalfd_siginfo info;
	uint64_t now;

	while (read(r->signal_fd, &info, sizeof(info)) ==
	    (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH) {
			run_tty_resize(r);
			continue;
		}
		if (info.ssi_signo == SIGTSTP) {
			suspend(r);
			continue;
		}
		if (info.ssi_signo == SIGINT) {
			now = clock_boot_ns();
			if (now - r->last_int_ns > AGAIN_NS)
				r->ints = 0;
			r->last_int_ns = now;
			r->ints++;
			r->from_terminal = info.ssi_code == SI_KERNEL;
		}
		send_signal(r, (int)info.ssi_signo);
	}
}

/* -------------------------------------------------------------------- loop */

/* Waits for whatever comes first, and handles it. */
static void
turn(struct run *r)
{
	enum { SERVER, SIGNALS, INPUT, OUTPUT, ERRORS, COUNT };
	struct pollfd pfd[COUNT];
	bool reading = run_input_wanted(r) && run_input_readable(r);
	int timeout = run_input_wanted(r) && !reading ? TTY_CHECK_MS : -1;
	int n;

	if (r->leave_count > 0)
		timeout = TTY_CHECK_MS;
	if (r->progress.on && !r->answered)
		timeout = PROGRESS_TURN_MS;
	for (int i = 0; i < COUNT; i++)
		pfd[i] = (struct pollfd){.fd = -1};
	pfd[SIGNALS] = (struct pollfd){r->signal_fd, POLLIN, 0};
	if (!r->answered) {
		pfd[SERVER].events = psup_fd_events(r->c->p);
		if (pfd[SERVER].events != 0)
			pfd[SERVER].fd = psup_fd(r->c->p);
	}
	if (reading && !r->answered)
		pfd[INPUT] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	if (sink_pending(&r->out) > 0)
		pfd[OUTPUT] = (struct pollfd){r->out.fd, POLLOUT, 0};
	if (sink_pending(&r->err) > 0)
		pfd[ERRORS] = (struct pollfd){r->err.fd, POLLOUT, 0};
	n = poll(pfd, COUNT, timeout);
	if (n < 0)
		return; /* EINTR */
	if (n == 0)
		progress_turn(&r->progress, r->running);
	if (pfd[OUTPUT].revents != 0)
		sink_flush(&r->out);
	if (pfd[ERRORS].revents != 0)
		sink_flush(&r->err);
	if (pfd[SIGNALS].revents != 0 && r->answered) {
		/* Only our own reader is waited for: die as anybody would. */
		run_tty_close(r);
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
		return;
	}
	if (pfd[SIGNALS].revents != 0)
		take_signals(r);
	if (pfd[INPUT].revents != 0)
		run_input_read(r);
	if (pfd[SERVER].revents != 0)
		psup_dispatch(r->c->p);
}

/* Output to sinks at once, and the server goes on when there is room. */
static void
settle(struct run *r)
{
	sink_flush(&r->out);
	sink_flush(&r->err);
	if (r->answered || !psup_is_connected(r->c->p))
		return;
	if (sink_pending(&r->out) + sink_pending(&r->err) <= HELD_BYTES / 2) {
		psup_pause(r->c->p, false);
		psup_dispatch(r->c->p);
	}
}

/* Until the command has ended and its output is with our reader. */
static void
loop(struct run *r)
{
	for (;;) {
		settle(r);
		if (r->out.broken && !r->answered) {
			psup_cancel(r->c->p, r->exec_id);
			while (psup_unsent(r->c->p) > 0 &&
			    psup_turn(r->c->p, 1000) == PSUP_OK)
				continue;
			return;
		}
		if (r->answered && sink_pending(&r->out) == 0 &&
		    sink_pending(&r->err) == 0)
			return;
		if (!r->answered && leaves(r))
			return;
		turn(r);
	}
}

/* Ctrl-C ended it: end the same way, so that a shell loop stops too. */
static void
die_of_interrupt(void)
{
	sigset_t mask;

	signal(SIGINT, SIG_DFL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	raise(SIGINT);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
}

int
run_foreground(struct cli *c, const struct run_options *o)
{
	struct run r = {.c = c, .o = o, .signal_fd = -1};
	psup_args *args = o->args;
	int code, rc;

	sink_open(&r.out, STDOUT_FILENO);
	sink_open(&r.err, STDERR_FILENO);
	r.in_open = o->forward_stdin;
	r.in_tty = isatty(STDIN_FILENO) == 1;
	r.out_tty = isatty(STDOUT_FILENO) == 1;
	r.err_tty = isatty(STDERR_FILENO) == 1;
	progress_open(&r.progress, &r.err,
	    !c->no_progress && !o->pty && color_terminal(STDERR_FILENO));
	r.in = malloc(RUN_INPUT_BYTES);
	r.signal_fd = run_signals(forwarded, sizeof(forwarded) /
	    sizeof(forwarded[0]) - !o->pty, &r.old_mask);
	if (args == NULL || r.in == NULL || r.signal_fd < 0) {
		cli_say("no memory or no descriptor left");
		code = EXIT_INTERNAL;
	} else {
		psup_on_note(c->p, on_note, &r);
		run_tty_open(&r);
		rc = psup_send(c->p, "exec", o->args, on_answer, &r,
		    &r.exec_id);
		if (rc == PSUP_OK)
			loop(&r);
		run_tty_close(&r);
		progress_hide(&r.progress);
		code = rc == PSUP_OK ? run_judge(&r) : cli_fail(c, rc);
		if (rc == PSUP_ERR_REFUSED)
			code = EXIT_INTERNAL;
	}
	psup_reply_free(&r.reply);
	for (size_t i = 0; i < KILLS; i++)
		psup_args_free(&r.kills[i]);
	sink_close(&r.out);
	sink_close(&r.err);
	free(r.in);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	psup_args_free(&args);
	if (code == 128 + SIGINT && r.from_terminal)
		die_of_interrupt();
	return code;
}
