/* SPDX-License-Identifier: MIT */
/* psup events: what was asked for, and following it. */
#ifndef PSUP_EVENTS_FOLLOW_H
#define PSUP_EVENTS_FOLLOW_H

#include "cli.h"

#define EVENTS_KINDS_MAX 16

struct events_wish {
	const char *subscriber;
	const char *kinds[EVENTS_KINDS_MAX + 1]; /* NULL at end */
	size_t kind_count;
	int64_t since; /* -1: after what was acknowledged */
	bool ack;
};

/* One line, flushed. */
void events_print(struct cli *c, const psup_value *event);
/* Acknowledges up to a number, where there is anything to acknowledge. */
int events_acknowledge(struct cli *c, const struct events_wish *w,
    int64_t seq);
/* Says how many nobody can read any more. */
void events_say_overflowed(const psup_value *answer);
/* Prints each as it comes; over restarts of the server's master. Ends by a
 * signal, with whoever reads stdout, and with the server. The exit code. */
int events_follow(struct cli *c, const struct events_wish *w);

#endif
