/* SPDX-License-Identifier: MIT */
/*
 * Who has a session (custody.h): one table says what each thing that is heard
 * makes of each state, and one function does it.
 */
#include "supervisor/custody.h"

#include "common/check.h"

struct custody_move {
	enum custody_answer answer;
	enum custody_state to; /* where it is not PAST */
};

/* A simulation has a table of its own, in which it breaks one move at a time. */
#ifndef CUSTODY_TABLE
#define CUSTODY_TABLE static const
#define SPOKE_FIRST   true
#define FAILED_FIRST  true
#endif

#define ON(event, state_, answer_)                                             \
	[CUSTODY_##event] = {CUSTODY_##answer_, CUSTODY_##state_}

/* What is not here changes nothing. */
CUSTODY_TABLE struct custody_move
    custody_moves[CUSTODY_STATES][CUSTODY_EVENTS] = {
    [CUSTODY_NOBODY] =
	{
	    ON(START, GIVEN, MOVED),
	},
    [CUSTODY_UNKNOWN] =
	{
	    ON(WORD_NOW, HAS, COUNTS),
	    ON(WORD_LATER, HAS, COUNTS),
	    ON(ROW_NOW, EXPECT, MOVED),
	    ON(ROW_LATER, EXPECT, MOVED),
	    ON(SETTLED, NOBODY, ORPHAN),
	    ON(BACK, NOBODY, MOVED),
	},
    [CUSTODY_GIVEN] =
	{
	    ON(WORD_NOW, HAS, COUNTS),
	    ON(WORD_LATER, HAS, COUNTS),
	    ON(ROW_LATER, EXPECT, MOVED),
	    ON(DOWN, NOBODY, ORPHAN),
	},
    [CUSTODY_HAS] =
	{
	    ON(WORD_NOW, HAS, COUNTS),
	    ON(WORD_LATER, HAS, COUNTS),
	    ON(ROW_LATER, EXPECT, MOVED),
	    ON(DOWN, NOBODY, ORPHAN),
	    ON(BACK, NOBODY, MOVED),
	},
    [CUSTODY_EXPECT] =
	{
	    ON(WORD_NOW, HAS, COUNTS),
	    ON(WORD_LATER, HAS, COUNTS),
	    ON(ROW_LATER, EXPECT, MOVED),
	    ON(DOWN, NOBODY, ORPHAN),
	},
};

/* The only place where a state changes but for the end. `who` and `turn` are of
 * what is told. */
static enum custody_answer
move(struct custody *c, enum custody_event event, struct wid who,
    uint64_t turn)
{
	const struct custody_move *m = &custody_moves[c->state][event];

	if (m->answer == CUSTODY_PAST)
		return CUSTODY_PAST;
	CHECK(turn >= c->turn);
	CHECK((who.generation == 0) == (m->to == CUSTODY_NOBODY));
	*c = (struct custody){.state = m->to, .who = who, .turn = turn,
	    .failed = c->failed};
	return m->answer;
}

/* `first` is the event of a past turn; those of this one and a later follow. */
static enum custody_event
by_turn(const struct custody *c, enum custody_event first, uint64_t turn)
{
	return turn < c->turn ? first : turn == c->turn ? first + 1 : first + 2;
}

void
custody_load(struct custody *c, uint32_t start)
{
	*c = (struct custody){.state = CUSTODY_UNKNOWN,
	    .turn = start != 0 ? TURN_OF_START(start) : 1};
}

void
custody_given(struct custody *c, struct wid w, uint32_t start)
{
	CHECK(move(c, CUSTODY_START, w, TURN_OF_START(start)) !=
	    CUSTODY_PAST);
	c->failed = (struct wid){0};
}

/* The turn of what says none, or of no start that its keeper knew: it can only
 * be of the last start. Who says how often that was handed over does not speak
 * of a start of its own. 0: of the past. */
static uint64_t
guess(const struct custody *c, struct wid w, uint64_t said, bool heir)
{
	if (wid_eq(c->who, w))
		return said != 0 && c->state == CUSTODY_GIVEN ? 0 : c->turn;
	if (heir)
		return c->turn + 1;
	return c->state == CUSTODY_UNKNOWN ? c->turn : 0;
}

enum custody_answer
custody_word(struct custody *c, struct wid w, uint64_t turn, bool heir)
{
	if (turn < TURN_OF_START(1))
		turn = guess(c, w, turn, heir);
	return move(c, by_turn(c, CUSTODY_WORD_PAST, turn), w, turn);
}

enum custody_answer
custody_failed(struct custody *c, struct wid w, uint64_t turn, bool heir)
{
	bool known = turn >= TURN_OF_START(1) && c->turn >= TURN_OF_START(1);

	if (known || c->state != CUSTODY_UNKNOWN)
		return custody_word(c, w, turn, heir);
	c->who = c->failed = w;
	return CUSTODY_PAST;
}

enum custody_answer
custody_row(struct custody *c, struct wid next, uint64_t turn, bool heir)
{
	if (FAILED_FIRST && wid_eq(c->failed, next) &&
	    (c->state == CUSTODY_UNKNOWN || turn < TURN_OF_START(1)))
		return CUSTODY_PAST;
	if (turn < TURN_OF_START(1))
		turn = guess(c, next, turn, heir);
	if (SPOKE_FIRST && c->state == CUSTODY_HAS && wid_eq(c->who, next) &&
	    turn > c->turn) {
		c->turn = turn; /* it said none, and spoke before its row */
		return CUSTODY_PAST;
	}
	return move(c, by_turn(c, CUSTODY_ROW_PAST, turn), next, turn);
}

/* Is it this one that has it, or is to? */
static bool
is_its(const struct custody *c, struct wid w)
{
	if (c->state == CUSTODY_EXPECT)
		return c->who.slot == w.slot &&
		    c->who.generation <= w.generation;
	return (c->state == CUSTODY_GIVEN || c->state == CUSTODY_HAS) &&
	    wid_eq(c->who, w);
}

enum custody_answer
custody_down(struct custody *c, struct wid w)
{
	if (!is_its(c, w))
		return CUSTODY_PAST;
	return move(c, CUSTODY_DOWN, (struct wid){0}, c->turn);
}

enum custody_answer
custody_settled(struct custody *c)
{
	return move(c, CUSTODY_SETTLED, (struct wid){0}, c->turn);
}

void
custody_back(struct custody *c)
{
	(void)move(c, CUSTODY_BACK, (struct wid){0}, c->turn);
}

void
custody_over(struct custody *c)
{
	CHECK(c->state != CUSTODY_OVER);
	if (c->state == CUSTODY_UNKNOWN)
		c->who = (struct wid){0};
	c->state = CUSTODY_OVER;
}

void
custody_rest(struct custody *c, struct wid w)
{
	CHECK(c->state == CUSTODY_OVER);
	c->who = w;
}
