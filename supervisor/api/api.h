/* SPDX-License-Identifier: MIT */
/* What the rest of the master sees of clients: nothing but that they are told. */
#ifndef PSUP_SUPERVISOR_API_API_H
#define PSUP_SUPERVISOR_API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/store/events.h"

struct ctl_upgraded;
struct master;
struct session;
struct watch;

/* What a request that watches a session, or waits, is woken for. */
enum wake {
	WAKE_OUTPUT = 1, /* there may be more output */
	WAKE_STATE = 2,  /* running, exited, ended */
	WAKE_STDIN = 4,  /* consumed, or closed */
	WAKE_TIMER = 8,
	WAKE_ROOM = 16,  /* the connection's out-queue has room */
	WAKE_GONE = 32,  /* the session is being forgotten */
	WAKE_MORE = 64,  /* its own: it goes on in another unit */
	WAKE_INPUT = 128, /* a look whether it waits for input has come */
};

/* Something has happened to the session: whose request that is hears of it in a
 * unit of its own; of WAKE_GONE alone at once, and of what came before it. */
void watch_wake(struct watch *w, unsigned wake);

int conn_listen(struct master *m);
/* How many clients are connected. */
size_t conn_count(const struct master *m);
void conn_close_all(struct master *m);
void conn_turn_end(struct master *m, bool committed);
/* A session runs: exec answers who asked for the background. */
void api_exec_running(struct session *s);
/* Answers the drains that are done. */
void api_lanes_step(struct master *m);
/* The master ends: who is not told yet is not told by it. */
void api_end_stop(struct master *m);
/* Subscribers get what is new; called after the commit. */
void api_events_push(struct master *m);
/* Who subscribes, or psup.conf, has changed. */
void api_events_recount(struct master *m);
/* News for the log: recorded where somebody wants that kind. `s` NULL: about
 * the server. `key` NULL, or a field of the kind and its value. */
void api_event_news(struct master *m, enum event_kind kind, struct session *s,
    const char *text, const char *key, uint64_t value);
/* The keeper has said what becomes of an upgrade. */
void upgrade_told(struct master *m, const struct ctl_upgraded *msg);

#endif
