/* SPDX-License-Identifier: MIT */
/* What a worker is told: its two channels. The master's is opened by what the
 * keeper says. */
#ifndef PSUP_WORKER_RECV_H
#define PSUP_WORKER_RECV_H

#include <event2/util.h>

/* Called by libevent: the keeper says something, or is gone; then everything
 * ends. `arg` is the worker. */
void recv_keeper(evutil_socket_t fd, short what, void *arg);

#endif
