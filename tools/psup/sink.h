/* SPDX-License-Identifier: MIT */
/*
 * Output of a command on its way to one of our descriptors, without ever
 * blocking in write(2): a stopped pager must not keep Ctrl-C from working.
 */
#ifndef PSUP_SINK_H
#define PSUP_SINK_H

#include <stdbool.h>
#include <stddef.h>

struct sink {
	int fd;      /* what is written to; may be `own` */
	int own;     /* opened by us; -1 */
	bool blocks; /* poll first, and write little */
	bool broken; /* nobody reads any more */
	int error;   /* errno of the write that failed, unless broken */
	char *data;
	size_t at, len, cap;
};

void sink_open(struct sink *s, int fd);
void sink_close(struct sink *s);
/* 0 or -ENOMEM. */
int sink_put(struct sink *s, const char *data, size_t len);
/* Writes what is possible now. */
void sink_flush(struct sink *s);
size_t sink_pending(const struct sink *s);

#endif
