/* SPDX-License-Identifier: MIT */
/*
 * Everything the master's modules share: one struct master, one struct
 * session per session, one struct req per request under way. Nothing here is
 * in shared memory; the board and the index hold what others and the next
 * master need.
 *
 * One turn of the loop: events are handled, answers and orders are staged;
 * turn_end() writes the records of touched sessions, commits, and only then
 * sends. What a failed commit takes back is said at turn_end().
 */
#ifndef PSUP_MASTER_H
#define PSUP_MASTER_H

#include <sys/queue.h>
#include <sys/tree.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/codec.h"
#include "common/config.h"
#include "common/ctl.h"
#include "common/heritage.h"
#include "common/ids.h"
#include "common/keys.h"
#include "common/proto.h"
#include "common/slug.h"
#include "shm/board.h"
#include "shm/index.h"
#include "shm/layout.h"
#include "shm/ring.h"
#include "supervisor/cursors.h"
#include "supervisor/drains.h"
#include "supervisor/events.h"
#include "supervisor/gate.h"
#include "supervisor/lane.h"
#include "supervisor/sbuf.h"
#include "supervisor/tokens.h"

#define MASTER_WORKERS    (STATS_PAGES - 2u)
#define MASTER_READERS    8192u /* ring readers kept open at most */
#define RETAIN_SPILL_MAX  (UINT64_C(1) << 50)
#define MASTER_TAIL       2000u /* bytes of the tail field */
#define MASTER_ATTEMPTS  3u   /* spawns that failed for a passing reason */
#define MASTER_RESTARTS  32u  /* starts again after a worker's death */
#define MASTER_RECENT     256u /* answered foreground sessions kept */
#define MASTER_KEY_WAIT_MS 10000u /* a foreground session waits for its key */

struct conn;
struct conn_list;
struct req;
struct event;
struct waits;
struct waited;
struct event_base;

/* Which session or worker an event of the log is about. */
#define KV_SESSION(s) KV("session", (s)->sid.v), KV("slug", (s)->slug)
#define KV_WORKER(w)                                                           \
	KV("role", "worker"), KV("role_slot", (w)->wid.slot),                  \
	    KV("role_generation", (w)->wid.generation)

/* ------------------------------------------------------------- session */

/* What START needs. The blob is as in ctl.h. */
struct spec {
	uint32_t argc, envc, path_count;
	uint32_t shell_argc; /* with a direct command: of argc; else 0 */
	uint32_t umask;      /* of the command; 022 where none was asked for */
	uint32_t blob_bytes;
	char *blob;
};

/* A request's interest in a session. */
struct watch {
	LIST_ENTRY(watch) of_session;
	LIST_ENTRY(watch) of_req;
	struct req *req;
	struct session *s;
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
	TAILQ_ENTRY(session) pending_link; /* starting, no worker yet */
	TAILQ_ENTRY(session) gate_link; /* gate_unwarned */
	LIST_HEAD(, watch) watches;

	/* identity; set once */
	struct sid sid;
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
	int32_t pty_error;   /* errno: it got pipes instead of a terminal */
	uint32_t attempt;
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
	bool warned;       /* of its time-out */
	uint64_t spool_end;
	uint64_t stdin_consumed;
	uint64_t stdin_node; /* as in ctl_running */
	struct input_probe input_probe;
	enum input_wait waits_now; /* as last shown */
	uint64_t input_ms; /* wall: stdin was fed last; of this master */
	uint64_t line_at; /* spool position: the line in hand; of a terminal */
	uint64_t stdin_uncertain; /* bytes: given to the terminal, or lost */
	bool spool_eof;
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
	bool dirty, fresh; /* fresh: its record was never committed */
	bool pending;      /* on the list of those that wait for a worker */
	bool watching;     /* CTL_WATCH is out */
	bool watching_stdin;
	bool answered;     /* its exec request has been answered */
	bool killing_left; /* LEFT will say what became of its holders */
	bool in_ended;
	bool recent;      /* counted in master.recent */
	struct event *warning; /* before its time-out; NULL: none */
	struct master *master; /* for `warning` */
	uint64_t watch_pos;
	uint64_t leaving_bytes; /* removed while it lives: of its ring */
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

/* -------------------------------------------------------------- worker */

struct order {
	STAILQ_ENTRY(order) link;
	struct sid sid;
	bool committed_only; /* waits for a commit that succeeds */
	int fd;              /* sent beside it; -1: none */
	size_t size;
	unsigned char msg[];
};
STAILQ_HEAD(order_list, order);

struct worker {
	bool present;
	bool dump_done;
	struct wid wid;
	int32_t pid;
	uint32_t role;
	uint32_t live;   /* sessions given and not ended */
	int fd;
	struct event *ev, *ev_write;
	struct order_list staged, out;
	struct master *m;
};

/* -------------------------------------------------------------- request */

enum wake {
	WAKE_OUTPUT = 1, /* there may be more output */
	WAKE_STATE = 2,  /* running, exited, ended */
	WAKE_STDIN = 4,  /* consumed, or closed */
	WAKE_TIMER = 8,
	WAKE_ROOM = 16,  /* the connection's out-queue has room */
	WAKE_GONE = 32,  /* the session is being forgotten */
};

struct req {
	TAILQ_ENTRY(req) link; /* of the connection */
	LIST_HEAD(, watch) watches;
	struct conn *conn;
	uint32_t msgid;
	enum proto_method method;
	struct event *timer;
	struct master *m;
	enum text_rule text; /* exec, poll, log: how output is shown */
	/* exec */
	bool streaming, stream_said;
	bool bg; /* answered as soon as there is a pid */
	uint64_t stream_pos, stream_safe, stream_sent, stream_credit;
	struct event *stall;
	struct sbuf warnings;
	/* poll */
	char reader[72];
	uint64_t since, max_bytes, idle_at_ms;
	uint64_t due_ns; /* boot; when there was something to answer */
	bool have_since, explicit_ack, raw, usage;
	uint64_t held_ns; /* boot: so long it waits for another's answer */
	/* wait */
	struct waits *waits;
	/* write */
	char *data;
	size_t data_len, accepted;
	bool eof;
	/* send-keys: where each key ends in data; its warnings are lines */
	size_t *cuts, cut_at;
	uint64_t delay_ms;
	/* lanes: drain */
	char lane[LANE_NAME_MAX];
	LIST_ENTRY(req) drain_link;
	bool drains_lane;
	/* screen */
	struct drawing *drawing;
	/* log */
	struct logging *log;
	/* kill */
	bool any;
	int signal;
	uint64_t asked; /* killScope, drainScope: sessions */
	/* drainScope; reader is the scope */
	bool drain_kill; /* at the end of the wait */
	uint32_t grace_ms;
	uint64_t deadline_ns; /* boot; 0: none; of poll too */
};

/* --------------------------------------------------------------- master */

/* The place of a field of struct stats_tally among its numbers. */
#define TALLY_FIELDS (sizeof(struct stats_tally) / sizeof(uint64_t))
#define TALLY(field) (offsetof(struct stats_tally, field) / sizeof(uint64_t))


struct lane_note {
	STAILQ_ENTRY(lane_note) link;
	char name[LANE_NAME_MAX];
};
STAILQ_HEAD(lane_notes, lane_note);

struct reader_slot {
	struct ring_reader r;
	struct sid sid; /* 0: free */
};

struct master {
	struct heritage h;
	struct config cfg;
	int dirfd;
	struct event_base *base;
	bool running, stopping, table_end, reconciled, set_aside;
	bool damaged; /* is the index: there may be sessions without record */
	bool again; /* the turn's end has more to commit or send */
	bool events_due; /* an exit event found no room */
	bool events_unread; /* one that is to be told could not be read */
	bool failed; /* it ends by its own fault */
	uint64_t failing_ns; /* commits fail since; 0: they do not */

	struct index *ix;
	struct board board;
	uint32_t *board_free;
	uint32_t board_free_count;
	uint64_t names; /* where an index's slugs begin */
	struct board_slot *shown; /* by the last master; NULL: no need of it */
	uint32_t shown_count;
	struct stats_page *stats;
	const struct stats_page *pages; /* everybody's, read-only */
	struct cursors *cursors;
	struct events *events;
	struct lanes *lanes;
	struct lane_notes lane_notes; /* lanes whose state is to be written */
	uint64_t lanes_shown;         /* on the board, as lanes_changes() */
	LIST_HEAD(, req) lane_drains;
	bool lane_warns; /* a warning may end somebody, which warns */
	struct tokens *tokens;
	struct drains *drains;
	struct gate gate;

	struct sid_tree by_sid;
	struct slug_tree by_slug;
	struct key_tree by_key;
	struct session_list dirty, ended, pending;
	uint64_t next_sid;
	bool next_dirty;
	uint64_t tally[TALLY_FIELDS]; /* struct stats_tally, see tally.c */
	uint64_t tally_fresh;
	bool tally_dirty;
	uint32_t live;     /* not ended */
	uint64_t finished_bytes; /* ring bytes of ended sessions */
	uint64_t leaving_bytes;  /* of those that are being removed */
	uint32_t recent;   /* answered foreground ones kept */
	uint64_t budget;
	uint64_t counts[STATE_COUNT];

	struct worker workers[MASTER_WORKERS];
	int keeper_fd;
	struct event *keeper_ev;
	bool leaving; /* told to, for another build: ends after a commit */
	struct ctl_upgraded upgraded; /* as last told; id 0: never */
	struct req *upgrade_req;      /* waits for the keeper's word */
	uint64_t upgrade_id;
	TAILQ_HEAD(, waited) scans; /* waits with output to look through */
	struct event *scan_timer;
	uint32_t searches; /* of logs, that go on in the next turn */
	uint32_t probes_left; /* looks into /proc for rows of this answer */
	struct event *lane_timer, *sweep_timer, *retry_timer, *heartbeat,
	    *key_timer;

	uint64_t nofile; /* how many descriptors we may have */
	struct reader_slot readers[MASTER_READERS];
	int reader_error; /* why readers_get() said NULL */
	uint64_t events_sent; /* subscribers were told up to here */
	uint32_t kinds_wanted; /* EVENT_BIT of each that is recorded */

	struct conn_list *conns;
	char *base_env; /* the server's own, filtered: NUL-terminated strings */
	size_t base_env_bytes;
	char home[4096];
	char user_shell[1024];
	char server_path[4096];
};

/* ------------------------------------------------------------- master.c */
int master_init(struct master *m, const struct heritage *h);
void master_fini(struct master *m);
void master_loop(struct master *m);
void master_reload(struct master *m);
/* It ends by its own fault, without committing or sending more. */
void master_give_up(struct master *m, const char *why);
/* Arms a timer `ms` from now, making it where *ev is NULL. */
void timer_in(struct master *m, struct event **ev,
    void (*fn)(int, short, void *), void *arg, uint64_t ms);

/* -------------------------------------------------------------- tally.c */
int tally_write(struct master *m);
void tally_written(struct master *m);
void tally_load(struct master *m, bool ours);
static inline void
tally_add(struct master *m, size_t field, uint64_t n)
{
	m->tally[field] += n;
	m->tally_dirty = true;
}

/* ----------------------------------------------------------- registry.c */
struct session *session_by_sid(struct master *m, struct sid sid);
struct session *session_by_slug(struct master *m, const char *slug);
/* Slug or instance id, as a connection of `scope` (NULL: admin) sees it. */
struct session *session_find(struct master *m, const char *scope,
    const char *name);
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
/* Out of everything and freed: ring, spool, record, keys, cursors, board. */
void registry_forget(struct master *m, struct session *s);
/* Out of the trees and freed; index and files stay (the master ends). */
void registry_drop(struct master *m, struct session *s);
void session_free(struct session *s);
/* The record and the board slot are written at the end of this turn. */
void session_touch(struct master *m, struct session *s);
void board_show(struct master *m, struct session *s);
int registry_board_init(struct master *m);
void registry_board_take(struct master *m); /* once all are known */

/* ------------------------------------------------------------ session.c */
bool session_may_move(uint32_t from, uint32_t to);
void session_set_state(struct master *m, struct session *s, uint32_t state,
    const char *why);
static inline bool
session_live(const struct session *s)
{
	return s->state != STATE_ENDED;
}
/* Queued or admitted, by its lane. -ENOSPC-like verdicts as proto errors. */
int session_admit(struct master *m, struct session *s,
    struct proto_problem *why);
/* Starts what the lanes let through now. */
void session_pump_lanes(struct master *m);
void session_background(struct master *m, struct session *s);
/* Its worker is dead and it never ran: another start, or the end. */
void session_again(struct master *m, struct session *s);
void session_wake(struct master *m, struct session *s, unsigned wake);
/* Its instance id as everybody spells it: INCARNATION.NUMBER. */
#define SESSION_INSTANCE_MAX 40
void session_instance(const struct master *m, const struct session *s,
    char ret[SESSION_INSTANCE_MAX]);

/* -------------------------------------------------------- session_end.c */
/* The status word of the behaviour, from reason and code. */
uint32_t session_status_of(uint32_t reason, int32_t exit_code);
/* Asks for the end: by order, or at once where it has not been given away. */
void session_kill(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t reason, bool escalate);
/* Only the order, to whoever has it. */
void session_order_kill(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, uint32_t reason, bool escalate);
/* Did an ended session leave processes that a kill can reach? */
static inline bool
session_has_left(const struct session *s)
{
	return !session_live(s) && s->has_worker &&
	    (s->holders > 0 || s->remaining > 0);
}
/* The stop ladder for these. */
void session_kill_left(struct master *m, struct session *s, int sig,
    uint32_t grace_ms, bool escalate);
/* The end by this master's own decision (never ran, lost, cancelled). */
void session_end_here(struct master *m, struct session *s, uint32_t reason,
    const char *why);
/* No row and no worker speaks of it: what the ring's header says, or lost. */
void session_end_by_ring(struct master *m, struct session *s);
/* All that follows, once reason, exit and times are in *s. */
void session_ended(struct master *m, struct session *s, const char *why);
/* Exit facts as waitid tells them, into *s. */
void session_take_exit(struct session *s, int32_t code, int32_t status);
/* Exit events that found no room are tried again. */
void session_events_due(struct master *m);
/* Its bytes are not counted any more, though it still has to end. */
void session_leaves(struct master *m, struct session *s);

/* ------------------------------------------------------- session_recv.c */
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

/* --------------------------------------------------------- lane_admin.c */
/* An operator's wish: in force at once, in the index with this turn. */
int lane_admin_put(struct master *m, const char *name,
    const struct lane_state *state);
/* What the lanes' states are now; false: there is no such lane, and *ret is
 * that of a fresh one. */
bool lane_admin_state(struct master *m, const char *name,
    struct lane_state *ret);
/* Rejects who waits; how many. */
uint32_t lane_admin_clear(struct master *m, const char *name);
/* Clears it and gives it a new generation. */
uint32_t lane_admin_reset(struct master *m, const char *name);
int lane_admin_load(struct master *m);
int lane_admin_write(struct master *m);
void lane_admin_written(struct master *m);
/* Brings the board's lanes up to date. */
void lane_admin_show(struct master *m);
/* Sessions that keep another from starting: some of them, and how many. */
#define BLOCKERS_NAMED 16
struct blockers {
	struct sid sids[BLOCKERS_NAMED];
	uint32_t n, total;
};
/* As a connection of `scope` (NULL: admin) may know them: an array; and up to
 * 3 in words. */
void blockers_encode(struct master *m, const char *scope,
    const struct blockers *b, struct enc *e);
void blockers_text(struct master *m, const char *scope,
    const struct blockers *b, struct sbuf *text);
/* The same of those that keep a lane's first from starting. */
void lane_blockers_encode(struct master *m, const char *scope,
    const char *lane, struct enc *e);
void lane_blockers_text(struct master *m, const char *scope, const char *lane,
    struct sbuf *b);

/* ------------------------------------------------------ lane_deadlock.c */
/* -EDEADLK and why: only its ancestors hold its lane, or its group. */
int lane_deadlock_refuse(struct master *m, const struct session *s,
    const char *scope, struct proto_problem *why);
/* Ends a queued one for the same reason; false: there is none. */
bool lane_deadlock_end(struct master *m, struct session *s);
/* Looks at who waits in a lane that may have become too narrow; in all. */
void lane_deadlock_look(struct master *m, const char *lane);
void lane_deadlock_look_all(struct master *m);

/* "nova-gulf (12s, lane main) <- ...": its ancestors, the parent first, as a
 * connection of `scope` (NULL: admin) may know them. */
void lane_deadlock_chain(struct master *m, const struct session *s,
    const char *scope, struct sbuf *b);

/* ---------------------------------------------------------- lane_wait.c */
void lane_wait_warn(struct master *m, uint64_t now);

/* --------------------------------------------------------------- pool.c */
void pool_init(struct master *m);
void pool_fini(struct master *m);
void pool_on_peer(struct master *m, const struct ctl_peer *msg, int fd);
void pool_on_down(struct master *m, const struct ctl_peer *msg);
/* The worker's channel, or NULL where that incarnation is not here. */
struct worker *pool_get(struct master *m, struct wid wid);
/* Has the keeper another one in its place, of which we are still to hear? */
bool pool_is_gone(const struct master *m, const struct worker *w);
/* Gives a starting session to the least loaded worker, or lets it wait. */
void pool_dispatch(struct master *m, struct session *s);
void pool_order(struct master *m, struct session *s, const void *msg,
    size_t size, bool committed_only, int fd);
/* To a given worker, for a session we may not know. */
void pool_order_to(struct worker *w, struct sid sid, const void *msg,
    size_t size, bool committed_only, int fd);
void pool_turn_end(struct master *m, bool committed);
void pool_drop_orders(struct master *m, struct sid sid);
bool pool_dumps_done(const struct master *m);

/* --------------------------------------------------------------- link.c */
int link_open(struct master *m);
void link_close(struct master *m);
int link_send(struct master *m, const void *msg, size_t size);

/* ------------------------------------------------------------ recover.c */
int recover_index(struct master *m); /* opens it; set aside: not for us */
int recover_scan(struct master *m);
int recover_meta_put(struct master *m, const char *key, uint64_t v);
void recover_on_held(struct master *m, const struct ctl_held *msg);
/* That worker is dead. Was it to speak of the session next, as the last of
 * several who took it over? The keeper has no row of it then: it said CLOSED
 * there, and what it had to say here died with it. Ends the session or, where
 * nothing but an exec that failed ever was, has it started again. */
void recover_unheard(struct master *m, struct session *s, struct wid dead);
void recover_step(struct master *m);

/* -------------------------------------------------------------- adopt.c */
/* Once the index is read, before the board is written: where it is not whole,
 * what the board shows is kept until adopt_close(). -ENOMEM. */
int adopt_open(struct master *m);
void adopt_close(struct master *m);
bool adopt_is_shown(const struct master *m, struct sid sid);
/* Makes sessions of all that the board showed and no record speaks of: as if
 * there had been one, or ended by its ring. Before lanes are put back. */
void adopt_shown(struct master *m);
/* Neither record nor row: one that runs. NULL: forgotten on purpose, or no
 * memory. */
struct session *adopt_live(struct master *m, struct sid sid);
/* The same for one that has but its ring. */
void adopt_ended(struct master *m, struct sid sid);

/* ------------------------------------------------------------ readers.c */
struct ring_reader *readers_get(struct master *m, struct sid sid);
const char *readers_fault(struct master *m, const struct session *s);
void readers_forget(struct master *m, struct sid sid);
void readers_close(struct master *m);
/* The tail field, cleaned, into b. head_known: s->total was just read
 * from the ring. */
void session_tail(struct master *m, struct session *s, struct sbuf *b,
    size_t max, bool head_known);

/* --------------------------------------------------------------- conn.c */
int conn_listen(struct master *m);
void conn_close_all(struct master *m);
void conn_turn_end(struct master *m, bool committed);
/* NULL: an admin connection. */
const char *conn_scope(const struct conn *c);
/* May it see every scope and call admin methods? */
bool conn_is_admin(const struct conn *c);
/* May it call this method? False: *why. */
bool conn_may_call(const struct conn *c, enum proto_method method,
    struct proto_problem *why);
bool conn_process(const struct conn *c);
/* Bytes that wait to be written, staged ones included. */
size_t conn_queued(const struct conn *c);
/* A notification; map NULL: it found no memory, so the connection ends. */
void conn_notify(struct conn *c, const char *method, const void *map,
    size_t size);
void conn_answer(struct conn *c, uint32_t msgid, const void *result,
    size_t size);
void conn_fail(struct conn *c, uint32_t msgid, const struct proto_problem *p);
/* After the last staged byte was written: the cursor is confirmed; where the
 * connection dies before, it is unstaged. */
void conn_mark_cursor(struct conn *c, struct sid sid, const char *reader,
    uint64_t ack);
/* After the last staged byte: stream position `pos` of `msgid` is out. */
void conn_mark_stream(struct conn *c, uint32_t msgid, uint64_t pos);
size_t conn_count(const struct master *m);
/* Ends a connection from our side. */
void conn_drop(struct conn *c);

/* ------------------------------------------------------------ request.c */
struct req *req_new(struct conn *c, uint32_t msgid, enum proto_method method);
/* Answers and frees. *e holds the result. */
void req_answer(struct req *r, struct enc *e);
void req_fail(struct req *r, const struct proto_problem *p);
void req_failf(struct req *r, enum proto_error code, const char *field,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A tool's failure: {text, details: {status failed, error}, isError true} */
void req_refuse(struct req *r, enum proto_error code, const char *session,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void req_free(struct req *r);
int req_watch(struct req *r, struct session *s);
void req_unwatch(struct req *r);
struct session *req_session(struct req *r);
void req_timer(struct req *r, uint64_t ms);
void req_wake(struct req *r, struct session *s, unsigned wake);
/* By cancel or by the connection's end. */
void req_abandon(struct req *r, bool cancelled);

/* ---------------------------------------------------------------- api.c */
struct api_call {
	struct master *m;
	struct conn *conn;
	struct req *req;
	const struct val *params;
};
void api_dispatch(struct master *m, struct req *r, const struct val *params);
/* The session that the calling client runs in, or {0} (kin.c). */
struct sid kin_of_call(const struct api_call *c);
/* The session a call names, or NULL after the refusal was sent. */
struct session *api_session(struct api_call *c, bool backgrounded);
/* The same, and it must be live. */
struct session *api_running(struct api_call *c);
/* The call's `text`, into its request; false: the refusal was sent. */
bool api_text_rule(struct api_call *c);
typedef void api_fn(struct api_call *c);
api_fn api_hello;
api_fn api_exec, api_list, api_poll, api_log, api_wait, api_write,
    api_send_keys, api_submit, api_paste, api_kill, api_kill_scope, api_clear,
    api_remove, api_events, api_subscribe, api_ack, api_status, api_shutdown,
    api_upgrade,
    api_resize, api_background, api_screen, api_mint_token, api_list_tokens,
    api_revoke_token, api_drain_scope, api_undrain_scope;
api_fn api_lanes;
void api_exec_wake(struct req *r, struct session *s, unsigned wake);
/* A poll's answer has reached its reader. */
void api_poll_delivered(struct master *m, struct sid sid, const char *reader,
    uint64_t ack);
/* It was lost with its connection: the next poll delivers it again. */
void api_poll_undelivered(struct master *m, struct sid sid,
    const char *reader, uint64_t ack);
/* Has the worker say when a session has output beyond `pos`. */
void watch_output(struct master *m, struct session *s, uint64_t pos);
/* Looks through output for waits, in slices. */
void api_wait_scan(struct master *m);
void api_poll_wake(struct req *r, struct session *s, unsigned wake);
void api_log_wake(struct req *r, struct session *s, unsigned wake);
/* The log of a request goes with it. */
void api_log_forget(struct req *r);
void api_wait_wake(struct req *r, struct session *s, unsigned wake);
void api_write_wake(struct req *r, struct session *s, unsigned wake);
void api_send_keys_wake(struct req *r, struct session *s, unsigned wake);
void api_kill_wake(struct req *r, struct session *s, unsigned wake);
void api_lanes_wake(struct req *r, struct session *s, unsigned wake);
/* Answers the drains that are done. */
void api_lanes_step(struct master *m);
void api_screen_wake(struct req *r, struct session *s, unsigned wake);
/* What a request has drawn goes with it. */
void api_screen_forget(struct req *r);
void api_kill_scope_wake(struct req *r, struct session *s, unsigned wake);
void api_upgrade_forget(struct req *r);
/* ------------------------------------------------------- api_upgrade.c */
void upgrade_told(struct master *m, const struct ctl_upgraded *msg);
void upgrade_status(struct master *m, struct enc *e);
void upgrade_build(const struct stats_page *p, struct enc *e);
void api_drain_scope_wake(struct req *r, struct session *s, unsigned wake);
/* Of killScope and drainScope: the live sessions of a scope, ... */
struct sid *scope_sessions(struct master *m, const char *scope,
    size_t *ret_count);
/* ... and their end, by r->signal; those that still live wake r. */
void scope_end_all(struct req *r, const struct sid *list, size_t n,
    uint32_t grace);
void api_exec_abandon(struct req *r);
/* Subscribers get what is new; called after the commit. */
void api_events_push(struct master *m);
/* Who subscribes, or psup.conf, has changed. */
void api_events_recount(struct master *m);
/* News for the log: recorded where somebody wants that kind. `s` NULL: about
 * the server. `key` NULL, or a field of the kind and its value. */
void api_event_news(struct master *m, enum event_kind kind, struct session *s,
    const char *text, const char *key, uint64_t value);
/* Its out-queue is shorter: one that was behind gets more. */
void api_events_more(struct conn *c, struct master *m);
/* Input, for all methods that feed stdin: the running session of the call, or
 * NULL after the refusal was sent; ... */
struct session *input_session(struct api_call *c);
/* ... all of it into the queue, or nothing: -ENOBUFS, -ENOSPC, -errno; ... */
int input_put(struct master *m, struct session *s, const char *data,
    size_t n);
/* ... what the command has not taken; ... */
uint64_t input_queued(struct master *m, struct session *s);
/* ... the details of an answer, into an open map. */
void input_details(struct req *r, struct session *s, struct enc *e);
/* hello's half in conn.c: what the connection is from here on. -EALREADY: it
 * has said hello, or something else, before. */
struct hello {
	const char *scope;    /* NULL: admin */
	const char *token_id; /* of the token it showed; NULL: none */
	const char *client;
	bool process;
};
int conn_set_hello(struct conn *c, const struct hello *h);
/* Its hello was refused: nothing more is answered, and it is closed. */
void conn_deny(struct conn *c);
/* Another user's, by the group: it must show a token. */
bool conn_is_guest(const struct conn *c);
/* Closes the connections that showed this token. */
void conn_drop_token(struct master *m, const char *token_id);
struct subscriber {
	bool on;
	bool all; /* asked for by number: acknowledged ones, too */
	uint32_t kinds; /* EVENT_BIT of each it wants */
	char name[72];
	bool behind; /* there is more than its connection took */
	uint64_t next_after; /* told up to here */
	uint64_t safe_after; /* the same, of committed turns */
};
struct subscriber *conn_subscriber(struct conn *c);
void conn_each(struct master *m, void (*fn)(struct conn *, void *), void *arg);

/* ------------------------------------------------------------- stream.c */
void stream_begin(struct req *r, struct session *s);
/* Moves what the out-queue takes; true: everything there is was queued. */
bool stream_pump(struct req *r, struct session *s);
void stream_written(struct req *r, uint64_t pos);
void stream_end(struct req *r, struct session *s);

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
void terminal_running(struct master *m, struct session *s,
    const struct ctl_running *msg);

/* -------------------------------------------------------------- sweep.c */
void sweep_ended(struct master *m, struct session *s); /* has just ended */
void sweep_arm(struct master *m);
void sweep_evict_for(struct master *m, uint64_t bytes);
/* May one more session start? 0 or -ENOSPC with the sentence. */
int sweep_admit(struct master *m, struct session *s,
    struct proto_problem *why);
void sweep_budget(struct master *m);
uint64_t sweep_used(const struct master *m);
/* An answered foreground session is kept for a while, then forgotten. */
void sweep_answered(struct master *m, struct session *s);

#endif
