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

/* The master asks: it is looked at and told so when its turn has come. All looks
 * take an eighth of a worker's time at most, who asks first is first. */
void input_look_asked(struct child *c);
/* It has come. */
void input_look_now(struct child *c);
/* Does anybody read its terminal, or wait for that among others? What is typed
 * before is lost to a program that sets its terminal up, or data to it. */
bool input_is_heard(struct child *c);

#endif
