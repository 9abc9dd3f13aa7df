/* SPDX-License-Identifier: MIT */
/* An exec under way, as exec*.c and stream.c see it. */
#ifndef PSUP_SUPERVISOR_API_EXEC_H
#define PSUP_SUPERVISOR_API_EXEC_H

#include "supervisor/api/method.h"

struct exec {
	enum text_rule text;
	bool bg; /* answered as soon as there is a pid */
	const char *cwd; /* where it is not run, while that is said */
	struct sbuf warnings;
	/* stream.c */
	bool streaming, said;
	uint64_t pos, safe, credit; /* safe: the same, of committed turns */
	struct event *stall;
	/* tail.c */
	bool tells;
	uint64_t told; /* bytes of output that the last notification said */
	struct event *tick;
};

/* exec_session.c: it is in the registry, with everything but a state. NULL:
 * *why. */
struct session *exec_session(struct api_call *c, const char *cwd,
    uint32_t host, struct proto_problem *why);

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
