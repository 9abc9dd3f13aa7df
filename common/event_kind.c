/* SPDX-License-Identifier: MIT */
/* Names of event kinds, for the wire, psup.conf and the event log. */
#include "event_kind.h"

#include <string.h>

#include "check.h"

static const char *const names[EVENT_KINDS] = {
	[EVENT_EXITED] = "exited",
	[EVENT_LOST] = "lost",
	[EVENT_STARTED] = "started",
	[EVENT_TIMEOUT_WARNING] = "timeout-warning",
	[EVENT_WORKER_RESTARTED] = "worker-restarted",
	[EVENT_LANE_WAIT] = "lane-wait",
};

/* The name that clients see. */
const char *
event_kind_name(enum event_kind kind)
{
	CHECK(kind < EVENT_KINDS);
	return names[kind];
}

/* The kind of that name. */
int
event_kind_of(const char *name, size_t len)
{
	for (int i = 0; i < EVENT_KINDS; i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return i;
	return -1;
}
