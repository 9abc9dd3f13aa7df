/* SPDX-License-Identifier: MIT */
/*
 * Are these the parameters that a method's rows describe? Used by the server
 * on what it received and by libpsup before it sends. Only forms and ranges:
 * what a parameter means, and which go together, its handler knows.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "check.h"
#include "proto_problem.h"
#include "text.h"

#define PARAMS_MAX 64

/* What clients of other tools call it. */
static const struct {
	const char *said, *meant;
	bool wrong;
} slips[] = {
#define SLIP(said, meant, wrong) { said, meant, wrong },
#include "proto.def"
};

/* What of a value is checked, and where to complain. */
struct checking {
	enum proto_method method;
	const struct proto_param *row;
	struct proto_problem *problem;
};

/* What a row wants, in words. */
static void
expect(const struct proto_param *row, char *dst, size_t size)
{
	long long min = (long long)row->min, max = (long long)row->max;

	if (proto_words(row) != NULL) {
		proto_words_list(proto_words(row), dst, size);
		return;
	}
	switch (row->type) {
	case PT_STR:
		(void)snprintf(dst, size, "UTF-8 text of %lld to %lld bytes "
		    "without %s", min, max,
		    row->printable ? "control characters" : "NUL");
		break;
	case PT_DATA:
		(void)snprintf(dst, size, "a string or binary data of %lld to "
		    "%lld bytes", min, max);
		break;
	case PT_INT:
		(void)snprintf(dst, size, "an integer from %lld to %lld%s",
		    min, max, row->nullable ? ", or nil" : "");
		break;
	case PT_NUM:
		(void)snprintf(dst, size, "a number of seconds from %lld to "
		    "%lld%s", min, max, row->nullable ? ", or nil" : "");
		break;
	case PT_BOOL:
		(void)snprintf(dst, size, "true or false");
		break;
	case PT_STRMAP:
		(void)snprintf(dst, size, "a map of at most %lld names to "
		    "strings without %s", max,
		    row->printable ? "control characters" : "NUL");
		break;
	case PT_STRLIST:
		(void)snprintf(dst, size, "an array of %lld to %lld strings "
		    "without NUL", min, max);
		break;
	case PT_OBJECT:
		(void)snprintf(dst, size, "a map");
		break;
	case PT_STREAM:
		(void)snprintf(dst, size, "true, false or \"tail\"");
		break;
	case PT_SIGNAL:
		(void)snprintf(dst, size, "a signal's name, or its number from "
		    "%lld to %lld", min, max);
		break;
	case PT_STDIN:
		(void)snprintf(dst, size, "\"open\", \"closed\", or "
		    "{text: a string of at most %lld bytes}", max);
		break;
	}
}

/* The complaint about one value, or about a part of it named `inner`. */
static int
complain(const struct checking *c, enum proto_error code, const char *inner,
    const struct val *v)
{
	struct proto_problem *p = c->problem;
	char value[80], expected[160];

	if (c->row->secret)
		(void)snprintf(value, sizeof(value), "not shown");
	else
		proto_show(v, value, sizeof(value));
	expect(c->row, expected, sizeof(expected));
	if (code == PROTO_E_TOO_BIG)
		(void)snprintf(expected, sizeof(expected),
		    "at most %d bytes, execve takes no more", PROTO_ARG_MAX);
	proto_problem_set(p, code, c->row->name,
	    "%s: parameter \"%s\"%s is %s (%s%s); expected %s",
	    proto_method_name(c->method), c->row->name, inner, value,
	    proto_type_name(v->type),
	    code == PROTO_E_TOO_BIG ? ", too long" : "", expected);
	(void)snprintf(p->value, sizeof(p->value), "%s", value);
	(void)snprintf(p->expected, sizeof(p->expected), "%s", expected);
	return -EINVAL;
}

/* Text as a program can take it. */
static bool
is_text(const struct val *v, bool any_bytes)
{
	/* The analyzer thinks that an array of items may be none. */
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	if (v->type != VAL_STR && !(any_bytes && v->type == VAL_BIN))
		return false;
	if (memchr(v->s.ptr, 0, v->s.len) != NULL)
		return false;
	return any_bytes || text_is_utf8(v->s.ptr, v->s.len);
}

/* Is it one of "a|b|c"? */
static bool
is_word(const struct val *v, const char *all)
{
	size_t len;

	for (; *all != '\0'; all += len + (all[len] != '\0')) {
		len = strcspn(all, "|");
		if (v->s.len == len && memcmp(v->s.ptr, all, len) == 0)
			return true;
	}
	return false;
}

/* Text with a length; what execve cannot take has an error of its own. */
static int
check_text(const struct checking *c, const struct val *v)
{
	const struct proto_param *row = c->row;

	const char *words = proto_words(row);

	if (!is_text(v, false) || (double)v->s.len < row->min ||
	    (words != NULL && !is_word(v, words)) ||
	    (row->printable && !text_is_printable(v->s.ptr, v->s.len)))
		return complain(c, PROTO_E_INVALID_PARAMS, "", v);
	if ((double)v->s.len > row->max)
		return complain(c, v->s.len > PROTO_ARG_MAX ?
		    PROTO_E_TOO_BIG : PROTO_E_INVALID_PARAMS, "", v);
	return 0;
}

/* Beyond 2^53 there are no fractions. */
static bool
is_whole(double d)
{
	return d >= 9007199254740992.0 || d <= -9007199254740992.0 ||
	    !((double)(int64_t)d < d || (double)(int64_t)d > d);
}

/* INT and NUM. A clamped one may lie anywhere, but must be a number. */
static int
check_number(const struct checking *c, const struct val *v)
{
	const struct proto_param *row = c->row;
	double d;

	if (v->type == VAL_UINT)
		d = (double)v->u;
	else if (v->type == VAL_INT)
		d = (double)v->i;
	else if (v->type == VAL_DOUBLE && isfinite(v->d) &&
	    (row->type == PT_NUM || is_whole(v->d)))
		d = v->d;
	else
		return complain(c, PROTO_E_INVALID_PARAMS, "", v);
	if (!row->clamp && (d < row->min || d > row->max))
		return complain(c, PROTO_E_INVALID_PARAMS, "", v);
	return 0;
}

/* A key, or what stands there. */
static bool
is_item(const struct proto_param *row, const struct val *v, bool any_bytes)
{
	return is_text(v, any_bytes) &&
	    (!row->printable || text_is_printable(v->s.ptr, v->s.len));
}

/* One argument, or one variable's key and value. */
static int
check_item(const struct checking *c, const struct val *key,
    const struct val *v, size_t index)
{
	char inner[80], name[64];
	bool text = is_item(c->row, v, c->row->any_bytes) &&
	    (key == NULL || (is_item(c->row, key, false) && key->s.len > 0));

	if (text && v->s.len + (key != NULL ? key->s.len + 1 : 0) <=
		PROTO_ARG_MAX)
		return 0;
	if (key != NULL) {
		(void)text_escape(key->s.ptr, key->s.len, false, name,
		    sizeof(name));
		(void)snprintf(inner, sizeof(inner), " key \"%s\"", name);
	} else {
		(void)snprintf(inner, sizeof(inner), " item %zu", index);
	}
	(void)complain(c, text ? PROTO_E_TOO_BIG : PROTO_E_INVALID_PARAMS,
	    inner, v);
	if (key != NULL)
		proto_append(c->problem->field, sizeof(c->problem->field),
		    ".%s", name);
	return -EINVAL;
}

/* STRMAP and STRLIST. */
static int
check_items(const struct checking *c, const struct val *v)
{
	bool map = c->row->type == PT_STRMAP;
	int error = 0;
	size_t i;

	if (v->type != (map ? VAL_MAP : VAL_ARRAY) ||
	    (double)v->a.count < c->row->min ||
	    (double)v->a.count > c->row->max)
		return complain(c, PROTO_E_INVALID_PARAMS, "", v);
	for (i = 0; i < v->a.count && error == 0; i++)
		error = map ? check_item(c, &v->a.items[2 * i],
		    &v->a.items[2 * i + 1], i) :
		    check_item(c, NULL, &v->a.items[i], i);
	return error;
}

/* "open", "closed", {text}. */
static int
check_stdin(const struct checking *c, const struct val *v)
{
	const struct val *text = val_get(v, "text");

	if (val_is_str(v, "open") || val_is_str(v, "closed"))
		return 0;
	if (text == NULL || v->a.count != 1 ||
	    (text->type != VAL_STR && text->type != VAL_BIN) ||
	    (double)text->s.len > c->row->max)
		return complain(c, PROTO_E_INVALID_PARAMS, "", v);
	return 0;
}

/* One value against its row. */
static int
check_value(const struct checking *c, const struct val *v)
{
	bool ok = true;

	if (v->type == VAL_NIL && c->row->nullable)
		return 0;
	switch (c->row->type) {
	case PT_STR:
		return check_text(c, v);
	case PT_INT:
	case PT_NUM:
		return check_number(c, v);
	case PT_STRMAP:
	case PT_STRLIST:
		return check_items(c, v);
	case PT_STDIN:
		return check_stdin(c, v);
	case PT_SIGNAL: /* its handler knows the names */
		ok = v->type == VAL_UINT
		    ? (double)v->u >= c->row->min &&
			(double)v->u <= c->row->max
		    : is_text(v, false) && v->s.len > 0 && v->s.len <= 16;
		break;
	case PT_DATA:
		ok = (v->type == VAL_STR || v->type == VAL_BIN) &&
		    (double)v->s.len >= c->row->min &&
		    (double)v->s.len <= c->row->max;
		break;
	case PT_BOOL:
		ok = v->type == VAL_BOOL;
		break;
	case PT_STREAM:
		ok = v->type == VAL_BOOL || val_is_str(v, "tail");
		break;
	case PT_OBJECT:
		ok = v->type == VAL_MAP;
		break;
	}
	return ok ? 0 : complain(c, PROTO_E_INVALID_PARAMS, "", v);
}

/* The row of a method's parameter, or NULL. */
static const struct proto_param *
find_row(enum proto_method m, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < proto_param_count; i++) {
		if (proto_params[i].method == m &&
		    strlen(proto_params[i].name) == len &&
		    memcmp(proto_params[i].name, name, len) == 0)
			return &proto_params[i];
	}
	return NULL;
}

const struct proto_param *
proto_hint(enum proto_method m, const char *name, bool *ret_wrong)
{
	const struct proto_param *row;
	size_t i;

	if (ret_wrong != NULL)
		*ret_wrong = true;
	for (i = 0; i < proto_param_count; i++) {
		if (proto_params[i].method == m &&
		    strcasecmp(proto_params[i].name, name) == 0)
			return &proto_params[i];
	}
	for (i = 0; i < NELEMS(slips); i++) {
		row = strcasecmp(slips[i].said, name) != 0 ? NULL
		    : find_row(m, slips[i].meant, strlen(slips[i].meant));
		if (row == NULL)
			continue;
		if (ret_wrong != NULL)
			*ret_wrong = slips[i].wrong;
		return row;
	}
	return NULL;
}

/* A parameter that the method does not have. */
static int
complain_unknown(enum proto_method m, const struct val *key,
    struct proto_problem *ret)
{
	const struct proto_param *row;
	char name[64], all[320] = "";
	const char *hint;
	size_t i;

	(void)text_escape(key->s.ptr, key->s.len, false, name, sizeof(name));
	for (i = 0; i < proto_param_count; i++) {
		if (proto_params[i].method == m)
			proto_append(all, sizeof(all), "%s%s",
			    all[0] != '\0' ? ", " : "", proto_params[i].name);
	}
	row = proto_hint(m, name, NULL);
	hint = row != NULL ? row->name : NULL;
	proto_problem_set(ret, PROTO_E_INVALID_PARAMS, name,
	    "%s: unknown parameter \"%s\"%s%s%s; expected %s%s",
	    proto_method_name(m), name,
	    hint != NULL ? ", did you mean \"" : "", hint != NULL ? hint : "",
	    hint != NULL ? "\"?" : "", all[0] != '\0' ? "one of " : "none",
	    all);
	(void)strlcpy(ret->expected, hint != NULL ? hint : all,
	    sizeof(ret->expected));
	return -EINVAL;
}

/* Is everything there that must be? */
static int
check_required(enum proto_method m, const struct val *map,
    struct proto_problem *ret)
{
	char expected[160];
	size_t i;

	for (i = 0; i < proto_param_count; i++) {
		const struct proto_param *row = &proto_params[i];

		if (row->method != m || !row->required ||
		    val_get(map, row->name) != NULL)
			continue;
		expect(row, expected, sizeof(expected));
		proto_problem_set(ret, PROTO_E_INVALID_PARAMS, row->name,
		    "%s: parameter \"%s\" is missing; expected %s",
		    proto_method_name(m), row->name, expected);
		(void)snprintf(ret->expected, sizeof(ret->expected), "%s",
		    expected);
		return -EINVAL;
	}
	return 0;
}

int
proto_check(enum proto_method m, const struct val *params,
    struct proto_problem *ret)
{
	struct checking c = { .method = m, .problem = ret };
	const struct val *map = proto_params_map(params);
	size_t i;
	int error;

	if (map == NULL || map->a.count > PARAMS_MAX)
		return proto_problem_set(ret, PROTO_E_INVALID_PARAMS, "params",
		    map == NULL ? "%s: params are %s; expected a map, or an "
		    "array of one map" : "%s: params are %s of more than 64 "
		    "keys; expected at most 64", proto_method_name(m),
		    proto_type_name(params->type));
	for (i = 0; i < map->a.count; i++) {
		const struct val *key = &map->a.items[2 * i];

		c.row = find_row(m, key->s.ptr, key->s.len);
		if (c.row == NULL)
			return complain_unknown(m, key, ret);
		error = check_value(&c, key + 1);
		if (error < 0)
			return error;
	}
	return check_required(m, map, ret);
}
