/* SPDX-License-Identifier: MIT */
/*
 * The world around two sessions, in which supervisor/custody.c is played: a
 * keeper, three workers (one of them the standby), a master, their channels,
 * which are read in any order but each in its own and have little room, and
 * deaths of each of them between any two steps. What keeper and workers do is
 * told here as rules; the master is what stands around the machine itself.
 *
 * lib_custody.c         channels, steps, what must hold
 * lib_custody_fate.c    deaths
 * lib_custody_keeper.c  psupd's rules
 * lib_custody_worker.c  a worker's, and the command's child
 * lib_custody_master.c  the master's, around the machine
 * lib_custody_machine.c the machine itself, whose table is broken here
 */
#ifndef PSUP_LIB_CUSTODY_H
#define PSUP_LIB_CUSTODY_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/custody.h"

#define SLOTS    3u
#define SESSIONS 2u
#define LINKS    128u
#define QUEUE    64u
#define DOWNS    16u
#define CHILDREN 24u
#define NO_SLOT  UINT32_MAX

enum proc { PROC_NONE, PROC_STARTING, PROC_READY, PROC_DYING };

/* How far a worker is with a session. */
enum has {
	HAS_NOT,
	HAS_ORDER,  /* START was read, or another try is due */
	HAS_CLONED, /* the child is before its exec */
	HAS_RUNNING,
	HAS_EXITED,
	HAS_ENDED,     /* END is owed to the master */
	HAS_COMMITTED, /* the master knows; its holders may live */
	HAS_FAILED,
	HAS_CLOSED /* all but CLOSED, which the keeper is to hear, is said */
};

enum life { LIFE_NONE, LIFE_QUEUED, LIFE_STARTING, LIFE_RUNNING, LIFE_EXITED,
	LIFE_ENDED };
enum transient { FOR_GOOD, TRY_AGAIN, NOT_TRIED };

enum type {
	/* worker to keeper */
	T_READY, T_HOLD, T_SPAWNED, T_CLOSED, T_PASS,
	/* keeper to worker */
	T_PEER, T_GIVE,
	/* keeper to master; PEER and END, too */
	T_HELD, T_DOWN, T_TABLE_END,
	/* worker to master, in the order in which a session's are sent */
	T_RUNNING, T_EXITED, T_END, T_FAILED, T_DUMP_END,
	/* master to worker */
	T_START, T_KILL, T_ENDED
};

struct msg {
	uint8_t type, session, transient;
	bool exited, starting, down, pid;
	uint32_t link;
	struct wid wid, next;
	uint64_t turn; /* 0: not said */
	uint32_t child; /* SPAWNED */
};

struct queue {
	uint32_t head, tail;
	struct msg v[QUEUE];
};

/* A row of the keeper's table. */
struct row {
	bool used, pid, give;
	uint32_t owner;
	struct wid prev, spawner;
	uint64_t turn;
};

/* A session as one worker has it. */
struct held {
	enum has has;
	uint64_t turn;    /* 0: its worker knows of none */
	uint64_t closing; /* turn of the CLOSED that is to be sent */
	bool held, owes, ran, committed, killed;
	bool may_pass;    /* its END, as START said; not to another master */
	bool passed;      /* it is with the keeper, or was */
	bool adopted;     /* a dead worker cloned it; before its exec */
	uint8_t transient;
	uint32_t child;   /* of children[] */
	uint32_t want;    /* T_RUNNING ..., 1 << type, for the master */
	bool close;       /* CLOSED is to be sent */
};

struct worker {
	bool alive, old, linked, dump_end;
	enum proc state;
	uint32_t gen, link;   /* link: 0 none */
	uint32_t peer, master_fd; /* ends of a new one, not yet sent; 0 */
	uint32_t page_gen;
	bool page_pid;
	struct held of[SESSIONS];
	struct queue to_keeper, to_worker;
};

struct child {
	struct wid by;
	uint8_t session, step; /* 1 cloned, 2 told, 3 exec'd or dead */
	bool failed; /* it never began */
};

/* What the index has of a session. */
struct record {
	bool exists, forced;
	bool spec; /* it can be started */
	enum life life;
	uint32_t attempt;
};

/* What is true of a session. */
struct truth {
	uint8_t program; /* 0 no, 1 runs, 2 over */
	uint32_t starts;
	bool exec_fails, asked_kill, kill_wish, quarantine, killed;
	bool ring, ring_exit, ring_errno, ring_pid, ring_closed;
	bool asked, forgotten, lost;
	uint32_t tries_fail;
	struct record rec;
	enum life shown; /* on the board */
};

struct world {
	uint64_t seed, steps, rng;
	struct truth of[SESSIONS];
	struct child children[CHILDREN];
	uint32_t child_count;
	/* keeper */
	bool old_keeper, by_header, draining;
	uint32_t standby;
	struct row rows[SESSIONS];
	struct wid downs[DOWNS];
	bool down_whole[DOWNS];
	uint32_t down_count, down_next, dump_next;
	enum { DUMP_WAIT, DUMP_ROWS, DUMP_DONE } dump;
	struct worker w[SLOTS];
	/* master */
	enum proc master_state;
	bool master_alive, stranger, damaged;
	uint32_t mlink[SLOTS];
	struct wid present[SLOTS];
	struct queue out[SLOTS]; /* orders whose channel is full, or was cut */
	int phase;               /* of its turn: 1 to be committed, 2 to be sent */
	/* channels */
	struct queue to_master, say[LINKS], order[LINKS];
	bool cut[LINKS];
	uint32_t links;
	uint32_t room;           /* of each channel */
	/* fate */
	uint32_t kills, masters, keepers, damages;
	bool mixed, lane, may_forget;
	bool passes; /* ENDs go by the keeper */
};

extern struct world W;
extern bool sim_trace;

/* Ends this order: what must hold does not. */
_Noreturn void sim_bad(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define SAY(...) do { if (sim_trace) sim_say(__VA_ARGS__); } while (0)
uint32_t sim_roll(uint32_t sides);
bool sim_push(struct queue *q, const struct msg *m); /* false: no room */
bool sim_pop(struct queue *q, struct msg *ret);
#define LEN(q) ((q)->tail - (q)->head)
#define ROOM(q) (LEN(q) < W.room)
static inline struct wid
sim_wid(uint32_t slot)
{
	return (struct wid){slot, W.w[slot].gen};
}
static inline bool
sim_gone(struct wid w)
{
	return w.generation != 0 && (W.w[w.slot].page_gen > w.generation ||
	    (W.w[w.slot].page_gen == w.generation && !W.w[w.slot].page_pid));
}
extern const char *const sim_types[];
/* Does any process, or row, have what has begun, or may have? */
bool sim_somebody_has(uint32_t session);
void sim_given_up(uint32_t session, const char *why);

/* One order of steps; false and why in sim_why. */
bool sim_play(uint64_t seed);
/* From here on: orders in which execs fail and workers die of it. */
#define SIM_EXECS_FAIL (UINT64_C(1) << 32)
/* And those in which workers leave an END to the keeper, which has the exit. */
#define SIM_ENDS_PASSED (UINT64_C(1) << 33)
extern char sim_why[160];
/* Rules that the world goes without, 1 << rule. */
enum rule {
	RULE_CLOSED_RINGS,   /* a closed ring ends what was adopted */
	RULE_READ_OTHERS,    /* before an older worker's HOLD */
	RULE_ROW_OF_ITS_OWN, /* who spoke before its row has the session */
	RULE_FAILED_FIRST,   /* who failed before its row does not get it */
	RULE_UNHELD,         /* what no row holds is killed */
	RULE_CLOSED_FIRST    /* FAILED is said once the keeper was told */
};
extern uint32_t sim_without;
#define RULE(name) ((sim_without >> RULE_##name & 1) == 0)

/* keeper */
bool keeper_hears_master(void);
void keeper_recv(uint32_t n);
bool keeper_silent(uint32_t n);
void keeper_finish_death(uint32_t n);
void keeper_start(uint32_t n);
void keeper_link(uint32_t n);
void keeper_peer(uint32_t n);
void keeper_give(uint32_t n, uint32_t session);
void keeper_about(uint32_t n);
void keeper_send_down(void);
bool keeper_may_dump(void);
void keeper_dump(void);
bool keeper_may_change(void);
void keeper_change(void);
void keeper_master_dead(void);

/* worker */
void worker_from_keeper(uint32_t n);
void worker_order(uint32_t n);
void worker_hold(uint32_t n, uint32_t session);
void worker_clone(uint32_t n, uint32_t session);
void worker_retry(uint32_t n, uint32_t session);
bool worker_child_done(const struct held *h);
void worker_settle(uint32_t n, uint32_t session);
void worker_exit(uint32_t n, uint32_t session);
void worker_end(uint32_t n, uint32_t session);
void worker_close(uint32_t n, uint32_t session);
bool worker_may_tell(uint32_t n);
void worker_tell(uint32_t n);
bool worker_may_close(uint32_t n, uint32_t session);
void worker_send_close(uint32_t n, uint32_t session);
void child_step(uint32_t i);

/* master */
void master_begin(void);
void master_killed(void);
void master_exec(uint32_t session);
void master_kill(uint32_t session);
void master_forget(uint32_t session);
void master_from_keeper(void);
void master_from_worker(uint32_t n);
void master_commit(void);
void master_send(void);
void master_flush(uint32_t n);
/* Is a start to be ordered that can be? */
bool master_waits(void);
const char *master_state(uint32_t session);

/* fate */
void fate_worker(uint32_t n);
void fate_master(void);
void fate_keeper(void);
void fate_damage(void);

/* One move of the machine's table, other than it is. */
struct mutant {
	uint32_t state, event, answer, to;
};
bool mutant_at(uint32_t i, struct mutant *ret);
void mutant_swap(struct mutant *m);

#endif
