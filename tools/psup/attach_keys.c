/* SPDX-License-Identifier: MIT */
/*
 * What a person types while attached: read, searched for the detach key, sent
 * in pieces, and sent again where the master died over one. Called by attach.c;
 * run_input.c looks for the detach key, too.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "common/clock.h"

#define ROOM_WAIT_MS 30000
#define LEAVE_MS     1000 /* detached: keys under way are waited for */

/* Rings our own bell: a key was not taken. */
static void
complain(struct attach *a)
{
	if (isatty(a->out.fd) && a->screen.state == 0)
		(void)sink_put(&a->out, "\a", 1);
}

/* Takes the first bytes off the queue. */
static void
keys_done(struct attach *a, size_t n)
{
	memmove(a->in, a->in + n, a->in_len - n);
	a->in_len -= n;
	a->in_flight = 0;
	a->in_repeat = false;
}

/* The answer of a write. One that the master died over is sent again with its
 * place: without one libpsup may not, and where it may it has. */
static void
on_written(void *arg, int status, psup_reply *reply)
{
	struct attach *a = arg;
	const psup_value *details = psup_reply_details(reply);
	size_t accepted = (size_t)psup_get_int(details, "accepted", 0);

	if (status == PSUP_ERR_LOST) {
		a->in_repeat = true;
		return;
	}
	if (a->in_flight == 0)
		return;
	if (status == PSUP_OK && !psup_reply_is_error(reply)) {
		keys_done(a, a->in_flight);
		a->in_pos = psup_get_int(details, "position", -1);
	} else if (psup_get_is(details, "code", "stdin-full") &&
	    accepted <= a->in_flight) {
		keys_done(a, accepted);
		a->in_pos = -1;
	} else {
		/* too long a line, or nobody reads any more */
		keys_done(a, a->in_flight);
		a->in_pos = -1;
		complain(a);
	}
	psup_reply_free(&reply);
}

void
attach_keys_send(struct attach *a)
{
	psup_args *args;
	int rc;

	if (a->over || a->in_len == 0 ||
	    (a->in_flight > 0 && !a->in_repeat))
		return;
	if (a->in_repeat && a->in_pos < 0) {
		a->unsure += a->in_flight;
		keys_done(a, a->in_flight);
		if (a->in_len == 0)
			return;
	}
	args = psup_args_new();
	if (args == NULL)
		return;
	if (!a->in_repeat)
		a->in_flight = a->in_len;
	psup_args_str(args, "sessionId", a->id);
	psup_args_bytes(args, "data", a->in, a->in_flight);
	psup_args_int(args, "timeout", ROOM_WAIT_MS);
	if (a->in_repeat)
		psup_args_int(args, "position", a->in_pos);
	a->in_repeat = false;
	rc = psup_send(a->c->p, "write", args, on_written, a, NULL);
	psup_args_free(&args);
	if (rc != PSUP_OK)
		attach_fail(a, rc);
}

void
attach_leave(struct attach *a, int by_signal)
{
	a->by_signal = by_signal;
	a->in_open = false;
	if (a->leave_ns == 0)
		a->leave_ns = clock_boot_ns() + LEAVE_MS * 1000000ull;
}

void
attach_keys_read(struct attach *a)
{
	char buf[4096];
	ssize_t n = read(STDIN_FILENO, buf, sizeof(buf)), at = -1;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		a->in_open = false;
		if (a->in_tty)
			attach_leave(a, SIGHUP); /* our terminal is gone */
		return;
	}
	if (a->in_tty)
		at = attach_key_find(a->o->detach_key, buf, (size_t)n);
	if (at >= 0) {
		n = at;
		attach_leave(a, 0);
	}
	if (a->o->read_only || n == 0)
		return;
	if ((size_t)n > sizeof(a->in) - a->in_len) {
		complain(a);
		return;
	}
	memcpy(a->in + a->in_len, buf, (size_t)n);
	a->in_len += (size_t)n;
}

/* Programs may have had our terminal send keys as sequences of numbers: then
 * the detach key is one of these. */
static ssize_t
key_as_sequence(int key, const char *data, size_t len)
{
	int code = key >= 1 && key <= 26 ? key + 'a' - 1 : key + '@';
	char text[24];
	const char *at;

	if (key >= ' ')
		return -1;
	snprintf(text, sizeof(text), "\033[%d;5u", code);
	at = memmem(data, len, text, strlen(text));
	if (at == NULL) {
		snprintf(text, sizeof(text), "\033[27;5;%d~", code);
		at = memmem(data, len, text, strlen(text));
	}
	return at != NULL ? at - data : -1;
}

ssize_t
attach_key_find(int key, const char *data, size_t len)
{
	const char *at;

	if (key < 0)
		return -1;
	at = memchr(data, key, len);
	return at != NULL ? at - data : key_as_sequence(key, data, len);
}
