/* SPDX-License-Identifier: MIT */
/*
 * What each scope has of the master's room, and the words for a refusal. The
 * decisions are share.c's; sessions and connections are counted here, and
 * sweep.c takes back what has ended.
 */
#ifndef PSUP_SUPERVISOR_SHARE_ROOM_H
#define PSUP_SUPERVISOR_SHARE_ROOM_H

#include <sys/queue.h>

#include "supervisor/share/share.h"

struct enc;
struct master;
struct proto_problem;
struct conn;
struct session;

/* Ended sessions, in the order in which they go where room is needed. */
enum kept {
	KEPT_ANSWERED, /* foreground: its client has the answer */
	KEPT_KEYED,    /* the same, and may ask again by its request key */
	KEPT_READ,     /* a reader was told the end */
	KEPT_UNREAD,
	KEPT_KINDS
};

/* One scope's; "" is that of sessions and connections without one. */
struct room {
	struct share_scope share;
	struct rank_node by_name;
	struct rooms *of;
	uint64_t holders;
	uint64_t live; /* sessions that have not ended, its boxes not counted */
	TAILQ_HEAD(, session) kept[KEPT_KINDS]; /* the oldest first */
	uint32_t answered; /* on the first list */
	uint64_t finished, finished_bytes; /* kept background sessions */
	TAILQ_HEAD(, conn) idle; /* connections without a request, oldest first */
	TAILQ_HEAD(, conn) large; /* with much that could be given back */
	TAILQ_HEAD(, session) starting; /* that wait for it (starts.h) */
	TAILQ_ENTRY(room) starting_link;
	uint32_t slow; /* starts that hang */
	uint64_t conn_memory; /* of its connections */
	char name[48];
};

struct rooms {
	struct shares shares;
	struct rank_tree by_name;
	uint64_t refused[SHARE_RESOURCES]; /* by this master */
};

void rooms_init(struct master *m);
/* Once nobody holds one. */
void rooms_fini(struct master *m);
/* New values of psup.conf, or a new budget. */
void rooms_configure(struct master *m);

/* The room of a scope, made where needed. NULL: no memory. */
struct room *room_hold(struct master *m, const char *scope);
void room_release(struct room **room);
/* The session is its scope's. 0 or -ENOMEM; until room_leave(). */
int room_join(struct master *m, struct session *s);
static inline uint64_t
room_used(const struct room *room, enum share_resource r)
{
	return room->share.used[r];
}

/* May it have n more? 0; -EDQUOT: *why (which may be NULL) says why not. */
int room_ask(struct room *room, enum share_resource r, uint64_t n,
    struct proto_problem *why);
/* Says why it may not, and nothing about whoever has the rest; n is 0 where it
 * gives back what it had. */
void room_refuse(const struct room *room, enum share_resource r, uint64_t n,
    struct proto_problem *why);
/* As room_ask() for all that a session would count with in this state. */
int room_for(struct session *s, uint32_t state, struct proto_problem *why);
/* Counts the session with what it is now. */
void room_count(struct session *s);
/* How many of the scope's sessions have not ended. */
uint64_t room_live(const struct master *m, const char *scope);
/* It counts no more, and holds its room no more. */
void room_leave(struct session *s);

/* conn_room.c */
uint64_t conn_room_limit(const struct master *m);
share_reclaim conn_room_reclaim; /* of connections */
share_reclaim conn_room_free;    /* of memory: sessions, too */

/* "shares" of status; scope NULL: of all. */
void room_status(struct master *m, const char *scope, struct enc *e);

#endif
