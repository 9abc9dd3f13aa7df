/* SPDX-License-Identifier: MIT */
/*
 * One start: an exec with a request key, repeated whenever its answer was lost;
 * master and workers killed between any two steps; with or without a wait in a
 * lane. The command never starts twice, and once the client has an answer it
 * starts.
 *
 * Models the master: api_exec with exec_known and exec_attach (api/exec.c),
 * session_admit, session_pump_lanes, session_again (session.c), claim,
 * session_on_running, session_on_failed (session/recv.c), pool_dispatch,
 * pool_on_peer, pool_on_down, pool_turn_end (pool.c), turn_end: commit, then
 * send (master.c), recover_scan, recover_on_held, decide, recover_step
 * (recover.c); the worker: start_retry, hold, clone_command, not_started,
 * started (start.c), child_tell, child_main (spawn.c), child_give_back,
 * child_fail (child.c), on_peer (recv.c), start_take_over (take.c); the
 * keeper: on_hold, on_spawned, kill_unheld, on_closed (keeper/recv.c),
 * procs_died, finish_death, hand_over (keeper/procs.c), send_master
 * (keeper/send.c).
 *
 * One worker, whose heir is its own replacement. A channel that is held open
 * for 2 s by a child that does not get to its exec (DRAIN_NS), and the bound on
 * restarts (MASTER_RESTARTS), are not here.
 *
 * quick: -DKILLS=1 -DMASTERS=0 -DLOST=0
 * small: -DKILLS=1 -DMASTERS=1 -DLOST=0
 * full:  -DKILLS=1 -DMASTERS=1 -DLOST=1
 * full:  -DKILLS=2 -DMASTERS=0 -DLOST=1
 * full:  -DKILLS=1 -DMASTERS=2 -DLOST=0
 * mutant NO_KEY          a repeated key is a new request
 * mutant NO_EOF          a dead worker's channel is read until it is empty only
 * mutant TELL_AFTER_EXEC the child tells the keeper once it runs
 * mutant SEND_FIRST      orders and answers leave before the commit
 * mutant NO_RECORD       the record is written when the command runs
 * mutant NO_AGAIN        who never ran is not started again
 * mutant NO_DUMP_WAIT    a new master decides before its worker has spoken
 * mutant NO_TABLE_WAIT   a new master decides before it has the keeper's table
 * mutant NO_LINK_WAIT   it gets the table before its channel to the worker
 * mutant NO_DEATH_WAIT  it gets the table amid a death, SPAWNED being unread
 */
#define LINKS (2 + KILLS + MASTERS)
#define GENS  (KILLS + 2)

mtype = { NONE, STARTING, READY, DYING, QUEUED, RUNNING, FAILED,
    HOLD, SPAWNED, CLOSED, PEER, GIVE, HELD, DOWN, TABLE_END, DUMP_END,
    WAIT, ROWS, DONE };

/* --- what is true */
byte started;              /* how often the command's program began */
byte kills = KILLS, masters = MASTERS, lost = LOST;
bool alive, master_alive;
byte child[GENS];          /* of each life: 1 cloned, 2 told, 3 over */
chan to_keeper = [8] of { mtype, byte };
chan to_worker = [8] of { mtype, byte };
chan to_master = [10] of { mtype, byte, byte };
chan say[LINKS] = [5] of { mtype };
chan order[LINKS] = [3] of { mtype };
bool cut[LINKS];
byte next_link = 1;

/* --- the client: 0 asks, 1 asked, 2 the master has it, 3 answered */
byte request;
bool acked;

/* --- the keeper's */
mtype state = NONE, master_state = NONE, dump = WAIT;
byte gen, master_fd, row_spawner, row_prev, down_gen;
bool linked, row_used, row_pid, row_give;

/* --- the worker's: the life's session */
mtype has = NONE;          /* STARTING: waits for another try */
byte wlink;

/* --- the index */
bool record;
mtype rec_state = NONE;

/* --- the master's memory; pc: 1 to be committed, 2 and 3 to be sent */
mtype m_state = NONE;
byte pc, present, mlink, worker_, left, row;
bool has_worker, held, down, recovering, pending, staged, dump_done, table_end;
bool reconciled;

#define ALIVE_ (state == STARTING || state == READY)

/* ------------------------------------------------------------- the keeper */

#ifdef NO_EOF
#define SILENT (len(to_keeper) == 0)
#else
#define SILENT (len(to_keeper) == 0 && child[gen] != 1 && child[gen] != 2)
#endif

#ifdef NO_LINK_WAIT
#define ALL_LINKED true
#else
#define ALL_LINKED (linked || state != READY)
#endif

#ifdef NO_DEATH_WAIT
#define NONE_DYING true
#else
#define NONE_DYING (state != DYING)
#endif

inline cut_all()
{
	h = 1;
	do
	:: h < next_link ->
		cut[h] = true;
		do
		:: len(say[h]) > 0 -> say[h]?_
		:: len(say[h]) == 0 -> break
		od;
		h++
	:: else -> break
	od;
	h = 0
}

active proctype keeper()
{
	byte h, g;

end:	do
	:: atomic { to_keeper?[READY, _] -> to_keeper?READY, _;
		if
		:: state == STARTING -> state = READY
		:: else
		fi }
	:: atomic { to_keeper?[HOLD, _] -> to_keeper?HOLD, g;
		if
		:: !row_used ->
			row_used = true; row_pid = false; row_spawner = g;
			row_prev = 0; row_give = false
		:: else /* held already: malformed */
		fi }
	:: atomic { to_keeper?[SPAWNED, _] -> to_keeper?SPAWNED, g;
		/* else kill_unheld: too late for who has begun */
		if
		:: row_used && row_spawner == g -> row_pid = true
		:: else
		fi }
	:: atomic { to_keeper?[CLOSED, _] -> to_keeper?CLOSED, _;
		row_used = false }
	:: atomic { !alive && ALIVE_ -> state = DYING }
	:: atomic { state == DYING && SILENT ->
		d_step {
			state = NONE;
			do
			:: len(to_worker) > 0 -> to_worker?_, _
			:: len(to_worker) == 0 -> break
			od;
			master_fd = 0; linked = false;
			if
			:: row_used && !row_pid -> row_used = false
			:: row_used && row_pid ->
				row_give = true; row_prev = gen
			:: else
			fi;
			if
			:: dump != WAIT -> assert(down_gen == 0);
				down_gen = gen
			:: else
			fi
		} }
	:: atomic { state == NONE && down_gen == 0 ->
		gen++; state = STARTING; alive = true; to_keeper!READY, 0 }
	:: atomic { state == READY && master_state == READY && !linked ->
		linked = true; master_fd = next_link;
		to_worker!PEER, next_link; next_link++ }
	:: atomic { state == READY && row_used && row_give &&
	    linked == (master_state == READY) ->
		to_worker!GIVE, 0; row_give = false }
	/* send_master */
	:: atomic { master_state == READY && dump == WAIT && state != DYING ->
		dump = ROWS }
	:: atomic { master_state == READY && dump != WAIT && down_gen > 0 ->
		if
		:: row_used && (row_prev == down_gen ||
		    row_spawner == down_gen) ->
			to_master!HELD, down_gen,
			    (row_pid -> 3 : 1)
		:: else
		fi;
		to_master!DOWN, down_gen, 0; down_gen = 0 }
	:: atomic { master_state == READY && dump != WAIT && down_gen == 0 &&
	    master_fd > 0 ->
		to_master!PEER, gen, master_fd; master_fd = 0 }
	:: atomic { master_state == READY && dump == ROWS && down_gen == 0 &&
	    master_fd == 0 && ALL_LINKED && NONE_DYING ->
		if
		:: row_used -> to_master!HELD, (ALIVE_ -> gen : 255),
			    (row_pid -> 2 : 0)
		:: else
		fi;
		to_master!TABLE_END, 0, 0; dump = DONE }
	:: atomic { master_state == READY && !master_alive ->
		d_step {
			master_state = NONE; dump = WAIT; down_gen = 0;
			master_fd = 0; linked = false;
			cut_all();
			do
			:: len(to_master) > 0 -> to_master?_, _, _
			:: len(to_master) == 0 -> break
			od;
			h = 0
		} }
	/* recover_scan */
	:: atomic { master_state == NONE ->
		master_state = READY; master_alive = true;
		m_state = rec_state;
		recovering = record && rec_state != QUEUED }
	od
}

/* ----------------------------------------- the worker and what it clones */

inline tell(what)
{
	if
	:: wlink > 0 && !cut[wlink] -> say[wlink]!what
	:: else
	fi
}

active proctype worker()
{
	byte l;

end:	do
	/* prepare, hold */
	:: atomic { alive && wlink > 0 && has == NONE &&
	    order[wlink]?[STARTING] ->
		order[wlink]?STARTING; to_keeper!HOLD, gen; has = HOLD }
	/* clone_command: this process waits while its child is in there */
	:: atomic { alive && (has == HOLD || has == STARTING) &&
	    child[gen] != 1 && child[gen] != 2 ->
		child[gen] = 1; has = SPAWNED }
	:: atomic { alive && has == HOLD -> has = STARTING }
	:: atomic { alive && has == SPAWNED && child[gen] == 3 ->
		has = RUNNING; tell(RUNNING) }
	:: atomic { alive && (has == NONE || has == RUNNING || has == STARTING) &&
	    to_worker?[GIVE, _] ->
		to_worker?GIVE, _; assert(has == NONE);
		has = RUNNING; tell(RUNNING) }
	:: atomic { alive && (has == NONE || has == RUNNING || has == STARTING) &&
	    to_worker?[PEER, _] ->
		to_worker?PEER, l;
		wlink = l; l = 0;
		if
		:: has == STARTING ->
			/* the keeper first */
			to_keeper!CLOSED, 0; has = NONE; tell(FAILED)
		:: has == RUNNING -> tell(RUNNING)
		:: else
		fi;
		tell(DUMP_END) }
	od
}

/* Between clone and exec; a killed worker does not end it. */
active proctype pre_exec()
{
	byte g;

end:	do
#ifdef TELL_AFTER_EXEC
	/* exec closes the channel; it has another one, let us say */
	:: atomic { child[1] == 1 -> child[1] = 4; started++ }
	:: atomic { child[1] == 4 -> to_keeper!SPAWNED, 1; child[1] = 3 }
	:: atomic { child[2] == 1 -> child[2] = 4; started++ }
	:: atomic { child[2] == 4 -> to_keeper!SPAWNED, 2; child[2] = 3 }
#else
	:: atomic { child[1] == 1 -> to_keeper!SPAWNED, 1; child[1] = 2 }
	:: atomic { child[1] == 2 -> child[1] = 3; started++ }
	:: atomic { child[2] == 1 -> to_keeper!SPAWNED, 2; child[2] = 2 }
	:: atomic { child[2] == 2 -> child[2] = 3; started++ }
#if GENS > 3
	:: atomic { child[3] == 1 -> to_keeper!SPAWNED, 3; child[3] = 2 }
	:: atomic { child[3] == 2 -> child[3] = 3; started++ }
#endif
#endif
	od
}

/* ------------------------------------------------------------- the master */

/* pool_dispatch */
inline dispatch()
{
	if
	:: present > 0 ->
		staged = true; worker_ = present; has_worker = true;
		pending = false
	:: else -> pending = true
	fi
}

/* session_again */
inline again()
{
	has_worker = false; left = 0;
#ifdef NO_AGAIN
	m_state = FAILED
#else
	dispatch()
#endif
}

inline claim(w)
{
	mine = false;
	if
	:: m_state == QUEUED || m_state == NONE || m_state == FAILED
	:: else ->
		if
		:: has_worker && worker_ != w &&
		    (left == w || (down && row == w))
		:: else ->
			mine = true;
			if
			:: !has_worker || worker_ != w ->
				left = (has_worker -> worker_ : 0);
				worker_ = w; has_worker = true; pending = false
			:: else
			fi;
			recovering = false;
			if
			:: down && row != w -> left = row
			:: else
			fi;
			if
			:: !down || row != w -> held = false; down = false
			:: else
			fi
		fi
	fi
}

#ifdef NO_DUMP_WAIT
#define DUMPED true
#else
#define DUMPED (present == 0 || mlink == 0 || dump_done)
#endif
#ifdef NO_TABLE_WAIT
#define TABLED (table_end || present > 0)
#else
#define TABLED table_end
#endif

inline recover_step()
{
	if
	:: !reconciled && TABLED && DUMPED ->
		reconciled = true;
		if
		:: recovering ->
			recovering = false;
			if
			:: held || has_worker -> held = down
			:: else ->
				/* decide: a running one would be lost */
				assert(m_state == STARTING);
				again()
			fi
		:: else
		fi
	:: else
	fi
}

inline heard()
{
	say[mlink]?what;
	if
	:: what == DUMP_END -> dump_done = true; recover_step()
	:: what == RUNNING ->
		claim(present);
		if
		:: mine -> m_state = RUNNING
		:: else
		fi
	:: what == FAILED ->
		/* child_give_back: CTL_NOT_TRIED */
		claim(present);
		if
		:: mine && m_state == STARTING -> again()
		:: else
		fi
	fi;
	what = 0; mine = false
}

#define TURN (master_alive && pc == 0)

active proctype master()
{
	mtype what;
	bool mine;
	byte a, b;

end:	do
	/* api_exec; whether its lane is free is chosen freely */
	:: atomic { TURN && request == 1 -> request = 2; pc = 1;
		if
#ifdef NO_KEY
		:: true ->
#else
		:: m_state == NONE ->
#endif
			if
			:: m_state = QUEUED
			:: m_state = STARTING; dispatch()
			fi
#ifndef NO_KEY
		:: else
#endif
		fi }
	/* the lane's turn comes */
	:: atomic { TURN && m_state == QUEUED && request != 1 ->
		m_state = STARTING; pc = 1; dispatch() }
	:: atomic { TURN && mlink > 0 && nempty(say[mlink]) ->
		pc = 1; d_step { heard() } }
	:: atomic { TURN && to_master?[PEER, _, _] -> pc = 1;
		d_step {
			to_master?PEER, a, b;
			if
			:: mlink > 0 -> cut[mlink] = true
			:: else
			fi;
			present = a; mlink = b; dump_done = false;
			if
			:: pending && m_state == STARTING -> dispatch()
			:: else
			fi;
			a = 0; b = 0
		} }
	/* b: 2 has a pid, 1 its worker is down */
	:: atomic { TURN && to_master?[HELD, _, _] -> pc = 1;
		d_step {
			to_master?HELD, a, b;
			if
			:: b >= 2 && m_state != NONE && m_state != FAILED ->
				held = true; row = a; down = (b == 3)
			:: else
			fi;
			a = 0; b = 0
		} }
	:: atomic { TURN && to_master?[DOWN, _, _] -> pc = 1;
		d_step {
			to_master?DOWN, a, b;
			if
			:: present == a ->
				do
				:: mlink > 0 && len(say[mlink]) > 0 -> heard()
				:: mlink == 0 || len(say[mlink]) == 0 -> break
				od;
				b = 0;
				if
				:: mlink > 0 -> cut[mlink] = true
				:: else
				fi;
				mlink = 0; present = 0; staged = false
			:: else
			fi;
			if
			:: m_state != NONE && m_state != QUEUED &&
			    m_state != FAILED && !recovering &&
			    (has_worker -> worker_ : row) == a ->
				if
				:: held && down == (row == a) ->
					if
					:: down -> held = false; down = false
					:: else
					fi
				:: else ->
					held = false; down = false;
					assert(m_state == STARTING);
					again()
				fi
			:: else
			fi;
			recover_step();
			a = 0; b = 0
		} }
	:: atomic { TURN && to_master?[TABLE_END, _, _] -> pc = 1;
		d_step {
			to_master?TABLE_END, a, b;
			table_end = true; recover_step(); a = 0; b = 0
		} }
#ifdef SEND_FIRST
	:: atomic { master_alive && pc == 3 -> pc = 0;
#else
	:: atomic { master_alive && pc == 1 -> pc = 2;
#endif
#ifdef NO_RECORD
		if
		:: m_state == RUNNING -> record = true; rec_state = m_state
		:: else
		fi }
#else
		record = record || m_state != NONE; rec_state = m_state }
#endif
#ifdef SEND_FIRST
	:: atomic { master_alive && pc == 1 -> pc = 2;
#else
	:: atomic { master_alive && pc == 2 -> pc = 3;
#endif
		if
		:: staged && mlink > 0 -> order[mlink]!STARTING
		:: else
		fi;
		staged = false }
#ifdef SEND_FIRST
	:: atomic { master_alive && pc == 2 -> pc = 3;
#else
	:: atomic { master_alive && pc == 3 -> pc = 0;
#endif
		if
		:: request == 2 && m_state != STARTING -> request = 3
		:: else
		fi }
	od
}

/* -------------------------------------------------------------- the world */

active proctype client()
{
end:	do
	:: atomic { request == 0 && !acked -> request = 1 }
	:: atomic { request == 3 && !acked -> acked = true }
	:: atomic { request == 3 && !acked && lost > 0 -> lost--; request = 0 }
	od
}

active proctype fate()
{
	byte h;

	do
	:: atomic { kills > 0 && alive ->
		kills--; alive = false; has = NONE; wlink = 0 }
	:: atomic { masters > 0 && master_alive ->
		d_step {
			masters--; master_alive = false; pc = 0;
			m_state = NONE; present = 0; mlink = 0; worker_ = 0;
			left = 0; row = 0; has_worker = false; held = false;
			down = false; recovering = false; pending = false;
			staged = false; dump_done = false; table_end = false;
			reconciled = false;
			request = (request == 1 || request == 2 -> 0 : request);
			cut_all()
		} }
	:: break
	od
}

active proctype judge()
{
	do
	:: started > 1 -> assert(false)
	:: timeout ->
		assert(acked && started == 1 && m_state == RUNNING);
		assert(rec_state == RUNNING && has == RUNNING && row_used);
		break
	od
}
