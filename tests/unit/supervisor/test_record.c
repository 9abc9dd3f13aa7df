/* SPDX-License-Identifier: MIT */
/* A session and its spec survive the way into the index and back. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/master.h"

/* A session with something in every field that is kept. */
static struct session *
somebody(void)
{
	struct session *s = calloc(1, sizeof(*s));

	s->sid.v = 42;
	strcpy(s->slug, "nova-gulf");
	s->scope = strdup("alpha");
	s->command = strdup("make -j2");
	s->name = strdup("make");
	s->cwd = strdup("/tmp");
	s->label = strdup("");
	s->session_key = strdup("k");
	s->request_key = strdup("r");
	s->lane = strdup("main");
	s->priority = -1;
	s->lane_seq = 1ull << 40;
	s->state = STATE_ENDED;
	s->status = STATUS_KILLED;
	s->reason = END_MANUAL_CANCEL;
	s->exit_code = -1;
	s->exit_signal = 15;
	s->total = 1ull << 50;
	s->backgrounded = true;
	s->worker = (struct wid){3, 9};
	return s;
}

Test(record, round_trip, .timeout = 10)
{
	struct session *a = somebody(), *b;
	struct enc e = ENC_INIT;

	record_encode(a, &e);
	cr_assert_not(e.failed);
	b = record_decode(e.buf, e.len);
	cr_assert_not_null(b);
	cr_assert_eq(b->sid.v, 42);
	cr_assert_str_eq(b->slug, "nova-gulf");
	cr_assert_str_eq(b->scope, "alpha");
	cr_assert_str_eq(b->label, "");
	cr_assert_str_eq(b->lane, "main");
	cr_assert_eq(b->priority, -1);
	cr_assert_eq(b->lane_seq, 1ull << 40);
	cr_assert_eq(b->state, STATE_ENDED);
	cr_assert_eq(b->status, STATUS_KILLED);
	cr_assert_eq(b->exit_code, -1);
	cr_assert_eq(b->exit_signal, 15);
	cr_assert_eq(b->total, 1ull << 50);
	cr_assert(b->backgrounded);
	cr_assert_not(b->notify);
	cr_assert_eq(b->worker.generation, 9);
	enc_fini(&e);
	session_free(a);
	session_free(b);
}

Test(record, damaged_bytes_never_decode_to_nonsense, .timeout = 20)
{
	struct session *a = somebody(), *b;
	struct enc e = ENC_INIT;

	record_encode(a, &e);
	for (size_t cut = 0; cut < e.len; cut++)
		cr_assert_null(record_decode(e.buf, cut));
	for (size_t i = 0; i < e.len; i++) {
		char old = e.buf[i];

		e.buf[i] = (char)(old ^ 0x55);
		b = record_decode(e.buf, e.len);
		cr_assert(b == NULL || (b->state < STATE_COUNT &&
					   b->status < STATUS_COUNT));
		session_free(b);
		e.buf[i] = old;
	}
	enc_fini(&e);
	session_free(a);
}

Test(record, spec_must_hold_what_it_counts, .timeout = 10)
{
	struct spec in = {.argc = 1, .envc = 1, .path_count = 1,
	    .blob_bytes = 18};
	struct enc e = ENC_INIT;
	struct spec *out;

	in.blob = malloc(18);
	memcpy(in.blob, "/\0true\0A=b\0/true\0", 18);
	in.blob_bytes = 17;
	spec_encode(&in, &e);
	out = spec_decode(e.buf, e.len);
	cr_assert_not_null(out);
	cr_assert_eq(out->blob_bytes, 17);
	spec_free(&out);
	enc_reset(&e);
	in.argc = 2;
	spec_encode(&in, &e);
	cr_assert_null(spec_decode(e.buf, e.len));
	enc_fini(&e);
	free(in.blob);
}
