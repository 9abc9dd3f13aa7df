/* SPDX-License-Identifier: MIT */
/*
 * What the keeper tells master and workers. Nothing is queued as bytes: each
 * process has flags, each row has flags, the dump to a master is an index into
 * the table, and what is sent is the state of that moment. So a reader that
 * does not read costs nothing, and nothing here ever blocks.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "common/fault.h"
#include "supervisor/keeper/state.h"

#define RETRY_NS (10 * NSEC_PER_MSEC)
#define SEND_TURN 32u /* messages to one process, in one turn */

/* One message. 1: sent. 0: no room now, told when there is, or in the next turn.
 * -1: gone. */
static int
put(struct keeper *k, struct proc *p, const void *m, size_t size,
    const int *fds, size_t nfds)
{
	int r;

	if (k->sent == SEND_TURN) {
		k->sends = true;
		return 0;
	}
	r = ctl_send(p->chan, m, size, fds, nfds);
	if (r >= 0) {
		k->sent++;
		return 1;
	}
	switch (-r) {
	case EAGAIN:
		p->blocked = true;
		keeper_epoll_out(k, p, true);
		return 0;
	case ETOOMANYREFS: /* descriptors in flight: until some arrive */
	case ENOBUFS:
	case ENOMEM:
		k->retry_ns = clock_boot_ns() + RETRY_NS;
		return 0;
	default:
		/* EPIPE: its pidfd tells the rest */
		return -1;
	}
}

/* Takes over a session: its descriptors. */
static int
put_give(struct keeper *k, struct proc *p, const struct row *r)
{
	struct ctl_give m = { .head = CTL_INIT(CTL_GIVE, r->sid,
		struct ctl_give), .mask = row_mask(r), .pid = r->pid,
		.quarantined = r->crashes >= KEEPER_CRASHES, .turn = r->turn };
	int fds[TABLE_FDS];
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < TABLE_FDS; i++) {
		if (r->fds[i] >= 0)
			fds[n++] = r->fds[i];
	}
	return put(k, p, &m, sizeof(m), fds, n);
}

/* How its command ended, or that it has not. */
static int
put_exit(struct keeper *k, struct proc *p, const struct row *r)
{
	struct ctl_exited m = { .exit = r->exit, .turn = r->turn };

	m.exit.head = (struct ctl_head)CTL_INIT(CTL_EXITED, r->sid,
	    struct ctl_exited);
	m.exit.pid = r->pid;
	return put(k, p, &m, sizeof(m), NULL, 0);
}

bool
send_now(struct keeper *k, struct proc *p, const void *m, size_t size)
{
	k->sent = 0;
	return put(k, p, m, size, NULL, 0) > 0;
}

/* Who has a row, dead or alive: its owner's replacement where the owner's own
 * death is done with. */
static struct wid
next_of(const struct keeper *k, const struct row *r)
{
	struct wid wid = k->slot[r->owner].wid;

	if (wid_eq(wid, r->prev))
		wid.generation++;
	return wid;
}

/* One row of the table to the master; `as`: the worker to name; `flag`:
 * CTL_HELD_DOWN where that one is dead, else 0. */
static int
put_held(struct keeper *k, struct row *r, struct wid as, uint32_t flag)
{
	struct ctl_held m;

	pids_read(k, r); /* without a pid it would be nothing to the master */
	m = (struct ctl_held){ .head = CTL_INIT(CTL_HELD, r->sid,
		struct ctl_held), .wid = as, .next = next_of(k, r),
		.pid = r->pid,
		.mask = row_mask(r) | flag, .turn = r->turn };

	return put(k, &k->master, &m, sizeof(m), NULL, 0);
}

/* A message that is its head alone. */
static int
put_head(struct keeper *k, struct proc *p, uint32_t type)
{
	struct ctl_head m = CTL_INIT((uint16_t)type, (struct sid){ 0 },
	    struct ctl_head);

	return put(k, p, &m, sizeof(m), NULL, 0);
}

/* The stop ladder, or to the master that it has begun. */
static int
put_stop(struct keeper *k, struct proc *p)
{
	uint16_t type = p->role == HERITAGE_MASTER ? CTL_STOPPING : CTL_STOP;
	struct ctl_shutdown m = { .head = CTL_INIT(type,
		(struct sid){ 0 }, struct ctl_shutdown),
		.grace_ms = k->stop_grace_ms, .signal = k->stop_signal };

	return put(k, p, &m, sizeof(m), NULL, 0);
}

/* Whether a worker is active. */
static int
put_role(struct keeper *k, struct proc *to, const struct proc *w)
{
	struct ctl_role m = { .head = CTL_INIT(CTL_ROLE, (struct sid){ 0 },
		struct ctl_role), .wid = w->wid, .role = (uint32_t)w->role,
		.flags = CTL_ROLE_CAN };

	return put(k, to, &m, sizeof(m), NULL, 0);
}

/* One end of the channel between master and worker. */
static int
put_peer(struct keeper *k, struct proc *to, const struct proc *w, int fd)
{
	struct ctl_peer m = { .head = CTL_INIT(CTL_PEER, (struct sid){ 0 },
		struct ctl_peer), .wid = w->wid, .pid = w->pid,
		.role = (uint32_t)w->role };

	if (to == w) {
		m.wid.generation = k->master.wid.generation;
		m.pid = k->master.pid;
	}
	return put(k, to, &m, sizeof(m), &fd, 1);
}

/* What to log, and how. */
static int
put_log(struct keeper *k, struct proc *p)
{
	struct ctl_log m = { .head = CTL_INIT(CTL_LOG, (struct sid){ 0 },
		struct ctl_log),
		.how = LOG_PACK(k->opt->log_level, k->opt->log_format) };

	return put(k, p, &m, sizeof(m), NULL, 0);
}

/* How far the upgrade is, or how the last one went. */
static int
put_upgraded(struct keeper *k, struct proc *p)
{
	const struct upgrade *u = &k->upgrade;
	struct ctl_upgraded m = { .head = CTL_INIT(CTL_UPGRADED,
		(struct sid){ 0 }, struct ctl_upgraded), .id = u->id,
		.phase = (uint32_t)u->phase, .sessions = u->sessions,
		.replaced = u->replaced };
	uint64_t end = u->ended_ns != 0 ? u->ended_ns : clock_boot_ns();

	m.ms = (end - u->began_ns) / NSEC_PER_MSEC;
	static_assert(sizeof(m.from) == sizeof(u->from) &&
		sizeof(m.why) == sizeof(u->why), "they are copied");
	memcpy(m.from, u->from, sizeof(m.from));
	memcpy(m.to, u->to, sizeof(m.to));
	memcpy(m.why, u->why, sizeof(m.why));
	return put(k, p, &m, sizeof(m), NULL, 0);
}

/* Flags that master and workers share; last, so that a stop ladder reaches
 * what was just handed over. */
static void
send_todo(struct keeper *k, struct proc *p)
{
	static const struct {
		uint32_t flag, type; /* of a message that is its head alone */
		int (*put)(struct keeper *, struct proc *);
	} owed[] = {
		{ TODO_RELOAD, CTL_RELOAD, NULL },
		{ TODO_LOG, 0, put_log },
		{ TODO_STOP, 0, put_stop },
		{ TODO_UPGRADED, 0, put_upgraded },
		{ TODO_LEAVE, CTL_LEAVE, NULL },
	};
	size_t i;

	for (i = 0; i < NELEMS(owed); i++) {
		if ((p->todo & owed[i].flag) == 0)
			continue;
		if ((owed[i].put != NULL ? owed[i].put(k, p) :
			put_head(k, p, owed[i].type)) <= 0)
			return;
		p->todo &= ~owed[i].flag;
	}
}

/* Everything a worker has to hear. */
static void
send_worker(struct keeper *k, struct proc *p)
{
	struct row *r;

	if (p->peer_fd >= 0) {
		if (put_peer(k, p, p, p->peer_fd) <= 0)
			return;
		(void)close(p->peer_fd);
		p->peer_fd = -1;
	}
	if (p->todo & TODO_ROLE) {
		if (put_role(k, p, p) <= 0)
			return;
		p->todo &= ~(uint32_t)TODO_ROLE;
	}
	while ((r = table_first_todo(k->table, p->wid.slot)) != NULL) {
		if (r->todo & ROW_GIVE) {
			if (put_give(k, p, r) <= 0)
				return;
			FAULT("keeper.after-give");
			table_unmark(k->table, r, ROW_GIVE);
			heirs_note(k, r);
		}
		if (r->todo & ROW_TELL) {
			if (put_exit(k, p, r) <= 0)
				return;
			FAULT("keeper.after-exit");
			table_unmark(k->table, r, ROW_TELL);
		}
	}
	send_todo(k, p);
}

/* The worker of a row, as the master knows it. */
static struct wid
babysitter(const struct keeper *k, const struct row *r)
{
	const struct proc *p = &k->slot[r->owner];

	if (procs_alive(p))
		return p->wid;
	return (struct wid){ UINT32_MAX, 0 };
}

/* The rows that the dead worker had a part in, then that it is dead. */
static bool
send_first_down(struct keeper *k)
{
	const struct down *d = &k->downs[k->downs_head];
	struct ctl_peer m = { .head = CTL_INIT(CTL_WORKER_DOWN,
		(struct sid){ 0 }, struct ctl_peer), .wid = d->wid,
		.pid = d->pid, .role = HERITAGE_WORKER, .code = d->code,
		.status = d->status, .in_hand = d->in_hand };
	/* a session may have passed through several of those that wait here */
	bool whole = d->whole || k->downs_count > 1;
	struct row *r;

	for (; k->down_next < table_high(k->table); k->down_next++) {
		r = table_at(k->table, k->down_next);
		if (r == NULL)
			continue;
		if (wid_eq(r->prev, d->wid) || wid_eq(r->spawner, d->wid)) {
			if (put_held(k, r, d->wid, CTL_HELD_DOWN) <= 0)
				return false;
		} else if (whole && put_held(k, r, babysitter(k, r), 0) <= 0) {
			return false;
		}
	}
	if (put(k, &k->master, &m, sizeof(m), NULL, 0) <= 0)
		return false;
	k->downs_head = (k->downs_head + 1) % KEEPER_DOWNS;
	k->downs_count--;
	k->down_next = 0;
	return true;
}

/* The table to a new master, once no death is half known. */
static bool
send_dump(struct keeper *k)
{
	struct row *r;

	for (; k->dump_next < table_high(k->table); k->dump_next++) {
		r = table_at(k->table, k->dump_next);
		if (r != NULL && put_held(k, r, babysitter(k, r), 0) <= 0)
			return false;
	}
	if (put_head(k, &k->master, CTL_TABLE_END) <= 0)
		return false;
	k->dump = DUMP_DONE;
	return true;
}

/* A worker's role and channel. */
static bool
send_about(struct keeper *k, struct proc *w)
{
	if (w->tell_role) {
		if (put_role(k, &k->master, w) <= 0)
			return false;
		w->tell_role = false;
	}
	if (w->master_fd >= 0) {
		if (put_peer(k, &k->master, w, w->master_fd) <= 0)
			return false;
		(void)close(w->master_fd);
		w->master_fd = -1;
	}
	return true;
}

/* Is some worker dead without its last messages being read? */
static bool
death_pending(const struct keeper *k)
{
	uint32_t i;

	for (i = 0; i < k->slots; i++) {
		if (k->slot[i].state == PROC_DYING)
			return true;
	}
	return false;
}

/* Has every worker that is ready a channel to this master? One that has none
 * yet may be starting a session that is in no row: TABLE_END must not come
 * before its word. */
static bool
all_linked(const struct keeper *k)
{
	uint32_t i;

	for (i = 0; i < k->slots; i++) {
		if (k->slot[i].state == PROC_READY &&
		    k->slot[i].linked != k->master.wid.generation)
			return false;
	}
	return true;
}

/* May the table be told? Not in the midst of a death; and a CLOSED that a worker
 * has sent is read before, since its session may be in no index any more. */
static bool
may_dump(struct keeper *k)
{
	if (k->dump_next == 0 && !reap_drain_workers(k))
		return false;
	return !death_pending(k) && all_linked(k);
}

/* Everything the master has to hear, deaths before their replacements. */
static void
send_master(struct keeper *k)
{
	uint32_t i;

	if (k->dump == DUMP_WAIT) {
		if (death_pending(k))
			return;
		k->dump = DUMP_ROWS;
		k->dump_next = 0;
	}
	while (k->downs_count > 0) {
		if (!send_first_down(k))
			return;
	}
	for (i = 0; i < k->slots; i++) {
		if (!send_about(k, &k->slot[i]))
			return;
	}
	/* the channel may have been full since it began, and somebody died */
	if (k->dump == DUMP_ROWS && (!may_dump(k) || !send_dump(k)))
		return;
	send_todo(k, &k->master);
}

void
send_to(struct keeper *k, struct proc *worker)
{
	if (worker->state == PROC_READY && !worker->blocked)
		send_worker(k, worker);
	k->sent = 0;
}

/* Once a turn: whoever has room hears what there is. */
void
send_all(struct keeper *k)
{
	uint32_t i;

	k->sends = false;
	for (i = 0; i < k->slots; i++)
		send_to(k, &k->slot[i]);
	if (k->master.state == PROC_READY && !k->master.blocked)
		send_master(k);
	k->sent = 0;
}

/* The master is dead: its successor gets the whole table. */
void
send_reset_master(struct keeper *k)
{
	k->dump = DUMP_WAIT;
	k->downs_count = 0;
	k->down_next = 0;
}

/* A worker's death, to be told. */
void
send_down(struct keeper *k, const struct down *d)
{
	uint32_t at = (k->downs_head + k->downs_count) % KEEPER_DOWNS;

	if (k->dump == DUMP_WAIT)
		return; /* the dump will show it */
	if (k->downs_count == KEEPER_DOWNS) {
		log_event(LOG_ERROR, "master-does-not-read",
		    KV_PROC(&k->master));
		procs_signal(&k->master, SIGKILL);
		return;
	}
	k->downs[at] = *d;
	k->downs[at].whole = k->downs_count > 0;
	k->downs_count++;
}
