/* SPDX-License-Identifier: MIT */
/*
 * What master and workers say to the keeper, one function per message, found
 * through one table. Everything is checked against the sender and the table;
 * what does not fit is counted, logged and dropped.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "common/fault.h"
#include "supervisor/keeper/state.h"

#define RECV_TURN     16  /* messages of all who are ready: a CLOSED is 30 us */
#define RECV_DRAIN    (1 << 20)
#define READ_TURNS    256u /* at others' channels, where all is to be known */
#define MALFORMED_LOG 100u /* that many are logged one by one */

static struct ctl_msg msg;

/* Counts a message that made no sense. */
static void
malformed(struct keeper *k, const struct proc *p, const char *why)
{
	if (atomic_fetch_add(&k->stats[0].malformed, 1) < MALFORMED_LOG)
		log_event(LOG_WARN, "message-refused", KV_PROC(p),
		    KV("message", ctl_type_name(msg.head.type)),
		    KV("session", msg.head.sid.v), KV("why", why));
}

/* Closes the descriptors of the message that nobody took. */
static void
drop_fds(void)
{
	size_t i;

	for (i = 0; i < msg.nfds; i++)
		(void)close(msg.fds[i]);
	msg.nfds = 0;
}

/* The row a worker speaks about, if it is its own. */
static struct row *
own_row(struct keeper *k, const struct proc *p)
{
	struct row *r = table_find(k->table, msg.head.sid);

	if (r == NULL || r->owner != p->wid.slot) {
		malformed(k, p, r == NULL ? "unknown session" :
					    "somebody else's session");
		return NULL;
	}
	return r;
}

/* READY: initialised. */
static void
on_ready(struct keeper *k, struct proc *p)
{
	if (p->state == PROC_STARTING)
		procs_ready(k, p);
	else if (p->state == PROC_READY)
		malformed(k, p, "twice");
}

/* Does nothing of what this row is for run any more? That of a try before its
 * worker knows, that of a start before the master, which has ordered another;
 * its CLOSED is still to be read from another channel. */
static bool
is_replaced(const struct proc *p, const struct row *r, const struct ctl_fds *m)
{
	/* a row of before an upgrade, or of an older worker, has no turn */
	if (m->turn > r->turn &&
	    (r->turn >= TURN_OF_START(1) || r->pid == 0))
		return true;
	return (m->flags & CTL_HOLD_AGAIN) != 0 && r->owner == p->wid.slot &&
	    wid_eq(r->spawner, p->wid);
}

void
recv_all(struct keeper *k, struct proc *p)
{
	uint32_t n = 0;

	while (!recv_from(k, p) && ++n < READ_TURNS)
		;
}

/* An older worker's HOLD says no turn: what others sent before it is read before,
 * so that whatever comes after it is of a later start. */
static void
read_others(struct keeper *k, const struct proc *p)
{
	static struct ctl_msg own;
	static bool within;
	uint32_t i;

	if (within)
		return;
	within = true;
	own = msg;
	for (i = 0; i < k->slots; i++)
		if (&k->slot[i] != p && k->slot[i].chan >= 0 &&
		    !k->slot[i].chan_eof)
			recv_all(k, &k->slot[i]);
	msg = own;
	within = false;
}

/* HOLD: descriptors of a session that is about to be spawned. */
static void
on_hold(struct keeper *k, struct proc *p)
{
	struct ctl_fds m;
	struct row *r;
	uint32_t i;
	size_t next = 0;

	memcpy(&m, msg.bytes, sizeof(m));
	if (m.mask > CTL_FD_ALL ||
	    __builtin_popcount(m.mask) > CTL_FD_SESSION ||
	    msg.nfds != (size_t)__builtin_popcount(m.mask)) {
		malformed(k, p, "descriptors do not fit the mask");
		return;
	}
	if (m.turn == 0)
		read_others(k, p);
	r = table_find(k->table, m.head.sid);
	if (r != NULL && is_replaced(p, r, &m))
		reap_forget(k, r);
	r = table_add(k->table, m.head.sid, p->wid);
	if (r == NULL) {
		malformed(k, p, table_count(k->table) >= k->max_sessions ?
			"the table is full" : "held already");
		return;
	}
	for (i = 0; i < TABLE_FDS; i++) {
		if (m.mask & (1u << i))
			r->fds[i] = msg.fds[next++];
	}
	msg.nfds = 0; /* they are the row's now */
	r->by_header = (m.flags & CTL_HOLD_BY_HEADER) != 0;
	r->held_ns = m.at_ns != 0 ? m.at_ns : p->started_ns;
	r->turn = m.turn;
	reap_porter(k, (int32_t)(m.flags / CTL_HOLD_PORTER));
	FAULT("keeper.after-hold");
}

/* A command that no row can hold must not run unsupervised. */
static void
kill_unheld(const struct keeper *k, int32_t pid)
{
	siginfo_t si;
	uint32_t i;

	si.si_pid = 0;
	if (pid <= 1 || pid == k->master.pid ||
	    table_find_pid(k->table, pid) != NULL)
		return;
	for (i = 0; i < k->slots; i++) {
		if (pid == k->slot[i].pid)
			return;
	}
	/* a child of ours, or a number we have no right to */
	if (waitid(P_PID, (id_t)pid, &si,
		WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
		(void)kill(pid, SIGKILL);
}

/* SPAWNED: the child itself, between clone and exec, of a worker that was held
 * meanwhile. */
static void
on_spawned(struct keeper *k, struct proc *p)
{
	struct row *r = table_find(k->table, msg.head.sid);

	if (r == NULL || !wid_eq(r->spawner, p->wid)) {
		malformed(k, p, "not held by its worker");
		kill_unheld(k, msg.pid);
		return;
	}
	if (!pids_take(k, r, msg.pid))
		malformed(k, p, "pid known already, or of no child");
}

/* A worker asks for a session that is in no row: its HOLD was refused. It hears
 * what can be known of its command, once there is room; nobody else asks, and
 * without a word it would wait for ever. */
static void
answer_unheld(struct keeper *k, struct proc *p, int32_t pid)
{
	struct row r = { .sid = msg.head.sid, .pid = pid > 1 ? pid : 0 };
	struct ctl_exited m;

	reap_look(&r);
	if (r.exit.code == 0 && (r.pid == 0 || !reap_is_child(r.pid))) {
		r.exit.code = CTL_EXIT_UNKNOWN;
		r.exit.wall_ms = clock_wall_ms();
	}
	m = (struct ctl_exited){ .exit = r.exit };
	m.exit.head = (struct ctl_head)CTL_INIT(CTL_EXITED, r.sid,
	    struct ctl_exited);
	m.exit.pid = r.pid;
	(void)send_now(k, p, &m, sizeof(m));
}

/* The exit that a worker asks for, of what was that pid; NULL: it is answered. */
static struct row *
find_exit(struct keeper *k, struct proc *p, int32_t pid)
{
	struct row *r = own_row(k, p);

	if (r == NULL) {
		if (table_find(k->table, msg.head.sid) == NULL)
			answer_unheld(k, p, pid);
		return NULL;
	}
	if (r->pid == 0 && !pids_take(k, r, pid))
		pids_read(k, r);
	if (r->pid == 0 && pid > 1 && !reap_is_child(pid)) {
		/* reaped as an orphan */
		r->exit.code = CTL_EXIT_UNKNOWN;
		r->exit.wall_ms = clock_wall_ms();
	}
	reap_look(r);
	return r;
}

/* ASK_EXIT: the pidfd is readable. */
static void
on_ask_exit(struct keeper *k, struct proc *p)
{
	struct ctl_pid m;
	struct row *r;

	memcpy(&m, msg.bytes, sizeof(m));
	r = find_exit(k, p, m.pid);
	if (r != NULL)
		table_mark(k->table, r, ROW_TELL);
}

/* The master hears of an end, exit and all. One that does not know the worker yet,
 * or that it died, is to hear of that first. */
static bool
pass_end(struct keeper *k, struct ctl_end *m, const struct row *r)
{
	if (r->exit.code == 0 || k->dump != DUMP_DONE || k->downs_count > 0 ||
	    k->master.state != PROC_READY || k->master.blocked)
		return false;
	m->exit = r->exit;
	m->exit.pid = r->pid;
	if (FAULT_FAILS("lie.exit-status"))
		m->exit.status ^= 1;
	if (!send_now(k, &k->master, m, sizeof(*m)))
		return false;
	FAULT("keeper.after-end");
	return true;
}

/* END: so is it, and all is drained. */
static void
on_end(struct keeper *k, struct proc *p)
{
	struct ctl_end m;
	struct row *r;

	memcpy(&m, msg.bytes, sizeof(m));
	r = find_exit(k, p, m.exit.pid);
	if (r != NULL && !pass_end(k, &m, r))
		table_mark(k->table, r, ROW_TELL);
}

/* DROP: the worker is through with these. */
static void
on_drop(struct keeper *k, struct proc *p)
{
	struct row *r = own_row(k, p);
	struct ctl_fds m;

	memcpy(&m, msg.bytes, sizeof(m));
	if (r != NULL)
		reap_close(k, r, m.mask);
}

/* CLOSED: ended and committed, or never begun. Another start, or hand-over, may
 * have a row of its own by now. */
static void
on_closed(struct keeper *k, struct proc *p)
{
	struct row *r = table_find(k->table, msg.head.sid);
	struct ctl_turn m;

	memcpy(&m, msg.bytes, sizeof(m));
	if (r != NULL && m.turn != 0 && r->turn != 0 && m.turn != r->turn)
		return;
	r = own_row(k, p);
	if (r == NULL)
		return;
	reap_forget(k, r);
	ADD_RELAXED(k->stats[0].ended, 1);
}

/* SHUTDOWN: a client asked for the end of everything. */
static void
on_shutdown(struct keeper *k, struct proc *p)
{
	struct ctl_shutdown m;

	memcpy(&m, msg.bytes, sizeof(m));
	log_event(LOG_NOTE, "shutdown-asked", KV_PROC(p),
	    KV("grace_ms", m.grace_ms));
	keeper_stop(k, m.grace_ms, m.signal);
}

/* ASK_PEER: the master had no descriptor free for a worker's channel. */
static void
on_ask_peer(struct keeper *k, struct proc *)
{
	struct ctl_role m;

	memcpy(&m, msg.bytes, sizeof(m));
	if (m.wid.slot < k->slots && wid_eq(k->slot[m.wid.slot].wid, m.wid))
		links_again(k, &k->slot[m.wid.slot]);
}

/* UPGRADE: an operator asked for other programs. */
static void
on_upgrade(struct keeper *k, struct proc *p)
{
	static struct ctl_upgrade m;

	memcpy(&m, msg.bytes, sizeof(m));
	if (m.id == 0 || memchr(m.dir, 0, sizeof(m.dir)) == NULL) {
		malformed(k, p, "no id, or a path without end");
		return;
	}
	upgrade_begin(k, &m);
}

/* LOG: the configuration has a level and a format. What the command line says
 * goes first. */
static void
on_log(struct keeper *k, struct proc *p)
{
	struct keeper_options *o = k->opt;
	uint32_t before = LOG_PACK(o->log_level, o->log_format), i;
	struct ctl_log m;

	memcpy(&m, msg.bytes, sizeof(m));
	if (LOG_LEVEL_OF(m.how) > LOG_DEBUG ||
	    LOG_FORMAT_OF(m.how) > LOG_JSON) {
		malformed(k, p, "no level, or no format");
		return;
	}
	if (!o->log_level_given)
		o->log_level = LOG_LEVEL_OF(m.how);
	if (!o->log_format_given)
		o->log_format = LOG_FORMAT_OF(m.how);
	if (LOG_PACK(o->log_level, o->log_format) == before)
		return;
	log_set(LOG_PACK(o->log_level, o->log_format));
	k->master.todo |= TODO_LOG;
	for (i = 0; i < k->slots; i++)
		k->slot[i].todo |= TODO_LOG;
}

enum { FROM_MASTER = 1, FROM_WORKER = 2 };

/* Who may say what. */
static const struct {
	unsigned type;
	unsigned from;
	size_t size;
	void (*on)(struct keeper *, struct proc *);
} handlers[] = {
	{ CTL_READY, FROM_MASTER | FROM_WORKER, sizeof(struct ctl_head),
	    on_ready },
	{ CTL_HOLD, FROM_WORKER, sizeof(struct ctl_fds), on_hold },
	{ CTL_SPAWNED, FROM_WORKER, sizeof(struct ctl_head), on_spawned },
	{ CTL_ASK_EXIT, FROM_WORKER, sizeof(struct ctl_pid), on_ask_exit },
	{ CTL_END, FROM_WORKER, sizeof(struct ctl_end), on_end },
	{ CTL_DROP, FROM_WORKER, sizeof(struct ctl_fds), on_drop },
	{ CTL_CLOSED, FROM_WORKER, sizeof(struct ctl_turn), on_closed },
	{ CTL_SHUTDOWN, FROM_MASTER, sizeof(struct ctl_shutdown),
	    on_shutdown },
	{ CTL_ASK_PEER, FROM_MASTER, sizeof(struct ctl_role), on_ask_peer },
	{ CTL_UPGRADE, FROM_MASTER, sizeof(struct ctl_upgrade), on_upgrade },
	{ CTL_LOG, FROM_MASTER, sizeof(struct ctl_log), on_log },
};

/* One message to its handler. */
static void
dispatch(struct keeper *k, struct proc *p)
{
	unsigned from = p->role == HERITAGE_MASTER ? FROM_MASTER : FROM_WORKER;
	size_t i;

	for (i = 0; i < NELEMS(handlers); i++) {
		if (handlers[i].type != msg.head.type)
			continue;
		if ((handlers[i].from & from) == 0 ||
		    msg.size < handlers[i].size)
			break;
		handlers[i].on(k, p);
		drop_fds();
		return;
	}
	malformed(k, p, "not a message for the keeper");
	drop_fds();
}

/* Reads what a process has said, some of it. True: nothing is left unread. */
bool
recv_from(struct keeper *k, struct proc *p)
{
	int n, r, max = RECV_TURN / (k->parts > 0 ? k->parts : 1);

	if (p == &k->master && p->state == PROC_DYING)
		max = RECV_DRAIN; /* once, to the end */

	for (n = 0; n < max && p->chan >= 0 && !p->chan_eof; n++) {
		r = ctl_recv(p->chan, &msg);
		if (r > 0) {
			k->activity = true;
			dispatch(k, p);
		} else if (r == 0) {
			procs_chan_eof(k, p);
		} else if (r == -EAGAIN) {
			p->drained = p->state == PROC_DYING;
			return true;
		} else if (r == -EPROTO || r == -EMFILE) {
			if (atomic_fetch_add(&k->stats[0].malformed, 1) <
			    MALFORMED_LOG)
				log_event(LOG_WARN, "message-lost", KV_PROC(p),
				    KV("error", strerror(-r)));
		} else if (r == -ECONNRESET || r == -EINTR) {
			/* told once when the peer died with unread messages;
			 * what it had sent is still in the queue */
			continue;
		} else {
			log_event(LOG_ERROR, "channel-failed", KV_PROC(p),
			    KV("error", strerror(-r)));
			procs_chan_eof(k, p);
		}
	}
	return p->chan < 0 || p->chan_eof;
}
