/* SPDX-License-Identifier: MIT */
/*
 * A ring's bytes, from its writer to a reader of another process, in memory
 * that reorders (weak.h): what ring_read returns is what was written there,
 * though the tail region is overwritten meanwhile.
 *
 * Models shm/ring_writer.c: step_announce, the kernel's copy, ring_publish; and
 * shm/ring_reader.c: pump_read, seat, copy_out, trim (ring_read), one byte at a
 * cursor. Scaled: no head region, 3 bytes of tail region, 2 bytes a splice.
 *
 * quick: -DBYTES=3
 * small: -DBYTES=4
 * full:  -DBYTES=6
 * mutant NO_WRITER_FENCE   no release fence between reserve and data
 * mutant HEAD_RELAXED      head is published without release
 * mutant NO_FIRST_FENCE    the reader's head is not acquired
 * mutant NO_SECOND_FENCE   no acquire fence between copy and reserve
 * mutant NO_RESERVE        the reader does not look again
 * mutant LATE_RESERVE      reserve is stored after the data
 */
#define CAP    3           /* ring_tail_cap() */
#define M_HEAD 0
#define M_RESERVE 1
#define M_DATA 2
#define PLACES (M_DATA + CAP)
#define BUFFER 5
#include "weak.h"

#define OLDEST(r) ((r) <= CAP -> 0 : (r) - CAP)
#ifdef HEAD_RELAXED
#define HEAD_RELEASE false
#else
#define HEAD_RELEASE true
#endif
#ifdef NO_FIRST_FENCE
#define MAY_COPY true
#else
#define MAY_COPY (have_head && have_reserve)
#endif
#ifdef NO_SECOND_FENCE
#define MAY_LOOK_AGAIN (have_head && have_reserve)
#else
#define MAY_LOOK_AGAIN (have_head && have_reserve && have_copy)
#endif

active proctype writer()
{
	byte pos, size, n;

	do
	:: pos == BYTES -> break
	:: pos < BYTES ->
		if
		:: size = 1
		:: pos + 2 <= BYTES -> size = 2
		fi;
#ifndef LATE_RESERVE
		store(M_RESERVE, pos + size, false);
#endif
#ifndef NO_WRITER_FENCE
		fence_release();
#endif
		/* splice: all of it, or a part */
		n = 0;
		do
		:: n < size -> store(M_DATA + (pos + n) % CAP, pos + n + 1,
		    false); n++
		:: n > 0 -> break
		od;
		pos = pos + n;
#ifdef LATE_RESERVE
		store(M_RESERVE, pos, true);
#endif
		store(M_HEAD, pos, HEAD_RELEASE);
		store(M_RESERVE, pos, true)
	od
}

active proctype reader()
{
	byte cursor, head, reserve, copy, now;
	bool have_head, have_reserve, have_copy, have_now;

	do
	:: cursor < BYTES - 1 -> cursor++
	:: break
	od;
	do
	:: !have_head -> atomic { head = mem[M_HEAD]; have_head = true }
	:: !have_reserve ->
		atomic { reserve = mem[M_RESERVE]; have_reserve = true }
	:: !have_copy && MAY_COPY ->
		atomic { copy = mem[M_DATA + cursor % CAP]; have_copy = true }
	:: !have_now && MAY_LOOK_AGAIN ->
		atomic { now = mem[M_RESERVE]; have_now = true }
	:: have_head && have_reserve && have_copy && have_now -> break
	od;
#ifdef NO_RESERVE
	now = reserve;
#endif
	if
	:: cursor < head && cursor >= OLDEST(reserve) &&
	    cursor >= OLDEST(now) ->
		assert(copy == cursor + 1)
	:: else
	fi
}
