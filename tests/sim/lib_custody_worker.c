/* SPDX-License-Identifier: MIT */
/* What a worker does with its sessions, rule by rule, and what a command's child
 * does (lib_custody.h). `old` are the rules of a build before turns. */
#include "lib_custody.h"

#include <stddef.h>

static void
say(uint32_t n, uint32_t s, enum type type)
{
	if (W.w[n].link != 0)
		W.w[n].of[s].want |= 1u << type;
}

static void
close_it(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];

	h->close = true;
	h->closing = h->turn;
}

/* Gone once the keeper has heard of it, and the master. */
static void
settle(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];

	h->has = HAS_NOT;
	h->want = 0;
}

/* child_fail() */
static void
fail(uint32_t n, uint32_t s, enum transient transient)
{
	struct held *h = &W.w[n].of[s];

	h->transient = (uint8_t)transient;
	W.of[s].ring_closed |= h->held;
	h->has = HAS_FAILED;
	h->owes = !W.w[n].old && h->held && h->ran;
	if (h->held && !h->owes)
		close_it(n, s);
	say(n, s, T_FAILED);
	SAY("    w%u.%u: %u has failed", n, W.w[n].gen, s);
}

/* An older FAILED whose START, or GIVE, this is not. */
static bool
replaces(uint32_t n, uint32_t s, uint64_t turn)
{
	const struct held *h = &W.w[n].of[s];

	return h->has == HAS_FAILED && !W.w[n].old && !h->owes &&
	    (turn < TURN_OF_START(1) || h->turn < turn);
}

static void
on_start(uint32_t n, const struct msg *m)
{
	uint32_t s = m->session;
	struct held *h = &W.w[n].of[s];

	if (replaces(n, s, m->turn))
		h->has = HAS_NOT;
	if (h->has == HAS_FAILED && W.w[n].old) {
		SAY("    START refused: it has failed");
		return;
	}
	if (h->has != HAS_NOT)
		sim_bad("START to a worker that has it (%d)", (int)h->has);
	/* what it still owes the keeper of the last one goes first */
	*h = (struct held){.has = HAS_ORDER, .turn = W.w[n].old ? 0 : m->turn,
	    .close = h->close, .closing = h->closing,
	    .may_pass = W.passes && !W.w[n].old};
	if (W.of[s].tries_fail == 3) {
		W.of[s].tries_fail = 0;
		fail(n, s, TRY_AGAIN);
	}
}

/* The ladder's KILL. */
static void
on_kill(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];

	if (h->has == HAS_RUNNING && W.of[s].program == 1) {
		W.of[s].program = 2;
		if (!W.of[s].asked_kill && !W.of[s].lost)
			sim_bad("killed as a stray");
	} else if (h->has == HAS_ORDER || h->has == HAS_CLONED) {
		h->killed = true;
	}
}

static bool
is_turn(uint64_t said, uint64_t own)
{
	return said == 0 || own == 0 || said == own;
}

/* child_committed() */
static void
on_ended(uint32_t n, const struct msg *m)
{
	uint32_t s = m->session;
	struct held *h = &W.w[n].of[s];

	if (h->has == HAS_NOT || (!W.w[n].old && !is_turn(m->turn, h->turn)))
		return;
	switch (h->has) {
	case HAS_FAILED:
		if (h->owes)
			close_it(n, s);
		settle(n, s);
		break;
	case HAS_ENDED:
		h->has = HAS_COMMITTED;
		h->want &= ~(1u << T_END);
		break;
	case HAS_RUNNING:
		if (W.of[s].program == 1 && !W.of[s].asked_kill &&
		    !W.of[s].ring_exit && !W.of[s].lost)
			sim_bad("ENDED to a worker whose command runs");
		if (W.of[s].program == 1)
			W.of[s].program = 2;
		h->committed = true;
		if (h->passed) { /* with the exit, all else was known */
			W.of[s].ring_exit = true;
			h->has = HAS_COMMITTED;
		}
		break;
	case HAS_EXITED:
		h->committed = true;
		break;
	default:
		break;
	}
}

void
worker_order(uint32_t n)
{
	struct msg m;

	(void)sim_pop(&W.order[W.w[n].link], &m);
	SAY("    w%u.%u reads %s of %u", n, W.w[n].gen, sim_types[m.type],
	    m.session);
	if (m.type == T_START)
		on_start(n, &m);
	else if (m.type == T_KILL)
		on_kill(n, m.session);
	else
		on_ended(n, &m);
}

/* start_take_over() */
static void
on_give(uint32_t n, const struct msg *m)
{
	uint32_t s = m->session;
	struct truth *t = &W.of[s];
	struct held *h = &W.w[n].of[s];
	bool before_exec = false;

	for (uint32_t k = 0; k < SLOTS; k++)
		if (k != n && W.w[k].alive && W.w[k].of[s].has != HAS_NOT &&
		    W.w[k].of[s].has != HAS_FAILED)
			sim_bad("two workers have it");
	if (replaces(n, s, m->turn))
		h->has = HAS_NOT;
	if (h->has == HAS_FAILED && W.w[n].old) {
		SAY("    GIVE refused: it has failed");
		return;
	}
	if (h->has != HAS_NOT)
		sim_bad("GIVE to a worker that has it (%d)", (int)h->has);
	*h = (struct held){.held = true, .ran = true,
	    .turn = W.w[n].old ? 0 : m->turn != 0 ? m->turn : 1};
	for (uint32_t i = 0; i < W.child_count; i++)
		if (W.children[i].session == s && W.children[i].step != 3) {
			before_exec = true;
			h->child = i;
		}
	if (t->ring_errno) {
		h->ran = false;
		fail(n, s, FOR_GOOD);
	} else if (t->quarantine || t->killed || !t->ring) {
		/* it cannot be babysat: it is killed, a child before its exec,
		 * too; where the ring is gone it was over */
		t->quarantine = false;
		t->killed |= t->ring;
		if (before_exec) {
			W.children[h->child].step = 3;
			W.children[h->child].failed = true;
		}
		if (t->program == 1)
			t->program = 2;
		fail(n, s, FOR_GOOD);
	} else if (before_exec) {
		h->has = HAS_CLONED;
		h->adopted = true;
		say(n, s, T_RUNNING);
	} else {
		h->has = t->ring_exit ? HAS_EXITED : HAS_RUNNING;
		say(n, s, T_RUNNING);
		if (t->ring_exit)
			say(n, s, T_EXITED);
	}
}

/* on_peer(): a new master is told all there is. */
static void
on_peer(uint32_t n, uint32_t link)
{
	struct worker *w = &W.w[n];

	w->link = W.cut[link] ? 0 : link;
	w->dump_end = w->link != 0;
	for (uint32_t s = 0; s < SESSIONS; s++) {
		struct held *h = &w->of[s];

		h->want = 0;
		h->may_pass = false;
		switch (h->has) {
		case HAS_ORDER:
			fail(n, s, NOT_TRIED);
			break;
		case HAS_FAILED:
			say(n, s, T_FAILED);
			break;
		case HAS_ENDED:
		case HAS_COMMITTED: /* its record may be damaged */
		case HAS_CLOSED:
			if (w->old && h->has != HAS_ENDED)
				break;
			say(n, s, T_END);
			say(n, s, T_EXITED);
			say(n, s, T_RUNNING);
			break;
		case HAS_EXITED:
			say(n, s, T_EXITED);
			say(n, s, T_RUNNING);
			break;
		case HAS_CLONED:
			if (!W.by_header)
				break; /* its worker is held until the exec */
			say(n, s, T_RUNNING);
			break;
		case HAS_RUNNING:
			say(n, s, T_RUNNING);
			break;
		default:
			break;
		}
	}
}

void
worker_from_keeper(uint32_t n)
{
	struct msg m;

	(void)sim_pop(&W.w[n].to_worker, &m);
	if (m.type == T_GIVE)
		on_give(n, &m);
	else
		on_peer(n, m.link);
}

/* HOLD: behind what the keeper has still to hear of an older turn. */
void
worker_hold(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];
	struct msg m = {.type = T_HOLD, .session = (uint8_t)s,
	    .wid = sim_wid(n), .turn = h->turn};

	W.of[s].ring = true;
	W.of[s].ring_errno = W.of[s].ring_pid = W.of[s].ring_closed = false;
	if (sim_push(&W.w[n].to_keeper, &m))
		h->held = true;
}

void
worker_clone(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];

	if (W.child_count == CHILDREN)
		sim_bad("too many children (simulator)");
	W.of[s].ring_pid = true;
	h->child = W.child_count;
	W.children[W.child_count++] = (struct child){.by = sim_wid(n),
	    .session = (uint8_t)s, .step = 1};
	h->has = HAS_CLONED;
}

/* It lacks something that another moment, or worker, may have. */
void
worker_retry(uint32_t n, uint32_t s)
{
	if (W.of[s].tries_fail == 2)
		fail(n, s, TRY_AGAIN);
	W.of[s].tries_fail = 0;
}

bool
worker_child_done(const struct held *h)
{
	return W.children[h->child].step == 3;
}

void
worker_settle(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];

	if (W.of[s].ring_errno || W.children[h->child].failed) {
		h->ran = false;
		fail(n, s, W.of[s].ring_errno ? FOR_GOOD : TRY_AGAIN);
		return;
	}
	h->ran = true;
	h->has = HAS_RUNNING;
	say(n, s, T_RUNNING);
	if (h->killed && W.of[s].program == 1)
		W.of[s].program = 2;
}

/* child_ask(): nothing but the exit is to be known. */
static bool
pass_end(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];
	struct msg m = {.type = T_PASS, .session = (uint8_t)s, .turn = h->turn};

	if (!h->may_pass || W.old_keeper || sim_roll(4) == 0 ||
	    !sim_push(&W.w[n].to_keeper, &m))
		return false;
	h->may_pass = false;
	h->passed = W.of[s].ring_closed = true;
	h->want &= ~(1u << T_RUNNING);
	return true;
}

void
worker_exit(uint32_t n, uint32_t s)
{
	if (pass_end(n, s))
		return;
	W.of[s].ring_exit = true;
	W.w[n].of[s].has = HAS_EXITED;
	if (sim_roll(2) != 0)
		say(n, s, T_EXITED);
	if (W.w[n].of[s].passed) /* all else was known */
		worker_end(n, s);
}

void
worker_end(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];

	W.of[s].ring_closed = true;
	h->has = h->committed ? HAS_COMMITTED : HAS_ENDED;
	if (!h->committed)
		say(n, s, T_END);
}

/* child_close() */
void
worker_close(uint32_t n, uint32_t s)
{
	close_it(n, s);
	W.w[n].of[s].has = HAS_CLOSED;
}

/* The first word that waits, or NULL. */
static struct held *
first_word(uint32_t n, uint32_t *ret_s)
{
	for (uint32_t s = 0; s < SESSIONS; s++)
		if (W.w[n].of[s].want != 0) {
			*ret_s = s;
			return &W.w[n].of[s];
		}
	return NULL;
}

bool
worker_may_tell(uint32_t n)
{
	uint32_t s, l = W.w[n].link;

	const struct held *h = first_word(n, &s);

	if (!W.w[n].alive || l == 0)
		return false;
	/* the keeper is told first that nothing of it ran */
	if (h != NULL && h->want == 1u << T_FAILED && h->close &&
	    !W.w[n].old && RULE(CLOSED_FIRST))
		return false;
	return (h != NULL || W.w[n].dump_end) &&
	    (W.cut[l] || ROOM(&W.say[l]));
}

/* link_flush(): what it says is as it is at this moment. */
void
worker_tell(uint32_t n)
{
	struct worker *w = &W.w[n];
	uint32_t s = 0, type = T_RUNNING;
	struct held *h = first_word(n, &s);
	struct msg m = {.type = T_DUMP_END};

	if (h != NULL) {
		while ((h->want >> type & 1) == 0)
			type++;
		h->want &= ~(1u << type);
		m = (struct msg){.type = (uint8_t)type, .session = (uint8_t)s,
		    .exited = W.of[s].ring_exit, .turn = h->turn,
		    .starting = h->has == HAS_CLONED,
		    .transient = h->transient};
	} else {
		w->dump_end = false;
	}
	if (W.cut[w->link])
		return;
	SAY("    w%u.%u says %s of %u", n, w->gen, sim_types[m.type], s);
	(void)sim_push(&W.say[w->link], &m);
}

bool
worker_may_close(uint32_t n, uint32_t s)
{
	const struct held *h = &W.w[n].of[s];

	/* a closed one goes once the master has heard all, too */
	return W.w[n].alive && h->close && ROOM(&W.w[n].to_keeper) &&
	    (h->has != HAS_CLOSED || h->want == 0 || W.w[n].link == 0);
}

void
worker_send_close(uint32_t n, uint32_t s)
{
	struct held *h = &W.w[n].of[s];
	struct msg m = {.type = T_CLOSED, .session = (uint8_t)s,
	    .turn = W.w[n].old ? 0 : h->closing};

	if (sim_push(&W.w[n].to_keeper, &m))
		h->close = false;
	if (h->has == HAS_CLOSED && !h->close)
		settle(n, s);
}

/* Between clone and exec: tells the keeper where the header does not. */
void
child_step(uint32_t i)
{
	struct child *c = &W.children[i];
	struct truth *t = &W.of[c->session];
	struct msg m = {.type = T_SPAWNED, .session = c->session, .wid = c->by,
	    .child = i};

	if (c->step == 1) {
		if (!W.by_header &&
		    !sim_push(&W.w[c->by.slot].to_keeper, &m))
			return;
		c->step = 2;
		return;
	}
	c->step = 3;
	if (t->exec_fails) {
		t->ring_errno = c->failed = true;
		return;
	}
	t->program = 1;
	SAY("%u BEGINS", c->session);
	if (++t->starts > 1)
		sim_bad("started twice");
	if (t->rec.life == LIFE_ENDED && !t->asked_kill)
		sim_bad("started though it is over");
}
