/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef TOP_OPTIONS_H
#define TOP_OPTIONS_H

#include "display.h"
#include "common/option.h"

#define TOP_EXIT_NO_SERVER 3

/* -1: go on; else the exit code, and all was said. */
int options_take(struct top_options **ret, int argc, char **argv);

/* What the manual page lists, too. */
extern const struct opt top_rows[];
#define top_about                                                              \
	"Show a psup server's sessions, processes and lanes as they change, "  \
	"from its shared memory: also while its master is down or stopped."

/* man.c: to standard output. */
void man_print_page(void);

#endif
