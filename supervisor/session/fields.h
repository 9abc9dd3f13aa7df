/* SPDX-License-Identifier: MIT */
/*
 * What the master knows of a session, in groups. Nothing here is in shared
 * memory; the board and the index hold what others and the next master need.
 */
#ifndef PSUP_SUPERVISOR_SESSION_FIELDS_H
#define PSUP_SUPERVISOR_SESSION_FIELDS_H

#include <sys/queue.h>
#include <sys/tree.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ctl.h"
#include "common/ids.h"
#include "common/slug.h"
#include "supervisor/gate/gate.h"
#include "supervisor/gate/starts.h"
#include "supervisor/share/room.h"

struct event;
struct master;
struct req;

/* What START needs. The blob is as in ctl.h. */
struct spec {
	uint32_t argc, envc, path_count;
	uint32_t flags;      /* CTL_START_: SHELL, DIRECT, NO_NEW_PRIVS */
	uint32_t shell_argc; /* as in ctl.h: of an earlier master's record */
	uint32_t umask;      /* of the command; 022 where none was asked for */
	uint32_t blob_bytes;
	char *blob;
};

/* A request's interest in a session. */
struct watch {
	LIST_ENTRY(watch) of_session;
	LIST_ENTRY(watch) of_req;
	TAILQ_ENTRY(watch) due_link; /* of the request, with `wake` */
	struct req *req; /* NULL: it is over */
	struct session *s;
	unsigned wake; /* enum wake: not told yet */
};

/* What exec's `limits` asked for. */
struct session_limits {
	uint32_t mask; /* 1 << enum ctl_limit */
	int64_t value[CTL_LIMITS];
};

/* Why a session counts as waiting for input. */
enum input_wait {
	INPUT_WAIT_NONE,
	INPUT_WAIT_STDIN, /* a process reads its stdin */
	INPUT_WAIT_TTY,   /* a process reads its terminal */
	INPUT_WAIT_IDLE   /* silent for long */
};

/* What was found of it last. */
struct input_probe {
	uint64_t at_ns;      /* boot; 0: never looked */
	uint64_t total, fed; /* output and input then */
	enum input_wait found;
};

struct session {
	RB_ENTRY(session) by_sid;
	RB_ENTRY(session) by_slug;
	LIST_HEAD(, watch) watches;

	uint32_t state; /* enum board_state; session_set_state() alone */

	/* Who it is; set once. */
	struct {
		struct sid sid;
		uint64_t incarnation; /* of the keeper it was made under */
		char slug[SLUG_MAX];
		char *scope;       /* "": none */
		struct sid parent; /* its client ran in this session; 0: in
		                    * none */
		uint64_t created_ms;
		char *name;
		char *label;       /* "": none; so the next two */
		char *session_key;
		char *request_key;
		char *tags;        /* an encoded map; NULL: none */
		size_t tags_bytes;
	} id;

	/* What was asked for. */
	struct {
		char *command;     /* as shown, cut to 4096 */
		char *cwd;
		char *lane;        /* "": none */
		int priority;
		uint64_t timeout_ms, no_output_timeout_ms;
		uint32_t grace_ms;
		uint64_t ttl_ms;
		uint32_t head_bytes, tail_bytes;
		char *spill_path;  /* absolute; "" or NULL: none */
		uint64_t spill_max;
		struct session_limits limits;
		bool stdin_pipe;   /* write may feed it */
		bool stream;       /* lossless, or was for a while */
		bool notify, notify_empty;
	} wish;

	/* What became of it. */
	struct {
		uint32_t status;   /* enum board_status */
		uint32_t reason;   /* enum end_reason */
		int32_t pid;
		int32_t exit_code;   /* -1: none */
		int32_t exit_signal; /* 0: none */
		int32_t error;       /* errno of a failed spawn */
		uint32_t stage;      /* enum spawn_stage of it */
		char *hung_at;       /* ... and the path at which it hung; ""
		                      * or NULL: it did not, or that is not
		                      * known */
		uint64_t started_ms, ended_ms, duration_ms;
		uint64_t ended_ns;   /* boot; 0: ended before this master */
		uint32_t holders;
		char *holder_list;   /* "PID NAME\n" of the first ones */
		uint64_t ladder_ms;  /* from its first signal to the end; 0:
		                      * none */
		bool killed;         /* it came to SIGKILL */
		uint32_t remaining;  /* after a ladder: members still alive */
		int32_t remaining_pids[CTL_END_PIDS]; /* of this master's
		                                       * time */
		bool in_leaf;        /* a control group vouches for that */
		uint32_t maxrss_kib;
		uint64_t utime_us, stime_us, io_blocks;
	} facts;

	/* The end that was asked for. */
	struct {
		uint32_t forced;   /* its reason; END_NONE */
		int32_t signal;    /* ... and how: 0 in older records */
		uint32_t grace_ms;
		bool killing_left; /* LEFT will say what became of its
		                    * holders */
	} ending;

	/* Who has it. */
	struct {
		struct wid worker;
		bool has_worker; /* START went to, or a row names, `worker` */
		bool confirmed;  /* RUNNING or END seen from that worker */
		bool held;       /* a HELD row named it; until TABLE_END or
		                  * DOWN */
		bool row_down;   /* that row named a dead worker: its DOWN
		                  * follows */
		struct wid left; /* the worker from which the present one
		                  * took it over; generation 0: none did */
		struct wid row;  /* whom the last one named; generation 0:
		                  * none */
		struct wid next; /* ... and who is to speak of it; 0: it has
		                  * spoken, or nobody is to */
		bool recovering; /* loaded at start, not yet reconciled */
		uint32_t tried;  /* slots that could not spawn it, a bit
		                  * each */
		uint32_t attempt;       /* how often it was ordered again */
		uint32_t failed_starts; /* a worker tried, for a passing
		                         * reason in vain */
		uint32_t deadly_starts; /* a worker had its start in hand and
		                         * died */
	} custody;

	/* The turn of its start. */
	struct {
		enum start_is is;
		TAILQ_ENTRY(session) link; /* of those that wait; quick ones */
		uint64_t ordered_ns;       /* QUICK: boot */
	} start;

	/* The ring of another session that its worker has open. */
	struct {
		uint64_t ring_kept; /* its worker has its ring open, as its
		                     * n-th: spares.h; 0: it has not */
		struct sid offered; /* whose ring START offers it; 0:
		                     * nobody's */
	} spares;

	/* The terminal that it runs on. */
	struct {
		bool pty;            /* on a terminal, or to be */
		uint32_t cols, rows; /* of it */
		int32_t pty_error;   /* errno: it got pipes instead */
		uint32_t pty_eof;    /* spooled ^D that only a terminal may
		                      * get */
		uint64_t line_at;    /* spool position: the line in hand */
		uint64_t uncertain;  /* bytes: given to the terminal, or
		                      * lost */
	} terminal;

	/* What it is fed. */
	struct {
		bool closed;
		uint64_t spool_end;
		bool spool_eof;
		bool spooled;      /* there may be a spool file, whatever was
		                    * committed */
		uint64_t consumed;
		uint64_t fed_ms;   /* wall: fed last; of this master */
		bool watching;     /* CTL_WATCH of stdin is out */
	} input;

	/* Does it wait for input? */
	struct {
		struct input_probe probe;
		enum input_wait shown; /* as last shown */
		uint64_t node;         /* stdin's, as in ctl_running */
	} input_wait;

	/* What it wrote. */
	struct {
		uint64_t total, dropped_nospace, ring_bytes;
		bool no_space;
		bool watching;     /* CTL_WATCH is out */
		uint64_t watch_pos;
		char *tail;        /* as of tail_at */
		uint64_t tail_at;  /* total when it was read */
		size_t tail_len;
		bool tail_read;
	} output;

	/* Its place in its lane. */
	struct {
		uint64_t lane_seq;
		bool lane_stale; /* runs, but its lane was reset since */
	} place;

	/* How it waits for one. */
	struct {
		bool warned;   /* somebody was told that it waits */
		bool deadlock; /* ended for END_DEADLOCK at the gate */
	} queued;

	/* Its time-out. */
	struct {
		uint64_t at_ms;
		bool warned;
		struct event *timer;   /* before it; NULL: none */
		struct master *master; /* for `timer` */
	} deadline;

	/* To whom it is shown. */
	struct {
		bool backgrounded, exit_notified, hidden;
		bool answered; /* its exec request has been answered */
		uint32_t slot; /* of the board; UINT32_MAX: none */
	} shown;

	/* How long it is kept once it has ended. */
	struct {
		bool read;            /* its result has reached a client */
		bool in_ended;
		TAILQ_ENTRY(session) ended_link; /* oldest end first */
		bool counts_finished; /* in its room's, ... */
		uint64_t total;       /* ... with so many bytes */
		enum kept list;       /* which of its room's lists it is on */
		TAILQ_ENTRY(session) link;
		struct rank_node expiry; /* in master.expiring, by ... */
		uint64_t expires_ns;     /* ... boot clock */
	} retention;

	/* What it takes of its scope's share. */
	struct {
		struct room *room;   /* its scope's */
		uint64_t lent[SHARE_RESOURCES]; /* what it counts with there */
		uint64_t text_bytes; /* of its texts; 0: not measured */
		uint32_t spec_bytes; /* of what START needs, while it waits */
	} share;

	/* What of it is in the index. */
	struct {
		struct spec *spec;
		bool spec_kept;     /* the index may have its spec */
		bool fresh;         /* its record was never committed */
		bool dirty;
		uint64_t soon_ns;   /* boot: when it is dirty at the latest;
		                     * 0: not due */
		TAILQ_ENTRY(session) link; /* dirty, or soon */
		bool count_started; /* by the commit that records that it
		                     * runs */
	} record;

	/* Its memory. */
	struct {
		bool forgotten; /* in no tree or list; freed soon (over.c) */
		SLIST_ENTRY(session) link;
	} over;
};

#endif
