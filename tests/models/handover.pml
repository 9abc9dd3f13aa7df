/* SPDX-License-Identifier: MIT */
/*
 * The hand-over: a session that runs, workers and master killed at any moment,
 * the heir included. At each moment at most one living worker has the session;
 * the master never ends it as lost while the keeper knows of it, and never
 * believes in another worker for good; in the end its end is in the index and
 * in nobody's hands any more.
 *
 * Models the keeper: procs_died, finish_death, succeed, heir_of, hand_over,
 * link_peer (keeper/links.c), send_worker, send_first_down, send_dump,
 * send_master, send_down (keeper/send.c), on_ready, on_closed (keeper/recv.c);
 * the worker: on_peer (recv.c), start_take_over (take.c), taking_ends
 * (worker.c), child_fail, child_end, child_committed (child.c); the master: the
 * moves of custody.c (by its own table, custody_table.h),
 * recover_on_held, recover_step, recover_down (recover.c), pool_on_peer,
 * pool_on_down (pool.c), session_on_running, session_on_failed, session_on_end
 * (session/recv.c).
 * One handler is one step, and so is one message; what is not committed when a
 * master dies was not done. The keeper does not die here, and the command was
 * started already (start.pml). Channels do not fill up. An heir may find that it
 * cannot take the session over (FAILS): then the command is killed, and that is
 * its end.
 *
 * quick: -DKILLS=1 -DMASTERS=0 -DFAILS=1
 * small: -DKILLS=1 -DMASTERS=0 -DFAILS=1
 * full:  -DKILLS=1 -DMASTERS=1 -DFAILS=1
 * full:  -DKILLS=2 -DMASTERS=0 -DFAILS=1
 * mutant NO_CONFIRM       the keeper hands over from a worker that only hangs
 * mutant ONE_HEIR         a row that was handed over once is not again
 *     [-DKILLS=2 -DMASTERS=0 -DFAILS=0]
 * mutant LAST_WORDS       a word of the past takes the session back
 *     [-DKILLS=1 -DMASTERS=1 -DFAILS=0]
 * mutant NO_TURN          a hand-over has no number of its own
 * mutant CLOSED_FIRST     who cannot take it over says CLOSED before ENDED
 * mutant NO_SAY_AGAIN     a worker says END once, whoever listened
 *     [-DKILLS=1 -DMASTERS=1 -DFAILS=0]
 */
#define SLOTS 2
#define LINKS (4 + KILLS + 2 * MASTERS)

#include "custody_table.h"

mtype = { NONE, STARTING, READY, DYING,            /* of processes */
    PEER, GIVE, CLOSED, HELD, DOWN, TABLE_END,     /* messages */
    RUNNING, END, FAILED, DUMP_END, ENDED, WAIT, ROWS, DONE };

/* --- what is true */
bool alive[SLOTS], master_alive;
byte kills = KILLS, masters = MASTERS, fails = FAILS;
chan to_keeper[SLOTS] = [4] of { mtype, byte };
chan to_worker[SLOTS] = [8] of { mtype, byte };
chan to_master = [12] of { mtype, byte, byte };
chan say[LINKS] = [6] of { mtype, bool, byte };    /* worker to master */
chan order[LINKS] = [4] of { mtype, byte };        /* master to worker */
bool cut[LINKS];                                   /* its master is dead */
byte next_link = 1;

/* --- the keeper's */
mtype state[SLOTS] = NONE, master_state = NONE, dump = WAIT;
byte gen[SLOTS], standby = 1;
byte master_fd[SLOTS];
bool linked[SLOTS];
bool row_used = true, row_give;
byte row_owner, row_prev, row_spawner, row_turn = 1;
byte downs[4], downs_count;
bool downs_whole[4];

/* --- the workers': 0 nothing, 1 running, 2 END is owed, 4 FAILED is */
byte has[SLOTS], link[SLOTS], turn[SLOTS];
bool unsaid[SLOTS]; /* that what was taken runs */
bool ring_exit, gone;      /* gone: killed, as it could not be taken over */

/* --- the index, and the master's memory */
bool live = true;
byte present[SLOTS], mlink[SLOTS];
bool dump_done[SLOTS], table_end, reconciled;
byte hand = CUSTODY_HAS;   /* the machine */
byte who, hand_turn = 1, answer, event;
bool owe[SLOTS];
byte owe_turn[SLOTS];

#define WID(slot) (gen[slot] * SLOTS + (slot) + 1)
#define SLOT_OF(wid) (((wid) - 1) % SLOTS)
#define ALIVE_(slot) (state[slot] == STARTING || state[slot] == READY)

/* ------------------------------------------------------------- the keeper */

inline unlink_peer(n)
{
	master_fd[n] = 0;
	linked[n] = false
}

inline finish_death(n)
{
	d_step {
		state[n] = NONE;
		do
		:: nempty(to_worker[n]) -> to_worker[n]?_, _
		:: empty(to_worker[n]) -> break
		od;
		unlink_peer(n);
		h = n;
		if
		:: n != standby && state[standby] != NONE &&
		    state[standby] != DYING ->
			h = standby;
			standby = n
		:: else
		fi;
#ifdef ONE_HEIR
		if
		:: row_used && row_owner == n && row_prev == 0 ->
#else
		if
		:: row_used && row_owner == n ->
#endif
			row_give = true;
			row_prev = WID(n);
#ifndef NO_TURN
			row_turn++;
#endif
			row_owner = h
		:: else
		fi;
		if
		:: dump != WAIT ->
			downs_whole[downs_count] = downs_count > 0;
			downs[downs_count] = WID(n);
			downs_count++
		:: else
		fi;
		h = 0
	}
}

/* All channels to a master end with it. */
inline cut_all()
{
	h = 1;
	do
	:: h < next_link ->
		cut[h] = true;
		do
		:: nempty(say[h]) -> say[h]?_, _, _
		:: empty(say[h]) -> break
		od;
		do
		:: nempty(order[h]) -> order[h]?_, _
		:: empty(order[h]) -> break
		od;
		h++
	:: else -> break
	od;
	h = 0
}

/* next_of: who has the row, though it may have to be started first. */
#define NEXT (WID(row_owner) + \
	(WID(row_owner) == row_prev -> SLOTS : 0))

inline send_first_down()
{
	d_step {
		if
		:: row_used && (row_prev == downs[0] ||
		    row_spawner == downs[0] || downs_whole[0] ||
		    downs_count > 1) ->
			to_master!HELD, NEXT, row_turn
		:: else
		fi;
		to_master!DOWN, downs[0], 0;
		h = 0;
		do
		:: h + 1 < downs_count ->
			downs[h] = downs[h + 1];
			downs_whole[h] = downs_whole[h + 1];
			h++
		:: else -> break
		od;
		downs_count--;
		downs[downs_count] = 0;
		downs_whole[downs_count] = false;
		h = 0
	}
}

#define DEATH_PENDING (state[0] == DYING || state[1] == DYING)
#define MASTER_HEARS (master_state == READY && !(dump == WAIT && \
	DEATH_PENDING))

proctype keeper_slot(byte n)
{
	byte h, t;

end:	do
	/* on_ready, on_closed */
	:: atomic { to_keeper[n]?[READY, _] -> to_keeper[n]?READY, _;
		if
		:: state[n] == STARTING -> state[n] = READY
		:: else
		fi }
	:: atomic { to_keeper[n]?[CLOSED, _] -> to_keeper[n]?CLOSED, t;
		assert(row_used && row_owner == n && row_turn == t);
		row_used = false; row_give = false; t = 0 }
	/* procs_died: pidfd readable; run_due: channel at EOF */
	:: atomic { !alive[n] && ALIVE_(n) -> state[n] = DYING }
	:: atomic { state[n] == DYING && empty(to_keeper[n]) ->
		finish_death(n) }
#ifdef NO_CONFIRM
	:: atomic { kills > 0 && state[n] == READY && has[n] == 1 ->
		kills--; finish_death(n); state[n] = READY }
#endif
	:: atomic { state[n] == NONE ->
		gen[n]++; state[n] = STARTING; alive[n] = true;
		to_keeper[n]!READY, 0 }
	/* link_peer, send_worker */
	:: atomic { state[n] == READY && master_state == READY && !linked[n] ->
		linked[n] = true;
		master_fd[n] = next_link; to_worker[n]!PEER, next_link;
		next_link++ }
	:: atomic { state[n] == READY && linked[n] == (master_state == READY) &&
	    row_used && row_give && row_owner == n ->
		to_worker[n]!GIVE, row_turn; row_give = false }
	/* send_about */
	:: atomic { MASTER_HEARS && downs_count == 0 && master_fd[n] > 0 ->
		if
		:: dump == WAIT -> dump = ROWS
		:: else
		fi;
		to_master!PEER, WID(n), master_fd[n]; master_fd[n] = 0 }
	od
}

proctype keeper()
{
	byte h;

end:	do
	/* send_first_down, send_dump */
	:: atomic { MASTER_HEARS && downs_count > 0 -> send_first_down() }
	:: atomic { MASTER_HEARS && downs_count == 0 && dump != DONE &&
	    master_fd[0] == 0 && master_fd[1] == 0 && !DEATH_PENDING &&
	    (linked[0] || state[0] != READY) &&
	    (linked[1] || state[1] != READY) ->
		if
		:: row_used -> to_master!HELD, NEXT, row_turn
		:: else
		fi;
		to_master!TABLE_END, 0, 0; dump = DONE }
	/* the master: dead, and started again; it reads the index */
	:: atomic { master_state == READY && !master_alive ->
		d_step {
			master_state = NONE; dump = WAIT;
			downs_count = 0;
			unlink_peer(0); unlink_peer(1);
			cut_all();
			do
			:: nempty(to_master) -> to_master?_, _, _
			:: empty(to_master) -> break
			od;
			h = 0
		} }
	:: atomic { master_state == NONE ->
		master_state = READY; master_alive = true; hand_turn = 1;
		hand = (live -> CUSTODY_UNKNOWN : CUSTODY_NOBODY) }
	od
}

/* ------------------------------------------------------------ the workers */

inline tell(n, what)
{
	if
	:: link[n] > 0 && !cut[link[n]] ->
		say[link[n]]!what, ring_exit, turn[n]
	:: else
	fi
}

inline say_it(n)
{
	if
	:: unsaid[n] -> unsaid[n] = false; tell(n, RUNNING)
	:: else
	fi
}

proctype worker(byte n)
{
	byte l, t;

end:	do
	/* start_take_over; what the ring says of the exit comes with it */
	:: atomic { alive[n] && to_worker[n]?[GIVE, _] ->
		to_worker[n]?GIVE, turn[n];
		assert(has[n] == 0);
		assert(!(alive[1 - n] && has[1 - n] > 0));
		if
		:: has[n] = 1; unsaid[n] = true
		:: fails > 0 || gone ->
			fails = (gone -> fails : fails - 1);
			gone = true; has[n] = 4; tell(n, FAILED);
#ifdef CLOSED_FIRST
			to_keeper[n]!CLOSED, turn[n]
#endif
		fi }
	/* taking_ends */
	:: atomic { alive[n] && unsaid[n] -> say_it(n) }
	/* on_peer */
	:: atomic { alive[n] && to_worker[n]?[PEER, _] ->
		to_worker[n]?PEER, l;
		link[n] = (cut[l] -> 0 : l);
		unsaid[n] = false;
		if
		:: has[n] == 1 || has[n] == 2 -> tell(n, RUNNING)
		:: has[n] == 4 -> tell(n, FAILED)
		:: else
		fi;
#ifndef NO_SAY_AGAIN
		if
		:: has[n] == 2 -> tell(n, END)
		:: else
		fi;
#endif
		tell(n, DUMP_END); l = 0 }
	/* child_exited, exit_record, child_end */
	:: atomic { alive[n] && has[n] == 1 ->
		assert(!(alive[1 - n] && has[1 - n] > 0));
		say_it(n);
		ring_exit = true; has[n] = 2; tell(n, END) }
	/* child_committed, child_close */
	:: atomic { alive[n] && link[n] > 0 && order[link[n]]?[ENDED, _] ->
		order[link[n]]?ENDED, t;
		if
		:: t == turn[n] && has[n] == 2 ->
			to_keeper[n]!CLOSED, t; has[n] = 0
#ifdef CLOSED_FIRST
		:: t == turn[n] && has[n] == 4 -> has[n] = 0
#else
		:: t == turn[n] && has[n] == 4 ->
			to_keeper[n]!CLOSED, t; has[n] = 0
#endif
		:: else -> assert(has[n] != 1 || ring_exit || gone)
		fi;
		t = 0 }
	od
}

/* ------------------------------------------------------------- the master */

inline forget_link(n)
{
	if
	:: mlink[n] > 0 ->
		do
		:: nempty(say[mlink[n]]) -> say[mlink[n]]?_, _, _
		:: empty(say[mlink[n]]) -> break
		od;
		cut[mlink[n]] = true;
		mlink[n] = 0
	:: else
	fi
}

#ifdef LAST_WORDS
#define BY_TURN(first, t) ((t) <= hand_turn -> first + 1 : first + 2)
#else
#define BY_TURN(first, t) ((t) < hand_turn -> first : \
	((t) == hand_turn -> first + 1 : first + 2))
#endif

inline owe_ended(w, t)
{
	owe[SLOT_OF(w)] = true;
	owe_turn[SLOT_OF(w)] = t
}

/* custody_word; ENDED where it is over */
inline word(w, t)
{
	if
	:: !live -> owe_ended(w, t)
	:: live ->
		event = BY_TURN(CUSTODY_WORD_PAST, t);
		custody_move(w, t);
		mine = answer == CUSTODY_COUNTS; answer = 0
	fi
}

inline recover_step()
{
	if
	:: !reconciled && table_end &&
	    (present[0] == 0 || mlink[0] == 0 || dump_done[0]) &&
	    (present[1] == 0 || mlink[1] == 0 || dump_done[1]) ->
		reconciled = true;
		event = CUSTODY_SETTLED;
		custody_move(0, hand_turn);
		assert(answer != CUSTODY_ORPHAN || !live); answer = 0
	:: else
	fi
}

/* One message of the worker in slot n. */
inline heard(n)
{
	say[mlink[n]]?what, over, t;
	w = present[n];
	if
	:: what == DUMP_END -> dump_done[n] = true; recover_step()
	:: what == RUNNING ->
		/* one that lives would be killed as a stray */
		assert(live || over || gone || !alive[n] || WID(n) != w);
		word(w, t)
	:: what == FAILED || what == END ->
		word(w, t);
		if
		:: live && (mine || what == END) ->
			live = false; hand = CUSTODY_NOBODY; owe_ended(w, t)
		:: live && !mine && what == FAILED -> owe_ended(w, t)
		:: else
		fi
	fi;
	what = 0; over = false; w = 0; mine = false; t = 0
}

proctype master_slot(byte n)
{
	mtype what;
	bool over, mine;
	byte w, t;

end:	do
	:: atomic { master_alive && mlink[n] > 0 && nempty(say[mlink[n]]) ->
		d_step { heard(n) } }
	/* after the commit */
	:: atomic { master_alive && owe[n] ->
		owe[n] = false;
		if
		:: mlink[n] > 0 -> order[mlink[n]]!ENDED, owe_turn[n]
		:: else
		fi }
	od
}

proctype master()
{
	mtype what;
	bool over, mine;
	byte a, b, w, s, t;

end:	do
	:: atomic { master_alive && to_master?[PEER, _, _] ->
		d_step {
			to_master?PEER, a, b;
			s = SLOT_OF(a);
			forget_link(s);
			present[s] = a; mlink[s] = b; dump_done[s] = false;
			a = 0; b = 0; s = 0
		} }
	/* recover_on_held */
	:: atomic { master_alive && to_master?[HELD, _, _] ->
		d_step {
			to_master?HELD, a, b;
			if
			:: live ->
				event = BY_TURN(CUSTODY_ROW_PAST, b);
				custody_move(a, b); answer = 0
			:: else
			fi;
			a = 0; b = 0; w = 0
		} }
	/* pool_on_down */
	:: atomic { master_alive && to_master?[DOWN, _, _] ->
		d_step {
			to_master?DOWN, a, b;
			s = SLOT_OF(a);
			if
			:: present[s] == a ->
				do
				:: mlink[s] > 0 && len(say[mlink[s]]) > 0 ->
					heard(s)
				:: mlink[s] == 0 || len(say[mlink[s]]) == 0 ->
					break
				od;
				w = 0;
				forget_link(s);
				present[s] = 0
			:: else
			fi;
			/* it would be ended as lost, or started again */
			if
			:: live && ((hand == CUSTODY_HAS && who == a) ||
			    (hand == CUSTODY_EXPECT && who <= a &&
			    SLOT_OF(who) == SLOT_OF(a))) ->
				event = CUSTODY_DOWN;
				custody_move(0, hand_turn);
				assert(answer == CUSTODY_PAST)
			:: else
			fi;
			recover_step();
			a = 0; b = 0; s = 0
		} }
	:: atomic { master_alive && to_master?[TABLE_END, _, _] ->
		d_step {
			to_master?TABLE_END, a, b;
			table_end = true;
			recover_step();
			a = 0; b = 0
		} }
	od
}

/* -------------------------------------------------------------- the world */

inline kill_master()
{
	d_step {
		masters--;
		master_alive = false;
		table_end = false; reconciled = false;
		hand = CUSTODY_NOBODY; who = 0; hand_turn = 0;
		h = 0;
		do
		:: h < SLOTS ->
			present[h] = 0; mlink[h] = 0; dump_done[h] = false;
			owe[h] = false; owe_turn[h] = 0; link[h] = 0; h++
		:: else -> break
		od;
		cut_all()
	}
}

inline kill_worker(n)
{
	d_step {
		kills--;
		alive[n] = false; has[n] = 0; link[n] = 0; unsaid[n] = false;
		turn[n] = 0
	}
}

proctype fate()
{
	byte h;

	do
	:: atomic { kills > 0 && alive[0] -> kill_worker(0) }
	:: atomic { kills > 0 && alive[1] -> kill_worker(1) }
	:: atomic { masters > 0 && master_alive -> kill_master() }
	:: break
	od
}

/* When the story begins all is well: both workers run and are linked with the
 * master, which has the first one's word that the command runs. */
init
{
	d_step {
		gen[0] = 1; gen[1] = 1;
		state[0] = READY; state[1] = READY;
		alive[0] = true; alive[1] = true;
		has[0] = 1;
		row_spawner = WID(0);
		master_state = READY; master_alive = true; dump = DONE;
		linked[0] = true; linked[1] = true;
		link[0] = 1; link[1] = 2; mlink[0] = 1; mlink[1] = 2;
		next_link = 3;
		present[0] = WID(0); present[1] = WID(1);
		dump_done[0] = true; dump_done[1] = true;
		table_end = true; reconciled = true;
		who = WID(0); turn[0] = 1
	}
	atomic {
		run keeper(); run keeper_slot(0); run keeper_slot(1);
		run worker(0); run worker(1);
		run master(); run master_slot(0); run master_slot(1);
		run fate()
	}
	/* nothing moves any more: it must be over, everywhere */
	timeout;
	assert(!live && !row_used && has[0] == 0 && has[1] == 0)
}
