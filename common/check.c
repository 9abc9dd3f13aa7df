/* SPDX-License-Identifier: MIT */
/* The end of a process that found a bug in itself. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void (*check_last_words)(const char *text);

/* Leaves the reason in the stats page and on stderr, then aborts. */
void
check_failed(const char *expr, const char *file, int line)
{
	char text[400];
	int n;

	n = snprintf(text, sizeof(text), "CHECK failed: %s at %s:%d\n", expr,
	    file, line);
	if (n > 0) /* nobody may listen; the stats page still says it */
		(void)!write(STDERR_FILENO, text, strlen(text));
	if (check_last_words != NULL)
		check_last_words(text);
	abort();
}
