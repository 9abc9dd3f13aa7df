/* SPDX-License-Identifier: MIT */
/* What is to be written to stdout. A client that does not read is waited for by
 * nobody: it finds all of it once it reads, and is read from no more. */
#ifndef MCP_OUT_H
#define MCP_OUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Queues a message as a line; takes the reference. */
void out_message(json_t *message);
/* Bytes that wait. */
size_t out_queued(void);
/* Bytes ever queued, and ever written: where a line ends, and whether it was
 * written. */
uint64_t out_end(void);
uint64_t out_written(void);
/* Writes what goes without waiting, once poll() says there is room. 0 or
 * -errno: nobody will read again. */
int out_write(void);

#endif
