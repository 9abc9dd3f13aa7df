/* SPDX-License-Identifier: MIT */
/* A stream whose every byte is known by its position. */
#ifndef PSUP_TESTS_PATTERN_H
#define PSUP_TESTS_PATTERN_H

#include <stdint.h>

/* The byte at offset `n` of a stream. */
static inline unsigned char
byte_of(int stream, uint64_t n)
{
	uint64_t x = n * 0x9e3779b97f4a7c15ull + (uint64_t)stream * 0x5bd1e995u;

	return (unsigned char)(x >> 40 ^ n);
}

#endif
