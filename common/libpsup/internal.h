/* SPDX-License-Identifier: MIT */
/* What the files of libpsup share; nothing of it is visible outside. */
#ifndef PSUP_LIBPSUP_INTERNAL_H
#define PSUP_LIBPSUP_INTERNAL_H

#include <psup/psup.h>
#include <sys/queue.h>

#include "common/codec.h"
#include "common/proto.h"
#include "common/rundir.h"

/* A request that has no answer yet. */
struct request {
	LIST_ENTRY(request) next;
	uint32_t id;
	psup_answer_fn *fn;
	void *arg;
};
#define REQUEST_BUCKETS 64u
LIST_HEAD(request_list, request);

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
	unsigned depth; /* of callbacks */
	uint32_t next_id;
	size_t pending;
	struct request_list requests[REQUEST_BUCKETS];
	struct buffer in, out;
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

/* request_check.c: the checks of the server, before sending. */
int request_check(struct psup *p, const char *method, const struct enc *params);

/* wire.c */
int buffer_reserve(struct buffer *b, size_t more);
void buffer_free(struct buffer *b);
/* Connects to the socket of a runtime directory, as a guest of another user,
 * too. A descriptor, non-blocking, or a PSUP_ERR_. */
int wire_connect(struct psup *p, const char *dir, bool guest, int timeout_ms);
/* Sends what the socket takes. 0 or -errno. */
int wire_flush(struct psup *p);
/* Receives up to `max` bytes. Bytes, 0: EOF, -EAGAIN, -errno. */
ssize_t wire_fill(struct psup *p, size_t max);

/* client.c */
/* Every request under way gets this error; closes. */
int client_fail(struct psup *p, int rc);
/* The connection broke: said once, to everybody who waits. */
int client_lost(struct psup *p, int errnum);
/* Takes a request out of the table; NULL: there is none of that id. */
struct request *request_take(struct psup *p, uint32_t id);
/* Answers a request that was taken out, once, and frees it. */
void request_finish(struct psup *p, struct request *r, int status,
    psup_reply *reply);

/* start.c */
int resolve_dir(struct psup *p, const struct psup_options *o,
    char ret_dir[RUNDIR_PATH_MAX]);

/* view.c: the ring of a session, open until another is asked for. 0 or
 * -errno. */
struct ring_reader;
struct psup_view;
int view_reader(struct psup_view *v, uint64_t instance,
    struct ring_reader **ret);
/* The board; the stats pages, or NULL. */
struct board;
struct stats_page;
const struct board *view_board(const struct psup_view *v);
const struct stats_page *view_stats(const struct psup_view *v);

#endif
