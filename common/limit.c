/* SPDX-License-Identifier: MIT */
/* The table of limits. Used where exec asks for some (session/limits.c), and
 * where psup.conf has defaults for a lane. */
#include "common/limit.h"

#include <string.h>

const struct limit_row limit_rows[CTL_LIMITS] = {
#define LIMIT(id, name, unit, min, max, expected)                              \
	[CTL_LIMIT_##id] = {name, min, max, expected},
#include "common/limit.def"
};

/* By name. */
unsigned
limit_find(const char *name, size_t len)
{
	unsigned i;

	for (i = 0; i < CTL_LIMITS; i++)
		if (strlen(limit_rows[i].name) == len &&
		    memcmp(limit_rows[i].name, name, len) == 0)
			return i;
	return CTL_LIMITS;
}
