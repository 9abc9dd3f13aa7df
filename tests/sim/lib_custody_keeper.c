/* SPDX-License-Identifier: MIT */
/* What psupd does with sessions, rule by rule (lib_custody.h). */
#include "lib_custody.h"

#include <string.h>

static bool
is_up(uint32_t n)
{
	return W.w[n].state == PROC_STARTING || W.w[n].state == PROC_READY;
}

static bool
death_pending(void)
{
	for (uint32_t n = 0; n < SLOTS; n++)
		if (W.w[n].state == PROC_DYING)
			return true;
	return false;
}

/* send_master(): the table waits for deaths that are half known. */
bool
keeper_hears_master(void)
{
	return W.master_state == PROC_READY &&
	    !(W.dump == DUMP_WAIT && death_pending());
}

static void
unlink_peer(uint32_t n)
{
	W.w[n].peer = W.w[n].master_fd = 0;
	W.w[n].linked = false;
}

/* pids_read(): the kernel wrote it into the header. */
static void
read_pid(uint32_t s)
{
	struct row *r = &W.rows[s];

	if (r->used && W.by_header && W.of[s].ring_pid)
		r->pid = true;
}

/* A later start: the master knows that nothing of the one before runs. What was
 * read before an older worker's HOLD was sent before. */
static bool
is_replaced(const struct row *r, const struct msg *m)
{
	if (W.old_keeper || m->turn <= r->turn ||
	    (r->turn < TURN_OF_START(1) && r->pid))
		return false;
	for (uint32_t i = 0; i < W.child_count; i++)
		if (W.children[i].session == m->session &&
		    wid_eq(W.children[i].by, r->spawner) &&
		    !W.children[i].failed && !wid_eq(r->spawner, m->wid))
			sim_bad("HOLD in place of what runs");
	return true;
}

static void
read_others(uint32_t n)
{
	if (W.draining)
		return;
	W.draining = true;
	for (uint32_t k = 0; k < SLOTS; k++)
		while (k != n && LEN(&W.w[k].to_keeper) > 0)
			keeper_recv(k);
	W.draining = false;
}

static void
on_hold(uint32_t n, const struct msg *m)
{
	struct row *r = &W.rows[m->session];

	if (!W.old_keeper && m->turn == 0 && RULE(READ_OTHERS))
		read_others(n);
	if (r->used && !is_replaced(r, m)) {
		SAY("keeper: HOLD of %u refused", m->session);
		return;
	}
	*r = (struct row){.used = true, .owner = n, .spawner = m->wid,
	    .turn = W.old_keeper ? 0 : m->turn};
}

/* A command that no row can hold must not run unsupervised. */
static void
kill_unheld(const struct msg *m)
{
	struct child *c = &W.children[m->child];

	SAY("keeper: kills what nobody holds of %u", m->session);
	if (c->step != 3) {
		c->step = 3;
		c->failed = true;
	} else if (!c->failed && W.of[m->session].program == 1) {
		W.of[m->session].program = 2;
	}
}

/* CLOSED and ENDED count for their own turn, where both sides know of turns. */
static bool
is_turn(uint64_t said, uint64_t own)
{
	return said == 0 || own == 0 || said == own;
}

void
keeper_recv(uint32_t n)
{
	struct worker *w = &W.w[n];
	struct msg m;
	struct row *r;

	(void)sim_pop(&w->to_keeper, &m);
	r = &W.rows[m.session];
	SAY("keeper: %s of %u from w%u, turn %llx", sim_types[m.type], m.session,
	    n, (unsigned long long)m.turn);
	switch (m.type) {
	case T_READY:
		if (w->state == PROC_STARTING)
			w->state = PROC_READY;
		break;
	case T_HOLD:
		on_hold(n, &m);
		break;
	case T_SPAWNED:
		if (r->used && wid_eq(r->spawner, m.wid))
			r->pid = true;
		else if (RULE(UNHELD))
			kill_unheld(&m);
		break;
	case T_PASS:
		/* where it cannot be passed on its worker hears EXITED */
		if (r->used && r->owner == n && keeper_hears_master() &&
		    W.dump == DUMP_DONE && W.down_count == 0) {
			m.type = T_END;
			(void)sim_push(&W.to_master, &m);
		}
		break;
	case T_CLOSED:
		if (r->used && r->owner == n &&
		    (W.old_keeper || is_turn(m.turn, r->turn)))
			*r = (struct row){0};
		break;
	}
}

/* Will it say nothing any more? Where the pid comes by SPAWNED its children
 * have the channel open. */
bool
keeper_silent(uint32_t n)
{
	if (LEN(&W.w[n].to_keeper) > 0)
		return false;
	for (uint32_t i = 0; i < W.child_count; i++)
		if (!W.by_header && W.children[i].step != 3 &&
		    wid_eq(W.children[i].by, sim_wid(n)))
			return false;
	return true;
}

static void
hand_over(uint32_t dead, uint32_t heir)
{
	for (uint32_t s = 0; s < SESSIONS; s++) {
		struct row *r = &W.rows[s];

		if (!r->used || r->owner != dead)
			continue;
		read_pid(s);
		if (!r->pid) {
			*r = (struct row){0};
			continue;
		}
		r->give = true;
		r->prev = sim_wid(dead);
		r->owner = heir;
		if (!W.old_keeper)
			r->turn++;
	}
}

void
keeper_finish_death(uint32_t n)
{
	struct worker *w = &W.w[n];
	uint32_t heir = n;

	SAY("keeper: w%u.%u is dead", n, w->gen);
	w->to_worker.head = w->to_worker.tail;
	w->state = PROC_NONE;
	unlink_peer(n);
	if (n != W.standby && is_up(W.standby)) {
		heir = W.standby;
		W.standby = n;
	}
	hand_over(n, heir);
	if (W.dump != DUMP_WAIT) {
		if (W.down_count == DOWNS)
			sim_bad("too many deaths (simulator)");
		W.downs[W.down_count] = sim_wid(n);
		W.down_whole[W.down_count] = W.down_count > 0;
		W.down_count++;
	}
	w->page_pid = false;
}

void
keeper_start(uint32_t n)
{
	struct worker *w = &W.w[n];
	struct msg ready = {.type = T_READY};

	w->gen++;
	w->state = PROC_STARTING;
	w->alive = true;
	w->old = W.mixed && sim_roll(2) == 0;
	w->page_gen = w->gen;
	w->page_pid = true;
	w->link = 0;
	w->dump_end = false;
	memset(w->of, 0, sizeof(w->of));
	(void)sim_push(&w->to_keeper, &ready);
	SAY("keeper: starts w%u.%u%s", n, w->gen, w->old ? ", old" : "");
}

void
keeper_link(uint32_t n)
{
	if (W.links >= LINKS)
		sim_bad("too many links (simulator)");
	W.w[n].linked = true;
	W.w[n].peer = W.w[n].master_fd = W.links++;
}

/* To the worker. */
void
keeper_peer(uint32_t n)
{
	struct msg m = {.type = T_PEER, .link = W.w[n].peer};

	if (sim_push(&W.w[n].to_worker, &m))
		W.w[n].peer = 0;
}

void
keeper_give(uint32_t n, uint32_t s)
{
	struct row *r = &W.rows[s];
	struct msg m = {.type = T_GIVE, .session = (uint8_t)s,
	    .turn = W.old_keeper ? 0 : r->turn};

	if (!sim_push(&W.w[n].to_worker, &m))
		return;
	r->give = false;
	SAY("keeper: GIVE %u to w%u.%u", s, n, W.w[n].gen);
}

static bool
put_held(uint32_t s, struct wid as, bool down)
{
	struct row *r = &W.rows[s];
	struct msg m = {.type = T_HELD, .session = (uint8_t)s, .wid = as,
	    .down = down, .turn = W.old_keeper ? 0 : r->turn};

	read_pid(s);
	m.pid = r->pid;
	m.next = sim_wid(r->owner);
	if (wid_eq(m.next, r->prev))
		m.next.generation++;
	SAY("keeper: HELD %u as %u.%u next %u.%u%s", s, as.slot, as.generation,
	    m.next.slot, m.next.generation, down ? " DOWN" : "");
	return sim_push(&W.to_master, &m);
}

static struct wid
babysitter(const struct row *r)
{
	return is_up(r->owner) ? sim_wid(r->owner)
			       : (struct wid){NO_SLOT, 0};
}

static void
hears(void)
{
	if (W.dump == DUMP_WAIT) {
		W.dump = DUMP_ROWS;
		W.dump_next = 0;
	}
}

/* send_first_down(): a row or the death itself, as there is room. */
void
keeper_send_down(void)
{
	struct wid d = W.downs[0];
	bool whole = W.down_whole[0] || W.down_count > 1;
	struct msg m = {.type = T_DOWN, .wid = d};

	hears();
	for (; W.down_next < SESSIONS; W.down_next++) {
		const struct row *r = &W.rows[W.down_next];

		if (!r->used)
			continue;
		if (wid_eq(r->prev, d) || wid_eq(r->spawner, d)) {
			if (!put_held(W.down_next, d, true))
				return;
		} else if (whole &&
		    !put_held(W.down_next, babysitter(r), false)) {
			return;
		}
	}
	if (!sim_push(&W.to_master, &m))
		return;
	SAY("keeper: WORKER_DOWN w%u.%u", d.slot, d.generation);
	W.down_next = 0;
	W.down_count--;
	memmove(&W.downs[0], &W.downs[1], sizeof(W.downs[0]) * W.down_count);
	memmove(&W.down_whole[0], &W.down_whole[1],
	    sizeof(W.down_whole[0]) * W.down_count);
}

/* A worker's channel, to the master. */
void
keeper_about(uint32_t n)
{
	struct msg m = {.type = T_PEER, .wid = sim_wid(n),
	    .link = W.w[n].master_fd};

	hears();
	if (sim_push(&W.to_master, &m))
		W.w[n].master_fd = 0;
}

bool
keeper_may_dump(void)
{
	if (!keeper_hears_master() || W.dump == DUMP_DONE ||
	    W.down_count > 0 || death_pending())
		return false;
	for (uint32_t n = 0; n < SLOTS; n++)
		if (W.w[n].master_fd != 0 || LEN(&W.w[n].to_keeper) > 0 ||
		    (W.w[n].state == PROC_READY && !W.w[n].linked))
			return false;
	return true;
}

void
keeper_dump(void)
{
	struct msg m = {.type = T_TABLE_END};

	hears();
	for (; W.dump_next < SESSIONS; W.dump_next++)
		if (W.rows[W.dump_next].used && !put_held(W.dump_next,
		    babysitter(&W.rows[W.dump_next]), false))
			return;
	if (!sim_push(&W.to_master, &m))
		return;
	SAY("keeper: TABLE_END");
	W.dump = DUMP_DONE;
}

/* Another build takes the keeper's place in a quiet moment alone. */
bool
keeper_may_change(void)
{
	if (W.master_state != PROC_READY || W.down_count > 0)
		return false;
	for (uint32_t n = 0; n < SLOTS; n++)
		if (W.w[n].state != PROC_READY)
			return false;
	return true;
}

void
keeper_change(void)
{
	W.old_keeper = !W.old_keeper;
	for (uint32_t s = 0; s < SESSIONS; s++)
		W.rows[s].turn = 0; /* the old one's state has none */
	SAY("keeper: %s", W.old_keeper ? "the old build" : "the new build");
}

void
keeper_master_dead(void)
{
	W.master_state = PROC_NONE;
	W.dump = DUMP_WAIT;
	W.down_count = W.down_next = 0;
	W.to_master.head = W.to_master.tail;
	for (uint32_t n = 0; n < SLOTS; n++)
		unlink_peer(n);
}
