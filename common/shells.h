/* SPDX-License-Identifier: MIT */
/* Shells by their names alone: nothing here looks at a file. */
#ifndef PSUP_SHELLS_H
#define PSUP_SHELLS_H

#include <stdbool.h>

#define SHELL_OPTIONS_MAX 3

/* Would a command string be understood by it? Absolute, and none of fish,
 * false, nologin, true. */
bool shell_is_posix(const char *path);
/* What stands before the command string, the last of it "-c", so that no
 * start-up file is read: at most SHELL_OPTIONS_MAX, and NULL. */
const char *const *shell_options(const char *path);

#endif
