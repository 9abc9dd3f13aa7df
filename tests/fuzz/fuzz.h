/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: each is one function from bytes, run by
 * libFuzzer, or over its corpus by replay.c. */
#ifndef PSUP_TESTS_FUZZ_H
#define PSUP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the bytes are. */
#define EXPECT(cond)                                                           \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: does not hold: %s\n",          \
			    __FILE__, __LINE__, #cond);                        \
			abort();                                               \
		}                                                              \
	} while (0)

/* The first byte, which leaves the rest; 0 where there is none. */
static inline unsigned
take_byte(const uint8_t **data, size_t *size)
{
	if (*size == 0)
		return 0;
	++*data;
	--*size;
	return (*data)[-1];
}

/* Two of them. */
static inline unsigned
take_short(const uint8_t **data, size_t *size)
{
	unsigned high = take_byte(data, size);

	return high << 8 | take_byte(data, size);
}

/* A stretch of at most `max` bytes, its length before it, in memory of its own
 * so that a read beyond it is seen; the caller frees it. */
static inline char *
take_text(const uint8_t **data, size_t *size, size_t max, size_t *ret_len)
{
	size_t len = max > 255 ? take_short(data, size) : take_byte(data, size);
	char *copy;

	len = len < max ? len : max;
	len = len < *size ? len : *size;
	copy = malloc(len + 1);
	EXPECT(copy != NULL);
	if (len > 0)
		memcpy(copy, *data, len);
	copy[len] = '\0';
	*data += len;
	*size -= len;
	*ret_len = len;
	return copy;
}

#endif
