/* SPDX-License-Identifier: MIT */
/*
 * Our terminal while the command in the foreground has one of its own: every
 * key goes through as it is, Ctrl-C included, and the other terminal has the
 * size of ours. What attach.c has of its terminal and signals, too. Called by run.c
 * and attach*.c.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "run.h"

void
run_tty_size(int *ret_cols, int *ret_rows)
{
	static const int places[] = {STDOUT_FILENO, STDIN_FILENO,
	    STDERR_FILENO};
	struct winsize ws;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (ioctl(places[i], TIOCGWINSZ, &ws) != 0 || ws.ws_col == 0 ||
		    ws.ws_row == 0)
			continue;
		*ret_cols = ws.ws_col <= 1000 ? ws.ws_col : 1000;
		*ret_rows = ws.ws_row <= 1000 ? ws.ws_row : 1000;
		return;
	}
}

/* The answer to a resize: nothing to say. */
static void
on_resized(void *, int, psup_reply *reply)
{
	psup_reply_free(&reply);
}

void
run_tty_tell_size(struct cli *c, const char *id, int off)
{
	int cols = 0, rows = 0;
	psup_args *a;

	run_tty_size(&cols, &rows);
	if (cols == 0 || (a = psup_args_new()) == NULL)
		return;
	psup_args_str(a, "sessionId", id);
	psup_args_int(a, "cols", cols);
	psup_args_int(a, "rows", rows > off ? rows - off : rows + off);
	(void)psup_send(c->p, "resize", a, on_resized, NULL, NULL);
	psup_args_free(&a);
}

bool
run_tty_make_raw(const struct termios *was)
{
	struct termios raw = *was;

	cfmakeraw(&raw);
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void
run_tty_open(struct run *r)
{
	if (!r->o->pty || r->no_pty || !r->o->forward_stdin || r->o->quiet ||
	    r->raw ||
	    tcgetpgrp(STDIN_FILENO) != getpgrp() ||
	    tcgetattr(STDIN_FILENO, &r->tty) != 0)
		return;
	r->shows = isatty(STDOUT_FILENO) == 1;
	r->screen.own = true;
	r->raw = run_tty_make_raw(&r->tty);
}

void
run_tty_close(struct run *r)
{
	char undo[512];

	if (r->shows && term_out_is_changed(&r->screen)) {
		term_out_undo(&r->screen, undo, sizeof(undo));
		if (sink_put(&r->out, undo, strlen(undo)) == 0)
			sink_flush(&r->out);
	}
	if (r->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &r->tty);
	r->raw = false;
}

/* term_out()'s way to the sink. */
static int
show(void *arg, const char *data, size_t len)
{
	return sink_put(arg, data, len);
}

int
run_tty_show(struct run *r, const char *data, size_t len)
{
	if (!r->shows)
		return sink_put(&r->out, data, len);
	return term_out(&r->screen, data, len, show, &r->out);
}

void
run_tty_resize(struct run *r)
{
	if (r->o->pty && !r->no_pty && !r->o->fixed_size && r->running)
		run_tty_tell_size(r->c, r->session, 0);
}

int
run_signals(const int *list, size_t count, sigset_t *ret_mask)
{
	struct sigaction sa;
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < count; i++)
		if (sigaction(list[i], NULL, &sa) == 0 &&
		    sa.sa_handler != SIG_IGN)
			sigaddset(&mask, list[i]);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	sigprocmask(SIG_BLOCK, &mask, ret_mask);
	return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}
