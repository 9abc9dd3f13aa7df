/* SPDX-License-Identifier: MIT */
/* psup log: what its pages (cmd_log.c) and its following (log_follow.c) share. */
#ifndef PSUP_LOG_H
#define PSUP_LOG_H

#include "cli.h"

/* How more of a session's output is kept. */
#define LOG_KEEP_MORE                                                          \
	"psup exec --retain HEAD,TAIL keeps more in memory, --spill FILE all"
#define LOG_FOLLOW_MAX 64 /* sessions; one request of each is under way */

struct log_options {
	struct psup_log_page page;
	bool follow, cast;
};

/* The line that names a session among several; behind others after a blank
 * one. */
void log_title(const char *id, bool first);
/* Everything retained, or the last of it, then what comes, until each session is
 * over. Connected. The exit code. */
int log_follow(struct cli *c, const struct log_options *o,
    const char *const *ids, size_t count);

#endif
