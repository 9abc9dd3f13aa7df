/* SPDX-License-Identifier: MIT */
/*
 * The lines of a session's retained output that hold a text, or that a regular
 * expression matches: as they are shown. For api_log.c, in slices of time.
 */
#ifndef PSUP_LOG_FIND_H
#define PSUP_LOG_FIND_H

#include "common/match.h"
#include "supervisor/lines.h"
#include "supervisor/sbuf.h"

/* A line that was found. */
struct log_hit {
	uint64_t number;
	size_t begin;
};

/* One search. The first six are the caller's; it begins as {0} with them. */
struct log_find {
	const struct retained *k;
	enum text_rule rule;
	bool more;               /* output may follow */
	char *grep;              /* NULL: by spec; both are freed with it */
	size_t grep_len;
	struct match_spec *spec;

	struct log_hit *hits;    /* all that were found */
	uint64_t hit_count;

	uint64_t room;           /* of hits */
	struct match *match;
	struct lines_walk w;
	struct sbuf line;        /* as it is shown */
	size_t fed;              /* of it */
	bool in_line;
};

/* Goes on until `until_ns` (boot). 1: all was searched, 0: not yet, -ENOMEM. */
int log_find_step(struct log_find *f, uint64_t until_ns);
void log_find_fini(struct log_find *f);

#endif
