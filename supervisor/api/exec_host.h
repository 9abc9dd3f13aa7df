/* SPDX-License-Identifier: MIT */
#ifndef PSUP_SUPERVISOR_API_EXEC_HOST_H
#define PSUP_SUPERVISOR_API_EXEC_HOST_H

#include "common/box_policy.h"
#include "common/codec.h"
#include "common/proto.h"

struct api_call;
struct req;
struct session;

/* Where the command of these params runs: *ret is the gateway or the sandbox,
 * and what is to be said beside the result. `unavailable` as box_policy() has
 * it. -EINVAL or -ENOTSUP: it runs nowhere, and *why. Pure. */
int exec_host(const struct config *cfg, const char *unavailable,
    const struct val *params, const char *scope, struct box_answer *ret,
    struct proto_problem *why);

/* exec_refused.c: can it not start now? *why; else *ret_host, where it runs. */
bool exec_refused(struct api_call *c, struct box_answer *ret_host,
    struct proto_problem *why);
/* Answers for a session that never was (session_never_was()). */
void exec_never_was(struct req *r, const struct session *s);
/* The scope of the session that a call asks for. */
const char *exec_scope(const struct api_call *c, char own[48]);

/* exec_session.c: it is in the registry, with everything but a state; no_links:
 * its directory, on the host, has none. NULL: *why. */
struct session *exec_session(struct api_call *c, const char *cwd,
    uint32_t host, bool no_links, struct proto_problem *why);

#endif
