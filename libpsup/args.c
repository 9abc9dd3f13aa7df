/* SPDX-License-Identifier: MIT */
/*
 * The builder of request arguments, over the codec's encoder. A mistake is
 * remembered and refused by the request that uses the arguments, so that
 * callers check once.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ARGS_LEVELS 13 /* the encoder holds 16; a frame takes 2 of them */

struct psup_args *
psup_args_new(void)
{
	struct psup_args *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	enc_map(&a->enc);
	a->level = 1;
	return a;
}

void
psup_args_free(struct psup_args **a)
{
	if (a == NULL || *a == NULL)
		return;
	if ((*a)->enc.buf != NULL) /* it may hold a command's environment */
		explicit_bzero((*a)->enc.buf, (*a)->enc.len);
	enc_fini(&(*a)->enc);
	free(*a);
	*a = NULL;
}

struct psup_args *
args_copy(const struct psup_args *a)
{
	struct psup_args *ret = malloc(sizeof(*ret));

	if (ret == NULL)
		return NULL;
	*ret = *a;
	ret->enc.cap = a->enc.len;
	ret->enc.buf = malloc(a->enc.len);
	if (ret->enc.buf == NULL)
		psup_args_free(&ret);
	else
		memcpy(ret->enc.buf, a->enc.buf, a->enc.len);
	return ret;
}

/* Notes the first mistake. */
static void
args_mistake(struct psup_args *a, const char *what)
{
	if (a->mistake == NULL)
		a->mistake = what;
}

/* Is a value with this key allowed here? Writes the key. */
static bool
args_key(struct psup_args *a, const char *key)
{
	bool list;

	if (a == NULL || a->mistake != NULL)
		return false;
	list = (a->lists >> a->level) & 1u;
	if (list != (key == NULL)) {
		args_mistake(a, list ? "an item of a list has no key"
		                     : "a value of a map needs a key");
		return false;
	}
	if (key != NULL)
		enc_key(&a->enc, key);
	return true;
}

void
psup_args_nil(struct psup_args *a, const char *key)
{
	if (args_key(a, key))
		enc_nil(&a->enc);
}

void
psup_args_bool(struct psup_args *a, const char *key, bool v)
{
	if (args_key(a, key))
		enc_bool(&a->enc, v);
}

void
psup_args_int(struct psup_args *a, const char *key, int64_t v)
{
	if (args_key(a, key))
		enc_int(&a->enc, v);
}

void
psup_args_num(struct psup_args *a, const char *key, double v)
{
	if (args_key(a, key))
		enc_double(&a->enc, v);
}

void
psup_args_str(struct psup_args *a, const char *key, const char *v)
{
	if (v != NULL)
		psup_args_strn(a, key, v, strlen(v));
}

void
psup_args_strn(struct psup_args *a, const char *key, const char *v, size_t len)
{
	if (len > UINT32_MAX) {
		if (a != NULL)
			args_mistake(a, "a text over 4 GiB");
		return;
	}
	if (args_key(a, key))
		enc_strn(&a->enc, v, len);
}

void
psup_args_bytes(struct psup_args *a, const char *key, const void *v, size_t len)
{
	if (len > UINT32_MAX) {
		if (a != NULL)
			args_mistake(a, "a byte string over 4 GiB");
		return;
	}
	if (args_key(a, key))
		enc_bin(&a->enc, v, len);
}

/* Opens a map or a list. */
static void
args_begin(struct psup_args *a, const char *key, bool list)
{
	if (a != NULL && a->level >= ARGS_LEVELS) {
		a->too_deep = true;
		args_mistake(a, "too many levels of maps and lists");
	}
	if (!args_key(a, key))
		return;
	a->level++;
	if (list) {
		a->lists |= 1u << a->level;
		enc_array(&a->enc);
	} else {
		a->lists &= ~(1u << a->level);
		enc_map(&a->enc);
	}
}

/* Closes one. */
static void
args_end(struct psup_args *a, bool list)
{
	if (a == NULL || a->mistake != NULL)
		return;
	if (a->level <= 1 || ((a->lists >> a->level) & 1u) != list) {
		args_mistake(a, "an end without its begin");
		return;
	}
	a->level--;
	enc_end(&a->enc);
}

void
psup_args_map_begin(struct psup_args *a, const char *key)
{
	args_begin(a, key, false);
}

void
psup_args_map_end(struct psup_args *a)
{
	args_end(a, false);
}

void
psup_args_list_begin(struct psup_args *a, const char *key)
{
	args_begin(a, key, true);
}

void
psup_args_list_end(struct psup_args *a)
{
	args_end(a, true);
}

/* A closed copy of the params, so that the builder can be used again. */
int
args_finish(struct psup *p, const struct psup_args *a, struct enc *ret)
{
	struct enc e = ENC_INIT;

	if (a != NULL && a->too_deep)
		return error_set(p, PSUP_ERR_REFUSED,
		    proto_error_name(PROTO_E_LIMIT), "",
		    "the request is nested more than 12 levels deep");
	if (a != NULL && a->mistake != NULL)
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "arguments: %s", a->mistake);
	if (a != NULL && a->level != 1)
		return error_set(p, PSUP_ERR_USAGE, "usage", "",
		    "arguments: a begin without its end");
	if (a == NULL) {
		enc_map(&e);
	} else if (!a->enc.failed) {
		e = a->enc;
		e.buf = malloc(e.cap);
		if (e.buf == NULL)
			e.failed = true;
		else
			memcpy(e.buf, a->enc.buf, e.len);
	} else {
		e.failed = true;
	}
	if (!e.failed)
		enc_end(&e);
	if (e.failed) {
		enc_fini(&e);
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the arguments");
	}
	*ret = e;
	return PSUP_OK;
}
