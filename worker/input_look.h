/* SPDX-License-Identifier: MIT */
/*
 * Looks whether a session goes on by input alone (input_rule.h), in /proc: of
 * the processes in its leaf, else of its command and what descends from it.
 *
 * None of the files that are read waits for the process that is looked at, but
 * `syscall`, which waits for an exec: it is read only of a task that was seen
 * asleep in a read or a poll, which is in no exec, nor in the midst of one
 * (common/mark.h). Bounded: one whose session has more tasks or descriptors
 * than that counts as at work, and the look ends with the first that does.
 */
#ifndef PSUP_WORKER_INPUT_LOOK_H
#define PSUP_WORKER_INPUT_LOOK_H

#include "worker/child.h"

/* What it waits for, CTL_INPUT_*, and the stamp of that. */
uint32_t input_look(struct child *c, uint64_t *ret_stamp);

#endif
