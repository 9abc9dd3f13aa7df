/* SPDX-License-Identifier: MIT */
/*
 * Channels and steps of the world of lib_custody.h, and what must hold in
 * it: each command begins at most once and never after its end, nobody is
 * told that one is lost which somebody has, nobody is killed who was not to be,
 * and once nothing moves any more each is over, for everybody.
 */
#include "lib_custody.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 8000u

struct world W;
bool sim_trace;
char sim_why[160];
uint32_t sim_without;
static jmp_buf bad;

const char *const sim_types[] = {[T_READY] = "READY", [T_HOLD] = "HOLD",
    [T_SPAWNED] = "SPAWNED", [T_CLOSED] = "CLOSED",
    [T_PASS] = "END to pass on", [T_PEER] = "PEER",
    [T_GIVE] = "GIVE", [T_HELD] = "HELD", [T_DOWN] = "DOWN",
    [T_TABLE_END] = "TABLE_END", [T_RUNNING] = "RUNNING",
    [T_EXITED] = "EXITED", [T_END] = "END", [T_FAILED] = "FAILED",
    [T_DUMP_END] = "DUMP_END", [T_START] = "START", [T_KILL] = "KILL",
    [T_ENDED] = "ENDED"};

void
sim_bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(sim_why, sizeof(sim_why), fmt, ap);
	va_end(ap);
	longjmp(bad, 1);
}

void
sim_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)putchar('\n');
}

uint32_t
sim_roll(uint32_t sides)
{
	W.rng ^= W.rng << 13;
	W.rng ^= W.rng >> 7;
	W.rng ^= W.rng << 17;
	return (uint32_t)((W.rng >> 20) % sides);
}

bool
sim_push(struct queue *q, const struct msg *m)
{
	if (!ROOM(q))
		return false;
	q->v[q->tail++ % QUEUE] = *m;
	return true;
}

bool
sim_pop(struct queue *q, struct msg *ret)
{
	if (q->head == q->tail)
		return false;
	*ret = q->v[q->head++ % QUEUE];
	return true;
}

bool
sim_somebody_has(uint32_t s)
{
	if (W.rows[s].used && W.rows[s].pid)
		return true;
	for (uint32_t i = 0; i < W.child_count; i++)
		if (W.children[i].session == s && W.children[i].step != 3)
			return true;
	for (uint32_t n = 0; n < SLOTS; n++)
		if (W.w[n].alive && W.w[n].of[s].has >= HAS_CLONED &&
		    W.w[n].of[s].has <= HAS_ENDED)
			return true;
	return false;
}

void
sim_given_up(uint32_t s, const char *why)
{
	const struct truth *t = &W.of[s];

	SAY("    %u GIVEN UP: %s", s, why);
	if (t->ring_exit || t->killed)
		return; /* the ring says how it ended */
	if (t->program == 1)
		sim_bad("given up (%s) while its program runs and %s has it",
		    why, sim_somebody_has(s) ? "somebody" : "nobody");
	if (t->ring && !t->ring_errno && sim_somebody_has(s))
		sim_bad("given up (%s) while somebody has it", why);
}

/* ---------------------------------------------------------------- steps */

enum step { S_RECV, S_DYING, S_DEATH, S_START, S_LINK, S_PEER, S_GIVE, S_ABOUT,
	S_DOWN, S_DUMP, S_CHANGE, S_MASTER_DEAD, S_MASTER_NEW, S_ORDER, S_HOLD,
	S_CLONE, S_RETRY, S_SETTLE, S_KEEPER_SAYS, S_TELL, S_TELL_CLOSED,
	S_EXIT, S_END, S_CLOSE, S_CHILD, S_PROGRAM, S_FROM_KEEPER,
	S_FROM_WORKER, S_COMMIT, S_SEND, S_FLUSH, S_EXEC, S_KILL, S_FORGET,
	S_TURN, S_DIE_WORKER, S_DIE_MASTER, S_DIE_KEEPER, S_DAMAGE, STEPS };

struct choice {
	uint8_t step;
	uint32_t n, s;
};

static struct choice choices[256];
static uint32_t count;
static uint32_t weight[STEPS], pace[SLOTS];

static void
may(bool yes, enum step step, uint32_t n, uint32_t s)
{
	if (yes)
		choices[count++] = (struct choice){(uint8_t)step, n, s};
}

static bool
is_blocked(const struct worker *w)
{
	for (uint32_t s = 0; s < SESSIONS; s++)
		if (!W.by_header && w->of[s].has == HAS_CLONED &&
		    !w->of[s].adopted)
			return true;
	return false;
}

static void
collect_session(uint32_t n, uint32_t s)
{
	struct worker *w = &W.w[n];
	struct held *h = &w->of[s];
	struct truth *t = &W.of[s];
	bool free_ = w->alive && !is_blocked(w);

	may(w->state == PROC_READY && W.rows[s].used && W.rows[s].give &&
	    W.rows[s].owner == n && w->peer == 0 && ROOM(&w->to_worker) &&
	    (w->linked || W.master_state != PROC_READY), S_GIVE, n, s);
	may(worker_may_close(n, s), S_TELL_CLOSED, n, s);
	may(free_ && h->has == HAS_ORDER && !h->held && !h->close &&
	    ROOM(&w->to_keeper), S_HOLD, n, s);
	may(free_ && h->has == HAS_ORDER && h->held, S_CLONE, n, s);
	may(free_ && h->has == HAS_ORDER && h->held && t->tries_fail != 0,
	    S_RETRY, n, s);
	may(w->alive && h->has == HAS_CLONED && worker_child_done(h), S_SETTLE,
	    n, s);
	may(free_ && h->has == HAS_RUNNING && t->program == 2 && !t->killed,
	    S_EXIT, n, s);
	may(free_ && h->has == HAS_EXITED, S_END, n, s);
	may(free_ && h->has == HAS_COMMITTED && h->want == 0, S_CLOSE, n, s);
}

static void
collect_slot(uint32_t n)
{
	struct worker *w = &W.w[n];
	bool free_ = w->alive && !is_blocked(w);

	may(LEN(&w->to_keeper) > 0, S_RECV, n, 0);
	may(!w->alive && (w->state == PROC_STARTING || w->state == PROC_READY),
	    S_DYING, n, 0);
	may(w->state == PROC_DYING && keeper_silent(n), S_DEATH, n, 0);
	may(w->state == PROC_NONE, S_START, n, 0);
	may(w->state == PROC_READY && W.master_state == PROC_READY &&
	    !w->linked, S_LINK, n, 0);
	may(w->state == PROC_READY && w->peer != 0 && ROOM(&w->to_worker),
	    S_PEER, n, 0);
	may(keeper_hears_master() && W.down_count == 0 && w->master_fd != 0 &&
	    ROOM(&W.to_master), S_ABOUT, n, 0);
	may(free_ && w->link != 0 && LEN(&W.order[w->link]) > 0, S_ORDER, n, 0);
	may(free_ && LEN(&w->to_worker) > 0, S_KEEPER_SAYS, n, 0);
	may(free_ && worker_may_tell(n), S_TELL, n, 0);
	may(W.master_alive && W.mlink[n] != 0 && LEN(&W.say[W.mlink[n]]) > 0,
	    S_FROM_WORKER, n, 0);
	may(W.master_alive && LEN(&W.out[n]) > 0 && (W.mlink[n] == 0 ||
	    W.cut[W.mlink[n]] || ROOM(&W.order[W.mlink[n]])), S_FLUSH, n, 0);
	for (uint32_t s = 0; s < SESSIONS; s++)
		collect_session(n, s);
}

static void
collect_world(void)
{
	bool idle = W.master_alive && W.phase != 2;

	may(keeper_hears_master() && W.down_count > 0 && ROOM(&W.to_master),
	    S_DOWN, 0, 0);
	may(keeper_may_dump() && ROOM(&W.to_master), S_DUMP, 0, 0);
	may(W.master_state == PROC_READY && !W.master_alive, S_MASTER_DEAD, 0,
	    0);
	may(W.master_state == PROC_NONE, S_MASTER_NEW, 0, 0);
	for (uint32_t i = 0; i < W.child_count; i++)
		may(W.children[i].step != 3 && (W.children[i].step != 1 ||
		    W.by_header ||
		    ROOM(&W.w[W.children[i].by.slot].to_keeper)), S_CHILD, i, 0);
	may(W.master_alive && LEN(&W.to_master) > 0, S_FROM_KEEPER, 0, 0);
	may(W.master_alive && W.phase == 1, S_COMMIT, 0, 0);
	may(W.master_alive && W.phase == 2, S_SEND, 0, 0);
	for (uint32_t s = 0; s < SESSIONS; s++) {
		const struct truth *t = &W.of[s];

		may(t->program == 1 && !t->asked_kill, S_PROGRAM, 0, s);
		may(idle && !t->asked && (s == 0 || W.of[0].asked), S_EXEC, 0,
		    s);
		may(idle && t->kill_wish && t->rec.exists, S_KILL, 0, s);
		may(idle && W.phase == 0 && W.may_forget && !W.damaged &&
		    t->rec.exists && t->rec.life == LIFE_ENDED && !t->forgotten, S_FORGET, 0, s);
	}
}

/* Only fates and turns without a reason are left? */
static bool
collect(void)
{
	uint32_t own;

	count = 0;
	for (uint32_t n = 0; n < SLOTS; n++)
		collect_slot(n);
	collect_world();
	own = count;
	may(W.master_alive && W.phase == 0 && master_waits(), S_TURN, 0, 0);
	may(W.mixed && keeper_may_change() && W.kills > 0, S_CHANGE, 0, 0);
	for (uint32_t n = 0; n < SLOTS; n++)
		may(W.kills > 0 && W.w[n].alive, S_DIE_WORKER, n, 0);
	may(W.masters > 0 && W.master_alive, S_DIE_MASTER, 0, 0);
	may(W.keepers > 0 && W.master_state == PROC_READY, S_DIE_KEEPER, 0, 0);
	may(W.damages > 0 && !W.master_alive && W.master_state == PROC_NONE &&
	    W.dump == DUMP_WAIT, S_DAMAGE, 0, 0);
	return own > 0;
}

static void
turn_begins(void)
{
	/* a turn is sent before the next begins */
	if (W.phase == 2)
		master_send();
	W.phase = 1;
}

static void
step_keeper(const struct choice *c)
{
	uint32_t n = c->n;

	switch ((enum step)c->step) {
	case S_RECV: keeper_recv(n); break;
	case S_DYING: W.w[n].state = PROC_DYING; break;
	case S_DEATH: keeper_finish_death(n); break;
	case S_START: keeper_start(n); break;
	case S_LINK: keeper_link(n); break;
	case S_PEER: keeper_peer(n); break;
	case S_GIVE: keeper_give(n, c->s); break;
	case S_ABOUT: keeper_about(n); break;
	case S_DOWN: keeper_send_down(); break;
	case S_DUMP: keeper_dump(); break;
	case S_CHANGE: W.kills--; keeper_change(); break;
	case S_MASTER_DEAD: keeper_master_dead(); break;
	default:
		W.master_state = PROC_READY;
		W.master_alive = true;
		SAY("master: begins");
		master_begin();
	}
}

static void
step_worker(const struct choice *c)
{
	uint32_t n = c->n, s = c->s;

	switch ((enum step)c->step) {
	case S_ORDER: worker_order(n); break;
	case S_HOLD: worker_hold(n, s); break;
	case S_CLONE: worker_clone(n, s); break;
	case S_RETRY: worker_retry(n, s); break;
	case S_SETTLE: worker_settle(n, s); break;
	case S_KEEPER_SAYS: worker_from_keeper(n); break;
	case S_TELL: worker_tell(n); break;
	case S_TELL_CLOSED: worker_send_close(n, s); break;
	case S_EXIT: worker_exit(n, s); break;
	case S_END: worker_end(n, s); break;
	case S_CLOSE: worker_close(n, s); break;
	case S_CHILD: child_step(n); break;
	default:
		W.of[s].program = 2;
		SAY("%u's program ends", s);
	}
}

static void
step_master(const struct choice *c)
{
	uint32_t s = c->s;

	switch ((enum step)c->step) {
	case S_FROM_KEEPER: turn_begins(); master_from_keeper(); break;
	case S_FROM_WORKER: turn_begins(); master_from_worker(c->n); break;
	case S_COMMIT: master_commit(); W.phase = 2; break;
	case S_SEND: master_send(); W.phase = 0; break;
	case S_FLUSH: master_flush(c->n); break;
	case S_TURN: W.phase = 1; break;
	case S_EXEC:
		W.of[s].asked = true;
		SAY("master: exec %u", s);
		turn_begins();
		master_exec(s);
		master_commit();
		W.phase = 2;
		break;
	case S_KILL:
		W.of[s].kill_wish = false;
		W.of[s].asked_kill = true;
		SAY("master: kill %u", s);
		turn_begins();
		master_kill(s);
		master_commit(); /* else its client asks again */
		W.phase = 2;
		break;
	default:
		SAY("master: forgets %u", s);
		turn_begins();
		master_forget(s);
	}
}

static void
step_fate(const struct choice *c)
{
	switch ((enum step)c->step) {
	case S_DIE_WORKER: W.kills--; fate_worker(c->n); break;
	case S_DIE_MASTER: W.masters--; fate_master(); break;
	case S_DIE_KEEPER: W.keepers--; fate_keeper(); break;
	default: W.damages--; fate_damage();
	}
}

static void
step(const struct choice *c)
{
	if (c->step <= S_MASTER_NEW)
		step_keeper(c);
	else if (c->step <= S_PROGRAM)
		step_worker(c);
	else if (c->step <= S_TURN)
		step_master(c);
	else
		step_fate(c);
}

/* ---------------------------------------------------------------- orders */

/* Is it the moment for this death: a start that is seen but not over, or a failed
 * one of which the keeper alone has heard? */
static bool
is_amid(uint8_t step, uint32_t n)
{
	for (uint32_t k = 0; k < SLOTS; k++)
		for (uint32_t s = 0; s < SESSIONS; s++) {
			const struct held *h = &W.w[k].of[s];

			if (step == S_DIE_MASTER && h->has == HAS_CLONED)
				return true;
			if (step == S_DIE_WORKER && k == n &&
			    h->has == HAS_FAILED && !h->close &&
			    (h->want >> T_FAILED & 1) != 0)
				return true;
		}
	return false;
}

static const struct choice *
choose(void)
{
	uint32_t total = 0, at, i, w[256];

	for (i = 0; i < count; i++) {
		uint8_t s = choices[i].step;

		w[i] = weight[s] * (s == S_CHILD || s >= S_DIE_WORKER
			? 1 : pace[choices[i].n]);
		if ((W.seed & SIM_EXECS_FAIL) != 0 && is_amid(s, choices[i].n))
			w[i] *= 100;
		total += w[i];
	}
	at = sim_roll(total);
	for (i = 0; at >= w[i]; i++)
		at -= w[i];
	return &choices[i];
}

/* Nothing moves any more. */
static void
must_be_over(void)
{
	for (uint32_t s = 0; s < SESSIONS; s++) {
		const struct truth *t = &W.of[s];

		if (t->rec.life != LIFE_ENDED && !t->forgotten &&
		    !(t->lost && !t->rec.exists))
			sim_bad("hangs: %u never ends (life %d, %s, program %d)",
			    s, (int)t->rec.life, master_state(s), t->program);
		if (W.rows[s].used)
			sim_bad("the keeper still has a row");
		for (uint32_t n = 0; n < SLOTS; n++)
			if (W.w[n].of[s].has != HAS_NOT)
				sim_bad("a worker still has it (%d)",
				    (int)W.w[n].of[s].has);
		if (t->program == 1)
			sim_bad("its program runs on");
	}
}

static void
draw_fates(void)
{
	static const uint32_t weights[] = {1, 1, 3, 10, 40};
	static const uint32_t rooms[] = {1, 2, 4, QUEUE, QUEUE};
	uint32_t i;

	W.standby = SLOTS - 1;
	W.links = 1;
	W.kills = sim_roll(6);
	W.masters = sim_roll(4);
	W.keepers = sim_roll(8) == 0;
	W.mixed = sim_roll(4) == 0;
	W.damages = sim_roll(6) == 0 && W.masters > 0 && !W.mixed;
	W.old_keeper = W.mixed && sim_roll(2) == 0;
	W.by_header = !W.mixed && sim_roll(2) == 0;
	W.lane = sim_roll(2) == 0;
	W.may_forget = sim_roll(2) == 0;
	W.room = rooms[sim_roll(5)];
	for (i = 0; i < SESSIONS; i++) {
		struct truth *t = &W.of[i];

		t->kill_wish = sim_roll(4) == 0;
		t->exec_fails = sim_roll(10) == 0;
		t->quarantine = !W.mixed && sim_roll(12) == 0;
		t->tries_fail = !W.mixed && sim_roll(4) == 0 ? 1 + sim_roll(3)
							     : 0;
	}
	/* as many orders have one session as two */
	if (sim_roll(2) == 0)
		W.of[1] = (struct truth){.asked = true, .forgotten = true};
	for (i = 0; i < STEPS; i++)
		weight[i] = weights[sim_roll(5)];
	weight[S_DIE_WORKER] = 1 + sim_roll(4);
	weight[S_DIE_MASTER] = 1 + sim_roll(2);
	weight[S_DIE_KEEPER] = weight[S_CHANGE] = 1;
	for (i = 0; i < SLOTS; i++)
		pace[i] = 1 + sim_roll(4) * sim_roll(4);
	W.passes = (W.seed & SIM_ENDS_PASSED) != 0;
	if ((W.seed & SIM_EXECS_FAIL) == 0)
		return;
	W.mixed = W.old_keeper = false;
	W.by_header = true;
	W.of[0].exec_fails = true;
	W.kills += 1;
	W.masters += 1;
	weight[S_DIE_WORKER] = 1;
}

bool
sim_play(uint64_t seed)
{
	memset(&W, 0, sizeof(W));
	W.seed = seed;
	W.rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (uint32_t i = 0; i < 8; i++)
		(void)sim_roll(2);
	master_killed();
	draw_fates();
	if (setjmp(bad) != 0)
		return false;
	while (collect() || (W.master_alive && master_waits())) {
		if (W.steps++ > STEPS_MAX)
			sim_bad("goes on for ever");
		step(choose());
	}
	must_be_over();
	return true;
}
