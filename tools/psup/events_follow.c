/* SPDX-License-Identifier: MIT */
/*
 * psup events --follow: a stream that does not end with a connection. The
 * sequence number printed last is the cursor: after a lost connection the
 * next master is asked, for which libpsup waits, and what it repeats is left
 * out. What was printed is acknowledged only when stdout has taken it, so that
 * a reader who dies loses nothing that the next one does not get.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "events_follow.h"

struct following {
	struct cli *c;
	const struct events_wish *w;
	int64_t printed; /* sequence number of the last one */
	int64_t acked;
	bool subscribed; /* as long as this connection lasts */
	int rc;          /* of subscribe */
	bool broken;     /* stdout does not take any more */
	int signals;     /* signalfd */
	int signal;      /* that ended it; 0: none */
};

/* Notifications of a subscription. */
static void
on_note(void *arg, const char *name, const psup_value *params)
{
	struct following *f = arg;
	int64_t seq;

	if (strcmp(name, "event") != 0 || f->broken)
		return;
	seq = psup_get_int(params, "seq", 0);
	if (seq <= f->printed)
		return; /* told again, after a reconnect */
	events_print(f->c, params);
	f->broken = ferror(stdout) != 0;
	if (!f->broken)
		f->printed = seq;
}

/* SIGINT and SIGTERM are read, not suffered; SIGPIPE is an error of write. */
static int
open_signals(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -1;
	return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Has one of the signals come? */
static void
take_signal(struct following *f)
{
	struct signalfd_siginfo info;

	if (read(f->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		f->signal = (int)info.ssi_signo;
}

/* Sleeps until the server, a signal or the end of stdout's reader. */
static void
await(struct following *f)
{
	enum { SERVER, SIGNALS, OUT, N };
	struct pollfd p[N] = {
	    [SERVER] = {psup_fd(f->c->p), psup_fd_events(f->c->p), 0},
	    [SIGNALS] = {f->signals, POLLIN, 0},
	    [OUT] = {STDOUT_FILENO, 0, 0},
	};

	if (poll(p, N, -1) < 0)
		return;
	if (p[SIGNALS].revents != 0)
		take_signal(f);
	if ((p[OUT].revents & (POLLERR | POLLNVAL)) != 0)
		f->broken = true;
}

/* The answer of subscribe. */
static void
on_subscribed(void *arg, int status, psup_reply *reply)
{
	struct following *f = arg;

	f->subscribed = status == PSUP_OK;
	f->rc = status;
	if (f->subscribed)
		events_say_overflowed(psup_reply_value(reply));
	psup_reply_free(&reply);
}

/* Asks for what comes after the cursor. */
static int
subscribe(struct following *f)
{
	const struct events_wish *w = f->w;
	int64_t since = w->since;
	psup_args *a = psup_args_new();
	int rc;

	if (a == NULL)
		return PSUP_ERR_NO_MEMORY;
	if (since >= 0 && f->printed > since)
		since = f->printed;
	if (since >= 0)
		psup_args_int(a, "since", since);
	psup_args_str(a, "subscriber", w->subscriber);
	psup_args_list_begin(a, "kinds");
	for (size_t i = 0; w->kinds[i] != NULL; i++)
		psup_args_str(a, NULL, w->kinds[i]);
	psup_args_list_end(a);
	f->subscribed = false;
	rc = psup_send(f->c->p, "subscribe", a, on_subscribed, f, NULL);
	psup_args_free(&a);
	return rc;
}

/* What stdout took the server may forget. */
static int
acknowledge(struct following *f)
{
	int rc;

	if (!f->w->ack || f->printed == f->acked)
		return PSUP_OK;
	rc = events_acknowledge(f->c, f->w, f->printed);
	if (rc == PSUP_OK)
		f->acked = f->printed;
	return rc;
}

static bool
is_over(const struct following *f)
{
	return f->broken || f->signal != 0;
}

/* One turn of the loop. */
static int
turn(struct following *f)
{
	int rc = f->subscribed ? acknowledge(f) : PSUP_OK;

	if (rc == PSUP_OK) {
		await(f);
		if (is_over(f))
			return PSUP_OK;
		rc = psup_dispatch(f->c->p);
	}
	if (rc == PSUP_ERR_LOST && f->subscribed)
		return subscribe(f); /* of the next master */
	return f->rc != PSUP_OK ? f->rc : rc;
}

int
events_follow(struct cli *c, const struct events_wish *w)
{
	struct following f = {.c = c, .w = w, .signals = open_signals()};
	int rc;

	if (f.signals < 0) {
		cli_say("signals cannot be read: %s", strerror(errno));
		return EXIT_INTERNAL;
	}
	psup_on_note(c->p, on_note, &f);
	rc = subscribe(&f);
	while (rc == PSUP_OK && !is_over(&f))
		rc = turn(&f);
	if (is_over(&f) && rc == PSUP_OK)
		(void)acknowledge(&f);
	close(f.signals);
	if (f.broken)
		return 128 + SIGPIPE;
	if (f.signal != 0)
		return 128 + f.signal;
	return cli_fail(c, rc);
}
