/* SPDX-License-Identifier: MIT */
/*
 * One start: an exec with a request key, repeated whenever its answer was lost;
 * a master and two workers killed between any two steps, a start that a worker
 * gives up or back; with or without a wait in a lane. The command is never cloned
 * twice, no two workers have it, and once the client has an answer it runs and
 * everybody knows who has it.
 *
 * Models the master: api_exec with exec_known and exec_attach (api/exec.c),
 * session_admit, session_pump_lanes, session_again (session/session.c), the moves
 * of custody.c (their table is the product's own: custody_table.h is made of it),
 * session_on_running, session_on_failed (session/recv.c), starts_pump
 * (gate/starts.c), pool_on_peer, pool_on_down (pool.c), pool_turn_end
 * (pool_orders.c), commit, then send (commit.c), recover_scan, recover_on_held,
 * recover_step (recover.c); the worker: on_start, hold, clone_command, not_started,
 * started (start.c), child_tell, child_main (spawn.c), child_give_back, child_fail,
 * child_replace, child_committed (child.c), on_peer (recv.c), keeper_has_heard
 * (link.c), start_take_over (take.c); the keeper: on_hold, on_spawned, on_closed
 * (keeper/recv.c), pids_read (keeper/pids.c), procs_died, finish_death, hand_over
 * (keeper/procs.c), send_master (keeper/send.c).
 *
 * HEADER: the kernel writes the pid into the ring's header in the clone, and the
 * worker goes on; without, the child says SPAWNED, its worker is held meanwhile,
 * and the keeper waits until its channel is closed. A channel is never full. That
 * a child does not get to its exec (DRAIN_NS), the bound on restarts
 * (MASTER_RESTARTS) and what fails after it ran (handover.pml) are not here.
 * NO_LANE: it never waits in one. Two deaths, or a master's death and a start given
 * up, in one search are too many states for a full run: the simulation draws from
 * those orders (tests/sim). LAST_WORDS (below) goes wrong with -DMASTERS=1 -DFAILS=1;
 * NO_DEATH_WAIT and OLD_FAILED were not searched to an end. NO_MOVE_... are moves of
 * custody's table.
 *
 * quick: -DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0
 * small: -DKILLS=0 -DMASTERS=1 -DFAILS=0 -DLOST=0
 * full:  -DKILLS=1 -DMASTERS=0 -DFAILS=1 -DLOST=0
 * full:  -DKILLS=1 -DMASTERS=0 -DFAILS=1 -DLOST=0 -DHEADER
 * full:  -DKILLS=0 -DMASTERS=1 -DFAILS=0 -DLOST=0
 * mutant NO_KEY          a repeated key is a new request
 *     [-DKILLS=0 -DMASTERS=0 -DFAILS=0 -DLOST=1]
 * mutant NO_EOF          a dead worker's channel is read until it is empty only
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 * mutant TELL_AFTER_EXEC the child tells the keeper once it runs
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 * mutant SEND_FIRST      orders and answers leave before the commit
 * mutant NO_RECORD       the record is written when the command runs
 * mutant NO_AGAIN        who never ran is not started again
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 * mutant NO_DUMP_WAIT    a new master decides before its workers have spoken
 * mutant NO_TABLE_WAIT   a new master decides before it has the keeper's table
 * mutant NO_LINK_WAIT    it gets the table before its channels to the workers
 * mutant NO_REPLACE      HOLD of a later turn does not take the place of a row
 * mutant FAILED_FIRST    FAILED is said before the keeper is told CLOSED
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=1 -DLOST=0 -DHEADER]
 * mutant ROWS_LATER      a death is told before the rows that it moved
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 * mutant NO_MOVE_NOBODY_START     it is given to nobody
 * mutant NO_MOVE_UNKNOWN_WORD_NOW who has it is not heard by a new master
 * mutant NO_MOVE_UNKNOWN_SETTLED  a new master starts nothing again
 * mutant NO_MOVE_HAS_BACK         what is given back stays with who gave it
 * mutant NO_MOVE_GIVEN_WORD_NOW   who was given it is not heard
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 * mutant NO_MOVE_GIVEN_DOWN       a death before the first word changes nothing
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 * mutant NO_MOVE_HAS_ROW_LATER    a hand-over changes nothing
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 * mutant NO_MOVE_EXPECT_WORD_NOW  the heir is not heard
 *     [-DKILLS=1 -DMASTERS=0 -DFAILS=0 -DLOST=0]
 */
#define SLOTS 2
#define LINKS (3 + KILLS + 2 * MASTERS)

#include "custody_table.h"

mtype = { NONE, STARTING, READY, DYING, QUEUED, RUNNING, FAILED,
    HOLD, SPAWNED, CLOSED, PEER, GIVE, HELD, DOWN, TABLE_END, DUMP_END,
    START, ENDED, WAIT, ROWS, DONE, NOT, ORDER, CLONED };

/* --- what is true; pre: 1 cloned, 2 told, 3 exec'd */
byte kills = KILLS, masters = MASTERS, fails = FAILS, lost = LOST;
bool alive[SLOTS], master_alive, ring_pid;
byte pre, pre_by;
chan to_keeper[SLOTS] = [5] of { mtype, byte };
chan to_worker[SLOTS] = [4] of { mtype, byte };
chan to_master = [9] of { mtype, byte, byte };
chan say[LINKS] = [5] of { mtype, bool, byte };
chan order[LINKS] = [3] of { mtype, byte };
bool cut[LINKS];
byte next_link = 1;

/* --- the client: 0 asks, 1 asked, 2 the master has it, 3 answered */
byte request;
bool acked;

/* --- the keeper's */
mtype state[SLOTS] = NONE, master_state = NONE, dump = WAIT;
byte gen[SLOTS], standby = 1, master_fd[SLOTS];
bool linked[SLOTS];
bool row_used, row_pid, row_give;
byte row_owner, row_spawner, row_prev, row_turn;
byte downs[3], downs_count;
bool downs_whole[3];

/* --- the workers'; ORDER: read; HOLD: held; CLONED: before its exec */
mtype has[SLOTS] = NOT;
byte link[SLOTS], turn[SLOTS];
bool close_due[SLOTS];     /* CLOSED is still to leave */
bool failed_due[SLOTS];    /* FAILED, and behind it */
bool dump_due[SLOTS];

/* --- the index */
bool record;
mtype rec_life = NONE;
byte rec_attempt;

/* --- the master's memory; pc: 1 to be committed, 2 and 3 to be sent */
mtype life = NONE;
byte pc, attempt, hand = CUSTODY_NOBODY, who, hand_turn, answer, event;
byte present[SLOTS], mlink[SLOTS], staged[SLOTS], owe[SLOTS];
bool waits, dump_done[SLOTS], table_end, reconciled;

#define WID(slot) (gen[slot] * SLOTS + (slot) + 1)
#define SLOT_OF(wid) (((wid) - 1) % SLOTS)
#define ALIVE_(slot) (state[slot] == STARTING || state[slot] == READY)
/* a start has four numbers: itself and three hand-overs */
#define TURN_OF_START(n) ((n) * 4)

/* ------------------------------------------------------------- the keeper */

#define IN_CLONE(n) ((pre == 1 || pre == 2) && pre_by == WID(n))
#if defined(NO_EOF) || defined(HEADER)
#define SILENT(n) empty(to_keeper[n])
#else
#define SILENT(n) (empty(to_keeper[n]) && !IN_CLONE(n))
#endif

#ifdef HEADER
#define BLOCKED(n) false
#define READ_PID row_pid = row_pid || (row_used && ring_pid)
#define RING(pid) ring_pid = pid
#else
#define BLOCKED(n) IN_CLONE(n)
#define READ_PID skip
#define RING(pid) skip
#endif

#ifdef NO_LINK_WAIT
#define LINKED(n) true
#else
#define LINKED(n) (linked[n] || state[n] != READY)
#endif

#define DEATH_PENDING (state[0] == DYING || state[1] == DYING)
#ifdef NO_DEATH_WAIT
#define MASTER_HEARS (master_state == READY)
#define NONE_DYING true
#else
#define MASTER_HEARS (master_state == READY && !(dump == WAIT && \
	DEATH_PENDING))
#define NONE_DYING (!DEATH_PENDING)
#endif

inline unlink_peer(n)
{
	master_fd[n] = 0;
	linked[n] = false
}

inline row_drop()
{
	row_used = false; row_pid = false; row_give = false;
	row_owner = 0; row_spawner = 0; row_prev = 0; row_turn = 0
}

inline row_hold()
{
	row_used = true; row_pid = false; row_owner = n;
	row_spawner = WID(n); row_prev = 0; row_give = false; row_turn = t
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
		:: n != standby && ALIVE_(standby) -> h = standby; standby = n
		:: else
		fi;
		READ_PID;
		if
		:: row_used && row_owner == n && !row_pid -> row_drop()
		:: row_used && row_owner == n && row_pid ->
			row_give = true; row_prev = WID(n); row_turn++;
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
		h++
	:: else -> break
	od;
	h = 0
}

/* next_of: who has the row, though it may have to be started first. */
#define NEXT (WID(row_owner) + \
	(WID(row_owner) == row_prev -> SLOTS : 0))

inline tell_row(wanted)
{
	READ_PID;
	if
	:: row_used && row_pid && (wanted) -> to_master!HELD, NEXT, row_turn
	:: else
	fi
}

inline send_first_down()
{
	d_step {
#ifndef ROWS_LATER
		tell_row(row_prev == downs[0] || row_spawner == downs[0] ||
		    downs_whole[0] || downs_count > 1);
#endif
		to_master!DOWN, downs[0], 0;
#ifdef ROWS_LATER
		tell_row(row_prev == downs[0] || row_spawner == downs[0]);
#endif
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

proctype keeper_slot(byte n)
{
	byte h, t;

end:	do
	:: atomic { to_keeper[n]?[READY, _] -> to_keeper[n]?READY, _;
		if
		:: state[n] == STARTING -> state[n] = READY
		:: else
		fi }
	:: atomic { to_keeper[n]?[HOLD, _] -> to_keeper[n]?HOLD, t;
		/* is_replaced: nothing of the start before runs; one that was
		 * given back may come after its successor */
		if
#ifdef NO_REPLACE
		:: row_used
#else
		:: row_used && t < row_turn
		:: row_used && t > row_turn -> assert(!row_pid); row_hold()
#endif
		:: !row_used -> row_hold()
		fi;
		t = 0 }
	/* kill_unheld does not come to it */
	:: atomic { to_keeper[n]?[SPAWNED, _] -> to_keeper[n]?SPAWNED, _;
		assert(row_used && row_spawner == WID(n));
		row_pid = true }
	:: atomic { to_keeper[n]?[CLOSED, _] -> to_keeper[n]?CLOSED, t;
		if
		:: row_used && row_owner == n && row_turn == t ->
			row_drop()
		:: else
		fi;
		t = 0 }
	:: atomic { !alive[n] && ALIVE_(n) -> state[n] = DYING }
	:: atomic { state[n] == DYING && SILENT(n) -> finish_death(n) }
	:: atomic { state[n] == NONE ->
		gen[n]++; state[n] = STARTING; alive[n] = true;
		to_keeper[n]!READY, 0 }
	:: atomic { state[n] == READY && master_state == READY && !linked[n] ->
		linked[n] = true;
		master_fd[n] = next_link; to_worker[n]!PEER, next_link;
		next_link++ }
	:: atomic { state[n] == READY && linked[n] == (master_state == READY) &&
	    row_used && row_give && row_owner == n ->
		to_worker[n]!GIVE, row_turn; row_give = false }
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
	:: atomic { MASTER_HEARS && downs_count > 0 -> send_first_down() }
	:: atomic { MASTER_HEARS && downs_count == 0 && dump != DONE &&
	    master_fd[0] == 0 && master_fd[1] == 0 && NONE_DYING &&
	    LINKED(0) && LINKED(1) ->
		d_step { tell_row(true); to_master!TABLE_END, 0, 0; dump = DONE } }
	:: atomic { master_state == READY && !master_alive ->
		d_step {
			master_state = NONE; dump = WAIT; downs_count = 0;
			unlink_peer(0); unlink_peer(1);
			cut_all();
			do
			:: nempty(to_master) -> to_master?_, _, _
			:: empty(to_master) -> break
			od;
			h = 0
		} }
	/* recover_scan */
	:: atomic { master_state == NONE ->
		master_state = READY; master_alive = true;
		life = rec_life; attempt = rec_attempt;
		hand = (record && life != QUEUED -> CUSTODY_UNKNOWN :
		    CUSTODY_NOBODY);
		hand_turn = (record && life != QUEUED ->
		    TURN_OF_START(attempt + 1) : 0) }
	od
}

/* ----------------------------------------- the workers and what they clone */

inline tell(n, what)
{
	if
	:: link[n] > 0 && !cut[link[n]] ->
		say[link[n]]!what, (has[n] == CLONED), turn[n]
	:: else
	fi
}

/* child_fail(), of what never ran. CLOSED and FAILED leave in steps of their
 * own. */
inline fail(n)
{
	close_due[n] = has[n] == HOLD; failed_due[n] = true; has[n] = FAILED
}

#ifdef FAILED_FIRST
#define MAY_SAY_FAILED(n) true
#else
#define MAY_SAY_FAILED(n) !close_due[n]
#endif

inline begin(n)
{
#ifdef OLD_FAILED
	if
	:: has[n] == NOT -> has[n] = START
	:: else
	fi
#else
	/* child_replace */
	assert(has[n] == NOT || (has[n] == FAILED && t > turn[n]));
	failed_due[n] = false; has[n] = START
#endif
}

/* What was ordered by a link that it has no more. */
inline let_go(n)
{
	do
	:: link[n] > 0 && nempty(order[link[n]]) -> order[link[n]]?_, _
	:: link[n] == 0 || empty(order[link[n]]) -> break
	od;
	link[n] = 0
}

proctype worker(byte n)
{
	byte l, t;

end:	do
	:: atomic { alive[n] && !BLOCKED(n) && link[n] > 0 &&
	    order[link[n]]?[START, _] ->
		order[link[n]]?START, t;
		begin(n);
		if
		:: has[n] == START -> has[n] = ORDER; turn[n] = t
		:: else
		fi;
		t = 0 }
	/* prepare, hold */
	:: atomic { alive[n] && has[n] == ORDER && !close_due[n] ->
		RING(false);
		to_keeper[n]!HOLD, turn[n]; has[n] = HOLD }
	:: atomic { alive[n] && has[n] == HOLD ->
		assert(pre == 0);
		pre = 1; pre_by = WID(n); RING(true); has[n] = CLONED }
	/* not_started: it lacks something that another one may have */
	:: atomic { fails > 0 && alive[n] &&
	    (has[n] == ORDER || has[n] == HOLD) -> fails--; fail(n) }
	:: atomic { alive[n] && has[n] == CLONED && pre == 3 ->
		has[n] = RUNNING; tell(n, RUNNING) }
	:: atomic { alive[n] && close_due[n] ->
		to_keeper[n]!CLOSED, turn[n]; close_due[n] = false }
	:: atomic { alive[n] && failed_due[n] && MAY_SAY_FAILED(n) ->
		failed_due[n] = false; tell(n, FAILED) }
	:: atomic { alive[n] && dump_due[n] && !failed_due[n] ->
		dump_due[n] = false; tell(n, DUMP_END) }
	/* start_take_over */
	:: atomic { alive[n] && !BLOCKED(n) && to_worker[n]?[GIVE, _] ->
		to_worker[n]?GIVE, t;
		assert(!alive[1 - n] || has[1 - n] == NOT ||
		    has[1 - n] == FAILED);
		begin(n);
		turn[n] = t; has[n] = (pre == 3 -> RUNNING : CLONED);
		tell(n, RUNNING); t = 0 }
	:: atomic { alive[n] && !BLOCKED(n) && to_worker[n]?[PEER, _] ->
		to_worker[n]?PEER, l;
		let_go(n);
		link[n] = (cut[l] -> 0 : l); l = 0;
		if
		:: has[n] == ORDER || has[n] == HOLD -> fail(n)
		:: has[n] == FAILED -> failed_due[n] = true
		:: has[n] == CLONED || has[n] == RUNNING -> tell(n, RUNNING)
		:: else
		fi;
		dump_due[n] = true }
	/* child_committed */
	:: atomic { alive[n] && !BLOCKED(n) && link[n] > 0 &&
	    order[link[n]]?[ENDED, _] ->
		order[link[n]]?ENDED, t;
		if
		:: t == turn[n] && has[n] == FAILED ->
			has[n] = NOT; failed_due[n] = false; turn[n] = 0
		:: else -> assert(t != turn[n])
		fi;
		t = 0 }
	od
}

/* Between clone and exec; a killed worker does not end it. */
proctype pre_exec()
{
end:	do
#ifdef HEADER
	:: atomic { pre == 1 -> pre = 3; pre_by = 0 }
#else
#ifdef TELL_AFTER_EXEC
	/* exec closes the channel; it has another one, let us say */
	:: atomic { pre == 1 -> pre = 4 }
	:: atomic { pre == 4 -> to_keeper[SLOT_OF(pre_by)]!SPAWNED, 0; pre = 3; pre_by = 0 }
#else
	:: atomic { pre == 1 -> to_keeper[SLOT_OF(pre_by)]!SPAWNED, 0; pre = 2 }
	:: atomic { pre == 2 -> pre = 3; pre_by = 0 }
#endif
#endif
	od
}

/* ------------------------------------------------------------- the master */

/* session_again: it never ran */
inline again()
{
	assert(life == STARTING);
#ifdef NO_AGAIN
	life = FAILED
#else
	attempt++; waits = true
#endif
}

#ifdef LAST_WORDS
#define BY_TURN(first, t) ((t) <= hand_turn -> first + 1 : first + 2)
#else
#define BY_TURN(first, t) ((t) < hand_turn -> first : \
	((t) == hand_turn -> first + 1 : first + 2))
#endif

#ifdef NO_DUMP_WAIT
#define DUMPED(n) true
#else
#define DUMPED(n) (present[n] == 0 || mlink[n] == 0 || dump_done[n])
#endif
#ifdef NO_TABLE_WAIT
#define TABLED (table_end || present[0] > 0 || present[1] > 0)
#else
#define TABLED table_end
#endif

inline recover_step()
{
	if
	:: !reconciled && TABLED && DUMPED(0) && DUMPED(1) ->
		reconciled = true;
		if
		:: life != NONE && life != QUEUED ->
			event = CUSTODY_SETTLED; custody_move(0, hand_turn);
			if
			/* a running one would be lost */
			:: answer == CUSTODY_ORPHAN -> again()
			:: else
			fi
		:: else
		fi
	:: else
	fi
}

/* One message of the worker in slot n. */
inline heard(n)
{
	say[mlink[n]]?what, starting, t;
	if
	:: what == DUMP_END -> dump_done[n] = true; recover_step()
	:: what != DUMP_END && (life == NONE || life == QUEUED)
	:: what != DUMP_END && life != NONE && life != QUEUED ->
		if
		:: what == FAILED -> owe[n] = t
		:: else
		fi;
		event = BY_TURN(CUSTODY_WORD_PAST, t);
		t = (t > hand_turn -> t : hand_turn);
		custody_move(present[n], t);
		if
		:: answer == CUSTODY_COUNTS && what == RUNNING && !starting ->
			life = RUNNING
		:: answer == CUSTODY_COUNTS && what == FAILED ->
			event = CUSTODY_BACK; custody_move(0, hand_turn);
			again()
		:: else
		fi
	fi;
	what = 0; starting = false; t = 0
}

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
	fi;
	staged[n] = 0; owe[n] = 0
}

/* starts_pump */
inline give(n)
{
	waits = false;
	event = CUSTODY_START;
	custody_move(present[n], TURN_OF_START(attempt + 1));
	assert(answer == CUSTODY_MOVED);
	staged[n] = hand_turn
}

#define TURN (master_alive && pc == 0)
#ifdef SEND_FIRST
#define COMMIT 3
#define COMMITTED 0
#define SEND 1
#define SENT 2
#define ANSWER 2
#define ANSWERED 3
#else
#define COMMIT 1
#define COMMITTED 2
#define SEND 2
#define SENT 3
#define ANSWER 3
#define ANSWERED 0
#endif

inline send(n)
{
	if
	:: owe[n] > 0 && mlink[n] > 0 -> order[mlink[n]]!ENDED, owe[n]
	:: else
	fi;
	if
	:: staged[n] > 0 && mlink[n] > 0 -> order[mlink[n]]!START, staged[n]
	:: else
	fi;
	owe[n] = 0; staged[n] = 0
}

proctype master()
{
	mtype what;
	bool starting;
	byte a, b, s, t;

end:	do
	/* api_exec; whether its lane is free is chosen freely */
	:: atomic { TURN && request == 1 -> request = 2; pc = 1;
		if
#ifdef NO_KEY
		:: true ->
#else
		:: life == NONE ->
#endif
			if
#ifndef NO_LANE
			:: life = QUEUED
#endif
			:: life = STARTING; waits = true
			fi
#ifndef NO_KEY
		:: else
#endif
		fi }
	/* the lane's turn comes */
	:: atomic { TURN && life == QUEUED && request != 1 ->
		life = STARTING; waits = true; pc = 1 }
	:: atomic { TURN && mlink[0] > 0 && nempty(say[mlink[0]]) ->
		pc = 1; d_step { heard(0) } }
	:: atomic { TURN && mlink[1] > 0 && nempty(say[mlink[1]]) ->
		pc = 1; d_step { heard(1) } }
	:: atomic { TURN && to_master?[PEER, _, _] -> pc = 1;
		d_step {
			to_master?PEER, a, b;
			s = SLOT_OF(a);
			forget_link(s);
			present[s] = a; mlink[s] = b; dump_done[s] = false;
			a = 0; b = 0; s = 0
		} }
	/* custody_row: who has spoken already keeps it */
	:: atomic { TURN && to_master?[HELD, _, _] -> pc = 1;
		d_step {
			to_master?HELD, a, b;
			if
			:: life == NONE || life == QUEUED
			:: life != NONE && life != QUEUED &&
			    hand == CUSTODY_HAS && who == a && b > hand_turn ->
				hand_turn = b
			:: else ->
				event = BY_TURN(CUSTODY_ROW_PAST, b);
				custody_move(a, b)
			fi;
			a = 0; b = 0
		} }
	:: atomic { TURN && to_master?[DOWN, _, _] -> pc = 1;
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
				b = 0;
				forget_link(s);
				present[s] = 0
			:: else
			fi;
			/* is_its */
			if
			:: life != NONE && life != QUEUED &&
			    ((hand == CUSTODY_EXPECT && SLOT_OF(who) == s &&
			    who <= a) || ((hand == CUSTODY_GIVEN ||
			    hand == CUSTODY_HAS) && who == a)) ->
				/* of what a row told somebody has run */
				assert(hand != CUSTODY_EXPECT);
				event = CUSTODY_DOWN; custody_move(0, hand_turn);
				if
				:: answer == CUSTODY_ORPHAN -> again()
				:: else
				fi
			:: else
			fi;
			recover_step();
			a = 0; b = 0; s = 0
		} }
	:: atomic { TURN && to_master?[TABLE_END, _, _] -> pc = 1;
		d_step {
			to_master?TABLE_END, a, b;
			table_end = true; recover_step(); a = 0; b = 0
		} }
	:: atomic { TURN && waits && (present[0] > 0 || present[1] > 0) ->
		pc = 1 }
	:: atomic { master_alive && pc == COMMIT ->
		pc = COMMITTED; answer = 0;
		if
		:: waits && present[0] > 0 -> give(0)
		:: waits && present[1] > 0 -> give(1)
		:: !waits || (present[0] == 0 && present[1] == 0)
		fi;
#ifdef NO_RECORD
		if
		:: life == RUNNING ->
			record = true; rec_life = life; rec_attempt = attempt
		:: else
		fi }
#else
		record = record || life != NONE;
		rec_life = life; rec_attempt = attempt }
#endif
	:: atomic { master_alive && pc == SEND -> pc = SENT;
		send(0); send(1) }
	:: atomic { master_alive && pc == ANSWER -> pc = ANSWERED;
		if
		:: request == 2 && life != STARTING -> request = 3
		:: else
		fi }
	od
}

/* -------------------------------------------------------------- the world */

proctype client()
{
end:	do
	:: atomic { request == 0 && !acked -> request = 1 }
	:: atomic { request == 3 && !acked -> acked = true }
	:: atomic { request == 3 && !acked && lost > 0 -> lost--; request = 0 }
	od
}

inline kill_worker(n)
{
	d_step {
		kills--; alive[n] = false; has[n] = NOT; let_go(n);
		turn[n] = 0; close_due[n] = false; failed_due[n] = false;
		dump_due[n] = false
	}
}

inline kill_master()
{
	d_step {
		masters--; master_alive = false; pc = 0;
		life = NONE; attempt = 0; hand = CUSTODY_NOBODY; who = 0;
		hand_turn = 0; answer = 0; waits = false;
		table_end = false; reconciled = false;
		h = 0;
		do
		:: h < SLOTS ->
			present[h] = 0; mlink[h] = 0; dump_done[h] = false;
			staged[h] = 0; owe[h] = 0; h++
		:: else -> break
		od;
		request = (request == 1 || request == 2 -> 0 : request);
		cut_all()
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

/* When the story begins both workers run and are linked with the master. */
init
{
	d_step {
		gen[0] = 1; gen[1] = 1;
		state[0] = READY; state[1] = READY;
		alive[0] = true; alive[1] = true;
		master_state = READY; master_alive = true; dump = DONE;
		linked[0] = true; linked[1] = true;
		link[0] = 1; link[1] = 2; mlink[0] = 1; mlink[1] = 2;
		next_link = 3;
		present[0] = WID(0); present[1] = WID(1);
		dump_done[0] = true; dump_done[1] = true;
		table_end = true; reconciled = true
	}
	atomic {
		run keeper(); run keeper_slot(0); run keeper_slot(1);
		run worker(0); run worker(1); run pre_exec();
		run master(); run client(); run fate()
	}
	/* nothing moves any more */
	timeout;
	assert(acked && pre == 3 && life == RUNNING && rec_life == RUNNING);
	assert(hand == CUSTODY_HAS && who == WID(SLOT_OF(who)));
	assert(has[SLOT_OF(who)] == RUNNING && has[1 - SLOT_OF(who)] == NOT);
	assert(row_used && row_owner == SLOT_OF(who))
}
