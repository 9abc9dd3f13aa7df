/* SPDX-License-Identifier: MIT */
/*
 * Memory between two processes as weakly ordered processors have it, for the
 * models of what a writer publishes: included by them.
 *
 * A store goes into a buffer and reaches memory when it likes, with three
 * bounds: stores to one place keep their order; a store behind a release fence
 * waits for all before the fence; a release store waits for all before it (but
 * a later one may overtake it). A reader's loads happen in any order but for
 * its acquire fences, which the readers' own loops say. That is weaker than
 * x86, and what C11 leaves to a compiler and arm64 does with relaxed atomics.
 *
 * The including file defines PLACES, the number of memory places, and BUFFER, how
 * many stores may be under way (up to 8): at least those between two fences.
 */

byte mem[PLACES];
byte sb_place[BUFFER], sb_value[BUFFER], sb_epoch[BUFFER];
bool sb_release[BUFFER];
byte sb_used, epoch;

inline store(place_, value_, release_)
{
	atomic {
		sb_used < BUFFER ->
		sb_place[sb_used] = place_;
		sb_value[sb_used] = value_;
		sb_release[sb_used] = release_;
		sb_epoch[sb_used] = epoch;
		sb_used++
	}
}

inline fence_release()
{
	epoch++
}

/* Must entry i wait for entry j before it? */
#define WAITS(i, j) (sb_place[i] == sb_place[j] || sb_release[i] || \
	sb_epoch[i] > sb_epoch[j])
#define MAY1 (!WAITS(1, 0))
#define MAY2 (!WAITS(2, 0) && !WAITS(2, 1))
#define MAY3 (!WAITS(3, 0) && !WAITS(3, 1) && !WAITS(3, 2))
#define MAY4 (!WAITS(4, 0) && !WAITS(4, 1) && !WAITS(4, 2) && !WAITS(4, 3))
#define MAY5 (!WAITS(5, 0) && !WAITS(5, 1) && !WAITS(5, 2) && \
	!WAITS(5, 3) && !WAITS(5, 4))
#define MAY6 (!WAITS(6, 0) && !WAITS(6, 1) && !WAITS(6, 2) && \
	!WAITS(6, 3) && !WAITS(6, 4) && !WAITS(6, 5))
#define MAY7 (!WAITS(7, 0) && !WAITS(7, 1) && !WAITS(7, 2) && \
	!WAITS(7, 3) && !WAITS(7, 4) && !WAITS(7, 5) && !WAITS(7, 6))

inline land(n_)
{
	d_step {
		mem[sb_place[n_]] = sb_value[n_];
		at = n_;
		do
		:: at + 1 < sb_used ->
			sb_place[at] = sb_place[at + 1];
			sb_value[at] = sb_value[at + 1];
			sb_release[at] = sb_release[at + 1];
			sb_epoch[at] = sb_epoch[at + 1];
			at++
		:: else -> break
		od;
		sb_used--;
		sb_place[sb_used] = 0;
		sb_value[sb_used] = 0;
		sb_release[sb_used] = false;
		sb_epoch[sb_used] = 0;
		at = 0;
		if
		:: sb_used == 0 -> epoch = 0
		:: else
		fi
	}
}

active proctype memory()
{
	byte at;

end:	do
	:: atomic { sb_used > 0 -> land(0) }
	:: atomic { sb_used > 1 && MAY1 -> land(1) }
	:: atomic { sb_used > 2 && MAY2 -> land(2) }
	:: atomic { sb_used > 3 && MAY3 -> land(3) }
#if BUFFER > 4
	:: atomic { sb_used > 4 && MAY4 -> land(4) }
#endif
#if BUFFER > 5
	:: atomic { sb_used > 5 && MAY5 -> land(5) }
#endif
#if BUFFER > 6
	:: atomic { sb_used > 6 && MAY6 -> land(6) }
#endif
#if BUFFER > 7
	:: atomic { sb_used > 7 && MAY7 -> land(7) }
#endif
	od
}
