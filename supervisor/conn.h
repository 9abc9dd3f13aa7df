/* SPDX-License-Identifier: MIT */
/* A connection, as conn.c, frame.c and request.c see it. */
#ifndef PSUP_CONN_H
#define PSUP_CONN_H

#include "supervisor/master.h"

struct evbuffer;

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
	bool told; /* of the frame that is coming: it is wrong */
	bool hello, scoped, process;
	char scope[48], client[72];
	struct subscriber sub;
};

/* Handles one frame at p; bytes used, 0: not whole yet, or closing. */
size_t frame_handle(struct conn *c, const char *p, size_t len);
struct req *conn_req(struct conn *c, uint32_t msgid);
void conn_kill(struct conn *c);
void conn_req_gone(struct conn *c);

#endif
