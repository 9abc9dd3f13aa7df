/* SPDX-License-Identifier: MIT */
/*
 * Named fault points: FAULT("spawn.after-hold") between two changes of shared
 * state. In a build without PSUP_FAULTS they are nothing. In a test build the
 * environment variable PSUP_FAULTS of the psup process says what happens:
 *
 *     PSUP_FAULTS="spawn.after-hold=kill@3,pump.after-splice=stop"
 *
 * kill: SIGKILL to itself, stop: SIGSTOP, abort: abort(); "@n" means at the
 * n-th pass only (default: the first).
 */
#ifndef PSUP_FAULT_H
#define PSUP_FAULT_H

#ifdef PSUP_FAULTS
void fault_hit(const char *name);
#define FAULT(name) fault_hit(name)
#else
#define FAULT(name) ((void)0)
#endif

#endif
