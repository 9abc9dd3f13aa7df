/* SPDX-License-Identifier: MIT */
/*
 * Places of readers. Called by api/ for poll and by conn.c when an answer
 * left or did not. Confirmed places are in memory and in the index, written in
 * the transaction that the caller commits; what is staged, and the count of
 * empty polls, is in memory alone: after a lost master it counts as not
 * delivered.
 */
#include "supervisor/store/cursors.h"

#include "common/check.h"
#include "common/codec.h"
#include "supervisor/share/rank.h"
#include "supervisor/store/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READER_MAX     128u /* bytes of a reader's name */
#define READERS_MAX    64u /* of one session */
#define STAGED_MAX     8u   /* of one reader; older ones are forgotten */
#define ACK_MASK       0x000fffffffffffffull /* exact in a double */

/* A poll's delivery that nobody has confirmed. */
struct staged {
	uint64_t ack, to;
	bool tells_end, is_empty;
	bool writing; /* its answer is on its way to the socket */
};

struct reader {
	struct rank_node node;
	struct sid sid;
	struct cursor cur;
	bool stored;          /* has a record in the index */
	uint32_t staged_count;
	struct staged staged[STAGED_MAX]; /* oldest first */
	char name[];
};

struct cursors {
	struct index *ix;
	struct rank_tree readers; /* by session, then name */
	uint64_t next_ack;
};

/* What a reader is found by. */
struct reader_key {
	struct sid sid;
	const char *name;
};

static int
cmp_reader(const void *key, const struct rank_node *n)
{
	const struct reader_key *k = key;
	const struct reader *r = RANK_OWNER_C(n, struct reader, node);

	if (k->sid.v != r->sid.v)
		return k->sid.v < r->sid.v ? -1 : 1;
	return strcmp(k->name, r->name);
}

/* The reader, or NULL. */
static struct reader *
find_reader(const struct cursors *c, struct sid sid, const char *name)
{
	struct reader_key key = { sid, name };
	struct rank_node *n = rank_find(&c->readers, &key);

	return n == NULL ? NULL : RANK_OWNER(n, struct reader, node);
}

/* The record's key: session, then name. */
static struct index_bytes
record_key(const struct reader *r, unsigned char buf[static 8 + READER_MAX])
{
	struct index_key64 id = index_key64(r->sid.v);
	size_t n = strlen(r->name);

	memcpy(buf, id.b, sizeof(id.b));
	memcpy(buf + sizeof(id.b), r->name, n);
	return (struct index_bytes){ buf, sizeof(id.b) + n };
}

/* Forgets one reader, here and in the index. */
static void
reader_drop(struct cursors *c, struct reader *r)
{
	unsigned char buf[8 + READER_MAX];

	if (r->stored)
		(void)index_del(c->ix, INDEX_CURSORS, record_key(r, buf));
	rank_erase(&c->readers, &r->node);
	free(r);
}

/* The readers of one session are many only where somebody plays with names:
 * the one that has read least makes room. */
static void
make_room(struct cursors *c, struct sid sid)
{
	struct reader_key key = { sid, "" };
	struct reader *least = NULL;
	uint32_t count = 0;

	for (struct rank_node *n = rank_lower(&c->readers, &key); n != NULL;
	     n = rank_next(n)) {
		struct reader *r = RANK_OWNER(n, struct reader, node);

		if (!sid_eq(r->sid, sid))
			break;
		count++;
		if (least == NULL || r->cur.pos < least->cur.pos)
			least = r;
	}
	if (count >= READERS_MAX && least != NULL)
		reader_drop(c, least);
}

/* A new reader at the beginning; NULL: no memory. */
static struct reader *
reader_new(struct cursors *c, struct sid sid, const char *name, size_t len)
{
	struct reader *r = calloc(1, sizeof(*r) + len + 1);
	struct reader_key key = { sid, NULL };

	if (r == NULL)
		return NULL;
	r->sid = sid;
	memcpy(r->name, name, len);
	key.name = r->name;
	rank_insert(&c->readers, &r->node, &key);
	return r;
}

/* Writes the confirmed place. On an error the reader goes on from memory and
 * hears it again after a restart. */
static void
reader_store(struct cursors *c, struct reader *r)
{
	unsigned char buf[8 + READER_MAX];
	struct enc e = ENC_INIT;

	kept_map(&e);
	enc_kv_uint(&e, "pos", r->cur.pos);
	enc_kv_bool(&e, "end", r->cur.end_told);
	enc_end(&e);
	if (kept_put(c->ix, INDEX_CURSORS, record_key(r, buf), &e, false) == 0)
		r->stored = true;
}

/* One record of the index, decoded. -EBADMSG; -ENOMEM. */
static int
load_value(struct index_bytes val, struct cursor *ret)
{
	struct codec_arena *arena;
	const struct val *v;
	int rc = kept_read(val, &arena, &v);

	if (rc != 0)
		return rc;
	rc = val_get(v, "pos") != NULL ? 0 : -EBADMSG;
	ret->pos = val_uint(v, "pos", 0);
	ret->end_told = val_bool(v, "end", false);
	codec_arena_free(&arena);
	return rc;
}

/* Loads one record; a damaged one is left alone. */
static int
load_one(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct cursors *c = arg;
	const unsigned char *k = key.data;
	struct cursor cur = { 0 };
	struct sid sid = { 0 };
	struct reader *r;
	int rc;

	if (key.size < 8 || key.size >= 8 + READER_MAX ||
	    memchr(k + 8, '\0', key.size - 8) != NULL)
		return 0;
	rc = load_value(val, &cur);
	if (rc != 0)
		return rc == -ENOMEM ? rc : 0;
	for (int i = 0; i < 8; i++)
		sid.v = sid.v << 8 | k[i];
	r = reader_new(c, sid, (const char *)k + 8, key.size - 8);
	if (r == NULL)
		return -ENOMEM;
	r->cur = cur;
	r->stored = true;
	return 0;
}

/* Reads every confirmed place. Acks begin at a random number, so that one
 * given out by a lost master never fits what this one has staged. */
int
cursors_open(struct index *ix, struct cursors **ret)
{
	struct cursors *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return -ENOMEM;
	c->ix = ix;
	rank_init(&c->readers, cmp_reader);
	arc4random_buf(&c->next_ack, sizeof(c->next_ack));
	rc = index_scan(ix, INDEX_CURSORS, (struct index_bytes){ "\0", 1 },
	    load_one, c);
	if (rc != 0) {
		cursors_close(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

/* The index keeps what was confirmed. */
void
cursors_close(struct cursors **c)
{
	struct rank_node *n;

	if (*c == NULL)
		return;
	while ((n = rank_first(&(*c)->readers)) != NULL) {
		rank_erase(&(*c)->readers, n);
		free(RANK_OWNER(n, struct reader, node));
	}
	free(*c);
	*c = NULL;
}

/* {0} for a new one. */
struct cursor
cursors_get(struct cursors *c, struct sid sid, const char *reader)
{
	const struct reader *r = find_reader(c, sid, reader);

	return r == NULL ? (struct cursor){ 0 } : r->cur;
}

/* Notes a delivery under a number of its own; 0: it cannot be noted. */
uint64_t
cursors_stage(struct cursors *c, struct sid sid, const char *reader,
    uint64_t from, uint64_t to, bool tells_end)
{
	struct reader *r = find_reader(c, sid, reader);
	struct staged *s;

	CHECK(from <= to);
	if (strlen(reader) >= READER_MAX)
		return 0;
	if (r == NULL) {
		make_room(c, sid);
		r = reader_new(c, sid, reader, strlen(reader));
	}
	if (r == NULL)
		return 0;
	if (r->staged_count == STAGED_MAX) {
		memmove(r->staged, r->staged + 1,
		    (STAGED_MAX - 1) * sizeof(*r->staged));
		r->staged_count--;
	}
	do
		c->next_ack = (c->next_ack + 1) & ACK_MASK;
	while (c->next_ack == 0);
	s = &r->staged[r->staged_count++];
	*s = (struct staged){ .ack = c->next_ack, .to = to,
		.tells_end = tells_end, .is_empty = from == to && !tells_end };
	return s->ack;
}

void
cursors_writing(struct cursors *c, struct sid sid, const char *reader,
    uint64_t ack)
{
	struct reader *r = find_reader(c, sid, reader);

	for (uint32_t i = 0; r != NULL && i < r->staged_count; i++)
		if (r->staged[i].ack == ack)
			r->staged[i].writing = !r->staged[i].is_empty;
}

bool
cursors_busy(const struct cursors *c, struct sid sid, const char *reader)
{
	const struct reader *r = find_reader(c, sid, reader);

	for (uint32_t i = 0; r != NULL && i < r->staged_count; i++)
		if (r->staged[i].writing)
			return true;
	return false;
}

/* Takes a staged delivery off its reader. */
static bool
unstage(struct reader *r, uint64_t ack, struct staged *ret)
{
	for (uint32_t i = 0; r != NULL && i < r->staged_count; i++) {
		if (r->staged[i].ack != ack)
			continue;
		*ret = r->staged[i];
		r->staged_count--;
		memmove(r->staged + i, r->staged + i + 1,
		    (r->staged_count - i) * sizeof(*r->staged));
		return true;
	}
	return false;
}

/* A place only moves forward, whatever the order of confirmations. */
bool
cursors_confirm(struct cursors *c, struct sid sid, const char *reader,
    uint64_t ack)
{
	struct reader *r = find_reader(c, sid, reader);
	struct staged s;

	if (!unstage(r, ack, &s))
		return false;
	r->cur.empty_polls = s.is_empty ? r->cur.empty_polls + 1 : 1;
	if (s.to <= r->cur.pos && (!s.tells_end || r->cur.end_told))
		return true;
	if (s.to > r->cur.pos)
		r->cur.pos = s.to;
	r->cur.end_told |= s.tells_end;
	reader_store(c, r);
	return true;
}

/* A reader that never got anything is forgotten with it. */
void
cursors_unstage(struct cursors *c, struct sid sid, const char *reader,
    uint64_t ack)
{
	struct reader *r = find_reader(c, sid, reader);
	struct staged s;

	if (unstage(r, ack, &s) && r->staged_count == 0 && !r->stored &&
	    r->cur.empty_polls == 0)
		reader_drop(c, r);
}

/* As OpenClaw: 5 s where there was output, or nothing yet; then 10, 30, 60 s. */
uint32_t
cursors_retry_ms(const struct cursor *cur)
{
	static const uint32_t steps_ms[] = { 5000, 10000, 30000, 60000 };

	return steps_ms[cur->empty_polls < NELEMS(steps_ms)
	        ? cur->empty_polls
	        : NELEMS(steps_ms) - 1];
}

/* All readers of a session. */
void
cursors_forget(struct cursors *c, struct sid sid)
{
	struct reader_key key = { sid, "" };
	struct rank_node *n;

	while ((n = rank_lower(&c->readers, &key)) != NULL) {
		struct reader *r = RANK_OWNER(n, struct reader, node);

		if (!sid_eq(r->sid, sid))
			break;
		reader_drop(c, r);
	}
}
