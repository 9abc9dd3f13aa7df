/* SPDX-License-Identifier: MIT */
/*
 * The host "sandbox": the boxes that there are, and who is in them. A box is a
 * session of ours that nobody is shown: bwrap, or who watches a container,
 * whose first words say which process pid 1 of the box is. So a worker has it like any other, and a master
 * that comes anew finds it in its index. What is done about a box says
 * box/box.h; this does it. Called by gate/starts.c for who is to start in a
 * box, by session/ for what becomes of a session.
 */
#ifndef PSUP_SUPERVISOR_HOST_BOXES_H
#define PSUP_SUPERVISOR_HOST_BOXES_H

#include <sys/queue.h>

#include <limits.h>
#include <stdint.h>

#include "common/config.h"
#include "common/ctl.h"
#include "supervisor/box/box.h"
#include "supervisor/box/why.h"
#include "supervisor/session/session.h"
#include "supervisor/share/rank.h"

struct event;
struct master;

#define BOXES_KEY_MAX 160u
/* The scope of the sessions that are boxes or set one up: nobody's. */
#define BOXES_SCOPE "psup:boxes"

/* What a box's own session has in start.box: 0 until it is set up, its own number
 * from then on, and this once nobody is to enter it any more. */
#define BOXES_CLOSING UINT64_MAX

struct host_box {
	LIST_ENTRY(host_box) link;
	struct rank_node by_sid; /* by `sid`, where that is not 0 */
	struct rank_node by_key; /* where it takes somebody in, or refuses */
	struct rank_node by_due; /* by `due`, where time will do something */
	struct box_due {
		uint64_t ns, number; /* boot; of the box, 1 the first */
	} due;
	bool takes; /* it is in by_key */
	bool stale; /* would be made in another way by now */
	struct box life;
	struct box_rules rules;
	struct sid sid;		     /* its session */
	struct sid setup;	     /* that of its setup command; 0: none */
	char key[BOXES_KEY_MAX];     /* whose: "agent SCOPE", "session SID",
					"shared" */
	char scope[48];		     /* with whose share it counts */
	int32_t pid;		     /* its pid 1; 0: not known yet */
	uint64_t start;		     /* ... when that began, in ticks */
	uint64_t made_ms;	     /* wall */
	uint64_t sum;		     /* config_sandbox_sum() of then */
	struct config_sandbox *made; /* as configured then, or where an earlier
				      * master has made it, now; its directory
				      * is that of its scope */
	struct session_list waiting; /* by start.link */
	unsigned young;		     /* how many of its key, and it, ended
				      * before anybody knew that they were up */
	char why[BOX_WHY_MAX];	     /* of a failed one */
};

struct boxes {
	LIST_HEAD(, host_box) list;
	struct rank_tree by_sid, by_key, by_due;
	uint64_t last; /* the number of the last one */
	char why[BOX_WHY_MAX]; /* ... that was made or not; "": it was */
	struct event *timer;
};

void boxes_init(struct master *m);
void boxes_fini(struct master *m);
/* recover.c: after the index was read: those that its sessions are. */
void boxes_recover(struct master *m);
/* ... of one that a damaged index knows nothing of: what it is called, and, once
 * it is there (`start.box` says where it is), what it is to a box. Nobody enters a
 * box of which nobody knows whose it is; who is inside stays. */
void boxes_name(struct session_id *id);
void boxes_adopted(struct master *m, struct session *s);
/* Other settings: who would be made in another way takes nobody in. */
void boxes_reload(struct master *m);

/* The name of the box that a session of this scope has; of a session's own,
 * where each has one. */
void boxes_key(const struct config_sandbox *c, const char *scope,
    uint64_t sid, char ret[BOXES_KEY_MAX]);
/* A session is to start in a box. True: it is inside (starts_inside()). False:
 * it waits for its box (starts_box()), or was ended, since there is none. */
bool boxes_enter(struct master *m, struct session *s);
/* It is not, after all, or has ended. */
void boxes_left(struct master *m, struct session *s);
/* Completes the order: which box, who it is to be. -ESRCH: the box is gone. */
int
boxes_order(struct master *m, const struct session *s, struct ctl_start *ret);

/* Opens a terminal, /dev/pts/N, of the box that it runs in; -errno. */
int boxes_open(struct master *m, const struct session *s, const char *path);

/* said.c: of a session that is a box: it may have said something. */
void boxes_heard(struct master *m, struct session *s);
/* ... any session has ended: what it was to a box is over. */
void boxes_ended(struct master *m, struct session *s);
/* Is the box dead, or dying, in which it ran? Then that is noted. */
bool boxes_is_dead(struct master *m, const struct session *s);
/* The process to which the orphans of its box go; 0: the box is gone, or is a
 * container, whose first process has children of its own. */
int32_t boxes_adopter(struct master *m, const struct session *s);
/* What was to start in which box, and how many processes may be in that. */
void boxes_where(
    struct master *m, const struct session *s, char *ret, size_t size);

/* Nobody enters those of that key (NULL: all) any more; empty ones end now. How
 * many. */
size_t boxes_drain(struct master *m, const char *key);

/* boxes_count.c: why no box can be made, as far as is known; "": one can. */
const char *boxes_why(const struct master *m);
/* How many there are that are not gone, and who is in them. */
struct boxes_count {
	uint64_t total, inside;
	uint64_t by_state[BOX_STATES];
};
void boxes_count(const struct master *m, struct boxes_count *ret);
/* ... on the master's page. */
void boxes_show(struct master *m);

/* workspace.c: what the box of that scope shows as /workspace, without links; ""
 * where there is none, or each session has its own. `directory`: its scope's. */
void boxes_workspace(struct master *m, const char *scope, const char *directory,
    char ret[PATH_MAX]);

/* maker.c: a box's session, starting. NULL: `why`. */
struct session *
maker_box(struct master *m, const struct host_box *bx, char why[BOX_WHY_MAX]);
/* The same for its setup command. */
struct session *maker_setup(
    struct master *m, const struct host_box *bx, char why[BOX_WHY_MAX]);
/* The words by which the box of that key, of that scope, would be made now, a NULL behind them:
 * valid until the next call. Makes nothing. NULL: none would be, and `why`. */
const char *const *
maker_show(struct master *m, const char *key, const char *scope,
    char why[BOX_WHY_MAX]);
/* maker_parse.c: what bwrap and pid 1, or psup-container, have said: the pid
 * where that is all of it, else 0; when that began where it is said, else 0. */
int32_t maker_parse(const char *text, size_t len, uint64_t *ret_start);

#endif
