/* SPDX-License-Identifier: MIT */
/* Which word was probably meant: for flags, commands, ids, lanes, settings. */
#ifndef PSUP_NEAREST_H
#define PSUP_NEAREST_H

#include <stddef.h>

struct option; /* <getopt.h> */

/* How many letters must be added, taken away, changed or swapped with their
 * neighbour (each letter once) to make one word of the other; case does not
 * count, and - for _ half. Words are looked at up to NEAREST_MAX bytes. Twice
 * the number. */
#define NEAREST_MAX 64
size_t nearest_distance(const char *a, const char *b);

/* The search over words that come one by one. */
struct nearest {
	const char *wanted;
	const char *best; /* NULL: none is near enough */
	size_t distance;  /* of the best one; private */
};
void nearest_begin(struct nearest *n, const char *wanted);
/* One word more; the pointer is kept. Of equals the first one stays. */
void nearest_try(struct nearest *n, const char *word);

/* Of a list, NULL at end; NULL: none. */
const char *nearest_of(const char *wanted, const char *const *words);
/* The name of the option that "--wrod=value" was meant to be; NULL: none. */
const char *nearest_option(const char *wanted, const struct option *options);

#endif
