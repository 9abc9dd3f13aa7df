/* SPDX-License-Identifier: MIT */
/* How a request begins, takes its turns and ends: for conn*.c, frame.c and
 * over.c. */
#ifndef PSUP_SUPERVISOR_API_REQUEST_H
#define PSUP_SUPERVISOR_API_REQUEST_H

#include "supervisor/api/method.h"

struct req *req_new(struct conn *c, uint32_t msgid, enum proto_method method);
void api_dispatch(struct master *m, struct req *r, const struct val *params);
const struct method *api_method(enum proto_method method);
/* May it have a unit now? */
bool req_may(const struct req *r);
/* A unit: the next word for it, else a slice. It may be gone afterwards. */
void req_unit(struct req *r, uint64_t until);
/* By cancel or by the connection's end. */
void req_abandon(struct req *r, bool cancelled);
/* Without an answer. */
void req_end(struct req *r);
/* Of over.c: one that is over. */
void req_free(struct req *r);
/* Of over.c: its word will not be heard. */
void watch_hear(struct watch *w);

/* May it call this method? False: *why. */
bool conn_may_call(const struct conn *c, enum proto_method method,
    struct proto_problem *why);
/* *result may be empty afterwards. */
void conn_answer(struct conn *c, uint32_t msgid, struct enc *result);
void conn_fail(struct conn *c, uint32_t msgid, const struct proto_problem *p);

#endif
