/* SPDX-License-Identifier: MIT */
/* See log.h. */
#include "log.h"

#include <psup/psup.h>
#include <stdio.h>
#include <string.h>

#include "common/format.h"

void
mcp_log(const char *fmt, ...)
{
	char raw[1024], shown[2048];

	(void)FORMATTED(raw, sizeof(raw), fmt);
	psup_escape(raw, strlen(raw), false, shown, sizeof(shown));
	fprintf(stderr, "psup-mcp: %s\n", shown);
}
