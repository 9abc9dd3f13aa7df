/* SPDX-License-Identifier: MIT */
/*
 * One session as its worker babysits it. What must survive the worker stands
 * in the ring's header page; what is here can be made again from that and
 * from what the keeper holds.
 *
 * States:
 *
 *     SPAWNING   START was taken; waiting to try (again), or for the exec of
 *                what was cloned (start_wait.c)
 *     RUNNING    the command was exec'd
 *     EXITING    its pidfd is readable, the keeper was asked what happened, or
 *                to say so to the master with all else of the end
 *     EXITED     exit known and recorded; output still open: pumped until EOF
 *                or until 250 ms of silence, since something that the command
 *                left behind (a "holder") may keep the pipe open for ever
 *     ENDED      the end record is frozen and told to the master, again and
 *                again until it says ENDED
 *     COMMITTED  the master has it. With all streams at EOF the keeper is told
 *                CLOSED at once. With holders it is told only when they are
 *                gone too, or when the master has removed the ring: until then
 *                their output is still pumped (they must not get SIGPIPE just
 *                because the command that began them is over), and the zombie
 *                of the leader goes on pinning the group, so a kill still
 *                reaches them.
 *     FAILED     never ran, or cannot be taken over; the keeper is told CLOSED
 *                (of what ran only after ENDED, so that no master hears of it
 *                from nobody), the master FAILED, again and again until it says
 *                ENDED, or a later START or GIVE takes its place
 *     CLOSED     over; the keeper is to be told
 *     GONE       nothing more to say; freed between two turns
 */
#ifndef PSUP_WORKER_CHILD_H
#define PSUP_WORKER_CHILD_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/ctl.h"
#include "shm/ring.h"
#include "worker/pty_scan.h"
#include "worker/timer.h"
#include "worker/worker.h"

#define CHILD_LATE_MAX    32u   /* forked under a signal, and told of it */
#define CHILD_SILENCE_MS  250u  /* of holders, before the end record */
#define CHILD_FINAL_MS    1000u /* after KILL: ended, whatever lives */
#define CHILD_FORGET_MS   2000u /* how often a holder's ring is looked for */
#define CHILD_CROWD       4u    /* so many young ones: ends wait for each other,
                                 * a little */
#define CHILD_RETRY_ASK_MS 10u
#define CHILD_RETRY_END_MS 1000u /* an END that the keeper passed on was lost */

enum child_state {
	CHILD_SPAWNING,
	CHILD_RUNNING,
	CHILD_EXITING,
	CHILD_EXITED,
	CHILD_ENDED,
	CHILD_COMMITTED,
	CHILD_FAILED,
	CHILD_CLOSED,
	CHILD_GONE,
	CHILD_STATES
};

/* What is still to be said, a bit each; sent in this order (link.c). */
enum {
	SAY_RUNNING = 1,
	SAY_EXITED = 2,
	SAY_NO_SPACE = 4,
	SAY_OUTPUT = 8,
	SAY_STDIN_AT = 16,
	SAY_END = 32,
	SAY_FAILED = 64,
	SAY_LEFT = 128,
	SAY_INPUT = 256
};
enum { TELL_ASK_EXIT = 1, TELL_DROP = 2, TELL_CLOSED = 4, TELL_END = 8 };

/* One output stream. */
struct child_out {
	struct child *child;
	int fd;        /* -1: closed */
	bool watching; /* ev is added */
	struct event ev;
};

/* stdin. */
struct child_in {
	int fd;        /* -1: closed */
	int spool_fd;  /* -1: nothing was written yet */
	bool watching; /* ev waits for room in the pipe */
	uint64_t punched;
	uint64_t watch_pos; /* WATCH_STDIN; UINT64_MAX: none */
	uint64_t look_ns;   /* boot: when the next look is due; 0: none is */
	uint64_t look_cost_ns; /* of the last one */
	uint32_t waits;     /* as the last look found it, CTL_INPUT_* ... */
	uint64_t stamp;     /* ... with its stamp */
	struct event ev;
};

/* A process that was found to be of the session (tree_proc.c). */
struct tree_known {
	int32_t pid;
	uint64_t start;
	bool stopped; /* SIGSTOP was sent */
};

/* A terminal. Its output goes through out[0].fd and its input through in.fd,
 * pipes of which the keeper holds a copy each. */
struct child_pty {
	int fd;            /* ptmx; -1: none, or closed */
	uint64_t retry_ns; /* look again: input held, or no slave open */
	uint64_t given;    /* bytes of input this worker gave */
	uint64_t eof_at;   /* from there on the spool is ^D, held until somebody
	                    * reads; UINT64_MAX: nothing is held */
	unsigned eof_looks;
	size_t eof_from; /* of its processes, the first that a look is at */
	struct pty_scan scan;
	char answer[256];  /* to queries, not yet given */
	size_t answer_len;
};

/* From when a list of processes was taken to the first signal that was sent by
 * it: in time (boot), and in the numbers that were given out (0: not known). */
struct tree_span {
	uint64_t from_ns, to_ns;
	int32_t from_pid, to_pid; /* the last one before */
};

struct spawn;
struct spill;

struct child {
	struct worker *w;
	struct sid sid;
	enum child_state state;
	pid_t pid;           /* 0: not spawned */
	int pidfd;           /* -1: not spawned, or exited */
	uint64_t hand_turn;  /* supervisor/custody.h: its START's, its GIVE's */
	uint64_t closing;    /* turn of the CLOSED that is to be said */
	bool owes;           /* FAILED: CLOSED is said once it is committed */
	bool held;           /* the keeper has a row of it */
	bool pid_watched;    /* pid_ev is added */
	bool pid_dead;       /* pid_ev came, for this pidfd */
	bool committed;      /* the master said ENDED */
	bool end_alone;      /* RUNNING need not be said where END is */
	bool end_passed;     /* END may go by way of the keeper, or did */
	bool killed;         /* the ladder's KILL was sent */
	uint32_t kill_id;    /* of the last KILL; 0: it had none */
	bool all_said;       /* nothing will be added to `want` */
	bool paused;         /* at its credit: streams are not watched */
	struct ring_writer ring; /* hdr NULL: none yet */
	struct child_out out[2]; /* by enum ring_stream */
	struct child_in in;
	struct child_pty pty;
	struct event pid_ev;
	struct start_plan *plan; /* while SPAWNING */
	struct spawn *spawn;     /* cloned, has not let go of our memory */
	bool adopted;            /* a dead worker cloned it; before its exec */
	bool young;              /* under way, and not for long: in w->young */
	bool orphan;             /* its porter was killed; before its exec */
	int32_t porter;          /* pidfd is that one's, pid is not known; or 0 */
	bool rehold;             /* the keeper's row is of a failed try */
	struct {
		bool wanted;     /* the ladder is to begin */
		int sig;
		uint32_t grace_ms;
		enum end_reason reason;
		uint64_t signals; /* sent meanwhile, 1 << number */
	} stop;                  /* under way: for when it runs */
	struct spill *spill;     /* spill.h; NULL: none, or no more */
	uint64_t leaf;           /* control group (tree.h); 0: none */
	uint64_t box;            /* ... and the box in whose group that is; 0 */
	struct tree_known *known; /* by pid */
	size_t known_count, known_cap;
	bool freezing;           /* the last rung stops before it kills */
	uint64_t frozen_ns;      /* everybody known was stopped by then */
	uint64_t hurry_ns;       /* until when it may */
	uint64_t ladder_ns;      /* when the ladder began */
	bool left_told;          /* one for holders: what it has left */
	uint64_t left_ns;        /* tell it, unless EOF comes before; 0: no */
	bool tree_empty;         /* the ladder has found nobody left */
	unsigned tree_looks;     /* since it began to look */
	struct {
		int sig;         /* 0: none */
		struct tree_span unseen; /* who began in it heard nothing */
		int32_t late[CHILD_LATE_MAX]; /* told after that, once */
		unsigned late_count;
	} first;                 /* the ladder's first signal */

	/* times, boot ns; 0: not so */
	uint64_t retry_ns;    /* SPAWNING: try again; EXITING: ask again */
	uint64_t look_ns;     /* under way: has it exec'd? */
	uint64_t look_step;   /* length of the next wait for that */
	uint64_t start_due;   /* under way: it is killed then */
	uint64_t doomed_ns;   /* it was; given up then, whatever lives */
	uint64_t exited_ns;
	uint64_t final_ns;    /* ended at the latest */
	unsigned exit_sleeps; /* looks at which it slept in the kernel, in a row */
	unsigned exit_waits;  /* it was put off so often, for a known death */
	uint64_t drop_ns;     /* tell the keeper what it need not hold */
	uint64_t stalled_ns;  /* tmpfs full since */
	uint64_t refill_ns;   /* tmpfs full: look again */
	uint64_t resumed_ns;  /* what waited is read again since */
	uint64_t forget_ns;   /* holders: is the ring still there? */
	uint64_t no_space_ns; /* NO_SPACE was last said */
	uint64_t oom_ns;      /* write the oom score again */
	uint64_t tree_ns;     /* ladder: who is left? */
	uint64_t spill_ns;    /* has its file been written by now? */

	uint64_t turn;         /* of the loop, in which turn_bytes moved */
	uint64_t turn_bytes;
	uint64_t watch_pos;    /* WATCH; UINT64_MAX: none */
	uint64_t blocks_seen;  /* of the ring, counted in stats ... */
	uint64_t blocks_told;  /* ... but for those of the END */
	struct ctl_exit exit;  /* once EXITED */
	struct ctl_end end;    /* once ENDED */
	struct ctl_failed failed;
	bool ran;             /* must not be started again */
	int32_t oom_score_adj; /* INT32_MIN: leave */
	unsigned oom_tries;
	unsigned oom_mores; /* looks whose time was up ... */
	int32_t oom_from;   /* ... at those with greater numbers; 0: none was */
	unsigned oom_looks; /* since the command has it: for its children */
	uint32_t drop_mask;    /* CTL_FD_* at EOF, not yet told */
	unsigned want[LINK_COUNT];
	bool queued[LINK_COUNT];
	TAILQ_ENTRY(child) say[LINK_COUNT];
	struct timer timer;
	LIST_ENTRY(child) all;
	LIST_ENTRY(child) bucket;
	LIST_ENTRY(child) under_way; /* in w->under_way */
};

/* A new session in SPAWNING, linked, or NULL (no memory). */
struct child *child_new(struct worker *w, struct sid sid);
struct child *child_find(struct worker *w, struct sid sid);
/* Frees what is dead. Only between two turns. */
void child_reap_dead(struct worker *w);

/* The only way to change the state; checks the move and arms the timer. */
void child_set_state(struct child *c, enum child_state to, const char *why);

/* Its process, from the clone on; and no more. */
void child_watch_pidfd(struct child *c);
void child_close_pidfd(struct child *c);
/* The command runs: watch it and say so, `late` where nobody waits to hear it.
 * Also after a take-over. */
void child_watch(struct child *c, bool late);
/* The spawn is given up. */
void child_fail(struct child *c, int error, unsigned stage);
void child_say_failed(struct child *c);
/* The keeper may let go of this turn. */
void child_say_closed(struct child *c);
/* A START, or GIVE, of that turn is here: does it take the place of an older one
 * that failed? That one is gone then, and the turn of the CLOSED that it still
 * owes the keeper is in *ret_closing, or 0. */
bool child_replace(struct child *c, uint64_t turn, uint64_t *ret_closing);
/* One that waits to be tried again is left to the new master, which knows of
 * it only what its index says: that it has not run. */
void child_give_back(struct child *c);
/* Its command has exited: what is to be said to the keeper, TELL_ASK_EXIT, or
 * TELL_END where all but the exit is known. */
unsigned child_ask(struct child *c);
/* The keeper's answer to ASK_EXIT. */
void child_exited(struct child *c, const struct ctl_exit *e);
/* After the end: counts and tells anew who is left of those it told of. */
void child_tell_left(struct child *c);
/* Freezes the end record and tells it, whatever still lives. */
void child_end(struct child *c);
/* Ends or closes where the facts allow it, and sets the timer. */
void child_step(struct child *c);
/* False: its ring's header is not what its worker wrote; it is being ended. */
bool child_ring_ok(struct child *c);
/* The master has committed the end record; `exit` as it has it, code 0: unknown. */
void child_committed(struct child *c, const struct ctl_exit *exit);
/* A new master, perhaps of another build: what the last one needed not hear, or
 * had from the keeper, is said. */
void child_says_all(struct child *c);
/* Both channels have been told everything: is it over? */
void child_settle(struct child *c);

#endif
