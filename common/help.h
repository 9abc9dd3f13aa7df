/* SPDX-License-Identifier: MIT */
/* What --help prints, from the rows of option.h: to standard output. */
#ifndef PSUP_HELP_H
#define PSUP_HELP_H

#include "common/option.h"

/* "  -f, --follow" or "  --grace MS" */
void help_label(const struct opt *o, char *ret, size_t size);
/* A label, and its explanation beside it. */
void help_pair(const char *label, const char *text);
void help_options(const struct opt *o);
/* All of a program that has options alone. */
void help_command_line(const struct command_line *p, const char *name);

#endif
