/* SPDX-License-Identifier: MIT */
/* The table of limits. Used where exec asks for some (session/limits.c), and
 * where psup.conf has defaults for a lane. */
#include "common/limit.h"

#include <string.h>

const struct limit_row limit_rows[CTL_LIMITS] = {
    [CTL_LIMIT_MEMORY] = {"memoryBytes", 1 << 20, INT64_C(1) << 50,
        "bytes from 1048576"},
    [CTL_LIMIT_PIDS] = {"pids", 1, 4194304, "a count from 1 to 4194304"},
    [CTL_LIMIT_CPU] = {"cpuSeconds", 1, 31536000,
        "whole seconds from 1 to 31536000"},
    [CTL_LIMIT_FSIZE] = {"fileSizeBytes", 0, INT64_C(1) << 50,
        "bytes from 0"},
    [CTL_LIMIT_NOFILE] = {"openFiles", 8, 1048576,
        "a count from 8 to 1048576"},
    [CTL_LIMIT_NICE] = {"nice", -20, 19, "a number from -20 to 19"},
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
