/* SPDX-License-Identifier: MIT */
/* What psup-top asks of a process beyond its stat. */
#ifndef TOP_PROC_H
#define TOP_PROC_H

#include "common/procfs.h"

/* A process that has not ended. What /proc hides stays 0. */
bool proc_exists(int pid, struct procfs_stat *ret);
/* What its descriptor is: "pipe:[123]", "/dev/pts/4". */
bool proc_fd(int pid, unsigned long fd, char *dst, size_t size);
/* Does it wait for what `link` is, as one of its descriptors? */
bool proc_reads(const struct procfs_stat *p, const char *link);

#endif
