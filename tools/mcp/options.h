/* SPDX-License-Identifier: MIT */
/* The command line, and what manual page and completions say of it. */
#ifndef MCP_OPTIONS_H
#define MCP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/option.h"

struct mcp_options {
	const char *workdir;     /* NULL: by the environment */
	const char *scope;       /* NULL: the project's */
	const char *token_file, *runtime_dir; /* NULL: libpsup's defaults */
	const char *on_cancel;   /* "end" or "background" */
	int64_t max_output;      /* bytes of an answer's text */
	int64_t max_yield_ms;    /* the longest that a call waits */
	bool classic, structured, login_env, no_start;
};
/* Never changes once options_take() has returned. */
extern const struct mcp_options *const mcp_options;

/* -1: go on; else the exit code, and all was said. */
int options_take(int argc, char **argv);

/* What the manual page and the completions list, too. */
extern const struct opt mcp_rows[];
#define mcp_about                                                              \
	"Serve exec and process tools to an MCP client over stdin and stdout. " \
	"Commands run under psup: they outlive this program and its client."

/* man.c: to standard output. */
void man_print_page(void);

#endif
