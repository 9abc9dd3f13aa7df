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

/* Appends one field; what is empty or 0, if it is to be there `always`. */
static void
field_encode(const struct session *s, const struct field *f, const char *key,
    bool always, struct enc *e)
{
	const char *text = "";
	uint64_t u = 0;
	int64_t i = 0;

	switch (f->kind) {
	case K_STR:
		text = *CAT(s, f, char *) != NULL ? *CAT(s, f, char *) : "";
		if (always || text[0] != '\0')
			enc_kv_str(e, key, text);
		return;
	case K_SLUG:
		enc_kv_str(e, key, CAT(s, f, char));
		return;
	case K_MAP:
		if (CAT(s, f, struct session_map)->p != NULL) {
			enc_key(e, key);
			enc_raw(e, CAT(s, f, struct session_map)->p,
			    CAT(s, f, struct session_map)->bytes);
		}
		return;
	case K_U64:
	case K_U32:
		u = f->kind == K_U64 ? *CAT(s, f, uint64_t)
				     : *CAT(s, f, uint32_t);
		if (always || u != 0)
			enc_kv_uint(e, key, u);
		return;
	case K_I64:
	case K_I32:
		i = f->kind == K_I64 ? *CAT(s, f, int64_t)
				     : *CAT(s, f, int32_t);
		if (always || i != 0)
			enc_kv_int(e, key, i);
		return;
	case K_BOOL:
		if (always || *CAT(s, f, bool))
			enc_kv_bool(e, key, *CAT(s, f, bool));
		return;
	}
	UNREACHABLE();
}

void
fields_encode(const struct session *s, struct enc *e)
{
	for (size_t i = 0; i < NELEMS(fields); i++)
		field_encode(s, &fields[i], fields[i].key, false, e);
}

void
fields_list(const struct session *s, struct enc *e)
{
	for (size_t i = 0; i < NELEMS(fields); i++)
		if (fields[i].list != NULL)
			field_encode(s, &fields[i], fields[i].list,
			    fields[i].always, e);
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
