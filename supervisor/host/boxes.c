/* SPDX-License-Identifier: MIT */
/* See boxes.h. */
#include "supervisor/host/boxes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/box_pts.h"
#include "common/log.h"
#include "common/procfs.h"
#include "supervisor/host/inner.h"
#include "supervisor/master.h"

#define EXITING 0x4u /* of the kernel's flags: PF_EXITING */

/* ------------------------------------------------------- what is to be done */

/* There is no box for it: nothing of it ran, and nothing will elsewhere. */
static void
refuse(struct master *m, struct session *s, const char *why)
{
	facts_failed(s, ENOTSUP, STAGE_BOX, why);
	session_end_here(m, s, END_SPAWN_ERROR, "no box");
}

static void
stop(struct master *m, const struct host_box *bx)
{
	struct session *s = session_by_sid(m, bx->sid);

	if (s != NULL && session_live(s))
		session_kill(
		    m, s, SIGKILL, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	s = session_by_sid(m, bx->setup);
	if (s != NULL && session_live(s))
		session_kill(
		    m, s, SIGKILL, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
}

/* All that wait, as they are now: who wants in again may wait again. */
static void
each_waiting(struct master *m, struct host_box *bx, bool refused)
{
	struct session_list now = TAILQ_HEAD_INITIALIZER(now);
	struct session *s;

	while ((s = TAILQ_FIRST(&bx->waiting)) != NULL)
		starts_box(s, &now);
	while ((s = TAILQ_FIRST(&now)) != NULL) {
		if (refused)
			refuse(m, s, bx->why);
		else
			starts_enter(m, s);
	}
}

/* For the next master: nobody needs to set it up any more, or is to enter. */
static void
note_state(struct master *m, struct host_box *bx)
{
	struct session *s = session_by_sid(m, bx->sid);
	struct sid what = bx->sid;

	if (s == NULL || bx->life.state == BOX_MAKING ||
	    bx->life.state == BOX_SETUP || bx->life.state == BOX_GONE)
		return;
	if (bx->life.state != BOX_READY)
		what.v = BOXES_CLOSING;
	starts_inside(s, what);
	session_touch(m, s);
}

void
boxes_tell(struct master *m, struct host_box *bx, enum box_event event)
{
	enum box_state was = bx->life.state;
	unsigned todo = box_tell(&bx->life, event, &bx->rules, clock_boot_ns());
	struct session *s;

	boxes_place(m, bx);
	if (bx->life.state != was) {
		log_event(bx->life.state == BOX_FAILED ? LOG_WARN : LOG_NOTE,
		    "box", KV("box", bx->key), KV("session", bx->sid.v),
		    KV("box_pid", bx->pid), KV("from", box_state_name(was)),
		    KV("to", box_state_name(bx->life.state)),
		    KV("why", bx->why));
		note_state(m, bx);
		if (was == BOX_MAKING) /* "", where it was made */
			(void)strlcpy(m->boxes.why, bx->why,
			    sizeof(m->boxes.why));
	}
	if ((todo & BOX_DO_MAKE) != 0) {
		s = maker_box(m, bx, bx->why);
		if (s != NULL)
			boxes_is(m, bx, s->id.sid);
		else
			boxes_tell(m, bx, BOX_DIED);
	}
	if ((todo & BOX_DO_SETUP) != 0) {
		s = maker_setup(m, bx, bx->why);
		if (s != NULL)
			bx->setup = s->id.sid;
		else
			boxes_tell(m, bx, BOX_BAD);
	}
	if ((todo & (BOX_DO_AGAIN | BOX_DO_REFUSE)) != 0)
		each_waiting(m, bx, (todo & BOX_DO_REFUSE) != 0);
	if ((todo & BOX_DO_STOP) != 0)
		stop(m, bx);
}

/* --------------------------------------------------------------- sessions */

bool
boxes_enter(struct master *m, struct session *s)
{
	char key[BOXES_KEY_MAX];
	struct host_box *bx;
	unsigned todo;

	if (m->stopping) {
		session_end_here(m, s, END_SHUTDOWN, "no box is made any more");
		return false;
	}
	boxes_key(&m->cfg.sandbox, s->id.scope, s->id.sid.v, key);
	bx = boxes_of(m, key,
	    m->cfg.sandbox.scope == CONFIG_BOX_SHARED ? BOXES_SCOPE
						      : s->id.scope);
	if (bx == NULL) {
		refuse(m, s, "no sandbox: out of memory");
		return false;
	}
	if (bx->life.state == BOX_ABSENT) {
		starts_box(s, &bx->waiting);
		boxes_tell(m, bx, BOX_WANT);
		boxes_settle(m, bx);
		return false;
	}
	todo = box_tell(&bx->life, BOX_WANT, &bx->rules, clock_boot_ns());
	boxes_place(m, bx);
	if ((todo & BOX_DO_ENTER) != 0) {
		starts_inside(s, bx->sid);
		return true;
	}
	if ((todo & BOX_DO_REFUSE) != 0)
		refuse(m, s, bx->why);
	else
		starts_box(s, &bx->waiting);
	return false;
}

void
boxes_left(struct master *m, struct session *s)
{
	struct host_box *bx = boxes_by_sid(m, s->start.box);

	if (bx == NULL || bx->life.inside == 0)
		return;
	boxes_tell(m, bx, BOX_LEFT);
	if (bx->life.inside == 0 && boxes_is_of_session(bx))
		boxes_tell(m, bx, BOX_DRAIN);
	boxes_settle(m, bx);
}

int
boxes_order(struct master *m, const struct session *s, struct ctl_start *ret)
{
	const struct host_box *bx;

	if (!session_has_box(s))
		return 0;
	bx = boxes_by_sid(m, s->wish.host == HOST_BOX ? s->id.sid : s->start.box);
	if (bx == NULL)
		return -ESRCH;
	/* else it is whoever we are; an engine is asked by nobody else */
	if (geteuid() == 0 && (s->wish.host != HOST_BOX ||
	        bx->made->backend == CONFIG_BACKEND_BWRAP)) {
		ret->box_uid = bx->made->uid;
		ret->box_gid = bx->made->gid;
	}
	if (s->wish.host == HOST_BOX) {
		ret->flags |= CTL_START_BOX;
		ret->oom_score_adj = 0;
		ret->box_cpus = (uint32_t)bx->made->cpus;
		return 0;
	}
	if (bx->pid == 0)
		return -ESRCH;
	ret->flags |= CTL_START_BOXED;
	if (s->wish.host == HOST_SETUP)
		ret->flags |= CTL_START_SETUP;
	ret->head.reader = CTL_READER_BOXED;
	ret->box_pid = bx->pid;
	ret->box_start = bx->start;
	ret->box_sid = bx->sid.v;
	return 0;
}

bool
boxes_is_dying(const struct host_box *bx)
{
	struct procfs_stat st;

	return bx->pid != 0 &&
	       (procfs_stat(bx->pid, &st) < 0 || st.start != bx->start ||
		   procfs_has_ended(&st) || (st.flags & EXITING) != 0);
}

bool
boxes_is_dead(struct master *m, const struct session *s)
{
	struct host_box *bx = boxes_by_sid(m, s->start.box);

	if (bx == NULL)
		return true; /* it ended before this master came */
	if (bx->life.state == BOX_GONE)
		return true;
	if (!boxes_is_dying(bx))
		return false;
	boxes_tell(m, bx, BOX_DIED);
	return true;
}

int32_t
boxes_adopter(struct master *m, const struct session *s)
{
	const struct host_box *bx = boxes_by_sid(m, s->start.box);

	return bx == NULL || bx->made->backend != CONFIG_BACKEND_BWRAP ||
		boxes_is_dying(bx)
	    ? 0
	    : bx->pid;
}

void
boxes_where(struct master *m, const struct session *s, char *ret, size_t size)
{
	const struct host_box *bx = boxes_by_sid(m, s->start.box);
	char most[64] = "";

	if (bx == NULL)
		return;
	if (bx->made->pids != 0)
		(void)snprintf(most, sizeof(most),
		    ", which may have %llu processes (sandbox.pids)",
		    (unsigned long long)bx->made->pids);
	(void)snprintf(ret, size, "%.100s in the box \"%s\"%s", s->id.name,
	    bx->key, most);
}

int
boxes_open(struct master *m, const struct session *s, const char *path)
{
	const struct host_box *bx = boxes_by_sid(m, s->start.box);
	int fd = bx == NULL || bx->pid == 0
	    ? -ESRCH
	    : box_pts_open(bx->pid, path, O_RDONLY);

	if (fd >= 0 && boxes_is_dying(bx)) { /* the number may be another's */
		close(fd);
		return -ESRCH;
	}
	return fd;
}

size_t
boxes_drain(struct master *m, const char *key)
{
	struct host_box *bx, *next;
	size_t n = 0;

	LIST_FOREACH_SAFE(bx, &m->boxes.list, link, next)
	{
		if (bx->life.state == BOX_GONE ||
		    (key != NULL && strcmp(bx->key, key) != 0))
			continue;
		n++;
		boxes_tell(m, bx, BOX_DRAIN);
	}
	return n;
}

void
boxes_reload(struct master *m)
{
	struct host_box *bx, *next;

	m->boxes.why[0] = '\0';
	LIST_FOREACH_SAFE(bx, &m->boxes.list, link, next)
	{
		if (bx->life.state == BOX_GONE ||
		    bx->sum == config_sandbox_sum(&m->cfg, bx->scope))
			continue;
		bx->stale = true; /* one that has failed, too */
		boxes_tell(m, bx, BOX_DRAIN);
	}
}
