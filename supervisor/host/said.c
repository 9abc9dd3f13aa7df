/* SPDX-License-Identifier: MIT */
/* What the sessions say that make a box and set it up, and what their ends mean
 * for it. See boxes.h. Called by session/. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/procfs.h"
#include "common/text.h"
#include "supervisor/host/inner.h"
#include "supervisor/host/workspace.h"
#include "supervisor/master.h"

#define YOUNG_MOST 3u /* boxes of a key that end so, one after the other */

/* Which process is pid 1, as its session has said, and perhaps when that began;
 * 0: nothing yet. */
static int32_t
pid_said(struct master *m, struct session *s, uint64_t *ret_start)
{
	struct sbuf text = SBUF_INIT;
	int32_t pid = 0;

	session_tail(m, s, &text, MASTER_TAIL, false);
	if (text.p != NULL && !text.failed)
		pid = maker_parse(text.p, text.len, ret_start);
	sbuf_fini(&text);
	return pid;
}

/* It was up, and has ended before anybody heard of it: who waits gets another
 * one, but not one after the other without end. Its timer stops what is left of
 * it: no worker may be here yet. */
static void
was_up(struct master *m, struct host_box *bx)
{
	if (++bx->young >= YOUNG_MOST) {
		(void)strlcpy(bx->why,
		    "no sandbox: its first process ended as soon as it was "
		    "there, time and again", sizeof(bx->why));
		boxes_tell(m, bx, BOX_BAD);
		return;
	}
	(void)box_tell(&bx->life, BOX_DRAIN, &bx->rules, 0);
	boxes_place(m, bx);
}

/* Is it that process still? bwrap's pid 1 is its child, and who has said so has
 * its pid in its ring; of a container's it was said when it began. */
static bool
is_it(struct master *m, const struct session *s, const struct procfs_stat *st,
    uint64_t start)
{
	int32_t pid = s->facts.pid;
	struct ring_look look;

	if (start != 0)
		return st->start == start;
	if (pid <= 0 && ring_look(m->dirfd, s->id.sid, &look) == 0)
		pid = look.pid;
	return pid > 0 && st->ppid == pid;
}

/* The box's session has said something. */
void
boxes_look(struct master *m, struct host_box *bx, struct session *s)
{
	uint64_t start = 0;
	int32_t pid = pid_said(m, s, &start);
	struct procfs_stat st;
	enum box_event bad;
	int r;

	if (pid == 0) {
		output_watch(m, s, s->output.total);
		return;
	}
	bx->pid = pid;
	if (procfs_stat(pid, &st) < 0 || !is_it(m, s, &st, start)) {
		bx->start = UINT64_MAX; /* that of no process any more */
		was_up(m, bx);
		return;
	}
	bx->start = st.start;
	bx->young = 0;
	/* a master before us may have let somebody in: he may stay */
	bad = s->start.box.v != 0 || bx->life.inside > 0 ? BOX_DRAIN : BOX_BAD;
	r = workspace_shown(bx->made, pid, bx->why);
	/* that one looked while all of it answered; another cannot be made */
	if ((r == -ETIMEDOUT || r == -ENOTCONN) &&
	    s->start.box.v == bx->sid.v) {
		bx->why[0] = '\0';
		r = 0;
	}
	boxes_tell(m, bx, r < 0 ? bad : BOX_UP);
}

void
boxes_heard(struct master *m, struct session *s)
{
	struct host_box *bx = boxes_by_sid(m, s->id.sid);

	if (bx != NULL && s->wish.host == HOST_BOX && session_live(s) &&
	    s->state != STATE_STARTING && bx->life.state == BOX_MAKING)
		boxes_look(m, bx, s);
}

/* Why a box that was never up has ended. */
static void
note_why(struct master *m, struct host_box *bx, struct session *s)
{
	struct sbuf text = SBUF_INIT;
	int error =
	    s->facts.reason == END_SPAWN_ERROR ? abs(s->facts.error) : 0;

	session_tail(m, s, &text, MASTER_TAIL, false);
	box_why(error, s->facts.exit_signal, text.p != NULL ? text.p : "",
	    text.len, bx->why);
	sbuf_fini(&text);
}

/* It died under its setup command. */
static void
note_death(struct host_box *bx)
{
	(void)strlcpy(bx->why,
	    "no sandbox: its first process ended while it was set up",
	    sizeof(bx->why));
}

/* Why its setup command came to nothing: how it ended, and its last line. */
static void
note_setup(struct master *m, struct host_box *bx, struct session *s)
{
	struct sbuf text = SBUF_INIT;
	char how[32] = "", line[128] = "";
	const char *at;
	size_t n;

	if (s->facts.reason == END_SPAWN_ERROR && boxes_is_dying(bx)) {
		note_death(bx);
		return;
	}
	session_tail(m, s, &text, 400, false);
	n = text.p != NULL ? text.len : 0;
	while (n > 0 && text.p[n - 1] == '\n')
		n--;
	at = n > 0 ? memrchr(text.p, '\n', n) : NULL;
	at = at != NULL ? at + 1 : text.p;
	if (n > 0)
		(void)text_escape(
		    at, (size_t)(text.p + n - at), false, line, sizeof(line));
	sbuf_fini(&text);
	if (s->facts.exit_signal != 0)
		(void)snprintf(
		    how, sizeof(how), " (signal %d)", s->facts.exit_signal);
	else if (s->facts.reason == END_EXIT)
		(void)snprintf(
		    how, sizeof(how), " (exit %d)", s->facts.exit_code);
	else if (s->facts.reason == END_SPAWN_ERROR)
		(void)snprintf(how, sizeof(how), " (%s at its start)",
		    err_name(s->facts.error));
	(void)snprintf(bx->why, sizeof(bx->why),
	    "no sandbox: its setup command failed%s%s%s", how,
	    line[0] != '\0' ? ": " : "", line);
}

/* Its setup command is over. */
static void
setup_ended(struct master *m, struct host_box *bx, struct session *s)
{
	bool good = s->facts.reason == END_EXIT && s->facts.exit_code == 0;

	bx->setup = (struct sid){0};
	if (!good && bx->life.state == BOX_SETUP) /* else it was we */
		note_setup(m, bx, s);
	boxes_tell(m, bx, good ? BOX_SETUP_DONE : BOX_BAD);
}

/* It has ended while it waited for its own box, which nobody else is to enter.
 */
static void
never_entered(struct master *m, struct session *s)
{
	struct host_box *bx = boxes_of_session(m, s->id.sid);

	if (bx != NULL)
		boxes_tell(m, bx, BOX_DRAIN);
}

/* What the next box of its key, for which who waited waits, begins with. */
static void
hand_on(struct master *m, const struct host_box *bx)
{
	struct rank_node *n = rank_find(&m->boxes.by_key, bx->key);
	struct host_box *next =
	    n != NULL ? RANK_OWNER(n, struct host_box, by_key) : NULL;

	if (next != NULL && next->young < bx->young &&
	    next->life.state == BOX_MAKING)
		next->young = bx->young;
}

void
boxes_ended(struct master *m, struct session *s)
{
	struct host_box *bx;
	uint64_t start;

	if (!session_has_box(s))
		return;
	bx = boxes_by_sid(
	    m, s->wish.host == HOST_SETUP ? s->start.box : s->id.sid);
	if (s->wish.host == HOST_SETUP && bx != NULL)
		setup_ended(m, bx, s);
	if (s->wish.host == HOST_SANDBOX && s->start.box.v != 0)
		boxes_left(m, s);
	else if (s->wish.host == HOST_SANDBOX)
		never_entered(m, s);
	if (s->wish.host != HOST_BOX || bx == NULL)
		return;
	if (bx->life.state == BOX_MAKING && pid_said(m, s, &start) != 0)
		was_up(m, bx);
	else if (bx->life.state == BOX_MAKING)
		note_why(m, bx, s);
	else if (bx->life.state == BOX_SETUP)
		note_death(bx);
	boxes_tell(m, bx, BOX_DIED);
	hand_on(m, bx);
	boxes_settle(m, bx);
}
