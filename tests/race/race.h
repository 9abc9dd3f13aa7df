/* SPDX-License-Identifier: MIT */
/* What the race programs share: threads, a time, a seed that is told. */
#ifndef PSUP_TESTS_RACE_H
#define PSUP_TESTS_RACE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/check.h"

/* Of this run; $PSUP_SEED repeats it as far as threads can be repeated. */
static inline unsigned
race_seed(void)
{
	static unsigned seed;
	const char *env = getenv("PSUP_SEED");

	if (seed == 0)
		seed = env != NULL ? (unsigned)strtoul(env, NULL, 10)
		                   : (unsigned)time(NULL) | 1;
	return seed;
}

static inline unsigned
race_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 8 & 0xffffff;
}

static inline void
race_start(pthread_t *ret, void *(*run)(void *), void *arg)
{
	(void)race_seed(); /* chosen before there are two */
	CHECK(pthread_create(ret, NULL, run, arg) == 0);
}

/* How long the threads run: $PSUP_RACE_SECONDS, else one second. */
static inline void
race_wait(void)
{
	const char *env = getenv("PSUP_RACE_SECONDS");
	struct timespec t = { .tv_sec = env != NULL ? atoi(env) : 1 };

	CHECK(t.tv_sec > 0);
	fprintf(stderr, "seed %u, %lld s\n", race_seed(), (long long)t.tv_sec);
	while (nanosleep(&t, &t) != 0)
		;
}

#endif
