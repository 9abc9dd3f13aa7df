/* SPDX-License-Identifier: MIT */
/* The directories of the host that a box shows as /workspace and /agent. Called by
 * maker.c. */
#ifndef PSUP_SUPERVISOR_HOST_WORKSPACE_H
#define PSUP_SUPERVISOR_HOST_WORKSPACE_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "supervisor/box/why.h"

struct config_sandbox;

/* One name of a directory for a key, whatever is in it; that of a session, whose
 * number another server, or the next one, has again, ends with `incarnation`.
 * -ENAMETOOLONG */
int workspace_name(
    const char *key, uint64_t incarnation, char ret[NAME_MAX + 1]);

/* Does what a box of c is made of answer, before anybody looks at it? -ETIMEDOUT, and
 * `why`. */
int workspace_answers(const struct config_sandbox *c, char why[BOX_WHY_MAX]);
/* Makes it, and those above it, where they are not there; whom boxes run as owns
 * it. Where it leads, without links, in `ret`. On the way no link is followed
 * but root's and our own, and one that is there and is somebody else's is not
 * used. -errno, and `why`. */
int workspace_make(const struct config_sandbox *c, const char *name,
    char ret[PATH_MAX], char why[BOX_WHY_MAX]);
/* The directory of c's scope as it is now, where no name on the way is a link, and
 * whom boxes run as owns it. -errno, and `why`. */
int workspace_directory(
    const struct config_sandbox *c, struct stat *ret, char why[BOX_WHY_MAX]);
/* Does the box of that pid 1 show it, as c->access says, and the binds, and not
 * what somebody put in the place of one while the box was made? -errno, and `why`.
 * Called by said.c. */
int workspace_shown(
    const struct config_sandbox *c, int32_t pid, char why[BOX_WHY_MAX]);
/* Removes one with nothing in it. Called by said.c. */
void workspace_forget(const struct config_sandbox *c, const char *name);

#endif
