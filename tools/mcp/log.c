/* SPDX-License-Identifier: MIT */
/* See log.h. */
#include "log.h"

#include <psup/psup.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
mcp_log(const char *fmt, ...)
{
	char raw[1024], shown[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	psup_escape(raw, strlen(raw), false, shown, sizeof(shown));
	fprintf(stderr, "psup-mcp: %s\n", shown);
}
