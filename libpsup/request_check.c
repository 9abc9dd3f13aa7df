/* SPDX-License-Identifier: MIT */
/*
 * The server's checks of a request, made before anything is sent: so a mistake
 * costs no round trip, and what is too large for a frame can still be named.
 * Called by request.c.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* The kernel's MAX_ARG_STRLEN without its NUL: one argument or variable. */
#define ARG_MAX_BYTES 131071u

/* Far above every limit of the wire, for finding what broke them. */
static const struct codec_limits generous = {
	.depth = 16,
	.map_keys = 1u << 20,
	.array = 1u << 20,
	.string = UINT32_MAX,
	.elements = 1u << 22,
	.bytes = UINT32_MAX,
};

/* One text against the kernel's limit. */
static int
check_arg(struct psup *p, const char *field, const struct val *v, size_t extra)
{
	if (v == NULL || (v->type != VAL_STR && v->type != VAL_BIN) ||
	    v->s.len + extra <= ARG_MAX_BYTES)
		return PSUP_OK;
	return error_set(p, PSUP_ERR_REFUSED, proto_error_name(PROTO_E_TOO_BIG),
	    field, "%s is %zu bytes, and an argument or variable may have at "
	           "most %u (E2BIG); nothing was run",
	    field, v->s.len + extra, ARG_MAX_BYTES);
}

/* Every argument and variable of an exec. */
static int
check_exec_sizes(struct psup *p, const struct val *params)
{
	static const char *const maps[] = {"env", "baseEnv"};
	const struct val *v;
	char field[64];
	int rc;

	rc = check_arg(p, "command", val_get(params, "command"), 0);
	v = val_get(params, "argv");
	for (size_t i = 0; rc == PSUP_OK && v != NULL && v->type == VAL_ARRAY &&
	     i < v->a.count; i++) {
		snprintf(field, sizeof(field), "argv[%zu]", i);
		rc = check_arg(p, field, &v->a.items[i], 0);
	}
	for (size_t m = 0; rc == PSUP_OK && m < 2; m++) {
		v = val_get(params, maps[m]);
		if (v == NULL || v->type != VAL_MAP)
			continue;
		for (size_t i = 0; rc == PSUP_OK && i < v->a.count; i++) {
			const struct val *key = &v->a.items[2 * i];

			snprintf(field, sizeof(field), "%s.%.*s", maps[m],
			    (int)key->s.len, key->s.ptr);
			rc = check_arg(p, field, key + 1, key->s.len + 1);
		}
	}
	return rc;
}

/* The frame breaks a limit: which one, and whose fault. */
static int
check_broken_limit(struct psup *p, enum proto_method m,
    const struct enc *params, enum codec_error found, const char *why)
{
	struct codec_arena *arena;
	const struct val *v;
	struct proto_problem problem;
	char text[160];
	size_t used;
	int rc = PSUP_OK;

	if (codec_decode(params->buf, params->len, &generous, &used, &arena, &v,
	        text, sizeof(text)) == CODEC_OK) {
		if (m == PROTO_EXEC)
			rc = check_exec_sizes(p, v);
		if (rc == PSUP_OK && proto_check(m, v, &problem) != 0)
			rc = error_problem(p, &problem);
		codec_arena_free(&arena);
	}
	if (rc != PSUP_OK)
		return rc;
	return error_set(p, PSUP_ERR_REFUSED,
	    proto_error_name(found == CODEC_TOO_LARGE ? PROTO_E_FRAME_TOO_LARGE
	        : found == CODEC_MALFORMED ? PROTO_E_INVALID_PARAMS
	                                   : PROTO_E_LIMIT),
	    "", "the request is refused: %s", why);
}

/* PSUP_OK, or the error that the server would answer with. */
int
request_check(struct psup *p, const char *method, const struct enc *params,
    enum proto_method *ret_method, bool *ret_repeats)
{
	enum proto_method m = proto_method_find(method, strlen(method));
	struct codec_arena *arena;
	struct proto_problem problem;
	const struct val *v;
	enum codec_error found;
	char why[160];
	size_t used;
	int rc;

	if (m == PROTO_METHOD_COUNT)
		return error_set(p, PSUP_ERR_REFUSED,
		    proto_error_name(PROTO_E_UNKNOWN_METHOD), "",
		    "there is no method \"%.40s\"", method);
	found = codec_decode(params->buf, params->len, &codec_limits_default,
	    &used, &arena, &v, why, sizeof(why));
	if (found == CODEC_NOMEM)
		return error_set(p, PSUP_ERR_NO_MEMORY, "no-memory", "",
		    "no memory for the request");
	if (found != CODEC_OK)
		return check_broken_limit(p, m, params, found, why);
	rc = m == PROTO_EXEC ? check_exec_sizes(p, v) : PSUP_OK;
	if (rc == PSUP_OK && proto_check(m, v, &problem) != 0)
		rc = error_problem(p, &problem);
	*ret_method = m;
	*ret_repeats = proto_may_repeat(m, v);
	codec_arena_wipe(&arena);
	return rc;
}
