/* SPDX-License-Identifier: MIT */
/* psup tool: what its lines (cmd_tool.c) and its calls (tool_call.c) share. */
#ifndef PSUP_TOOL_H
#define PSUP_TOOL_H

#include "cli.h"

/* A call without an id whose turn has not come, or the answer to a line that
 * was none. */
struct queued {
	struct queued *next;
	json_t *request, *answer;
};

struct call;

struct tool {
	struct cli *c;
	const char *scope;
	bool end_of_input, out_broken;
	size_t calls; /* under way or waiting */
	struct call *under_way; /* tool_call.c */
	bool schema; /* --schema */
	/* calls without an id */
	bool busy;
	struct queued *first, **last;
	/* the line being read */
	char *line;
	size_t len, cap;
	bool overlong; /* beyond PARSE_BYTES: thrown away to its end */
	char cwd[4096];
};

/* A valid object: runs now, or waits for those before it. Takes the
 * reference. */
void tool_take_request(struct tool *t, json_t *request);
/* A line that is no call: answered at once by its id, else in its turn. */
void tool_refuse_line(struct tool *t, const json_t *id, const char *code,
    const char *field, const char *message);
/* Calls without an id whose turn has come. */
void tool_start_queued(struct tool *t);

#endif
