/* SPDX-License-Identifier: MIT */
/*
 * What a method sees: its row, its request, the connection that came by. What it
 * keeps between two turns no other sees; how requests and connections live is
 * request.h's and conn.h's.
 */
#ifndef PSUP_SUPERVISOR_API_METHOD_H
#define PSUP_SUPERVISOR_API_METHOD_H

#include "common/codec.h"
#include "common/proto.h"
#include "common/text_clean.h"
#include "supervisor/master.h"

struct conn;
struct event;
struct exec_base;
struct exec_defaults;
struct match_spec;
struct match_wish;

/* -------------------------------------------------------------- method */

struct api_call {
	struct master *m;
	struct conn *conn;
	struct req *req;
	const struct val *params;
};
/* A method: a row in its own file, which is the only one that names it. The
 * protocol's table has their names, and api.c them all. */
struct method {
	/* A request of it has come; its parameters are checked. Answers it, or
	 * has it woken. */
	void (*call)(struct api_call *c);
	/* Something has happened: to `s`, which it watches, or else to nobody
	 * (s: the first that it watches, or NULL). May answer. */
	void (*wake)(struct req *r, struct session *s, unsigned wake);
	/* The request is over, however it came to that, and nobody is in the
	 * midst of it: gives back what its state holds. Called once, also where
	 * `call` has refused at once, so all of the state may be 0; answers
	 * nothing. Connection and sessions may be gone. */
	void (*drop)(struct req *r);
	/* Its client gave it up, by cancel or by going away; called before it
	 * ends. Answers nothing. */
	void (*abandon)(struct req *r);
	/* What a refusal of it says beside, into the open details. */
	void (*refused)(const struct req *r, struct enc *e);
	/* The connection's out-queue has got shorter. */
	void (*room)(struct req *r);
	/* The turn that ends was committed, or nothing of it is sent. */
	void (*committed)(struct req *r, bool ok);
	/* Bytes that it has marked are written, or they are lost, with their
	 * connection or their turn's commit. Its request may be over. */
	void (*written)(struct master *m, struct conn *c, const void *what,
	    bool lost);
	size_t state_size;
};
#define METHOD(id, ...) extern const struct method method_##id;
#include "common/proto.def"

/* ------------------------------------------------------------- request */

struct req {
	TAILQ_ENTRY(req) link; /* of the connection */
	SLIST_ENTRY(req) over_link;
	bool over; /* answered or given up; freed soon (over.c) */
	TAILQ_ENTRY(req) job_link; /* of its jobs, with `job` */
	LIST_HEAD(, watch) watches;
	TAILQ_HEAD(, watch) due; /* of them, those that have a word for it */
	bool job;
	unsigned wake; /* enum wake: the same, of no session */
	/* Long work under way: goes on until `until` (boot, ns). 1: there is
	 * more to do; 0: not by itself. */
	int (*step)(struct req *r, uint64_t until);
	bool heard; /* its last unit was a word; with a step they alternate */
	uint64_t hash; /* of scope, method and params: the same if repeated */
	struct conn *conn;
	uint32_t msgid;
	enum proto_method method;
	const struct method *row; /* of it */
	void *state; /* its method's alone: row->state_size bytes, at first 0 */
	struct event *timer;
	struct master *m;
	uint64_t lent; /* bytes that count with its connection */
	max_align_t own[]; /* where its state is */
};

/* Answers; *e holds the result. From here on the request is over: nothing wakes
 * it, another answer is dropped, watches and timers are not taken, and what it
 * points to is there until its handler has returned. */
void req_answer(struct req *r, struct enc *e);
/* The same, and frees *e. */
void req_done(struct req *r, struct enc *e);
/* Answers with an error; false. */
bool req_fail(struct req *r, const struct proto_problem *p);
bool req_failf(struct req *r, enum proto_error code, const char *field,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same of what is often said. */
bool req_nomem(struct req *r);
bool req_invalid(struct req *r, const char *field, const struct val *v,
    const char *expected);
/* A tool's failure: {text, details: {status failed, error}, isError true};
 * false. */
bool req_refuse(struct req *r, enum proto_error code, const char *session,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same, of what room_ask() has refused. */
bool req_refuse_share(struct req *r, const char *session,
    const struct proto_problem *why);
/* Has the session wake the request, once. -ENOMEM; -ESTALE: the request is over,
 * or the session forgotten. */
int req_watch(struct req *r, struct session *s);
/* The same for one unit that has a request watch a thousand: 1, if this session
 * was among them. */
int req_watch_many(struct req *r, struct session *s);
void req_unwatch(struct req *r);
struct session *req_session(struct req *r);
/* May it keep n bytes until it ends? They count with its connection. 0;
 * -EDQUOT and *why. */
int req_lend(struct req *r, uint64_t n, struct proto_problem *why);
/* Memory for its state, which `drop` frees; n may be 0. NULL: there is none, and
 * the refusal is sent. */
void *req_alloc(struct req *r, size_t n);
/* It keeps n bytes now: what is beyond 256 KiB is lent. False: the refusal is
 * sent. */
bool req_keeps(struct req *r, uint64_t n);
void req_timer(struct req *r, uint64_t ms);
/* Something has happened, to the session watched or to nobody's: the method
 * hears of it in a unit of its own, never inside of this call. */
void req_wake(struct req *r, unsigned wake);
/* Long work begins, or goes on: its next slice is a unit. Of a connection's
 * requests of one method the oldest goes on first, and none while its client
 * has much to read: a client has one long answer in memory, not all it asks
 * for. */
void req_step(struct req *r, int (*step)(struct req *r, uint64_t until));
/* ---------------------------------------------------------- connection */

/* NULL: an admin connection. */
const char *conn_scope(const struct conn *c);
/* May it see every scope and call admin methods? */
bool conn_is_admin(const struct conn *c);
bool conn_process(const struct conn *c);
/* Bytes that wait to be written, staged ones included. */
size_t conn_queued(const struct conn *c);
/* A notification; map NULL: it found no memory, so the connection ends. */
void conn_notify(struct conn *c, const char *method, const void *map,
    size_t size);
/* Behind the last staged byte: the method's `written` is told when that is out
 * or lost, and gets `size` bytes of `what`, which are kept for it. */
void conn_mark(struct conn *c, const struct method *row, const void *what,
    size_t size);
/* hello's half in conn.c: what the connection is from here on. -EALREADY: it
 * has said hello, or something else, before; -EDQUOT, -ENOMEM: there is no
 * room, and it is closed. *why. */
struct hello {
	const char *scope;    /* NULL: admin */
	const char *token_id; /* of the token it showed; NULL: none */
	bool admin;           /* it showed the admin's */
	const char *client;
	bool process;
	struct exec_defaults *defaults; /* taken over, or freed */
};
int conn_set_hello(struct conn *c, const struct hello *h,
    struct proto_problem *why);
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
/* From here on it is among those that conn_each_subscriber() calls fn for, while
 * it lives. */
void conn_subscribe(struct conn *c);
void conn_each_subscriber(struct master *m,
    void (*fn)(struct conn *, void *), void *arg);

/* Its out-queue is shorter: one that was behind gets more. */
void api_events_more(struct conn *c, struct master *m);
/* ------------------------------------------------ what several methods do */

/* The session that the calling client runs in, or {0} (kin.c). */
struct sid kin_of_call(const struct api_call *c);
/* Which sessions of its scope a bound connection reaches, beside those in the
 * background. */
enum api_reach {
	API_BACKGROUND, /* no others */
	API_OWN, /* the foreground one whose exec is under way on it, too */
	API_ANY
};
/* The session a call names, or NULL after the refusal was sent. */
struct session *api_session(struct api_call *c, enum api_reach reach);
/* The same (API_OWN), and it must be live. */
struct session *api_running(struct api_call *c);
/* What the params of hello or defaults give, and no more. 0; -EINVAL, -E2BIG,
 * -ENOMEM and *why. */
int defaults_make(const struct val *params, struct exec_defaults *ret,
    struct proto_problem *why);
/* What the call's exec begins with. */
struct exec_base exec_base_of(const struct api_call *c);
/* How the output of this call is to be shown: its `text`. */
enum text_rule api_text_rule(struct api_call *c);
/* What is looked for, one of both its `regex`; false: the refusal was sent. */
bool api_match_spec(struct api_call *c, const struct match_wish *wish,
    struct match_spec **ret);
/* Does an exec of this connection wait for the session: the one that started
 * it, or the same request key come back? */
bool api_exec_waits(const struct conn *c, const struct session *s);
void upgrade_status(struct master *m, struct enc *e);
void upgrade_build(const struct stats_page *p, struct enc *e);

#endif
