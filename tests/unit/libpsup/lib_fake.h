/* SPDX-License-Identifier: MIT */
/*
 * A server that answers what a test tells it to: a thread with a listening
 * socket in a directory of its own, one connection at a time.
 */
#ifndef LIB_FAKE_H
#define LIB_FAKE_H

#include <pthread.h>
#include <psup/psup.h>

#include "common/codec.h"

struct fake;

/* One request. Answers with fake_send(), or returns false to hang up. */
typedef bool fake_handler(struct fake *f, uint64_t id, const char *method,
    const struct val *params);

struct fake {
	char dir[64];
	int listener, conn;
	pthread_t thread;
	fake_handler *handler;
	unsigned connections;
	uint64_t remembered; /* for handlers */
	int mute;            /* accept, but never answer hello */
	unsigned hellos;
	unsigned hangs_up;   /* on so many of the next hellos */
	unsigned busy;       /* it says of so many of them */
	unsigned ends_after_hello; /* answers so many, and is gone with that */
	const char *incarnation; /* NULL: it says none, and is not taken up */
	unsigned asked;      /* for handlers */
};

void fake_start(struct fake *f, fake_handler *handler);
/* Ends the thread and removes the directory. */
void fake_stop(struct fake *f);
/* Sends bytes as they are. */
void fake_send(struct fake *f, const void *data, size_t size);
/* [1, id, nil, {text, details: {status}, isError: false}] */
void fake_answer_text(struct fake *f, uint64_t id, const char *text);
/* [1, id, {code, message, field}, nil] */
void fake_answer_error(struct fake *f, uint64_t id, const char *code,
    const char *message, const char *field);
/* [2, "output", [{msgid, stream, pos, data}]] */
void fake_note_output(struct fake *f, uint64_t id, uint64_t pos,
    const char *data);
/* A connected handle. */
psup *fake_connect(struct fake *f);

#endif
