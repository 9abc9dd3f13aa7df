/* SPDX-License-Identifier: MIT */
/*
 * What a worker is told, by keeper and master: one row per message. What
 * arrives was checked by ctl_recv for version and size; what is in it is
 * checked where it is used.
 */
#include "worker/recv.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "worker/child.h"
#include "worker/input.h"
#include "worker/input_look.h"
#include "worker/ladder.h"
#include "worker/link.h"
#include "worker/pty.h"
#include "worker/pump.h"
#include "worker/start.h"
#include "worker/tree.h"
#include "worker/worker.h"

#define MESSAGES_A_TURN 64 /* of one channel, then the others' turn */

/* Who takes a message. c: its session; NULL where none is needed. */
#define UNUSED __attribute__((unused))
#define ON(name)                                                               \
	static void on_##name(UNUSED struct worker *w, UNUSED struct child *c, \
	    UNUSED struct ctl_msg *msg)

static void master_cb(evutil_socket_t fd, short what, void *arg);

/* START */
ON(start)
{
	start_session(w, msg);
}

/* GIVE */
ON(give)
{
	w->taking = w->took = true;
	start_take_over(w, msg);
}

/* STDIN */
ON(stdin)
{
	const struct ctl_stdin *m = (const void *)msg->bytes;

	if (m->pos > INT64_MAX)
		return;
	if (c->state == CHILD_SPAWNING)
		start_note_stdin(c, m->pos, m->eof != 0);
	else
		input_more(c, m->pos, m->eof != 0);
}

/* KILL */
ON(kill)
{
	const struct ctl_kill *m = (const void *)msg->bytes;

	if (m->signal < 0 || m->signal >= NSIG || m->reason > END_SHUTDOWN) {
		stats_add(&w->stats->malformed, 1);
		return;
	}
	/* its answer may have died with a master, and its sender asked again */
	if (m->flags / CTL_KILL_ID != 0 && c->state < CHILD_ENDED &&
	    m->flags / CTL_KILL_ID == c->kill_id)
		return;
	c->kill_id = m->flags / CTL_KILL_ID;
	if ((m->flags & CTL_KILL_ESCALATE) != 0)
		ladder_begin(c, m->signal != 0 ? m->signal : SIGTERM, m->grace_ms,
		    (enum end_reason)m->reason);
	else
		ladder_signal(c, m->signal, (enum end_reason)m->reason);
}

/* KILL for what an ended session left behind, which is gone. */
static void
nobody_left(struct worker *w, struct sid sid)
{
	struct ctl_left left = {.head = CTL_INIT(CTL_LEFT, sid,
				    struct ctl_left)};

	if (w->link[LINK_MASTER].fd >= 0)
		(void)ctl_send(w->link[LINK_MASTER].fd, &left, sizeof(left),
		    NULL, 0);
}

/* CREDIT: only ever up. */
ON(credit)
{
	const struct ctl_pos *m = (const void *)msg->bytes;

	if (c->state == CHILD_SPAWNING)
		start_note_credit(c, m->pos);
	if (c->ring.hdr == NULL || m->pos <= atomic_load(&c->ring.hdr->credit))
		return;
	atomic_store(&c->ring.hdr->credit, m->pos);
	if (c->paused)
		pump_resume(c);
	ladder_arm(c);
}

/* WATCH */
ON(watch)
{
	const struct ctl_pos *m = (const void *)msg->bytes;

	if (c->state == CHILD_SPAWNING)
		c->watch_pos = m->pos;
	else
		pump_watch(c, m->pos);
}

/* WATCH_STDIN */
ON(watch_stdin)
{
	const struct ctl_pos *m = (const void *)msg->bytes;

	if (c->state == CHILD_SPAWNING)
		c->in.watch_pos = m->pos;
	else
		input_watch(c, m->pos);
}

/* RESIZE */
ON(resize)
{
	const struct ctl_size *m = (const void *)msg->bytes;

	pty_resize(c, m->cols, m->rows);
}

/* LOOK_INPUT */
ON(look_input)
{
	input_look_asked(c);
}

/* ENDED */
ON(ended)
{
	const struct ctl_ended *m = (const void *)msg->bytes;

	if (m->turn != 0 && m->turn != c->hand_turn)
		return;
	child_committed(c, &m->exit);
}

/* EXITED */
ON(exited)
{
	const struct ctl_exited *m = (const void *)msg->bytes;

	child_exited(c, &m->exit);
}

/* STOP: the ladder for all, a turn's worth at a time. */
ON(stop)
{
	const struct ctl_shutdown *m = (const void *)msg->bytes;

	w->stopping = true;
	w->stop_grace_ms = m->grace_ms;
	w->stop_next = LIST_FIRST(&w->sessions);
}

/* ROLE: shown in the stats page by the keeper; the master acts on it. */
ON(role)
{
	const struct ctl_role *m = (const void *)msg->bytes;

	w->heritage.role = m->role;
	w->keeper_reads = (m->flags & CTL_ROLE_READS_PIDS) != 0;
	w->keeper_porters = (m->flags & CTL_ROLE_READS_PORTERS) != 0;
	w->keeper_passes = (m->flags & CTL_ROLE_PASSES_ENDS) != 0;
}

/* RELOAD: a worker is told everything it needs in START. */
ON(reload)
{
}

/* LOG: so much from now on, and in this format. */
ON(log)
{
	const struct ctl_log *m = (const void *)msg->bytes;

	log_set(m->how);
}

/* LEAVE: at the end of this turn, when nothing is in hand or to be said. All
 * that another worker needs is in the rings' headers and with the keeper, as at
 * a death. */
ON(leave)
{
	w->leaving = true;
}

/* PEER: a new master. It is told all there is, then DUMP_END. */
ON(peer)
{
	struct link *l = &w->link[LINK_MASTER];
	unsigned say;

	link_close(w, LINK_MASTER);
	if (msg->nfds != 1 ||
	    link_open(w, LINK_MASTER, msg->fds[0], master_cb) != 0) {
		stats_add(&w->stats->malformed, 1);
		return;
	}
	msg->fds[0] = -1;
	l->dump_end = true;
	l->writing = true; /* collect first, then send in one go */
	LIST_FOREACH(c, &w->sessions, all) {
		c->watch_pos = c->in.watch_pos = UINT64_MAX;
		child_says_all(c);
		if (c->state == CHILD_SPAWNING && !start_is_under_way(c)) {
			child_give_back(c); /* says FAILED */
			continue;
		}
		if (c->state == CHILD_COMMITTED && c->end.holders > 0)
			link_say(c, LINK_MASTER, SAY_LEFT);
		if (c->state == CHILD_FAILED) {
			link_say(c, LINK_MASTER, SAY_FAILED);
			continue;
		}
		say = SAY_RUNNING;
		if (c->exit.code != 0)
			say |= SAY_EXITED;
		/* one that is committed, too: its record may be damaged, and the
		 * keeper has a row of it */
		if (c->state >= CHILD_ENDED)
			say |= SAY_END;
		link_say(c, LINK_MASTER, say);
	}
	l->writing = false;
	link_flush(w, LINK_MASTER);
}

enum { FROM_KEEPER = 1, FROM_MASTER = 2, OF_SESSION = 4 };

struct dispatch_row {
	unsigned type;
	unsigned flags;  /* who may send it; whether a live session is needed */
	size_t size;     /* at least */
	void (*call)(struct worker *w, struct child *c, struct ctl_msg *msg);
};

static const struct dispatch_row dispatch[] = {
    {CTL_EXITED, FROM_KEEPER | OF_SESSION, sizeof(struct ctl_exited), on_exited},
    {CTL_GIVE, FROM_KEEPER, sizeof(struct ctl_give), on_give},
    {CTL_ROLE, FROM_KEEPER, sizeof(struct ctl_role), on_role},
    {CTL_STOP, FROM_KEEPER, sizeof(struct ctl_shutdown), on_stop},
    {CTL_RELOAD, FROM_KEEPER, sizeof(struct ctl_head), on_reload},
    {CTL_LOG, FROM_KEEPER, sizeof(struct ctl_log), on_log},
    {CTL_LEAVE, FROM_KEEPER, sizeof(struct ctl_head), on_leave},
    {CTL_PEER, FROM_KEEPER, sizeof(struct ctl_peer), on_peer},
    {CTL_START, FROM_MASTER, CTL_START_MIN, on_start},
    {CTL_STDIN, FROM_MASTER | OF_SESSION, sizeof(struct ctl_stdin), on_stdin},
    {CTL_KILL, FROM_MASTER | OF_SESSION, sizeof(struct ctl_kill), on_kill},
    {CTL_CREDIT, FROM_MASTER | OF_SESSION, sizeof(struct ctl_pos), on_credit},
    {CTL_WATCH, FROM_MASTER | OF_SESSION, sizeof(struct ctl_pos), on_watch},
    {CTL_WATCH_STDIN, FROM_MASTER | OF_SESSION, sizeof(struct ctl_pos),
        on_watch_stdin},
    {CTL_RESIZE, FROM_MASTER | OF_SESSION, sizeof(struct ctl_size),
        on_resize},
    {CTL_LOOK_INPUT, FROM_MASTER | OF_SESSION, sizeof(struct ctl_head),
        on_look_input},
    {CTL_ENDED, FROM_MASTER | OF_SESSION, sizeof(struct ctl_ended), on_ended},
};

/* Finds the row and calls it. A message about a session that is over crossed
 * ours; that is no fault. */
static void
dispatch_one(struct worker *w, unsigned from, struct ctl_msg *msg)
{
	const struct dispatch_row *row;
	struct child *c = NULL;
	size_t i;

	for (i = 0; i < NELEMS(dispatch); i++) {
		row = &dispatch[i];
		if (row->type != msg->head.type || (row->flags & from) == 0 ||
		    msg->size < row->size)
			continue;
		SET_RELAXED(w->stats->in_hand, msg->head.sid.v);
		if ((row->flags & OF_SESSION) != 0)
			c = child_find(w, msg->head.sid);
		if (c == NULL && row->type == CTL_KILL)
			nobody_left(w, msg->head.sid);
		if (c == NULL && (row->flags & OF_SESSION) != 0)
			return;
		if (c != NULL && c->state >= CHILD_FAILED &&
		    (c->state > CHILD_FAILED || row->type != CTL_ENDED))
			return;
		row->call(w, c, msg);
		return;
	}
	stats_add(&w->stats->malformed, 1);
	log_event(LOG_WARN, "message-refused",
	    KV("message", ctl_type_name(msg->head.type)));
}

/* Closes what the handler did not take over. */
static void
msg_close_fds(struct ctl_msg *msg)
{
	size_t i;

	for (i = 0; i < msg->nfds; i++)
		if (msg->fds[i] >= 0)
			close(msg->fds[i]);
}

/* Reads a channel until it is empty or the turn is long. Returns 0 if its
 * other side is gone. */
static int
receive(struct worker *w, enum link_to to, unsigned from)
{
	int fd = w->link[to].fd;
	int i, rc;

	for (i = 0; i < MESSAGES_A_TURN && w->link[to].fd == fd; i++) {
		worker_begin(w, (struct sid){0});
		if (w->now_ns - w->turn_began_ns > WORKER_TURN_NS)
			return 1; /* what is left makes the channel readable */
		rc = ctl_recv(fd, &w->msg);
		if (rc == -EAGAIN)
			return 1;
		if (rc == 0 || rc == -ECONNRESET || rc == -EPIPE)
			return 0;
		if (rc < 0) {
			stats_add(&w->stats->malformed, 1);
			log_event(LOG_ERROR, "message-lost",
			    KV("error", err_name(-rc)));
			/* a master's channel, or a session to take over: the
			 * keeper says it once to each worker */
			w->lost |= rc == -EMFILE && to == LINK_KEEPER;
			continue;
		}
		dispatch_one(w, from, &w->msg);
		msg_close_fds(&w->msg);
	}
	return 1;
}

/* The master says something, or is gone: then the work goes on without. */
static void
master_cb(evutil_socket_t fd, short, void *arg)
{
	struct worker *w = arg;

	worker_begin(w, (struct sid){0});
	if (w->link[LINK_MASTER].fd == fd &&
	    receive(w, LINK_MASTER, FROM_MASTER) == 0)
		link_close(w, LINK_MASTER);
	worker_end(w);
}

/* The keeper is gone, and every command was told so by PDEATHSIG. Groups are
 * killed here, as long as their leaders' pids cannot have been used again: a
 * worker that was stopped meanwhile, in a turn or between two, hears of the
 * death late, when a group's number is somebody else's unless its leader still
 * is there. */
static void
kill_all(struct worker *w)
{
	uint64_t now = clock_boot_ns();
	bool late = now > w->heart_ns + WORKER_LATE_NS ||
	    (w->late_ns != 0 && now < w->late_ns + WORKER_LATE_NS), there;
	struct child *c;

	LIST_FOREACH(c, &w->sessions, all) {
		if (c->pid <= 1 || c->state >= CHILD_FAILED)
			continue;
		there = c->pidfd >= 0 &&
		    syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL,
		        0) == 0;
		if (there ||
		    (!late && (c->pidfd >= 0 || pump_is_open(c))))
			kill(-c->pid, SIGKILL);
	}
	tree_kill_all(w);
}

/* The keeper says something, or is gone: then everything ends. */
void
recv_keeper(evutil_socket_t, short, void *arg)
{
	struct worker *w = arg;

	worker_begin(w, (struct sid){0});
	if (receive(w, LINK_KEEPER, FROM_KEEPER) == 0) {
		kill_all(w);
		link_close(w, LINK_KEEPER);
	}
	worker_end(w);
}
