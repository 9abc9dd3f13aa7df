/* SPDX-License-Identifier: MIT */
/*
 * The rows of session.def, as a record of the index and a row of list have
 * them.
 */
#include "supervisor/session/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

enum kind { K_STR, K_SLUG, K_MAP, K_U64, K_I64, K_U32, K_I32, K_BOOL };

#define UNSHOWN            NULL, false
#define ALWAYS(key, doc)   key, true
#define IF_SET(key, doc)   key, false

static const struct field {
	enum kind kind;
	size_t at;       /* in a session */
	const char *key; /* of the record */
	const char *list; /* of a row of list; NULL: not shown as it is */
	bool always;      /* ... also where it is empty */
} fields[] = {
#define KEPT(kind, path, key, ...) \
	{K_##kind, offsetof(struct session, path), key, __VA_ARGS__},
#include "supervisor/session/session.def"
};

/* The place of a field in a session. */
#define AT(s, f, type) ((type *)(void *)((char *)(s) + (f)->at))
#define CAT(s, f, type) \
	((type const *)(const void *)((const char *)(s) + (f)->at))

/* Nothing is to be said of it: most fields of most sessions. */
static inline bool
is_empty(const struct session *s, const struct field *f)
{
	switch (f->kind) {
	case K_STR:
		return *CAT(s, f, char *) == NULL ||
		    (*CAT(s, f, char *))[0] == '\0';
	case K_SLUG:
		return false;
	case K_MAP:
		return CAT(s, f, struct session_map)->p == NULL;
	case K_U64:
	case K_I64:
		return *CAT(s, f, uint64_t) == 0;
	case K_U32:
	case K_I32:
		return *CAT(s, f, uint32_t) == 0;
	case K_BOOL:
		return !*CAT(s, f, bool);
	}
	UNREACHABLE();
}

/* Appends one field. */
static void
field_encode(const struct session *s, const struct field *f, const char *key,
    struct enc *e)
{
	const char *text;

	enc_key(e, key);
	switch (f->kind) {
	case K_STR:
		text = *CAT(s, f, char *);
		enc_str(e, text != NULL ? text : "");
		return;
	case K_SLUG:
		enc_str(e, CAT(s, f, char));
		return;
	case K_MAP:
		enc_raw(e, CAT(s, f, struct session_map)->p,
		    CAT(s, f, struct session_map)->bytes);
		return;
	case K_U64:
		enc_uint(e, *CAT(s, f, uint64_t));
		return;
	case K_U32:
		enc_uint(e, *CAT(s, f, uint32_t));
		return;
	case K_I64:
		enc_int(e, *CAT(s, f, int64_t));
		return;
	case K_I32:
		enc_int(e, *CAT(s, f, int32_t));
		return;
	case K_BOOL:
		enc_bool(e, *CAT(s, f, bool));
		return;
	}
	UNREACHABLE();
}

void
fields_encode(const struct session *s, struct enc *e)
{
	for (size_t i = 0; i < NELEMS(fields); i++)
		if (!is_empty(s, &fields[i]))
			field_encode(s, &fields[i], fields[i].key, e);
}

void
fields_list(const struct session *s, struct enc *e)
{
	for (size_t i = 0; i < NELEMS(fields); i++)
		if (fields[i].list != NULL &&
		    (fields[i].always || !is_empty(s, &fields[i])))
			field_encode(s, &fields[i], fields[i].list, e);
}

/* A copy of a str of the map; "" where absent. NULL: no memory. */
static char *
copy_str(const struct val *map, const char *key)
{
	struct val_str v = val_str(map, key);

	return strndup(v.ptr != NULL ? v.ptr : "", v.len);
}

int
fields_map(const struct val *map, struct session_map *ret)
{
	struct enc e = ENC_INIT;

	if (map == NULL || map->type != VAL_MAP || map->a.count == 0)
		return 0;
	enc_val(&e, map);
	if (e.failed) {
		enc_fini(&e);
		return -ENOMEM;
	}
	*ret = (struct session_map){e.buf, e.len};
	return 0;
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
	case K_SLUG:
		val_copy(map, f->key, AT(s, f, char), SLUG_MAX);
		return 0;
	case K_MAP:
		return fields_map(val_get(map, f->key),
		    AT(s, f, struct session_map));
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

int
fields_decode(struct session *s, const struct val *map)
{
	for (size_t i = 0; i < NELEMS(fields); i++)
		if (field_decode(s, &fields[i], map) < 0)
			return -ENOMEM;
	return 0;
}

void
fields_free(struct session *s)
{
	for (size_t i = 0; i < NELEMS(fields); i++)
		if (fields[i].kind == K_STR)
			free(*AT(s, &fields[i], char *));
		else if (fields[i].kind == K_MAP)
			free(AT(s, &fields[i], struct session_map)->p);
}
