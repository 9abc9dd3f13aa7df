/* SPDX-License-Identifier: MIT */
/* What psup attach lets through to a person's terminal: cut anywhere it is the
 * same, and no string of it reaches beyond the window. */
#include <psup/text.h>

#include "fuzz.h"
#include "tools/psup/term_out.h"

struct got {
	char *bytes;
	size_t len, room;
};

static int
put(void *arg, const char *data, size_t len)
{
	struct got *g = arg;

	EXPECT(g->len + len <= g->room);
	memcpy(g->bytes + g->len, data, len);
	g->len += len;
	return 0;
}

static bool
is_within(int n)
{
	return n == 4 || n == 5 || (n >= 10 && n <= 19) ||
	    n == 104 || n == 105 || (n >= 110 && n <= 119) || n == 133;
}

/* As the most obliging terminal reads it: no sequence that begins anywhere is
 * one of those that are kept from it. */
static void
is_harmless(const struct got *g, bool replay)
{
	EXPECT(psup_is_utf8(g->bytes, g->len));
	for (size_t i = 0; i + 1 < g->len; i++) {
		const char *s = g->bytes + i;
		size_t n = 2, left = g->len - i;

		EXPECT((unsigned char)s[0] != 0xc2 ||
		    (unsigned char)s[1] >= 0xa0);
		EXPECT(s[0] != 0x05 && (s[0] != '\a' || !replay ||
		    memchr(g->bytes, ']', i) != NULL));
		if (s[0] != '\033')
			continue;
		EXPECT(strchr("P_^XkZ% $lmc", s[1]) == NULL);
		if (s[1] == ']') {
			EXPECT(n < left && s[n] >= '0' && s[n] <= '9');
			EXPECT(is_within(atoi(s + n)));
		}
		while (s[1] == '[' && n < left && s[n] >= ' ' && s[n] <= '?')
			n++;
		if (s[1] == '[' && n < left)
			EXPECT(s[n] != 't' || s[n - 1] == '$' ||
			    (s[n - 1] >= ' ' && s[n - 1] <= '/'));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned how = take_byte(&data, &size);
	size_t cut = take_short(&data, &size);
	bool replay = (how & 1) != 0, own = (how & 2) != 0;
	struct term_out t = {.replay = replay, .own = own};
	struct term_out pieces = t;
	/* a byte becomes U+FFFD, two that reset all that was changed */
	size_t room = size * 300;
	struct got whole = {malloc(room + 1), 0, room};
	struct got joined = {malloc(room + 1), 0, room};
	char undo[512];

	EXPECT(whole.bytes != NULL && joined.bytes != NULL);
	cut = size > 0 ? cut % (size + 1) : 0;
	term_out(&t, (const char *)data, size, put, &whole);
	term_out(&pieces, (const char *)data, cut, put, &joined);
	term_out(&pieces, (const char *)data + cut, size - cut, put, &joined);
	EXPECT(whole.len == joined.len &&
	    memcmp(whole.bytes, joined.bytes, whole.len) == 0);
	EXPECT(t.len <= TERM_SEQ_MAX && t.state == pieces.state);
	whole.bytes[whole.len] = '\0';
	if (!own)
		is_harmless(&whole, replay);
	term_out_undo(&t, undo, sizeof(undo));
	EXPECT(strlen(undo) < sizeof(undo) - 1);
	free(whole.bytes);
	free(joined.bytes);
	return 0;
}
