/* SPDX-License-Identifier: MIT */
/* The niceness of psup's own processes, below that of their commands where that is
 * permitted: what counts between those that the scheduler does not part by control
 * groups or autogroups. */
#ifndef PSUP_PRIORITY_H
#define PSUP_PRIORITY_H

/* Once, as a program of psup's begins. */
void priority_come_first(void);

/* What this process had then: commands get it, and a program that calls
 * priority_come_first() by itself. */
int priority_of_commands(void);

#endif
