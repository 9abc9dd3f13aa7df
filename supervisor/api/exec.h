/* SPDX-License-Identifier: MIT */
/* An exec under way, as exec.c, exec_yield.c and stream.c see it. */
#ifndef PSUP_SUPERVISOR_API_EXEC_H
#define PSUP_SUPERVISOR_API_EXEC_H

#include "supervisor/api/method.h"
#include "supervisor/session/input_yield.h"
#include "supervisor/words/output_answer.h"

struct exec {
	enum text_rule text;
	bool bg; /* answered as soon as there is a pid */
	const char *cwd; /* where it is not run, while that is said */
	struct sbuf warnings;
	bool answers; /* its command's end, in slices */
	struct sid sid;
	struct output_answer a;
	/* exec_yield.c */
	bool looks;        /* it may be answered before its time, for input */
	bool asks;         /* its answer waits for a look, for nothing else */
	uint64_t began_ns; /* boot */
	uint64_t yield_ns; /* boot: its time is over; 0: it never is */
	struct input_yield input;
	/* stream.c */
	bool streaming, said;
	uint64_t pos, safe, credit; /* safe: the same, of committed turns */
	struct event *stall;
	bool tells;
	uint64_t told; /* bytes of output that the last notification said */
	struct event *tick;
};

/* exec_yield.c: the foreground lasts so long from now; with `looks` no longer
 * than until the command seems to wait for input. */
void exec_yield_begin(struct req *r, uint64_t ms, bool looks);
/* Its timer: is its time over? Else somebody looks, and it goes on. */
bool exec_yield_timer(struct req *r, struct session *s);
/* It is to be answered, but the answer names the pid: one that is being started
 * is waited for a moment. */
void exec_yield_pid(struct req *r);
/* A look has come: does the command seem to wait for input? */
bool exec_yield_input(struct req *r, const struct session *s);
/* It was answered before, and is asked again: is it, once a look says what it
 * waits for now? */
bool exec_yield_ask(struct req *r, struct session *s);
/* Does it by now? */
bool exec_yield_told(struct req *r, struct session *s, unsigned wake);

/* stream.c */
void stream_begin(struct req *r, struct session *s);
/* Moves what the out-queue takes; true: everything there is was queued. */
bool stream_pump(struct req *r, struct session *s);
void stream_end(struct req *r, struct session *s);
/* Tells the client which session it is, once. */
void stream_say_session(struct req *r, struct session *s);
/* Of the row. */
void stream_room(struct req *r);
void stream_committed(struct req *r, bool ok);
void stream_written(struct master *m, struct conn *c, const void *what,
    bool lost);
/* From here on the client is told once a second how it goes on. */
void tail_begin(struct req *r, struct session *s);
/* It is known which session that is. */
void tail_session(struct req *r, struct session *s);

#endif
