/* SPDX-License-Identifier: MIT */
/*
 * Does a command go on by input alone? Pure: what /proc showed of each of its
 * tasks goes in, in one look; what that says comes out. Whether it stays so
 * says the next look, by the stamp.
 *
 * It does where a process's first thread sleeps in a read of the session's
 * stdin or terminal, or drives the terminal (see `drives`), and nobody else of
 * the session works: each waits for a child, for another thread, for a pipe,
 * for a signal, or is stopped. A thread that reads stdin is no evidence, since
 * its process may do anything else meanwhile (docker, programs with a reading
 * thread).
 */
#ifndef PSUP_WORKER_INPUT_RULE_H
#define PSUP_WORKER_INPUT_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sleep.h"

/* What a read is of. */
enum input_source {
	INPUT_FROM_ELSE,  /* or nobody knows */
	INPUT_FROM_STDIN, /* the session's stdin or terminal */
	INPUT_FROM_PIPE	  /* another pipe */
};

/* One task as it was seen. */
struct input_task {
	int32_t tid;
	bool first; /* of its process */
	char state; /* of /proc/PID/stat */
	uint64_t start, ticks;
	uint64_t ran_ns; /* on a processor; 0: not known */
	struct sleep sleep;
	enum input_source source; /* of a read */
	bool drives; /* of a poll: its stdin is the session's terminal, it
		      * is in that's foreground, takes bytes and no lines,
		      * and has nothing else to wait for */
};

struct input_look {
	bool reads;	/* somebody waits for input */
	bool works;	/* somebody does something else */
	uint64_t stamp; /* of everything that is to stay as it is */
};

/* A look begins; `out`, `fed`: bytes written and given to it until now. */
void input_look_begin(struct input_look *l, uint64_t out, uint64_t fed);
/* What one task says. False: it works, and nobody else need be looked at. */
bool input_look_task(struct input_look *l, const struct input_task *t);
/* What all of them have said. */
bool input_look_waits(const struct input_look *l);

#endif
