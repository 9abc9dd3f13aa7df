/* SPDX-License-Identifier: MIT */
/* What --help prints, from the rows of option.h: to standard output. */
#ifndef PSUP_TOOLS_HELP_H
#define PSUP_TOOLS_HELP_H

#include "tools/lib/option.h"

/* "  -f, --follow" or "  --grace MS" */
void help_label(const struct opt *o, char *ret, size_t size);
/* A label, and its explanation beside it. */
void help_pair(const char *label, const char *text);
void help_options(const struct opt *o);
/* All of a program that has options alone. */
void help_program(const struct program *p, const char *name);

#endif
