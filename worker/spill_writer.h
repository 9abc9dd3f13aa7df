/* SPDX-License-Identifier: MIT */
/* What spill.c and the process that writes a file agree on. */
#ifndef PSUP_WORKER_SPILL_WRITER_H
#define PSUP_WORKER_SPILL_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shm/ring.h"

enum spiller {
	SPILLER_OPENS,
	SPILLER_WRITES,
	SPILLER_FAILED, /* to open it: error says why */
	SPILLER_OVER    /* the header says why */
};

enum {
	SPILL_END = 1,  /* no more will come: end when all is written */
	SPILL_UNDO = 2, /* nothing ran */
	SPILL_MORE = 4  /* added: something was published */
};

/* Shared by these two alone. */
struct spill_page {
	_Atomic uint32_t order; /* SPILL_*; a futex */
	_Atomic uint32_t state; /* enum spiller */
	_Atomic int32_t error;
};

struct spill_job {
	struct spill_page *page;
	struct ring_writer *ring; /* of the child's own: fd may change */
	const char *path;
	uint64_t max;
	bool again; /* an attempt before this one may have made the file */
	pid_t worker;
	int null_fd;
};

/* In the process that was forked for it. Where the header says WRITING it goes
 * on with the file that is noted there. */
_Noreturn void spill_writer(const struct spill_job *job);

#endif
