/* SPDX-License-Identifier: MIT */
/* Whose sessions a project's clients see. Pure. */
#ifndef MCP_SCOPE_H
#define MCP_SCOPE_H

#include <stdbool.h>

#define SCOPE_SIZE 48

/* mcp:<folder>:<hash of its path>, for the next client of the same folder. */
void scope_of_folder(const char *path, char ret[SCOPE_SIZE]);
/* "/" and the home directory are no project: who works there shares nothing. */
bool scope_is_project(const char *path, const char *home);

#endif
