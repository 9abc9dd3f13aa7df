/* SPDX-License-Identifier: MIT */
/*
 * Named fault points: FAULT("spawn.after-hold") between two changes of shared
 * state. In a build without PSUP_FAULTS they are nothing. In a test build the
 * environment variable PSUP_FAULTS of the psup process says what happens:
 *
 *     PSUP_FAULTS="spawn.after-hold=kill@3,pump.after-splice=stop"
 *
 * kill: SIGKILL to itself, stop: SIGSTOP, abort: abort(); "@n" means at the
 * n-th pass only (default: the first), "@n+" at each n-th, where passes of what it
 * forks, a porter's, count with its own. fail is for FAULT_FAILS() alone, which
 * then is true at the n-th pass and ever after; once: at that pass alone.
 *
 * PSUP_FAULTS_LOG=FILE: whoever does so first adds its point's name to FILE, a
 * line each. With it PSUP_FAULTS=~psup-worker~psup-master takes the FAULT()s of
 * these programs in turn: each process kills itself at the next one,
 * FILE.PROGRAM counts.
 *
 * Names that begin with "lie." do what psup must never do: lose a byte, tell an
 * event twice. psup-chaos has to notice (tests/cli/chaos_lies.t).
 */
#ifndef PSUP_FAULT_H
#define PSUP_FAULT_H

#ifdef PSUP_FAULTS
#include <stdbool.h>
void fault_hit(const char *name);
bool fault_fails(const char *name);
/* Each point of a program is listed in a section of it. */
#define FAULT(name)                                                            \
	do {                                                                   \
		static const char *const fault_name                            \
		    __attribute__((section("fault_names"), used)) = name;      \
		fault_hit(fault_name);                                         \
	} while (0)
#define FAULT_FAILS(name) fault_fails(name)
#else
#define FAULT(name) ((void)0)
#define FAULT_FAILS(name) 0
#endif

#endif
