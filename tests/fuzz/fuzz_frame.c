/* SPDX-License-Identifier: MIT */
/*
 * What a client sends: frames through frame.c, codec and the protocol's
 * checks, up to where a method would begin. The functions around frame.c stand
 * here: they take the place of conn.c, request.c, api.c and turn_run.c.
 */
#include "common/text.h"
#include "fuzz.h"
#include "supervisor/api/conn.h"

static struct req the_request;
static enum proto_method the_method;

struct req *
conn_req(struct conn *c, uint32_t msgid)
{
	(void)c;
	return msgid == 7 ? &the_request : NULL;
}

bool
conn_may_call(const struct conn *c, enum proto_method method,
    struct proto_problem *why)
{
	(void)c;
	(void)why;
	the_method = method;
	return true;
}

void
conn_deny(struct conn *c)
{
	(void)c;
}

void
turn_in_hand(struct master *m, const char *what, uint64_t hash)
{
	(void)m;
	(void)hash;
	EXPECT(what != NULL);
}

bool
turn_is_fatal(const struct master *m, uint64_t hash)
{
	(void)m;
	return hash % 16 == 0;
}

const char *
conn_scope(const struct conn *c)
{
	(void)c;
	return NULL;
}

/* Encodes an object and decodes it again: what we say must be right. */
static void
expect_decodes(const struct enc *e)
{
	struct codec_arena *arena = NULL;
	const struct val *v;
	char why[200];
	size_t used;

	EXPECT(!e->failed);
	EXPECT(codec_decode(e->buf, e->len, &codec_limits_trusted, &used,
	    &arena, &v, why, sizeof(why)) == CODEC_OK && used == e->len);
	codec_arena_free(&arena);
}

void
conn_fail(struct conn *c, uint32_t msgid, const struct proto_problem *p)
{
	struct enc e = ENC_INIT;

	(void)c;
	(void)msgid;
	EXPECT(text_is_printable(p->message, strlen(p->message)));
	EXPECT(text_is_printable(p->field, strlen(p->field)));
	EXPECT(text_is_printable(p->value, strlen(p->value)));
	proto_encode_problem(&e, p);
	expect_decodes(&e);
	enc_fini(&e);
}

struct req *
req_new(struct conn *c, uint32_t msgid, enum proto_method method)
{
	(void)c;
	(void)msgid;
	EXPECT(method == the_method);
	return &the_request;
}

void
req_abandon(struct req *r, bool cancelled)
{
	EXPECT(r == &the_request && cancelled);
}

void
api_dispatch(struct master *m, struct req *r, const struct val *params)
{
	struct enc e = ENC_INIT;

	(void)m;
	EXPECT(r == &the_request && params->type == VAL_MAP);
	(void)proto_int(the_method, params, "timeout", 0);
	(void)proto_int(the_method, params, "yieldMs", 0);
	enc_val(&e, params);
	expect_decodes(&e);
	enc_fini(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct master m;
	static struct stats_page page;
	struct conn c = {.m = &m};
	size_t at = 0, used, arrived = size / 2;

	m.stats = &page;
	m.cfg.frame_bytes = 64u << 10;
	while (at < size && !c.closing) {
		if (arrived < at)
			arrived = at;
		used = frame_handle(&c, (const char *)data + at, arrived - at);
		EXPECT(used <= arrived - at);
		at += used;
		if (used == 0 && arrived == size)
			break;
		if (used == 0)
			arrived = size;
	}
	return 0;
}
