/* SPDX-License-Identifier: MIT */
/* Records of the index: of a session, of its spec. What is taken must go into
 * a record again that is taken. */
#include "fuzz.h"
#include "supervisor/master.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session *s = record_decode(data, size), *again;
	struct spec *sp = spec_decode(data, size), *sp2;
	struct enc e = ENC_INIT;

	if (s != NULL) {
		record_encode(s, &e);
		again = record_decode(e.buf, e.len);
		EXPECT(again != NULL && again->id.sid.v == s->id.sid.v);
		session_free(again);
		session_free(s);
	}
	enc_reset(&e);
	if (sp != NULL) {
		spec_encode(sp, &e);
		sp2 = spec_decode(e.buf, e.len);
		EXPECT(sp2 != NULL && sp2->argc == sp->argc);
		spec_free(&sp2);
		spec_free(&sp);
	}
	enc_fini(&e);
	return 0;
}
