/* SPDX-License-Identifier: MIT */
/*
 * Every struct that lives in shared memory, who writes each field, and why
 * the rest is safe. Fixed widths, offsets instead of pointers, sizes asserted,
 * a stamp (common/abi.h) in every header. Nobody takes a lock here.
 *
 * Writer tags: K keeper, M master, W the one worker that babysits the session,
 * C the command's child between clone and exec (it shares W's memory), k the
 * kernel inside splice(2) and clone3(2).
 */
#ifndef PSUP_SHM_LAYOUT_H
#define PSUP_SHM_LAYOUT_H

#include <assert.h>
#include <stdint.h>

#include "common/relaxed.h"

#define SHM_PAGE 4096u

/* Why a session ended; the first forced reason wins. Names in state_names.h */
enum end_reason {
	END_NONE = 0,
	END_EXIT,
	END_SIGNAL,
	END_OVERALL_TIMEOUT,
	END_NO_OUTPUT_TIMEOUT,
	END_MANUAL_CANCEL,
	END_ABORTED, /* the foreground request's client is gone */
	END_SPAWN_ERROR,
	END_OOM,
	END_LIMIT,
	END_LOST,
	END_SHUTDOWN,
	END_LANE_CLEARED, /* never ran: its lane was cleared or reset */
	END_DEADLOCK,     /* never ran: it waited for its own ancestors */
	END_REASONS
};

/* How far the child came between clone and exec. */
enum spawn_stage {
	STAGE_NONE = 0,
	STAGE_PREPARE, /* ring, pipes, before clone */
	STAGE_CLONE,
	STAGE_FDS,
	STAGE_SETSID,
	STAGE_CHDIR,
	STAGE_PARENT, /* the keeper was gone */
	STAGE_TELL,   /* SPAWNED could not be sent: nothing ran */
	STAGE_EXEC,
	STAGE_LIMIT,  /* a limit could not be set */
	STAGE_SPILL,  /* the spill file could not be made */
	STAGE_BOX,    /* the box is not there */
	STAGE_GROUPS, /* the server's groups could not be dropped */
	STAGE_SETNS,  /* the box could not be entered */
	STAGE_SECCOMP /* the filter could not be set */
};

/* ------------------------------------------------------------------ ring */

#define RING_MAGIC        0x676e697270757370ull /* "psupring" */
#define RING_MAX_SPLICE   65536u
#define RING_SEGMENTS     200u
#define RING_BEGUN        UINT64_MAX /* start_due_ns: no more before its exec */
#define RING_DATA_OFFSET  SHM_PAGE

enum ring_stream { RING_STDOUT = 0, RING_STDERR = 1, RING_MIXED = 2 };
/* Beside the stream in ring_header.stream: the splice in hand goes nowhere. */
#define RING_DISCARD 0x100u

#define RING_SIZES        24u

/* The terminal's size from a position of the output on. Entry 0 is what it
 * began with; entry n lies at 1 + (n - 1) % 23. */
struct ring_size {
	_Atomic uint64_t pos;
	_Atomic uint64_t wall_size; /* wall ms << 20 | cols << 10 | rows */
};

/* A stretch of one stream: from the end of the entry before to `end`. */
struct ring_segment {
	_Atomic uint64_t end_stream; /* position << 2 | enum ring_stream */
	_Atomic uint64_t wall_ms;    /* when its first byte arrived */
};

/*
 * One page, then the data:
 *
 *     0          4096                4096+head_bytes
 *     +----------+-------------------+-----------------------------------+
 *     | header   | head region       | tail region: T = tail_bytes + 64K |
 *     +----------+-------------------+-----------------------------------+
 *                 kept for good       overwritten lap after lap
 *
 * A position is a 64-bit count of bytes since the session began:
 *     pos = (off[lap & 1] - RING_DATA_OFFSET) + lap * T
 * The kernel moves off[lap & 1] in the same system call that moves the data;
 * a wrap first sets off[(lap + 1) & 1] to the start of the tail region, then
 * stores lap + 1. pos is the same before and after that store, so a kill in
 * between changes nothing.
 *
 * Publication: reserve = pos + n (what may be overwritten), splice, segment,
 * head = pos (release). A reader takes head (acquire), copies by pread, then
 * takes reserve: bytes in the tail region below reserve - T may be new ones.
 *
 * `hole`: a full tmpfs. Positions hole_from..hole_to were counted, not kept;
 * there is none where hole_to <= hole_from. dropped_nospace is hole_base (what
 * earlier holes, overwritten since, had dropped) + hole_to - hole_from.
 */
struct ring_header {
	/* set once at creation, before the session is announced, but for the
	 * stamp: W */
	uint64_t magic;
	_Atomic uint32_t stamp; /* ABI_RING; of whoever wrote last */
	uint32_t header_bytes; /* sizeof(struct ring_header) */
	struct {
		uint64_t v;
	} sid;                 /* instance id */
	uint64_t incarnation;  /* of the keeper */
	uint32_t head_bytes;
	uint32_t tail_bytes;   /* promised; T = tail_bytes + RING_MAX_SPLICE */
	uint64_t created_ms;   /* wall */

	/* the pump: W, off also k */
	_Atomic int64_t off[2];   /* file offset of the next byte */
	_Atomic uint64_t lap;
	_Atomic uint64_t reserve;
	_Atomic uint64_t head;    /* published position */
	_Atomic uint64_t hole_from, hole_to;
	_Atomic uint64_t dropped_nospace;
	_Atomic uint32_t stream;  /* of the splice in hand [| RING_DISCARD] */
	_Atomic uint32_t open_streams; /* CTL_FD_OUT | CTL_FD_ERR still open */
	_Atomic uint64_t seg_count; /* segments ever; entry n is [n % 200] */

	/* stdin: W, spool_off also k */
	_Atomic int64_t spool_off; /* consumed bytes of the spool */
	_Atomic uint64_t spool_end; /* as last told by the master */
	_Atomic uint32_t stdin_state; /* enum ring_stdin */
	_Atomic uint32_t stdin_eof;   /* EOF is to follow the spooled bytes */

	/* the session as the worker knows it: W */
	_Atomic int32_t pid; /* k, at the clone; 0: nothing was cloned */
	_Atomic uint32_t exec_errno;  /* C */
	_Atomic uint32_t exec_stage;  /* C, W: enum spawn_stage; how far it came
	                               * where there is no errno */
	_Atomic int32_t exit_code;    /* CLD_*; 0: not exited */
	_Atomic int32_t exit_status;
	_Atomic uint32_t end_reason;  /* first forced reason; enum end_reason */
	_Atomic uint64_t started_ms;  /* wall */
	_Atomic uint64_t started_ns;  /* boot */
	_Atomic uint64_t exited_ms;   /* wall */
	_Atomic uint64_t closed_ms;   /* wall; 0: still open */
	_Atomic uint64_t last_output_ms; /* wall; 0: none yet */
	_Atomic uint64_t last_output_ns; /* boot */

	/* what a replacement worker needs: W */
	_Atomic uint64_t deadline_ns;       /* boot; 0: none */
	_Atomic uint64_t no_output_ns;      /* length; 0: none */
	_Atomic uint64_t ladder_kill_ns;    /* boot: KILL due; 0: no ladder */
	_Atomic uint32_t grace_ms;
	_Atomic uint32_t flags;             /* CTL_START_* */
	_Atomic uint64_t credit;
	_Atomic uint64_t utime_us, stime_us, io_blocks;
	_Atomic uint32_t maxrss_kib;
	_Atomic uint32_t holders;
	_Atomic uint64_t hole_base;
	_Atomic uint64_t leaf; /* control group (worker/tree.c); 0: none */
	_Atomic uint64_t limits; /* 1 << enum ctl_limit: set for it */

	/* the terminal: W; all 0 where there are pipes */
	_Atomic uint32_t pty_flags;  /* enum ring_pty */
	_Atomic uint32_t pty_error;  /* errno: there are pipes instead of one */
	_Atomic uint32_t pty_size;   /* cols << 16 | rows */
	_Atomic uint32_t pty_index;  /* of /dev/pts/N */
	_Atomic uint64_t pty_line;   /* spool position: the line in hand */
	_Atomic uint64_t pty_scanned; /* output looked at for queries */
	_Atomic uint64_t pty_uncertain; /* bytes of input: given, or lost */
	_Atomic uint32_t pty_hand;   /* how many PTY_IN_HAND is about */
	uint32_t pty_pad;

	/* the spill file: W; all 0 where there is none */
	_Atomic uint64_t spill_pos;   /* written up to here */
	_Atomic uint64_t spill_max;   /* and never beyond */
	_Atomic uint64_t spill_state; /* enum ring_spill | errno << 32 */
	_Atomic uint64_t spill_dev, spill_ino;
	/* W: the ladder's first signal, until it was sent; then 0 */
	_Atomic uint64_t ladder_signal;
	_Atomic uint64_t start_due_ns; /* boot: killed then before its exec;
					* or RING_BEGUN */
	_Atomic int32_t porter; /* k, at its clone: who clones the command, in
				 * its box; 0: nobody does any more */
	uint32_t porter_pad;
	_Atomic uint64_t box; /* its control group is in that of this box (a
			       * session's id); 0: in none */
	/* in a box: how often it had met its bounds when this began */
	_Atomic uint32_t box_ooms, box_full;
	_Atomic uint64_t request; /* W: a hash of the scope and the requestKey of
				   * the exec that asked for it, by which who
				   * asks again is known where the index was
				   * lost; 0: there was none */

	struct ring_segment segments[RING_SEGMENTS];

	/* the terminal's sizes: W */
	_Atomic uint64_t size_count; /* sizes ever */
	struct ring_size sizes[RING_SIZES];
};

/* pty_flags. Cursor: neither bit, the program has not said yet. */
enum ring_pty {
	PTY_OPEN = 1,
	PTY_CURSOR_NORMAL = 2,
	PTY_CURSOR_APP = 4,
	PTY_PASTE = 8,      /* bracketed paste is on */
	PTY_CANON = 16,     /* reads lines, when last looked at */
	PTY_ECHO = 32,      /* echoes, when last looked at */
	PTY_HELD = 64,      /* a line too long for this mode waits in the spool */
	PTY_IN_HAND = 128,  /* input is between a read and a write */
	PTY_UNCERTAIN = 256 /* pty_uncertain is not 0 */
};

/* Its path stands behind the tail region, NUL-terminated. */
enum ring_spill {
	SPILL_NONE,
	SPILL_WRITING,   /* the first spill_pos bytes of the output */
	SPILL_FULL,      /* there was more than spill_max */
	SPILL_DISK_FULL, /* no space: it ends at spill_pos */
	SPILL_ERROR      /* the same, for another reason */
};

enum ring_stdin { STDIN_NONE = 0, STDIN_OPEN = 1, STDIN_CLOSED = 2 };

static_assert(sizeof(struct ring_header) <= SHM_PAGE, "ring header: one page");
static_assert(sizeof(struct ring_segment) == 16, "segment size");
static_assert(sizeof(struct ring_size) == 16, "size entry");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics are lock-free");

/* ----------------------------------------------------------------- board */

#define BOARD_MAGIC  0x6472616f62707370ull
#define BOARD_LANES  64u

enum board_state {
	STATE_FREE = 0,
	STATE_QUEUED,
	STATE_STARTING,
	STATE_RUNNING,
	STATE_EXITED, /* root exited, output still open */
	STATE_ENDED,
	STATE_COUNT
};

enum board_status { STATUS_RUNNING, STATUS_COMPLETED, STATUS_FAILED,
	STATUS_KILLED, STATUS_LOST, STATUS_COUNT };

/* A slot per live or recent session. All M, under the seqlock `seq`. */
struct board_slot {
	_Atomic uint32_t seq;  /* odd: being written */
	uint32_t generation;   /* of the slot's use */
	uint64_t sid;
	uint32_t state;        /* enum board_state */
	uint32_t status;       /* enum board_status */
	uint32_t reason;       /* enum end_reason */
	int32_t pid;
	int32_t exit_code;     /* -1: none */
	int32_t exit_signal;   /* 0: none */
	uint32_t worker_slot;  /* UINT32_MAX: none */
	uint32_t worker_generation;
	uint64_t created_ms, started_ms, ended_ms; /* wall; 0: not yet */
	uint64_t deadline_ms;  /* wall; 0: none */
	uint64_t total;        /* output bytes; final once ended */
	uint32_t flags;        /* BOARD_BACKGROUNDED ... */
	uint32_t lane_pos;     /* place in the queue, 1 first; 0: not queued */
	char slug[48];
	char name[80];
	char scope[48];
	char lane[32];
	char label[48];
	char command[128];     /* cut, UTF-8-safe */
};
static_assert(sizeof(struct board_slot) <= 512, "board slot");

enum { BOARD_BACKGROUNDED = 1, BOARD_STDIN_OPEN = 2, BOARD_PTY = 4,
	BOARD_BOXED = 8 /* host sandbox */ };

struct board_lane {
	_Atomic uint32_t seq;
	uint32_t width, active, queued, generation;
	uint32_t flags; /* BOARD_LANE_PAUSED ... */
	char name[32];
	uint64_t reserved;
};
static_assert(sizeof(struct board_lane) == 64, "board lane");

enum { BOARD_LANE_PAUSED = 1, BOARD_LANE_DRAINING = 2,
	BOARD_LANE_CONFIGURED = 4 /* stays when idle */ };

/* What the first of a lane's queue waits for, or would. */
enum lane_block {
	LANE_OPEN,           /* nothing */
	LANE_BLOCK_PAUSED,
	LANE_BLOCK_WIDTH,    /* the lane is full */
	LANE_BLOCK_GROUP,    /* its group is */
	LANE_BLOCK_RESERVED, /* what its group has left is reserved by others */
	LANE_BLOCKS
};
/* It stands in board_lane.flags, too. */
#define BOARD_LANE_BLOCK(flags)  ((flags) >> 8 & 15u)
#define BOARD_LANE_BLOCKED(what) ((uint32_t)(what) << 8)

struct board_header {
	uint64_t magic;
	_Atomic uint32_t stamp; /* ABI_BOARD; K, then M */
	uint32_t header_bytes;  /* slots begin here: a multiple of a page */
	uint32_t slot_bytes;    /* 512 */
	uint32_t slot_count;
	uint64_t incarnation;
	uint64_t created_ms;
	/* M, each a plain relaxed counter */
	_Atomic uint64_t master_generation;
	_Atomic uint64_t counts[8];     /* sessions by enum board_state */
	_Atomic uint64_t started_total, ended_total, failed_total;
	_Atomic uint64_t budget_bytes, budget_used;
	_Atomic uint32_t slots_high;    /* slots beyond were never used */
	_Atomic uint32_t flags;
	struct board_lane lanes[BOARD_LANES];
};
static_assert(sizeof(struct board_header) <= 2 * SHM_PAGE, "board header");

/* ----------------------------------------------------------------- stats */

#define STATS_MAGIC 0x7374617473707370ull
#define STATS_PAGES 64u /* 0 keeper, 1 master, 2.. worker slots */
#define STATS_PAGE_OF_MASTER 1u
#define STATS_PAGE_OF_WORKER(slot) (2u + (slot))

/*
 * What a histogram counts: values in (bound i - 1, bound i], the last bucket
 * without an upper bound. The bounds are common/metrics.def's. One writer, so
 * an observation is two loads and two stores.
 */
#define STATS_BUCKETS 16u
struct stats_hist {
	_Atomic uint64_t count[STATS_BUCKETS];
	_Atomic uint64_t sum_us;
};

/* What the master has on record of this server's life: the same numbers stand
 * in the index, in the transaction of what they count. */
#define TALLY_SLOTS 24u
struct stats_tally {
	_Atomic uint64_t count[TALLY_SLOTS]; /* by enum metric_tally */
};

/* One page per process, written by its owner alone, except `state` (K). What
 * counts goes on counting in the next incarnation's hands: it is set to 0 only
 * where the keeper makes the pages. */
#define STATS_FATALS 4u /* requests remembered */
#define STATS_FATAL_DEATHS 2u /* that make a master refuse one, ... */
#define STATS_FATAL_NS (UINT64_C(600) * 1000000000) /* ... for so long */
#define STATS_FORGOTTEN 128u /* rings that await another session */

struct stats_page {
	uint64_t magic;
	_Atomic uint32_t stamp;      /* ABI_STATS; K, then the owner */
	uint32_t bytes;
	_Atomic int32_t pid;         /* K; 0: nobody */
	_Atomic uint32_t generation; /* K */
	_Atomic uint32_t role;       /* K: enum heritage_role; 0 keeper */
	_Atomic uint32_t restarts;   /* K: of this slot */
	_Atomic uint64_t started_ms;
	_Atomic uint64_t heartbeat_ns; /* boot */
	_Atomic uint64_t in_hand;      /* session being handled now; 0: none */
	_Atomic uint64_t sessions;     /* live ones (keeper: table rows) */
	_Atomic uint64_t spawned, spawn_failed, ended;
	_Atomic uint64_t bytes_moved;
	_Atomic uint64_t ring_bytes;   /* tmpfs bytes of its rings till END */
	_Atomic uint64_t taken_over;   /* sessions taken from a dead worker */
	_Atomic uint64_t requests;     /* master */
	_Atomic uint64_t connections;  /* master: open now */
	_Atomic uint64_t malformed;    /* messages refused */
	_Atomic uint64_t max_sessions; /* keeper */
	_Atomic uint64_t orphans_reaped; /* keeper */
	_Atomic uint64_t loop_turns, longest_turn_ns;
	char last_words[512];          /* of the incarnation that died */

	/* what metrics.def tells of, beside the above */
	_Atomic uint64_t log_lines, log_dropped, log_suppressed;
	struct stats_hist spawn;    /* worker: START to exec */
	struct stats_hist poll;     /* master: to the answer */
	struct stats_hist lane_wait; /* master: in a lane's queue */
	struct stats_hist duration; /* master: of ended sessions */
	struct stats_hist heir;     /* keeper: worker's death to GIVE */
	struct stats_hist master;   /* keeper: master's death to READY */
	struct stats_tally tally;   /* master */
	/* which build the owner is of; 0: nobody has said */
	_Atomic uint32_t layouts[16]; /* by enum abi_id: stamps */
	char build[48];               /* abi_build() */
	/* master: of clients' work, what is in hand now; begun 0: nothing */
	_Atomic uint64_t unit_began_ns; /* boot */
	_Atomic uint64_t unit_hash;     /* of scope, method, params; 0: none */
	char unit_method[24];
	_Atomic uint64_t longest_turn_cpu_ns;
	/* K: requests that masters died of by themselves */
	struct stats_fatal {
		_Atomic uint64_t hash;    /* 0: free */
		_Atomic uint64_t last_ns; /* boot; of the last death */
		_Atomic uint64_t deaths;
	} fatal[STATS_FATALS];
	_Atomic uint64_t boxes, boxed; /* master: there are; sessions in them */
	/* master: forgotten sessions whose rings bear their names still; 0: free */
	_Atomic uint64_t forgotten[STATS_FORGOTTEN];
	/* so that pages[i] is page i */
	unsigned char pad[SHM_PAGE - 680 - 5 * 8 - 6 * 136 - 24 * 8 - 112 -
	    48 - STATS_FATALS * 24 - STATS_FORGOTTEN * 8];
};
static_assert(sizeof(struct stats_page) == SHM_PAGE, "stats page");

#endif
