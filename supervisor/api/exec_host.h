/* SPDX-License-Identifier: MIT */
#ifndef PSUP_SUPERVISOR_API_EXEC_HOST_H
#define PSUP_SUPERVISOR_API_EXEC_HOST_H

#include "common/box_policy.h"
#include "common/codec.h"
#include "common/proto.h"

/* Where the command of these params runs: *ret is the gateway or the sandbox,
 * and what is to be said beside the result. `unavailable` as box_policy() has
 * it. -EINVAL or -ENOTSUP: it runs nowhere, and *why. Pure. */
int exec_host(const struct config *cfg, const char *unavailable,
    const struct val *params, const char *scope, struct box_answer *ret,
    struct proto_problem *why);

#endif
