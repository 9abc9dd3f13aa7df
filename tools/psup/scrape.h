/* SPDX-License-Identifier: MIT */
/* psup metrics --listen: an HTTP server for one page. */
#ifndef PSUP_SCRAPE_H
#define PSUP_SCRAPE_H

#include "cli.h"

#define SCRAPE_CLIENTS 16 /* at once; more wait in the kernel's queue */

/* A socket "unix:/PATH", or "/PATH", or a loopback address "127.0.0.1:PORT",
 * "[::1]:PORT", "localhost:PORT". Returns the listening descriptor, with its address
 * spelled out in `shown`; else -1, or SCRAPE_NO_ADDRESS for what is none of
 * these, with a sentence there. */
#define SCRAPE_NO_ADDRESS (-2)
int scrape_bind(const char *address, char *shown, size_t size);
/* Is this, of a Host header, a name or an address that only this machine can
 * mean? With or without a port. */
bool scrape_is_loopback(const char *host);
/* Unlinks what scrape_bind() made, if it is there still. */
void scrape_unbind(const char *address);
/* Serves until SIGINT or SIGTERM. The exit code. */
int scrape_serve(struct cli *c, int fd);

#endif
