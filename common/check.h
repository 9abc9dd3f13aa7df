/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of failure, two words. CHECK() is for what cannot happen: a bug
 * here, never something a client, a command or a damaged file can bring about.
 * What can happen is a returned -errno or -PSUP_E... (err.h).
 */
#ifndef PSUP_CHECK_H
#define PSUP_CHECK_H

#include <stddef.h>

/* Called with the reason before abort(); a process points it at its stats
 * page, so that the next incarnation can report its last words. */
extern void (*check_last_words)(const char *text);

_Noreturn void check_failed(const char *expr, const char *file, int line);

#define CHECK(expr)                                                            \
	((expr) ? (void)0 : check_failed(#expr, __FILE__, __LINE__))
#define UNREACHABLE() check_failed("unreachable", __FILE__, __LINE__)

#define NELEMS(a) (sizeof(a) / sizeof((a)[0]))

#endif
