/* SPDX-License-Identifier: MIT */
/*
 * A session as the index holds it: one msgpack map with a schema version `v`,
 * from one table of fields. The spec (argv, environment, directory) is a
 * record of its own, gone once the command runs. What does not decode is the
 * caller's to count and skip.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/abi.h"
#include "common/check.h"
#include "supervisor/master.h"

enum kind { K_STR, K_U64, K_I64, K_U32, K_I32, K_BOOL };

/* Every field that survives the master: its key, its kind, its place. */
static const struct field {
	const char *key;
	enum kind kind;
	size_t at;
} fields[] = {
#define F(key, kind, member) {key, kind, offsetof(struct session, member)}
    F("inc", K_U64, id.incarnation),
    F("scope", K_STR, id.scope),
    F("cmd", K_STR, wish.command),
    F("name", K_STR, id.name),
    F("cwd", K_STR, wish.cwd),
    F("label", K_STR, id.label),
    F("skey", K_STR, id.session_key),
    F("rkey", K_STR, id.request_key),
    F("lane", K_STR, wish.lane),
    F("prio", K_I32, wish.priority),
    F("lseq", K_U64, place.lane_seq),
    F("created", K_U64, id.created_ms),
    F("tmo", K_U64, wish.timeout_ms),
    F("ntmo", K_U64, wish.no_output_timeout_ms),
    F("ttl", K_U64, wish.ttl_ms),
    F("hbytes", K_U32, wish.head_bytes),
    F("tbytes", K_U32, wish.tail_bytes),
    F("spath", K_STR, wish.spill_path),
    F("smax", K_U64, wish.spill_max),
    F("grace", K_U32, wish.grace_ms),
    F("pty", K_BOOL, terminal.pty),
    F("cols", K_U32, terminal.cols),
    F("rows", K_U32, terminal.rows),
    F("ptyeof", K_U32, terminal.pty_eof),
    F("line", K_U64, terminal.line_at),
    F("ptyerr", K_I32, terminal.pty_error),
    F("pipe", K_BOOL, wish.stdin_pipe),
    F("stream", K_BOOL, wish.stream),
    F("state", K_U32, state),
    F("status", K_U32, facts.status),
    F("reason", K_U32, facts.reason),
    F("pid", K_I32, facts.pid),
    F("code", K_I32, facts.exit_code),
    F("sig", K_I32, facts.exit_signal),
    F("err", K_I32, facts.error),
    F("stage", K_U32, facts.stage),
    F("hung", K_STR, facts.hung_at),
    F("try", K_U32, custody.attempt),
    F("ftry", K_U32, custody.failed_starts),
    F("dtry", K_U32, custody.deadly_starts),
    F("holders", K_U32, facts.holders),
    F("lmask", K_U32, wish.limits.mask),
    F("lim0", K_I64, wish.limits.value[0]),
    F("lim1", K_I64, wish.limits.value[1]),
    F("lim2", K_I64, wish.limits.value[2]),
    F("lim3", K_I64, wish.limits.value[3]),
    F("lim4", K_I64, wish.limits.value[4]),
    F("lim5", K_I64, wish.limits.value[5]),
    F("left", K_U32, facts.remaining),
    F("leaf", K_BOOL, facts.in_leaf),
    F("rss", K_U32, facts.maxrss_kib),
    F("ut", K_U64, facts.utime_us),
    F("st", K_U64, facts.stime_us),
    F("io", K_U64, facts.io_blocks),
    F("started", K_U64, facts.started_ms),
    F("ended", K_U64, facts.ended_ms),
    F("dur", K_U64, facts.duration_ms),
    F("deadline", K_U64, deadline.at_ms),
    F("total", K_U64, output.total),
    F("nospace", K_U64, output.dropped_nospace),
    F("ring", K_U64, output.ring_bytes),
    F("bg", K_BOOL, shown.backgrounded),
    F("notify", K_BOOL, wish.notify),
    F("nempty", K_BOOL, wish.notify_empty),
    F("notified", K_BOOL, shown.exit_notified),
    F("hidden", K_BOOL, shown.hidden),
    F("warned", K_BOOL, deadline.warned),
    F("read", K_BOOL, retention.read),
    F("sbytes", K_U32, share.spec_bytes),
    F("answered", K_BOOL, shown.answered),
    F("spool", K_U64, input.spool_end),
    F("eof", K_BOOL, input.spool_eof),
    F("forced", K_U32, ending.forced),
    F("parent", K_U64, id.parent.v),
    F("lstale", K_BOOL, place.lane_stale),
    F("lwarned", K_BOOL, queued.warned),
    F("wslot", K_U32, custody.worker.slot),
    F("wgen", K_U32, custody.worker.generation),
    F("given", K_BOOL, custody.has_worker),
    F("unsure", K_U64, terminal.uncertain),
    F("hlist", K_STR, facts.holder_list),
    F("lms", K_U64, facts.ladder_ms),
    F("lkill", K_BOOL, facts.killed),
    F("fsig", K_I32, ending.signal),
    F("fgrace", K_U32, ending.grace_ms),
#undef F
};

/* The place of a field in a session. */
#define AT(s, f, type) ((type *)(void *)((char *)(s) + (f)->at))
#define CAT(s, f, type) \
	((type const *)(const void *)((const char *)(s) + (f)->at))

/* Appends one field; what is empty or 0 is left out. */
static void
field_encode(const struct session *s, const struct field *f, struct enc *e)
{
	switch (f->kind) {
	case K_STR: {
		const char *v = *CAT(s, f, char *);

		if (v != NULL && v[0] != '\0')
			enc_kv_str(e, f->key, v);
		break;
	}
	case K_U64:
		if (*CAT(s, f, uint64_t) != 0)
			enc_kv_uint(e, f->key, *CAT(s, f, uint64_t));
		break;
	case K_I64:
		if (*CAT(s, f, int64_t) != 0)
			enc_kv_int(e, f->key, *CAT(s, f, int64_t));
		break;
	case K_U32:
		if (*CAT(s, f, uint32_t) != 0)
			enc_kv_uint(e, f->key, *CAT(s, f, uint32_t));
		break;
	case K_I32:
		if (*CAT(s, f, int32_t) != 0)
			enc_kv_int(e, f->key, *CAT(s, f, int32_t));
		break;
	case K_BOOL:
		if (*CAT(s, f, bool))
			enc_kv_bool(e, f->key, true);
		break;
	}
}

/* Appends the whole record. */
void
record_encode(const struct session *s, struct enc *e)
{
	enc_map(e);
	enc_kv_uint(e, "v", abi_table[ABI_INDEX].version);
	enc_kv_uint(e, "sid", s->id.sid.v);
	enc_kv_str(e, "slug", s->id.slug);
#if defined(PSUP_LAYOUT_BUMP) && PSUP_LAYOUT_BUMP == 1
	/* in a test of upgrades the next build has one more field */
	enc_kv_uint(e, "next", s->id.sid.v);
#endif
	for (size_t i = 0; i < NELEMS(fields); i++)
		field_encode(s, &fields[i], e);
	if (s->id.tags != NULL) {
		enc_key(e, "tags");
		enc_raw(e, s->id.tags, s->id.tags_bytes);
	}
	enc_end(e);
}

/* A copy of a str of the map; "" where absent. NULL: no memory. */
static char *
copy_str(const struct val *map, const char *key)
{
	struct val_str v = val_str(map, key);

	return strndup(v.ptr != NULL ? v.ptr : "", v.len);
}

/* gcc 12 loses what is stored at an offset into a struct. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* Takes one field from the map. */
static int
field_decode(struct session *s, const struct field *f, const struct val *map)
{
	char *text;

	switch (f->kind) {
	case K_STR:
		text = copy_str(map, f->key);
		*AT(s, f, char *) = text;
		return text != NULL ? 0 : -ENOMEM;
	case K_U64:
		*AT(s, f, uint64_t) = val_uint(map, f->key, 0);
		return 0;
	case K_I64:
		*AT(s, f, int64_t) = val_int(map, f->key, 0);
		return 0;
	case K_U32:
		*AT(s, f, uint32_t) = (uint32_t)val_uint(map, f->key, 0);
		return 0;
	case K_I32:
		*AT(s, f, int32_t) = (int32_t)val_int(map, f->key, 0);
		return 0;
	case K_BOOL:
		*AT(s, f, bool) = val_bool(map, f->key, false);
		return 0;
	}
	UNREACHABLE();
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* Keeps the tags as they are encoded. */
static int
tags_decode(struct session *s, const struct val *tags)
{
	struct enc e = ENC_INIT;

	if (tags == NULL || tags->type != VAL_MAP)
		return 0;
	enc_val(&e, tags);
	if (e.failed) {
		enc_fini(&e);
		return -ENOMEM;
	}
	s->id.tags = e.buf;
	s->id.tags_bytes = e.len;
	return 0;
}

/* Fills a session from a decoded map. */
static int
record_fill(struct session *s, const struct val *map)
{
	if (!abi_record_ok(val_uint(map, "v", 0)))
		return -EPROTO;
	s->id.sid.v = val_uint(map, "sid", 0);
	val_copy(map, "slug", s->id.slug, sizeof(s->id.slug));
	for (size_t i = 0; i < NELEMS(fields); i++)
		if (field_decode(s, &fields[i], map) < 0)
			return -ENOMEM;
	if (s->id.sid.v == 0 ||
	    !slug_is_valid(s->id.slug, strlen(s->id.slug)) ||
	    s->state == STATE_FREE || s->state >= STATE_COUNT ||
	    s->wish.limits.mask >= 1u << CTL_LIMITS ||
	    s->facts.status >= STATUS_COUNT || s->facts.reason >= END_REASONS)
		return -EBADMSG;
	if (s->wish.spill_path[0] == '\0' ||
	    s->wish.spill_max > RETAIN_SPILL_MAX)
		s->wish.spill_max = 0;
	return tags_decode(s, val_get(map, "tags"));
}

/* A session from its record; NULL: errno is ENOMEM, or it is damaged. */
struct session *
record_decode(const void *data, size_t size)
{
	struct codec_arena *arena = NULL;
	const struct val *map;
	struct session *s;
	char why[128];
	enum codec_error err;
	size_t used;
	int r = -ENOMEM;

	err = codec_decode(data, size, &codec_limits_trusted, &used, &arena,
	    &map, why, sizeof(why));
	if (err != CODEC_OK) {
		errno = err == CODEC_NOMEM ? ENOMEM : EBADMSG;
		return NULL;
	}
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

/* Puts what `e` holds under the session's id; `last`: it has to go in. */
static int
put_by_sid(struct master *m, enum index_db db, struct sid sid, struct enc *e,
    bool last)
{
	struct index_key64 id = index_key64(sid.v);
	int r = -ENOMEM;

	if (!e->failed)
		r = (last ? index_put_last : index_put)(m->ix, db,
		    (struct index_bytes){id.b, 8},
		    (struct index_bytes){e->buf, e->len});
	enc_fini(e);
	return r;
}

/* Writes the session's record into the open transaction. */
int
record_write(struct master *m, struct session *s)
{
	struct enc e = ENC_INIT;

	record_encode(s, &e);
	return put_by_sid(m, INDEX_SESSIONS, s->id.sid, &e, !s->record.fresh);
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
	return put_by_sid(m, INDEX_SPECS, s->id.sid, &e, false);
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
