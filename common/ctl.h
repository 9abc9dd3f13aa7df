/* SPDX-License-Identifier: MIT */
/*
 * What keeper, master and workers say to each other: one SOCK_SEQPACKET
 * datagram is one message, a struct below, descriptors beside it by
 * SCM_RIGHTS. While one build takes over from another the three differ in
 * their versions: a head carries the stamp of abi.h, a struct grows at its end
 * alone, and ctl_recv() cuts what a newer build's has more, or fills with 0
 * what an older one's has less.
 *
 *     keeper <-> worker    one socketpair per worker; the keeper's end has
 *                          SO_PASSCRED. The kernel writes the pid of a
 *                          command's child into the ring's header before the
 *                          child runs: the channel of a dead worker is read
 *                          until it is empty, then the headers, and only then
 *                          is "never heard of" true. Where the worker cannot
 *                          have that (spawn.h) the child sends CTL_SPAWNED
 *                          before its exec, through its copy of the worker's
 *                          end, and the channel is read to EOF.
 *     keeper <-> master    one socketpair per master
 *     master <-> worker    one socketpair per pair of incarnations, made by
 *                          the keeper and handed to both (CTL_PEER)
 *
 * Order of one session, in messages:
 *
 *     M->W START   W->K HOLD+fds   clone   (child->K SPAWNED)   W->M RUNNING
 *     ... pidfd readable: W->K ASK_EXIT   K->W EXITED   W->M EXITED (if output
 *     is still open)   drained: W->M END   master commits   M->W ENDED
 *     W->K CLOSED   keeper closes, reaps, forgets
 *
 * Most commands leave nothing behind: all is drained when the pidfd is readable.
 * Then the way is shorter, where keeper and master know it:
 *
 *     ... pidfd readable, drained: W->K END   K->M END, with the exit   master
 *     commits   M->W ENDED, with the exit   W->K CLOSED
 *
 * So the zombie pins pid and process group until the end record is committed,
 * and whoever dies in between finds the rest in the others.
 *
 * Whose word counts a turn says (supervisor/custody.h): START by its attempt,
 * HOLD, GIVE, HELD, RUNNING, FAILED, EXITED, END, CLOSED and ENDED by a field at
 * their end. A build before version 5 says none, which is 0.
 */
#ifndef PSUP_CTL_H
#define PSUP_CTL_H

#include <stddef.h>
#include <stdint.h>

#include "ids.h"

#define CTL_VERSION   8u /* abi.c has the same */
#define CTL_READER    2u
#define CTL_READER_BOXED 7u /* of a START that is BOXED */
#define CTL_READER_NO_LINKS 8u /* of one with NO_LINKS */
#define CTL_KNOWS_AS_IS 8u /* a worker of that version SPARE_AS_IS */
#define CTL_MAX_BYTES 65536u /* a larger START travels in a sealed memfd */
#define CTL_MAX_FDS   253    /* SCM_MAX_FD */
#define CTL_STARTS_MAX 64u   /* that one worker has under way at once */
#define CTL_SPARES_MAX 320u /* rings that a worker keeps open for others */

enum ctl_type {
	/* worker or master -> keeper */
	CTL_READY = 1, /* head only: initialised, may be used */
	CTL_HOLD,      /* W->K ctl_fds + descriptors: hold these for session */
	CTL_SPAWNED,   /* child->K head only: about to exec; pid by SCM_CREDS */
	CTL_ASK_EXIT,  /* W->K ctl_pid: pidfd is readable, what happened? */
	CTL_DROP,      /* W->K ctl_fds: close these of what you hold */
	CTL_CLOSED,    /* W->K ctl_turn: over and committed: reap, forget */
	CTL_SHUTDOWN,  /* M->K ctl_shutdown: end everything, then yourself */
	CTL_ASK_PEER,  /* M->K ctl_role: the channel to that one was lost, make
	                * another */
	CTL_UPGRADE,   /* M->K ctl_upgrade: other programs take over */
	CTL_LOG,       /* M->K ctl_log: the configuration, read again, says so.
	                * Also K->M, K->W: log like that from now on */

	/* keeper -> worker */
	CTL_EXITED = 32, /* ctl_exit. Also W->M: root exited, output open */
	CTL_GIVE,        /* ctl_give + descriptors in ctl_fds order: take over */
	CTL_ROLE,        /* ctl_role: active or standby from now on. Also K->M,
	                  * about the worker of that wid */
	CTL_STOP,        /* ctl_shutdown: stop ladder for all you babysit */
	CTL_LEAVE,       /* head only: make way for another build, between two
	                  * turns of your loop; somebody takes over what you
	                  * have. Also K->M: after a commit. */

	/* keeper -> master */
	CTL_HELD = 64,  /* ctl_held: one row of the keeper's table */
	CTL_TABLE_END,  /* head only: all rows sent (master's start) */
	CTL_WORKER_DOWN, /* ctl_peer: dead for sure, its channel read to EOF; its
	                  * HELD rows came just before. A session given to it
	                  * that is in no row never ran. */
	CTL_RELOAD,     /* head only: SIGHUP. Also K->W */
	CTL_STOPPING,   /* ctl_shutdown: the keeper is ending everything */
	CTL_UPGRADED,   /* ctl_upgraded: how far the upgrade is; also to every
	                 * new master, about the last one */

	/* keeper -> master and worker */
	CTL_PEER = 96, /* ctl_peer + one descriptor: the channel to that one */

	/* master -> worker */
	CTL_START = 128, /* ctl_start (+ blob, or + memfd with the blob) */
	CTL_STDIN,       /* ctl_stdin: the spool has grown, or ends */
	CTL_KILL,        /* ctl_kill */
	CTL_CREDIT,      /* ctl_pos: do not move output beyond this position;
	                  * UINT64_MAX lifts the limit */
	CTL_WATCH,       /* ctl_pos: tell me once (CTL_OUTPUT) when head > pos */
	CTL_WATCH_STDIN, /* ctl_pos: tell me once (CTL_STDIN_AT) when the
	                  * consumed position > pos, or stdin is closed */
	CTL_ENDED,       /* ctl_ended: END, or FAILED, is committed */
	CTL_RESIZE,      /* ctl_size: the terminal has this size now */
	CTL_LOOK_INPUT,  /* head only: does it go on by input alone? Tell me
	                  * (CTL_INPUT) */

	/* worker -> master */
	CTL_RUNNING = 160, /* ctl_running; also in the dump to a new master */
	CTL_FAILED,        /* ctl_failed: could not be spawned, or taken
	                    * over; repeated until ENDED */
	CTL_OUTPUT,        /* ctl_pos: head is now here */
	CTL_STDIN_AT,      /* ctl_stdin: consumed so far; eof: stdin is closed */
	CTL_END,           /* ctl_end: closed, drained; repeated until ENDED. Also
	                    * W->K, K->M: but for the exit, which the keeper puts
	                    * in; EXITED is the answer where it cannot */
	CTL_NO_SPACE,      /* head only: tmpfs is full, output is being dropped */
	CTL_LEFT,          /* ctl_left: after END, when holders are fewer or a
	                    * ladder was for them */
	CTL_DUMP_END,      /* head only: a new master now knows all I have */
	CTL_INPUT,         /* ctl_input: what a look has found */
};

struct ctl_head {
	uint8_t version; /* CTL_VERSION */
	uint8_t reader;  /* CTL_READER: the oldest that may read it */
	uint16_t type;   /* enum ctl_type */
	uint32_t size;    /* bytes of the whole message, this head included */
	struct sid sid;   /* 0 where the message is about no session */
};

/* Which descriptors of a session; their order beside a message is bit order. */
enum {
	CTL_FD_OUT = 1, /* read end of stdout's pipe; of a terminal: the pipe
	                 * between ptmx and ring, one descriptor, both ends */
	CTL_FD_ERR = 2, /* read end of stderr's pipe */
	CTL_FD_IN = 4,  /* write end of stdin's pipe; of a terminal: the pipe
	                 * between spool and ptmx, both ends */
	CTL_FD_PTY = 8, /* ptmx */
	CTL_FD_ALL = 15,
	CTL_FD_SESSION = 3, /* so many of them has one session at most */
};

enum {
	CTL_HOLD_BY_HEADER = 1, /* the kernel writes the pid into the ring's
	                         * header, nobody sends SPAWNED */
	CTL_HOLD_AGAIN = 2,     /* in place of the row that there is: what was
	                         * cloned for it came to nothing */
	CTL_HOLD_PORTER = 1 << 8 /* times the pid of a porter that is over, and was
	                          * not 0.1 s ago: nobody else's to reap */
};

struct ctl_fds {
	struct ctl_head head;
	uint32_t mask;  /* CTL_FD_* */
	uint32_t flags; /* HOLD: CTL_HOLD_* */
	uint64_t at_ns; /* HOLD: boot; before the clone. 0: not said */
	uint64_t turn;  /* HOLD */
};

/* What counts for one turn alone. */
struct ctl_turn {
	struct ctl_head head;
	uint64_t turn;
};

/* What was cloned for a session, as its worker knows it. */
struct ctl_pid {
	struct ctl_head head;
	int32_t pid; /* 0: not said */
	uint32_t pad;
};

/* An exit as waitid tells it, and what it cost. */
enum { CTL_EXIT_UNKNOWN = 255 }; /* dead, but reaped as somebody else */

struct ctl_exit {
	struct ctl_head head;
	int32_t code;   /* CLD_EXITED, CLD_KILLED, CLD_DUMPED; 0: not exited;
	                 * CTL_EXIT_UNKNOWN */
	int32_t status; /* exit code or signal number */
	int32_t pid;
	uint32_t maxrss_kib;
	uint64_t utime_us;
	uint64_t stime_us;
	uint64_t io_blocks; /* ru_inblock + ru_oublock, 512 bytes each */
	uint64_t wall_ms;   /* when the keeper learnt it */
};

/* EXITED: the exit is a part of END, too, and does not grow. */
struct ctl_exited {
	struct ctl_exit exit;
	uint64_t turn;
};

/* ENDED; the exit of an END that the keeper passed on, else code 0. */
struct ctl_ended {
	struct ctl_head head;
	uint64_t turn;
	struct ctl_exit exit; /* its own head is unused */
};

struct ctl_give {
	struct ctl_head head;
	uint32_t mask; /* CTL_FD_* still held; descriptors beside it */
	int32_t pid;
	uint32_t quarantined; /* its handling crashed workers: end it */
	uint32_t pad;
	uint64_t turn;
};

struct ctl_role {
	struct ctl_head head;
	struct wid wid; /* whose role; to a worker: its own */
	uint32_t role; /* enum heritage_role: HERITAGE_WORKER or _STANDBY */
	uint32_t flags; /* CTL_ROLE_*: what the keeper can */
};

enum {
	CTL_ROLE_READS_PIDS = 1,   /* in the rings' headers */
	CTL_ROLE_READS_PORTERS = 2, /* there, too: of a dead worker's it is sure
				     * that none clones any more */
	CTL_ROLE_PASSES_ENDS = 4,  /* to the master */
	CTL_ROLE_CAN = 7           /* what this build's keeper can */
};

struct ctl_shutdown {
	struct ctl_head head;
	uint32_t grace_ms;
	uint32_t signal; /* what asked for it; 0: a client */
};

struct ctl_log {
	struct ctl_head head;
	uint32_t how; /* LOG_PACK() of level and format */
	uint32_t pad;
};

#define CTL_DIR_MAX  4096u /* PATH_MAX */
#define CTL_NAME_MAX 48u   /* ABI_BUILD_MAX */

struct ctl_upgrade {
	struct ctl_head head;
	uint64_t id;       /* of the request, never 0 */
	uint32_t ready_ms; /* so long a new process may take to be ready */
	uint32_t pad;
	char dir[CTL_DIR_MAX]; /* where the programs are; "": where they were */
};

/* In this order; from DONE on it is over. */
enum ctl_upgrade_phase {
	CTL_UPGRADE_NONE,
	CTL_UPGRADE_PROGRAMS, /* asks the new programs for their versions */
	CTL_UPGRADE_CHECK,    /* has the new keeper read a state */
	CTL_UPGRADE_WORKERS,  /* from here on something changes */
	CTL_UPGRADE_MASTER,
	CTL_UPGRADE_KEEPER,
	CTL_UPGRADE_BACK,     /* something failed: the old programs again */
	CTL_UPGRADE_DONE,
	CTL_UPGRADE_REFUSED,  /* nothing was changed */
	CTL_UPGRADE_UNDONE,   /* the old programs run again */
	CTL_UPGRADE_PHASES
};

struct ctl_upgraded {
	struct ctl_head head;
	uint64_t id;
	uint32_t phase;    /* enum ctl_upgrade_phase */
	uint32_t sessions; /* that ran when it began, and were kept */
	uint32_t replaced; /* processes */
	uint32_t pad;
	uint64_t ms;       /* since it began, or in all */
	char from[CTL_NAME_MAX], to[CTL_NAME_MAX]; /* builds */
	char why[512];     /* it was refused, or undone */
};

enum { CTL_HELD_DOWN = 1u << 31 }; /* in mask: `wid` is dead, a DOWN follows */

struct ctl_held {
	struct ctl_head head;
	struct wid wid; /* who babysits it; slot UINT32_MAX: nobody yet. Before
	                 * a WORKER_DOWN: the dead one, whoever has it now */
	struct wid next; /* who speaks next of it: whoever has it now, though
	                  * it may have to be started first */
	int32_t pid;
	uint32_t mask;
	uint64_t turn;
};

struct ctl_peer {
	struct ctl_head head;
	struct wid wid; /* to a worker: its own slot; generation of the master */
	int32_t pid;
	uint32_t role;   /* enum heritage_role of the worker */
	int32_t code;    /* WORKER_DOWN: CLD_*, as waitid tells it */
	int32_t status;  /* WORKER_DOWN: exit code or signal */
	struct sid in_hand; /* WORKER_DOWN: as its stats page said last */
};

enum {
	CTL_START_STDIN_OPEN = 1,  /* a pipe that `write` can feed */
	CTL_START_LOSSLESS = 2,    /* `credit` holds from the first byte on */
	CTL_START_BLOB_FD = 4,     /* the blob is in the memfd beside it */
	CTL_START_PTY = 8,         /* a terminal of cols x rows */
	CTL_START_SHELL = 16,      /* the paths are shells: the first that is
	                            * there gets the options of its own kind
	                            * and the last of argv, a command string */
	CTL_START_DIRECT = 32,     /* with SHELL: plain words need none */
	CTL_START_NO_NEW_PRIVS = 64, /* PR_SET_NO_NEW_PRIVS before exec */
	CTL_START_AWAITED = 128,   /* somebody waits to hear that it runs */
	CTL_START_END_ALONE = 256, /* where END is said RUNNING need not be */
	CTL_START_BOXED = 512,       /* in the box of box_pid, and nowhere
				      * else: the head's reader is 7 */
	CTL_START_BOX = 1024,        /* it is a box: what asks others to end
				      * is nothing to it */
	CTL_START_SPARE_AS_IS = 2048, /* `spare` has its session's name still,
				      * else that of a spare one; not to an
				      * older worker, which would not find it */
	CTL_START_SETUP = 4096,      /* with BOXED: it sets that one up; for
				      * who reads its ring */
	CTL_START_NO_LINKS = 8192,   /* cwd has no link in it, and leads nowhere
				      * where there is one by now */
	CTL_START_END_PASSED = 16384, /* END may come from the keeper */
	/* those that are known when the session is made */
	CTL_START_OF_SPEC =
	    CTL_START_SHELL | CTL_START_DIRECT | CTL_START_NO_NEW_PRIVS |
	    CTL_START_NO_LINKS,
};

/*
 * The blob: NUL-terminated strings one after the other: cwd, then argc
 * argument strings, then envc "KEY=value" strings, then path_count absolute
 * candidate paths of the program, tried in order as execvp would. With SHELL
 * argv is that of the first of them, for a worker that knows no SHELL.
 */
enum ctl_limit {
	CTL_LIMIT_MEMORY, /* bytes */
	CTL_LIMIT_PIDS,
	CTL_LIMIT_CPU,    /* seconds */
	CTL_LIMIT_FSIZE,  /* bytes */
	CTL_LIMIT_NOFILE,
	CTL_LIMIT_NICE,
	CTL_LIMITS
};

struct ctl_start {
	struct ctl_head head;
	uint32_t flags; /* CTL_START_* */
	uint32_t argc;
	uint32_t envc;
	uint32_t path_count;
	uint32_t blob_bytes;
	uint32_t grace_ms;           /* of the stop ladder of a time-out */
	uint64_t timeout_ms;         /* 0: none; counted from the spawn */
	uint64_t no_output_timeout_ms; /* 0: none */
	uint64_t credit;             /* with LOSSLESS */
	uint64_t stdin_end;          /* bytes in the spool already */
	uint32_t stdin_eof;          /* 1: EOF after them */
	uint32_t attempt;            /* 0 first: its turn */
	uint32_t head_bytes;         /* geometry of the ring */
	uint32_t tail_bytes;
	int32_t oom_score_adj;       /* of the command; INT32_MIN: leave */
	uint32_t limit_mask;         /* a bit for each that is set */
	int64_t limit[CTL_LIMITS];
	uint16_t cols, rows;         /* with PTY */
	uint32_t pty_eof;            /* with PTY: that many of the spooled bytes
	                              * are ^D, for a terminal alone */
	uint32_t shell_argc;         /* 0; an earlier master's: so many of argc
	                              * are a shell's argv, the others and
	                              * paths[0] are left out */
	uint32_t umask;
	uint64_t spill_max;          /* bytes; 0: no spill file, else its path
	                              * is the last string of the blob */
	uint32_t blob_at;            /* the blob's offset in the message; a
	                              * struct that grew moves it */
	uint32_t start_ms;           /* from the clone to the exec; 0: not
	                              * said */
	uint64_t spare;              /* a forgotten session, whose ring (said
	                              * to be KEPT) may be this one's; 0: none */
	uint64_t box_start;          /* with BOXED: when the box's pid 1 began,
				      * in ticks since boot */
	int32_t box_pid;             /* with BOXED: that pid 1 */
	uint32_t box_uid, box_gid;   /* who the command is to be, where the
				      * server is root; 0: whoever we are */
	uint32_t box_cpus;           /* with BOX: hundredths of a processor that
				      * all in it have; 0: no bound */
	uint64_t box_sid;            /* with BOXED: the box's own session */
	uint64_t request;            /* which exec asked for it; ring_header's */
	/* blob follows unless BLOB_FD */
};
/* Of the first builds that say where the blob is: what is missing is 0. */
#define CTL_START_MIN offsetof(struct ctl_start, spare)

struct ctl_stdin {
	struct ctl_head head;
	uint64_t pos; /* M->W: bytes in the spool ever; W->M: consumed */
	uint32_t eof; /* M->W: no more will come; W->M: stdin is closed */
	uint32_t pad;
};

enum ctl_input_waits {
	CTL_INPUT_NONE,  /* it does something, or nobody knows */
	CTL_INPUT_STDIN, /* somebody reads its stdin, nobody works */
	CTL_INPUT_TTY    /* the same of its terminal */
};

struct ctl_input {
	struct ctl_head head;
	uint32_t waits; /* enum ctl_input_waits */
	uint32_t pad;
	uint64_t stamp; /* the same as before: nothing has moved since */
};

enum ctl_kill_flags {
	CTL_KILL_ESCALATE = 1, /* KILL after grace_ms; else only the signal */
	CTL_KILL_ID = 1 << 1,  /* times the kill's id; 0: it has none */
};
#define CTL_KILL_ID_MAX INT32_MAX

struct ctl_kill {
	struct ctl_head head;
	int32_t signal;
	uint32_t grace_ms;
	uint32_t reason; /* enum end_reason (shm/layout.h); 0: do not note one */
	uint32_t flags;  /* the same id as the kill before: not done again */
};

struct ctl_pos {
	struct ctl_head head;
	uint64_t pos;
};

struct ctl_size {
	struct ctl_head head;
	uint16_t cols, rows;
	uint32_t pad;
};

struct ctl_running {
	struct ctl_head head;
	int32_t pid;
	uint32_t exited;      /* 1: root already exited, output still open */
	uint32_t pty;         /* 1: on a terminal */
	uint32_t pty_error;   /* errno: a terminal was asked for in vain */
	uint64_t started_ms;  /* wall */
	uint64_t deadline_ms; /* wall; 0: none */
	uint64_t stdin_node;  /* inode of stdin's pipe; 1 + N for /dev/pts/N; 0:
	                       * none that can be fed */
	uint32_t starting;    /* 1: cloned, and not known to have exec'd: it is
	                       * in its worker's hands, no more */
	uint32_t pad;
	uint64_t turn;
};

#define CTL_PATH_MAX 256u

enum ctl_transient {
	CTL_FOR_GOOD,
	CTL_TRY_AGAIN, /* another worker may have more luck */
	CTL_NOT_TRIED, /* a new master shall decide: the old one is gone */
};

struct ctl_failed {
	struct ctl_head head;
	int32_t error;     /* errno */
	uint32_t stage;    /* enum spawn_stage (shm/layout.h) */
	uint32_t transient; /* enum ctl_transient */
	uint32_t pad;
	char path[CTL_PATH_MAX]; /* what it hung at, cut; "": not known */
	uint64_t turn;
};

#define CTL_END_PIDS    16u
#define CTL_END_HOLDERS 8u

/* A process that outlived its session's command and holds its output. */
struct ctl_holder {
	int32_t pid;
	char name[20]; /* as /proc says it, at most 15 bytes and a NUL */
};

struct ctl_end {
	struct ctl_head head;
	struct ctl_exit exit; /* its own head is unused */
	uint32_t reason;      /* enum end_reason; NONE: as the exit is */
	uint32_t holders;     /* processes that still held the output, 0: EOF */
	uint64_t total;       /* bytes of output ever */
	uint64_t dropped_nospace; /* of these lost to a full tmpfs */
	uint64_t ring_bytes;  /* tmpfs bytes the ring takes */
	uint64_t started_ms;
	uint64_t ended_ms;
	uint64_t duration_ms; /* by CLOCK_BOOTTIME */
	uint32_t remaining;   /* after a ladder: members still alive */
	uint32_t in_leaf;     /* 1: a control group vouches for that */
	int32_t remaining_pids[CTL_END_PIDS]; /* the first of them */
	uint64_t ladder_ms;   /* from its first signal to this record; 0: none */
	uint32_t killed;      /* 1: it came to SIGKILL */
	uint32_t named;       /* of the holders, in holder[] */
	struct ctl_holder holder[CTL_END_HOLDERS];
	uint32_t ring_kept;   /* 1: open for another session, see START */
	uint32_t pad;
	uint64_t turn;
};

/* What has become of those that an ended session left alive. */
struct ctl_left {
	struct ctl_head head;
	uint32_t holders;
	uint32_t remaining;
	int32_t remaining_pids[CTL_END_PIDS];
	uint32_t named;
	uint32_t pad;
	struct ctl_holder holder[CTL_END_HOLDERS];
};

/*
 * Sends one message with up to nfds descriptors. Never blocks.
 * Errors: -EAGAIN (full: try again when writable), -EPIPE/-ECONNRESET (the
 * other side is gone), -errno.
 */
int ctl_send(int fd, const void *msg, size_t size, const int *fds, size_t nfds);

/* A received message. `pid` is the sender's where the socket has SO_PASSCRED,
 * else 0. The descriptors are the receiver's to close. */
struct ctl_msg {
	union {
		struct ctl_head head;
		unsigned char bytes[CTL_MAX_BYTES];
	};
	size_t size;
	int32_t pid;
	size_t nfds;
	int fds[CTL_MAX_FDS];
};

/*
 * Receives one message, checks version, size against the type's struct, and
 * MSG_CTRUNC. What comes from another build's struct has the size of ours
 * afterwards (START with its blob apart). Never blocks.
 * Returns 1: got one. 0: EOF. Errors: -EAGAIN; -EPROTO (malformed: descriptors
 * were closed, the message dropped); -EMFILE (descriptors were lost); -errno.
 */
int ctl_recv(int fd, struct ctl_msg *ret);

/* "START", ... for the log; "?" for an unknown type. */
const char *ctl_type_name(unsigned type);
/* "none", "programs", ... for the log and for clients; "?" for no phase. */
const char *ctl_upgrade_phase_name(unsigned phase);

/* Fills the head. */
#define CTL_INIT(type_, sid_, struct_)                                         \
	{                                                                      \
		.version = CTL_VERSION, .reader = CTL_READER,                  \
		.type = (type_), .size = (uint32_t)sizeof(struct_),            \
		.sid = (sid_)                                                  \
	}

#endif
