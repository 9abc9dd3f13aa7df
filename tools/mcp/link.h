/* SPDX-License-Identifier: MIT */
/*
 * The connections to the server, made at the first call: one for calls, which
 * libpsup takes up again where a master dies, and one for events, which we take
 * up ourselves. All that a server keeps for a connection of ours is what execs
 * begin with, and libpsup sends that again.
 */
#ifndef MCP_LINK_H
#define MCP_LINK_H

#include <poll.h>
#include <psup/psup.h>

/* Needed before all else: PSUP_OK or an error. */
int link_init(void);
void link_fini(void);

/* The handle of the calls: for psup_error_*(). */
psup *link_handle(void);
/* Connects, and starts a server where none runs. PSUP_OK or an error, and it was
 * said. */
int link_reach(void);
/* As psup_send(), after connecting; a server is started where none runs.
 * `*ret_reached`: it was the request that failed, not the connection. */
int link_send(const char *method, const psup_args *a, psup_answer_fn *fn,
    void *arg, uint32_t *ret_id, bool *ret_reached);
/* The same where the answer is of no interest; it connects nowhere. */
void link_tell(const char *method, const psup_args *a);
void link_cancel(uint32_t id);

/* For the loop: what to wait for, and what to do then. While `held` nothing
 * is received. */
#define LINK_FDS 2
void link_poll(struct pollfd pfd[LINK_FDS]);
void link_hold(bool held);
/* pfd: what poll() said; NULL: something may have come. */
void link_dispatch(const struct pollfd *pfd);
/* Once a second: a connection that is lost for too long, or to be taken up. */
void link_tick(void);
/* Is there something to do in a second? */
bool link_ticks(void);

#endif
