/* SPDX-License-Identifier: MIT */
/*
 * A slot of the board, or a lane's entry, from the master to a reader of
 * another process, in memory that reorders (weak.h): a copy that counts is of
 * one version, and a slot that a killed master left half written does not
 * count before its successor has repaired it.
 *
 * Models shm/board.c: locked_write, locked_read, board_repair. Scaled: a slot
 * has two words. A death is a full barrier: the successor is another process.
 *
 * quick: -DVERSIONS=1
 * small: -DVERSIONS=2
 * full:  -DVERSIONS=3
 * mutant NO_WRITER_FENCE   no release fence behind the odd number
 * mutant END_RELAXED       the even number is stored without release
 * mutant BEGIN_RELAXED     the reader's first load is no acquire
 * mutant NO_READER_FENCE   no acquire fence before the reader's second load
 * mutant NO_ODD            the writer leaves the number even while it writes
 * mutant NO_REPAIR_FREE    a half written slot is made readable as it is
 */
#define M_SEQ  0
#define M_WORD 1
#define PLACES 3
#define BUFFER 5
#include "weak.h"

#ifdef END_RELAXED
#define END_RELEASE false
#else
#define END_RELEASE true
#endif
#ifdef BEGIN_RELAXED
#define MAY_COPY true
#else
#define MAY_COPY have_seq
#endif
#ifdef NO_READER_FENCE
#define MAY_END have_seq
#else
#define MAY_END (have_seq && have_a && have_b)
#endif

bool dying;

/* Word 0 is the version or, as board_repair leaves it, 0: a free slot. */
active proctype master()
{
	byte version, seq;

	{
		do
		:: version < VERSIONS ->
			version++;
#ifndef NO_ODD
			store(M_SEQ, seq + 1, false);
#endif
#ifndef NO_WRITER_FENCE
			fence_release();
#endif
			store(M_WORD, version, false);
			store(M_WORD + 1, version, false);
			seq = seq + 2;
			store(M_SEQ, seq, END_RELEASE)
		:: break
		od
	} unless {
		dying
	};
	/* the successor */
	sb_used == 0;
	if
	:: mem[M_SEQ] % 2 == 1 ->
		seq = mem[M_SEQ];
#ifndef NO_REPAIR_FREE
		store(M_WORD, 0, false);
#endif
		store(M_SEQ, seq + 1, true)
	:: else
	fi
}

active proctype killer()
{
	if
	:: dying = true
	:: skip
	fi
}

active proctype reader()
{
	byte seq, a, b, again;
	bool have_seq, have_a, have_b, have_again;

	do
	:: atomic { !have_seq -> seq = mem[M_SEQ]; have_seq = true }
	:: atomic { !have_a && MAY_COPY -> a = mem[M_WORD]; have_a = true }
	:: atomic { !have_b && MAY_COPY -> b = mem[M_WORD + 1]; have_b = true }
	:: atomic { !have_again && MAY_END ->
		again = mem[M_SEQ]; have_again = true }
	:: have_seq && have_a && have_b && have_again -> break
	od;
	assert(seq % 2 == 1 || again != seq || a == 0 || a == b)
}
