/* SPDX-License-Identifier: MIT */
/* A connection, as conn*.c, accept.c, frame.c and request.c see it. */
#ifndef PSUP_SUPERVISOR_API_CONN_H
#define PSUP_SUPERVISOR_API_CONN_H

#include "common/codec_scan.h"
#include "supervisor/api/exec_spec.h"
#include "supervisor/api/request.h"
#include "supervisor/turn.h"

struct evbuffer;

#define CONN_REQUESTS 64u /* under way at once */
#define CONN_SPARE    64u /* descriptors that clients do not get */
#define CONN_INPUT    4096u /* a buffer for it; room for more is asked for */
#define GUEST_FRAME   4096u /* bytes of another user's message before hello */

/* Something that is due once the bytes before it are written. */
struct mark {
	TAILQ_ENTRY(mark) link;
	uint64_t at; /* bytes of the connection's life */
	bool staged; /* of this turn: goes where its commit fails */
	const struct method *row;
	max_align_t what[];
};

struct conn {
	struct turn_client turn; /* first: a client is its connection */
	TAILQ_ENTRY(conn) link, active_link;
	struct master *m;
	int fd;
	struct event *ev_read, *ev_write;
	struct event *ev_gone; /* watched while it is not read */
	char *in;
	size_t in_at, in_len, in_cap; /* the next frame, the end, the room */
	struct codec_walk walk; /* over the frame that is coming */
	bool partial;   /* it is not whole yet */
	bool input;     /* there may be something to read, or to handle */
	bool job_next;  /* after input, a job: so that a cancel is heard */
	bool sends;     /* there is more to write, and the socket may take it */
	struct evbuffer *out, *staged;
	uint64_t out_total, written;
	TAILQ_HEAD(, mark) marks;
	TAILQ_HEAD(, req) reqs, jobs; /* jobs: of them, with a unit to run */
	uint32_t nreqs;
	uint64_t requests; /* ever */
	uint32_t answered[128]; /* in this turn */
	size_t answered_count;
	bool active, dead, closing, stalled;
	bool torn; /* something found no memory: it ends with this turn */
	bool told; /* of the frame that is coming: it is wrong */
	bool hello, scoped, process;
	bool denied; /* its hello was refused */
	bool guest;  /* another user's: nothing without a token */
	unsigned uid;
	bool admin;  /* it showed the admin's token */
	struct room *room; /* where it counts */
	/* it counts with; of it, what may be taken back for its own scope */
	uint64_t memory, large;
	uint64_t lent; /* to its requests */
	bool gives;    /* large or lent is not 0: on the room's list of those */
	TAILQ_ENTRY(conn) large_link;
	bool idle;   /* on the room's list of those */
	bool unsaid; /* a guest that has to say hello, since ... */
	uint64_t since_ns; /* boot */
	TAILQ_ENTRY(conn) idle_link, guest_link;
	char scope[48], client[72];
	char token_id[17]; /* "": it showed none */
	struct subscriber sub;
	TAILQ_ENTRY(conn) subscriber_link; /* while sub.on */
	struct exec_defaults defaults;
	bool kin_known;
	struct sid kin; /* the session its peer is part of */
};

/* All of a master's. */
struct conn_list {
	TAILQ_HEAD(conn_all, conn) all;
	TAILQ_HEAD(, conn) active, subscribers;
	struct turns *turns;
	struct conn *in_hand; /* whose unit runs: nobody's asking closes it */
	size_t count;
	size_t dead; /* of these, until the end of the turn */
	struct event *ev;
	struct event *rest; /* it is not heard for a moment */
	TAILQ_HEAD(, conn) guests; /* without a hello, the oldest first */
	struct event *guest_timer;
	struct event *starved; /* looks at those that are not read */
	int reserve; /* given up for a moment where accept finds no number */
	uint64_t warned_ns;
};

/* Puts it on the list of those that the turn's end looks at. */
void conn_activate(struct conn *c);
/* Frees what it has, as far as it was made. */
void conn_release(struct conn *c);
/* Frees a dead one, which is on the list. */
void conn_free(struct conn *c);
/* conn_out.c: what is marked is lost, or what is of this turn alone. */
void conn_marks_drop(struct conn *c, bool staged_only);
/* Sends some more, if there is anything that the socket may take. */
bool conn_send_more(struct conn *c);
/* conn_in.c: has its client not much to read? */
bool conn_takes_answers(const struct conn *c);
/* Is there room for another request? */
bool conn_may_read(const struct conn *c);
/* Gives back the buffer of one whose input was handled. */
void conn_in_free(struct conn *c);
/* There may be room to go on with what is buffered. */
void conn_more(struct conn *c);
/* It has a unit to run. */
void conn_ready(struct conn *c);
/* On whose account: its scope, "" of admins; before it has said anything, its
 * user. */
const char *conn_account(const struct conn *c, char buf[TURN_NAME_MAX]);
/* One unit: sending, a read and a frame, or a job's slice until then (boot, ns).
 * true: there is more to do. */
bool conn_unit(struct conn *c, uint64_t until);
/* What libevent calls: the socket is readable, takes more, has lost its
 * peer. */
void conn_on_read(int fd, short what, void *arg);
void conn_on_write(int fd, short what, void *arg);
void conn_on_gone(int fd, short what, void *arg);

/* conn_room.c: does it find room? It counts until conn_room_leave(). */
bool conn_room_enter(struct conn *c);
void conn_room_leave(struct conn *c);
/* From here on it counts with this scope. -EDQUOT, -ENOMEM and *why. */
int conn_room_hello(struct conn *c, const char *scope,
    struct proto_problem *why);
/* A request or a subscription has come or gone. */
void conn_room_idle(struct conn *c);
/* Its buffers have grown, or are smaller. */
void conn_room_count(struct conn *c);
/* May its input have n bytes more? False: it is closing. */
bool conn_room_grow(struct conn *c, size_t n);
bool conn_room_starves(const struct conn *c);
/* frame.c: the message that is coming is answered, and not waited for. */
void frame_give_up(struct conn *c, const struct proto_problem *p);
/* How long its next message may be. */
static inline uint32_t
conn_frame_max(const struct conn *c)
{
	return c->unsaid ? GUEST_FRAME : (uint32_t)c->m->cfg.frame_bytes;
}

/* defaults.c: keeps what is given in place of what was, on its room's account.
 * -EDQUOT and *why. *d is taken over, or freed. */
int conn_keep(struct conn *c, struct exec_defaults *d,
    struct proto_problem *why);
/* What it counts with. */
uint64_t defaults_bytes(const struct exec_defaults *d);
void defaults_free(struct exec_defaults *d);
/* Another scope needs their memory. */
void defaults_lose(struct exec_defaults *d);
/* Does an exec need what was lost? *why. */
bool defaults_refuse(const struct api_call *c, struct proto_problem *why);

/* kin.c: that session, or {0}. */
struct sid conn_kin(struct conn *c);
/* Handles one frame at p; bytes used, 0: not whole yet, or closing. What was
 * looked at of one that is not whole is not looked at again. */
size_t frame_handle(struct conn *c, const char *p, size_t len);
struct req *conn_req(struct conn *c, uint32_t msgid);
void conn_kill(struct conn *c);
void conn_req_gone(struct conn *c);

#endif
