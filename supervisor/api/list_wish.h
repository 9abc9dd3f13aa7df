/* SPDX-License-Identifier: MIT */
/* Which sessions a list is asked for. */
#ifndef PSUP_SUPERVISOR_API_LIST_WISH_H
#define PSUP_SUPERVISOR_API_LIST_WISH_H

#include "common/codec.h"

struct session;

struct list_wish {
	struct codec_arena *arena; /* the parameters, kept; NULL: any session */
	size_t bytes;              /* of these, about */
	const struct val *ids;     /* NULL: no session by its name */
	const struct val *status, *lane, *label, *scope, *tags;
	const struct val *fields;  /* of their rows these alone; NULL: all */
	uint64_t since_ms, before_ms; /* 0: whenever */
};

/* Takes the parameters of a list. 0 or -ENOMEM. */
int list_wish_take(struct list_wish *w, const struct val *params);
void list_wish_fini(struct list_wish *w);
/* Is it one of those, as it stands? Its name apart. */
bool list_wish_meets(const struct list_wish *w, const struct session *s);
/* Does the text match the pattern, in which * stands for any text and ? for any
 * character? In time of the product of both. */
bool list_wish_matches(const char *pattern, size_t len, const char *text);

#endif
