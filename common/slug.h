/* SPDX-License-Identifier: MIT */
/* Human names of sessions: adjective-noun from two fixed lists. */
#ifndef PSUP_SLUG_H
#define PSUP_SLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLUG_MAX 48

/* Makes one that `taken` says no to: the words of `n`, which come again with
 * n + 2268; these with a number of 2 to 12, a third word, or both, which come
 * again with n + 24 948, 122 472, 1 347 192; else 12 random tries of base, base-2
 * .. base-12, then the same with three words, then three words and random
 * characters. */
void slug_make(uint64_t n, bool (*taken)(void *arg, const char *slug),
    void *arg, char ret_slug[SLUG_MAX]);
/* [a-z0-9-], 1..47 bytes */
bool slug_is_valid(const char *s, size_t len);

#endif
