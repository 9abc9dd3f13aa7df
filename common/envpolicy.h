/* SPDX-License-Identifier: MIT */
/*
 * Which variables a command may have: one table (envpolicy.def). The base
 * environment is filtered silently, what a call asks for is refused by name.
 */
#ifndef PSUP_ENVPOLICY_H
#define PSUP_ENVPOLICY_H

#include <stdbool.h>
#include <stddef.h>

/* Is it one of the names, or behind one of the NAME* there? Case does not
 * count, names are separated by spaces. */
bool env_is_named(const char *key, size_t len, const char *names);
/* Is it [A-Za-z_][A-Za-z0-9_]*? */
bool env_is_portable(const char *key, size_t len);
/* May this name be inherited from the base environment? */
bool env_may_inherit(const char *key, size_t len);
/* May a call set it? 0, or -EINVAL (not [A-Za-z_][A-Za-z0-9_]*), or -EPERM,
 * with the sentence in why. */
int env_may_set(const char *key, size_t len, char *why, size_t why_size);
/* Is it in the allow-list of the server's own environment? PATH, HOME, USER,
 * LOGNAME, SHELL, LANG, LC_*, TERM, TZ, TMPDIR, XDG_RUNTIME_DIR */
bool env_is_basic(const char *key, size_t len);

#endif
