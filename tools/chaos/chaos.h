/* SPDX-License-Identifier: MIT */
/*
 * psup-chaos: kills a server's processes again and again while sessions of
 * known output run, then checks every byte, status, start, order and event,
 * and what is left behind.
 *
 *     chaos.c    options, the phases of a campaign, the exit code
 *     server.c   a server of its own, or the one that runs; its processes
 *     boxed.c    half of the sessions in boxes
 *     boxed_kill.c   the boxes' death: what is lost with one, and the next
 *     child.c    the commands: each byte a function of its position
 *     story.c    one session: started, followed, compared (story_check.c)
 *     kinds.c    what each kind of session does and must give
 *     threads.c  stories one after the other, a queue, a subscriber
 *     ledger.c   what was started, and what is owed: starts, events, order
 *     killer.c   whom to kill, when, and how soon they are back
 *     faults.c   processes that kill, stop or hinder themselves (test builds)
 *     upgrade.c  other programs take over, again and again
 *     keeper/loop.c   the keeper's death: who outlives it, and the next server
 *     bystander.c   clients that are killed: a reader, a gateway
 *     hostile*.c    clients that take all they may: time, room, places
 *     witness.c     one who must not notice them
 *     leaks.c    processes, zombies, descriptors, files, records
 *     report.c   counters, percentiles, text and JSON
 *     program.c  the same for a program of the user's
 */
#ifndef PSUP_CHAOS_H
#define PSUP_CHAOS_H

#include <psup/psup.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/clock.h"

#define ID_BYTES    48
#define READY_BYTES 64 /* of pattern, then a child is ready */
#define PATIENCE_MS 60000 /* without any progress: stuck, a loss */
/* Has it been waited for so long, without a keeper's death in between? */
bool is_patience_over(uint64_t since_ns);

/* ---------------------------------------------------------------- options */

enum victim {
	VICTIM_WORKER = 1,
	VICTIM_MASTER = 2,
	VICTIM_READER = 4,
	VICTIM_GATEWAY = 8,
	VICTIM_COMMAND = 16,
	VICTIM_KEEPER = 32,
	VICTIM_BOX = 64
};

struct options {
	const char *runtime_dir; /* NULL: a server of its own */
	const char *fault;       /* "pump.after-splice@50=kill", "~": all; NULL: none */
	const char *json;        /* file of the JSON report, "-": stdout */
	bool upgrade;            /* again and again */
	const char *upgrade_dir; /* to its programs in turn; NULL: always to
	                          * those that are there */
	bool boxed;              /* every other session runs in a box */
	const char *command;     /* a program of the user's; NULL: ours */
	const char *on_text;     /* of it: kill when it has written this */
	unsigned victims;        /* of enum victim */
	bool together;           /* worker and master at the same moment */
	const char *hostile;     /* kinds, by commas, or "all"; NULL: none */
	int late_ms;             /* the witness's answers above idle, p99; 0:
	                          * it only tells */
	int signal;              /* SIGKILL or SIGSTOP */
	int stop_ms;             /* SIGCONT after that; 0: never */
	double rate;             /* kills a second */
	double seconds;          /* 0: no end by time */
	int64_t kills;           /* 0: no end by count */
	int sessions;            /* at once */
	int idle;                /* more, that do nothing until the end */
	int workers;             /* of a server of its own; 0: default */
	int after_ms;            /* of a program: kill so long after its start */
	int restarts;            /* of a program; -1: always */
	bool quiet;
	unsigned seed;
};

/* -------------------------------------------------------------- counters */

/* What must be 0 at the end, or psup-chaos says so by its exit code. */
enum loss {
	LOSS_BYTES,         /* output that is missing */
	LOSS_WRONG,         /* output that is not what was written */
	LOSS_STDIN,         /* input lost, doubled or out of order */
	LOSS_STATUS,        /* an exit code, signal or reason that is wrong */
	LOSS_START,         /* sessions that never ran */
	LOSS_START_TWICE,   /* sessions that ran twice */
	LOSS_EVENT,         /* exit events that never came */
	LOSS_EVENT_TWICE,
	LOSS_ORDER,         /* queued sessions that ran out of turn */
	LOSS_STUCK,         /* no answer, output or end for a minute */
	LOSS_ANSWER,        /* an answer that must not be */
	LOSS_LATE,          /* the witness's answers and lines */
	LOSS_SERVER,        /* processes of psup that nobody killed */
	LOSS_PROCESS,       /* left behind: processes, */
	LOSS_ZOMBIE,        /* zombies, */
	LOSS_DESCRIPTOR,    /* descriptors, */
	LOSS_FILE,          /* files of the runtime directory, */
	LOSS_RECORD,        /* records of the index */
	LOSS_COUNT
};

/* Times in µs, growing; not for two threads at once. */
struct times {
	uint32_t *us;
	size_t n, room;
};
void times_add(struct times *t, uint64_t ns);
/* share: 0.5, 0.99, 1. 0 where there are none. Sorts. */
double times_percentile_ms(struct times *t, double share);

struct campaign {
	struct options o;
	char self[4096];
	char dir[256];  /* the runtime directory */
	char work[64];  /* files of the commands: starts, order */
	bool own;       /* the server is ours */
	_Atomic bool tending; /* while nobody is killed: faults_tend_thread() */
	bool by_points; /* whom --fault names dies, nobody else */
	bool full;      /* by --fault the tmpfs is full: output is dropped */
	bool no_spill;  /* spill files end early, by --fault */
	bool no_index;  /* a turn cannot be written now and then, by --fault */
	bool in_hand;   /* by --fault a terminal's input is copied by hand */
	_Atomic pid_t keeper;
	uint64_t began_ns;
	_Atomic bool subscribed; /* its place is remembered from then on */
	_Atomic bool stop_killing, stop_starting, interrupted;
	_Atomic long loss[LOSS_COUNT];
	_Atomic long kills_worker, kills_master, kills_reader, kills_gateway,
	    kills_command, kills_keeper, kills_box, kills_point, stops;
	_Atomic long upgrades_done, upgrades_undone;
	_Atomic long started, ended, repeats; /* sessions; requests asked again */
	_Atomic bool hiding_allowed; /* the workers died with the keeper */
	_Atomic uint64_t keeper_dead_ns; /* when the last one had a successor */
	_Atomic long keepers_dead;  /* of kills_keeper, those that are over */
	_Atomic long lost_sessions; /* by the keeper's death, and told so */
	long lost_queued;           /* of them, those that had waited */
	_Atomic long lost_boxed;    /* by their box's death, and told so */
	long hid;                   /* processes that the next server ended */
	_Atomic uint64_t bytes_checked, steps;
	_Atomic long events_seen;
	/* the killer's alone */
	struct times worker_back, master_back, keeper_back, commands_gone,
	    box_back;
};

extern struct campaign chaos;

#define SESSIONS_MAX 512
/* The command line, into chaos.o. -1: go on; else the exit code (options.c). */
int options_take(int argc, char **argv);

/* Counts, and says the first few of each kind on stderr. */
void lost(enum loss what, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Something went on: the killer may go on, too. */
void stepped(void);

void nap_ms(double ms);
void die(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));
/* fork(2) of a process that ends with us, over an exec, too. 0 in the child. */
pid_t fork_bound(void);
/* Another life of this program, bound to us: `--child ROLE WORD`, and where the
 * server and its work are. */
pid_t child_start(const char *role, const char *word);
/* xorshift; *state is never 0. */
uint32_t rnd(uint32_t *state);

/* ----------------------------------------------------------------- server */

void server_start(void);
/* The next one after the keeper's death; until it answers. False: it died
 * again (by a fault point). */
bool server_again(void);
/* Shuts an own server down and looks at what is left of it. */
void server_stop(void);
/* Has our own server's keeper died, unasked or by a fault point? */
bool server_is_dead(void);
/* Was it started without the fault points, since the last one died at one
 * before it answered? */
bool server_is_spared(void);
void server_spare_next(void);
/* Processes of a role ("worker", "master") that are up; returns how many. */
struct process {
	pid_t pid;
	int slot;
};
#define PROCESSES_MAX 64
int server_processes(psup_view *v, const char *role,
    struct process ret[PROCESSES_MAX]);

/* --------------------------------------------------------------- children */

/* Byte `pos` of the output of session number n; printable. */
char pattern_byte(uint32_t n, uint64_t pos);
void pattern_fill(uint32_t n, uint64_t pos, char *buf, size_t size);
/* The other lives of this program: `psup-chaos --child WORD ...`. */
int child_main(int argc, char **argv);
int bystander_main(int argc, char **argv);
int hostile_main(int argc, char **argv);
int beat_main(void) __attribute__((noreturn));

/* ---------------------------------------------------------------- requests */

/* One request, asked again until it is answered, however often the server is
 * killed meanwhile: for requests that may be repeated. PSUP_OK, or
 * PSUP_ERR_REFUSED, or LOST (counted as stuck). Its arguments are freed. */
int ask(psup *p, const char *method, psup_args *a, psup_reply **ret);
/* Connects where it is not connected. */
bool reach(psup *p);
/* A client, not connected yet; the end of this program where there is no memory. */
psup *client_new(void);
/* Arguments that begin with a session. */
psup_args *of_session(const char *id);
/* What an answer says, cut, or, where there is none, the error's words. Until
 * the next call of this thread. */
const char *said(const psup *p, const psup_reply *r);
/* Is that the code of an answer's details? Builds of before `code` had it as
 * `error`, which is a sentence now. */
bool answer_is(const psup_value *details, const char *code);

/* ----------------------------------------------------------------- ledger */

enum kind {
	KIND_STREAM, /* up to what is kept: no byte may be missing */
	KIND_BURST,  /* more than is kept: the gap is told exactly */
	KIND_EXIT,   /* a code, or a signal */
	KIND_ECHO,   /* stdin comes back */
	KIND_TERMINAL, /* a terminal */
	KIND_FRONT,  /* in the foreground, by request key */
	KIND_KEYS,   /* a terminal's input comes back */
	KIND_HIDE,   /* what it hid ends with it, when it is killed */
	KIND_TIMEOUT, /* ends by its time-out, not sooner, not much later */
	KIND_FAIL,   /* a program that is not there */
	KIND_SPILL,  /* its output is in a file, too */
	KIND_QUEUE,  /* waits in a lane */
	KIND_TICK,   /* writes on and on until it is ended */
	KIND_IDLE,   /* does nothing until its input ends */
	KIND_COUNT
};

/* A new session's number, from 1. Thread-safe. */
uint32_t ledger_new(enum kind kind);
/* Its end was seen: only such a one is owed an event. */
void ledger_ended(uint32_t n);
/* As above, by a death of the keeper, one after the first `after` of them, up
 * to the `upto`-th: it need not have run. */
void ledger_lost(uint32_t n, long after, long upto);
/* An exit event arrived for a session of this sessionKey. */
void ledger_event(const char *session_key);
/* Sessions that are owed an event which has not come. */
long ledger_events_owed(void);
/* At the end: starts, queue order and events against what was asked. */
void ledger_check(void);
/* The key of number n. */
void ledger_key(uint32_t n, char *buf, size_t size);

/* ------------------------------------------------------------------ boxes */

/* With --boxed: what psup.conf says, before the server starts. */
void boxed_prepare(void);
/* Is this session to run in one? Of every kind but a spill file's. */
bool boxed_has(enum kind kind, uint32_t n);
/* In which: the place of its scope, whose name that is. */
#define BOXES 3
unsigned boxed_place(uint32_t n);
void boxed_scope(unsigned place, char ret[ID_BYTES]);
/* How many of that place are dead; and how many are, or are about to be. */
long boxed_dead(unsigned place);
long boxed_killed(unsigned place);
/* Kills one of them, if there is one, by its pid 1 or by its bwrap; with
 * `together` by a function in between, which kills others. Whoever asks for a
 * box of that scope then must get another one. */
void box_kill(uint32_t *random, psup_view *v, void (*together)(psup_view *v));
#define BOXED_SELF "/psup/" /* where this program lies in there, and its files */
#define BOXED_WORK "/chaos"
/* Ends the boxes, and waits until none is left. */
void boxed_end(void);

/* ---------------------------------------------------------------- stories */

/* Runs one session of a kind from start to end, on a connection of one's
 * own. */
void story_run(psup *p, enum kind kind, uint32_t *random);
const char *kind_name(enum kind kind);
/* Each a connection of its own: sessions one after the other, a queue, one
 * that writes on and on, whoever waits for the events. */
void *story_thread(void *arg);
void *queue_thread(void *arg);
void *tick_thread(void *arg);
void idle_start(void);
void idle_end(void);
/* From here on events are kept for it. */
void subscriber_known(psup *p);
void *subscriber_thread(void *arg);
/* Ids of the ticking sessions, for the killer. */
#define TICKS_MAX 16
size_t ticks(char (*ret_ids)[ID_BYTES]);

/* ----------------------------------------------------------------- killer */

void *killer_thread(void *arg);
void bystanders_start(void);
void bystanders_stop(void);
/* Kills one and starts the next, or stops it for a while; false: none is up. */
bool bystander_kill(enum victim which, uint32_t *random);
/* Has the campaign killed enough? */
bool killed_enough(void);

/* ---------------------------------------------------------------- hostile */

bool hostile_known(const char *words);
/* What the server must find when it starts; before there is a thread. */
void hostile_prepare(void);
void hostile_begin(void);
/* Ends them, and what they left. */
void hostile_end(void);
#define WITNESS_SCOPE "witness" /* hostile_end() forgets what it ran */
/* Asks for a while, then goes on; the hostile begin after that. */
void witness_start(void);
void witness_stop(void);
/* The i-th row of the report; NULL: no more. */
struct times *witness_times(int i, const char **ret_name,
    const char **ret_key);

/* ----------------------------------------------------------------- faults */

/* Reads --fault; exits where it cannot be understood. */
void faults_parse(void);
/* Variables for the server's environment; NULL: none. */
void faults_environment(const char *ret[2]);
/* Reads how often which point's time came, for the report. */
void faults_count(void);
json_t *faults_rows(void);
/* Do keepers die by their own hand? */
bool faults_of_keeper(void);
/* Until there were enough: counts those who die by their own hand, lets go on
 * those who stopped. */
void faults_watch(void);
/* While nobody is killed, the latter alone. */
void *faults_tend_thread(void *arg);

/* ---------------------------------------------------------------- upgrade */

void *upgrade_thread(void *arg);
/* One more, when nobody is killed any more: it must be done. */
void upgrade_last(void);

/* ----------------------------------------------------------------- keeper */

/* Kills the keeper, some others at the same moment or just before, and starts
 * the next server. */
void keeper_kill(psup_view *v, uint32_t *random);
/* It died by its own hand: everything after that. `v`: of the dead one; NULL
 * where nobody but keepers is killed. */
void keeper_died(psup_view *v);
/* That worker, or standby, was killed. */
void keeper_killed_worker(pid_t pid);
/* Has one died since there were so many deaths, whether counted or not? */
bool keeper_died_since(long deaths);
/* The same, or does it within a moment, where it has fault points? */
bool keeper_dies(long deaths);

/* ------------------------------------------------------------------ leaks */

/* What there is before a campaign. */
void leaks_before(void);
/* Ends and forgets all sessions whose row has this value. */
void remove_sessions(psup *p, const char *key, const char *value);
/* Compares; after the sessions are forgotten, before the server ends. */
void leaks_after(void);

/* ----------------------------------------------------------------- report */

/* Of all kinds. */
long kills_by_hand(void);
void progress_print(void);
/* The exit code: 0 only where every loss is 0. */
int report_print(void);

/* ---------------------------------------------------------------- program */

/* --command: runs, kills, reports; the exit code. */
int program_run(void);
/* The runs, for the JSON report; NULL: there were none. */
json_t *program_rows(void);

#endif
