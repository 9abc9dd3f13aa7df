/* SPDX-License-Identifier: MIT */
/*
 * MessagePack in and out: frames of the wire and records of the index. The
 * only home of msgpack.h.
 *
 * Decoding: a bounded pre-scan walks the bytes first, without allocating: it
 * decides whether a whole object is there, and refuses what breaks a limit.
 * Limits hold over all nesting levels together, so a lying header cannot make
 * anybody allocate. Then the object is built in one arena, freed at once.
 *
 * Encoding: appends to a growing buffer; a map's or array's count is patched
 * in at its end, so nobody counts in advance.
 */
#ifndef PSUP_CODEC_H
#define PSUP_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct codec_limits {
	uint32_t depth;     /* 8 */
	uint32_t map_keys;  /* 1 024 (a params map: 64, checked by proto.c) */
	uint32_t array;     /* 4 096 */
	uint32_t string;    /* 1 MiB, str and bin */
	uint32_t elements;  /* 16 384 in all */
	uint32_t bytes;     /* of one frame: 4 MiB */
};
extern const struct codec_limits codec_limits_default;
/* For what our own server sends and our own index holds: a list of 10 000
 * rows is more than a stranger may send. */
extern const struct codec_limits codec_limits_trusted;

enum val_type { VAL_NIL, VAL_BOOL, VAL_INT, VAL_UINT, VAL_DOUBLE, VAL_STR,
	VAL_BIN, VAL_ARRAY, VAL_MAP };

/* A decoded value. A non-negative integer is VAL_UINT, a negative VAL_INT.
 * Strings are not NUL-terminated and may hold NUL; str values are valid UTF-8
 * only where proto.c says so. */
struct val {
	enum val_type type;
	union {
		bool b;
		int64_t i;
		uint64_t u;
		double d;
		struct {
			const char *ptr;
			size_t len;
		} s; /* STR, BIN: points into the arena */
		struct {
			const struct val *items; /* MAP: key, value, key, ... */
			size_t count;            /* MAP: pairs */
		} a;
	};
};

struct codec_arena; /* what a decoded object lives in */

enum codec_error {
	CODEC_OK = 0,
	CODEC_INCOMPLETE,  /* more bytes are needed (at most limits->bytes) */
	CODEC_TOO_LARGE,   /* frame-too-large */
	CODEC_LIMIT,       /* depth, keys, array, string or elements */
	CODEC_MALFORMED,   /* 0xc1, ext type, duplicate or non-string key */
	CODEC_NOMEM
};

/*
 * Decodes one object from the start of buf. *ret_used: its bytes (also set on
 * CODEC_LIMIT and CODEC_MALFORMED where its end is known, else 0: the
 * connection cannot be resynchronised; never more than size). On
 * CODEC_INCOMPLETE *ret_used > size is a lower bound of the object's bytes:
 * another call before they are there gives the same answer. A frame that
 * breaks a limit is CODEC_INCOMPLETE, too, while its end may still come.
 * `why`: what was found and allowed; it may quote a key, so escape it.
 * The caller frees the arena; values die with it. buf may be reused at once.
 */
enum codec_error codec_decode(const void *buf, size_t size,
    const struct codec_limits *limits, size_t *ret_used,
    struct codec_arena **ret_arena, const struct val **ret_val, char *why,
    size_t why_size);
void codec_arena_free(struct codec_arena **arena);
/* The same where it may hold a secret. */
void codec_arena_wipe(struct codec_arena **arena);

/* The msgid of a frame that begins like a request, [0, msgid, method, ..., for
 * the answer to one that did not decode. */
bool codec_peek_msgid(const void *buf, size_t size, uint64_t *ret_msgid);

/* Access to maps; each tolerates v == NULL and v of another type. */
const struct val *val_get(const struct val *map, const char *key);
bool val_is_str(const struct val *v, const char *text);
/* The value of `key`, or `dflt` where it is absent or of another type. */
uint64_t val_uint(const struct val *map, const char *key, uint64_t dflt);
int64_t val_int(const struct val *map, const char *key, int64_t dflt);
bool val_bool(const struct val *map, const char *key, bool dflt);
double val_num(const struct val *map, const char *key, double dflt);
/* Equal values have equal hashes, so do their parts in `h` before. */
uint64_t val_hash(uint64_t h, const struct val *v);
uint64_t val_hash_bytes(uint64_t h, const void *p, size_t n);
/* A str or bin; ptr NULL where absent. */
struct val_str {
	const char *ptr;
	size_t len;
};
struct val_str val_str(const struct val *map, const char *key);
/* Copies a str, NUL-terminated and cut to size; "" where absent. Returns the
 * full length. */
size_t val_copy(const struct val *map, const char *key, char *buf, size_t size);

/* ---------------------------------------------------------------- encode */

struct enc {
	char *buf;
	size_t len, cap;
	bool failed; /* out of memory: everything after it was dropped */
	uint32_t depth;
	struct {
		size_t at;      /* of the 32-bit count */
		uint32_t count;
		bool map;
	} open[16];
};

#define ENC_INIT {0}
void enc_fini(struct enc *e);
void enc_reset(struct enc *e); /* empties it, keeps the memory */

/* In a map: enc_key before each value, or the _kv forms. */
void enc_map(struct enc *e);
void enc_array(struct enc *e);
void enc_end(struct enc *e);
void enc_keyn(struct enc *e, const char *key, size_t n);
/* Inline, for the length of a key that is a literal is known. */
static inline void
enc_key(struct enc *e, const char *key)
{
	enc_keyn(e, key, strlen(key));
}
void enc_nil(struct enc *e);
void enc_bool(struct enc *e, bool v);
void enc_int(struct enc *e, int64_t v);
void enc_uint(struct enc *e, uint64_t v);
void enc_double(struct enc *e, double v);
void enc_strn(struct enc *e, const char *s, size_t n);
void enc_str(struct enc *e, const char *s);
/* A str that is put together in pieces: each is written to enc_room(), which has
 * room for n bytes or is NULL, and counts by enc_add(). */
void enc_str_begin(struct enc *e);
char *enc_room(struct enc *e, size_t n);
void enc_add(struct enc *e, size_t n);
void enc_str_end(struct enc *e);
void enc_bin(struct enc *e, const void *p, size_t n);
void enc_val(struct enc *e, const struct val *v);
/* Appends one already encoded object. */
void enc_raw(struct enc *e, const void *p, size_t n);

static inline void
enc_kv_str(struct enc *e, const char *key, const char *s)
{
	enc_key(e, key);
	enc_str(e, s);
}
static inline void
enc_kv_strn(struct enc *e, const char *key, const char *s, size_t n)
{
	enc_key(e, key);
	enc_strn(e, s, n);
}
static inline void
enc_kv_int(struct enc *e, const char *key, int64_t v)
{
	enc_key(e, key);
	enc_int(e, v);
}
static inline void
enc_kv_uint(struct enc *e, const char *key, uint64_t v)
{
	enc_key(e, key);
	enc_uint(e, v);
}
static inline void
enc_kv_bool(struct enc *e, const char *key, bool v)
{
	enc_key(e, key);
	enc_bool(e, v);
}
static inline void
enc_kv_map(struct enc *e, const char *key)
{
	enc_key(e, key);
	enc_map(e);
}
static inline void
enc_kv_array(struct enc *e, const char *key)
{
	enc_key(e, key);
	enc_array(e);
}
static inline void
enc_kv_nil(struct enc *e, const char *key)
{
	enc_key(e, key);
	enc_nil(e);
}

#endif
