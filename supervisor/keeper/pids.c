/* SPDX-License-Identifier: MIT */
/*
 * Which process a session's command is. The kernel has written it into the
 * ring's header when the worker cloned, and the worker says it when the command
 * has exited; until one of the two is looked at the row has no pid. A command
 * that lives for a second is looked up by the tick, since its header may be
 * spoiled later; some a turn, since there may be thousands. Called by recv.c, and
 * by whoever must know now: before an orphan is reaped, when a worker is dead,
 * before the table is told, saved or killed.
 *
 * A header can be written by every command of this user, so it is believed only
 * about a child of ours that is in no row, younger than the row's HOLD and not
 * marked as another session's. Where it is not, the child is looked for: the
 * first one that carries the row's mark, since the kernel lists a command before
 * whatever it leaves to us.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/mark.h"
#include "common/procfs.h"
#include "shm/ring.h"
#include "supervisor/keeper/state.h"

#define NAME_NS NSEC_PER_SEC /* a command that is over by then needs no look */
#define NAME_SLICE_NS 250000u /* of processor time, in one turn */
#define FORKED_NO_EXEC 0x40u /* of the kernel's flags: PF_FORKNOEXEC */
#define CLAIMED_MAX 64u      /* children that no row may claim */
#define PAUSES      100u     /* in all, for children whose mark is locked */
#define PAUSE_NS    300000   /* one that vforks waits until its child gets a
			      * processor: 3 ms were too few with 24 on two */
#define DRAINS      256u     /* of the channels of workers that go on talking */

/* What the kernel says of a child. */
struct child {
	uint64_t began_ns; /* boot clock, at the latest */
	int32_t session;
	bool before_exec;
	bool waits;        /* a mark might have to be waited for */
	bool has_mark;     /* a mark can be read, and is this one: */
	struct proc_mark mark;
};

/* False: it is gone. A mark that might have to be waited for is not read. */
static bool
look_at(int32_t pid, struct child *ret)
{
	struct procfs_stat st;
	long hz = sysconf(_SC_CLK_TCK);

	if (hz <= 0 || procfs_stat(pid, &st) < 0)
		return false;
	*ret = (struct child){
	    .began_ns = (st.start + 1) * (NSEC_PER_SEC / (uint64_t)hz),
	    .session = st.sid};
	if (st.state == 'Z')
		return true;
	ret->before_exec = (st.flags & FORKED_NO_EXEC) != 0;
	ret->waits = !ret->before_exec && mark_may_wait(&st);
	ret->has_mark = !ret->before_exec && !ret->waits &&
	    mark_read(pid, &ret->mark) == 0;
	return true;
}

/* Does it carry the mark of the row's session? */
static bool
is_marked(const struct keeper *k, const struct row *r, const struct child *c)
{
	return c->mark.incarnation == k->incarnation &&
	    c->mark.session == r->sid.v;
}

/* The row's command is that child of ours, and how it ended if it did. False: it
 * cannot be. */
bool
pids_take(struct keeper *k, struct row *r, int32_t pid)
{
	struct ctl_exit e;

	if (r->pid != 0 || pid <= 1 || reap_is_known(k, pid) ||
	    !reap_exit_of(pid, &e))
		return false;
	table_set_pid(k->table, r, pid);
	if (r->exit.code == 0)
		r->exit = e;
	r->spawned_ns = clock_boot_ns();
	FAULT("keeper.after-spawned");
	ADD_RELAXED(k->stats[0].spawned, 1);
	return true;
}

/* One of so many pauses is over, if there was one left. */
static bool
pause_of(unsigned *left)
{
	if (*left == 0)
		return false;
	--*left;
	clock_nap(PAUSE_NS);
	return true;
}

/* What the header of its ring says, as far as that is to be believed. A command
 * that forks is locked for a moment, in which its mark says nothing. */
static void
read_row(struct keeper *k, struct row *r, unsigned *pauses)
{
	struct ring_look look;
	struct child c;

	if (r->pid != 0 || ring_look(k->dir, r->sid, &look) < 0 ||
	    look.pid <= 1 || !reap_is_child(look.pid))
		return;
	do
		if (!look_at(look.pid, &c) || c.began_ns < r->held_ns)
			return;
	while (c.waits && pause_of(pauses));
	if (!c.has_mark || is_marked(k, r, &c))
		(void)pids_take(k, r, look.pid);
}

void
pids_read(struct keeper *k, struct row *r)
{
	unsigned none = 0;

	read_row(k, r, &none);
}

/* Of a nameless row: was its header written by somebody else? It says nothing,
 * or names what cannot be the row's. */
static bool
is_spoiled(const struct keeper *k, const struct row *r)
{
	struct ring_look look;

	return r->pid == 0 && r->by_header &&
	    (ring_look(k->dir, r->sid, &look) < 0 || look.pid > 1);
}

/* Children that have not come to their exec, and are in no row. */
struct unclaimed {
	struct keeper *k;
	uint64_t since_ns; /* nor began before this */
	int32_t session;   /* of the worker that cloned them */
	int32_t pid[CLAIMED_MAX];
	uint32_t count;
	bool waits; /* the mark of one that may be claimed was not read */
};

/* A clone of that worker before its exec? What some command forked and left to
 * us has not exec'd either, but is in that command's session. */
static bool
is_clone(const struct unclaimed *u, const struct child *c, int32_t pid)
{
	return c->before_exec && c->began_ns >= u->since_ns &&
	    (c->session == pid || c->session == u->session);
}

/* Gives a child in no row to the nameless row whose mark it carries. */
static bool
claim(void *arg, int32_t pid)
{
	struct unclaimed *u = arg;
	struct keeper *k = u->k;
	struct child c;
	struct row *r;

	if (reap_is_known(k, pid) || !look_at(pid, &c))
		return true;
	if (is_clone(u, &c, pid) && u->count < CLAIMED_MAX)
		u->pid[u->count++] = pid;
	u->waits |= c.waits && c.session == pid && c.began_ns >= u->since_ns;
	if (!c.has_mark || c.session != pid)
		return true;
	r = table_find(k->table, (struct sid){ c.mark.session });
	if (r != NULL && r->pid == 0 && is_marked(k, r, &c) &&
	    c.began_ns >= r->held_ns && pids_take(k, r, pid))
		log_event(LOG_WARN, "command-found",
		    KV("session", r->sid.v), KV("command_pid", pid));
	return true;
}

/* Claims all that can be: a live command would else be given up as lost. */
static void
claim_all(struct unclaimed *u, unsigned *pauses)
{
	do {
		u->count = 0;
		u->waits = false;
		(void)procfs_each_child(getpid(), claim, u);
	} while (u->waits && pause_of(pauses));
}

/* A dead worker's porter may still clone what is then started elsewhere: it dies
 * before its row's header is believed. That takes no time: it hangs nowhere. */
static void
end_porter(struct keeper *k, const struct row *r)
{
	struct ring_look look;
	struct child c;
	siginfo_t si;

	if (ring_look(k->dir, r->sid, &look) < 0 || look.porter <= 1 ||
	    reap_is_known(k, look.porter) || !reap_is_child(look.porter) ||
	    !look_at(look.porter, &c) || c.began_ns < r->held_ns ||
	    kill(look.porter, SIGKILL) != 0)
		return;
	FAULT("keeper.porter-killed");
	while (waitid(P_PID, (id_t)look.porter, &si, WEXITED | WNOWAIT) != 0 &&
	    errno == EINTR)
		;
}

/* No row: a nameless one of another slot. */
static bool
is_another_nameless(const struct keeper *k, uint32_t slot)
{
	const struct row *r = NULL;

	while ((r = table_next_nameless(k->table, r)) != NULL) {
		if (r->owner != slot && r->by_header)
			return true;
	}
	return false;
}

/* Who is before its exec has no mark yet. Its header is spoiled, so it is not
 * known whose it is: it must not go on to run what is then started elsewhere.
 * Only where every other row has its pid, read after the child was seen. */
static void
kill_unclaimed(struct keeper *k, uint32_t slot, const struct unclaimed *u)
{
	bool drained = false;
	uint32_t i;

	/* nobody comes back to them: all is read now, and not some a turn */
	for (i = 0; u->count > 0 && !drained && i < DRAINS; i++)
		drained = reap_drain_workers(k);
	if (!drained)
		return;
	pids_read_all(k);
	if (is_another_nameless(k, slot))
		return;
	for (i = 0; i < u->count; i++) {
		if (reap_is_known(k, u->pid[i]) || !reap_is_child(u->pid[i]))
			continue;
		log_event(LOG_WARN, "unclaimed-child-killed",
		    KV("command_pid", u->pid[i]));
		(void)kill(u->pid[i], SIGKILL);
	}
}

/* All of a dead worker's rows, as far as can be known. */
void
pids_find(struct keeper *k, const struct proc *dead)
{
	uint32_t slot = dead->wid.slot;
	static struct unclaimed u;
	bool spoiled = false;
	struct row *r, *next;
	unsigned pauses = PAUSES;

	for (r = table_next_nameless(k->table, NULL); r != NULL; r = next) {
		next = table_next_nameless(k->table, r);
		if (r->owner != slot)
			continue;
		end_porter(k, r);
		read_row(k, r, &pauses);
		if (!is_spoiled(k, r))
			continue;
		if (!spoiled || r->held_ns < u.since_ns)
			u.since_ns = r->held_ns;
		spoiled = true;
	}
	if (!spoiled)
		return;
	u.k = k;
	u.session = dead->pid;
	claim_all(&u, &pauses);
	kill_unclaimed(k, slot, &u);
}

void
pids_read_all(struct keeper *k)
{
	struct row *r, *next;

	for (r = table_next_nameless(k->table, NULL); r != NULL; r = next) {
		next = table_next_nameless(k->table, r);
		pids_read(k, r);
	}
}

/* A look at headers that is under way over many turns. */
static struct {
	struct unclaimed u;
	struct procfs_walk walk;
	uint64_t before_ns; /* at those of rows that were held before */
	bool old;           /* they live for long: who has none is spoiled */
	bool spoiled;       /* one of them is */
} naming = { .walk.fd = -1 };

static void
begin(struct keeper *k, uint64_t before_ns, bool old)
{
	k->names = true;
	naming.u = (struct unclaimed){ .k = k, .since_ns = UINT64_MAX };
	naming.before_ns = before_ns;
	naming.old = old;
	naming.spoiled = false;
}

void
pids_old_begin(struct keeper *k, uint64_t now)
{
	if (!k->names)
		begin(k, now - NAME_NS, true);
}

/* True: it was through all of them. */
static bool
read_some(struct keeper *k)
{
	uint64_t until = clock_cpu_ns() + NAME_SLICE_NS;
	struct row *r, *next;

	for (r = table_next_nameless(k->table, NULL); r != NULL; r = next) {
		next = table_next_nameless(k->table, r);
		if (r->held_ns >= naming.before_ns ||
		    r->looked_ns == naming.before_ns)
			continue;
		if (clock_cpu_ns() >= until)
			return false;
		r->looked_ns = naming.before_ns;
		pids_read(k, r);
		naming.spoiled |= naming.old && is_spoiled(k, r);
	}
	return true;
}

/* Whatever was cloned before now is known by the end of a look that begins when
 * the channels are read. */
static void
begin_all(struct keeper *k)
{
	uint64_t now = clock_boot_ns();

	if (!reap_drain_workers(k))
		return;
	k->names_wanted = false;
	begin(k, now, false);
}

void
pids_some(struct keeper *k)
{
	if (!k->names && k->names_wanted)
		begin_all(k);
	if (!k->names)
		return;
	if (naming.walk.fd >= 0) {
		k->names = procfs_walk_some(&naming.walk, claim, &naming.u);
		return;
	}
	if (!read_some(k) || (naming.spoiled &&
		procfs_walk_begin(&naming.walk, getpid()) == 0))
		return;
	k->names = false;
	if (!naming.old)
		k->named_ns = naming.before_ns;
}

bool
pids_is_nobody(struct keeper *k, int32_t pid)
{
	struct child c;

	if (!look_at(pid, &c)) { /* there is no /proc */
		if (!reap_drain_workers(k))
			return false;
		pids_read_all(k);
	} else if (c.began_ns >= k->named_ns) {
		k->names_wanted = true;
		return false;
	}
	return !reap_is_known(k, pid);
}

bool
pids_may_be(const struct keeper *k, int32_t pid)
{
	const struct row *r = NULL;
	struct child c;

	if (!look_at(pid, &c))
		return false;
	while ((r = table_next_nameless(k->table, r)) != NULL)
		if (c.began_ns >= r->held_ns)
			return true;
	return false;
}

/* May a child of this dead worker still say SPAWNED? */
bool
pids_awaited(const struct keeper *k, uint32_t slot)
{
	const struct row *r = NULL;

	while ((r = table_next_nameless(k->table, r)) != NULL) {
		if (r->owner == slot && !r->by_header)
			return true;
	}
	return false;
}
