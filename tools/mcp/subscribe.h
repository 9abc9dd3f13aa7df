/* SPDX-License-Identifier: MIT */
/* Resources whose changes a client wants to hear of. */
#ifndef MCP_SUBSCRIBE_H
#define MCP_SUBSCRIBE_H

#include <stdbool.h>

#include "rpc.h"

/* resources/subscribe and /unsubscribe (legacy), subscriptions/listen
 * (modern) */
void subscribe_uri(const struct rpc_request *r);
void subscribe_no_more(const struct rpc_request *r);
void subscribe_listen(const struct rpc_request *r);

/* The client ends what it listens to by that request; false: it is none. */
bool subscribe_cancel(const json_t *id);
/* We end all of them. */
void subscribe_close(void);

bool subscribe_any(void);
/* A session is over. */
void subscribe_ended(const char *session);

#endif
