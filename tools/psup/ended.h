/* SPDX-License-Identifier: MIT */
/* How a session stands or ended, in a few words of a person's. */
#ifndef PSUP_ENDED_H
#define PSUP_ENDED_H

#include <jansson.h>

/* "running", "completed (exit 7)", "killed by TERM", "out of memory (limit
 * memoryBytes)": of a row of list or wait. */
void ended_words(const json_t *row, char *ret, size_t size);
/* A signal's name as people type it: without SIG. */
const char *ended_signal(const char *name);

#endif
