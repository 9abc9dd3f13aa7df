/* SPDX-License-Identifier: MIT */
/* What a poll under way knows (poll.c), and its words (poll_words.c). */
#ifndef PSUP_SUPERVISOR_API_POLLING_H
#define PSUP_SUPERVISOR_API_POLLING_H

#include "supervisor/api/delivery.h"
#include "supervisor/words/result.h"

/* A poll under way. */
struct polling {
	struct delivery_wish wish;
	char reader[72];
	uint64_t since;
	bool explicit_ack, times;
	struct usage_sample *usage; /* NULL: nobody asked */
	struct sid usage_of;
	uint64_t due_ns; /* boot; when there was something to answer */
	uint64_t deadline_ns; /* boot */
	uint64_t held_ns; /* boot: so long it waits for another's answer */
	uint64_t moment_ns; /* boot: output waits until then; 0: none came */
};

/* The text, of the output that is delivered. */
void poll_text(struct session *s, const struct delivery *d,
    const struct sbuf *out, const struct input_state *input, struct sbuf *b);
/* The details; ack 0: none. */
void poll_details(struct req *r, struct session *s, const struct delivery *d,
    const struct sbuf *out, uint64_t ack, const struct input_state *input,
    struct enc *e);

#endif
