/* SPDX-License-Identifier: MIT */
/*
 * psup's own programs, linked with failing.c in place of what they call: any
 * allocation or system call of the list can be made to fail, the clocks can be
 * moved. They and the test share one file, which $PSUP_TEST_FAIL names; a
 * process takes one entry of it when it begins.
 */
#ifndef PSUP_TEST_FAIL_H
#define PSUP_TEST_FAIL_H

#include <stdatomic.h>
#include <stdint.h>

/* What can fail. */
#define FAIL_CALLS(X)                                                        \
	X(MALLOC) X(PIPE) X(CLONE) X(ACCEPT) X(OPEN) X(MEMFD) X(WRITE)       \
	X(FALLOCATE) X(SPLICE) X(SOCKETPAIR)

enum fail_call {
#define FAIL_ENUM(name) FAIL_##name,
	FAIL_CALLS(FAIL_ENUM)
#undef FAIL_ENUM
	FAIL_CALL_COUNT
};

enum fail_role { FAIL_KEEPER, FAIL_MASTER, FAIL_WORKER, FAIL_ROLES };

/* An order: the call after `skip` more fails with `error`, `times` of them;
 * written whole, `times` last, while the process does not make such calls. */
struct fail_order {
	_Atomic int32_t times; /* 0: none */
	_Atomic int32_t skip;
	_Atomic int32_t error;
};

struct fail_process {
	_Atomic int32_t pid; /* 0: no entry */
	_Atomic uint32_t role;
	struct fail_order order[FAIL_CALL_COUNT];
	_Atomic uint64_t calls[FAIL_CALL_COUNT];
	_Atomic uint64_t failed[FAIL_CALL_COUNT];
	_Atomic int64_t live; /* blocks of memory that are in use */
};

#define FAIL_PROCESSES 1024

struct fail_page {
	_Atomic uint32_t used;
	/* what the next process of that role begins with */
	struct fail_order first[FAIL_ROLES][FAIL_CALL_COUNT];
	_Atomic int64_t wall_ns, boot_ns; /* added to the clocks */
	struct fail_process process[FAIL_PROCESSES];
};

#endif
