/* SPDX-License-Identifier: MIT */
/* An exec under way, as exec*.c and stream.c see it. */
#ifndef PSUP_SUPERVISOR_API_EXEC_H
#define PSUP_SUPERVISOR_API_EXEC_H

#include "supervisor/master.h"

struct exec {
	enum text_rule text;
	bool bg; /* answered as soon as there is a pid */
	const char *cwd; /* where it is not run, while that is said */
	struct sbuf warnings;
	/* stream.c */
	bool streaming, said;
	uint64_t pos, safe, credit; /* safe: the same, of committed turns */
	struct event *stall;
};

/* exec_session.c: it is in the registry, with everything but a state. NULL:
 * *why. */
struct session *exec_session(struct api_call *c, const char *cwd,
    struct proto_problem *why);

/* stream.c */
void stream_begin(struct req *r, struct session *s);
/* Moves what the out-queue takes; true: everything there is was queued. */
bool stream_pump(struct req *r, struct session *s);
void stream_end(struct req *r, struct session *s);
/* Of the row. */
void stream_room(struct req *r);
void stream_committed(struct req *r, bool ok);
void stream_written(struct master *m, struct conn *c, const void *what,
    bool lost);

#endif
