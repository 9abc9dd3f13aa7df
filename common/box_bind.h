/* SPDX-License-Identifier: MIT */
/* The directories of the host that a box shows, as psup.conf names them. Pure:
 * paths come in as the caller has found them. */
#ifndef PSUP_BOX_BIND_H
#define PSUP_BOX_BIND_H

#include <stdbool.h>
#include <stddef.h>

#define BOX_BINDS    32
#define BOX_PATH_MAX 4096

struct box_bind {
	char host[BOX_PATH_MAX], inside[BOX_PATH_MAX];
	bool writable;
};

/* HOST:INSIDE:ro or HOST:INSIDE:rw. -EINVAL, and why. */
int box_bind_parse(
    const char *text, struct box_bind *ret, char *why, size_t why_size);

/* May a box show it? `real` is where its host path leads, without symbolic
 * links; `rundir` the server's, likewise. -EPERM, and why. */
int box_bind_check(const struct box_bind *bind, const char *real,
    const char *rundir, char *why, size_t why_size);

/* Is `path` the same as `pattern`, or a directory above it? Both absolute; in
 * the pattern '*' is any one name. */
bool box_path_above(const char *path, const char *pattern);
/* Absolute, without control characters, and no name is . or .. */
bool box_path_plain(const char *path);

#endif
