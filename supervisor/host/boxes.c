/* SPDX-License-Identifier: MIT */
/* See boxes.h. */
#include "supervisor/host/boxes.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/log.h"
#include "common/procfs.h"
#include "supervisor/master.h"

#define MAKE_NS	  (10 * NSEC_PER_SEC)
#define SETUP_NS  (600 * NSEC_PER_SEC)
#define STOP_NS	  (5 * NSEC_PER_SEC)
#define MINUTE_NS (60 * NSEC_PER_SEC)

#define EXITING	  0x4u /* of the kernel's flags: PF_EXITING */

static void look_at_time(struct master *m);

void
boxes_init(struct master *m)
{
	LIST_INIT(&m->boxes.list);
}

static void
box_free(struct host_box *bx)
{
	CHECK(TAILQ_EMPTY(&bx->waiting));
	LIST_REMOVE(bx, link);
	free(bx->made);
	free(bx);
}

void
boxes_fini(struct master *m)
{
	struct host_box *bx;

	if (m->boxes.timer != NULL)
		event_free(m->boxes.timer);
	m->boxes.timer = NULL;
	while ((bx = LIST_FIRST(&m->boxes.list)) != NULL) {
		TAILQ_INIT(&bx->waiting); /* the master ends: nobody waits */
		box_free(bx);
	}
}

static struct host_box *
by_sid(struct master *m, struct sid sid)
{
	struct host_box *bx;

	LIST_FOREACH(bx, &m->boxes.list, link)
	if (sid.v != 0 && (bx->sid.v == sid.v || bx->setup.v == sid.v))
		return bx;
	return NULL;
}

/* ------------------------------------------------------------- whose box */

void
boxes_key(const struct config_sandbox *c, const char *scope, uint64_t sid,
    char ret[BOXES_KEY_MAX])
{
	if (c->scope == CONFIG_BOX_SHARED)
		(void)snprintf(ret, BOXES_KEY_MAX, "shared");
	else if (c->scope == CONFIG_BOX_SESSION)
		(void)snprintf(ret, BOXES_KEY_MAX, "session %016" PRIx64, sid);
	else
		(void)snprintf(ret, BOXES_KEY_MAX, "agent %s", scope);
}

/* One of which nothing is there yet. */
static struct host_box *
box_new(struct master *m, const char *key)
{
	const struct config_sandbox *c = &m->cfg.sandbox;
	struct host_box *bx = calloc(1, sizeof(*bx));

	if (bx == NULL || (bx->made = malloc(sizeof(*bx->made))) == NULL) {
		free(bx);
		return NULL;
	}
	*bx->made = *c;
	(void)snprintf(bx->key, sizeof(bx->key), "%s", key);
	bx->rules = (struct box_rules){.setup = c->setup[0] != '\0',
	    .make_ns = MAKE_NS,
	    .setup_ns = SETUP_NS,
	    .stop_ns = STOP_NS,
	    .idle_ns = c->idle_min * MINUTE_NS,
	    .age_ns = c->max_age_min * MINUTE_NS};
	bx->made_ms = clock_wall_ms();
	TAILQ_INIT(&bx->waiting);
	LIST_INSERT_HEAD(&m->boxes.list, bx, link);
	return bx;
}

/* That of a key that still takes somebody in, or a new one: who is inside of
 * one that is drained may stay there for ever. */
static struct host_box *
box_of(struct master *m, const char *key)
{
	struct host_box *bx;

	LIST_FOREACH(bx, &m->boxes.list, link)
	if (bx->life.state != BOX_GONE && bx->life.state != BOX_DRAINING &&
	    strcmp(bx->key, key) == 0)
		return bx;
	return box_new(m, key);
}

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

static void
tell(struct master *m, struct host_box *bx, enum box_event event)
{
	enum box_state was = bx->life.state;
	unsigned todo = box_tell(&bx->life, event, &bx->rules, clock_boot_ns());
	struct session *s;

	if (bx->life.state != was)
		log_event(bx->life.state == BOX_FAILED ? LOG_WARN : LOG_NOTE,
		    "box", KV("box", bx->key), KV("session", bx->sid.v),
		    KV("box_pid", bx->pid), KV("from", box_state_name(was)),
		    KV("to", box_state_name(bx->life.state)),
		    KV("why", bx->why));
	s = session_by_sid(m, bx->sid);
	if (bx->life.state == BOX_READY && was != BOX_READY && s != NULL) {
		starts_inside(s, s->id.sid); /* for the next master: set up */
		session_touch(m, s);
	}
	if ((todo & BOX_DO_MAKE) != 0) {
		s = maker_box(m, bx, bx->why);
		if (s != NULL)
			bx->sid = s->id.sid;
		else
			tell(m, bx, BOX_DIED);
	}
	if ((todo & BOX_DO_SETUP) != 0) {
		s = maker_setup(m, bx);
		if (s != NULL)
			bx->setup = s->id.sid;
		else
			tell(m, bx, BOX_SETUP_BAD);
	}
	if ((todo & (BOX_DO_AGAIN | BOX_DO_REFUSE)) != 0)
		each_waiting(m, bx, (todo & BOX_DO_REFUSE) != 0);
	if ((todo & BOX_DO_STOP) != 0)
		stop(m, bx);
}

/* Nobody is to hear of it any more. */
static void
settle(struct master *m, struct host_box *bx)
{
	if (bx->life.state == BOX_GONE && bx->life.inside == 0 &&
	    TAILQ_EMPTY(&bx->waiting))
		box_free(bx);
	look_at_time(m);
}

/* ------------------------------------------------------------------ time */

static void
on_timer(int fd, short what, void *arg)
{
	struct master *m = arg;
	struct host_box *bx, *next;
	uint64_t now = clock_boot_ns();

	(void)fd;
	(void)what;
	turn_begin(m);
	LIST_FOREACH_SAFE(bx, &m->boxes.list, link, next)
	{
		if (box_due_ns(&bx->life, &bx->rules) > now)
			continue;
		if (bx->life.state == BOX_MAKING)
			(void)snprintf(bx->why, sizeof(bx->why),
			    "no sandbox: it was not made within 10 s");
		else if (bx->life.state == BOX_SETUP)
			(void)snprintf(bx->why, sizeof(bx->why),
			    "no sandbox: its setup command did not end within "
			    "10 minutes");
		tell(m, bx, BOX_TIME);
	}
	look_at_time(m);
}

static void
look_at_time(struct master *m)
{
	uint64_t now = clock_boot_ns(), due = UINT64_MAX, at;
	const struct host_box *bx;

	LIST_FOREACH(bx, &m->boxes.list, link)
	{
		at = box_due_ns(&bx->life, &bx->rules);
		if (at < due)
			due = at;
	}
	if (due != UINT64_MAX)
		timer_in(m, &m->boxes.timer, on_timer, m,
		    due > now ? (due - now) / NSEC_PER_MSEC + 1 : 1);
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
	bx = box_of(m, key);
	if (bx == NULL) {
		refuse(m, s, "no sandbox: out of memory");
		return false;
	}
	if (bx->life.state == BOX_ABSENT) {
		starts_box(s, &bx->waiting);
		tell(m, bx, BOX_WANT);
		settle(m, bx);
		return false;
	}
	todo = box_tell(&bx->life, BOX_WANT, &bx->rules, clock_boot_ns());
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
	struct host_box *bx = by_sid(m, s->start.box);

	if (bx == NULL || bx->life.inside == 0)
		return;
	tell(m, bx, BOX_LEFT);
	if (bx->life.inside == 0 && bx->made->scope == CONFIG_BOX_SESSION)
		tell(m, bx, BOX_DRAIN);
	settle(m, bx);
}

int
boxes_order(struct master *m, const struct session *s, struct ctl_start *ret)
{
	const struct host_box *bx;

	if (!session_has_box(s))
		return 0;
	bx = by_sid(m, s->wish.host == HOST_BOX ? s->id.sid : s->start.box);
	if (bx == NULL)
		return -ESRCH;
	if (geteuid() == 0) { /* else it is whoever we are */
		ret->box_uid = bx->made->uid;
		ret->box_gid = bx->made->gid;
	}
	if (s->wish.host == HOST_BOX) {
		ret->flags |= CTL_START_BOX;
		ret->oom_score_adj = 0;
		return 0;
	}
	if (bx->pid == 0)
		return -ESRCH;
	ret->flags |= CTL_START_BOXED;
	ret->head.reader = CTL_READER_BOXED;
	ret->box_pid = bx->pid;
	ret->box_start = bx->start;
	return 0;
}

/* Has pid 1 exited, or does it? The kernel then kills all in the box, and waits
 * in there until the last of them is reaped. */
static bool
is_dying(const struct host_box *bx)
{
	struct procfs_stat st;

	return bx->pid != 0 &&
	       (procfs_stat(bx->pid, &st) < 0 || st.start != bx->start ||
		   procfs_has_ended(&st) || (st.flags & EXITING) != 0);
}

bool
boxes_is_dead(struct master *m, const struct session *s)
{
	struct host_box *bx = by_sid(m, s->start.box);

	if (bx == NULL)
		return true; /* it ended before this master came */
	if (bx->life.state == BOX_GONE)
		return true;
	if (!is_dying(bx))
		return false;
	tell(m, bx, BOX_DIED);
	return true;
}

/* ----------------------------------------------------------------- boxes */

/* The box's session has said something: which process is pid 1? */
static void
box_heard(struct master *m, struct host_box *bx, struct session *s)
{
	struct sbuf text = SBUF_INIT;
	struct procfs_stat st;
	int32_t pid = 0;

	session_tail(m, s, &text, MASTER_TAIL, false);
	if (text.p != NULL && !text.failed)
		pid = maker_parse(text.p, text.len);
	sbuf_fini(&text);
	if (pid == 0) {
		output_watch(m, s, s->output.total);
		return;
	}
	if (procfs_stat(pid, &st) < 0)
		return; /* it has ended, and its bwrap will */
	bx->pid = pid;
	bx->start = st.start;
	tell(m, bx, BOX_UP);
	look_at_time(m);
}

void
boxes_heard(struct master *m, struct session *s)
{
	struct host_box *bx = by_sid(m, s->id.sid);

	if (bx != NULL && s->wish.host == HOST_BOX && session_live(s) &&
	    s->state != STATE_STARTING && bx->life.state == BOX_MAKING)
		box_heard(m, bx, s);
}

/* Why a box that was never up has ended. */
static void
note_why(struct master *m, struct host_box *bx, struct session *s)
{
	struct sbuf text = SBUF_INIT;
	int error =
	    s->facts.reason == END_SPAWN_ERROR ? abs(s->facts.error) : 0;

	session_tail(m, s, &text, MASTER_TAIL, false);
	box_why(error, text.p != NULL ? text.p : "", text.len, bx->why);
	sbuf_fini(&text);
}

/* Its setup command is over. */
static void
setup_ended(struct master *m, struct host_box *bx, struct session *s)
{
	bool good = s->facts.reason == END_EXIT && s->facts.exit_code == 0;
	struct sbuf text = SBUF_INIT;
	const char *line;
	size_t n;

	if (!good) {
		session_tail(m, s, &text, 400, false);
		n = text.len;
		while (n > 0 && text.p[n - 1] == '\n')
			n--;
		line = n > 0 ? memrchr(text.p, '\n', n) : NULL;
		line = line != NULL ? line + 1 : text.p;
		(void)snprintf(bx->why, sizeof(bx->why),
		    "no sandbox: its setup command failed: %.*s",
		    line != NULL ? (int)(text.p + n - line) : 0,
		    line != NULL ? line : "");
		sbuf_fini(&text);
	}
	tell(m, bx, good ? BOX_SETUP_DONE : BOX_SETUP_BAD);
}

void
boxes_ended(struct master *m, struct session *s)
{
	struct host_box *bx;

	if (!session_has_box(s))
		return;
	bx = by_sid(m, s->id.sid);
	if (s->wish.host == HOST_SETUP && bx != NULL)
		setup_ended(m, bx, s);
	if (s->wish.host == HOST_SANDBOX && s->start.box.v != 0)
		boxes_left(m, s);
	if (s->wish.host != HOST_BOX || bx == NULL)
		return;
	if (bx->life.state == BOX_MAKING)
		note_why(m, bx, s);
	tell(m, bx, BOX_DIED);
	settle(m, bx);
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
		tell(m, bx, BOX_DRAIN);
	}
	look_at_time(m);
	return n;
}

void
boxes_reload(struct master *m)
{
	struct host_box *bx, *next;

	LIST_FOREACH_SAFE(bx, &m->boxes.list, link, next)
	if (bx->life.state != BOX_GONE &&
	    config_sandbox_remakes(bx->made, &m->cfg.sandbox))
		tell(m, bx, BOX_DRAIN);
	look_at_time(m);
}

/* ------------------------------------------------------------- a new master */

/* A box as its session says it: who is inside is counted by the sessions. */
static void
recover_box(struct master *m, struct session *s)
{
	struct host_box *bx = box_new(m, s->id.session_key);

	if (bx == NULL) {
		master_give_up(m, "no memory for the boxes");
		return;
	}
	bx->sid = s->id.sid;
	(void)box_tell(&bx->life, BOX_WANT, &bx->rules, clock_boot_ns());
	bx->made_ms = s->id.created_ms;
}

/* What its setup has done is not done again. */
static void
recover_up(struct master *m, struct host_box *bx, struct session *s)
{
	bool setup = bx->rules.setup;

	bx->rules.setup = setup && s->start.box.v == 0 && bx->setup.v == 0;
	box_heard(m, bx, s);
	bx->rules.setup = setup;
	if (bx->setup.v != 0 && bx->life.state == BOX_READY)
		bx->life.state = BOX_SETUP;
}

void
boxes_recover(struct master *m)
{
	struct host_box *bx;
	struct session *s;

	for (s = registry_first(m); s != NULL; s = registry_next(s))
		if (session_live(s) && s->wish.host == HOST_BOX)
			recover_box(m, s);
	for (s = registry_first(m); s != NULL; s = registry_next(s)) {
		if (!session_live(s) || (bx = by_sid(m, s->start.box)) == NULL)
			continue;
		if (s->wish.host == HOST_SANDBOX)
			bx->life.inside++;
		else if (s->wish.host == HOST_SETUP)
			bx->setup = s->id.sid;
	}
	LIST_FOREACH(bx, &m->boxes.list, link)
	{
		s = session_by_sid(m, bx->sid);
		if (s->state != STATE_STARTING)
			recover_up(m, bx, s);
	}
	look_at_time(m);
}
