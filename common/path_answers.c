/* SPDX-License-Identifier: MIT */
/*
 * See path_answers.h. A thread looks, which is left to itself where it sleeps:
 * the master forks nothing, as it has the index open. It makes system calls and
 * writes to its own slot alone.
 */
#include "common/path_answers.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"

#define WAIT_NS	    NSEC_PER_SEC
#define STACK_BYTES (256u * 1024u)

static struct question {
	_Atomic uint32_t open; /* its thread has no answer yet */
	char path[PATH_MAX];
} questions[16]; /* that may hang at once */

static void *
look(void *arg)
{
	struct question *q = arg;
	char real[PATH_MAX];
	struct stat st;

	if (realpath(q->path, real) != NULL)
		(void)stat(real, &st);
	atomic_store(&q->open, 0);
	(void)syscall(
	    SYS_futex, &q->open, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return NULL;
}

/* No signal of ours is the thread's. False: there can be none. */
static bool
begin(struct question *q)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool ok;

	sigfillset(&all);
	if (pthread_attr_init(&attr) != 0)
		return false;
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_store(&q->open, 1);
	ok = pthread_create(&thread, &attr, look, q) == 0;
	if (!ok)
		atomic_store(&q->open, 0);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	return ok;
}

bool
path_answers(const char *path)
{
	uint64_t now = clock_boot_ns(), end = now + WAIT_NS;
	struct question *q = NULL;

	for (size_t i = 0; i < NELEMS(questions); i++) {
		if (atomic_load(&questions[i].open) == 0)
			q = &questions[i];
		else if (strcmp(questions[i].path, path) == 0)
			return false;
	}
	if (q == NULL ||
	    strlcpy(q->path, path, sizeof(q->path)) >= sizeof(q->path))
		return q != NULL; /* too long for anybody to look at */
	if (!begin(q))
		return true; /* nobody knows */
	for (; atomic_load(&q->open) != 0 && now < end; now = clock_boot_ns()) {
		struct timespec left = {
		    .tv_sec = (time_t)((end - now) / NSEC_PER_SEC),
		    .tv_nsec = (long)((end - now) % NSEC_PER_SEC)};

		(void)syscall(
		    SYS_futex, &q->open, FUTEX_WAIT_PRIVATE, 1, &left, NULL, 0);
	}
	return atomic_load(&q->open) == 0;
}
