/* SPDX-License-Identifier: MIT */
/*
 * What the master knows of a session, in groups. What is kept in the index
 * stands in session.def, and where a group takes its rows in, that is what it
 * has beside the members of this file. Nothing here is in shared memory; the
 * board holds what others need.
 */
#ifndef PSUP_SUPERVISOR_SESSION_FIELDS_H
#define PSUP_SUPERVISOR_SESSION_FIELDS_H

#include <sys/queue.h>
#include <sys/tree.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/box_policy.h"
#include "common/codec.h"
#include "common/ctl.h"
#include "common/ids.h"
#include "common/slug.h"
#include "supervisor/custody.h"
#include "supervisor/gate/gate.h"
#include "supervisor/gate/starts.h"
#include "supervisor/share/room.h"

struct event;
struct master;
struct req;
struct session;
TAILQ_HEAD(session_list, session);

/* ------------------------------------------------------------- session.def */
/* How the member of a row of session.def is declared. */
#define SESSION_STR(member)  char *member;
#define SESSION_U64(member)  uint64_t member;
#define SESSION_I64(member)  int64_t member;
#define SESSION_U32(member)  uint32_t member;
#define SESSION_I32(member)  int32_t member;
#define SESSION_BOOL(member) bool member;
#define SESSION_MEMBER(kind, member, ...) SESSION_##kind(member)

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

/* A map, encoded. NULL: none. */
struct session_map {
	char *p;
	size_t bytes;
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
	RB_ENTRY(session) by_slug;
	LIST_ENTRY(session) by_pid;
	bool has_pid; /* is on that list */
	LIST_HEAD(, watch) watches;

	OWNED(state, "session/session.c")
	uint32_t state; /* enum board_state; session_set_state() alone */

	/* To whom it is shown. */
	OWNED(shown, "session/shown.c") struct {
		uint32_t slot; /* of the board; UINT32_MAX: none */
#define SHOWN SESSION_MEMBER
#include "supervisor/session/session.def"
	} shown;

	/* Who it is; set once. */
	OWNED(id, "session/make.c") struct session_id {
		struct sid sid;
		char slug[SLUG_MAX];
		struct sid parent; /* its client ran in this session; 0: in
		                    * none */
		struct session_map tags;
#define ID SESSION_MEMBER
#include "supervisor/session/session.def"
	} id;

	/* What was asked for. */
	OWNED(wish, "session/make.c") struct session_wish {
		struct session_limits limits;
#define WISH SESSION_MEMBER
#include "supervisor/session/session.def"
	} wish;

	/* What became of it. */
	OWNED(facts, "session/facts.c") struct {
		uint64_t ended_ns; /* boot; 0: ended before this master */
		/* of `remaining`; of this master's time */
		int32_t remaining_pids[CTL_END_PIDS];
#define FACT SESSION_MEMBER
#include "supervisor/session/session.def"
	} facts;

	/* The end that was asked for. */
	OWNED(ending, "session/end.c") struct {
		bool killing_left; /* LEFT will say what became of its
		                    * holders */
		bool due;       /* its end is in m->ends */
		bool left_lane; /* it had a place there */
		TAILQ_ENTRY(session) link;
#define ENDING SESSION_MEMBER
#include "supervisor/session/session.def"
	} ending;

	struct custody custody; /* who has it */

	/* How often its start was tried. */
	OWNED(tries, "session/session.c") struct {
		uint32_t tried;  /* slots that could not spawn it, a bit
		                  * each */
		uint32_t attempt;       /* how often it was ordered again */
		uint32_t failed_starts; /* a worker tried, for a passing
		                         * reason in vain */
		uint32_t deadly_starts; /* a worker had its start in hand and
		                         * died */
	} tries;

	/* The turn of its start. */
	OWNED(start, "gate/starts.c") struct {
		enum start_is is;
		TAILQ_ENTRY(session) link; /* of those that wait; quick ones */
		struct wid at;             /* QUICK, SLOW: its worker */
		uint64_t ordered_ns;       /* QUICK: boot */
		struct session_list *in;   /* BOX: whose list `link` is in */
		struct sid box; /* that it is inside of, or was; 0: none */
	} start;

	/* The ring of another session that its worker has open. */
	OWNED(spares, "session/spares.c") struct {
		uint64_t ring_kept; /* its worker has its ring open, as its
		                     * n-th: spares.h; 0: it has not */
		struct sid offered; /* whose ring START offers it; 0:
		                     * nobody's */
		uint32_t place;     /* where that is noted; 0: nowhere, it has
		                     * a name of its own */
	} spares;

	/* The terminal that it runs on. */
	OWNED(terminal, "session/terminal.c") struct {
#define TERMINAL SESSION_MEMBER
#include "supervisor/session/session.def"
	} terminal;

	/* What it is fed. */
	OWNED(input, "session/stdin.c") struct {
		bool closed;
		bool spooled;      /* there may be a spool file, whatever was
		                    * committed */
		uint64_t consumed;
		uint64_t fed_ms;   /* wall: fed last; of this master */
		bool watching;     /* CTL_WATCH of stdin is out */
#define INPUT SESSION_MEMBER
#include "supervisor/session/session.def"
	} input;

	/* Does it wait for input? */
	OWNED(input_wait, "session/input_wait.c") struct {
		struct input_probe probe;
		enum input_wait shown; /* as last shown */
		enum input_wait told;  /* by its worker's last look ... */
		uint64_t stamp;        /* ... with its stamp, ... */
		uint64_t told_ns;      /* ... boot; 0: there was none */
		uint64_t asked_ns;     /* boot: for the last one */
		uint64_t node;         /* stdin's, as in ctl_running */
	} input_wait;

	/* What it wrote. */
	OWNED(output, "session/output.c") struct {
		bool no_space;
		bool watching;     /* CTL_WATCH is out */
		uint64_t watch_pos;
		char *tail;        /* as of tail_at */
		uint64_t tail_at;  /* total when it was read */
		size_t tail_len;
		bool tail_read;
#define OUTPUT SESSION_MEMBER
#include "supervisor/session/session.def"
	} output;

	/* Its place in its lane. */
	OWNED(place, "gate/lanes.c") struct {
		uint64_t lane_seq;
		bool lane_stale; /* runs, but its lane was reset since */
	} place;

	/* How it waits for one. */
	OWNED(queued, "gate/gate.c") struct {
		bool warned;   /* somebody was told that it waits */
		bool deadlock; /* ended for END_DEADLOCK at the gate */
	} queued;

	/* Its time-out. */
	OWNED(deadline, "session/news.c") struct {
		struct event *timer;   /* before it; NULL: none */
		struct master *master; /* for `timer` */
#define DEADLINE SESSION_MEMBER
#include "supervisor/session/session.def"
	} deadline;

	/* How long it is kept once it has ended. */
	OWNED(retention, "session/sweep.c") struct {
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
	OWNED(share, "share/room.c") struct {
		struct room *room;   /* its scope's */
		uint64_t lent[SHARE_RESOURCES]; /* what it counts with there */
		bool lives;          /* and it is one of its live ones */
		uint64_t text_bytes; /* of its texts; 0: not measured */
		uint32_t spec_bytes; /* of what START needs, while it waits */
	} share;

	/* What of it is in the index. */
	OWNED(record, "store/record.c") struct {
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

	/* Its row of list, as long as it stays as it is. */
	OWNED(row, "words/row_kept.c") struct {
		char *p; /* the map as it is encoded, and its line; NULL: none */
		uint32_t map_bytes, line_bytes;
	} row;

	/* Its memory. */
	OWNED(over, "over.c") struct {
		bool forgotten; /* in no tree or list; freed soon (over.c) */
		SLIST_ENTRY(session) link;
	} over;
};

/* The rows of session.def, of the record: what is empty or 0 is left out. */
void fields_encode(const struct session *s, struct enc *e);
/* 0 or -ENOMEM: then s is good for session_free(). */
int fields_decode(struct session *s, const struct val *map);
/* ... and those that a row of list shows as they are. */
void fields_list(const struct session *s, struct enc *e);
/* Keeps a map as it is encoded; none where there is none. 0 or -ENOMEM. */
int fields_map(const struct val *map, struct session_map *ret);
/* Frees the texts and maps among them. */
void fields_free(struct session *s);

#endif
