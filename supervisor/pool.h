/* SPDX-License-Identifier: MIT */
/* What pool.c shares with link.c and recover.c alone. */
#ifndef PSUP_POOL_H
#define PSUP_POOL_H

struct master;
struct session;

/* A worker has come: those that waited for one get it. */
void pool_dispatch_pending(struct master *m);

#endif
