/* SPDX-License-Identifier: MIT */
/*
 * What a process sleeps in, by the texts of /proc. Pure.
 *
 * wchan says in which function of the kernel, under names that change from one
 * to the next; it may be read of every process of one's own, and nobody is
 * waited for. syscall says in which system call, and with which arguments; it
 * needs the right to trace, and waits for an exec that is under way
 * (common/mark.h).
 */
#ifndef PSUP_SLEEP_H
#define PSUP_SLEEP_H

#include <stdbool.h>

enum sleep_kind {
	SLEEP_UNKNOWN, /* hidden, or it does not sleep */
	SLEEP_READ,
	SLEEP_POLL,   /* for several descriptors: poll, select, epoll */
	SLEEP_CHILD,  /* for the end of a child */
	SLEEP_FUTEX,  /* for another thread */
	SLEEP_SIGNAL, /* for any signal */
	SLEEP_ELSE
};

struct sleep {
	enum sleep_kind kind;
	unsigned long fd; /* of READ */
	bool timed;	  /* of POLL: it ends by itself */
	bool alone;	  /* of POLL: it can only be for one descriptor, and
			   * where that has a number, for 0 */
};

/* By the text of syscall. Never SLEEP_UNKNOWN: what runs sleeps in something
 * else. */
struct sleep sleep_by_syscall(const char *text);
/* By the text of wchan. */
enum sleep_kind sleep_by_wchan(const char *text);

#endif
