/* SPDX-License-Identifier: MIT */
/* Completions of a program that has options alone, for a shell: to standard
 * output. */
#ifndef PSUP_TOOLS_COMPLETION_H
#define PSUP_TOOLS_COMPLETION_H

#include "common/option.h"

/* shell: "bash", "zsh" or "fish". */
void completion_print(const char *program, const struct opt *options,
    const char *shell);

#endif
