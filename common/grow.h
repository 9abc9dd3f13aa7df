/* SPDX-License-Identifier: MIT */
/* Arrays that grow by doubling. Used by everybody who may be refused memory. */
#ifndef PSUP_GROW_H
#define PSUP_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Room for `need` entries where `list` points to has `cap`; `first` of them where it
 * has none yet. False: no memory, and nothing has changed. */
#define GROW(list, cap, need, first)                                           \
	grow(&(list), &(cap), need, sizeof(*(list)), first)

static inline bool
grow(void *list, size_t *cap, size_t need, size_t size, size_t first)
{
	void **to = list, *grown;
	size_t n = *cap != 0 ? *cap : first;

	if (need <= *cap)
		return true;
	while (n < need && n <= SIZE_MAX / 2)
		n *= 2;
	grown = n < need || n > SIZE_MAX / size ? NULL : realloc(*to, n * size);
	if (grown == NULL)
		return false;
	*to = grown;
	*cap = n;
	return true;
}

#endif
