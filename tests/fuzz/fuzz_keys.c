/* SPDX-License-Identifier: MIT */
/* Key tokens, hex bytes, and pastes that nobody may break out of. */
#include "common/keys.h"
#include "fuzz.h"

/* A token in each mode. */
static void
tokens(const char *text, size_t len)
{
	size_t room = len > KEY_BYTES ? len : KEY_BYTES;
	char *dst = malloc(room), warning[200];
	unsigned char byte;

	EXPECT(dst != NULL);
	for (int mode = 0; mode <= CURSOR_UNKNOWN; mode++) {
		warning[0] = 'x';
		EXPECT(key_encode(text, len, (enum cursor_mode)mode, dst,
		    warning, sizeof(warning)) <= room);
		EXPECT(memchr(warning, 0, sizeof(warning)) != NULL);
	}
	(void)key_needs_mode(text, len);
	(void)key_hex(text, len, &byte);
	free(dst);
}

/* Only the end may end it. */
static void
paste(const char *text, size_t len)
{
	char *dst = malloc(KEYS_PASTE_BYTES(len));
	static const char end[] = "\033[201~", c1[] = "\302\233201~";
	size_t n;

	EXPECT(dst != NULL);
	n = keys_paste(text, len, false, dst);
	EXPECT(n <= KEYS_PASTE_BYTES(len));
	n = keys_paste(text, len, true, dst);
	EXPECT(n >= 12 && n <= KEYS_PASTE_BYTES(len));
	EXPECT(memmem(dst, n, end, 6) == dst + n - 6);
	EXPECT(memmem(dst, n, c1, 6) == NULL);
	free(dst);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size > 0) {
		size_t len;
		char *text = take_text(&data, &size, 255, &len);

		tokens(text, len);
		paste(text, len);
		free(text);
	}
	return 0;
}
