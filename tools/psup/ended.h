/* SPDX-License-Identifier: MIT */
/* How a session stands or ended, in a few words of a person's. */
#ifndef PSUP_ENDED_H
#define PSUP_ENDED_H

#include <stdbool.h>

#include "tools/calls/json.h"

/* "running", "completed (exit 7)", "killed by TERM", "out of memory (limit
 * memoryBytes)": of a row of list or wait. brief: for a column, "exited 7". */
void ended_words(const json_t *row, bool brief, char *ret, size_t size);
/* A signal's name as people type it: without SIG. */
const char *ended_signal(const char *name);

#endif
