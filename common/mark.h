/* SPDX-License-Identifier: MIT */
/*
 * The mark of a session in the environment of its processes:
 * PSUP_INSTANCE=INCARNATION.SESSION, both in hex. Whoever starts a process
 * writes its environment, so a mark is a hint and no proof: before it costs a
 * process its life something that is not the process's to choose must agree.
 *
 * None of these waits for the process that is looked at. The kernel locks an
 * environment while its process execs or maps memory, for as long as a dead
 * file system likes; who may be in that is not read.
 */
#ifndef PSUP_MARK_H
#define PSUP_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/procfs.h"

struct proc_mark {
	uint64_t incarnation, session;
};

/* May who reads its environ, io, syscall or stack have to wait for it? Its
 * environment may be locked: in uninterruptible sleep it may hold the lock on
 * its memory; in the midst of an exec it has new memory in which nobody has
 * written yet where the environment lies. Some kernels never say where. */
bool mark_may_wait(const struct procfs_stat *f);
/* The first mark of a process. -ENOENT: it has none, is gone or out of reach;
 * -EAGAIN: not now, look again later. */
int mark_read(int32_t pid, struct proc_mark *ret);
/* The same, of a process that runs as the user we run as or descends from
 * `keeper`, which adopts all orphans of its commands. Of nobody else is the
 * environment so much as read: -ENOENT. */
int mark_read_own(int32_t pid, int32_t keeper, struct proc_mark *ret);

#endif
