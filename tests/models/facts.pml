/* SPDX-License-Identifier: MIT */
/*
 * A ring's segment log, copied by a reader of another process while its writer
 * goes on, in memory that reorders (weak.h): whoever is told in which segment a
 * byte lies, and with that whose it is and when it came, is told the truth, or
 * that nobody knows any more; and while nothing was overwritten, somebody does.
 *
 * That seg_count is stored with release makes no difference here: the copy is
 * one pread, whose loads have no order among each other. What holds are the
 * fences, head, and the recount.
 *
 * Models shm/ring_writer.c: step_announce, ring_attribute, ring_publish; and
 * shm/ring_reader.c: page_read with page_segments_reach and page_cut_segments,
 * ring_stream_at. Scaled: the log has 2 entries, a splice moves 1 byte. Whether
 * it extends the last segment or begins one is chosen freely.
 *
 * quick: -DBYTES=3 -DLOG=2 -DEXTEND=false
 * small: -DBYTES=4 -DLOG=3 -DEXTEND=false
 * full:  -DBYTES=5 -DLOG=3 -DEXTEND=false
 * full:  -DBYTES=4 -DLOG=2 -DEXTEND=true
 * mutant ONE_COPY          head and seg_count are taken from the copy itself
 * mutant NO_CUT            entries that may be half written stay in the copy
 * mutant NO_REACH          the copy's last segment need not reach its head
 * mutant NO_READER_FENCE   no acquire fence between the copy and the recount
 * mutant NO_WRITER_FENCE   no release fence in step_announce
 */
#define M_HEAD  0
#define M_COUNT 1
#define M_VALUE 2           /* where it ends; 0: never written */
#define M_TIME  (M_VALUE + LOG)
#define PLACES  (M_TIME + LOG)
#define BUFFER 4
#include "weak.h"

#define CUT 255
#if LOG == 3
#define ALSO (have[6] && have[7])
#else
#define ALSO true
#endif
#ifdef ONE_COPY
#define MAY_COPY true
#else
#define MAY_COPY (have[0] && have[1])
#endif
#ifdef NO_READER_FENCE
#define MAY_RECOUNT MAY_COPY
#else
#define MAY_RECOUNT (all)
#endif

/* what is true: in which entry the n-th byte lies, counted from 1 */
byte entry[BYTES];

/* An entry's time is its number, counted from 1: it names its entry. */
active proctype writer()
{
	byte pos, count;

	do
	:: pos == BYTES -> break
	:: pos < BYTES ->
#ifndef NO_WRITER_FENCE
		fence_release();
#endif
		if
		:: count > 0 && EXTEND ->
			entry[pos] = count;
			store(M_VALUE + (count - 1) % LOG, pos + 1, false)
		:: true ->
			entry[pos] = count + 1;
			store(M_TIME + count % LOG, count + 1, false);
			store(M_VALUE + count % LOG, pos + 1, false);
			count++;
			store(M_COUNT, count, true)
		fi;
		pos++;
		store(M_HEAD, pos, true)
	od
}

active proctype reader()
{
	byte head, count, value[LOG], time[LOG], now_head, now_count;
	byte p, i, n, end, stamp, stale;
	bool have[2 + 2 * LOG], all, have_now_head, have_now_count, known;

	do
	:: atomic { !have[0] -> head = mem[M_HEAD]; have[0] = true }
	:: atomic { !have[1] -> count = mem[M_COUNT]; have[1] = true }
	:: atomic { MAY_COPY && !have[2] -> value[0] = mem[M_VALUE]; have[2] = true }
	:: atomic { MAY_COPY && !have[3] -> value[1] = mem[M_VALUE + 1]; have[3] = true }
	:: atomic { MAY_COPY && !have[4] -> time[0] = mem[M_TIME]; have[4] = true }
	:: atomic { MAY_COPY && !have[5] -> time[1] = mem[M_TIME + 1]; have[5] = true }
#if LOG == 3
	:: atomic { MAY_COPY && !have[6] -> value[2] = mem[M_VALUE + 2]; have[6] = true }
	:: atomic { MAY_COPY && !have[7] -> time[2] = mem[M_TIME + 2]; have[7] = true }
#endif
	:: atomic { !all && have[0] && have[1] && have[2] && have[3] &&
	    have[4] && have[5] && ALSO
	    -> all = true }
	:: atomic { MAY_RECOUNT && !have_now_head ->
		now_head = mem[M_HEAD]; have_now_head = true }
	:: atomic { MAY_RECOUNT && !have_now_count ->
		now_count = mem[M_COUNT]; have_now_count = true }
	:: all && have_now_head && have_now_count -> break
	od;
	skip;
	d_step {
		/* torn: the caller tries again */
		known = now_head >= head && now_count >= count;
#ifndef NO_REACH
		if
		:: count == 0 -> known = known && head == 0
		:: else -> known = known && value[(count - 1) % LOG] >= head
		fi;
#endif
#ifndef NO_CUT
		if
		:: now_count + 1 > LOG ->
			stale = now_count + 1 - LOG;
			n = (count > LOG -> count - LOG : 0);
			do
			:: n < stale && n < count -> value[n % LOG] = CUT; n++
			:: else -> break
			od
		:: else
		fi;
#endif
		n = 0;
		/* ring_stream_at for each byte; stamp 0: mixed */
		do
		:: !known || p == head -> break
		:: else ->
			end = CUT; stamp = 0; i = 0; n = 0;
			do
			:: i == LOG || i == count -> break
			:: else ->
				if
				:: value[(count - 1 - i) % LOG] == CUT ||
				    value[(count - 1 - i) % LOG] >= end ->
					break
				:: else
				fi;
				if
				:: value[(count - 1 - i) % LOG] <= p ->
					n = 1; break
				:: else
				fi;
				end = value[(count - 1 - i) % LOG];
				stamp = time[(count - 1 - i) % LOG];
				i++
			od;
			if
			:: i == count -> n = 1
			:: else
			fi;
			assert(n == 0 || stamp == 0 || stamp == entry[p]);
			assert(now_count + 1 > LOG || (n == 1 && stamp != 0));
			p++
		od;
		p = 0
	}
}
