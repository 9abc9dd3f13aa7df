/* SPDX-License-Identifier: MIT */
/*
 * A session as the index holds it: one msgpack map with a schema version `v`,
 * of the rows of session.def. The spec (argv, environment, directory) is a
 * record of its own, gone once the command runs. What does not decode is the
 * caller's to count and skip. Which records the next commit writes, or one soon,
 * is decided here, too.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/abi.h"
#include "common/check.h"
#include "supervisor/master.h"
#include "supervisor/store/kept.h"

/* Appends the whole record. */
void
record_encode(const struct session *s, struct enc *e)
{
	enc_map(e);
	enc_kv_uint(e, "v", abi_table[ABI_INDEX].version);
#if defined(PSUP_LAYOUT_BUMP) && PSUP_LAYOUT_BUMP == 1
	/* in a test of upgrades the next build has one more field */
	enc_kv_uint(e, "next", s->id.sid.v);
#endif
	fields_encode(s, e);
	enc_end(e);
}

/* Fills a session from a decoded map. */
static int
record_fill(struct session *s, const struct val *map)
{
	if (!abi_record_ok(val_uint(map, "v", 0)))
		return -EPROTO;
	if (fields_decode(s, map) < 0)
		return -ENOMEM;
	if (!sid_is_real(s->id.sid) ||
	    !slug_is_valid(s->id.slug, strlen(s->id.slug)) ||
	    s->state == STATE_FREE || s->state >= STATE_COUNT ||
	    s->wish.limits.mask >= 1u << CTL_LIMITS ||
	    s->facts.status >= STATUS_COUNT ||
	    s->facts.reason >= END_REASONS ||
	    s->wish.spill_max > RETAIN_SPILL_MAX ||
	    (s->wish.spill_max != 0) != (s->wish.spill_path[0] != '\0'))
		return -EBADMSG;
	s->record.spec_kept = session_is_before_start(s);
	return 0;
}

/* A session from its record; NULL: errno is ENOMEM, or it is damaged. */
struct session *
record_decode(const void *data, size_t size)
{
	struct codec_arena *arena;
	const struct val *map;
	struct session *s;
	int r = kept_value((struct index_bytes){data, size}, &arena, &map);

	if (r < 0) {
		errno = -r;
		return NULL;
	}
	r = -ENOMEM;
	s = session_new();
	if (s != NULL) {
		r = record_fill(s, map);
		if (r < 0) {
			session_free(s);
			s = NULL;
		}
	}
	codec_arena_free(&arena);
	errno = -r;
	return s;
}

/* Appends a spec. */
void
spec_encode(const struct spec *sp, struct enc *e)
{
	enc_map(e);
	enc_kv_uint(e, "v", abi_table[ABI_INDEX].version);
	enc_kv_uint(e, "argc", sp->argc);
	enc_kv_uint(e, "envc", sp->envc);
	enc_kv_uint(e, "paths", sp->path_count);
	enc_kv_uint(e, "sargc", sp->shell_argc);
	enc_kv_uint(e, "flags", sp->flags);
	enc_kv_uint(e, "umask", sp->umask);
	enc_key(e, "blob");
	enc_bin(e, sp->blob, sp->blob_bytes);
	enc_end(e);
}

/* Does the blob hold as many strings as the counts say? */
static bool
spec_is_whole(const struct spec *sp)
{
	uint64_t want = 1ull + sp->argc + sp->envc + sp->path_count, n = 0;

	if (sp->argc == 0 || sp->path_count == 0 || sp->blob_bytes == 0 ||
	    (sp->shell_argc != 0 &&
	        (sp->shell_argc >= sp->argc || sp->path_count < 2)) ||
	    sp->blob[sp->blob_bytes - 1] != '\0')
		return false;
	for (uint32_t i = 0; i < sp->blob_bytes; i++)
		n += sp->blob[i] == '\0';
	return n == want;
}

/* A spec from its record; NULL: errno is ENOMEM, or it is damaged. */
struct spec *
spec_decode(const void *data, size_t size)
{
	struct codec_limits limits = codec_limits_trusted;
	struct codec_arena *arena = NULL;
	const struct val *map;
	struct spec *sp;
	struct val_str blob;
	char why[128];
	enum codec_error err;
	size_t used;
	bool memory = true;

	limits.string = 8u << 20;
	limits.bytes = 16u << 20;
	err = codec_decode(data, size, &limits, &used, &arena, &map, why,
	    sizeof(why));
	if (err != CODEC_OK) {
		errno = err == CODEC_NOMEM ? ENOMEM : EBADMSG;
		return NULL;
	}
	blob = val_str(map, "blob");
	sp = calloc(1, sizeof(*sp));
	memory = sp != NULL;
	if (sp != NULL && blob.ptr != NULL && blob.len < (8u << 20) &&
	    abi_record_ok(val_uint(map, "v", 0))) {
		sp->argc = (uint32_t)val_uint(map, "argc", 0);
		sp->envc = (uint32_t)val_uint(map, "envc", 0);
		sp->path_count = (uint32_t)val_uint(map, "paths", 0);
		sp->shell_argc = (uint32_t)val_uint(map, "sargc", 0);
		sp->flags = (uint32_t)val_uint(map, "flags", 0) &
		    CTL_START_OF_SPEC;
		sp->umask = (uint32_t)val_uint(map, "umask", 022) & 0777;
		sp->blob = malloc(blob.len != 0 ? blob.len : 1);
		memory = sp->blob != NULL;
		if (sp->blob != NULL) {
			memcpy(sp->blob, blob.ptr, blob.len);
			sp->blob_bytes = (uint32_t)blob.len;
		}
	}
	codec_arena_free(&arena);
	if (sp != NULL && (sp->blob == NULL || !spec_is_whole(sp)))
		spec_free(&sp);
	errno = sp == NULL && !memory ? ENOMEM : EBADMSG;
	return sp;
}

/* Frees a spec; it holds an environment, so it is wiped. */
void
spec_free(struct spec **sp)
{
	if (*sp == NULL)
		return;
	if ((*sp)->blob != NULL)
		explicit_bzero((*sp)->blob, (*sp)->blob_bytes);
	free((*sp)->blob);
	free(*sp);
	*sp = NULL;
}

/* Writes the session's record into the open transaction. */
int
record_write(struct master *m, struct session *s)
{
	static struct enc e; /* its memory is for the next one, too */
	struct index_key64 id = index_key64(s->id.sid.v);

	enc_reset(&e);
	record_encode(s, &e);
	return kept_put_of(m->ix, INDEX_SESSIONS,
	    (struct index_bytes){id.b, 8}, &e, !s->record.fresh);
}

/* Puts a new session's spec into the open transaction, takes out that of one
 * that has been started: it holds an environment. */
int
spec_write(struct master *m, struct session *s)
{
	struct index_key64 id = index_key64(s->id.sid.v);
	struct enc e = ENC_INIT;

	if (s->record.spec_kept && !session_is_before_start(s))
		return index_del(m->ix, INDEX_SPECS,
		    (struct index_bytes){id.b, 8});
	if (!s->record.fresh || s->record.spec == NULL)
		return 0;
	s->record.spec_kept = true;
	spec_encode(s->record.spec, &e);
	return kept_put(m->ix, INDEX_SPECS, (struct index_bytes){id.b, 8}, &e,
	    false);
}

/* Brings the spec back from the index where it is not in memory. */
int
spec_load(struct master *m, struct session *s)
{
	struct index_key64 id = index_key64(s->id.sid.v);
	struct index_bytes val;
	int r;

	if (s->record.spec != NULL)
		return 0;
	r = index_get(m->ix, INDEX_SPECS, (struct index_bytes){id.b, 8}, &val);
	if (r < 0)
		return r;
	s->record.spec = spec_decode(val.data, val.size);
	return s->record.spec != NULL ? 0 : errno == ENOMEM ? -ENOMEM : -ENOENT;
}

/* Writes the session's request key into the open transaction. */
int
key_write(struct master *m, struct session *s)
{
	struct index_key64 id = index_key64(s->id.sid.v);
	char key[256];
	size_t a = strlen(s->id.scope), b = strlen(s->id.request_key);

	if (b == 0)
		return 0;
	if (a + 1 + b > sizeof(key))
		return -EINVAL;
	memcpy(key, s->id.scope, a + 1);
	memcpy(key + a + 1, s->id.request_key, b);
	return index_put(m->ix, INDEX_KEYS,
	    (struct index_bytes){key, a + 1 + b},
	    (struct index_bytes){id.b, 8});
}

/* ------------------------------------------------------------------- due */

/* What was to be written of it is not, or otherwise. */
static void
undirty(struct master *m, struct session *s)
{
	if (s->record.dirty) {
		TAILQ_REMOVE(&m->dirty, s, record.link);
		m->dirty_count--;
	} else if (s->record.soon_ns != 0) {
		TAILQ_REMOVE(&m->soon, s, record.link);
	}
	s->record.soon_ns = 0;
}

/* Has its record and slot written at the end of this turn. */
void
session_touch(struct master *m, struct session *s)
{
	row_drop(s);
	if (s->record.dirty || s->over.forgotten)
		return;
	undirty(m, s);
	s->record.dirty = true;
	TAILQ_INSERT_TAIL(&m->dirty, s, record.link);
	m->dirty_count++;
}

/* For the timer of what is written soon: the turn's end does it. */
static void
on_soon(int, short, void *arg)
{
	turn_begin(arg);
}

/* Has its record and slot written a little later. */
void
session_touch_soon(struct master *m, struct session *s)
{
	row_drop(s);
	if (s->record.dirty || s->record.soon_ns != 0 || s->over.forgotten)
		return;
	s->record.soon_ns = clock_boot_ns() + SOON_MS * NSEC_PER_MSEC;
	if (TAILQ_EMPTY(&m->soon))
		timer_in(m, &m->soon_timer, on_soon, m, SOON_MS);
	TAILQ_INSERT_TAIL(&m->soon, s, record.link);
}

/* For whom it is time; arms the timer for the next one. */
static void
look_soon(struct master *m)
{
	struct session *s = TAILQ_FIRST(&m->soon);
	uint64_t now;

	if (s == NULL)
		return;
	now = clock_boot_ns();
	while (s != NULL && s->record.soon_ns <= now) {
		session_touch(m, s);
		s = TAILQ_FIRST(&m->soon);
	}
	if (s != NULL)
		timer_in(m, &m->soon_timer, on_soon, m,
		    (s->record.soon_ns - now) / NSEC_PER_MSEC + 1);
}

/* Counts its start in what this turn writes. */
static void
count_started(struct master *m, struct session *s)
{
	if (s->record.count_started)
		tally_add(m, TALLY_STARTED, 1);
	s->record.count_started = false;
}

void
record_due(struct master *m)
{
	struct session *s;

	look_soon(m);
	TAILQ_FOREACH(s, &m->dirty, record.link)
		count_started(m, s);
}

void
record_committed(struct master *m, struct session *s)
{
	CHECK(s->record.dirty && m->dirty_count > 0);
	undirty(m, s);
	s->record.dirty = s->record.fresh = false;
	s->record.spec_kept = s->record.spec_kept && session_is_before_start(s);
	if (s->state == STATE_QUEUED)
		spec_free(&s->record.spec);
}

void
record_new(struct master *m, struct session *s)
{
	s->record.fresh = true;
	session_touch(m, s);
}

void
record_spec(struct session *s, struct spec *spec)
{
	CHECK(s->record.spec == NULL);
	s->record.spec = spec;
}

void
record_spec_drop(struct session *s)
{
	spec_free(&s->record.spec);
}

void
record_started(struct session *s)
{
	record_spec_drop(s);
	s->record.count_started = true;
}

void
record_gone(struct master *m, struct session *s)
{
	count_started(m, s);
	undirty(m, s);
}
