/* SPDX-License-Identifier: MIT */
/* A line on stderr, which clients keep in a log: "psup-mcp: ...", escaped. */
#ifndef MCP_LOG_H
#define MCP_LOG_H

void mcp_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
