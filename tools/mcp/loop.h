/* SPDX-License-Identifier: MIT */
/* Waits for the client and the server, until the client is gone. */
#ifndef MCP_LOOP_H
#define MCP_LOOP_H

/* The exit code. */
int loop_run(void);

#endif
