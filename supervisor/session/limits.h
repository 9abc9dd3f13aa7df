/* SPDX-License-Identifier: MIT */
/*
 * exec's `limits`: which there are, what each may be, what is in force for a
 * session. The worker does it (worker/limits.c).
 */
#ifndef PSUP_SUPERVISOR_SESSION_LIMITS_H
#define PSUP_SUPERVISOR_SESSION_LIMITS_H

#include "supervisor/master.h"

/* Reads and checks the parameter. What this machine or user cannot hold a
 * command to is refused, not skipped. Errors: -EINVAL, -ENOTSUP with *why. */
int limits_take(const struct heritage *h, const struct val *params,
    struct session_limits *ret, struct proto_problem *why);
/* What psup.conf adds to that, for the lane or for all; what was taken before
 * wins. Errors as above. */
int limits_take_config(const struct heritage *h, const struct config_limits *c,
    struct session_limits *l, struct proto_problem *why);
/* Does a call ask for no more than its box has? Else -EINVAL and *why. */
int limits_check_box(const struct config_sandbox *c,
    const struct session_limits *l, struct proto_problem *why);
/* Then those of a box's commands: never more than their box has. Where groups
 * hold the box as a whole that is all; else each process has its bounds. */
void limits_take_box(const struct heritage *h, const struct config_sandbox *c,
    struct session_limits *l);
/* Those of a box as a whole, as far as groups can hold it to them. */
void limits_of_box(const struct heritage *h, const struct config_sandbox *c,
    struct session_limits *ret);
/* Does a group hold a box as a whole to it? */
bool limits_box_by_group(const struct heritage *h, enum ctl_limit which);
/* "limits": {name: {limit, by}}; nothing where there are none. */
void limits_encode(const struct heritage *h, const struct session_limits *l,
    struct enc *e);
/* For status: what memory and pids are held by; NULL: by nothing. */
const char *limits_by(const struct heritage *h, enum ctl_limit which);

#endif
