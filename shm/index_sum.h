/* SPDX-License-Identifier: MIT */
/*
 * Eight bytes behind each value of the index: key and value, summed. A page
 * that was overwritten decodes, now and then, and says something else; a sum
 * tells. Not against anybody who can count.
 */
#ifndef PSUP_SHM_INDEX_SUM_H
#define PSUP_SHM_INDEX_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INDEX_SUM_BYTES 8u

static inline uint64_t
index_sum_word(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* One more stretch of bytes, eight at a time. */
static inline uint64_t
index_sum_add(uint64_t h, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t word;

	h ^= size;
	for (; size >= sizeof(word); size -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = index_sum_word(h, word);
	}
	word = 0;
	memcpy(&word, p, size);
	return size > 0 ? index_sum_word(h, word) : h;
}

static inline uint64_t
index_sum(const void *key, size_t key_size, const void *val, size_t val_size)
{
	return index_sum_add(index_sum_add(UINT64_C(0x70737570), key,
	    key_size), val, val_size);
}

#endif
