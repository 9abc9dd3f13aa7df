/* SPDX-License-Identifier: MIT */
/* What the files of libpsup share; nothing of it is visible outside. */
#ifndef PSUP_LIBPSUP_INTERNAL_H
#define PSUP_LIBPSUP_INTERNAL_H

#include <psup/psup.h>
#include <sys/queue.h>

#include "common/codec_scan.h"
#include "common/proto.h"
#include "common/rundir.h"

/* Copies a text field that a stranger may have written: always terminated. */
#define COPY_TEXT(dst, src)                                                    \
	do {                                                                   \
		static_assert(sizeof(dst) >= sizeof(src), "text fits");        \
		memcpy((dst), (src), sizeof(src));                             \
		(dst)[sizeof(src) - 1] = '\0';                                 \
	} while (0)

/* A request that has no answer yet. */
struct request {
	LIST_ENTRY(request) next;
	TAILQ_ENTRY(request) by_age;
	uint32_t id;
	enum proto_method method;
	psup_answer_fn *fn;
	void *arg;
	char *frame;       /* its message, where it may have to be sent yet */
	size_t frame_len;
	bool repeats;      /* by another connection, where this one breaks */
	bool fails;        /* it is about to be answered with that */
	bool cancelled;
	bool sent;         /* some connection took it */
	bool greets;       /* a connection begins with it */
	bool again;        /* the server had lost its defaults: it was repeated */
	uint64_t seen;     /* position up to which its output was delivered */
};
#define REQUEST_BUCKETS 64u
LIST_HEAD(request_list, request);
TAILQ_HEAD(request_queue, request);

/* How a broken connection is taken up again (resume.c). */
enum resume_state {
	RESUME_NONE,  /* it is not broken */
	RESUME_WAITS, /* psup.fd is a timer: the next try */
	RESUME_HELLO  /* connected; nothing is asked before hello is answered */
};
struct resume {
	enum resume_state state;
	char incarnation[24]; /* of the server; "": it has said none */
	bool all;         /* psup_options.resume */
	bool subscribed;  /* a connection with a memory: not taken up */
	bool broken;      /* and not taken up: the next request does */
	unsigned shorts;  /* connections that did not last, in a row */
	unsigned tries;   /* since then, that came to no connection */
	unsigned count;   /* times it was taken up */
	uint64_t since_ns; /* boot: hello was answered */
};

/* What every connection of a handle begins with, from its options. */
struct identity {
	char *client, *scope;
	char token[PSUP_TOKEN_SIZE]; /* "": none */
	struct psup_args *defaults; /* of exec; NULL: none */
	bool kept;        /* the server has them */
	bool on_their_way; /* again, since it has taken them back */
	bool no_process;
	bool names_server;
	uid_t server;     /* whom the caller trusts beside itself and root */
};

/* Bytes on their way in or out: used ones are at .at .. .len */
struct buffer {
	char *data;
	size_t at, len, cap;
};

/* The last failure of a handle. */
struct client_error {
	char code_text[40];
	char field[64];
	char message[640];
};

struct psup {
	int fd; /* -1: not connected */
	bool paused;
	bool held; /* messages were received that a pause kept back */
	struct identity who;
	struct resume resume;
	unsigned depth; /* of callbacks */
	uint32_t next_id;
	size_t pending;
	struct request_list requests[REQUEST_BUCKETS];
	struct request_queue by_age;
	struct buffer in, out;
	struct codec_walk walk; /* of the message at the start of `in` */
	psup_note_fn *note;
	void *note_arg;
	char runtime_dir[RUNDIR_PATH_MAX];
	struct client_error error;
};

struct psup_args {
	struct enc enc;
	int level;        /* of open maps and lists; the root is 1 */
	bool too_deep;
	uint32_t lists;   /* bit n: level n is a list */
	const char *mistake; /* NULL: none */
};

struct psup_reply {
	struct codec_arena *arena;
	const struct val *value; /* the result */
};

/* error.c: each sets the handle's error and returns rc. */
int error_set(struct psup *p, int rc, const char *code, const char *field,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int error_errno(struct psup *p, int errnum, const char *what);
int error_problem(struct psup *p, const struct proto_problem *problem);
/* An error object of the wire, or whatever else stands in its place. */
int error_remote(struct psup *p, const struct val *error);

/* args.c: the encoded params, closed; root map only. */
int args_finish(struct psup *p, const struct psup_args *a, struct enc *ret);
/* NULL: no memory. */
struct psup_args *args_copy(const struct psup_args *a);
/* A number above `none`; that and less mean "not given". */
static inline void
args_add_int(struct psup_args *a, const char *key, int64_t v, int64_t none)
{
	if (v > none)
		psup_args_int(a, key, v);
}

/* A switch, where it is on. */
static inline void
args_add_flag(struct psup_args *a, const char *key, bool on)
{
	if (on)
		psup_args_bool(a, key, true);
}

/* request_check.c: the checks of the server, before sending; and what the table
 * says of the request. */
int request_check(struct psup *p, const char *method, const struct enc *params,
    enum proto_method *ret_method, bool *ret_repeats);

/* wire.c */
int buffer_reserve(struct buffer *b, size_t more);
void buffer_free(struct buffer *b);
void buffer_wipe(struct buffer *b);
/* Connects to the socket of a runtime directory, once owner, mode and server
 * are found to be of somebody trusted: us, root, or whom p->who names. A
 * descriptor, non-blocking, or a PSUP_ERR_. */
int wire_connect(struct psup *p, const char *dir, int timeout_ms);
/* Appends to what is to be sent, whole or not at all: 0 or -ENOMEM. No copy of it
 * stays in memory once it is sent. */
int wire_append(struct psup *p, const char *data, size_t len);
/* Sends what the socket takes. 0 or -errno. */
int wire_flush(struct psup *p);
/* Receives up to `max` bytes. Bytes, 0: EOF, -EAGAIN, -errno. */
ssize_t wire_fill(struct psup *p, size_t max);

/* identity.c */
/* Everything that later connections need of the options, too. PSUP_OK, or an
 * error that was set. */
int identity_take(struct psup *p, const struct psup_options *o);
/* Nothing is left of it. */
void identity_free(struct identity *who);
/* Sends hello; its answer goes to fn. The same of defaults, if there are any. */
int client_hello(struct psup *p, psup_answer_fn *fn, void *arg);
int client_defaults(struct psup *p, psup_answer_fn *fn, void *arg);

/* client.c */
/* Every request under way gets this error; closes. */
int client_fail(struct psup *p, int rc);
/* The connection broke: it is taken up again, or everybody who waits is told.
 * PSUP_OK or PSUP_ERR_LOST. */
int client_lost(struct psup *p, int errnum);
/* Closes the descriptor and empties the buffers; nobody is told. */
void client_disconnect(struct psup *p);
/* Was it refused with `busy`, for the moment alone? */
bool client_is_busy(const struct psup *p, int rc);
/* request.c */
enum manner {
	SEND_ONCE,
	SEND_AGAIN, /* by another connection, if it may be */
	SEND_GREETS
};
/* psup_send(), in this manner. */
int client_send(struct psup *p, const char *method, const struct psup_args *a,
    psup_answer_fn *fn, void *arg, enum manner how, uint32_t *ret_id);
/* psup_send() of what a connection begins with: it goes before all that waits,
 * and is never asked again. */
int client_greet(struct psup *p, const char *method, const struct psup_args *a,
    psup_answer_fn *fn, void *arg);
/* Puts a request, and its cancel, among what is to be sent. 0 or -ENOMEM. */
int request_put(struct psup *p, struct request *r);
/* The request under way of that id; NULL: there is none. ... */
struct request *request_find(struct psup *p, uint32_t id);
/* ... The same, out of the table. */
struct request *request_take(struct psup *p, uint32_t id);
/* Answers a request that was taken out, once, and frees it. */
void request_finish(struct psup *p, struct request *r, int status,
    psup_reply *reply);
/* One that was taken out was refused: was it because the server has taken the
 * connection's defaults back for another scope's sake? Then they are sent again,
 * and it is under way again behind them. */
bool request_again(struct psup *p, struct request *r);
/* One that was taken out, or nobody. */
void request_free(struct request *r);

/* resume.c */
/* Does the keeper of that directory live, as far as can be seen? */
bool keeper_lives(const char *dir);
/* Sets the error of a request whose connection broke: names it, and why it is
 * not asked again. Returns PSUP_ERR_LOST. */
int request_lost(struct psup *p, const struct request *r, const char *code,
    const char *why);
/* The connection broke. True: it will be taken up again, and those who are not
 * asked again were answered. False: nothing was done but closing. */
bool resume_begin(struct psup *p, const char *why);
/* The connection broke, nobody was to be asked again, and now something is to
 * be sent. False: it is not taken up again. */
bool resume_broken(struct psup *p);
/* The timer may be due: the next try. */
void resume_try(struct psup *p);

/* start.c */
int resolve_dir(struct psup *p, const struct psup_options *o,
    char ret_dir[RUNDIR_PATH_MAX]);

/* view.c: the ring of a session, open until another is asked for. 0 or
 * -errno. */
struct ring_reader;
struct psup_view;
int view_reader(struct psup_view *v, uint64_t instance,
    struct ring_reader **ret);
/* Looks again at what is there now: the header and the stats pages are copies,
 * and the server may have made a damaged file anew. What cannot be read stays
 * as it was last seen. */
void view_refresh(struct psup_view *v);
/* The board; the stats pages, or NULL. As they were then; good until the next
 * look. */
struct board;
struct stats_page;
const struct board *view_board(const struct psup_view *v);
const struct stats_page *view_stats(const struct psup_view *v);

/* calls.c */
/* Calls with arguments that were just built, and frees them. */
int call_args(struct psup *p, const char *method, psup_args *a, int64_t wait_ms,
    psup_reply **ret);
/* Arguments that begin with one or two texts, each left out where it is NULL; with a
 * session. */
psup_args *text_args(const char *key, const char *text, const char *key2,
    const char *text2);
psup_args *session_args(const char *session);

#endif
