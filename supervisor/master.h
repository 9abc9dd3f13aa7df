/* SPDX-License-Identifier: MIT */
/*
 * Everything the master's modules share: one struct master, and what has to do
 * with neither a single session (session.h) nor a request (request.h).
 *
 * One turn of the loop: events are handled, answers and orders are staged;
 * turn_end() writes the records of touched sessions, commits, and only then
 * sends. What a failed commit takes back is said at turn_end().
 */
#ifndef PSUP_MASTER_H
#define PSUP_MASTER_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/box_facts.h"
#include "common/config.h"
#include "common/ctl.h"
#include "common/heritage.h"
#include "common/ids.h"
#include "common/metrics.h"
#include "shm/board.h"
#include "shm/index.h"
#include "shm/layout.h"
#include "shm/ring.h"
#include "supervisor/api/api.h"
#include "supervisor/gate/gate.h"
#include "supervisor/gate/starts.h"
#include "supervisor/host/boxes.h"
#include "supervisor/lane/lane.h"
#include "supervisor/session/session.h"
#include "supervisor/session/sids.h"
#include "supervisor/session/spares.h"
#include "supervisor/share/room.h"
#include "supervisor/store/cursors.h"
#include "supervisor/store/drains.h"
#include "supervisor/store/events.h"
#include "supervisor/store/tokens.h"
#include "supervisor/words/sbuf.h"

#define MASTER_WORKERS    (STATS_PAGES - 2u)
#define MASTER_PIDS       8192u /* lists of sessions by pid */
#define MASTER_READERS    8192u /* ring readers kept open at most */
#define RETAIN_SPILL_MAX  (UINT64_C(1) << 50)
#define MASTER_TAIL       2000u /* bytes of the tail field */
#define MASTER_ATTEMPTS   3u   /* spawns that failed for a passing reason */
#define MASTER_RESTARTS   32u  /* deaths of workers with its start in hand */
#define SOON_MS           16u  /* a record that can wait, does so long */
#define MASTER_RECENT     256u /* answered foreground sessions of a scope */
#define MASTER_KEY_WAIT_MS 10000u /* a foreground session waits for its key */

struct conn_list;
struct event;
struct ending;
struct lane_work;
struct event_base;

/* Which worker an event of the log is about. */
#define KV_WORKER(w)                                                           \
	KV("role", "worker"), KV("role_slot", (w)->wid.slot),                  \
	    KV("role_generation", (w)->wid.generation)

/* -------------------------------------------------------------- worker */

struct order {
	STAILQ_ENTRY(order) link;
	struct sid sid;
	bool committed_only; /* waits for a commit that succeeds */
	bool may_wait;       /* for others, a little: pool_order_late() */
	int fd;              /* sent beside it; -1: none */
	size_t size;
	unsigned char msg[];
};
STAILQ_HEAD(order_list, order);
TAILQ_HEAD(spare_list, spare);

struct worker {
	bool present;
	bool dump_done;
	struct wid wid;
	int32_t pid;
	uint32_t role;
	uint32_t live;   /* sessions given and not ended */
	uint32_t quick, slow; /* starts that are under way (starts.h) */
	int fd;
	struct event *ev, *ev_write;
	struct order_list staged, out;
	uint64_t late_ns; /* since then one that may wait does; 0: none */
	uint64_t flushes; /* times that all orders had left */
	struct spare_list spares; /* spares.h */
	uint32_t spare_count;
	uint64_t kept;   /* rings that it said it keeps, ever */
	struct master *m;
};

/* --------------------------------------------------------------- master */

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
	char sandbox_why[256]; /* why no box can be made; "": one can */
	struct box_facts box_facts; /* ... and what bwrap knows */
	int dirfd;
	struct event_base *base;
	uint64_t going_on; /* sessions of the death that is being told */
	bool running, stopping, table_end, reconciled, set_aside;
	bool damaged; /* is the index: there may be sessions without record */
	bool again; /* the turn's end has more to commit or send */
	bool events_due; /* an exit event found no room */
	bool events_unread; /* one that is to be told could not be read */
	bool failed; /* it ends by its own fault */
	uint64_t failing_ns; /* commits fail since; 0: they do not */
	uint64_t turn_began_ns; /* boot; 0: nothing has happened yet */
	uint64_t dir_seen_ns, space_seen_ns; /* the turn that looked for them */
	uint64_t turn_cpu_ns;   /* of this process, at the end of the last */
	uint64_t units_cpu_ns;  /* the same before the first unit of a turn */
	uint64_t unit_until_ns; /* boot: what is in hand may go on so long */

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
	LIST_HEAD(, lane_work) lane_drains;
	struct tokens *tokens;
	struct drains *drains;
	struct gate gate;
	struct starts starts;
	struct boxes boxes;

	struct {
		SLIST_HEAD(, req) reqs;
		LIST_HEAD(, watch) watches;
		SLIST_HEAD(, session) sessions;
	} over; /* freed by over_free() */
	struct sids by_sid;
	struct slug_tree by_slug;
	struct key_tree by_key;
	struct pid_list by_pid[MASTER_PIDS];
	struct session_list dirty, ended;
	/* whose end still has effects, and whether one made a bound narrow:
	 * session/end.c */
	struct session_list ends;
	bool ends_narrow;
	uint32_t dirty_count;
	struct session_list soon; /* dirty a little later: registry.c */
	struct event *soon_timer;
	uint64_t next_sid;
	uint64_t next_kept; /* on record: the next master begins there */
	uint64_t next_put;  /* the same, of this turn */
	uint64_t tally[TALLY_SLOTS]; /* struct stats_tally, see tally.c */
	uint64_t tally_fresh;
	bool tally_dirty;
	uint32_t live;     /* not ended */
	struct rank_tree expiring; /* ended sessions, see sweep.c */
	struct rooms rooms;
	uint64_t budget;
	uint64_t counts[STATE_COUNT];

	struct worker workers[MASTER_WORKERS];
	int keeper_fd;
	struct event *keeper_ev, *link_timer;
	bool leaving; /* told to, for another build: ends after a commit */
	struct ctl_upgraded upgraded; /* as last told; id 0: never */
	struct req *upgrade_req;      /* waits for the keeper's word */
	struct ctl_upgrade upgrade_order; /* what it asks for */
	TAILQ_HEAD(, ending) endings; /* of whole scopes, in turns */
	struct event *end_timer;
	uint32_t probes_left; /* looks into /proc for rows of this answer */
	struct event *lane_timer, *sweep_timer, *retry_timer, *heartbeat,
	    *key_timer, *late_timer;

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
/* It ends by its own fault, without committing or sending more. */
void master_give_up(struct master *m, const char *why);
/* Arms a timer `ms` from now, making it where *ev is NULL. */
void timer_in(struct master *m, struct event **ev,
    void (*fn)(int, short, void *), void *arg, uint64_t ms);
/* Frees a timer, or any other event; NULL stays. */
void timer_free(struct event **ev);

/* ----------------------------------------------------------- settings.c */
/* What is configured, or the defaults. Where only what boxes are made of is not
 * there by now, there are no boxes: sandbox_why. -ENOMEM */
int settings_begin(struct master *m);
/* The lanes get what is configured. */
int settings_lanes(struct master *m);
/* The environment of commands whose client sends none. -ENOMEM */
int settings_base_env(struct master *m);
/* SIGHUP: new values, or the old ones and a reason in the log. */
void master_reload(struct master *m);

/* ----------------------------------------------------------- turn_run.c */
/* Something wakes the loop: the turn is counted from here on. In each callback,
 * before anything else. */
static inline void
turn_begin(struct master *m)
{
	if (m->turn_began_ns == 0)
		m->turn_began_ns = clock_boot_ns();
}
/* Some units. */
void turn_run(struct master *m);
/* Has it as many records to write as one commit should? */
bool turn_is_full(const struct master *m);
/* Is there one more to run? */
bool turn_waits(const struct master *m);
/* The request whose unit it is, for the keeper. */
void turn_in_hand(struct master *m, const char *method, uint64_t hash);
/* Did masters die of this request? Then it is not taken. */
bool turn_is_fatal(const struct master *m, uint64_t hash);
/* All of the turn is sent. */
void turn_end_time(struct master *m);

/* ------------------------------------------------------------- commit.c */
/* Writes what this turn changed. -ENOSPC and others: nothing of it counts. */
int commit_turn(struct master *m);
/* The end of a turn: all of it is in the index before anything leaves. */
void commit_and_send(struct master *m);

/* --------------------------------------------------------------- mend.c */
/* Attaches the board; one that is none is made anew. 0 or -errno. */
int mend_board_open(struct master *m);
/* With each heartbeat: what somebody overwrote or cut short is made again. */
void mend_look(struct master *m);

/* -------------------------------------------------------------- tally.c */
int tally_write(struct master *m);
void tally_written(struct master *m);
void tally_load(struct master *m, bool ours);
static inline void
tally_add(struct master *m, size_t slot, uint64_t n)
{
	m->tally[slot] += n;
	m->tally_dirty = true;
}

/* --------------------------------------------------------------- pool.c */
void pool_init(struct master *m);
void pool_fini(struct master *m);
void pool_on_peer(struct master *m, const struct ctl_peer *msg, int fd);
void pool_on_down(struct master *m, const struct ctl_peer *msg);
/* END of a worker by way of the keeper. False: the turn was full before all was
 * read that the worker had said; it is to be told again in another. */
bool pool_on_end(struct master *m, const struct ctl_end *msg);
/* The worker's channel, or NULL where that incarnation is not here. */
struct worker *pool_get(struct master *m, struct wid wid);
/* Has the keeper another one in its place, of which we are still to hear? */
bool pool_is_gone(const struct master *m, struct wid wid);
/* How many may be asked for a start. */
uint32_t pool_size(struct master *m);
/* The least loaded of these that may have one, or NULL. Slots in `avoid` are
 * not asked. */
struct worker *pool_choose(struct master *m, uint32_t avoid,
    bool (*may)(const struct worker *));
void pool_order(struct master *m, struct session *s, const void *msg,
    size_t size, bool committed_only, int fd);
/* To a given worker, for a session we may not know. */
void pool_order_to(struct worker *w, struct sid sid, const void *msg,
    size_t size, bool committed_only, int fd);
/* What nobody waits for: it leaves with the next order for that worker, after
 * LATE_MS (pool.c) by itself. */
void pool_order_late(struct worker *w, struct sid sid, const void *msg,
    size_t size);
void pool_turn_end(struct master *m, bool committed);
void pool_drop_orders(struct master *m, struct sid sid);
bool pool_dumps_done(const struct master *m);
/* --- pool_orders.c, for pool.c */
void pool_orders_free(struct worker *w);
/* A full channel has room again; called by the loop. */
void pool_on_room(int fd, short what, void *arg);

/* --------------------------------------------------------------- link.c */
int link_open(struct master *m);
void link_close(struct master *m);
int link_send(struct master *m, const void *msg, size_t size);

/* --------------------------------------------------------------- over.c */
/* Of request.c and registry.c, once everything else has let go of it. */
void over_watch(struct master *m, struct watch *w);
void over_req(struct req *r);
void over_session(struct master *m, struct session *s);
/* Where no function of a request or a session is on the stack. */
void over_free(struct master *m);

/* ------------------------------------------------------------ recover.c */
int recover_index(struct master *m); /* opens it; set aside: not for us */
int recover_scan(struct master *m);
int recover_meta_put(struct master *m, const char *key, uint64_t v);

/* ---------------------------------------------------------- reconcile.c */
void recover_on_held(struct master *m, const struct ctl_held *msg);
/* A worker is dead for sure. Had it this session, or was it to have it, and the
 * keeper has no row that says who follows? Ends it or, where nothing but a start
 * that failed ever was, has it started again. `in_hand`: it died while it worked
 * at it. */
void recover_down(struct master *m, struct session *s, struct wid dead,
    bool in_hand);
void recover_step(struct master *m);

/* -------------------------------------------------------------- files.c */
/* Unlinks those that no session has; with `adopt` each is one again. */
void files_sweep(struct master *m, const char *dir, bool adopt);
/* No number of a session whose ring is there is given again. */
void files_skip_numbers(struct master *m);
void files_drop_spares(struct master *m);
bool files_has_rings(const struct master *m);

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

#endif
