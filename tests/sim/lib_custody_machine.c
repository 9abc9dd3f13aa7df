/* SPDX-License-Identifier: MIT */
/*
 * The machine once more, with a table that can be broken (lib_custody.h); what
 * cannot be is a bad order here, no abort.
 */
#include "lib_custody.h"

#include "common/check.h"

#undef CHECK
#define CHECK(expr) ((expr) ? (void)0 : sim_bad("the machine: %s", #expr))
#define CUSTODY_TABLE static
#define SPOKE_FIRST   RULE(ROW_OF_ITS_OWN)
#define FAILED_FIRST  RULE(FAILED_FIRST)
#include "supervisor/custody.c"

/* What else might be thought to be a move. */
static const struct mutant added[] = {
    {CUSTODY_NOBODY, CUSTODY_WORD_PAST, CUSTODY_COUNTS, CUSTODY_HAS},
    {CUSTODY_UNKNOWN, CUSTODY_WORD_PAST, CUSTODY_COUNTS, CUSTODY_HAS},
    {CUSTODY_GIVEN, CUSTODY_WORD_PAST, CUSTODY_COUNTS, CUSTODY_HAS},
    {CUSTODY_HAS, CUSTODY_WORD_PAST, CUSTODY_COUNTS, CUSTODY_HAS},
    {CUSTODY_EXPECT, CUSTODY_WORD_PAST, CUSTODY_COUNTS, CUSTODY_HAS},
    {CUSTODY_HAS, CUSTODY_ROW_PAST, CUSTODY_MOVED, CUSTODY_EXPECT},
    {CUSTODY_HAS, CUSTODY_ROW_NOW, CUSTODY_MOVED, CUSTODY_EXPECT},
    {CUSTODY_GIVEN, CUSTODY_SETTLED, CUSTODY_ORPHAN, CUSTODY_NOBODY},
    {CUSTODY_HAS, CUSTODY_SETTLED, CUSTODY_ORPHAN, CUSTODY_NOBODY},
    {CUSTODY_EXPECT, CUSTODY_SETTLED, CUSTODY_ORPHAN, CUSTODY_NOBODY},
};

/* The i-th: the table without a move, then with one more. */
bool
mutant_at(uint32_t i, struct mutant *ret)
{
	for (uint32_t s = 0; s < CUSTODY_STATES; s++)
		for (uint32_t e = 0; e < CUSTODY_EVENTS; e++) {
			if (custody_moves[s][e].answer == CUSTODY_PAST ||
			    i-- > 0)
				continue;
			*ret = (struct mutant){.state = s, .event = e};
			return true;
		}
	if (i >= NELEMS(added))
		return false;
	*ret = added[i];
	return true;
}

/* Puts it into the table; *m is then what was there. */
void
mutant_swap(struct mutant *m)
{
	struct custody_move *at = &custody_moves[m->state][m->event], was = *at;

	*at = (struct custody_move){(enum custody_answer)m->answer,
	    (enum custody_state)m->to};
	m->answer = was.answer;
	m->to = was.to;
}
