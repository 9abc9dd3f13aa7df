/* SPDX-License-Identifier: MIT */
/* Where commands run, with which environment, and in whose scope. */
#ifndef MCP_SURROUNDINGS_H
#define MCP_SURROUNDINGS_H

#include <psup/psup.h>

/* Finds the project out. 0 or -errno, and it was said. */
int surroundings_init(void);
/* The project's scope; NULL: a token says it. */
const char *surroundings_scope(void);
const char *surroundings_folder(void);
/* Environment, directory and mask of every exec; NULL: no memory. */
psup_args *surroundings_exec_args(void);
/* Text of random hex digits. */
void surroundings_random(char *ret, size_t digits);

#endif
