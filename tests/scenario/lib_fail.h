/* SPDX-License-Identifier: MIT */
/*
 * Servers whose calls fail as a scenario says (tests/helpers/fail):
 *
 *     failing_psupd(.workers = 1);
 *     fail(master_pid(), FAIL_ACCEPT, 0, 3, EMFILE);
 */
#ifndef PSUP_LIB_FAIL_H
#define PSUP_LIB_FAIL_H

#include "../helpers/fail/fail.h"
#include "lib_scn.h"

/* Returns when master, workers and standby all run: what is counted is then of
 * the test's doing, not of somebody's start. */
#define failing_psupd(...) \
	scn_start_failing(&(struct server){.failing = true, __VA_ARGS__})
void scn_start_failing(const struct server *how);
/* The same after a death: all of so many workers, master and standby run. */
void await_crew(int workers);

/* What the test and the programs share. */
struct fail_page *fail_page(void);
/* The entry of a process. */
struct fail_process *fail_of(pid_t pid);
/* Of its calls from now on `skip` succeed, then `times` (-1: all) fail. */
void fail(pid_t pid, enum fail_call what, int skip, int times, int error);
/* The same for the next process of that role, from its beginning. */
void fail_from_start(enum fail_role role, enum fail_call what, int skip,
    int times, int error);
void fail_none(pid_t pid, enum fail_call what);
/* How many have failed. */
uint64_t failed(pid_t pid, enum fail_call what);
/* How often its loop has turned. */
uint64_t turns_of(pid_t pid);

#endif
