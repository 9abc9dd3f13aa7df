/* SPDX-License-Identifier: MIT */
/*
 * What the keeper's own files share: the state of the one loop. Only the keeper
 * includes this.
 *
 *     loop.c              the loop, timers, signals
 *     stop.c              the end of everything
 *     rundir.c            lock, socket, log, incarnation
 *     mend.c              what a stray write damaged, made again
 *     leftovers.c         what a dead keeper left running
 *     groups_place.c      in which control group others are made
 *     groups.c            the control groups that commands run in
 *     notify.c            what a service manager is told
 *     launch.c            one process: clone, exec, heritage
 *     upgrade/programs.c  the programs: found, held open, tried
 *     upgrade/steps.c     another build takes over, step by step
 *     upgrade/save.c      the state for a successor
 *     upgrade/restore.c   the state of a predecessor
 *     upgrade/exec.c      the exec in place, and what follows it
 *     procs.c             master and workers: start, ready, death
 *     heirs.c             who gets the sessions of a dead worker
 *     silent.c            master and workers that do not beat
 *     recv.c              what they say
 *     send.c              what they are told
 *     reap.c              exits of commands, orphans
 *     blame.c             what was in hand of who died by itself
 *     pids.c              which process a session is
 *     table.c             sessions
 */
#ifndef PSUP_SUPERVISOR_KEEPER_STATE_H
#define PSUP_SUPERVISOR_KEEPER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "clock.h"
#include "ctl.h"
#include "heritage.h"
#include "shm/stats.h"
#include "supervisor/keeper/keeper.h"
#include "supervisor/keeper/table.h"

#define KEEPER_WORKERS_MAX 32u
#define KEEPER_SLOTS       (KEEPER_WORKERS_MAX + 1) /* and the standby */
#define KEEPER_DOWNS       128u
#define KEEPER_ROWS_MAX    65536u
#define NEVER              UINT64_MAX

enum proc_state {
	PROC_NONE,     /* not running; next_start_ns says when it will be */
	PROC_STARTING, /* exec'd, not READY */
	PROC_READY,
	PROC_DYING     /* pidfd readable; its channel is being read to EOF */
};

/* What a process must be told; sent when there is room. */
enum proc_todo {
	TODO_ROLE = 1,
	TODO_RELOAD = 2,
	TODO_STOP = 4,
	TODO_LEAVE = 8,
	TODO_UPGRADED = 16,
	TODO_LOG = 32,
	TODO_KEPT = TODO_ROLE | TODO_RELOAD | TODO_LOG /* by a new keeper */
};

/* Three programs, open since they were found: what lies at a path may be
 * another build's by the time a worker dies. */
enum set_id { SET_OLD, SET_NEW, SETS };
struct program_set {
	char path[PROGRAMS][PATH_MAX];
	int fd[PROGRAMS]; /* O_PATH; -1: none */
};

/* Workers that may die of one session, reliability.md. */
#define KEEPER_CRASHES 3u

/* The master, or the incumbent of a worker slot. */
struct proc {
	enum heritage_role role;
	struct wid wid;
	enum proc_state state;
	enum set_id set; /* of the programs that it was started from */
	bool leaving;    /* told to, for another build */
	int32_t pid;
	int pidfd;
	int chan;        /* -1: none */
	bool chan_eof;   /* closed by the other side, out of epoll */
	bool drained;    /* DYING: all that it had sent itself was read */
	bool blocked;    /* waits for EPOLLOUT */
	uint32_t todo;   /* enum proc_todo */
	/* a worker's link to the master: pairs made, ends not yet sent */
	uint32_t linked; /* generation of the master; 0: no link */
	int peer_fd;     /* the worker's end */
	int master_fd;   /* the master's end */
	bool tell_role;  /* the master must learn its role */

	bool was_ready; /* when it died */
	uint64_t started_ns;
	uint64_t died_ns;       /* when that was noticed; 0: not yet */
	uint64_t drain_ns;      /* DYING: give up waiting for EOF */
	uint64_t next_start_ns; /* NONE: start then; NEVER: do not */
	uint32_t faults; /* deaths by its own fault, in a row */
	uint32_t killed; /* by SIGKILL while it started, in a row */
	uint32_t crashes; /* of young masters with no request in hand, in a row */
	uint32_t restarts;
	bool hung;          /* killed by us for its silence */
	uint64_t probed_ns; /* when a silent heartbeat was first prodded; 0 */
	struct stats_page *page;
};

/* A dead worker the master has not been told about yet. */
struct down {
	struct wid wid;
	int32_t pid, code, status;
	struct sid in_hand;
	bool whole; /* rows of the whole table: several deaths were queued */
};

enum dump_state { DUMP_WAIT, DUMP_ROWS, DUMP_DONE };

/* A program that is tried, bounded in time and in what it may say. */
struct trial {
	int32_t pid; /* 0: none */
	int pidfd, out;
	uint64_t most_ns, until_ns; /* how long it may take; boot */
	size_t len;
	char text[ABI_TEXT_MAX];
};
enum trial_verdict { TRIAL_RUNS, TRIAL_OK, TRIAL_FAILED };

/* Another build takes over: keeper/upgrade/steps.c. */
struct upgrade {
	enum ctl_upgrade_phase phase;
	uint64_t id;
	uint64_t began_ns, ended_ns;
	uint64_t step_ns;      /* this step has to be over then */
	uint64_t leave_ns;     /* who was told to leave has to be gone then */
	uint32_t ready_ms;
	uint32_t program;      /* the one that is asked; PROGRAMS: the search */
	char dir[CTL_DIR_MAX]; /* "": where the old ones are */
	uint32_t killed_young; /* new processes, by others, not ready yet */
	uint32_t sessions, replaced;
	bool checked;          /* the last look before the exec was fine */
	struct trial trial;
	struct abi_other first; /* what psupd said of itself */
	char from[ABI_BUILD_MAX], to[ABI_BUILD_MAX];
	char why[512];
};

enum stop_phase { STOP_NO, STOP_LADDER, STOP_KILLED, STOP_WORKERS,
	STOP_MASTER, STOP_DONE };

struct keeper {
	struct keeper_options *opt;
	struct table *table;
	struct stats_page *stats; /* all pages */
	uint64_t incarnation;
	uint64_t started_ms; /* wall */
	uint32_t workers;      /* active ones wanted */
	uint32_t slots;        /* workers + 1 */
	uint32_t max_sessions;
	uint64_t nofile_soft; /* before it was raised; commands get it back */
	uint64_t core_soft;   /* before it was lowered; the same */
	char group[HERITAGE_GROUPS][HERITAGE_GROUP_MAX]; /* "": none */
	int group_lock[HERITAGE_GROUPS];
	bool had_children; /* before it was psupd */
	bool is_init;      /* pid 1: strangers are reparented to it */
	uint32_t group_flags; /* HERITAGE_TREE_* */
	int epoll, signals, dir, lock, listener, null;
	int parts; /* into which a turn's messages go, while they are read */
	bool listener_passed; /* its name is not ours to remove */

	struct proc master;
	struct proc slot[KEEPER_SLOTS];

	struct program_set set[SETS]; /* NEW: of an upgrade */
	enum set_id use_master, use_workers; /* for whoever starts next */
	struct upgrade upgrade;

	/* to the master */
	enum dump_state dump;
	uint32_t dump_next; /* row index */
	struct down downs[KEEPER_DOWNS];
	uint32_t downs_head, downs_count;
	uint32_t down_next; /* row index within the first down */

	/* orphans */
	bool activity;      /* something may have died since the last sweep */
	bool sweeps;        /* one is under way */
	bool names;         /* so is a look at which processes rows are */
	bool names_wanted;  /* one at all of them, once the channels are read */
	uint64_t named_ns;  /* whatever was cloned before is in its row */
	uint32_t orphans;   /* known to be alive at the last sweep */
	uint32_t withheld;  /* zombies that this sweep left to be claimed */
	uint64_t sweep_ns;  /* the next one, where something is to be reaped */
	uint64_t tick_ns;   /* the next one */
	bool sends;         /* somebody is told more in the next turn */
	uint32_t sent;      /* messages to whoever is told now */
	bool waiting;       /* for somebody's heartbeat */
	uint64_t check_ns;  /* of the directory, the next one */
	uint64_t retry_ns;  /* a send failed for want of kernel memory */

	/* the end */
	enum stop_phase stop;
	uint32_t stop_grace_ms, stop_signal;
	uint64_t stop_ns; /* the phase's deadline */
	bool ready;       /* everybody was ready once */
	bool give_up;     /* start failed; reason said */
	int exit_code;
};

/* --- rundir.c */
int rundir_begin(struct keeper *k);  /* exit code; 0: fine */
int rundir_listen(struct keeper *k); /* exit code; 0: fine */
void rundir_end(struct keeper *k);
void rundir_check(struct keeper *k);
int rundir_lock_mend(struct keeper *k);

/* --- mend.c */
void mend_all(struct keeper *k);
void mend_stats(struct keeper *k);
void mend_lost(struct keeper *k);

/* --- leftovers.c */
int leftover_kill(int dirfd, uint64_t incarnation);
int leftover_mend(int dirfd, uint64_t incarnation);
void leftover_own(uint64_t incarnation, bool children);
bool leftover_had_children(void);
void leftover_workers(int lock);

/* --- groups_place.c */
/* From the path of the group that this process is in to that of the one in which to
 * make others. Those get the controllers `bounds`, if that can be (true), and `shares`
 * where the keeper has a group of its own beside them: else all commands would have
 * the share of one process in this one. */
bool group_place(char *own, const char *const *bounds, const char *const *shares);
/* Gives ours its weight where it lies beside `tree`, that of the commands, and both
 * have a share of processors; there autogroups do not count. */
bool group_come_first(const char *tree);

/* --- groups.c */
void group_begin(struct keeper *k);
void group_end(struct keeper *k);
void group_leftover(int dirfd);

/* --- launch.c: starts a process with its heritage; sets pid, pidfd,
 * chan. 0 or -errno. */
int launch_proc(struct keeper *k, struct proc *p);
void launch_buffers(int fd);
/* The caller, leader of its POSIX session, gets processors before commands do:
 * each of them is one, too, and worth as much as all of us. Where permitted; the
 * sessions of others begin at nice 0. */
void launch_come_first(void);
/* Starts a program with one argument, stdout into `out`, `info` (or -1) at
 * HERITAGE_FD_INFO. */
int launch_trial(struct keeper *k, int binary, const char *name,
    const char *arg, int out, int info, int32_t *ret_pid, int *ret_pidfd);

/* --- keeper/upgrade/programs.c */
int programs_open(struct program_set *s); /* 0 or -errno */
void programs_close(struct program_set *s);
int programs_find(struct keeper *k, const char *dir, char *why, size_t size);
const char *programs_name(enum program p);
int trial_start(struct keeper *k, struct trial *t, int binary,
    const char *name, const char *arg, int info);
/* Whether programs_find() comes back, and what is found can be run. */
int trial_search(struct keeper *k, struct trial *t, const char *dir);
enum trial_verdict trial_look(struct keeper *k, struct trial *t, uint64_t now);
void trial_end(struct keeper *k, struct trial *t);

/* --- keeper/upgrade/steps.c */
void upgrade_begin(struct keeper *k, const struct ctl_upgrade *m);
void upgrade_run(struct keeper *k, uint64_t now);
uint64_t upgrade_next_ns(const struct keeper *k);
void upgrade_death(struct keeper *k, const struct proc *p, bool killed);
bool upgrade_active(const struct keeper *k);
void upgrade_over(struct keeper *k, enum ctl_upgrade_phase phase);

/* --- keeper/upgrade/exec.c: does not come back where it works; -errno */
int exec_successor(struct keeper *k);

/* --- procs.c */
void procs_init(struct keeper *k);
void procs_note_page(struct proc *p);
void procs_note_pages(struct keeper *k);
void procs_run_due(struct keeper *k, uint64_t now);
void procs_died(struct keeper *k, struct proc *p);
void procs_ready(struct keeper *k, struct proc *p);
void procs_chan_eof(struct keeper *k, struct proc *p);
uint64_t procs_next_ns(const struct keeper *k);
bool procs_alive(const struct proc *p);
const char *procs_name(const struct proc *p);
/* Which process an event of the log is about. */
#define KV_PROC(p)                                                             \
	KV("role", procs_name(p)), KV("role_slot", (p)->wid.slot),             \
	    KV("role_generation", (p)->wid.generation),                        \
	    KV("role_pid", (p)->pid)
void procs_signal(const struct proc *p, int sig);

/* --- heirs.c: a worker is gone for sure */
void heirs_succeed(struct keeper *k, struct proc *dead, const struct down *d);
/* Counts how long a dead worker's session was in nobody's hands. */
void heirs_note(struct keeper *k, const struct row *r);

/* --- links.c: channels of masters and workers that are both ready */
void links_make(struct keeper *k);
/* Another one in place of one that was lost on its way. */
void links_again(struct keeper *k, struct proc *w);
/* Closes what is left of one. */
void links_close(struct proc *w);

/* --- silent.c: once a tick */
void procs_watch(struct keeper *k, uint64_t now);

/* --- recv.c: reads what is there, up to a bound; true: all of it */
bool recv_from(struct keeper *k, struct proc *p);
/* All that one has said until now, where it must be known. */
void recv_all(struct keeper *k, struct proc *p);

/* --- send.c */
/* Whatever this worker has to hear, as far as it has room. */
void send_to(struct keeper *k, struct proc *worker);
void send_all(struct keeper *k);
void send_reset_master(struct keeper *k);
void send_down(struct keeper *k, const struct down *d);
/* One message, now. False: it has not left, and nobody sends it later. */
bool send_now(struct keeper *k, struct proc *p, const void *m, size_t size);

/* --- reap.c */
void reap_look(struct row *r);
/* How a child ended, code 0 where it lives; does not reap. False: no child of
 * ours, or reaped. */
bool reap_exit_of(int32_t pid, struct ctl_exit *ret);
void reap_close(struct keeper *k, struct row *r, uint32_t mask);
void reap_forget(struct keeper *k, struct row *r);
/* Reaps what is dead and nobody's, some of them. True: it was through all. */
bool reap_sweep(struct keeper *k);
/* Reaps a dead porter that its worker names, unless it is a row's; 0: none. */
void reap_porter(const struct keeper *k, int32_t pid);
bool reap_is_child(int32_t pid);
bool reap_is_known(const struct keeper *k, int32_t pid);
/* Reads all that the workers' channels hold. False: there is still more. */
bool reap_drain_workers(struct keeper *k);

/* --- blame.c */
void blame_session(struct keeper *k, const struct proc *dead,
    const struct down *d);
void blame_master(struct proc *dead, const struct down *d, bool young);

/* --- pids.c: which process a row's command is */
bool pids_take(struct keeper *k, struct row *r, int32_t pid);
void pids_read(struct keeper *k, struct row *r);
void pids_read_all(struct keeper *k);
/* The tick's: the rows that were held a while before. */
void pids_old_begin(struct keeper *k, uint64_t now);
/* Some rows of a look that is under way, or wanted. */
void pids_some(struct keeper *k);
/* Is this child that is dead, and in no row, the command of none? Where it began
 * too late to know, a look begins after which that will be known. */
bool pids_is_nobody(struct keeper *k, int32_t pid);
/* Might this child be the command of a row whose header does not say so? */
bool pids_may_be(const struct keeper *k, int32_t pid);
/* The rows of a dead worker: by their headers, by the children there are. */
void pids_find(struct keeper *k, const struct proc *dead);
bool pids_awaited(const struct keeper *k, uint32_t slot);

/* --- stop.c */
/* Begins the end, or hastens it; its next step. */
void keeper_stop(struct keeper *k, uint32_t grace_ms, uint32_t sig);
void keeper_stop_run(struct keeper *k, uint64_t now);

/* --- loop.c */
void keeper_note_page(struct keeper *k);
int keeper_epoll_add(struct keeper *k, int fd, const struct proc *p, int kind);
void keeper_epoll_out(struct keeper *k, const struct proc *p, bool on);
void keeper_epoll_del(struct keeper *k, int fd);

int keeper_prepare(struct keeper *k); /* loop and signals; 0 or an exit code */
int keeper_live(struct keeper *k);    /* the loop, and the end */

enum { EV_SIGNAL = 1, EV_CHAN, EV_PIDFD, EV_TRIAL };

#endif
