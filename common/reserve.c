/* SPDX-License-Identifier: MIT */
/* The memory put aside. */
#include "reserve.h"

#include <stdlib.h>

/* Some hundred small things, or one answer; below what malloc would map by
 * itself, so that small things fit where it was. */
#define RESERVE_BYTES (96u << 10)

static void *aside;

bool
reserve_fill(void)
{
	if (aside == NULL)
		aside = malloc(RESERVE_BYTES);
	return aside != NULL;
}

bool
reserve_give_up(void)
{
	if (aside == NULL)
		return false;
	free(aside);
	aside = NULL;
	return true;
}

void *
reserve_malloc(size_t size)
{
	void *p = malloc(size);

	return p != NULL || !reserve_give_up() ? p : malloc(size);
}

void *
reserve_realloc(void *p, size_t size)
{
	void *grown = realloc(p, size);

	return grown != NULL || size == 0 || !reserve_give_up() ? grown
	                                                : realloc(p, size);
}
