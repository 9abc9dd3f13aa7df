/* SPDX-License-Identifier: MIT */
/* From a tool's answer to what a client gets. */
#ifndef MCP_RESULT_H
#define MCP_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools.h"

struct result_rules {
	size_t max_output; /* bytes of text */
	bool structured;   /* details as structuredContent */
	bool links;        /* the client knows resource_link */
	bool exec;         /* the answer of exec, not of another tool */
	enum tool_set set;
};

/* `answer`: {text, details, isError}; takes the reference. `news`: text of a
 * block of its own, or NULL; takes it, too. A new reference. */
json_t *result_make(const struct result_rules *rules, json_t *answer,
    json_t *news);

/* Text of at most `max` bytes: a third of it from the beginning, the rest from
 * the end, on borders of characters, with the bytes left out said between, and
 * of which session's they are, or NULL. */
json_t *result_cut(const char *text, size_t len, size_t max,
    enum tool_set set, const char *session);

#endif
