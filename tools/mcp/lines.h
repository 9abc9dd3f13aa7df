/* SPDX-License-Identifier: MIT */
/* Lines out of what is read, bounded. Pure: it knows no descriptor. */
#ifndef MCP_LINES_H
#define MCP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_BYTES 4194304u /* what a line may have, its end not counted */

/* All zero at first. */
struct lines {
	char *buf; /* the line that has begun */
	size_t len, cap;
	bool skips; /* it is over LINE_BYTES: thrown away to its end */
};

/* A whole line without its LF or CR LF; NULL: one over LINE_BYTES begins, and
 * is told of once. It may be changed, and dies on return. */
typedef void line_fn(void *arg, char *line, size_t len);

/* Takes the next bytes, and calls fn for each line that they end. What is left
 * waits for its LF; a line whose LF never comes is none. 0 or -ENOMEM. */
int lines_feed(struct lines *l, const char *data, size_t len, line_fn *fn,
    void *arg);
void lines_free(struct lines *l);

#endif
