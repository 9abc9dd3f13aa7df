/* SPDX-License-Identifier: MIT */
/*
 * The handle: connecting, and requests on their way out. Answers come in by
 * incoming.c. Called by programs and by calls.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "internal.h"

#define CONNECT_MS     10000

/* What a waiting call waits for. */
struct waiting {
	struct psup *p;
	bool done;
	int status;
	struct client_error error; /* of the answer: a connection that is
	                            * closed behind it brings another one */
	psup_reply *reply;
};

int
psup_new(struct psup **ret)
{
	struct psup *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return PSUP_ERR_NO_MEMORY;
	p->fd = -1;
	for (size_t i = 0; i < REQUEST_BUCKETS; i++)
		LIST_INIT(&p->requests[i]);
	*ret = p;
	return PSUP_OK;
}

/* Closes the descriptor and empties the buffers. */
static void
client_disconnect(struct psup *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->paused = p->held = false;
	buffer_free(&p->in);
	buffer_free(&p->out);
}

void
psup_free(struct psup **p)
{
	struct request *r;

	if (p == NULL || *p == NULL)
		return;
	client_disconnect(*p);
	for (size_t i = 0; i < REQUEST_BUCKETS; i++)
		while ((r = LIST_FIRST(&(*p)->requests[i])) != NULL) {
			LIST_REMOVE(r, next);
			free(r);
		}
	free(*p);
	*p = NULL;
}

/* Takes a request out of the table. */
struct request *
request_take(struct psup *p, uint32_t id)
{
	struct request *r;

	LIST_FOREACH(r, &p->requests[id % REQUEST_BUCKETS], next)
	{
		if (r->id == id) {
			LIST_REMOVE(r, next);
			p->pending--;
			return r;
		}
	}
	return NULL;
}

/* Answers a request, once. */
void
request_finish(struct psup *p, struct request *r, int status, psup_reply *reply)
{
	psup_answer_fn *fn = r->fn;
	void *arg = r->arg;

	free(r);
	p->depth++;
	fn(arg, status, reply);
	p->depth--;
}

int
client_fail(struct psup *p, int rc)
{
	struct request *r;

	client_disconnect(p);
	/* The analyzer takes what was removed for the first. */
	/* NOLINTBEGIN(clang-analyzer-unix.Malloc) */
	for (size_t i = 0; i < REQUEST_BUCKETS; i++)
		while ((r = LIST_FIRST(&p->requests[i])) != NULL) {
			(void)request_take(p, r->id);
			request_finish(p, r, rc, NULL);
		}
	/* NOLINTEND(clang-analyzer-unix.Malloc) */
	return rc;
}

/* The connection broke: said once, to everybody who waits. */
int
client_lost(struct psup *p, int errnum)
{
	error_set(p, PSUP_ERR_LOST, "connection-lost", "",
	    "the server at %s closed the connection%s%s", p->runtime_dir,
	    errnum != 0 ? ": " : "", errnum != 0 ? strerror(errnum) : "");
	return client_fail(p, PSUP_ERR_LOST);
}

void
psup_close(struct psup *p)
{
	if (p->fd < 0)
		return;
	error_set(p, PSUP_ERR_LOST, "connection-lost", "",
	    "the connection was closed");
	client_fail(p, PSUP_ERR_LOST);
}

bool
psup_is_connected(const struct psup *p)
{
	return p->fd >= 0;
}

const char *
psup_runtime_dir(const struct psup *p)
{
	return p->runtime_dir;
}

/* -------------------------------------------------------------- connecting */

/* The token of the options, or none. */
static int
find_token(struct psup *p, const struct psup_options *o,
    char ret_token[PSUP_TOKEN_SIZE])
{
	const char *path = o->token_file;

	ret_token[0] = '\0';
	if (o->token != NULL) {
		if (strlcpy(ret_token, o->token, PSUP_TOKEN_SIZE) ==
		    PSUP_TOKEN_SIZE - 1)
			return PSUP_OK;
		return error_set(p, PSUP_ERR_USAGE, "usage", "token",
		    "psup_options.token is no token; expected %d hex digits",
		    PSUP_TOKEN_SIZE - 1);
	}
	if (path == NULL)
		path = getenv("PSUP_TOKEN_FILE");
	if (path == NULL || path[0] == '\0')
		return PSUP_OK;
	return psup_read_token_file(p, path, ret_token);
}

/* hello, the first request of every connection. */
static int
client_hello(struct psup *p, const struct psup_options *o, const char *token,
    int timeout_ms)
{
	const char *client = o->client;
	psup_args *a = psup_args_new();
	psup_reply *reply = NULL;
	int rc;

	if (client == NULL)
		client = program_invocation_short_name;
	if (client[0] != '\0' && strlen(client) <= 64 &&
	    psup_is_utf8(client, strlen(client)))
		psup_args_str(a, "client", client);
	psup_args_int(a, "protocol", PROTO_VERSION);
	if (o->scope != NULL)
		psup_args_str(a, "scope", o->scope);
	if (token[0] != '\0')
		psup_args_str(a, "token", token);
	if (o->no_process)
		psup_args_bool(a, "process", false);
	rc = psup_call(p, "hello", a, timeout_ms, &reply);
	if (rc == PSUP_ERR_TIMEOUT)
		error_set(p, rc, "timeout", "",
		    "the server at %s does not answer", p->runtime_dir);
	psup_reply_free(&reply);
	psup_args_free(&a);
	return rc;
}

/* One try at an existing server. */
static int
client_connect(struct psup *p, const struct psup_options *o)
{
	int timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : CONNECT_MS;
	char token[PSUP_TOKEN_SIZE];
	int fd, rc;

	rc = find_token(p, o, token);
	if (rc != PSUP_OK)
		return rc;
	fd = wire_connect(p, p->runtime_dir, token[0] != '\0', timeout_ms);
	if (fd < 0)
		return fd;
	p->fd = fd;
	rc = client_hello(p, o, token, timeout_ms);
	explicit_bzero(token, sizeof(token));
	if (rc != PSUP_OK && p->fd >= 0)
		client_disconnect(p);
	return rc;
}

int
psup_connect(struct psup *p, const struct psup_options *o)
{
	struct psup_options defaults = PSUP_OPTIONS_INIT;
	int rc;

	if (o == NULL)
		o = &defaults;
	if (o->size != sizeof(*o) || p->depth > 0)
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    p->depth > 0 ? "psup_connect() from a callback"
		                 : "psup_options.size is wrong");
	psup_close(p);
	rc = resolve_dir(p, o, p->runtime_dir);
	if (rc != PSUP_OK)
		return rc;
	rc = client_connect(p, o);
	if (rc != PSUP_ERR_NO_SERVER || !o->start)
		return rc;
	rc = psup_start_server(p, o);
	return rc == PSUP_OK ? client_connect(p, o) : rc;
}

/* ---------------------------------------------------------------- requests */

/* Appends [0, id, method, params], whole or not at all. */
static int
client_append(struct psup *p, uint32_t id, const char *method,
    const struct enc *params)
{
	struct enc e = ENC_INIT;
	int rc = PSUP_OK;

	enc_array(&e);
	enc_uint(&e, 0);
	enc_uint(&e, id);
	enc_str(&e, method);
	enc_raw(&e, params->buf, params->len);
	enc_end(&e);
	if (!e.failed && e.len > codec_limits_default.bytes)
		rc = error_set(p, PSUP_ERR_REFUSED,
		    proto_error_name(PROTO_E_FRAME_TOO_LARGE), "",
		    "the request is %zu bytes, and may have at most %u", e.len,
		    codec_limits_default.bytes);
	else if (e.failed || buffer_reserve(&p->out, e.len) < 0)
		rc = error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the request");
	if (rc == PSUP_OK) {
		memcpy(p->out.data + p->out.len, e.buf, e.len);
		p->out.len += e.len;
	}
	enc_fini(&e);
	return rc;
}

/* Checks and appends a request, and enters it into the table. */
static int
client_request(struct psup *p, const char *method, const struct psup_args *a,
    struct request *r)
{
	struct enc params = ENC_INIT;
	int rc;

	rc = args_finish(p, a, &params);
	if (rc != PSUP_OK)
		return rc;
	rc = request_check(p, method, &params);
	r->id = p->next_id++;
	if (rc == PSUP_OK)
		rc = client_append(p, r->id, method, &params);
	enc_fini(&params);
	if (rc != PSUP_OK)
		return rc;
	LIST_INSERT_HEAD(&p->requests[r->id % REQUEST_BUCKETS], r, next);
	p->pending++;
	return PSUP_OK;
}

int
psup_send(struct psup *p, const char *method, const struct psup_args *a,
    psup_answer_fn *fn, void *arg, uint32_t *ret_id)
{
	struct request *r;
	int rc;

	if (p->fd < 0)
		return error_set(p, PSUP_ERR_LOST, "connection-lost", "",
		    "not connected");
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the request");
	r->fn = fn;
	r->arg = arg;
	rc = client_request(p, method, a, r);
	if (rc != PSUP_OK) {
		free(r);
		return rc;
	}
	if (ret_id != NULL)
		*ret_id = r->id;
	/* An error of the socket is met again, and said, by psup_dispatch() */
	(void)wire_flush(p);
	return PSUP_OK;
}

int
psup_cancel(struct psup *p, uint32_t id)
{
	struct enc e = ENC_INIT;
	int rc = PSUP_OK;

	if (p->fd < 0)
		return error_set(p, PSUP_ERR_LOST, "connection-lost", "",
		    "not connected");
	enc_array(&e);
	enc_uint(&e, 2);
	enc_str(&e, "cancel");
	enc_array(&e);
	enc_map(&e);
	enc_kv_uint(&e, "msgid", id);
	enc_end(&e);
	enc_end(&e);
	enc_end(&e);
	if (e.failed || buffer_reserve(&p->out, e.len) < 0) {
		rc = error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for a cancel");
	} else {
		memcpy(p->out.data + p->out.len, e.buf, e.len);
		p->out.len += e.len;
		(void)wire_flush(p);
	}
	enc_fini(&e);
	return rc;
}

/* The answer of a waiting call. */
static void
call_answered(void *arg, int status, psup_reply *reply)
{
	struct waiting *w = arg;

	w->done = true;
	w->error = w->p->error;
	w->status = status;
	w->reply = reply;
}

/* Milliseconds to a deadline, rounded up; -1: there is none. */
static int
left_ms(uint64_t deadline_ns)
{
	uint64_t now, ms;

	if (deadline_ns == 0)
		return -1;
	now = clock_boot_ns();
	if (now >= deadline_ns)
		return 0;
	ms = (deadline_ns - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return ms > 1000000000 ? 1000000000 : (int)ms;
}

/* The call's time is up: forget it, and tell the server. */
static int
call_timed_out(struct psup *p, uint32_t id, const char *method)
{
	free(request_take(p, id));
	psup_cancel(p, id);
	return error_set(p, PSUP_ERR_TIMEOUT, "timeout", "",
	    "%s: no answer in time", method);
}

int
psup_call(struct psup *p, const char *method, const struct psup_args *a,
    int timeout_ms, psup_reply **ret)
{
	struct waiting w = {.p = p};
	uint64_t deadline = 0;
	uint32_t id = 0;
	int left, rc;

	if (p->depth > 0)
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "psup_call() from a callback");
	if (timeout_ms >= 0)
		deadline = clock_boot_ns() +
		    (uint64_t)(unsigned)timeout_ms * NSEC_PER_MSEC;
	rc = psup_send(p, method, a, call_answered, &w, &id);
	if (rc != PSUP_OK)
		return rc;
	while (!w.done) {
		left = left_ms(deadline);
		if (left == 0)
			return call_timed_out(p, id, method);
		rc = psup_turn(p, left);
		if (rc != PSUP_OK && !w.done)
			return rc;
	}
	if (w.status != PSUP_OK) {
		p->error = w.error;
		return w.status;
	}
	*ret = w.reply;
	return PSUP_OK;
}
