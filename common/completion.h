/* SPDX-License-Identifier: MIT */
/* Completions of a program that has options alone, for a shell: to standard
 * output. Called by option.c for --completion. */
#ifndef PSUP_COMPLETION_H
#define PSUP_COMPLETION_H

#include "common/option.h"

/* shell: "bash", "zsh" or "fish". */
void completion_print(const char *program, const struct command_line *line,
    const char *shell);

#endif
