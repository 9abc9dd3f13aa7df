/* SPDX-License-Identifier: MIT */
/*
 * What became of a session, as its worker, its ring, the keeper or this master
 * says it. What follows from that is recv.c's and end.c's to decide.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "supervisor/master.h"

void
facts_begin(struct session *s)
{
	s->facts.exit_code = -1;
}

void
facts_pid(struct master *m, struct session *s, int32_t pid)
{
	s->facts.pid = pid > 0 ? pid : 0;
	registry_pid(m, s);
}

void
facts_running(struct master *m, struct session *s,
    const struct ctl_running *msg)
{
	facts_pid(m, s, msg->pid);
	s->facts.started_ms = msg->started_ms;
}

void
facts_failed(struct session *s, int32_t error, uint32_t stage,
    const char *path)
{
	s->facts.error = error;
	s->facts.stage = stage;
	free(s->facts.hung_at);
	s->facts.hung_at = path != NULL ? strdup(path) : NULL;
}

void
facts_exited(struct session *s, int32_t code, int32_t status)
{
	s->facts.exit_code = -1;
	s->facts.exit_signal = 0;
	if (code == CLD_EXITED)
		s->facts.exit_code = status & 0xff;
	else if ((code == CLD_KILLED || code == CLD_DUMPED) && status > 0 &&
	    status < NSIG)
		s->facts.exit_signal = status;
}

/* Why it ended, as its worker or ring says it, or as its exit does. */
static void
take_reason(struct session *s, uint32_t reason)
{
	s->facts.reason = reason;
	if (reason == END_NONE || reason >= END_REASONS)
		s->facts.reason = s->facts.exit_signal != 0 ? END_SIGNAL
		    : s->facts.exit_code >= 0		? END_EXIT
							: END_LOST;
}

void
facts_lost(struct session *s)
{
	s->facts.reason = END_LOST;
}

/* Who holds its output: "PID NAME" each, fit to be shown. */
static void
take_holders(struct session *s, uint32_t holders, uint32_t named,
    const struct ctl_holder *list)
{
	struct sbuf b = SBUF_INIT;
	size_t i, k;

	s->facts.holders = holders;
	for (i = 0; i < named && i < CTL_END_HOLDERS; i++) {
		char name[sizeof(list[i].name)];

		snprintf(name, sizeof(name), "%.*s",
		    (int)sizeof(list[i].name) - 1, list[i].name);
		for (k = 0; name[k] != '\0'; k++)
			if (name[k] < 0x20 || name[k] > 0x7e)
				name[k] = '?';
		sbuf_addf(&b, "%d %s\n", (int)list[i].pid, name);
	}
	free(s->facts.holder_list);
	s->facts.holder_list = b.p;
}

/* Who is still alive of it. */
static void
take_remaining(struct session *s, uint32_t n, const int32_t pids[CTL_END_PIDS])
{
	s->facts.remaining = n;
	memcpy(s->facts.remaining_pids, pids, sizeof(s->facts.remaining_pids));
}

void
facts_end(struct master *m, struct session *s, const struct ctl_end *msg)
{
	CHECK(session_live(s));
	facts_exited(s, msg->exit.code, msg->exit.status);
	take_reason(s, msg->reason);
	take_holders(s, msg->holders, msg->named, msg->holder);
	take_remaining(s, msg->remaining, msg->remaining_pids);
	s->facts.in_leaf = msg->in_leaf != 0;
	s->facts.ladder_ms = msg->ladder_ms;
	s->facts.killed = msg->killed != 0;
	s->facts.utime_us = msg->exit.utime_us;
	s->facts.stime_us = msg->exit.stime_us;
	s->facts.io_blocks = msg->exit.io_blocks;
	s->facts.maxrss_kib = msg->exit.maxrss_kib;
	if (msg->exit.pid > 0 && s->facts.pid == 0)
		facts_pid(m, s, msg->exit.pid);
	if (msg->started_ms != 0)
		s->facts.started_ms = msg->started_ms;
	s->facts.ended_ms = msg->ended_ms != 0 ? msg->ended_ms
					       : clock_wall_ms();
	s->facts.duration_ms = msg->duration_ms;
}

void
facts_left(struct session *s, const struct ctl_left *msg)
{
	CHECK(!session_live(s));
	take_holders(s, msg->holders, msg->named, msg->holder);
	take_remaining(s, msg->remaining, msg->remaining_pids);
}

void
facts_here(struct session *s, uint32_t reason)
{
	CHECK(session_live(s));
	s->facts.reason = reason;
	s->facts.ended_ms = clock_wall_ms();
	if (s->facts.started_ms != 0 && s->facts.ended_ms > s->facts.started_ms)
		s->facts.duration_ms = s->facts.ended_ms - s->facts.started_ms;
}

bool
facts_by_ring(struct session *s, const struct ring_header *h)
{
	int32_t code = h->exit_code;

	if (s->facts.started_ms == 0)
		s->facts.started_ms = h->started_ms;
	if (code != CLD_EXITED && code != CLD_KILLED && code != CLD_DUMPED)
		return false;
	facts_exited(s, code, h->exit_status);
	take_reason(s, h->end_reason);
	return true;
}

void
facts_over(struct session *s, uint32_t status)
{
	CHECK(session_live(s) && status != STATUS_RUNNING);
	s->facts.status = status;
	s->facts.ended_ns = clock_boot_ns();
}
