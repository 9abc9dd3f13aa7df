/* SPDX-License-Identifier: MIT */
/* An exec under way, as exec*.c and stream.c see it. */
#ifndef PSUP_SUPERVISOR_API_EXEC_H
#define PSUP_SUPERVISOR_API_EXEC_H

#include "supervisor/api/method.h"
#include "supervisor/session/input_yield.h"

struct exec {
	enum text_rule text;
	bool bg; /* answered as soon as there is a pid */
	bool left; /* it runs on the host, out of its scope's box, ... */
	bool no_links; /* ... in a directory of which that has a part */
	const char *cwd; /* where it is not run, while that is said */
	struct sbuf warnings;
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
	/* tail.c */
	bool tells;
	uint64_t told; /* bytes of output that the last notification said */
	struct event *tick;
};

/* exec.c: it goes on in the background; `waits`: and is answered before its
 * time for that. */
void exec_answer_running(struct req *r, struct session *s,
    enum input_wait waits);
/* One more sentence beside the result. */
void exec_warn(struct exec *x, const char *text);

/* exec_refused.c: can it not start now? *why; else *ret_host, where it runs. */
bool exec_refused(struct api_call *c, uint32_t *ret_host,
    struct proto_problem *why);
/* The scope of the session that a call asks for. */
const char *exec_scope(const struct api_call *c, char own[48]);

/* exec_session.c: it is in the registry, with everything but a state. NULL:
 * *why. */
struct session *exec_session(struct api_call *c, const char *cwd,
    uint32_t host, struct proto_problem *why);

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

/* tail.c: from here on the client is told once a second how it goes on. */
void tail_begin(struct req *r, struct session *s);
/* It is known which session that is. */
void tail_session(struct req *r, struct session *s);

#endif
