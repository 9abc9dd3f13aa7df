/* SPDX-License-Identifier: MIT */
/*
 * Requests: the table of those under way, and how they go out. Called by
 * programs, client.c, incoming.c and resume.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* --------------------------------------------------------------- the table */

struct request *
request_find(struct psup *p, uint32_t id)
{
	struct request *r;

	LIST_FOREACH(r, &p->requests[id % REQUEST_BUCKETS], next)
		if (r->id == id)
			return r;
	return NULL;
}

struct request *
request_take(struct psup *p, uint32_t id)
{
	struct request *r = request_find(p, id);

	if (r == NULL)
		return NULL;
	LIST_REMOVE(r, next);
	TAILQ_REMOVE(&p->by_age, r, by_age);
	p->pending--;
	return r;
}

/* It may hold a command's environment. */
static void
forget_frame(struct request *r)
{
	if (r->frame != NULL)
		explicit_bzero(r->frame, r->frame_len);
	free(r->frame);
	r->frame = NULL;
}

void
request_free(struct request *r)
{
	if (r == NULL)
		return;
	forget_frame(r);
	free(r);
}

void
request_finish(struct psup *p, struct request *r, int status, psup_reply *reply)
{
	psup_answer_fn *fn = r->fn;
	void *arg = r->arg;

	request_free(r);
	p->depth++;
	fn(arg, status, reply);
	p->depth--;
}

/* ------------------------------------------------------------- on their way */

/* [2, "cancel", [{msgid}]] */
static int
append_cancel(struct psup *p, uint32_t id)
{
	struct enc e = ENC_INIT;
	int rc;

	enc_array(&e);
	enc_uint(&e, 2);
	enc_str(&e, "cancel");
	enc_array(&e);
	enc_map(&e);
	enc_kv_uint(&e, "msgid", id);
	enc_end(&e);
	enc_end(&e);
	enc_end(&e);
	rc = e.failed ? -ENOMEM : wire_append(p, e.buf, e.len);
	enc_fini(&e);
	return rc;
}

int
request_put(struct psup *p, struct request *r)
{
	int rc = wire_append(p, r->frame, r->frame_len);

	if (rc == 0 && r->cancelled)
		rc = append_cancel(p, r->id);
	r->sent = r->sent || rc == 0;
	if (rc == 0 && !r->repeats)
		forget_frame(r);
	return rc;
}

/* [0, id, method, params], into the request. */
static int
request_frame(struct psup *p, struct request *r, const char *method,
    const struct enc *params)
{
	struct enc e = ENC_INIT;
	int rc = PSUP_OK;

	enc_array(&e);
	enc_uint(&e, 0);
	enc_uint(&e, r->id);
	enc_str(&e, method);
	enc_raw(&e, params->buf, params->len);
	enc_end(&e);
	if (!e.failed && e.len > codec_limits_default.bytes)
		rc = error_set(p, PSUP_ERR_REFUSED,
		    proto_error_name(PROTO_E_FRAME_TOO_LARGE), "",
		    "the request is %zu bytes, and may have at most %u", e.len,
		    codec_limits_default.bytes);
	else if (e.failed)
		rc = error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the request");
	if (rc != PSUP_OK) {
		enc_fini(&e);
		return rc;
	}
	r->frame = e.buf;
	r->frame_len = e.len;
	return PSUP_OK;
}

/* It has no answer from now on. */
static void
enter(struct psup *p, struct request *r)
{
	LIST_INSERT_HEAD(&p->requests[r->id % REQUEST_BUCKETS], r, next);
	TAILQ_INSERT_TAIL(&p->by_age, r, by_age);
	p->pending++;
}

/* Checks a request, enters it into the table and puts it among what is to be
 * sent, which is after hello where the connection is being taken up again. */
static int
client_request(struct psup *p, const char *method, const struct psup_args *a,
    struct request *r)
{
	struct enc params = ENC_INIT;
	bool repeats = false;
	int rc;

	rc = args_finish(p, a, &params);
	if (rc != PSUP_OK)
		return rc;
	rc = request_check(p, method, &params, &r->method, &repeats);
	r->id = p->next_id++;
	r->repeats = r->repeats && repeats;
	if (rc == PSUP_OK)
		rc = request_frame(p, r, method, &params);
	explicit_bzero(params.buf, params.len);
	enc_fini(&params);
	if (rc == PSUP_OK && (p->resume.state == RESUME_NONE ||
	        r->greets) && request_put(p, r) < 0)
		rc = error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the request");
	if (rc != PSUP_OK)
		return rc;
	enter(p, r);
	return PSUP_OK;
}

int
client_send(struct psup *p, const char *method, const struct psup_args *a,
    psup_answer_fn *fn, void *arg, enum manner how, uint32_t *ret_id)
{
	struct request *r;
	int rc;

	if (p->fd < 0 && !(how == SEND_AGAIN && resume_broken(p)))
		return error_set(p, PSUP_ERR_LOST, "connection-lost", "",
		    "not connected");
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the request");
	r->fn = fn;
	r->arg = arg;
	r->repeats = how == SEND_AGAIN;
	r->greets = how == SEND_GREETS;
	rc = client_request(p, method, a, r);
	if (rc != PSUP_OK) {
		request_free(r);
		return rc;
	}
	if (ret_id != NULL)
		*ret_id = r->id;
	/* An error of the socket is met again, and said, by psup_dispatch(),
	 * which also sends what its callbacks ask for, all of it at once */
	if (p->resume.state != RESUME_WAITS && p->depth == 0)
		(void)wire_flush(p);
	return PSUP_OK;
}

int
psup_send(struct psup *p, const char *method, const struct psup_args *a,
    psup_answer_fn *fn, void *arg, uint32_t *ret_id)
{
	return client_send(p, method, a, fn, arg,
	    p->resume.all ? SEND_AGAIN : SEND_ONCE, ret_id);
}

int
client_greet(struct psup *p, const char *method, const struct psup_args *a,
    psup_answer_fn *fn, void *arg)
{
	return client_send(p, method, a, fn, arg, SEND_GREETS, NULL);
}

/* Who needs them hears whether the server has them. */
static void
on_defaults(void *arg, int, psup_reply *reply)
{
	struct psup *p = arg;

	psup_reply_free(&reply);
	p->who.on_their_way = false;
}

bool
request_again(struct psup *p, struct request *r)
{
	if (r->method != PROTO_EXEC || r->again || !p->who.kept ||
	    strcmp(p->error.code_text, proto_error_name(
		PROTO_E_SHARE_USED_UP)) != 0 ||
	    (strcmp(p->error.field, "baseEnv") != 0 &&
		strcmp(p->error.field, "baseDir") != 0))
		return false;
	r->again = true;
	/* also where this one is not repeated: for the next */
	if (!p->who.on_their_way &&
	    client_defaults(p, on_defaults, p) != PSUP_OK)
		return false;
	p->who.on_their_way = true;
	if (r->frame == NULL || r->cancelled || request_put(p, r) < 0)
		return false;
	enter(p, r);
	(void)wire_flush(p);
	return true;
}

int
psup_cancel(struct psup *p, uint32_t id)
{
	struct request *r = request_find(p, id);

	if (p->fd < 0)
		return error_set(p, PSUP_ERR_LOST, "connection-lost", "",
		    "not connected");
	if (r != NULL)
		r->cancelled = true;
	if (p->resume.state != RESUME_NONE)
		return PSUP_OK; /* it goes with the request */
	if (append_cancel(p, id) < 0)
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for a cancel");
	(void)wire_flush(p);
	return PSUP_OK;
}
