/* SPDX-License-Identifier: MIT */
/* The protocol table: what is taken, what is refused, and in which words. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/proto.h"

static struct enc enc;
static struct codec_arena *arena;
static struct proto_problem problem;

/* Decodes what was encoded; check() frees it. */
static const struct val *
decoded(void)
{
	const struct val *v;
	char why[100];
	size_t used;

	codec_arena_free(&arena);
	cr_assert_eq(codec_decode(enc.buf, enc.len, &codec_limits_default,
	    &used, &arena, &v, why, sizeof(why)), CODEC_OK, "%s", why);
	return v;
}

static void
fini(void)
{
	codec_arena_free(&arena);
	enc_fini(&enc);
}

/* Begins a params map. */
static void
begin(void)
{
	enc_reset(&enc);
	enc_map(&enc);
}

static int
check(enum proto_method m)
{
	enc_end(&enc);
	memset(&problem, 0, sizeof(problem));
	return proto_check(m, decoded(), &problem);
}

#define expect_refused(m, text)                                                \
	do {                                                                   \
		cr_expect_eq(check(m), -EINVAL, "%s", text);                   \
		cr_expect_str_eq(problem.message, text);                       \
	} while (0)

Test(proto, finds_methods, .timeout = 10)
{
	unsigned m;

	for (m = 0; m < PROTO_METHOD_COUNT; m++) {
		const char *name = proto_method_name((enum proto_method)m);

		cr_assert_eq(proto_method_find(name, strlen(name)), m);
		cr_assert_gt(strlen(proto_method_doc((enum proto_method)m)), 0);
	}
	cr_assert_eq(proto_method_find("exe", 3), PROTO_METHOD_COUNT);
	cr_assert_eq(proto_method_find("exec\0", 5), PROTO_METHOD_COUNT);
	cr_assert_eq(proto_method_kind(PROTO_SHUTDOWN), PROTO_ADMIN);
	proto_problem_method(&problem, "ex\x1b" "ec", 5);
	cr_assert_eq(problem.code, PROTO_E_UNKNOWN_METHOD);
	cr_assert_eq(strncmp(problem.message,
	    "unknown method \"ex\\x1bec\"; expected one of hello, defaults, "
	    "exec, ", 66), 0, "%s", problem.message);
	cr_assert_not_null(strstr(problem.message, "shutdown"));
}

Test(proto, takes_what_is_right, .timeout = 10, .fini = fini)
{
	begin();
	enc_kv_str(&enc, "command", "make -j2");
	enc_kv_nil(&enc, "yieldMs");
	enc_key(&enc, "timeout");
	enc_double(&enc, 1.5);
	enc_kv_str(&enc, "stdin", "closed");
	enc_key(&enc, "env");
	enc_map(&enc);
	enc_kv_str(&enc, "A", "");
	enc_end(&enc);
	enc_key(&enc, "baseEnv");
	enc_map(&enc);
	enc_kv_str(&enc, "LATIN", "\xe9");
	enc_end(&enc);
	cr_assert_eq(check(PROTO_EXEC), 0, "%s", problem.message);

	begin();
	enc_key(&enc, "stdin");
	enc_map(&enc);
	enc_kv_str(&enc, "text", "in");
	enc_end(&enc);
	cr_assert_eq(check(PROTO_EXEC), 0, "%s", problem.message);
}

Test(proto, takes_three_forms_of_params, .timeout = 10, .fini = fini)
{
	enc_reset(&enc);
	enc_array(&enc);
	enc_end(&enc);
	cr_assert_eq(proto_check(PROTO_LIST, decoded(), &problem), 0);
	cr_assert_eq(proto_check(PROTO_LIST, NULL, &problem), 0);

	enc_reset(&enc);
	enc_array(&enc);
	enc_map(&enc);
	enc_kv_str(&enc, "sessionId", "x");
	enc_kv_int(&enc, "timeout", 40000);
	enc_end(&enc);
	enc_end(&enc);
	cr_assert_eq(proto_check(PROTO_POLL, decoded(), &problem), 0);
	cr_assert_eq(proto_int(PROTO_POLL, decoded(), "timeout", 0), 30000);

	enc_reset(&enc);
	enc_array(&enc);
	enc_uint(&enc, 1);
	enc_end(&enc);
	cr_assert_eq(proto_check(PROTO_LIST, decoded(), &problem), -EINVAL);
	enc_reset(&enc);
	enc_str(&enc, "x");
	cr_assert_eq(proto_check(PROTO_LIST, decoded(), &problem), -EINVAL);
	cr_assert_str_eq(problem.message, "list: params are a string; "
	    "expected a map, or an array of one map");
}

Test(proto, says_what_is_wrong, .timeout = 10, .fini = fini)
{
	begin();
	enc_kv_str(&enc, "timeout", "abc");
	expect_refused(PROTO_EXEC, "exec: parameter \"timeout\" is \"abc\" (a "
	    "string); expected a number of seconds from 0 to 31536000");
	cr_expect_str_eq(problem.field, "timeout");
	cr_expect_str_eq(problem.value, "\"abc\"");

	begin();
	expect_refused(PROTO_POLL, "poll: parameter \"sessionId\" is missing; "
	    "expected UTF-8 text of 1 to 64 bytes without NUL");
	begin();
	enc_kv_nil(&enc, "sessionId");
	expect_refused(PROTO_POLL, "poll: parameter \"sessionId\" is nil (no "
	    "value); expected UTF-8 text of 1 to 64 bytes without NUL");
	begin();
	enc_kv_int(&enc, "priority", 2);
	expect_refused(PROTO_EXEC, "exec: parameter \"priority\" is 2 (an "
	    "integer); expected an integer from -1 to 1");
	begin();
	enc_kv_int(&enc, "background", 1);
	expect_refused(PROTO_EXEC, "exec: parameter \"background\" is 1 (an "
	    "integer); expected true or false");
	begin();
	enc_key(&enc, "argv");
	enc_array(&enc);
	enc_str(&enc, "a");
	enc_strn(&enc, "b\0c", 3);
	enc_end(&enc);
	expect_refused(PROTO_EXEC, "exec: parameter \"argv\" item 1 is "
	    "\"b\\x00c\" (a string); expected an array of 1 to 4096 strings "
	    "without NUL");
	begin();
	enc_kv_str(&enc, "stdin", "ajar");
	cr_expect_eq(check(PROTO_EXEC), -EINVAL);
	begin();
	enc_kv_str(&enc, "command", "\xff");
	expect_refused(PROTO_EXEC, "exec: parameter \"command\" is \"\\xff\" "
	    "(a string); expected UTF-8 text of 1 to 131071 bytes without "
	    "NUL");
}

Test(proto, hints_at_usual_slips, .timeout = 10, .fini = fini)
{
	static const struct {
		enum proto_method m;
		const char *said, *meant;
	} cases[] = {
		{ PROTO_EXEC, "cwd", "workdir" },
		{ PROTO_EXEC, "timeoutMs", "timeout" },
		{ PROTO_EXEC, "YIELDMS", "yieldMs" },
		{ PROTO_POLL, "session", "sessionId" },
		{ PROTO_KILL, "id", "sessionId" },
	};
	char hint[60];
	size_t i;

	for (i = 0; i < NELEMS(cases); i++) {
		begin();
		enc_kv_str(&enc, cases[i].said, "x");
		cr_expect_eq(check(cases[i].m), -EINVAL);
		(void)snprintf(hint, sizeof(hint), "did you mean \"%s\"?",
		    cases[i].meant);
		cr_expect_not_null(strstr(problem.message, hint), "%s",
		    problem.message);
	}
	begin();
	enc_kv_str(&enc, "zzz", "x");
	expect_refused(PROTO_CLEAR, "clear: unknown parameter \"zzz\"; "
	    "expected one of sessionId");
	begin();
	enc_kv_str(&enc, "zzz", "x");
	expect_refused(PROTO_STATUS, "status: unknown parameter \"zzz\"; "
	    "expected none");
}

Test(proto, numbers, .timeout = 10, .fini = fini)
{
	static const struct {
		double value;
		int error;
	} cases[] = { { 3.0, 0 }, { 3.5, -EINVAL }, { 1e300, 0 },
		{ -1e300, 0 } };
	size_t i;

	for (i = 0; i < NELEMS(cases); i++) {
		begin();
		enc_key(&enc, "yieldMs");
		enc_double(&enc, cases[i].value);
		cr_expect_eq(check(PROTO_EXEC), cases[i].error, "%g",
		    cases[i].value);
	}
	cr_expect_eq(proto_int(PROTO_EXEC, decoded(), "yieldMs", 5), 10);
	begin();
	enc_key(&enc, "timeout");
	enc_double(&enc, (double)NAN);
	cr_expect_eq(check(PROTO_EXEC), -EINVAL);
	begin();
	enc_key(&enc, "yieldMs");
	enc_double(&enc, (double)INFINITY);
	cr_expect_eq(check(PROTO_EXEC), -EINVAL);
	begin();
	enc_kv_uint(&enc, "yieldMs", UINT64_MAX);
	cr_expect_eq(check(PROTO_EXEC), 0);
	cr_expect_eq(proto_int(PROTO_EXEC, decoded(), "yieldMs", 5), 120000);
	cr_expect_eq(proto_int(PROTO_EXEC, decoded(), "cols", 120), 120);
	begin();
	enc_kv_nil(&enc, "yieldMs");
	cr_expect_eq(check(PROTO_EXEC), 0);
	cr_expect_eq(proto_int(PROTO_EXEC, decoded(), "yieldMs", -1), -1);
}

Test(proto, too_big_for_execve, .timeout = 10, .fini = fini)
{
	char *big = malloc(140000);

	cr_assert_not_null(big);
	memset(big, 'x', 140000);
	begin();
	enc_kv_strn(&enc, "command", big, PROTO_ARG_MAX);
	cr_expect_eq(check(PROTO_EXEC), 0);
	begin();
	enc_kv_strn(&enc, "command", big, PROTO_ARG_MAX + 1);
	cr_expect_eq(check(PROTO_EXEC), -EINVAL);
	cr_expect_eq(problem.code, PROTO_E_TOO_BIG);
	begin();
	enc_key(&enc, "env");
	enc_map(&enc);
	enc_kv_strn(&enc, "KEY", big, PROTO_ARG_MAX - 4);
	enc_kv_strn(&enc, "KEY2", big, PROTO_ARG_MAX - 4);
	enc_end(&enc);
	cr_expect_eq(check(PROTO_EXEC), -EINVAL);
	cr_expect_eq(problem.code, PROTO_E_TOO_BIG);
	cr_expect_not_null(strstr(problem.message, "KEY2"));
	cr_expect_str_eq(problem.field, "env.KEY2");
	free(big);
}

Test(proto, tags_are_printable, .timeout = 10, .fini = fini)
{
	static const char *const tags[][2] = {{"a\nb", "x"}, {"a", "\x1b[m"}};

	for (size_t i = 0; i < 2; i++) {
		begin();
		enc_kv_str(&enc, "command", "x");
		enc_key(&enc, "tags");
		enc_map(&enc);
		enc_kv_str(&enc, "fine", "\xc3\xa4 b");
		enc_kv_str(&enc, tags[i][0], tags[i][1]);
		enc_end(&enc);
		cr_expect_eq(check(PROTO_EXEC), -EINVAL);
		cr_expect_eq(strncmp(problem.field, "tags.a", 6), 0);
	}
}

Test(proto, at_most_64_params, .timeout = 10, .fini = fini)
{
	char key[8];
	int i;

	begin();
	for (i = 0; i < 65; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		enc_kv_nil(&enc, key);
	}
	cr_expect_eq(check(PROTO_EXEC), -EINVAL);
	cr_expect_not_null(strstr(problem.message, "at most 64"));
}

Test(proto, encodes_a_problem, .timeout = 10, .fini = fini)
{
	const struct val *v;

	proto_problem_set(&problem, PROTO_E_NOT_FOUND, "sessionId",
	    "no session %s", "x");
	enc_reset(&enc);
	proto_encode_problem(&enc, &problem);
	v = decoded();
	cr_assert(val_is_str(val_get(v, "code"), "not-found"));
	cr_assert(val_is_str(val_get(v, "message"), "no session x"));
	cr_assert(val_is_str(val_get(v, "field"), "sessionId"));
	cr_assert_null(val_get(v, "value"));
}
