/* SPDX-License-Identifier: MIT */
/*
 * One function per method of the protocol. Each waits for the answer, and gives
 * the caller a reply to free. Parameters that a struct does not have: build
 * psup_args and use psup_call(). docs/protocol.md describes what is answered.
 *
 * A NULL string and, where said, a negative number mean "not given".
 */
#ifndef PSUP_CALLS_H
#define PSUP_CALLS_H

#include <psup/client.h>

#ifdef __cplusplus
extern "C" {
#endif

struct psup_exec {
	size_t size;             /* sizeof(struct psup_exec) */
	const char *command;     /* one shell string, or ... */
	const char *const *argv; /* ... a program and arguments, NULL at end */
	const char *workdir;
	const char *base_dir;    /* the caller's own directory */
	const char *const *env;      /* "KEY=value", NULL at end: added */
	const char *const *base_env; /* the whole base; NULL: the server's */
	const char *request_key, *lane, *scope, *session_key, *label;
	const char *stdin_mode;      /* "open" or "closed" */
	const char *stdin_text;      /* instead: this text, then EOF */
	int64_t yield_ms;            /* -1: not given; -2: never (nil) */
	double timeout_sec;          /* < 0: not given */
	double no_output_timeout_sec; /* < 0: not given */
	int priority;                /* 1, 0, -1 */
	bool background;
	bool stream;                 /* session and output notifications */
	bool pty;                    /* a terminal */
	int cols, rows;              /* of it; 0: not given */
	int umask;                   /* of the command; < 0: not given */
	int64_t retain_head, retain_tail; /* bytes; < 0: not given */
	const char *spill_path;      /* file for all output; "": one of the
	                              * server's; NULL: none */
	int64_t spill_max;           /* bytes; 0: not given */
};
#define PSUP_EXEC_INIT                                                         \
	{sizeof(struct psup_exec), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1,  \
	 -1, -1, 0, 0, 0, 0, 0, 0, -1, -1, -1, 0, 0}

/* The params of exec; NULL: no memory. The caller frees them. Strings of
 * base_env that are not KEY=value in UTF-8 are left out. */
PSUP_API psup_args *psup_exec_args(const struct psup_exec *x);
/* Waits for the end, the yield or the background answer. */
PSUP_API int psup_exec(psup *p, const struct psup_exec *x, psup_reply **ret);

PSUP_API int psup_list(psup *p, bool all, psup_reply **ret);

/* New output of this reader (NULL: the scope's). since >= 0: read from that
 * position instead, move no cursor. */
PSUP_API int psup_poll(psup *p, const char *session, int wait_ms,
    int64_t since, const char *reader, psup_reply **ret);

/* Lines of the retained output; offset, limit < 0: not given. stream:
 * "stdout", "stderr" or NULL. */
PSUP_API int psup_log(psup *p, const char *session, int64_t offset,
    int64_t limit, const char *stream, psup_reply **ret);

/* The same with everything log knows. */
struct psup_log_page {
	size_t size;           /* sizeof(struct psup_log_page) */
	int64_t offset, limit; /* < 0: not given */
	const char *stream;    /* "stdout", "stderr" or NULL */
	const char *text;      /* how output is shown: "clean" (NULL), "ansi",
	                        * "shown", "plain" */
	const char *grep;      /* only lines that hold this; NULL: all */
	int context;           /* lines around each of these */
	bool timestamps;
	bool raw;              /* details.output instead, the bytes */
	const char *regex;     /* only lines that it matches; without grep */
	int64_t since_ms;      /* only what came then or later, wall clock, ms
	                        * since 1970; <= 0: not given */
};
#define PSUP_LOG_PAGE_INIT                                                     \
	{sizeof(struct psup_log_page), -1, -1, 0, 0, 0, 0, 0, 0, 0, 0}
PSUP_API int psup_log_page(psup *p, const char *session,
    const struct psup_log_page *page, psup_reply **ret);

/* Changes the size of a session's terminal. */
PSUP_API int psup_resize(psup *p, const char *session, int cols, int rows,
    psup_reply **ret);

enum psup_screen_flags {
	PSUP_SCREEN_WITH_CELLS = 1, /* details.runs */
	PSUP_SCREEN_UNTRIMMED = 2   /* with blanks at the ends of lines */
};
/* What a session's terminal shows; <psup/screen.h> asks nobody. */
PSUP_API int psup_screen(psup *p, const char *session, unsigned flags,
    psup_reply **ret);

/* Feeds stdin, up to 1 MiB at once; waits up to wait_ms for room. Where the
 * connection breaks before the answer: PSUP_ERR_LOST, and the data was taken or
 * not. */
PSUP_API int psup_write(psup *p, const char *session, const void *data,
    size_t size, bool eof, int wait_ms, psup_reply **ret);
/* The same at a position of the session's stdin: 0 at first, then
 * details.position of the write before. What is there already is not given
 * again, so this call survives the master. For a session's only writer. */
PSUP_API int psup_write_at(psup *p, const char *session, const void *data,
    size_t size, bool eof, int64_t position, int wait_ms, psup_reply **ret);

/* Keys for a running session; literal, then hex, then keys are sent, and at
 * least one of them. */
struct psup_keys {
	size_t size;             /* sizeof(struct psup_keys) */
	const char *const *keys; /* tokens, "C-c", "up", "x"; NULL at end */
	const char *const *hex;  /* bytes, "1b", "0x1b"; NULL at end */
	const char *literal;     /* sent as it is */
	int delay_ms;            /* between keys; 0: none */
	bool force;              /* cursor keys though their mode is unknown */
};
#define PSUP_KEYS_INIT {sizeof(struct psup_keys), 0, 0, 0, 0, 0}
PSUP_API int psup_send_keys(psup *p, const char *session,
    const struct psup_keys *k, psup_reply **ret);
/* The name of key i that a token may have; NULL beyond the last. */
PSUP_API const char *psup_key_name(size_t i);

/* The bytes (NULL: none), then a carriage return. */
PSUP_API int psup_submit(psup *p, const char *session, const void *data,
    size_t size, psup_reply **ret);

/* Text as a terminal pastes it, between the brackets of a paste or not. */
PSUP_API int psup_paste(psup *p, const char *session, const void *text,
    size_t size, bool bracketed, psup_reply **ret);

enum psup_kill_flags {
	PSUP_KILL_NO_WAIT = 1,     /* answer at once */
	PSUP_KILL_SIGNAL_ONLY = 2  /* no SIGKILL after the grace */
};
/* signal NULL: TERM. grace_ms < 0: the server's. */
PSUP_API int psup_kill(psup *p, const char *session, const char *signal,
    int grace_ms, unsigned flags, psup_reply **ret);

/* A session whose exec still waits: that is answered that it goes on. */
PSUP_API int psup_background(psup *p, const char *session, psup_reply **ret);

PSUP_API int psup_clear(psup *p, const char *session, psup_reply **ret);
PSUP_API int psup_remove(psup *p, const char *session, psup_reply **ret);

/* Waits until all (any: one) of `count` sessions ended, up to wait_ms. */
PSUP_API int psup_wait(psup *p, const char *const *sessions, size_t count,
    bool any, int64_t wait_ms, psup_reply **ret);

/* What wait waits for beside the end of sessions; docs/protocol.md, section 6.
 * 0 and NULL: not asked for. */
struct psup_until {
	size_t size;        /* sizeof(struct psup_until) */
	const char *text, *regex;
	int64_t idle_ms, bytes;
	int64_t since;      /* -1: where the output ends now */
	bool input;         /* waitingForInput */
	bool raw;           /* terminal sequences as they are */
	bool any;           /* one of the sessions is enough */
};
#define PSUP_UNTIL_INIT {sizeof(struct psup_until), 0, 0, 0, 0, 0, 0, 0, 0}
PSUP_API int psup_wait_until(psup *p, const char *const *sessions,
    size_t count, const struct psup_until *u, int64_t wait_ms,
    psup_reply **ret);

/* since < 0: what the subscriber has not acknowledged. subscriber NULL: the
 * scope. limit < 0: the server's. */
PSUP_API int psup_events(psup *p, const char *subscriber, int64_t since,
    int64_t limit, psup_reply **ret);
/* "event" notifications follow. */
PSUP_API int psup_subscribe(psup *p, const char *subscriber, int64_t since,
    psup_reply **ret);
/* The same for events of these kinds ("started", "all"; NULL at end); kinds
 * NULL: the ends of sessions. */
PSUP_API int psup_events_of(psup *p, const char *const *kinds,
    const char *subscriber, int64_t since, int64_t limit, psup_reply **ret);
PSUP_API int psup_subscribe_to(psup *p, const char *const *kinds,
    const char *subscriber, int64_t since, psup_reply **ret);
PSUP_API int psup_ack(psup *p, const char *subscriber, int64_t seq,
    psup_reply **ret);

/* Admin connections: the scope takes no new sessions until undrain; waits up
 * to wait_ms for those it has (and, with `kill`, ends the rest; grace_ms < 0:
 * the server's). */
PSUP_API int psup_drain_scope(psup *p, const char *scope, int64_t wait_ms,
    bool kill, int grace_ms, psup_reply **ret);
PSUP_API int psup_undrain_scope(psup *p, const char *scope, psup_reply **ret);

/* Admin connections: a token that binds whoever shows it to `scope`; label
 * may be NULL. */
PSUP_API int psup_mint_token(psup *p, const char *scope, const char *label,
    psup_reply **ret);
/* scope NULL: all. */
PSUP_API int psup_list_tokens(psup *p, const char *scope, psup_reply **ret);
/* One by id, or (id NULL) all of a scope. */
PSUP_API int psup_revoke_token(psup *p, const char *id, const char *scope,
    psup_reply **ret);

/* What there is of lanes, or (admin connections) what is to be done to one. */
struct psup_lane_op {
	size_t size;      /* sizeof(struct psup_lane_op) */
	const char *op;   /* list, set-width, pause, resume, clear, reset,
	                   * drain; NULL: list */
	const char *lane; /* NULL, for list: all */
	int64_t width;    /* for set-width; < 0: the configured one */
	int64_t wait_ms;  /* for drain; < 0: the server's */
};
#define PSUP_LANE_OP_INIT {sizeof(struct psup_lane_op), 0, 0, -1, -1}
PSUP_API int psup_lanes(psup *p, const struct psup_lane_op *op,
    psup_reply **ret);

PSUP_API int psup_status(psup *p, psup_reply **ret);
/* Ends every command, then the server; grace_ms < 0: the server's. The answer
 * comes at once: pid is the keeper's. */
PSUP_API int psup_shutdown(psup *p, int grace_ms, psup_reply **ret);

#ifdef __cplusplus
}
#endif

#endif
