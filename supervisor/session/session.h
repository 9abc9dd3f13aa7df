/* SPDX-License-Identifier: MIT */
/*
 * A session as the master knows it, and all that becomes of one: found, moved
 * from state to state, told of by keeper, worker and ring, put on record,
 * shown, ended, forgotten. Nothing here is in shared memory; the board and the index
 * hold what others and the next master need.
 */
#ifndef PSUP_SUPERVISOR_SESSION_SESSION_H
#define PSUP_SUPERVISOR_SESSION_SESSION_H

#include <sys/queue.h>
#include <sys/tree.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/codec.h"
#include "common/ctl.h"
#include "common/ids.h"
#include "common/keys.h"
#include "common/proto.h"
#include "common/slug.h"
#include "shm/layout.h"
#include "shm/ring.h"
#include "supervisor/gate/gate.h"
#include "supervisor/gate/starts.h"
#include "supervisor/share/room.h"
#include "supervisor/words/sbuf.h"

struct event;
struct master;
struct req;
struct worker;

/* Which session an event of the log is about. */
#define KV_SESSION(s) KV("session", (s)->sid.v), KV("slug", (s)->slug)

/* ------------------------------------------------------------- session */

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
	TAILQ_ENTRY(session) dirty_link;
	TAILQ_ENTRY(session) ended_link;   /* ended, oldest end first */
	TAILQ_ENTRY(session) gate_link; /* gate_unwarned */
	SLIST_ENTRY(session) over_link;
	LIST_HEAD(, watch) watches;

	/* identity; set once */
	struct sid sid;
	uint64_t incarnation; /* of the keeper under which it was made */
	char slug[SLUG_MAX];
	char *scope;       /* "": none */
	char *command;     /* as shown, cut to 4096 */
	char *name;
	char *cwd;
	char *label;       /* "": none; so the next four */
	char *session_key;
	char *request_key;
	char *lane;
	char *tags;        /* an encoded map; NULL: none */
	size_t tags_bytes;
	int priority;
	uint64_t lane_seq;
	struct sid parent; /* its client ran in this session; 0: in none */
	bool lane_warned;  /* somebody was told that it waits */
	bool lane_stale;   /* runs, but its lane was reset since */
	uint64_t created_ms;
	uint64_t timeout_ms, no_output_timeout_ms;
	uint64_t ttl_ms;
	uint32_t head_bytes, tail_bytes;
	char *spill_path;  /* absolute; "" or NULL: none */
	uint64_t spill_max;
	uint32_t grace_ms;
	struct session_limits limits;
	bool stdin_pipe;   /* write may feed it */
	bool stream;       /* lossless, or was for a while */
	bool pty;          /* on a terminal, or to be */
	uint32_t cols, rows; /* of it */
	uint32_t pty_eof;  /* spooled ^D that only a terminal may get */

	struct admission_entry gate; /* its place among those that run */
	uint64_t gate_since_ms; /* boot clock; waits there since */
	bool gate_unwarned;     /* and nobody was told */
	bool gate_deadlock;     /* ended for END_DEADLOCK there */

	/* state: session_set_state() alone */
	uint32_t state;    /* enum board_state */

	/* facts */
	uint32_t status;   /* enum board_status */
	uint32_t reason;   /* enum end_reason */
	int32_t pid;
	int32_t exit_code;   /* -1: none */
	int32_t exit_signal; /* 0: none */
	int32_t error;       /* errno of a failed spawn */
	uint32_t stage;      /* enum spawn_stage of it */
	char *hung_at;       /* ... and the path at which it hung; "" or NULL:
	                      * it did not, or that is not known */
	int32_t pty_error;   /* errno: it got pipes instead of a terminal */
	uint32_t attempt;    /* how often it was ordered again */
	uint32_t failed_starts; /* a worker tried, for a passing reason in vain */
	uint32_t deadly_starts; /* a worker had its start in hand and died */
	uint32_t holders;
	char *holder_list;   /* "PID NAME\n" of the first ones */
	uint64_t ladder_ms;  /* from its first signal to the end; 0: none */
	bool killed;         /* it came to SIGKILL */
	uint32_t maxrss_kib;
	uint32_t remaining;  /* after a ladder: members still alive */
	bool in_leaf;        /* a control group vouches for that */
	int32_t remaining_pids[CTL_END_PIDS]; /* of this master's time */
	uint64_t utime_us, stime_us, io_blocks;
	uint64_t started_ms, ended_ms, duration_ms, deadline_ms;
	uint64_t total, dropped_nospace, ring_bytes;
	bool backgrounded, notify, notify_empty, exit_notified, hidden;
	bool stdin_closed, no_space;
	bool read;         /* its result has reached a client */
	bool warned;       /* of its time-out */
	uint64_t spool_end;
	bool spooled;      /* there may be a spool file, whatever was committed */
	uint64_t stdin_consumed;
	uint64_t stdin_node; /* as in ctl_running */
	struct input_probe input_probe;
	enum input_wait waits_now; /* as last shown */
	uint64_t input_ms; /* wall: stdin was fed last; of this master */
	uint64_t line_at; /* spool position: the line in hand; of a terminal */
	uint64_t stdin_uncertain; /* bytes: given to the terminal, or lost */
	bool spool_eof;
	uint32_t spec_bytes; /* of what START needs, while it waits */
	uint32_t forced;   /* reason of the end that was asked for; END_NONE */
	int32_t forced_signal;    /* ... and how: 0 in older records */
	uint32_t forced_grace_ms;

	/* volatile */
	struct spec *spec;
	struct wid worker;
	uint32_t tried;    /* slots that could not spawn it, a bit each */
	bool has_worker;   /* START went to, or a row names, `worker` */
	bool confirmed;    /* RUNNING or END seen from that worker */
	bool held;         /* a HELD row named it; until TABLE_END or DOWN */
	bool row_down;     /* that row named a dead worker: its DOWN follows */
	struct wid left;   /* the worker from which the present one took it
	                    * over; generation 0: none did */
	struct wid row;    /* whom the last one named; generation 0: none */
	struct wid next;   /* ... and who is to speak of it; 0: it has spoken,
	                    * or nobody is to */
	bool recovering;   /* loaded at start, not yet reconciled */
	bool forgotten;    /* in no tree or list; freed soon (over.c) */
	bool dirty, fresh; /* fresh: its record was never committed */
	uint64_t soon_ns;  /* boot: when it is dirty at the latest; 0: not due */
	bool spec_kept;    /* the index may have its spec */
	bool count_started; /* by the commit that records that it runs */
	uint64_t ring_kept; /* its worker has its ring open, as its n-th:
	                     * spares.h; 0: it has not */
	struct sid spare;  /* whose ring START offers it; 0: nobody's */
	struct {
		enum start_is is;
		TAILQ_ENTRY(session) link; /* of those that wait; quick ones */
		uint64_t ordered_ns;       /* QUICK: boot */
	} start;
	bool watching;     /* CTL_WATCH is out */
	bool watching_stdin;
	bool answered;     /* its exec request has been answered */
	bool killing_left; /* LEFT will say what became of its holders */
	bool in_ended;
	bool counts_finished; /* in its room's, ... */
	uint64_t kept_total;  /* ... with so many bytes */
	enum kept kept;       /* which of its room's lists it is on */
	TAILQ_ENTRY(session) kept_link;
	struct rank_node expiry; /* in master.expiring, by ... */
	uint64_t expires_ns;     /* ... boot clock */
	struct room *room;       /* its scope's */
	uint64_t lent[SHARE_RESOURCES]; /* what it counts with there */
	uint64_t text_bytes;     /* of its texts; 0: not measured */
	struct event *warning; /* before its time-out; NULL: none */
	struct master *master; /* for `warning` */
	uint64_t watch_pos;
	uint64_t ended_ns; /* boot; 0: ended before this master */
	uint32_t board;    /* slot; UINT32_MAX: none */
	char *tail;        /* as of tail_at */
	uint64_t tail_at;  /* total when it was read */
	size_t tail_len;
	bool tail_read;
};

RB_HEAD(sid_tree, session);
RB_HEAD(slug_tree, session);
TAILQ_HEAD(session_list, session);

/* A request key's owner. */
struct keyed {
	RB_ENTRY(keyed) by_key;
	struct session *s;
	size_t len;
	char key[]; /* scope NUL key, as in the index */
};
RB_HEAD(key_tree, keyed);

/* ----------------------------------------------------------- registry.c */
struct session *session_by_sid(struct master *m, struct sid sid);
struct session *session_by_slug(struct master *m, const char *slug);
/* Slug or instance id, as a connection of `scope` (NULL: admin) sees it. */
struct session *session_find(struct master *m, const char *scope,
    const char *name);
/* Of an instance id, or of its number alone in 16 digits, or NULL.
 * Today's keeper stands for each one's own: marks and rows of the board have it.
 */
struct session *session_by_instance(struct master *m, const char *id);
/* The owner of a request key, or NULL. */
struct session *session_by_key(struct master *m, const char *scope,
    const char *key);
/* All of them, in order of instance id. */
struct session *registry_first(struct master *m);
struct session *registry_next(struct session *s);
/* The oldest one younger than `sid`, which may be gone: for walks that end
 * sessions, which may evict others. */
struct session *registry_after(struct master *m, struct sid sid);
/* Into the trees; `s` has sid, scope, request_key; an empty slug is made. */
int registry_add(struct master *m, struct session *s);
/* Its request key is free again. */
void registry_drop_key(struct master *m, struct session *s);
/* Out of everything: ring, spool, record, keys, cursors, board. Its memory is
 * there until over_free(); twice is as good as once. */
void registry_forget(struct master *m, struct session *s);
/* Out of the trees and freed; index and files stay (the master ends). */
void registry_drop(struct master *m, struct session *s);
void session_free(struct session *s);
/* The record and the board slot are written at the end of this turn. */
void session_touch(struct master *m, struct session *s);
/* The same, within SOON_MS: of what its worker would say again, and nobody was
 * told. What ends until then is written once. */
void session_touch_soon(struct master *m, struct session *s);
/* Before a commit: for whom it is time. */
void registry_soon(struct master *m);
void board_show(struct master *m, struct session *s);
int registry_board_init(struct master *m);
void registry_board_take(struct master *m); /* once all are known */

/* ------------------------------------------------------------ session.c */
/* One of which nothing is known yet: by a request, a record or a ring. Its texts
 * are the caller's to fill, each. NULL: no memory. */
struct session *session_new(void);
bool session_may_move(uint32_t from, uint32_t to);
void session_set_state(struct master *m, struct session *s, uint32_t state,
    const char *why);
/* Counts a start with what records it, so that neither is without the other. */
void session_count_started(struct master *m, struct session *s);
static inline bool
session_live(const struct session *s)
{
	return s->state != STATE_ENDED && !s->forgotten;
}
/* May it still need its spec? */
static inline bool
session_is_before_start(const struct session *s)
{
	return s->state == STATE_QUEUED || s->state == STATE_STARTING;
}
/* Queued or admitted, by its lane. -ENOSPC-like verdicts as proto errors. */
int session_admit(struct master *m, struct session *s,
    struct proto_problem *why);
/* Starts what the lanes let through now. */
void session_pump_lanes(struct master *m);
void session_background(struct master *m, struct session *s);
/* It never ran, and nobody has it: another start, or the end where that is asked
 * for. Whoever comes back without a try of a worker has all its tries left. */
void session_again(struct master *m, struct session *s);
/* The same where its worker died: `in_hand`, while that was starting it. */
void session_again_after(struct master *m, struct session *s, bool in_hand);
void session_wake(struct master *m, struct session *s, unsigned wake);
/* Its instance id as everybody spells it, for as long as it is known, under
 * later keepers too: INCARNATION.NUMBER. */
#define SESSION_INSTANCE_MAX 40
void session_instance(const struct session *s, char ret[SESSION_INSTANCE_MAX]);

/* -------------------------------------------------------- end.c */
/* The status word of the behaviour, from reason and code. */
uint32_t session_status_of(uint32_t reason, int32_t exit_code);
/* Asks for the end: by order, or at once where it has not been given away.
 * flags: enum ctl_kill_flags. */
void session_kill(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t reason, uint32_t flags);
/* Only the order, to whoever has it. */
void session_order_kill(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t reason, uint32_t flags);
/* Did an ended session leave processes that a kill can reach? */
static inline bool
session_has_left(const struct session *s)
{
	return !session_live(s) && s->has_worker &&
	    (s->holders > 0 || s->remaining > 0);
}
/* The stop ladder for these. */
void session_kill_left(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t flags);
/* The end by this master's own decision (never ran, lost, cancelled). */
void session_end_here(struct master *m, struct session *s, uint32_t reason,
    const char *why);
/* No row and no worker speaks of it: what the ring's header says, or lost. */
void session_end_by_ring(struct master *m, struct session *s);
/* All that follows, once reason, exit and times are in *s. */
void session_ended(struct master *m, struct session *s, const char *why);
/* Was it refused by its child, which found no such directory, before anybody
 * was told of it? Its exec is answered so, and it is forgotten. A directory
 * that did not answer may be there. */
static inline bool
session_never_was(const struct session *s)
{
	return s->reason == END_SPAWN_ERROR && s->stage == STAGE_CHDIR &&
	    abs(s->error) != ETIMEDOUT && !s->answered;
}
/* Exit facts as waitid tells them, into *s. */
void session_take_exit(struct session *s, int32_t code, int32_t status);
/* Exit events that found no room are tried again. */
void session_events_due(struct master *m);

/* ------------------------------------------------------- recv.c */
/* The keeper says that this worker is dead: back to the one that has taken the
 * session over, where the dead one's words were read after that one's. */
void session_back_to_heir(struct master *m, struct session *s,
    struct wid dead);
void session_on_running(struct master *m, struct worker *w,
    const struct ctl_running *msg);
void session_on_failed(struct master *m, struct worker *w,
    const struct ctl_failed *msg);
void session_on_exited(struct master *m, struct worker *w,
    const struct ctl_exit *msg);
void session_on_end(struct master *m, struct worker *w,
    const struct ctl_end *msg);
void session_on_left(struct master *m, struct worker *w,
    const struct ctl_left *msg);

/* --------------------------------------------------------------- news.c */
void news_started(struct master *m, struct session *s);
/* Arms the warning before s->deadline_ms, once. */
void news_deadline(struct master *m, struct session *s);
void news_deadline_off(struct session *s);
/* `sessions` of its go on under another one. */
void news_worker_down(struct master *m, const struct ctl_peer *msg,
    uint64_t sessions);

/* ------------------------------------------------------------- record.c */
void record_encode(const struct session *s, struct enc *e);
/* A new session from a record; NULL: does not decode. */
struct session *record_decode(const void *data, size_t size);
void spec_encode(const struct spec *sp, struct enc *e);
struct spec *spec_decode(const void *data, size_t size);
void spec_free(struct spec **sp);
int record_write(struct master *m, struct session *s);
int spec_write(struct master *m, struct session *s);
/* Makes sure s->spec is there. -ENOENT, -ENOMEM */
int spec_load(struct master *m, struct session *s);
int key_write(struct master *m, struct session *s);

/* ------------------------------------------------------------ readers.c */
struct ring_reader *readers_get(struct master *m, struct sid sid);
/* The same; a session that waits to start has none. */
static inline struct ring_reader *
readers_of(struct master *m, const struct session *s)
{
	return s->state != STATE_QUEUED ? readers_get(m, s->sid) : NULL;
}
const char *readers_fault(struct master *m, const struct session *s);
void readers_forget(struct master *m, struct sid sid);
void readers_close(struct master *m);
/* The tail field, cleaned, into b. head_known: s->total was just read
 * from the ring. */
void session_tail(struct master *m, struct session *s, struct sbuf *b,
    size_t max, bool head_known);

/* ----------------------------------------------------------- terminal.c */
/* A line too long for the terminal's mode: the refusal is sent. */
bool terminal_refuses(struct req *r, struct session *s, const char *data,
    size_t n);
/* These bytes were accepted, up to s->spool_end. */
void terminal_accepted(struct session *s, const char *data, size_t n);
/* The end of file, as a terminal has it. 0 or -errno. */
int terminal_eof(struct master *m, struct session *s);
/* Brings stdin_uncertain up to what the ring's header says. */
void terminal_uncertain(struct master *m, struct session *s);
/* What the session's terminal makes of cursor keys; a pipe has no modes. */
enum cursor_mode session_cursor_mode(struct master *m, struct session *s);
/* Does its program read lines at this moment, as far as can be known? */
bool terminal_reads_lines(struct master *m, struct session *s);
/* RUNNING: did it get its terminal? */
void terminal_order_size(struct master *m, struct session *s);
void terminal_running(struct master *m, struct session *s,
    const struct ctl_running *msg);

/* -------------------------------------------------------------- sweep.c */
void sweep_ended(struct master *m, struct session *s); /* has just ended */
void sweep_gone(struct master *m, struct session *s);  /* is forgotten */
/* Its result has reached a client. */
void sweep_read(struct master *m, struct session *s);
void sweep_arm(struct master *m);
rank_cmp sweep_cmp;         /* of master.expiring */
share_reclaim sweep_reclaim; /* arg: the master */
/* May it start? 0; -EDQUOT, -ENOSPC with the sentence in *why, or NULL. */
int sweep_admit(struct master *m, struct session *s,
    struct proto_problem *why);
void sweep_squeeze(struct master *m);
void sweep_budget(struct master *m);
uint64_t sweep_used(const struct master *m);

#endif
