/* SPDX-License-Identifier: MIT */
/*
 * The kinds of events. The ends of backgrounded sessions are always in the
 * log, exactly once each; the others are news: recorded where psup.conf or a
 * connected subscriber asks for them, and never at the cost of an end.
 */
#ifndef PSUP_EVENT_KIND_H
#define PSUP_EVENT_KIND_H

#include <stddef.h>
#include <stdint.h>

enum event_kind {
	EVENT_EXITED,
	EVENT_LOST,
	EVENT_STARTED,
	EVENT_TIMEOUT_WARNING,
	EVENT_WORKER_RESTARTED,
	EVENT_LANE_WAIT,
	EVENT_KINDS
};
/* Sets of kinds are masks of 1 << kind. */
#define EVENT_BIT(kind) (UINT32_C(1) << (kind))
#define EVENT_ENDS      (EVENT_BIT(EVENT_EXITED) | EVENT_BIT(EVENT_LOST))
#define EVENT_ALL       (EVENT_BIT(EVENT_KINDS) - 1)
/* Recorded unless psup.conf says otherwise: what happens rarely. */
#define EVENT_USUAL                                                            \
	(EVENT_ENDS | EVENT_BIT(EVENT_TIMEOUT_WARNING) |                       \
	    EVENT_BIT(EVENT_WORKER_RESTARTED) | EVENT_BIT(EVENT_LANE_WAIT))
/* All names, for messages. */
#define EVENT_KIND_NAMES                                                       \
	"exited, lost, started, timeout-warning, worker-restarted, lane-wait"

const char *event_kind_name(enum event_kind kind);
/* -1: no such kind. */
int event_kind_of(const char *name, size_t len);

#endif
