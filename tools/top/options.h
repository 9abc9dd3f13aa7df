/* SPDX-License-Identifier: MIT */
/* The command line: options.def made into functions. */
#ifndef TOP_OPTIONS_H
#define TOP_OPTIONS_H

#include "display.h"

#define TOP_EXIT_USAGE     2
#define TOP_EXIT_NO_SERVER 3

/* 0: go on; else an exit code, and everything was said; -1: it was answered. */
int options_take(struct top_options *o, int argc, char **argv);

struct option_row {
	const char *name, *value, *doc;
	int letter;
};
extern const struct option_row option_rows[];
extern const size_t option_row_count;

/* man.c: to standard output. */
void man_print_help(void);
void man_print_page(void);

#endif
