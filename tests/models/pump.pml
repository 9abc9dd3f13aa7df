/* SPDX-License-Identifier: MIT */
/*
 * The pump: two streams, laps, and a kill between any two steps. Nothing that
 * left a pipe is lost, doubled, out of place or given to the wrong stream, and
 * what was thrown away is counted and in the hole.
 *
 * Each statement of the writer is one store or one system call of
 * shm/ring_writer.c: step_plan, step_announce, step_splice, ring_attribute,
 * ring_publish (ring_splice), ring_hole (ring_discard), recover_check and
 * recover_header (ring_recover); worker/pump.c: pump_once. The header outlives
 * the writer; its variables do not. The one thing believed of the kernel: a
 * splice moves bytes and cursor, and a kill is acted on after both.
 *
 * Scaled: the largest splice is 2 bytes, the head region 2, the tail region 3.
 * The segment log does not wrap here (publish.pml has that). Whether segments
 * within 10 ms merge is chosen freely. Readers are publish.pml's.
 *
 * quick: -DBYTES=2 -DKILLS=2 -DDROPS=1
 * small: -DBYTES=3 -DKILLS=2 -DDROPS=1
 * full:  -DBYTES=4 -DKILLS=2 -DDROPS=1
 * full:  -DBYTES=5 -DKILLS=1 -DDROPS=1
 * mutant NO_CONFIRM        the heir begins while the dead one is only stopped
 * mutant NO_POSITION_READ  recovery believes head, not the kernel's cursor
 * mutant LATE_STREAM       the stream is noted after the splice
 * mutant LAP_FIRST         the lap is stored before its cursor
 * mutant NO_CLOSE          recovery does not close the open segment
 * mutant NO_DISCARD_MARK   recovery cannot tell kept bytes from dropped ones
 * mutant HOLE_COUNT_ADDS   the count of dropped bytes is added to, not derived
 */
#define HEAD  2          /* head_bytes */
#define CAP   3          /* ring_tail_cap() */
#define END   (HEAD + CAP)
#define MAXSP 2          /* RING_MAX_SPLICE */
#define TOTAL (2 * BYTES)
#define DISCARD 2        /* RING_DISCARD */

/* the header page; offsets count from RING_DATA_OFFSET */
byte off[2], lap, reserve, head, stream;
byte hole_from, hole_to, hole_base, dropped;
byte seg_end[TOTAL + 1], seg_stream[TOTAL + 1], seg_count;

/* the ring's pages: which byte lies there, counted from 1 */
byte data[END];

/* the pipes, and what nobody of the writers can see */
byte pipe[2] = BYTES;    /* bytes still in them */
byte moved;              /* bytes that left a pipe */
bit whose[TOTAL];           /* whose the n-th byte is */
bit gone[TOTAL];         /* it was thrown away */
byte thrown, kills = KILLS, drops = DROPS;
bool dying, finished;
byte writers;

#define POS(lap_) (off[(lap_) & 1] + (lap_) * CAP)
#define OLDEST(r) ((r) <= END -> HEAD : (r) - CAP)
#define OFFSET(p) ((p) < HEAD -> (p) : HEAD + ((p) - HEAD) % CAP)

/* What a reader would find below `head` once nobody writes. */
inline look()
{
	d_step {
		assert(head <= moved);
		p = 0;
		do
		:: p == head -> break
		:: else ->
			if
			:: p >= hole_from && p < hole_to
			:: !(p >= hole_from && p < hole_to) &&
			    (p < HEAD || p >= OLDEST(reserve)) ->
				assert(!gone[p]);
				assert(data[OFFSET(p)] == p + 1)
			:: else
			fi;
			s = 0;
			do
			:: s < seg_count && seg_end[s] <= p -> s++
			:: else -> break
			od;
			assert(s < seg_count);
			assert(seg_stream[s] == whose[p]);
			p++
		od;
		p = 0; s = 0
	}
}

/* The kernel: n bytes of pipe `from_`, to the ring or to a scratch file. */
inline kernel_splice(from_, n, keep)
{
	d_step {
		s = n;
		do
		:: s == 0 -> break
		:: else ->
			if
			:: keep -> data[off[lap & 1]] = moved + 1
			:: else -> gone[moved] = 1; thrown++
			fi;
			whose[moved] = from_;
			moved++;
			off[lap & 1] = off[lap & 1] + 1;
			pipe[from_] = pipe[from_] - 1;
			s--
		od
	}
}

inline segment_close(end_, stream_)
{
	if
	:: seg_count > 0 && seg_stream[seg_count - 1] == stream_ ->
		if
		:: seg_end[seg_count - 1] = end_  /* within 10 ms */
		:: skip;
			seg_end[seg_count] = end_;
			seg_stream[seg_count] = stream_;
			seg_count++
		fi
	:: else ->
		/* the entry beyond seg_count is nobody's until it is counted */
		seg_end[seg_count] = end_;
		seg_stream[seg_count] = stream_;
		seg_count++
	fi
}

inline hole_note(from_, to_)
{
	f = from_;
	if
	:: hole_to > hole_from &&
	    (hole_from < HEAD || hole_to > OLDEST(to_)) ->
		f = hole_from
	:: else ->
		hole_to = 0;
		hole_base = dropped;
		hole_from = f
	fi;
	hole_to = to_;
#ifdef HOLE_COUNT_ADDS
	dropped = dropped + to_ - from_
#else
	dropped = hole_base + to_ - f
#endif
}

inline publish(pos_)
{
	head = pos_;
	reserve = pos_
}

/* Could a writer that was killed anywhere have left this? It must say yes. */
inline recover_check()
{
	d_step {
		assert(off[lap & 1] >= (lap == 0 -> 0 : HEAD));
		assert(off[lap & 1] <= END);
		assert(head <= POS(lap) && POS(lap) - head <= MAXSP);
		assert(reserve >= head && reserve - head <= MAXSP);
		assert(seg_count == 0 || (seg_end[seg_count - 1] >= head &&
		    seg_end[seg_count - 1] <= POS(lap)));
		assert(hole_to <= POS(lap))
	}
}

inline recover()
{
	recover_check();
#ifdef NO_POSITION_READ
	pos = head;
	d_step { off[lap & 1] = head - lap * CAP };
#else
	pos = POS(lap);
#endif
#ifndef NO_DISCARD_MARK
	if
	:: pos > head && stream >= DISCARD -> hole_note(head, pos)
	:: else
	fi;
#endif
#ifndef NO_CLOSE
	if
	:: (seg_count == 0 -> 0 : seg_end[seg_count - 1]) < pos ->
		segment_close(pos, stream % DISCARD)
	:: else
	fi;
#endif
	publish(pos);
	stream = stream % DISCARD;
	look()
}

/* One of ring_splice or ring_discard. */
inline splice(who, keep)
{
	/* step_plan */
	my_lap = lap;
	if
	:: off[my_lap & 1] == END ->
#ifdef LAP_FIRST
		lap = my_lap + 1;
		off[(my_lap + 1) & 1] = HEAD;
#else
		off[(my_lap + 1) & 1] = HEAD;
		lap = my_lap + 1;
#endif
		my_lap++
	:: else
	fi;
	pos = POS(my_lap);
	size = (END - off[my_lap & 1] < MAXSP -> END - off[my_lap & 1] : MAXSP);
	/* step_announce */
#ifndef LATE_STREAM
	stream = who + (keep -> 0 : DISCARD);
#endif
	reserve = pos + size;
	/* step_splice: what the pipe has, or less */
	if
	:: kernel_splice(who, 1, keep); n = 1
	:: size == 2 && pipe[who] >= 2 -> kernel_splice(who, 2, keep); n = 2
	fi;
#ifdef LATE_STREAM
	stream = who + (keep -> 0 : DISCARD);
#endif
	pos = pos + n;
	if
	:: !keep -> hole_note(pos - n, pos)
	:: else
	fi;
	segment_close(pos, who);
	publish(pos);
	if
	:: !keep -> stream = who
	:: else
	fi;
	look()
}

/* One life of a worker, from its start or its take-over to its death. */
proctype worker(bool heir)
{
	byte my_lap, pos, size, n, f, p, s;

	{
		if
		:: heir -> recover()
		:: else
		fi;
		do
		:: pipe[0] > 0 -> splice(0, true)
		:: pipe[1] > 0 -> splice(1, true)
		:: pipe[0] > 0 && drops > 0 -> drops--; splice(0, false)
		:: pipe[1] > 0 && drops > 0 -> drops--; splice(1, false)
		:: pipe[0] == 0 && pipe[1] == 0 -> break
		od;
		atomic {
			finished = true;
			assert(head == TOTAL && moved == TOTAL);
			assert(dropped >= thrown);
			assert(dropped == hole_base + hole_to - hole_from);
			look()
		}
	} unless {
		atomic { dying -> dying = false; writers-- }
	}
}

/* Kills; the keeper gives the session on once the death is confirmed. */
active proctype keeper()
{
	atomic { writers = 1; run worker(false) };
	do
	:: atomic { kills > 0 && !finished ->
		kills--;
#ifdef NO_CONFIRM
		writers++;
		run worker(true) }
#else
		dying = true };
		(writers == 0 || finished);
		if
		:: atomic { finished -> break }
		:: atomic { writers == 0 -> writers = 1; run worker(true) }
		fi
#endif
	:: finished -> break
	od
}
