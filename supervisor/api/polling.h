/* SPDX-License-Identifier: MIT */
/* What a poll under way knows (poll.c), and its words (poll_words.c). */
#ifndef PSUP_SUPERVISOR_API_POLLING_H
#define PSUP_SUPERVISOR_API_POLLING_H

#include "supervisor/api/delivery.h"
#include "supervisor/words/result.h"

/* A poll under way. */
struct polling {
	struct delivery_wish wish;
	struct sid sid; /* whose output */
	char reader[72];
	uint64_t since;
	bool explicit_ack, times;
	struct usage_sample *usage; /* NULL: nobody asked */
	uint64_t due_ns; /* boot; when there was something to answer */
	uint64_t deadline_ns; /* boot */
	uint64_t held_ns; /* boot: so long it waits for another's answer */
	uint64_t moment_ns; /* boot: output waits until then; 0: none came */
	/* once it is being answered */
	bool answers, ended; /* ended: and tells the end */
	uint64_t ack;        /* staged; 0: nothing is */
	struct output_answer a;
};

/* Begins the answer: its words and all of its details but the output, with its
 * parts. ack 0: none. */
void poll_words(struct req *r, struct session *s, const struct delivery *d,
    uint64_t ack);

#endif
