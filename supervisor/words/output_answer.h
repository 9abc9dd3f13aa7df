/* SPDX-License-Identifier: MIT */
/*
 * An answer that shows output: details with the output, then the text, in which
 * it stands between words. There may be MiB of it, so it is cleaned and copied
 * a slice at a time; what the answer says beside is what was so at its
 * beginning.
 */
#ifndef PSUP_SUPERVISOR_WORDS_OUTPUT_ANSWER_H
#define PSUP_SUPERVISOR_WORDS_OUTPUT_ANSWER_H

#include "common/codec.h"
#include "common/text_clean.h"
#include "supervisor/search/lines.h"
#include "supervisor/words/sbuf.h"

struct master;
struct session;

/* The last bytes of what a session has retained. */
struct output {
	const char *data; /* whole things: of k, or of another's */
	size_t len;
	uint64_t omitted; /* bytes of the session that are not in data */
	uint64_t dropped; /* of these gone for good */
	const char *fault; /* why there is none (readers_fault); NULL */
	struct retained k; /* freed by who has it */
};
/* At most `max` bytes. */
void output_read(struct master *m, struct session *s, size_t max,
    struct output *ret);
/* The same of what was read from the beginning on, as long as that is there. */
void output_of(const struct session *s, const struct retained *k, size_t max,
    struct output *ret);

/* All 0 at first. Its maker opens the answer (result_open_details), puts what is
 * small into details and fills what is below. */
struct output_answer {
	struct enc e;
	enum text_rule rule;
	struct output_part {
		const char *key; /* in details; NULL: not there */
		const char *data;
		size_t len;
		size_t from, shown; /* where it is in e, as the rule shows it */
	} parts[2]; /* the first is in the text */
	struct sbuf before, after; /* the words around it */
	const char *none;          /* what is said where it shows nothing */
	bool is_error;
	struct retained kept[2];   /* what the parts point into */
	/* its own */
	unsigned part;
	size_t at, text; /* text: where it begins in e */
	bool open;
};
/* Goes on until `until` (boot, ns). True: all of it is in e, or e has failed. */
bool output_answer_some(struct output_answer *a, uint64_t until);
/* Bytes that it has in memory. */
uint64_t output_answer_bytes(const struct output_answer *a);
void output_answer_fini(struct output_answer *a);

#endif
