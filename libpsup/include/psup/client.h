/* SPDX-License-Identifier: MIT */
/*
 * Connections to a psup server: requests that wait, requests that do not, and
 * notifications.
 *
 *     psup *p;
 *     psup_reply *r;
 *     const char *text;
 *     size_t len;
 *     struct psup_options o = PSUP_OPTIONS_INIT;
 *
 *     o.start = true;
 *     if (psup_new(&p) != PSUP_OK)
 *             ...
 *     if (psup_connect(p, &o) != PSUP_OK)
 *             errx(1, "%s", psup_error_message(p));
 *     if (psup_list(p, false, &r) != PSUP_OK)
 *             errx(1, "%s", psup_error_message(p));
 *     text = psup_reply_text(r, &len);
 *     printf("%.*s\n", (int)len, text);
 *     psup_reply_free(&r);
 *     psup_free(&p);
 *
 * A failure of the call itself is a status below; what a tool answered may
 * still be a failure of its own (psup_reply_is_error).
 */
#ifndef PSUP_CLIENT_H
#define PSUP_CLIENT_H

#include <psup/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psup psup;

enum psup_rc {
	PSUP_OK = 0,
	PSUP_ERR_REFUSED = -1,   /* by the server, or by the check before
	                          * sending; psup_error_code() says why */
	PSUP_ERR_NO_SERVER = -2, /* nobody listens there */
	PSUP_ERR_LOST = -3,      /* the connection broke before the answer */
	PSUP_ERR_TIMEOUT = -4,
	PSUP_ERR_NO_MEMORY = -5,
	PSUP_ERR_PROTOCOL = -6,  /* the server's answer made no sense */
	PSUP_ERR_SYSTEM = -7,    /* a system call failed */
	PSUP_ERR_USAGE = -8      /* a mistake of the caller's */
};

/* ----------------------------------------------------------------- handle */

/* PSUP_OK or PSUP_ERR_NO_MEMORY. */
PSUP_API int psup_new(psup **ret);

/* Closes too. What is under way gets no answer and its callbacks are not
 * called. *p may be NULL; it is afterwards. Not from a callback. */
PSUP_API void psup_free(psup **p);

/* The last failure on this handle; valid until the next one. The code is the
 * wire's ("not-found", "invalid-params"), or one of no-server,
 * connection-lost, timeout, no-memory, bad-answer, system, usage. The field is
 * the parameter it is about, or "". */
PSUP_API const char *psup_error_code(const psup *p);
PSUP_API const char *psup_error_message(const psup *p);
PSUP_API const char *psup_error_field(const psup *p);

/* ------------------------------------------------------------- connecting */

struct psup_options {
	size_t size;             /* sizeof(struct psup_options) */
	const char *runtime_dir; /* NULL: $PSUP_RUNTIME_DIR,
	                          * $XDG_RUNTIME_DIR/psup, /dev/shm/psup-<uid> */
	const char *client;      /* who is calling; NULL: the program's name */
	const char *scope;       /* bind the connection to it; NULL: admin */
	const char *psupd;       /* program of the server; NULL: found */
	int timeout_ms;          /* of connecting; 0: 10 000 */
	bool start;              /* start a server where none runs */
	bool no_process;         /* exec runs synchronously (protocol.md) */
	const char *token;       /* a scope token: binds to its scope */
	const char *token_file;  /* else the file that holds one; NULL:
	                          * $PSUP_TOKEN_FILE, where that is set */
	const char *server_user; /* whose server is believed beside one's own
	                          * and root's: name or uid; NULL:
	                          * $PSUP_SERVER_USER, where that is set */
	bool resume;             /* psup_send()'s requests, too, are asked
	                          * again by another connection (below) */
	const psup_args *defaults; /* params of the method `defaults`, as
	                          * psup_exec_args() makes them of base_env,
	                          * base_dir and umask: every connection begins
	                          * with them. Copied */
};
#define PSUP_OPTIONS_INIT                                                      \
	{sizeof(struct psup_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/*
 * Connects and says hello. A handle that was connected is closed first. Where a
 * master dies meanwhile it tries again until there is no server, or the time is
 * up. Errors: NO_SERVER, TIMEOUT (somebody listens, nobody answers), LOST
 * (masters died until the time was up), REFUSED (the hello), SYSTEM, USAGE.
 *
 * Nothing is sent, neither token nor request, to a server that runs as anybody
 * but this user, root and server_user, or whose directory belongs to anybody
 * else, lets others in by its mode, or has an access control list: SYSTEM, with
 * the uid that was found and those that were expected.
 */
PSUP_API int psup_connect(psup *p, const struct psup_options *o);

/*
 * Where the master dies, its keeper starts another, and the connection is taken
 * up again: calls that wait (psup_call() and all of calls.h) are asked again,
 * unseen by the caller, and so are psup_send()'s with options.resume. That holds
 * for what may be done twice, or is known to the server by a name of the
 * caller's: docs/protocol.md says for each method whether, or by which
 * parameter (exec: requestKey, write: position). All else gets PSUP_ERR_LOST,
 * with the method in the message and the parameter in psup_error_field().
 *
 * So does everything on a connection that has subscribed: what it was to be
 * notified of is the caller's to ask for. Where nothing is asked again the
 * connection is closed, and the next of those calls takes it up. Once the server
 * itself is gone, or another one is in its place, everything gets PSUP_ERR_LOST,
 * and psup_error_code() is no-server.
 *
 * Output notifications of an exec that was asked again go on where they stopped.
 * psup_fd() may be another one afterwards.
 *
 * How often that happened since psup_connect().
 */
PSUP_API unsigned psup_resumed(const psup *p);
/* Is that under way: the connection broke, and no other one is there yet? */
PSUP_API bool psup_is_resuming(const psup *p);

/* Has the server options.defaults, so that no exec need say them? No server that
 * is too old for them has, nor one that had no room: each exec says them there. */
PSUP_API bool psup_has_defaults(const psup *p);

/* A scope token from a file that is the user's own (or root's) and has mode
 * 0600 or less, or from a descriptor, read to its end. Errors: SYSTEM. */
#define PSUP_TOKEN_SIZE 65
PSUP_API int psup_read_token_file(psup *p, const char *path,
    char ret_token[PSUP_TOKEN_SIZE]);
PSUP_API int psup_read_token_fd(psup *p, int fd,
    char ret_token[PSUP_TOKEN_SIZE]);

/* Closes the connection; what is under way is answered with PSUP_ERR_LOST. */
PSUP_API void psup_close(psup *p);
PSUP_API bool psup_is_connected(const psup *p);

/* The runtime directory of the last psup_connect(); "" before. */
PSUP_API const char *psup_runtime_dir(const psup *p);

/*
 * Runs `psupd --detach` with an allow-listed environment and waits until it
 * serves. The program is o->psupd, else $PSUP_PSUPD, else psupd beside the
 * calling program, in ../sbin of that, or in PATH. A server that runs already
 * is PSUP_OK. Errors: SYSTEM (message: what it said), TIMEOUT, USAGE.
 */
PSUP_API int psup_start_server(psup *p, const struct psup_options *o);

/* ------------------------------------------------------ requests that wait */

/*
 * Sends a request and waits for its answer; other answers and notifications
 * are delivered meanwhile. timeout_ms < 0: for ever. a may be NULL: no params;
 * it may be used again afterwards. *ret is the caller's to free.
 *
 * Checked before sending, with the error that the server would give: the
 * method, each parameter's name, type and range, the size limits (too-big
 * names the parameter). After PSUP_ERR_TIMEOUT the request is cancelled.
 * Not from a callback.
 */
PSUP_API int psup_call(psup *p, const char *method, const psup_args *a,
    int timeout_ms, psup_reply **ret);

/* ---------------------------------------------------- requests that do not */

/* The answer of a request: status PSUP_OK and a reply that the callback must
 * free, or an error (psup_error_* has the words) and NULL. */
typedef void psup_answer_fn(void *arg, int status, psup_reply *reply);

/* A notification: "session", "output", "event". params dies on return. */
typedef void psup_note_fn(void *arg, const char *name,
    const psup_value *params);

/* Sends without waiting; any number may be under way. What callbacks ask for
 * leaves together, before psup_dispatch() returns. *ret_id (may be NULL) names it
 * for psup_cancel() and is the msgid of its notifications. The callback is called
 * exactly once, from psup_dispatch(), psup_turn(), psup_call() or psup_close();
 * not where this returns an error. */
PSUP_API int psup_send(psup *p, const char *method, const psup_args *a,
    psup_answer_fn *fn, void *arg, uint32_t *ret_id);

/* Asks the server to give the request up; its answer still comes. */
PSUP_API int psup_cancel(psup *p, uint32_t id);

PSUP_API void psup_on_note(psup *p, psup_note_fn *fn, void *arg);

/* Requests that are still without an answer, and bytes not yet sent. */
PSUP_API size_t psup_pending(const psup *p);
PSUP_API size_t psup_unsent(const psup *p);

/* For an event loop: wait for these poll(2) events on this descriptor (-1: not
 * connected), then call psup_dispatch(). Ask anew each time: a connection that
 * is taken up again has another one, and before that a timer's. */
PSUP_API int psup_fd(const psup *p);
PSUP_API short psup_fd_events(const psup *p);

/* Sends and receives what is possible without waiting (at most 256 KiB in one
 * call) and calls the callbacks. PSUP_OK, PSUP_ERR_LOST or _PROTOCOL: the
 * connection is closed then, and every request was answered. */
PSUP_API int psup_dispatch(psup *p);

/* The same after waiting up to timeout_ms (< 0: for ever) for something. */
PSUP_API int psup_turn(psup *p, int timeout_ms);

/* While paused nothing is received: back-pressure on the server. After the
 * end of a pause call psup_dispatch() once: messages may be held back. */
PSUP_API void psup_pause(psup *p, bool paused);

#ifdef __cplusplus
}
#endif

#endif
