/* SPDX-License-Identifier: MIT */
/* A connection, as conn*.c, accept.c, frame.c and request.c see it. */
#ifndef PSUP_CONN_H
#define PSUP_CONN_H

#include "supervisor/master.h"

struct evbuffer;

#define CONN_REQUESTS 64u /* under way at once */

enum mark_kind { MARK_CURSOR, MARK_STREAM };

/* Something that is due once the bytes before it are written. */
struct mark {
	TAILQ_ENTRY(mark) link;
	uint64_t at; /* bytes of the connection's life */
	bool staged; /* of this turn: goes where its commit fails */
	enum mark_kind kind;
	struct sid sid;
	uint32_t msgid;
	uint64_t v;
	char reader[72];
};

struct conn {
	TAILQ_ENTRY(conn) link, active_link;
	struct master *m;
	int fd;
	struct event *ev_read, *ev_write, *ev_more;
	struct event *ev_gone; /* watched while it is not read */
	char *in;
	size_t in_len, in_cap;
	struct evbuffer *out, *staged;
	uint64_t out_total, written;
	TAILQ_HEAD(, mark) marks;
	TAILQ_HEAD(, req) reqs;
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
	char scope[48], client[72];
	char token_id[17]; /* "": it showed none */
	struct subscriber sub;
	bool kin_known;
	struct sid kin; /* the session its peer is part of */
};

/* All of a master's. */
struct conn_list {
	TAILQ_HEAD(, conn) all, active;
	size_t count;
	struct event *ev;
	struct event *rest; /* it is not heard for a moment */
	int reserve; /* given up for a moment where accept finds no number */
	uint64_t warned_ns;
};

/* Puts it on the list of those that the turn's end looks at. */
void conn_activate(struct conn *c);
/* Frees what it has, as far as it was made. */
void conn_release(struct conn *c);
/* Frees a dead one, which is on the list. */
void conn_free(struct conn *c);
/* conn_out.c: forgets marks, or those of this turn alone. */
void conn_marks_drop(struct conn *c, bool staged_only);
/* conn_in.c: is there room for another request? */
bool conn_may_read(const struct conn *c);
/* Goes on with what is buffered, in the next turn. */
void conn_more(struct conn *c);
/* What libevent calls: the socket is readable, takes more, has lost its peer;
 * the buffered rest of a turn. */
void conn_on_read(int fd, short what, void *arg);
void conn_on_write(int fd, short what, void *arg);
void conn_on_gone(int fd, short what, void *arg);
void conn_on_more(int fd, short what, void *arg);

/* kin.c: that session, or {0}. */
struct sid conn_kin(struct conn *c);
/* Handles one frame at p; bytes used, 0: not whole yet, or closing. */
size_t frame_handle(struct conn *c, const char *p, size_t len);
struct req *conn_req(struct conn *c, uint32_t msgid);
void conn_kill(struct conn *c);
void conn_req_gone(struct conn *c);

#endif
