/* SPDX-License-Identifier: MIT */
#include "common/priority.h"

#include <sys/resource.h>

#define FIRST 10 /* as much as an autogroup of ours is given */

static int before;

void
priority_come_first(void)
{
	before = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, before - FIRST);
}

int
priority_of_commands(void)
{
	return before;
}
