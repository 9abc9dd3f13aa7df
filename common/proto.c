/* SPDX-License-Identifier: MIT */
/*
 * The rows of proto.def as tables, and how to find one. What a parameter's
 * row demands is checked in proto_check.c.
 */
#include "proto.h"

#include <math.h>
#include <stdio.h>

#include "check.h"

#define TOOL   PROTO_TOOL
#define ACTION PROTO_ACTION
#define SYSTEM PROTO_SYSTEM
#define ADMIN  PROTO_ADMIN

static const struct {
	const char *name;
	enum proto_kind kind;
	const char *repeat, *doc;
} methods[] = {
#define METHOD(id, name, kind, repeat, doc) { name, kind, repeat, doc },
#include "proto.def"
};

#define REQ   1
#define NIL   2
#define CLAMP 4
#define RAW   8
#define SECRET 16
#define PRINT 32
#define PROG 64

const struct proto_param proto_params[] = {
#define PARAM(method, name, type, flags, min, max, dflt, doc)                  \
	{ PROTO_##method, name, PT_##type, ((flags)&REQ) != 0,                 \
	    ((flags)&NIL) != 0, ((flags)&CLAMP) != 0, ((flags)&RAW) != 0, \
	    ((flags)&SECRET) != 0, ((flags)&PRINT) != 0,                   \
	    ((flags)&PROG) != 0, min, max, dflt, doc },
#include "proto.def"
};
const size_t proto_param_count = NELEMS(proto_params);

static const struct {
	enum proto_method method;
	const char *name, *words;
} words[] = {
#define WORDS(method, name, words) { PROTO_##method, name, words },
#include "proto.def"
};

const struct proto_field proto_fields[] = {
#define FIELD(method, name, type, doc) { PROTO_##method, name, type, doc },
#include "proto.def"
};
const size_t proto_field_count = NELEMS(proto_fields);

const struct proto_detail proto_details[] = {
#define DETAIL(group, name, type, doc) { group, name, type, doc },
#include "proto.def"
};
const size_t proto_detail_count = NELEMS(proto_details);

static const struct {
	enum proto_method method;
	const char *group;
} detail_groups[] = {
#define DETAILS(method, group) { PROTO_##method, group },
#include "proto.def"
};

static const char *const row_groups[] = {
#define ROW(group) group,
#include "proto.def"
};

bool
proto_detail_of(const struct proto_detail *d, enum proto_method m)
{
	size_t i;

	for (i = 0; i < NELEMS(detail_groups); i++) {
		if (detail_groups[i].method == m &&
		    strcmp(detail_groups[i].group, d->group) == 0)
			return true;
	}
	return false;
}

bool
proto_detail_of_row(const struct proto_detail *d)
{
	size_t i;

	for (i = 0; i < NELEMS(row_groups); i++) {
		if (strcmp(row_groups[i], d->group) == 0)
			return true;
	}
	return false;
}

const struct proto_action proto_actions[] = {
#define OF_TOOL(id)   { "exec", PROTO_##id },
#define OF_ACTION(id) { "process", PROTO_##id },
#define OF_SYSTEM(id)
#define OF_ADMIN(id)
#define METHOD(id, name, kind, repeat, doc) OF_##kind(id)
#include "proto.def"
};
const size_t proto_action_count = NELEMS(proto_actions);

const struct proto_extra proto_extras[] = {
#define EXTRA(tool, name, type, as, doc) { tool, name, PT_##type, as, doc },
#include "proto.def"
};
const size_t proto_extra_count = NELEMS(proto_extras);

static const struct {
	enum proto_method method;
	const char *name, *tool_name;
} renamed[] = {
#define RENAMED(method, name, tool_name) { PROTO_##method, name, tool_name },
#include "proto.def"
};

static const struct {
	const char *name, *doc;
} errors[] = {
#define ERRCODE(id, name, doc) { name, doc },
#include "proto.def"
};

const char *
proto_tool_name(const struct proto_param *row)
{
	size_t i;

	for (i = 0; i < NELEMS(renamed); i++) {
		if (renamed[i].method == row->method &&
		    strcmp(renamed[i].name, row->name) == 0)
			return renamed[i].tool_name;
	}
	return row->name;
}

const char *
proto_words(const struct proto_param *row)
{
	size_t i;

	for (i = 0; i < NELEMS(words); i++) {
		if (words[i].method == row->method &&
		    strcmp(words[i].name, row->name) == 0)
			return words[i].words;
	}
	return NULL;
}

void
proto_words_list(const char *all, char *dst, size_t size)
{
	size_t n = 0, len;

	dst[0] = '\0';
	for (; *all != '\0' && n < size; all += len + (all[len] != '\0')) {
		len = strcspn(all, "|");
		n += (size_t)snprintf(dst + n, size - n, "%s%.*s",
		    n == 0 ? "" : all[len] != '\0' ? ", " : " or ", (int)len,
		    all);
	}
}

const char *
proto_method_name(enum proto_method m)
{
	CHECK((size_t)m < NELEMS(methods));
	return methods[m].name;
}

const char *
proto_method_doc(enum proto_method m)
{
	CHECK((size_t)m < NELEMS(methods));
	return methods[m].doc;
}

enum proto_kind
proto_method_kind(enum proto_method m)
{
	CHECK((size_t)m < NELEMS(methods));
	return methods[m].kind;
}

const char *
proto_method_repeat(enum proto_method m)
{
	CHECK((size_t)m < NELEMS(methods));
	return methods[m].repeat;
}

bool
proto_may_repeat(enum proto_method m, const struct val *params)
{
	const char *rule = proto_method_repeat(m);
	const char *value = strchr(rule, '=');
	const struct val *v;
	char name[32];

	if (rule[0] == '\0' || strcmp(rule, "*") == 0)
		return rule[0] != '\0';
	(void)snprintf(name, sizeof(name), "%.*s",
	    (int)(value != NULL ? (size_t)(value - rule) : strlen(rule)), rule);
	v = val_get(params, name);
	return v != NULL && v->type != VAL_NIL &&
	    (value == NULL || val_is_str(v, value + 1));
}

enum proto_method
proto_method_find(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < NELEMS(methods); i++) {
		if (strlen(methods[i].name) == len &&
		    memcmp(methods[i].name, name, len) == 0)
			return (enum proto_method)i;
	}
	return PROTO_METHOD_COUNT;
}

const char *
proto_error_name(enum proto_error e)
{
	CHECK((size_t)e < NELEMS(errors));
	return errors[e].name;
}

const char *
proto_error_doc(enum proto_error e)
{
	CHECK((size_t)e < NELEMS(errors));
	return errors[e].doc;
}

const struct val *
proto_params_map(const struct val *params)
{
	static const struct val empty = { .type = VAL_MAP };

	if (params == NULL || params->type == VAL_NIL)
		return &empty;
	if (params->type == VAL_ARRAY) {
		if (params->a.count == 0)
			return &empty;
		if (params->a.count != 1)
			return NULL;
		params = params->a.items;
	}
	return params->type == VAL_MAP ? params : NULL;
}

int64_t
proto_int(enum proto_method m, const struct val *params, const char *name,
    int64_t dflt)
{
	const struct val *v = val_get(proto_params_map(params), name);
	double d;
	size_t i;

	if (v == NULL)
		return dflt;
	if (v->type == VAL_UINT)
		d = (double)v->u;
	else if (v->type == VAL_INT)
		d = (double)v->i;
	else if (v->type == VAL_DOUBLE && isfinite(v->d))
		d = v->d;
	else
		return dflt;
	for (i = 0; i < proto_param_count; i++) {
		const struct proto_param *p = &proto_params[i];

		if (p->method != m || strcmp(p->name, name) != 0)
			continue;
		/* Every range lies within 2^53, where a double is exact. */
		CHECK(p->max <= 9007199254740991.0 &&
		    p->min >= -9007199254740991.0);
		d = d < p->min ? p->min : d > p->max ? p->max : d;
		return (int64_t)d;
	}
	UNREACHABLE(); /* no such row */
}
