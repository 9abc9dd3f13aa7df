/* SPDX-License-Identifier: MIT */
/*
 * Events that are no end: a session has started, its time-out is near, a
 * worker was replaced. Called by recv.c, end.c and pool.c.
 * Whether a kind is recorded at all api/events.c knows; nothing here changes a
 * session's course.
 */
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/text.h"
#include "supervisor/master.h"

#define LINE_BYTES 400u

/* Is anybody told of this kind? */
static bool
wanted(const struct master *m, enum event_kind kind)
{
	return (m->kinds_wanted & EVENT_BIT(kind)) != 0;
}

/* It runs. */
void
news_started(struct master *m, struct session *s)
{
	char line[LINE_BYTES];

	if (s->shown.hidden || !wanted(m, EVENT_STARTED))
		return;
	snprintf(line, sizeof(line), "Exec started (%s, pid %d) :: %.200s",
	    s->id.slug, (int)s->facts.pid, s->id.name);
	session_touch(m, s); /* what is told is on record */
	api_event_news(m, EVENT_STARTED, s, line, "pid",
	    (uint64_t)s->facts.pid);
}

/* So long before its time-out a session is warned of: a tenth of the time-out,
 * at most what psup.conf says; 0: never. */
static uint64_t
warning_ms(const struct master *m, const struct session *s)
{
	uint64_t most = m->cfg.timeout_warning_sec * 1000;

	return s->wish.timeout_ms / 10 < most ? s->wish.timeout_ms / 10 : most;
}

/* Its time-out is near. */
static void
on_warning(int, short, void *arg)
{
	struct session *s = arg;
	struct master *m = s->deadline.master;
	uint64_t now = clock_wall_ms();
	char line[LINE_BYTES], left[32];

	turn_begin(m);
	news_deadline_off(s);
	if (!session_live(s) || s->deadline.warned ||
	    now >= s->deadline.at_ms || !wanted(m, EVENT_TIMEOUT_WARNING))
		return;
	s->deadline.warned = true;
	session_touch(m, s);
	text_duration(s->deadline.at_ms - now, left, sizeof(left));
	snprintf(line, sizeof(line),
	    "Exec will be ended by its timeout in %s (%s) :: %.200s", left,
	    s->id.slug, s->id.name);
	api_event_news(m, EVENT_TIMEOUT_WARNING, s, line, "deadlineAt",
	    s->deadline.at_ms);
}

void
news_deadline(struct master *m, struct session *s, uint64_t at_ms)
{
	uint64_t before = warning_ms(m, s), now = clock_wall_ms();

	s->deadline.at_ms = at_ms;
	if (s->deadline.at_ms == 0 || before == 0 || s->deadline.warned ||
	    s->shown.hidden || s->deadline.timer != NULL ||
	    now >= s->deadline.at_ms)
		return;
	s->deadline.master = m;
	timer_in(m, &s->deadline.timer, on_warning, s,
	    s->deadline.at_ms - now > before ? s->deadline.at_ms - now - before
					     : 0);
}

/* Nothing to warn of any more. */
void
news_deadline_off(struct session *s)
{
	timer_free(&s->deadline.timer);
}

/* A worker is gone, and what it had goes on elsewhere. */
void
news_worker_down(struct master *m, const struct ctl_peer *msg,
    uint64_t sessions)
{
	char line[LINE_BYTES], how[64];

	if (m->stopping || !wanted(m, EVENT_WORKER_RESTARTED))
		return;
	if (msg->code == CLD_EXITED && msg->status == 0)
		snprintf(how, sizeof(how), "it made way for an upgrade");
	else
		snprintf(how, sizeof(how), "%s %d",
		    msg->code == CLD_EXITED ? "it exited with code"
					    : "it died by signal",
		    (int)msg->status);
	snprintf(line, sizeof(line),
	    "Worker %u (pid %d) was replaced: %s; %" PRIu64
	    " running sessions go on",
	    (unsigned)msg->wid.slot, (int)msg->pid, how, sessions);
	api_event_news(m, EVENT_WORKER_RESTARTED, NULL, line, "worker",
	    msg->wid.slot);
}
