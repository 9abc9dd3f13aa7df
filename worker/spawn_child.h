/* SPDX-License-Identifier: MIT */
/*
 * What a child does between clone and exec, for spawn.c and porter.c. Each step
 * that fails ends it, with errno and stage in the ring's header.
 */
#ifndef PSUP_WORKER_SPAWN_CHILD_H
#define PSUP_WORKER_SPAWN_CHILD_H

#include "worker/raw.h"
#include "worker/spawn.h"

/* A system call of up to four arguments. */
#define RAW(nr, a, b, c, d)                                                    \
	raw_syscall((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0)

_Noreturn void child_exit(void);
_Noreturn void child_give_up(struct spawn *s, unsigned stage, long error);
void child_at(struct spawn *s, unsigned stage, const char *path);
void child_join_groups(struct spawn *s);
void child_cut(struct spawn *s);
void child_bind(struct spawn *s);
void child_stdio(struct spawn *s);
void child_reset_signals(void);
void child_set_limits(struct spawn *s);

#endif
