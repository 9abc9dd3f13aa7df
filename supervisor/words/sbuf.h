/* SPDX-License-Identifier: MIT */
/* A growing text: what an answer says is put together here. */
#ifndef PSUP_SUPERVISOR_WORDS_SBUF_H
#define PSUP_SUPERVISOR_WORDS_SBUF_H

#include <stdbool.h>
#include <stddef.h>

struct sbuf {
	char *p; /* NUL-terminated once anything was added */
	size_t len, cap;
	bool failed; /* out of memory: what came after is missing */
};

#define SBUF_INIT {0}
void sbuf_fini(struct sbuf *b);
/* Makes room for n more bytes; false: no memory. */
bool sbuf_reserve(struct sbuf *b, size_t n);
void sbuf_addn(struct sbuf *b, const char *s, size_t n);
void sbuf_add(struct sbuf *b, const char *s);
void sbuf_addf(struct sbuf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
