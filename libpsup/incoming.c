/* SPDX-License-Identifier: MIT */
/*
 * What the server sends: answers to their callbacks, notifications to theirs.
 * The one loop of the library is psup_turn(); everything that waits goes round
 * it. Called by programs, their event loops and client.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define DISPATCH_BYTES 262144u /* received in one psup_dispatch() */
#define RECEIVE_BYTES  65536u

/* [1, id, error, result]: the arena goes to the callback, or is freed. */
static int
client_answer(struct psup *p, const struct val *items,
    struct codec_arena **arena)
{
	struct request *r;
	psup_reply *reply;
	int rc;

	if (items[1].type != VAL_UINT || items[1].u > UINT32_MAX)
		return PSUP_ERR_PROTOCOL;
	r = request_take(p, (uint32_t)items[1].u);
	if (r == NULL)
		return PSUP_OK; /* of a call whose time was up */
	if (items[2].type != VAL_NIL) {
		rc = error_remote(p, &items[2]);
		if (!request_again(p, r))
			request_finish(p, r, rc, NULL);
		return PSUP_OK;
	}
	reply = calloc(1, sizeof(*reply));
	if (reply == NULL) {
		rc = error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for an answer");
		request_finish(p, r, rc, NULL);
		return PSUP_OK;
	}
	p->resume.subscribed = p->resume.subscribed ||
	    r->method == PROTO_SUBSCRIBE;
	reply->value = &items[3];
	reply->arena = *arena;
	*arena = NULL;
	request_finish(p, r, PSUP_OK, reply);
	return PSUP_OK;
}

/* The member of a map, to be changed. */
static struct val *
member(const struct val *map, const char *key)
{
	return (struct val *)(uintptr_t)val_get(map, key);
}

/* The output of a request that was asked again comes from its beginning: cuts
 * off what was delivered before. The arena is ours. False: all of it was. */
static bool
cut_output(struct psup *p, const struct val *params)
{
	struct val *pos = member(params, "pos"), *data = member(params, "data");
	struct val *dropped = member(params, "dropped");
	uint64_t id = val_uint(params, "msgid", UINT64_MAX), skip;
	struct request *r;

	r = id <= UINT32_MAX ? request_find(p, (uint32_t)id) : NULL;
	if (r == NULL || pos == NULL || pos->type != VAL_UINT || data == NULL ||
	    (data->type != VAL_BIN && data->type != VAL_STR))
		return true;
	/* of a gap before pos, what an earlier connection brought is no gap */
	if (dropped != NULL && dropped->type == VAL_UINT && pos->u > r->seen &&
	    dropped->u > pos->u - r->seen)
		dropped->u = pos->u - r->seen;
	else if (dropped != NULL && pos->u <= r->seen)
		dropped->u = 0;
	skip = r->seen > pos->u ? r->seen - pos->u : 0;
	if (skip > 0 && skip >= data->s.len)
		return false;
	pos->u += skip;
	data->s.ptr += skip;
	data->s.len -= (uint32_t)skip;
	r->seen = pos->u + data->s.len;
	return true;
}

/* [2, name, params]; params is a map, or an array with one map. */
static int
client_note(struct psup *p, const struct val *items)
{
	const struct val *params = &items[2];
	char name[40];

	if (items[1].type != VAL_STR)
		return PSUP_ERR_PROTOCOL;
	if (items[1].s.len >= sizeof(name) || p->note == NULL)
		return PSUP_OK;
	memcpy(name, items[1].s.ptr, items[1].s.len);
	name[items[1].s.len] = '\0';
	if (params->type == VAL_ARRAY && params->a.count == 1)
		params = &params->a.items[0];
	if (strcmp(name, "output") == 0 && params->type == VAL_MAP &&
	    !cut_output(p, params))
		return PSUP_OK;
	p->depth++;
	p->note(p->note_arg, name, (const psup_value *)(const void *)params);
	p->depth--;
	return PSUP_OK;
}

/* One message. */
static int
client_message(struct psup *p, const struct val *v, struct codec_arena **arena)
{
	const struct val *items = v->a.items;

	if (v->type != VAL_ARRAY || v->a.count < 3 ||
	    items[0].type != VAL_UINT)
		return PSUP_ERR_PROTOCOL;
	if (items[0].u == 1 && v->a.count == 4)
		return client_answer(p, items, arena);
	if (items[0].u == 2 && v->a.count == 3)
		return client_note(p, items);
	return PSUP_ERR_PROTOCOL;
}

/* Every whole message in the buffer, until somebody pauses. */
static int
client_messages(struct psup *p)
{
	struct codec_arena *arena;
	const struct val *v;
	enum codec_error found;
	struct codec_extent extent;
	int rc;

	while (p->fd >= 0 && !p->paused && p->in.at < p->in.len) {
		found = codec_decode_more(&p->walk, p->in.data + p->in.at,
		    p->in.len - p->in.at, &codec_limits_trusted, &extent,
		    &arena, &v);
		if (found == CODEC_INCOMPLETE)
			break;
		rc = PSUP_ERR_PROTOCOL;
		if (found == CODEC_OK) {
			p->in.at += extent.used;
			rc = client_message(p, v, &arena);
			codec_arena_free(&arena);
		}
		if (rc != PSUP_OK) {
			error_set(p, PSUP_ERR_PROTOCOL, "bad-answer", "",
			    "the server at %s sent what is no answer: %s",
			    p->runtime_dir, found == CODEC_OK ?
			    "not a message" : p->walk.why);
			return client_fail(p, PSUP_ERR_PROTOCOL);
		}
	}
	p->held = p->paused && p->in.at < p->in.len;
	return PSUP_OK;
}

void
psup_on_note(struct psup *p, psup_note_fn *fn, void *arg)
{
	p->note = fn;
	p->note_arg = arg;
}

size_t
psup_pending(const struct psup *p)
{
	return p->pending;
}

size_t
psup_unsent(const struct psup *p)
{
	/* what is sent only after the next hello counts, too */
	return p->out.len - p->out.at + (p->resume.state != RESUME_NONE);
}

int
psup_fd(const struct psup *p)
{
	return p->fd;
}

short
psup_fd_events(const struct psup *p)
{
	short events = 0;

	if (p->fd >= 0 && (!p->paused || p->resume.state == RESUME_WAITS))
		events |= POLLIN;
	if (p->resume.state != RESUME_WAITS && p->fd >= 0 && p->out.at < p->out.len)
		events |= POLLOUT;
	return events;
}

void
psup_pause(struct psup *p, bool paused)
{
	p->paused = paused;
}

int
psup_dispatch(struct psup *p)
{
	size_t received = 0;
	ssize_t n = 1;
	int rc;

	if (p->fd < 0)
		return PSUP_ERR_LOST;
	if (p->depth > 0)
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "psup_dispatch() from a callback");
	if (p->resume.state == RESUME_WAITS) {
		resume_try(p);
		return p->fd >= 0 ? PSUP_OK : PSUP_ERR_LOST;
	}
	rc = wire_flush(p);
	/* What a dead server said last is still read. */
	if (rc < 0 && rc != -EPIPE && rc != -ECONNRESET)
		return client_lost(p, -rc);
	rc = client_messages(p);
	while (rc == PSUP_OK && p->fd >= 0 && !p->paused &&
	       received < DISPATCH_BYTES) {
		n = wire_fill(p, RECEIVE_BYTES);
		if (n <= 0)
			break;
		received += (size_t)n;
		if ((size_t)n < RECEIVE_BYTES)
			break; /* that was all */
	}
	if (received > 0)
		rc = client_messages(p);
	if (p->fd >= 0 && p->resume.state != RESUME_WAITS)
		(void)wire_flush(p); /* what callbacks have asked for */
	if (rc == PSUP_OK && n <= 0 && n != -EAGAIN && p->fd >= 0 &&
	    !p->paused)
		return client_lost(p, (int)-n);
	return rc;
}

int
psup_turn(struct psup *p, int timeout_ms)
{
	struct pollfd pfd = {.fd = p->fd, .events = psup_fd_events(p)};

	if (p->fd < 0)
		return error_set(p, PSUP_ERR_LOST, "connection-lost", "",
		    "not connected");
	if (p->held && !p->paused)
		timeout_ms = 0; /* poll(2) knows nothing of those */
	if (poll(&pfd, 1, timeout_ms) < 0 && errno != EINTR)
		return error_errno(p, errno, "poll");
	return psup_dispatch(p);
}
