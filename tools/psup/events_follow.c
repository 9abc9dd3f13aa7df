/* SPDX-License-Identifier: MIT */
/*
 * psup events --follow: a stream that does not end with a connection. The
 * sequence number printed last is the cursor: after a lost connection the
 * server is asked again, and what it repeats is left out. What was printed is
 * acknowledged only when stdout has taken it, so that a reader who dies loses
 * nothing that the next one does not get.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "events_follow.h"

#define BACK_MS 20000 /* a server whose master died is back by then */
#define TRY_MS  500

struct following {
	struct cli *c;
	const struct events_wish *w;
	int64_t printed; /* sequence number of the last one */
	int64_t acked;
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

/* Asks for what comes after the cursor. */
static int
subscribe(struct following *f)
{
	const struct events_wish *w = f->w;
	int64_t since = w->since;
	psup_reply *reply = NULL;
	int rc;

	if (since >= 0 && f->printed > since)
		since = f->printed;
	psup_on_note(f->c->p, on_note, f);
	rc = psup_subscribe_to(f->c->p, w->kinds, w->subscriber, since, &reply);
	if (rc == PSUP_OK)
		events_say_overflowed(psup_reply_value(reply));
	psup_reply_free(&reply);
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

/* As long as this connection lasts. */
static int
one_connection(struct following *f)
{
	int rc = subscribe(f);

	while (rc == PSUP_OK && !is_over(f)) {
		rc = acknowledge(f);
		if (rc != PSUP_OK)
			break;
		await(f);
		if (!is_over(f))
			rc = psup_dispatch(f->c->p);
	}
	return rc;
}

/* A new one. The keeper holds the socket, so that only the server's end is
 * refused; the master that comes next answers when it is there. */
static int
reconnect(struct following *f)
{
	int rc, waited = 0;

	do {
		rc = cli_connect(f->c, CLI_NEVER_START, TRY_MS);
		waited += TRY_MS;
		take_signal(f);
	} while ((rc == PSUP_ERR_TIMEOUT || rc == PSUP_ERR_LOST) &&
	    waited < BACK_MS && !is_over(f));
	return rc;
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
	rc = one_connection(&f);
	while (rc == PSUP_ERR_LOST && !is_over(&f)) {
		rc = reconnect(&f);
		if (rc == PSUP_OK)
			rc = one_connection(&f);
	}
	if (is_over(&f) && rc == PSUP_OK)
		(void)acknowledge(&f);
	close(f.signals);
	if (f.broken)
		return 128 + SIGPIPE;
	if (f.signal != 0)
		return 128 + f.signal;
	return cli_fail(c, rc);
}
