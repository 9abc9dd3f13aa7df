/* SPDX-License-Identifier: MIT */
/* Arguments out and values back, through a server that sends them back. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "lib_fake.h"

TestSuite(value, .timeout = 20);

/* Answers with the params of the request as the result. */
static bool
mirror(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	struct enc e = ENC_INIT;

	(void)method;
	enc_array(&e);
	enc_uint(&e, 1);
	enc_uint(&e, id);
	enc_nil(&e);
	enc_val(&e, params);
	enc_end(&e);
	fake_send(f, e.buf, e.len);
	enc_fini(&e);
	return true;
}

Test(value, arguments_come_back_as_they_went)
{
	psup_args *a = psup_args_new();
	const psup_value *v, *env;
	psup_reply *r = NULL;
	struct fake f;
	size_t len;
	psup *p;

	fake_start(&f, mirror);
	p = fake_connect(&f);
	psup_args_list_begin(a, "argv");
	psup_args_str(a, NULL, "printf");
	psup_args_strn(a, NULL, "%s\n", 3);
	psup_args_list_end(a);
	psup_args_map_begin(a, "env");
	psup_args_str(a, "LANG", "C.UTF-8");
	psup_args_str(a, "EMPTY", "");
	psup_args_map_end(a);
	psup_args_nil(a, "yieldMs");
	psup_args_int(a, "priority", -1);
	psup_args_num(a, "timeout", 2.5);
	psup_args_bool(a, "background", true);
	/* the same arguments serve twice */
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(psup_call(p, "exec", a, 60000, &r), PSUP_OK, "%s",
		    psup_error_message(p));
		v = psup_reply_value(r);
		cr_expect_eq(psup_value_type(v), PSUP_MAP);
		cr_expect_eq(psup_value_count(v), 6);
		cr_expect_eq(psup_get_int(v, "priority", 7), -1);
		cr_expect_eq(psup_get_double(v, "timeout", 0), 2.5);
		cr_expect_eq(psup_get_int(v, "timeout", 0), 2);
		cr_expect(psup_get_bool(v, "background", false));
		cr_expect_not_null(psup_value_get(v, "yieldMs"));
		cr_expect_eq(psup_value_type(psup_value_get(v, "yieldMs")),
		    PSUP_NIL);
		env = psup_value_get(v, "env");
		cr_expect(psup_get_is(env, "LANG", "C.UTF-8"));
		cr_expect_eq(memcmp(psup_value_key(env, 0, &len), "LANG", 4),
		    0);
		cr_expect_eq(len, 4);
		cr_expect_null(psup_value_key(env, 2, NULL));
		v = psup_value_get(v, "argv");
		cr_expect_eq(psup_value_count(v), 2);
		cr_expect_eq(
		    memcmp(psup_value_str(psup_value_at(v, 1), &len), "%s\n",
		        3),
		    0);
		cr_expect_eq(len, 3);
		cr_expect_null(psup_value_at(v, 2));
		psup_reply_free(&r);
	}
	psup_args_free(&a);
	psup_free(&p);
	fake_stop(&f);
}

Test(value, bytes_keep_every_value)
{
	unsigned char every[256];
	psup_reply *r = NULL;
	const char *back;
	struct fake f;
	size_t len;
	psup *p;

	for (unsigned i = 0; i < 256; i++)
		every[i] = (unsigned char)i;
	fake_start(&f, mirror);
	p = fake_connect(&f);
	cr_assert_eq(psup_write(p, "x", every, 256, false, 0, &r), PSUP_OK);
	back = psup_get_str(psup_reply_value(r), "data", &len);
	cr_assert_eq(len, 256);
	cr_expect_eq(memcmp(back, every, 256), 0);
	cr_expect_eq(psup_value_type(
	                 psup_value_get(psup_reply_value(r), "data")),
	    PSUP_BYTES);
	psup_reply_free(&r);
	psup_free(&p);
	fake_stop(&f);
}

Test(value, readers_take_what_is_absent)
{
	size_t len = 9;
	char buf[4] = "abc";

	cr_expect_eq(psup_value_type(NULL), PSUP_NIL);
	cr_expect_null(psup_value_get(NULL, "x"));
	cr_expect_eq(psup_value_count(NULL), 0);
	cr_expect_null(psup_value_at(NULL, 0));
	cr_expect_null(psup_get_str(NULL, "x", &len));
	cr_expect_eq(len, 0);
	cr_expect_eq(psup_get_int(NULL, "x", 5), 5);
	cr_expect_eq(psup_get_copy(NULL, "x", buf, sizeof(buf)), 0);
	cr_expect_str_eq(buf, "");
	cr_expect_not(psup_get_is(NULL, "x", ""));
	cr_expect_null(psup_reply_value(NULL));
	cr_expect_not(psup_reply_is_error(NULL));
	psup_reply_free(NULL);
}
