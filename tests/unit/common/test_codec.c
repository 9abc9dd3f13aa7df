/* SPDX-License-Identifier: MIT */
/* MessagePack: round trips, lies, limits, noise. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/codec.h"

static char why[200];

/* Decodes and forgets; *used as codec_decode left it. */
static enum codec_error
try_decode(const void *buf, size_t size, const struct codec_limits *limits,
    size_t *used)
{
	struct codec_arena *arena = NULL;
	const struct val *v = NULL;
	enum codec_error error;

	why[0] = '\0';
	error = codec_decode(buf, size, limits, used, &arena, &v, why,
	    sizeof(why));
	if (error == CODEC_OK) {
		cr_assert_not_null(v);
		codec_arena_free(&arena);
		cr_assert_null(arena);
	} else {
		cr_assert_null(arena);
	}
	return error;
}

/* A map with one value of every type. */
static void
encode_sample(struct enc *e)
{
	enc_map(e);
	enc_kv_nil(e, "nil");
	enc_kv_bool(e, "yes", true);
	enc_kv_bool(e, "no", false);
	enc_kv_int(e, "minus", -70000);
	enc_kv_int(e, "min", INT64_MIN);
	enc_kv_uint(e, "max", UINT64_MAX);
	enc_key(e, "half");
	enc_double(e, 0.5);
	enc_kv_str(e, "text", "hello");
	enc_kv_strn(e, "nul", "a\0b", 3);
	enc_key(e, "bin");
	enc_bin(e, "\xff\x00", 2);
	enc_key(e, "list");
	enc_array(e);
	enc_uint(e, 1);
	enc_map(e);
	enc_kv_str(e, "deep", "");
	enc_end(e);
	enc_end(e);
	enc_end(e);
}

Test(codec, round_trip, .timeout = 10)
{
	struct enc e = ENC_INIT, again = ENC_INIT;
	struct codec_arena *arena;
	const struct val *v, *list;
	char text[4];
	size_t used;

	encode_sample(&e);
	cr_assert(!e.failed && e.depth == 0);
	cr_assert_eq(codec_decode(e.buf, e.len, &codec_limits_default, &used,
	    &arena, &v, why, sizeof(why)), CODEC_OK);
	cr_assert_eq(used, e.len);
	cr_assert_eq(v->type, VAL_MAP);
	cr_assert_eq(v->a.count, 11);
	enc_val(&again, v);
	memset(e.buf, 0xc1, e.len); /* the tree must not need it any more */
	cr_assert_eq(val_get(v, "nil")->type, VAL_NIL);
	cr_assert(val_bool(v, "yes", false) && !val_bool(v, "no", true));
	cr_assert_eq(val_int(v, "minus", 0), -70000);
	cr_assert_eq(val_int(v, "min", 0), INT64_MIN);
	cr_assert_eq(val_uint(v, "max", 0), UINT64_MAX);
	cr_assert_eq(val_int(v, "max", 7), 7);
	cr_assert_eq(val_uint(v, "minus", 8), 8);
	cr_assert(val_num(v, "half", 0) > 0.4 && val_num(v, "minus", 0) < 0);
	cr_assert(val_is_str(val_get(v, "text"), "hello"));
	cr_assert_eq(val_copy(v, "text", text, sizeof(text)), 5);
	cr_assert_str_eq(text, "hel");
	cr_assert_eq(val_copy(v, "absent", text, sizeof(text)), 0);
	cr_assert_str_eq(text, "");
	cr_assert_eq(val_str(v, "nul").len, 3);
	cr_assert_eq(val_str(v, "bin").len, 2);
	cr_assert_null(val_str(v, "yes").ptr);
	list = val_get(v, "list");
	cr_assert_eq(list->a.count, 2);
	cr_assert(val_is_str(val_get(&list->a.items[1], "deep"), ""));
	cr_assert_null(val_get(NULL, "x"));
	cr_assert_null(val_get(list, "x"));
	codec_arena_free(&arena);

	/* what was decoded can be encoded again, and means the same */
	cr_assert_eq(codec_decode(again.buf, again.len, &codec_limits_default,
	    &used, &arena, &v, why, sizeof(why)), CODEC_OK);
	cr_assert_eq(val_int(v, "min", 0), INT64_MIN);
	cr_assert_eq(val_get(v, "list")->a.count, 2);
	codec_arena_free(&arena);
	enc_fini(&e);
	enc_fini(&again);
}

Test(codec, every_prefix_is_incomplete, .timeout = 10)
{
	struct enc e = ENC_INIT;
	size_t n, used;

	encode_sample(&e);
	for (n = 0; n < e.len; n++) {
		cr_assert_eq(try_decode(e.buf, n, &codec_limits_default,
		    &used), CODEC_INCOMPLETE);
		cr_assert(used > n && used <= e.len, "%zu of %zu, said %zu", n,
		    e.len, used);
	}
	/* what follows belongs to the next object */
	enc_uint(&e, 5);
	cr_assert_eq(try_decode(e.buf, e.len, &codec_limits_default, &used),
	    CODEC_OK);
	cr_assert_eq(used, e.len - 1);
	enc_fini(&e);
}

#define BYTES(s) (s), sizeof(s) - 1

static const struct {
	const char *what;
	const char *bytes;
	size_t size;
	enum codec_error error;
	size_t used;
} lies[] = {
	{ "array32 of 4 G", BYTES("\xdd\xff\xff\xff\xff"), CODEC_TOO_LARGE, 0 },
	{ "map32 of 4 G", BYTES("\xdf\xff\xff\xff\xff"), CODEC_TOO_LARGE, 0 },
	{ "map32 of 2 G", BYTES("\xdf\x80\x00\x00\x00"), CODEC_TOO_LARGE, 0 },
	{ "str32 of 4 G", BYTES("\xdb\xff\xff\xff\xff"), CODEC_TOO_LARGE, 0 },
	{ "bin32 of 4 MiB", BYTES("\xc6\x00\x40\x00\x00"), CODEC_TOO_LARGE, 0 },
	{ "ext32 of 4 G", BYTES("\xc9\xff\xff\xff\xff\x01"),
	    CODEC_TOO_LARGE, 0 },
	{ "nested claims that only add up to too much",
	    BYTES("\x93\xdd\x00\x15\x00\x00\xdd\x00\x2a\xff\xff\x01"),
	    CODEC_TOO_LARGE, 0 },
	{ "str32 of 3 MiB: may still end", BYTES("\xdb\x00\x30\x00\x00"),
	    CODEC_INCOMPLETE, 5 + (3u << 20) },
	{ "0xc1", BYTES("\xc1"), CODEC_MALFORMED, 0 },
	{ "0xc1 inside", BYTES("\x92\x01\xc1"), CODEC_MALFORMED, 0 },
	{ "fixext 1", BYTES("\xd4\x01\x00"), CODEC_MALFORMED, 3 },
	{ "ext 8 in an array", BYTES("\x91\xc7\x02\x01\x00\x00"),
	    CODEC_MALFORMED, 6 },
	{ "timestamp", BYTES("\xd6\xff\x00\x00\x00\x00"), CODEC_MALFORMED, 6 },
	{ "integer key", BYTES("\x81\x01\x02"), CODEC_MALFORMED, 3 },
	{ "bin key", BYTES("\x81\xc4\x01k\x02"), CODEC_MALFORMED, 5 },
	{ "array key", BYTES("\x81\x90\x02"), CODEC_MALFORMED, 3 },
	{ "second key no string", BYTES("\x82\xa1k\x01\xc0\x01"),
	    CODEC_MALFORMED, 6 },
	{ "key twice", BYTES("\x82\xa1k\x01\xa1k\x02"), CODEC_MALFORMED, 7 },
	{ "key twice, another width",
	    BYTES("\x82\xa1k\x01\xd9\x01k\x02"), CODEC_MALFORMED, 8 },
	{ "key twice, deeper",
	    BYTES("\x91\x81\xa1x\x82\xa0\x01\xa0\x02"), CODEC_MALFORMED, 9 },
	{ "nine levels", BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x90"),
	    CODEC_LIMIT, 9 },
	{ "eight levels", BYTES("\x91\x91\x91\x91\x91\x91\x91\x90"),
	    CODEC_OK, 8 },
	{ "maps nested",
	    BYTES("\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0"
	    "\x81\xa0\x81\xa0\xc0"), CODEC_LIMIT, 19 },
	{ "empty map and array", BYTES("\x92\x80\x90"), CODEC_OK, 3 },
	{ "nothing", BYTES(""), CODEC_INCOMPLETE, 1 },
};

Test(codec, lies_and_limits, .timeout = 10)
{
	size_t i, used;

	for (i = 0; i < NELEMS(lies); i++) {
		enum codec_error error = try_decode(lies[i].bytes,
		    lies[i].size, &codec_limits_default, &used);

		cr_expect_eq(error, lies[i].error, "%s: %d (%s)", lies[i].what,
		    error, why);
		cr_expect_eq(used, lies[i].used, "%s: used %zu", lies[i].what,
		    used);
		if (error > CODEC_INCOMPLETE)
			cr_expect(why[0] != '\0', "%s", lies[i].what);
	}
}

/* n values behind an array32 header. */
static void
encode_ints(struct enc *e, unsigned n)
{
	enc_array(e);
	while (n-- > 0)
		enc_uint(e, n);
	enc_end(e);
}

Test(codec, counts_hold_over_all_levels, .timeout = 10)
{
	struct enc e = ENC_INIT;
	size_t used;
	int i;

	encode_ints(&e, 4097);
	cr_assert_eq(try_decode(e.buf, e.len, &codec_limits_default, &used),
	    CODEC_LIMIT);
	cr_assert_eq(used, e.len);
	cr_assert_not_null(strstr(why, "4097"));

	/* each array is within its own limit, together they are not */
	enc_reset(&e);
	enc_array(&e);
	for (i = 0; i < 5; i++)
		encode_ints(&e, 4000);
	enc_end(&e);
	cr_assert_eq(try_decode(e.buf, e.len, &codec_limits_default, &used),
	    CODEC_LIMIT);
	cr_assert_eq(used, e.len);
	cr_assert_eq(try_decode(e.buf, e.len, &codec_limits_trusted, &used),
	    CODEC_OK);
	enc_fini(&e);
}

Test(codec, a_long_string_is_skipped, .timeout = 10)
{
	const size_t n = 3u << 20;
	char *buf = calloc(1, n + 6);
	size_t used;

	cr_assert_not_null(buf);
	memcpy(buf, "\xdb\x00\x30\x00\x00", 5);
	cr_assert_eq(try_decode(buf, n + 4, &codec_limits_default, &used),
	    CODEC_INCOMPLETE);
	cr_assert_eq(used, n + 5);
	cr_assert_eq(try_decode(buf, n + 6, &codec_limits_default, &used),
	    CODEC_LIMIT);
	cr_assert_eq(used, n + 5);
	free(buf);
}

Test(codec, skipping_has_a_price_limit, .timeout = 10)
{
	struct enc e = ENC_INIT;
	size_t used;

	encode_ints(&e, 4u * 16384 + 2);
	cr_assert_eq(try_decode(e.buf, e.len, &codec_limits_default, &used),
	    CODEC_LIMIT);
	cr_assert_eq(used, 0);
	enc_fini(&e);
}

Test(codec, many_keys, .timeout = 10)
{
	struct enc e = ENC_INIT;
	char key[16];
	size_t used;
	int i, twice;

	for (twice = 0; twice < 2; twice++) {
		enc_reset(&e);
		enc_map(&e);
		for (i = 0; i < 1000; i++) {
			(void)snprintf(key, sizeof(key), "k%d",
			    twice && i == 700 ? 13 : i);
			enc_kv_int(&e, key, i);
		}
		enc_end(&e);
		cr_assert_eq(try_decode(e.buf, e.len, &codec_limits_default,
		    &used), twice ? CODEC_MALFORMED : CODEC_OK);
		cr_assert_eq(used, e.len);
	}
	cr_assert_not_null(strstr(why, "\"k13\""));
	enc_fini(&e);
}

Test(codec, pieces_of_a_large_frame_are_cheap, .timeout = 20)
{
	struct enc e = ENC_INIT;
	size_t n, used, calls = 0;
	uint64_t start;
	int i;

	enc_array(&e);
	for (i = 0; i < 4000; i++)
		enc_strn(&e, "0123456789abcdef", 16);
	for (i = 0; i < 3; i++) {
		char *big = calloc(1, 1u << 20);

		enc_bin(&e, big, 1u << 20);
		free(big);
	}
	enc_end(&e);
	start = clock_cpu_ns();
	for (n = 4096; n < e.len; n += 4096, calls++)
		cr_assert_eq(try_decode(e.buf, n, &codec_limits_default,
		    &used), CODEC_INCOMPLETE);
	cr_assert_eq(try_decode(e.buf, e.len, &codec_limits_default, &used),
	    CODEC_OK);
	cr_assert(clock_cpu_ns() - start < 5 * NSEC_PER_SEC,
	    "%zu calls", calls);
	enc_fini(&e);
}

Test(codec, a_long_list_encodes, .timeout = 20)
{
	struct enc e = ENC_INIT;
	struct codec_arena *arena;
	const struct val *v;
	char keys[20][8];
	size_t used;
	int row, i;

	for (i = 0; i < 20; i++)
		(void)snprintf(keys[i], sizeof(keys[i]), "key%d", i);
	enc_array(&e);
	for (row = 0; row < 10000; row++) {
		enc_map(&e);
		for (i = 0; i < 20; i++)
			enc_kv_int(&e, keys[i], row);
		enc_end(&e);
	}
	enc_end(&e);
	cr_assert_eq(codec_decode(e.buf, e.len, &codec_limits_trusted, &used,
	    &arena, &v, why, sizeof(why)), CODEC_OK, "%s", why);
	cr_assert_eq(v->a.count, 10000);
	cr_assert_eq(val_int(&v->a.items[9999], "key19", 0), 9999);
	codec_arena_free(&arena);
	enc_fini(&e);
}

Test(codec, peeks_the_msgid, .timeout = 10)
{
	uint64_t id = 0;

	cr_assert(codec_peek_msgid("\x94\x00\x07", 3, &id) && id == 7);
	cr_assert(codec_peek_msgid("\x94\x00\xcd\x01\x02", 5, &id) &&
	    id == 258);
	cr_assert(codec_peek_msgid("\xdc\x00\x04\x00\x08", 5, &id) && id == 8);
	cr_assert(codec_peek_msgid("\xdd\x00\x00\x00\x04\x00\xcc\x09", 8,
	        &id) && id == 9);
	cr_assert(!codec_peek_msgid("\xdd\x00\x00\x00\x05\x00\x07", 7, &id));
	cr_assert(!codec_peek_msgid("\xdd\x00\x00\x00\x04\x00", 6, &id));
	cr_assert(!codec_peek_msgid("\x94\x00\xcd\x01", 4, &id));
	cr_assert(!codec_peek_msgid("\x93\x02\x07", 3, &id));
	cr_assert(!codec_peek_msgid("\x94\x00\xff", 3, &id));
}

/* A small generator of our own: the seed is all that a failure needs. */
static uint32_t
noise(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

Test(codec, survives_mutation, .timeout = 60)
{
	uint64_t seed = 0x5eed0001;
	struct enc e = ENC_INIT;
	char *copy;
	int round;

	encode_sample(&e);
	copy = malloc(e.len);
	cr_assert_not_null(copy);
	for (round = 0; round < 200000; round++) {
		uint64_t at = seed;
		uint32_t edits = 1 + noise(&seed) % 4;
		size_t size = noise(&seed) % 8 == 0 ?
		    noise(&seed) % e.len : e.len, used;
		enum codec_error error;

		memcpy(copy, e.buf, e.len);
		while (edits-- > 0)
			copy[noise(&seed) % e.len] = (char)noise(&seed);
		error = try_decode(copy, size, &codec_limits_default, &used);
		if (error == CODEC_INCOMPLETE)
			cr_assert(used > size, "seed %#llx",
			    (unsigned long long)at);
		else
			cr_assert(used <= size, "seed %#llx",
			    (unsigned long long)at);
	}
	free(copy);
	enc_fini(&e);
}
