/* SPDX-License-Identifier: MIT */
/*
 * The methods that feed a session's stdin: write (write.c), send-keys, submit
 * and paste (keys.c).
 */
#ifndef PSUP_SUPERVISOR_API_INPUT_H
#define PSUP_SUPERVISOR_API_INPUT_H

#include "supervisor/api/method.h"

/* What each of them keeps between two turns. */
struct input {
	char *data;
	size_t data_len, accepted;
	bool eof; /* write */
	/* send-keys: where each key ends in data, and the warnings, as lines */
	size_t *cuts, cut_at;
	uint64_t delay_ms;
	struct sbuf warnings;
};
void input_drop(struct req *r);
/* Their failures say how much was taken. */
void input_refused(const struct req *r, struct enc *e);

/* The running session of the call, or NULL after the refusal was sent; ... */
struct session *input_session(struct api_call *c);
/* ... all of it into the queue, or nothing: -ENOBUFS, -EDQUOT (the scope's
 * share), -errno; ... */
int input_put(struct master *m, struct session *s, const char *data,
    size_t n);
/* ... the refusal of what found no room (not -ENOBUFS); ... */
void input_refuse(struct req *r, struct session *s, size_t n, int error);
/* ... the details of an answer, into an open map. */
void input_details(struct req *r, struct session *s, struct enc *e);

#endif
