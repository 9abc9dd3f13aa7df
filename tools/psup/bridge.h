/* SPDX-License-Identifier: MIT */
/* psup bridge: what its two processes (cmd_bridge.c) know of the tree below
 * them (bridge_tree.c). */
#ifndef PSUP_BRIDGE_H
#define PSUP_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends a signal to every process that descends from this one, orphans that it
 * adopted included; how many there were. */
size_t bridge_signal_tree(int sig);
/* Reaps children. If `pid` is among them, its status is told. */
bool bridge_reap(pid_t pid, int *ret_status);
/* Is there any child left, dead or alive? */
bool bridge_has_children(void);
/* Kills and reaps until nobody is left, for ms at most. If `pid` is among
 * them, its status is told. */
bool bridge_end_tree(int64_t ms, pid_t pid, int *ret_status);
/* The code a shell would exit with. */
int bridge_code_of(int status);

#endif
