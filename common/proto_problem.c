/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with a call, in words and as a map: field, value, what was
 * expected. Whoever refuses something says it by these.
 */
#include <errno.h>
#include <stdio.h>

#include "format.h"
#include "proto_problem.h"
#include "text.h"

const char *
proto_type_name(enum val_type type)
{
	static const char *const type_names[] = {
		[VAL_NIL] = "no value", [VAL_BOOL] = "a boolean",
		[VAL_INT] = "an integer",
		[VAL_UINT] = "an integer", [VAL_DOUBLE] = "a number",
		[VAL_STR] = "a string", [VAL_BIN] = "binary data",
		[VAL_ARRAY] = "an array", [VAL_MAP] = "a map",
	};

	return type_names[type];
}

int
proto_problem_set(struct proto_problem *p, enum proto_error code,
    const char *field, const char *fmt, ...)
{
	char raw[sizeof(p->message)];

	memset(p, 0, sizeof(*p));
	p->code = code;
	if (field != NULL)
		(void)text_escape(field, strlen(field), false, p->field,
		    sizeof(p->field));
	(void)FORMATTED(raw, sizeof(raw), fmt);
	/* a character that the buffer cut is no reason for \\xNN */
	(void)text_escape(raw, strlen(raw) - text_unfinished(raw, strlen(raw)),
	    true, p->message, sizeof(p->message));
	return -EINVAL;
}

void
proto_encode_share(struct enc *e, const struct proto_share *share)
{
	enc_kv_str(e, "resource", share->resource);
	enc_kv_uint(e, "used", share->used);
	enc_kv_uint(e, "fair", share->fair);
	enc_kv_uint(e, "limit", share->limit);
}

void
proto_encode_problem(struct enc *e, const struct proto_problem *p)
{
	enc_map(e);
	enc_kv_str(e, "code", proto_error_name(p->code));
	enc_kv_str(e, "message", p->message);
	if (p->field[0] != '\0')
		enc_kv_str(e, "field", p->field);
	if (p->value[0] != '\0')
		enc_kv_str(e, "value", p->value);
	if (p->expected[0] != '\0')
		enc_kv_str(e, "expected", p->expected);
	if (p->share.resource != NULL) {
		enc_kv_map(e, "details");
		proto_encode_share(e, &p->share);
		enc_end(e);
	}
	enc_end(e);
}

void
proto_append(char *dst, size_t size, const char *fmt, ...)
{
	size_t len = strlen(dst);

	(void)FORMATTED(dst + len, size - len, fmt);
}

void
proto_problem_method(struct proto_problem *p, const char *name, size_t len)
{
	char shown[64], all[560] = "";
	unsigned m;

	(void)text_escape(name, len, false, shown, sizeof(shown));
	for (m = 0; m < PROTO_METHOD_COUNT; m++)
		proto_append(all, sizeof(all), "%s%s", m > 0 ? ", " : "",
		    proto_method_name((enum proto_method)m));
	proto_problem_set(p, PROTO_E_UNKNOWN_METHOD, "method",
	    "unknown method \"%s\"; expected one of %s", shown, all);
	(void)snprintf(p->value, sizeof(p->value), "%s", shown);
	(void)strlcpy(p->expected, all, sizeof(p->expected));
}

void
proto_show(const struct val *v, char *dst, size_t size)
{
	size_t n;

	switch (v->type) {
	case VAL_NIL:
		(void)snprintf(dst, size, "nil");
		break;
	case VAL_BOOL:
		(void)snprintf(dst, size, "%s", v->b ? "true" : "false");
		break;
	case VAL_INT:
		(void)snprintf(dst, size, "%lld", (long long)v->i);
		break;
	case VAL_UINT:
		(void)snprintf(dst, size, "%llu", (unsigned long long)v->u);
		break;
	case VAL_DOUBLE:
		(void)snprintf(dst, size, "%.15g", v->d);
		break;
	case VAL_STR:
	case VAL_BIN:
		dst[0] = '"';
		n = 1 + text_escape(v->s.ptr, v->s.len < 48 ? v->s.len :
		    text_cut_back(v->s.ptr, v->s.len, 48), false, dst + 1,
		    size - 8);
		(void)snprintf(dst + n, size - n, "\"%s",
		    v->s.len < 48 ? "" : "...");
		break;
	case VAL_ARRAY:
		(void)snprintf(dst, size, "%zu item%s", v->a.count,
		    v->a.count == 1 ? "" : "s");
		break;
	case VAL_MAP:
		(void)snprintf(dst, size, "%zu pair%s", v->a.count,
		    v->a.count == 1 ? "" : "s");
		break;
	}
}

int
proto_problem_value(struct proto_problem *p, enum proto_error code,
    const char *field, const struct val *v, const char *expected)
{
	char value[80];

	proto_show(v, value, sizeof(value));
	proto_problem_set(p, code, field, "%s is %s (%s); expected %s", field,
	    value, proto_type_name(v->type), expected);
	(void)strlcpy(p->value, value, sizeof(p->value));
	(void)strlcpy(p->expected, expected, sizeof(p->expected));
	return -EINVAL;
}
