/* SPDX-License-Identifier: MIT */
/*
 * The master around the machine: what session/recv.c, recover.c, pool.c and
 * gate/starts.c do of it (lib_custody.h).
 */
#include "lib_custody.h"

#include <string.h>

/* A session as the master has it in memory. */
struct seen {
	struct record rec;
	struct custody c;
	bool waits;  /* for its place among the starts */
	bool forget; /* with the next commit */
};

static struct {
	struct seen of[SESSIONS];
	bool present[SLOTS], dumped[SLOTS];
	bool table_end, reconciled;
	struct queue staged[SLOTS];
} M;

const char *
master_state(uint32_t s)
{
	static const char *const names[CUSTODY_STATES] = {"nobody", "unknown",
	    "given", "has", "expect", "over"};

	return names[M.of[s].c.state];
}

bool
master_waits(void)
{
	bool anybody = false;

	for (uint32_t n = 0; n < SLOTS; n++)
		anybody |= M.present[n];
	for (uint32_t s = 0; s < SESSIONS; s++)
		if (anybody && M.of[s].waits)
			return true;
	return false;
}

static bool
is_live(const struct seen *v)
{
	return v->rec.life != LIFE_NONE && v->rec.life != LIFE_ENDED;
}

static bool
is_there(struct wid w)
{
	return w.generation != 0 && w.slot < SLOTS && M.present[w.slot] &&
	    wid_eq(W.present[w.slot], w);
}

/* Staged for the end of the turn. */
static void
order(uint32_t s, struct wid to, enum type type, uint64_t turn)
{
	struct msg m = {.type = (uint8_t)type, .session = (uint8_t)s,
	    .turn = turn, .wid = to};
	struct queue *q;

	if (!is_there(to))
		return;
	q = &M.staged[to.slot];
	if (LEN(q) == QUEUE)
		sim_bad("too many orders (simulator)");
	q->v[q->tail++ % QUEUE] = m;
}

static void
ended(uint32_t s, const char *why)
{
	struct seen *v = &M.of[s];

	custody_over(&v->c);
	v->rec.life = LIFE_ENDED;
	v->waits = false;
	if (why != NULL)
		sim_given_up(s, why);
	/* the lane's next */
	if (s == 0 && M.of[1].rec.life == LIFE_QUEUED) {
		custody_back(&M.of[1].c);
		M.of[1].rec.life = LIFE_STARTING;
		M.of[1].waits = true;
	}
}

/* It never ran, and nobody has it. */
static void
again(uint32_t s)
{
	struct seen *v = &M.of[s];

	if (v->rec.forced) {
		ended(s, "forced before it started");
		return;
	}
	if (++v->rec.attempt > 60 || !v->rec.spec) {
		ended(s, "no start");
		return;
	}
	v->waits = true;
}

static void
orphan(uint32_t s, bool ran)
{
	if (M.of[s].rec.life == LIFE_STARTING && !ran)
		again(s);
	else
		ended(s, "nobody has it");
}

/* Its worker has closed it, perhaps before it heard of us. */
static bool
is_over(uint32_t s)
{
	return RULE(CLOSED_RINGS) && W.of[s].ring_closed &&
	    M.of[s].c.state == CUSTODY_EXPECT;
}

static void
recover_step(void)
{
	if (M.reconciled || !M.table_end)
		return;
	for (uint32_t n = 0; n < SLOTS; n++)
		if (M.present[n] && !M.dumped[n])
			return;
	M.reconciled = true;
	for (uint32_t s = 0; s < SESSIONS; s++) {
		struct seen *v = &M.of[s];

		if (is_live(v) && v->rec.life != LIFE_QUEUED &&
		    custody_settled(&v->c) == CUSTODY_ORPHAN)
			orphan(s, false);
		else if (is_live(v) && W.damaged && is_over(s))
			ended(s, NULL);
	}
}

/* Of what a damaged index does not know any more. */
static void
adopt(uint32_t s)
{
	struct seen *v = &M.of[s];

	SAY("master: adopts %u", s);
	v->rec = (struct record){.exists = true, .life = LIFE_STARTING};
	custody_load(&v->c, 0);
	W.of[s].forgotten = false;
	W.of[s].lost = true;
}

void
master_killed(void)
{
	memset(&M, 0, sizeof(M));
}

void
master_begin(void)
{
	uint32_t s;

	master_killed();
	for (s = 0; s < SESSIONS; s++) {
		struct seen *v = &M.of[s];

		v->rec = W.of[s].rec;
		if (!v->rec.exists) {
			if (W.damaged && W.of[s].shown != LIFE_NONE) {
				adopt(s);
				if (W.of[s].shown == LIFE_ENDED)
					ended(s, NULL);
			}
			continue;
		}
		if (is_live(v))
			custody_load(&v->c, v->rec.attempt + 1);
		else
			custody_over(&v->c);
	}
	for (s = 0; s < SESSIONS; s++)
		if (W.stranger && is_live(&M.of[s]) &&
		    M.of[s].rec.life != LIFE_QUEUED)
			ended(s, "of another keeper");
	if (M.of[1].rec.life == LIFE_QUEUED && !is_live(&M.of[0])) {
		custody_back(&M.of[1].c);
		M.of[1].rec.life = LIFE_STARTING;
		M.of[1].waits = true;
	}
	W.phase = 1;
}

void
master_exec(uint32_t s)
{
	struct seen *v = &M.of[s];
	bool queued = s == 1 && W.lane && is_live(&M.of[0]);

	*v = (struct seen){.rec = {.exists = true, .spec = true,
	    .life = queued ? LIFE_QUEUED : LIFE_STARTING}, .waits = !queued};
}

/* gate/starts.c: its turn has come. */
static void
start(uint32_t s)
{
	struct seen *v = &M.of[s];
	uint32_t n = sim_roll(SLOTS);

	for (uint32_t i = 0; i < SLOTS; i++, n = (n + 1) % SLOTS) {
		if (!M.present[n])
			continue;
		v->waits = false;
		custody_given(&v->c, W.present[n], v->rec.attempt + 1);
		order(s, W.present[n], T_START, v->c.turn);
		return;
	}
}

void
master_kill(uint32_t s)
{
	struct seen *v = &M.of[s];

	if (!is_live(v))
		return;
	v->rec.forced = true;
	if (v->rec.life == LIFE_QUEUED || v->c.state == CUSTODY_NOBODY)
		ended(s, "kill before it started");
	else if (custody_has(&v->c))
		order(s, v->c.who, T_KILL, 0);
}

void
master_forget(uint32_t s)
{
	M.of[s] = (struct seen){.forget = true};
	W.of[s].ring = false;
	W.of[s].forgotten = true;
}

/* The word of somebody about what is over, or was forgotten. */
static void
of_the_ended(uint32_t s, struct wid w, const struct msg *m)
{
	if (m->type == T_RUNNING && M.of[s].rec.life == LIFE_ENDED)
		custody_rest(&M.of[s].c, w);
	if (m->type == T_RUNNING && !m->exited)
		order(s, w, T_KILL, 0);
	else
		order(s, w, T_ENDED, m->turn);
}

static void
on_running(uint32_t s, struct wid w, const struct msg *m, bool moved)
{
	struct seen *v = &M.of[s];

	if (!m->starting && v->rec.life <= LIFE_RUNNING)
		v->rec.life = m->exited ? LIFE_EXITED : LIFE_RUNNING;
	if (moved && v->rec.forced)
		order(s, w, T_KILL, 0);
}

static void
on_failed(uint32_t s, struct wid w, const struct msg *m)
{
	struct seen *v = &M.of[s];

	order(s, w, T_ENDED, m->turn);
	if (v->rec.life != LIFE_STARTING || m->transient == FOR_GOOD) {
		ended(s, "FAILED");
		return;
	}
	custody_back(&v->c);
	again(s);
}

/* One word of a worker. */
static void
said(struct wid w, const struct msg *m)
{
	uint32_t s = m->session;
	struct seen *v = &M.of[s];
	bool moved, heir;
	enum custody_answer a;

	if (m->type == T_DUMP_END) {
		M.dumped[w.slot] = true;
		recover_step();
		return;
	}
	if (v->rec.life == LIFE_NONE && m->type != T_EXITED && W.damaged &&
	    !M.reconciled)
		adopt(s);
	if (!is_live(v)) {
		of_the_ended(s, w, m);
		return;
	}
	if (v->rec.life == LIFE_QUEUED)
		return;
	if (m->type == T_END) { /* final, whoever says it */
		order(s, w, T_ENDED, m->turn);
		ended(s, NULL);
		return;
	}
	moved = !custody_has(&v->c) || !wid_eq(v->c.who, w);
	heir = sim_gone(v->c.who) && !sim_gone(w);
	a = m->type == T_FAILED ? custody_failed(&v->c, w, m->turn, heir)
				: custody_word(&v->c, w, m->turn, heir);
	if (a != CUSTODY_COUNTS) {
		if (m->type == T_FAILED)
			order(s, w, T_ENDED, m->turn);
		return;
	}
	if (m->type == T_RUNNING)
		on_running(s, w, m, moved);
	else if (m->type == T_FAILED)
		on_failed(s, w, m);
	else
		v->rec.life = LIFE_EXITED;
}

/* What the channel of a worker holds, of which one message was asked for. */
void
master_from_worker(uint32_t n)
{
	struct msg m;

	if (W.mlink[n] == 0 || !sim_pop(&W.say[W.mlink[n]], &m))
		return;
	SAY("master: w%u.%u said %s of %u%s", n, W.present[n].generation,
	    sim_types[m.type], m.session, m.exited ? ", exited" : "");
	said(W.present[n], &m);
}

static void
forget_link(uint32_t n)
{
	if (W.mlink[n] != 0)
		W.cut[W.mlink[n]] = true;
	W.mlink[n] = 0;
	W.out[n].head = W.out[n].tail;
	M.staged[n].head = M.staged[n].tail;
}

static void
on_peer(const struct msg *m)
{
	uint32_t n = m->wid.slot;

	forget_link(n);
	M.present[n] = true;
	M.dumped[n] = false;
	W.present[n] = m->wid;
	W.mlink[n] = m->link;
}

static void
on_held(const struct msg *m)
{
	struct seen *v = &M.of[m->session];
	bool heir;

	if (!m->pid)
		return;
	/* a forgotten one has no ring */
	if (v->rec.life == LIFE_NONE && W.damaged && !M.reconciled &&
	    W.of[m->session].ring)
		adopt(m->session);
	if (!is_live(v))
		return;
	heir = m->down || sim_gone(v->c.who);
	(void)custody_row(&v->c, m->next, m->turn, heir);
}

static void
on_down(struct wid w)
{
	if (is_there(w)) {
		while (W.mlink[w.slot] != 0 && LEN(&W.say[W.mlink[w.slot]]) > 0)
			master_from_worker(w.slot);
		forget_link(w.slot);
		M.present[w.slot] = false;
		W.present[w.slot] = (struct wid){0};
	}
	for (uint32_t s = 0; s < SESSIONS; s++) {
		struct seen *v = &M.of[s];
		bool row = v->c.state == CUSTODY_EXPECT;

		if (is_live(v) && custody_down(&v->c, w) == CUSTODY_ORPHAN)
			orphan(s, row && !W.of[s].ring_errno);
	}
	recover_step();
}

/* pool_on_end(): what its worker has said before is read first. */
static void
on_end(const struct msg *m)
{
	struct wid w = M.of[m->session].c.who;

	if (!is_there(w))
		return;
	while (W.mlink[w.slot] != 0 && LEN(&W.say[W.mlink[w.slot]]) > 0)
		master_from_worker(w.slot);
	said(w, m);
}

void
master_from_keeper(void)
{
	struct msg m;

	(void)sim_pop(&W.to_master, &m);
	SAY("master: %s %u.%u", sim_types[m.type], m.wid.slot,
	    m.wid.generation);
	if (m.type == T_PEER)
		on_peer(&m);
	else if (m.type == T_HELD)
		on_held(&m);
	else if (m.type == T_DOWN)
		on_down(m.wid);
	else if (m.type == T_END)
		on_end(&m);
	else
		M.table_end = true;
	recover_step();
}

/* The end of a turn: starts, then the commit. */
void
master_commit(void)
{
	for (uint32_t s = 0; s < SESSIONS; s++) {
		struct seen *v = &M.of[s];

		if (v->waits && sim_roll(3) != 0)
			start(s);
		if (v->rec.exists)
			W.of[s].rec = v->rec;
		if (v->forget)
			W.of[s].rec = (struct record){0};
		W.of[s].shown = W.of[s].rec.life;
		v->forget = false;
	}
	W.stranger = false;
	if (M.reconciled)
		W.damaged = false;
}

void
master_send(void)
{
	struct msg m;

	for (uint32_t n = 0; n < SLOTS; n++)
		while (sim_pop(&M.staged[n], &m)) {
			if (LEN(&W.out[n]) == QUEUE)
				sim_bad("too many orders (simulator)");
			W.out[n].v[W.out[n].tail++ % QUEUE] = m;
		}
}

/* worker_flush(): one order, where its channel has room. */
void
master_flush(uint32_t n)
{
	struct msg m;

	if (!sim_pop(&W.out[n], &m) || W.mlink[n] == 0 || W.cut[W.mlink[n]])
		return;
	SAY("    order %s of %u to w%u", sim_types[m.type], m.session, n);
	(void)sim_push(&W.order[W.mlink[n]], &m);
}
