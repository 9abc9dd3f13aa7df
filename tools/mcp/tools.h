/* SPDX-License-Identifier: MIT */
/* The tools as a client sees them, from tools.def. Pure. */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum tool_set { TOOLS_SPLIT, TOOLS_CLASSIC }; /* --classic */

/* The array of tools/list. `cap_ms`: the longest that a call waits. with
 * outputSchema where `structured`. A new reference. */
json_t *tools_list(enum tool_set set, int cap_ms, bool structured);

/* Is there a tool of that name? */
bool tools_have(enum tool_set set, const char *tool);

/* The method of a call, from its tool and its action (NULL: it has none). NULL:
 * `why` says in a sentence what would be right. */
const char *tools_method(enum tool_set set, const char *tool,
    const char *action, char *why, size_t size);

/* "process_read (wait, poll), process_end (kill)": which tools have these
 * actions (an array of text). A new reference; NULL: none has any. */
json_t *tools_of_actions(enum tool_set set, const json_t *actions);

/* What a model is told of all of them at the beginning. */
extern const char tools_instructions[];

#endif
