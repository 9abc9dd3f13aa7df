/* SPDX-License-Identifier: MIT */
/* A session and its spec survive the way into the index and back. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/master.h"

/* A session with something in every field that is kept. */
static struct session *
somebody(void)
{
	struct session *s = calloc(1, sizeof(*s));

	s->id.sid.v = 42;
	strcpy(s->id.slug, "nova-gulf");
	s->id.scope = strdup("alpha");
	s->wish.command = strdup("make -j2");
	s->id.name = strdup("make");
	s->wish.cwd = strdup("/tmp");
	s->id.label = strdup("");
	s->id.session_key = strdup("k");
	s->id.request_key = strdup("r");
	s->wish.lane = strdup("main");
	s->wish.priority = -1;
	s->place.lane_seq = 1ull << 40;
	s->state = STATE_ENDED;
	s->facts.status = STATUS_KILLED;
	s->facts.reason = END_MANUAL_CANCEL;
	s->facts.exit_code = -1;
	s->facts.exit_signal = 15;
	s->output.total = 1ull << 50;
	s->shown.backgrounded = true;
	s->custody.who = (struct wid){3, 9};
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
	cr_assert_eq(b->id.sid.v, 42);
	cr_assert_str_eq(b->id.slug, "nova-gulf");
	cr_assert_str_eq(b->id.scope, "alpha");
	cr_assert_str_eq(b->id.label, "");
	cr_assert_str_eq(b->wish.lane, "main");
	cr_assert_eq(b->wish.priority, -1);
	cr_assert_eq(b->place.lane_seq, 1ull << 40);
	cr_assert_eq(b->state, STATE_ENDED);
	cr_assert_eq(b->facts.status, STATUS_KILLED);
	cr_assert_eq(b->facts.exit_code, -1);
	cr_assert_eq(b->facts.exit_signal, 15);
	cr_assert_eq(b->output.total, 1ull << 50);
	cr_assert(b->shown.backgrounded);
	cr_assert_not(b->wish.notify);
	cr_assert_eq(b->custody.who.generation, 9);
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
					   b->facts.status < STATUS_COUNT));
		session_free(b);
		e.buf[i] = old;
	}
	enc_fini(&e);
	session_free(a);
}

/* The number after it must be one, too. */
Test(record, no_number_comes_to_its_end, .timeout = 10)
{
	struct session *a = somebody(), *b;
	struct enc e = ENC_INIT;

	a->id.sid.v = SID_MAX;
	record_encode(a, &e);
	b = record_decode(e.buf, e.len);
	cr_assert_not_null(b);
	session_free(b);
	enc_reset(&e);
	a->id.sid.v++;
	record_encode(a, &e);
	cr_assert_null(record_decode(e.buf, e.len));
	cr_assert_eq(errno, EBADMSG);
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
