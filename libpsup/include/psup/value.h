/* SPDX-License-Identifier: MIT */
/*
 * Values that a server answered with, and the arguments of a request.
 *
 * A psup_value belongs to the psup_reply it was found in and dies with it.
 * Every reader takes NULL and values of another type: it then says what is
 * absent (NULL, 0, the default given), so chains of readers need no checks.
 */
#ifndef PSUP_VALUE_H
#define PSUP_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PSUP_API
#define PSUP_API __attribute__((visibility("default")))
#endif

typedef struct psup_value psup_value;
typedef struct psup_reply psup_reply;
typedef struct psup_args psup_args;

enum psup_type {
	PSUP_NIL,
	PSUP_BOOL,
	PSUP_INT,
	PSUP_DOUBLE,
	PSUP_STR,   /* text; not NUL-terminated */
	PSUP_BYTES, /* any bytes */
	PSUP_ARRAY,
	PSUP_MAP
};

/* ---------------------------------------------------------------- reading */

/* NULL is PSUP_NIL. */
PSUP_API enum psup_type psup_value_type(const psup_value *v);

/* The value of `key` in a map; NULL where there is none. */
PSUP_API const psup_value *psup_value_get(const psup_value *map,
    const char *key);

/* Items of an array, pairs of a map, 0 of anything else. */
PSUP_API size_t psup_value_count(const psup_value *v);

/* Item i of an array, value i of a map; NULL beyond the last. */
PSUP_API const psup_value *psup_value_at(const psup_value *v, size_t i);

/* Key i of a map, with its length; NULL beyond the last. */
PSUP_API const char *psup_value_key(const psup_value *map, size_t i,
    size_t *ret_len);

PSUP_API bool psup_value_bool(const psup_value *v, bool dflt);

/* An integer; a double is cut to one; what does not fit is INT64_MIN or
 * INT64_MAX. */
PSUP_API int64_t psup_value_int(const psup_value *v, int64_t dflt);

/* A double, or an integer as one. */
PSUP_API double psup_value_double(const psup_value *v, double dflt);

/* The bytes of a PSUP_STR or PSUP_BYTES; NULL (and length 0) otherwise. */
PSUP_API const char *psup_value_str(const psup_value *v, size_t *ret_len);

/* The same four by key. */
PSUP_API bool psup_get_bool(const psup_value *map, const char *key, bool dflt);
PSUP_API int64_t psup_get_int(const psup_value *map, const char *key,
    int64_t dflt);
PSUP_API double psup_get_double(const psup_value *map, const char *key,
    double dflt);
PSUP_API const char *psup_get_str(const psup_value *map, const char *key,
    size_t *ret_len);

/* Copies a text, NUL-terminated and cut to `size`; "" where absent. Returns
 * its full length. */
PSUP_API size_t psup_get_copy(const psup_value *map, const char *key,
    char *buf, size_t size);

/* Is the value of `key` exactly this text? */
PSUP_API bool psup_get_is(const psup_value *map, const char *key,
    const char *text);

/* ---------------------------------------------------------------- replies */

/* The result, never NULL. Lives until psup_reply_free(). */
PSUP_API const psup_value *psup_reply_value(const psup_reply *r);

/* The parts of what a tool method answers: {text, details, isError}. */
PSUP_API const char *psup_reply_text(const psup_reply *r, size_t *ret_len);
PSUP_API const psup_value *psup_reply_details(const psup_reply *r);
PSUP_API bool psup_reply_is_error(const psup_reply *r);

/* *r may be NULL; it is afterwards. */
PSUP_API void psup_reply_free(psup_reply **r);

/* -------------------------------------------------------------- arguments */

/*
 * Builds the params of one request. Inside a map every value has a key, inside
 * a list key is NULL. A mistake (key missing, end without begin, more than 12
 * levels) or want of memory is remembered and refused by the request that uses
 * the arguments. Everything is copied.
 *
 *     psup_args *a = psup_args_new();
 *     psup_args_str(a, "command", "make");
 *     psup_args_map_begin(a, "env");
 *     psup_args_str(a, "CC", "clang");
 *     psup_args_map_end(a);
 */
PSUP_API psup_args *psup_args_new(void); /* NULL: no memory */
PSUP_API void psup_args_free(psup_args **a);

PSUP_API void psup_args_nil(psup_args *a, const char *key);
PSUP_API void psup_args_bool(psup_args *a, const char *key, bool v);
PSUP_API void psup_args_int(psup_args *a, const char *key, int64_t v);
PSUP_API void psup_args_num(psup_args *a, const char *key, double v);
/* v NULL: not given, and nothing is added. */
PSUP_API void psup_args_str(psup_args *a, const char *key, const char *v);
PSUP_API void psup_args_strn(psup_args *a, const char *key, const char *v,
    size_t len);
PSUP_API void psup_args_bytes(psup_args *a, const char *key, const void *v,
    size_t len);
PSUP_API void psup_args_map_begin(psup_args *a, const char *key);
PSUP_API void psup_args_map_end(psup_args *a);
PSUP_API void psup_args_list_begin(psup_args *a, const char *key);
PSUP_API void psup_args_list_end(psup_args *a);

#ifdef __cplusplus
}
#endif

#endif
