/* SPDX-License-Identifier: MIT */
/* What one poll delivers of a session's output: where it begins, where it is
 * cut, where the next one goes on. */
#ifndef PSUP_SUPERVISOR_API_DELIVERY_H
#define PSUP_SUPERVISOR_API_DELIVERY_H

#include "supervisor/api/method.h"
#include "supervisor/search/pending.h"

/* What is asked for. */
struct delivery_wish {
	enum text_rule text;
	uint64_t max_bytes;
	bool have_since; /* from a position: the oldest bytes, not the newest */
	bool raw;
};

/* What one poll delivers. */
struct delivery {
	struct retained k;
	bool have;       /* k is filled */
	uint64_t from;   /* the cursor */
	uint64_t next;   /* where the next one begins */
	uint64_t dropped; /* gone for good, between from and the output */
	uint64_t omitted; /* left out here, log still shows them */
	size_t at, len;  /* of k.data */
	const char *fault; /* why nothing can be read; NULL */
};

/* Reads from d->from on; *d is 0 but for that. The caller frees d->k where d->have
 * is set. */
void delivery_read(struct master *m, struct session *s,
    const struct delivery_wish *w, struct delivery *d);

#endif
