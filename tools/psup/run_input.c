/* SPDX-License-Identifier: MIT */
/*
 * The stdin of a foreground exec: a piece is read when the server has taken the
 * one before, and sent again where a master died over it. Called by run.c.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define ROOM_WAIT_MS 30000

static void stdin_send(struct run *r);

/* The server took a piece of stdin, or a part of it, or will take no more; or
 * its master died over it. Then it is sent again with its position, which tells
 * what was taken: not before, since others may feed the command, too. */
static void
on_written(void *arg, int status, psup_reply *reply)
{
	struct run *r = arg;
	const psup_value *details = psup_reply_details(reply);
	int64_t accepted = psup_get_int(details, "accepted", -1);
	bool ok = status == PSUP_OK && !psup_reply_is_error(reply);
	bool full = psup_get_is(details, "code", "stdin-full");
	bool refused = psup_get_is(details, "code", "line-too-long");

	r->in_busy = false;
	r->in_again = status == PSUP_ERR_LOST && psup_is_connected(r->c->p);
	if (ok && accepted < 0)
		accepted = (int64_t)(r->in_len - r->in_at);
	if (accepted > 0 && (uint64_t)accepted <= r->in_len - r->in_at) {
		r->in_at += (size_t)accepted;
		r->in_pos += accepted;
	}
	r->in_pos = psup_get_int(details, "position", r->in_pos);
	if (refused) {
		cli_say("a line over 4095 bytes was not taken");
		r->in_at = r->in_len;
	} else if (!ok && !full && !r->in_again) {
		/* It has closed its stdin, or ended: nothing to say. */
		r->in_open = false;
		r->in_at = r->in_len;
	}
	r->in_ended = r->in_ended || (ok && r->in_ending);
	psup_reply_free(&reply);
	if (r->in_open && !r->in_ended && (r->in_at < r->in_len || r->in_eof))
		stdin_send(r);
}

/* Sends what was read, or the end; the server waits for room. */
static void
stdin_send(struct run *r)
{
	psup_args *a = psup_args_new();

	if (a == NULL)
		return;
	r->in_ending = r->in_at == r->in_len;
	psup_args_str(a, "sessionId", r->session);
	psup_args_bytes(a, "data", r->in + r->in_at, r->in_len - r->in_at);
	if (r->in_ending)
		psup_args_bool(a, "eof", true);
	if (r->in_again)
		psup_args_int(a, "position", r->in_pos);
	psup_args_int(a, "timeout", ROOM_WAIT_MS);
	r->in_busy = psup_send(r->c->p, "write", a, on_written, r, NULL) ==
	    PSUP_OK;
	psup_args_free(&a);
}

bool
run_input_readable(const struct run *r)
{
	return !r->in_tty || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

bool
run_input_wanted(const struct run *r)
{
	return r->in_open && r->running && !r->in_busy && !r->in_eof &&
	    r->in_at == r->in_len;
}

/* The answer to our leaving; the exec's own says the same. */
static void
on_left(void *, int, psup_reply *reply)
{
	psup_reply_free(&reply);
}

/* The detach key: the command goes on, and nobody types any more. */
static void
leave(struct run *r)
{
	psup_args *a = psup_args_new();

	r->in_open = false;
	if (a == NULL)
		return;
	psup_args_str(a, "sessionId", r->session);
	(void)psup_send(r->c->p, "background", a, on_left, r, NULL);
	psup_args_free(&a);
}

void
run_input_read(struct run *r)
{
	ssize_t n = read(STDIN_FILENO, r->in, RUN_INPUT_BYTES), key = -1;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0 && errno == EIO && r->in_tty && !run_input_readable(r))
		return; /* SIGTTIN is ignored: not our turn */
	r->in_at = 0;
	r->in_len = n > 0 ? (size_t)n : 0;
	r->in_eof = n <= 0;
	if (n > 0 && r->in_tty)
		progress_typed(&r->progress, r->in, (size_t)n);
	if (n > 0 && r->raw)
		key = attach_key_find(r->o->detach_key, r->in, (size_t)n);
	if (key >= 0)
		r->in_len = (size_t)key;
	if (key != 0)
		stdin_send(r);
	if (key >= 0)
		leave(r);
}
